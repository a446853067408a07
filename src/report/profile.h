/*
 * A report as weighted stacks: what collapsed stacks, speedscope, pprof, the Firefox Profiler and
 * the text for people are written from.
 *
 * Everything is interned: texts, functions, locations (places in code, with the functions inlined
 * there) and nodes (a location below a stack of callers). A node's parent has a smaller number than
 * the node itself, so passes over all nodes need no recursion.
 *
 * Invariant: the weights of a series add up to those of the report, and every writer keeps the sum:
 *
 *     hang     nanoseconds: the weights of the hang's samples
 *     script   the same nanoseconds once more, on the stacks of the interpreter: a sample has the
 *              script stack that was taken last before it (the first one, when none was)
 *     calls    calls by stack, the API innermost
 *     threads  how often a stack was seen; a stack that was taken once counts 1
 *
 * Threads are left out of reports with a hang's samples or calls: a snapshot has no duration that
 * could be added to theirs.
 */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include "base/arena.h"
#include "report/write.h"

enum { PROFILE_NONE = UINT32_MAX };

enum {
    PROFILE_MAX_DEPTH = 1024, /* frames of a stack where a format repeats whole stacks */
    PROFILE_MAX_GROWTH = 64   /* of an output over its report: deep trees repeat themselves */
};

struct profile_function {
    uint32_t name, file; /* texts; file 0: unknown */
    uint32_t image;      /* REPORT_NONE: none */
    bool nameless;       /* `name` is made of image and offset, or of the address */
    bool pseudo;         /* no code: an API, a script's function, a remark in brackets */
};

struct profile_line { /* one function of a location */
    uint32_t function;
    uint32_t line, column; /* 0: unknown */
    uint8_t flags;         /* REPORT_INLINED, REPORT_TAIL_CALL */
};

struct profile_location {
    uint32_t image; /* REPORT_NONE: none */
    uint8_t kind;   /* enum report_frame_kind */
    bool has_address, has_offset;
    uint64_t address, offset;
    bool has_start;                  /* `start` is known: where its function begins, as an offset */
    uint64_t start, size;            /* size 0: unknown */
    uint32_t first_line, line_count; /* innermost first; at least one */
};

struct profile_node {
    uint32_t parent; /* PROFILE_NONE: outermost */
    uint32_t location;
};

struct profile_sample {
    uint32_t node;
    uint64_t value;
    uint64_t at_ns; /* since the turn began; hang and script only */
    uint32_t stack; /* of a hang: which of the report's threads[] it is; may be none */
};

enum profile_kind { PROFILE_HANG, PROFILE_SCRIPT, PROFILE_CALLS, PROFILE_THREADS };

struct profile_series {
    uint8_t kind;        /* enum profile_kind; hang and script are in nanoseconds */
    const char *process; /* NULL: the report's only one */
    const char *name;    /* of the thread, "calls", "main (python)" */
    const char *id;      /* of the thread; NULL: unknown */
    bool main;
    uint64_t total; /* sum of the values, at most UINT64_MAX */
    struct profile_sample *samples;
    size_t sample_count, sample_capacity;
};

struct profile_slot { /* of a hash table */
    uint32_t hash, index;
};
struct profile_table {
    struct profile_slot *slots;
    size_t size, count;
};

struct profile {
    const struct report *report;
    const char **texts; /* valid UTF-8; texts[0] is "" */
    struct profile_function *functions;
    struct profile_line *lines;
    struct profile_location *locations;
    struct profile_node *nodes;
    struct profile_series *series;
    size_t text_count, function_count, line_count, location_count, node_count, series_count;

    size_t text_capacity, function_capacity, line_capacity, location_capacity, node_capacity,
        series_capacity;
    struct profile_table by_text, by_function, by_location, by_node, by_series;
    uint32_t *of_frame; /* the location of each frame of the report */
    uint32_t *place;    /* a slot for each node, for profile_merge; PROFILE_NONE between */
    struct arena arena;
    uint64_t budget; /* steps of descending that are left; see profile_build.c */
    fw_error error;
};

/* FW_ERR_UNSUPPORTED: there is no stack in the report; locations and functions are made.
 * FW_ERR_FULL: a tree in which callers stand inside callees nests so deep that its stacks have
 * PROFILE_MAX_GROWTH times its frames. profile_free in any case. */
fw_error profile_make(struct profile *p, const struct report *report, report_resolve resolve,
                      void *context);
void profile_free(struct profile *p);

/* Interning: numbers, 0 or PROFILE_NONE with p->error set when memory ran out. */
uint32_t profile_text(struct profile *p, const char *text);
uint32_t profile_function(struct profile *p, const struct profile_function *function);
/* Appends a line for the location that is interned next. */
bool profile_add_line(struct profile *p, const struct profile_line *line);
/* The location whose lines are those appended to p->lines from `location->first_line` on. */
uint32_t profile_location(struct profile *p, const struct profile_location *location);
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location);

/* The number at the slot for `hash` at which `same` holds, or that of `fresh` put there. The table
 * grows by itself; PROFILE_NONE when memory ran out. */
typedef bool profile_same(const void *context, uint32_t index, const void *key);
uint32_t profile_intern(struct profile_table *table, uint32_t hash, profile_same *same,
                        const void *context, const void *key, uint32_t fresh);
uint32_t profile_hash(uint32_t hash, const void *bytes, size_t size);

/* The sum, or the largest number there is. */
static inline uint64_t profile_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The stack that ends at `node`, outermost first: at most PROFILE_MAX_DEPTH nodes of its inner end.
 * Returns how many; *cut says whether there are more. */
size_t profile_stack(const struct profile *p, uint32_t node, uint32_t stack[PROFILE_MAX_DEPTH],
                     bool *cut);

/* A series with each node once, in the order in which they were first seen. Malloc'ed; NULL: memory
 * ran out. One thread at a time. */
struct profile_sample *profile_merge(const struct profile *p, const struct profile_series *series,
                                     size_t *count);

/* Bytes that an output may have. */
size_t profile_limit(const struct report *report);

/* What the report is about, in a few words: "shop: hang of 1,843 ms". */
void profile_title(struct report_bytes *out, const struct report *report);

static inline bool profile_in_time(const struct profile_series *series)
{
    return series->kind == PROFILE_HANG || series->kind == PROFILE_SCRIPT;
}

#endif
