/*
 * What the files that read a Framewalk report share: the state between records.
 *
 * Stacks come as a tree of frames. They are kept so until all records are read; then threads,
 * samples and calls get theirs as entries of report.threads[]. Every count is capped, so that a
 * small hostile file cannot become a large report: a tree of few bytes stands for many stacks.
 */
#ifndef REPORT_READ_FWR_H
#define REPORT_READ_FWR_H

#include "report/build.h"
#include "report/fwr_field.h"
#include "report/fwr_record.h"

enum { /* more than these are left out, and the note says so */
       READ_KEYS = 1024,
       READ_TOTALS = 4096,
       READ_IMAGES = 4096,
       READ_THREADS = 512,
       READ_NODES = 1 << 18,
       READ_STACKS = 1 << 16,
       READ_FRAMES = 1 << 19, /* of all stacks, after they were taken from the tree */
       READ_SAMPLES = 1 << 18,
       READ_APIS = 4096,
       READ_CALLS = 1 << 17,
       READ_SCRIPTS = 1 << 16,
       READ_SCRIPT_FRAMES = 1 << 18, /* of all scripts; also different ones */
       READ_SYMBOLS = 1 << 17,
       READ_STRING = 4096,
};

struct read_node {
    uint64_t offset; /* in the image; the address when it is in none */
    uint32_t parent; /* its caller's number, 0: outermost */
    uint32_t image;  /* 0: none */
    uint8_t kind;    /* enum report_frame_kind */
    uint8_t flags;
    bool has_flags;
};

struct read_stack {
    uint64_t omitted;
    uint32_t innermost; /* node; 0: no frames */
    uint32_t head;
    uint32_t thread; /* in report.threads[], once it is there */
    uint8_t end, unavailable;
};

struct read_thread {
    uint64_t id;
    uint32_t stack;
    const char *name, *queue;
    char state;
    bool main, watched;
    uint8_t unavailable;
};

struct read_function { /* of an image */
    uint64_t offset, size;
    const char *name;
    uint32_t image; /* its index in report.images[] */
};

struct read_list { /* capacities of arrays of the report that grow */
    size_t keys, totals, samples, apis, calls, scripts, script_frames, symbols;
};

struct fwr_reading {
    struct report_build *b;
    struct report *report;
    uint64_t at; /* where the record begins that is being read */
    bool about, ended;
    const char *why; /* the record makes no sense; NULL: it does */
    const char *arch;
    const char *executable, *app;
    const char *os, *os_version, *os_build;
    uint64_t last_at_ns; /* of the last sample */
    struct read_list capacity;
    struct read_node *nodes; /* from [1] on */
    size_t node_count, node_capacity;
    struct read_stack *stacks; /* from [1] on */
    size_t stack_count, stack_capacity;
    bool from_header[READ_IMAGES + 1];     /* of images by number: see fwr_write.h */
    uint64_t last_offset[READ_IMAGES + 1]; /* of each image, that the frame before had */
    struct read_thread *threads;
    size_t thread_count, thread_capacity;
    struct report_script_frame *script_frames; /* different ones, from [1] on */
    size_t script_frame_count, script_frame_capacity;
    struct read_function *functions;
    size_t function_count, function_capacity;
};

/* Room for one more, at most `most`. Without room false: `what` is noted as left out, or memory
 * ran out. */
bool fwr_read_room(struct fwr_reading *f, void *items, size_t *capacity, size_t count,
                   size_t item_size, size_t most, const char *what);
/* A copy of a field's text; NULL when it is none or empty. */
const char *fwr_read_text(struct fwr_reading *f, const struct fwr_field *field);
/* Says that the record makes no sense; the first reason stays. */
void fwr_nonsense(struct fwr_reading *f, const char *why);

/* A payload whose fields 1 and 2 are messages of one kind each; NULL: there are none such. */
typedef void fwr_read_row(struct fwr_reading *f, struct reader message);
void fwr_read_rows(struct fwr_reading *f, struct reader payload, fwr_read_row *first,
                   fwr_read_row *second);

/* Payloads. */
void fwr_read_stacks(struct fwr_reading *f, struct reader payload);
void fwr_read_samples(struct fwr_reading *f, struct reader payload);
void fwr_read_hang(struct fwr_reading *f, struct reader payload);
void fwr_read_hang_end(struct fwr_reading *f, struct reader payload);
void fwr_read_apis(struct fwr_reading *f, struct reader payload);
void fwr_read_calls(struct fwr_reading *f, struct reader payload);
void fwr_read_scripts(struct fwr_reading *f, struct reader payload);
void fwr_read_symbols(struct fwr_reading *f, struct reader payload);
void fwr_read_function(struct fwr_reading *f, struct reader message); /* a row of the former */

/* When all is read: samples are counted where nobody did, stacks become threads of the report, and
 * code gets the names that the report brings: outside of images, and of functions of images. */
void fwr_read_count_samples(struct fwr_reading *f);
void fwr_read_join_apis(struct fwr_reading *f);
void fwr_read_place_stacks(struct fwr_reading *f);
void fwr_read_name_symbols(struct fwr_reading *f);
void fwr_read_name_functions(struct fwr_reading *f);

#endif
