/*
 * What a report comes to: the few rows that are kept of it in the database, without the database.
 *
 * digest_report copies all it needs into the arena, in UTF-8 and within the limits below, so that
 * nothing of a report can make a row impossible. Images are numbered from 1 here (0: none); the
 * numbers of rows come later.
 *
 * Which stack a report is grouped by (`key`): stacks are merged from their outermost frames on,
 * with the time each stands for. The heaviest path follows the heaviest frame as long as that has
 * at least half of the time of the frame before it. The key is the stack with the most time among
 * those that go through the end of that path; of equal ones the first by its hash. So a hang of
 * 99 samples in A and a last one in B is A's (docs/collector.md).
 */
#ifndef COLLECTOR_DIGEST_H
#define COLLECTOR_DIGEST_H

#include "base/arena.h"
#include "collector/stack_code.h"
#include "report/report.h"

enum {
    DIGEST_FRAMES = 512, /* of one stack; innermost ones are kept */
    DIGEST_STACKS = 512, /* of a hang, the heaviest */
    DIGEST_CALLS = 8192,
    DIGEST_NAMED = 8192, /* different frames with names */
    DIGEST_NAME = 256,   /* bytes of names, versions, systems, devices, APIs */
    DIGEST_PATH = 1024,  /* of paths */
};
#define DIGEST_OTHER      "(other)"                      /* the API of calls beyond DIGEST_CALLS */
#define DIGEST_LONGEST_NS (UINT64_C(86400) * 1000000000) /* a longer hang counts as this */

struct digest_image {
    struct span id_key; /* see table `image` */
    struct span debug_id;
    const char *arch, *name, *path; /* path may be NULL */
    uint64_t frames;                /* of the report that are in it */
    int64_t row;                    /* for whoever writes rows */
};

struct digest_named { /* what the report itself calls a frame */
    struct stack_frame frame;
    struct report_name *names; /* innermost first; function, file, line, flags */
    uint32_t count;
};

struct digest_stack {
    struct stack_frame *frames; /* .image: number of a digest_image, 0 */
    size_t count;
    uint8_t hash[16];
    uint64_t weight_ns, samples;
    int64_t row;
};

struct digest_call {
    const char *api;
    size_t stack;
    uint64_t count, first_ms, last_ms;
};

struct digest {
    uint8_t kind; /* as report.kind of the tables */
    uint8_t ending;
    bool counts; /* is in the sums: a hang, or another tool's report */
    bool complete;
    uint64_t started_ms, duration_ns;
    int64_t day;
    const char *version, *build;
    const char *os, *device; /* NULL: unknown */
    bool has_session, has_install;
    uint8_t session[16], install[16];
    uint64_t observed_ns; /* how long the process is known to have run */
    uint64_t threads, frames;
    size_t main_image; /* number of the executable among images; 0: unknown */
    struct digest_image *images;
    size_t image_count;
    struct digest_stack *stacks; /* different ones */
    size_t stack_count;
    size_t key;                 /* index in stacks; SIZE_MAX: none; always one if it counts */
    struct digest_named *named; /* of frames of stacks; different ones */
    size_t named_count;
    struct digest_call *calls;
    size_t call_count;
};

/* All of *digest lives as long as `arena`. `salt`: install.h. FW_ERR_MEMORY. Thread-safe. */
fw_error digest_report(const struct report *report, uint64_t received_ms, const char *salt,
                       struct arena *arena, struct digest *digest);

#endif
