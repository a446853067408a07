/*
 * Reports of other tools: their stacks as data, and the same report back with names in it.
 *
 * A report is read once into threads, frames and images; the original bytes are kept. Writing
 * replaces only what stands for a frame's function, so that everything that this file knows nothing
 * of survives byte by byte; with no names at all the output is the input. What each format looks
 * like, and what is written where, is docs/reports.md.
 *
 * The format is found from the contents, never from a file name. A report that is cut off or broken
 * in the middle is read as far as it goes: `complete` is false then, and `note` says why.
 *
 * A report is immutable after reading: any number of threads may write it at the same time.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/reader.h"
#include "framewalk/error.h"

enum report_kind {
    REPORT_OTHER = 0, /* nothing here that we could name: no frames */
    REPORT_IPS,       /* Apple .ips of a crash: header and body, both JSON */
    REPORT_STACKSHOT, /* Apple .ips of all processes (bug type 288) */
    REPORT_CRASH,     /* Apple .crash text, also behind an .ips header */
    REPORT_METRICKIT, /* MXDiagnosticPayload or a call stack tree of one */
    REPORT_SAMPLE,    /* text of sample(1) */
    REPORT_SPINDUMP,  /* text of spindump(8), hang and cpu_resource reports */
    REPORT_KSCRASH,   /* KSCrash, Bugsnag, Matrix */
    REPORT_METER,     /* lines of JSON that ChimeHQ's Meter keeps of an Objective-C exception */
    REPORT_DUMP,      /* framewalk dump --json, and what report_to_json writes */
    REPORT_SANITIZER, /* AddressSanitizer and its like */
    REPORT_PERF,      /* perf script */
    REPORT_LIST,      /* lines with 0xADDR, IMAGE+0xOFF or IMAGE 0xADDR */
    REPORT_V5,        /* a /symbolicate/v5 request: see report/v5.h */
    REPORT_FRAMEWALK  /* our own (report/fwr.h): hangs, calls, snapshots */
};
const char *report_kind_text(enum report_kind kind);

enum { REPORT_NONE = UINT32_MAX };

struct report_image {
    const char *name; /* file name or what the report calls it; "" unknown */
    const char *path; /* NULL: unknown */
    const char *arch; /* as in the report ("arm64e", "x86_64"); NULL: unknown */
    uint8_t id[64];   /* UUID or build id, raw */
    uint32_t id_size;
    uint64_t load, size;  /* where it was mapped; size 0: unknown */
    bool has_load;        /* `load` is known */
    bool whole_cache;     /* not an image: the shared cache, which holds many */
    const char *breakpad; /* id as Breakpad spells it (v5 requests); else NULL */
    uint32_t group;       /* which process or job of the report it belongs to */
};

enum report_frame_kind {
    REPORT_EXACT, /* look the address up as it is */
    REPORT_RETURN /* a return address: look up one instruction earlier */
};

enum report_space {                   /* what `offset` of a frame counts from */
                    REPORT_FROM_LOAD, /* the first byte of the mapped image (Mach-O: __TEXT, ELF:
                                         the base) */
                    REPORT_LINKED     /* an address as the image's own file has it */
};

enum {                      /* flags of a name */
       REPORT_INLINED = 1,  /* inlined into the next */
       REPORT_TAIL_CALL = 2 /* inferred: left by a tail call, between this frame and its callee */
};

struct report_name {       /* one function of a frame */
    const char *function;  /* as it is to be shown; NULL: unknown */
    const char *file;      /* NULL: unknown */
    uint32_t line, column; /* 0: unknown */
    bool has_offset;
    uint64_t offset; /* from the start of the function that really is there: equal for inlined */
    uint64_t size;   /* of that function; 0: unknown */
    uint8_t flags;
};

struct report_span {
    size_t begin, end; /* bytes of the input */
};

struct report_frame {
    uint32_t thread;
    uint32_t image;  /* REPORT_NONE: unknown */
    uint32_t parent; /* tree: the frame in which this one stands, REPORT_NONE; else REPORT_NONE */
    uint8_t kind;    /* enum report_frame_kind */
    uint8_t space;   /* enum report_space */
    uint8_t flags;   /* FW_FRAME_SIGNAL, FW_FRAME_ASYNC */
    bool has_address, has_offset;
    uint64_t address; /* in the process; pointer authentication bits are removed, and the lowest bit
                         on 32-bit ARM, which says Thumb */
    uint64_t offset;  /* in the image; likewise */
    uint64_t samples; /* tree: how often it was seen, frames within it included; else 1 */
    uint32_t first_name, name_count; /* what the report already knows: names[], innermost first */
    struct report_span span;         /* all that stands for this frame; in a tree without its
                                        children */
    struct report_span item;         /* what its reader wants replaced (private) */
    uint32_t node;                   /* JSON node (private) */
};

