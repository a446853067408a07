/*
 * Writing a Framewalk report in an app: no allocation, no lock, fixed memory, libc alone.
 *
 * What is said is collected and goes to the sink as whole records with fwr_flush: everything that a
 * record refers to (images, stacks, APIs) is in an earlier one. Frames of stacks share their outer
 * part with stacks written before (a tree of frames).
 *
 * Once the sink has failed nothing more is written: a report breaks off at a whole record.
 *
 * Not thread-safe: one writer, one thread. Not async-signal-safe.
 */
#ifndef REPORT_FWR_WRITE_H
#define REPORT_FWR_WRITE_H

#include "report/fwr.h"

/* Appends; false when it could not. Whether the bytes are safe on disk then is the sink's business.
 */
typedef bool fwr_sink(void *context, const void *bytes, size_t size);

struct fwr_image {
    uint64_t key;      /* tells images of this process apart: its load address. Not written */
    uint64_t base;     /* runtime address that offsets count from. Not written. ELF: the load bias,
                          so that offsets are addresses as the image is linked; Mach-O: its header */
    uint64_t size;     /* bytes of address space; 0 unknown */
    const uint8_t *id; /* build id or UUID */
    uint32_t id_size;
    const char *path; /* written with home folders as "~" */
    const char *arch; /* "x86_64", "arm64", ... */
    bool from_header; /* Mach-O: offsets count from the header */
};
/* The image that holds `address`; false when none does. What it points to may change with the next
 * call. Until the next flush all of [key, key + size) is taken to be in it, without asking. */
typedef bool fwr_locate(void *context, uint64_t address, struct fwr_image *image);

struct fwr_function { /* runtime addresses; valid until the next call */
    uint64_t start, size;
    const char *name;
};
/* Names of the functions of this process (fwr_name_functions). Neither allocates or takes a lock.
 */
struct fwr_namer {
    void *context;
    /* Whether it knows names of exactly this image. */
    bool (*knows)(void *context, const struct fwr_image *image);
    /* The function that covers `address`, which is in an image that it knows. */
    bool (*find)(void *context, uint64_t address, struct fwr_function *function);
};

struct fwr_about {                 /* strings may be NULL */
    uint8_t id[FWR_ID_BYTES];      /* random */
    uint8_t session[FWR_ID_BYTES]; /* of the process that writes: the same in all its reports */
    enum fwr_kind kind;
    uint64_t started_ms; /* wall clock of what it is about, milliseconds since 1970 */
    uint64_t process_age_ms;
    uint32_t pid;
    const char *app, *version, *build;
    const char *os, *os_version, *os_build; /* "Debian GNU/Linux 12", "iOS" "17.1" "21B74" */
    const char *arch, *device_class;
    const char *executable; /* path, home as "~" */
};

enum { /* table sizes; beyond them stacks are cut at their outer end and say so, and counted */
       FWR_IMAGES_MAX = 512,
       FWR_NODES_MAX = 16384,
       FWR_STACKS_MAX = 4096,
       FWR_APIS_MAX = 4096,             /* a reader takes no more */
       FWR_SCRIPT_FRAMES_MAX = 2048,    /* different ones */
       FWR_SCRIPT_DEPTH = 256,          /* frames of one script; outer ones are left out */
       FWR_FUNCTIONS_MAX = 1024,        /* names of functions */
       FWR_FUNCTION_BYTES = 128 * 1024, /* theirs together */
       FWR_FUNCTION_NAME =
           1023, /* of one: a longer one is left out, since cut it would be another */
       FWR_PENDING_MAX = 64 * 1024, /* bytes between two flushes; more flushes by itself */
};

struct fwr_writer;
/* Bytes that fwr_create wants, aligned to 16. */
size_t fwr_writer_size(void);
/* Lays a writer out in the caller's memory, and begins with `about`. Nothing is in the sink before
 * the first flush. */
struct fwr_writer *fwr_create(void *memory, fwr_sink *sink, void *sink_context, fwr_locate *locate,
                              void *locate_context, const struct fwr_about *about);

/* Functions of frames that are new from now on are named by `namer`, which is copied; each is
 * written once. Those beyond the bounds are counted ("functions_unnamed"). */
void fwr_name_functions(struct fwr_writer *w, const struct fwr_namer *namer);

void fwr_key(struct fwr_writer *w, const char *key, const char *value);

/* The number of a stack, written when it is new; 0 when there is no room. */
uint32_t fwr_stack(struct fwr_writer *w, const struct fw_stack *stack);