enum report_order {
    REPORT_STACK,   /* frames are one stack, innermost first */
    REPORT_CALLERS, /* a tree: what stands inside a frame was called by it */
    REPORT_CALLEES  /* a tree: what stands inside a frame called it */
};

struct report_thread {
    const char *name, *queue; /* NULL: none */
    const char *id;           /* as the report spells it; NULL: none */
    const char *process;      /* NULL: the report is of one process */
    uint8_t order;            /* enum report_order */
    bool crashed;             /* or what else the report is about ("triggered", "attributed") */
    bool exception;           /* no thread: where the exception was thrown */
    bool repeats;             /* no thread: a summary of stacks that are there as well */
    bool stack;               /* no thread: a stack that samples or calls of `report` point at */
    bool main, watched;       /* Framewalk's reports */
    char state;               /* as in struct fw_thread; 0: unknown */
    uint8_t end;              /* fw_end: how the walk ended; 0: unknown or the root */
    uint8_t unavailable;      /* fw_unavailable: why there are no frames */
    uint32_t head;            /* frames before a gap of `omitted` ones */
    uint64_t omitted;         /* frames left out of the middle; 0: none */
    uint32_t group;           /* process or job, counted from 0 */
    uint32_t first_frame, frame_count;
};

struct report_info { /* NULL: unknown */
    const char *process, *pid, *path, *bundle, *version, *build;
    const char *os, *device, *arch, *date, *incident, *bug_type;
    const char *exception, *termination, *reason;
};

/* Framewalk's own reports (report/fwr.h): what they hold beside threads. Each different stack of
 * samples and calls is one entry of threads[] with `stack` set, its frames innermost first. */
struct report_hang {
    bool present;
    const char *watch;    /* name of the watched thread as such; NULL: none */
    uint64_t thread_id;   /* of the watched thread */
    uint32_t thread;      /* index in threads[]; REPORT_NONE: it is not among them */
    uint64_t started_ms;  /* wall clock; 0: unknown */
    uint64_t duration_ns; /* in all, or as far as is known (ending FWR_ENDING_NONE) */
    uint64_t threshold_ns, severe_ns;
    uint64_t unsampled_ns; /* of duration_ns: before the first sample */
    uint64_t starved_ns;   /* of duration_ns: ready to run without a processor; 0: unknown */
    uint64_t samples;      /* stacks taken in all */
    uint8_t ending;        /* enum fwr_ending */
    uint8_t veto;          /* fw_hang_veto */
};

struct report_sample {
    uint32_t stack;     /* index in threads[]; REPORT_NONE: none was taken */
    uint32_t count;     /* stacks taken in a row that were this one */
    uint64_t at_ns;     /* of the first of them, since the turn began */
    uint64_t weight_ns; /* of the turn's time that they stand for */
};

struct report_api {
    const char *name;
    uint64_t calls;    /* all, also those that are in no report_call */
    uint32_t pointers; /* that led through the watch */
    uint32_t inside;   /* images that define it, whose own calls are not seen */
    bool found;        /* some image defines it */
};

struct report_call {
    uint32_t api;   /* index in apis[] */
    uint32_t stack; /* index in threads[]; frame 0 is in the caller. REPORT_NONE: no stack */
    uint64_t thread_id, count;
    uint64_t first_ms, last_ms; /* wall clock */
};

struct report_script { /* a stack of an interpreter */
    uint64_t thread_id;
    uint64_t at_ns;       /* as of a sample */
    const char *language; /* "python" */
    uint32_t first_frame, frame_count;
    uint32_t omitted; /* outer frames that are not there */
};

struct report_script_frame { /* innermost first; NULL and 0: unknown */
    const char *function, *file;
    uint32_t line;
};

struct report_symbol { /* code outside of images: [address, address + size); by address. Its frames
                          have these names already */
    uint64_t address, size;
    const char *name, *file;
    uint32_t line;
};

struct report_pair {
    const char *key;
    const char *value; /* of keys; NULL for totals */
    uint64_t number;   /* of totals */
};

struct report {
    enum report_kind kind;
    bool complete;
    const char *note; /* what is missing or odd, one sentence; NULL: nothing */
    struct span text; /* the input; borrowed */
    struct report_info info;
    struct report_image *images;
    size_t image_count;
    struct report_thread *threads;
    size_t thread_count;
    struct report_frame *frames; /* those of one thread together */
    size_t frame_count;
    struct report_name *names;
    size_t name_count;

    uint64_t period_ns; /* between two samples of a thread; 0: unknown, or nothing was sampled */

    /* Framewalk's reports; else empty. */
    uint8_t about;           /* enum fwr_kind: what it is of */
    uint64_t started_ms;     /* wall clock of what it is about, milliseconds since 1970 */
    uint64_t process_age_ms; /* how long the process had run then */
    const char *session;     /* of the process, 32 digits: the same in all its reports; or NULL */
    struct report_hang hang;
    struct report_sample *samples;
    size_t sample_count;
    struct report_api *apis;
    size_t api_count;
    struct report_call *calls;
    size_t call_count;
    struct report_script *scripts;
    size_t script_count;
    struct report_script_frame *script_frames;
    size_t script_frame_count;
    struct report_symbol *symbols;
    size_t symbol_count;
    struct report_pair *keys, *totals;
    size_t key_count, total_count;

    struct report_build *build; /* private */
};

/*
 * Reads `text`, which must outlive the report. A text in which nothing is recognised is a report of
 * kind REPORT_OTHER with no frames, not an error. FW_ERR_MEMORY; FW_ERR_FULL: more frames than
 * REPORT_MAX_FRAMES.
 */
fw_error report_read(struct span text, struct report **report, struct fw_failure *why);
void report_free(struct report *report);
enum { REPORT_MAX_FRAMES = 1 << 26 };

/* Where a frame lies in its image: what to look up, as its `kind` says (*space: enum report_space).
 * False: nowhere that could be looked up. */
bool report_frame_place(const struct report *report, uint32_t frame, uint64_t *offset,
                        uint8_t *space);
/* Whether the next frame is no caller of this one: another stack, or a tree. */
bool report_ends_stack(const struct report *report, uint32_t frame);
/* Whether a name found is better than the report's own: without debug information that one is as
 * good, since whoever wrote it had the whole symbol table. `file` of the found one, or NULL. */
bool report_wants_name(const struct report *report, uint32_t frame, const char *function,
                       const char *file);
/* One of Apple's own formats: their texts name files without folders. */
bool report_is_apple(const struct report *report);

/*
 * The functions at a frame, innermost first: points *names at them, which stay valid until the next
 * call, and returns how many. 0: nothing is known, and the frame stays as it is. The last one is
 * the function that is really there. Called once for each frame of a writing, in their order.
 */
typedef size_t (*report_resolve)(void *context, const struct report *report, uint32_t frame,
                                 const struct report_name **names);

struct report_bytes { /* all zero: empty */
    char *data;       /* malloc'ed; a zero byte follows the last */
    size_t size, capacity;
    bool failed; /* memory ran out: contents are cut off */
};
void report_bytes_free(struct report_bytes *bytes);

/* Each appends to *out; FW_ERR_MEMORY. `resolve` may be NULL: only what the report knows itself. */

/* The same report with names. */
fw_error report_write(const struct report *report, report_resolve resolve, void *context,
                      struct report_bytes *out);
/* The classic text layout. FW_ERR_UNSUPPORTED: for reports with trees. A .crash is written as by
 * report_write. */
fw_error report_to_crash(const struct report *report, report_resolve resolve, void *context,
                         struct report_bytes *out);
/* Framewalk's own form (docs/reports.md). */
fw_error report_to_json(const struct report *report, report_resolve resolve, void *context,
                        struct report_bytes *out);
/* speedscope's JSON: a profile for each thread; hangs in milliseconds, calls as counts. */
fw_error report_to_speedscope(const struct report *report, report_resolve resolve, void *context,
                              struct report_bytes *out);
/* pprof's profile.proto, gzip'ed. */
fw_error report_to_pprof(const struct report *report, report_resolve resolve, void *context,
                         struct report_bytes *out);
/* The Firefox Profiler's processed profile (version 66). */
fw_error report_to_firefox(const struct report *report, report_resolve resolve, void *context,
                           struct report_bytes *out);
/* Text for people: what hung for how long and where, who called what; see docs/reports.md. Of other
 * tools' reports their threads and stacks. */
fw_error report_to_text(const struct report *report, report_resolve resolve, void *context,
                        struct report_bytes *out);
/* One line a stack, outermost first, with its number of samples (milliseconds of a hang). */
fw_error report_to_collapsed(const struct report *report, report_resolve resolve, void *context,
                             struct report_bytes *out);

#endif