struct fwr_thread {
    uint64_t id; /* as other tools call it */
    const char *name, *queue;
    char state; /* as in struct fw_thread */
    bool is_main, is_watched;
    uint32_t stack;      /* 0: none, and then `unavailable` says why */
    uint8_t unavailable; /* fw_unavailable */
};
void fwr_thread(struct fwr_writer *w, const struct fwr_thread *thread);

struct fwr_hang {
    uint64_t thread;   /* id of the watched thread */
    const char *watch; /* its name as a watched one */
    uint64_t threshold_ns, severe_ns;
    uint64_t so_far_ns;    /* when this was written */
    uint64_t unsampled_ns; /* from the turn's begin to its first sample */
};
void fwr_hang(struct fwr_writer *w, const struct fwr_hang *hang);

struct fwr_sample {
    uint32_t stack;
    uint32_t count;     /* stacks taken in a row that were this one */
    uint64_t at_ns;     /* of the first of them, since the turn began */
    uint64_t weight_ns; /* of the turn's time that they stand for */
    uint64_t until_ns; /* up to when all that is written says what happened; 0: at_ns + weight_ns */
};
void fwr_sample(struct fwr_writer *w, const struct fwr_sample *sample);

struct fwr_hang_end {
    enum fwr_ending ending;
    uint8_t veto; /* fw_hang_veto */
    uint64_t duration_ns;
    uint64_t starved_ns; /* of these, ready to run without a processor; 0 unknown */
    uint64_t samples;    /* stacks taken in all */
};
void fwr_hang_end(struct fwr_writer *w, const struct fwr_hang_end *end);

/* An API's number, in the order of calls of this function. */
uint32_t fwr_api(struct fwr_writer *w, const char *name, uint64_t calls, uint32_t pointers,
                 uint32_t inside, bool found);
struct fwr_call {
    uint32_t api, stack;
    uint64_t thread, count, first_ms, last_ms;
};
void fwr_call(struct fwr_writer *w, const struct fwr_call *call);

struct fwr_script_frame { /* innermost first; strings may be NULL */
    const char *function, *file;
    uint32_t line;
};
void fwr_script(struct fwr_writer *w, uint64_t thread, uint64_t at_ns, const char *language,
                const struct fwr_script_frame *frames, uint32_t count);

/* Images may go and others come to their places while this report is written: what an address is in
 * is asked anew behind each flush. Costs each stack's every frame a look. */
void fwr_recheck_images(struct fwr_writer *writer);
/* Some table of it is three quarters full: better another report. */
bool fwr_is_filling(const struct fwr_writer *writer);

/* Code outside of images: [address, address + size) is `name`. */
void fwr_symbol(struct fwr_writer *w, uint64_t address, uint64_t size, const char *name,
                const char *file, uint32_t line);

void fwr_total(struct fwr_writer *w, const char *name, uint64_t value);

/* Sends what is pending, in one call of the sink. False once the sink has failed. */
bool fwr_flush(struct fwr_writer *w);
/* FWR_END, and the last flush. */
bool fwr_end(struct fwr_writer *w);

/* CRC-32C (Castagnoli) of `size` bytes, going on from `crc` (0 at first). */
uint32_t fwr_crc(uint32_t crc, const void *bytes, size_t size);

/* Writing behind an existing report, whose writer is dead or done with it: one record each into
 * `out` (at least FWR_TAIL_MAX bytes); returns its size. For recovery. */
enum { FWR_TAIL_MAX = 256 };
size_t fwr_tail_hang_end(uint8_t *out, const struct fwr_hang_end *end);
size_t fwr_tail_end(uint8_t *out);

/*
 * Looks a report's records over, for recovery: how many bytes are whole, and what is among them.
 * The records are read through `read` (pread-like: bytes read, 0 at the end, -1 on failure) in
 * pieces.
 */
struct fwr_state {
    bool is_report; /* the magic is there, and a first record FWR_ABOUT that holds an id */
    bool ended;     /* FWR_END is there */
    bool has_hang, has_hang_end;
    uint8_t kind; /* enum fwr_kind */
    uint8_t id[FWR_ID_BYTES], session[FWR_ID_BYTES];
    uint64_t started_ms;
    uint32_t pid;         /* of its writer, 0: not said */
    uint8_t ending;       /* enum fwr_ending, of the last FWR_HANG_END */
    uint64_t duration_ns; /* of the hang as far as is known */
    uint64_t severe_ns;   /* of FWR_HANG: from which duration on it is severe */
    uint64_t whole;       /* bytes up to the end of the last whole record */
};
typedef long fwr_read(void *context, uint64_t offset, void *bytes, size_t size);
fw_error fwr_survey(fwr_read *read, void *context, struct fwr_state *state);

#endif
