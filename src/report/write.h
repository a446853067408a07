/*
 * Writing a report back: a list of edits, each of which replaces bytes of the input. They are made
 * frame by frame and applied in one pass at the end.
 */
#ifndef REPORT_WRITE_H
#define REPORT_WRITE_H

#include "report/build.h"
#include "report/out.h"

struct edit {
    size_t begin, end; /* of the input */
    size_t text, size; /* of writer.pool */
    size_t order;      /* among edits of one place */
};

struct bare_list { /* of addresses, being turned into lines */
    size_t first_edit;
    bool named; /* at least one of them has a name */
};

struct writer {
    const struct report *report;
    report_resolve resolve;
    void *context;
    struct report_bytes pool;
    struct edit *edits;
    size_t edit_count, edit_capacity;
    size_t open;     /* where the text of the edit that is being made begins in the pool */
    uint32_t *extra; /* trees of text: of each frame, levels that its outer frames gained */
    int64_t shift;   /* numbered lines: how many were added to this thread so far */
    uint32_t thread; /* the thread of `shift` */
    struct bare_list bare;
    bool failed;
};

/* Between the two, what is appended to writer->pool replaces [begin, end). */
struct report_bytes *edit_begin(struct writer *w);
void edit_end(struct writer *w, size_t begin, size_t end);

/* What to write for a frame: names[0..count), innermost first; count 0: nothing new. */
struct frame_names {
    uint32_t number;
    const struct report_frame *frame;
    const struct report_name *names;
    size_t count;
};
/* Names of the resolver, else what the report itself knows. */
struct frame_names frame_names(const struct report *report, report_resolve resolve, void *context,
                               uint32_t frame);

/* `shown` is the function's name or a placeholder. */
const char *name_shown(const struct report_name *name);
/* The offset of a function: that of the one that is really there, for those inlined as well. */
const struct report_name *outer_name(const struct frame_names *f);
/* "[inlined] " and the like, "" for the function itself. */
const char *name_mark(const struct report_name *name);
/* `name + 12 (file.c:7)`. */
void out_apple_name(struct report_bytes *out, const struct frame_names *f, size_t i);

void write_ips_frame(struct writer *w, const struct frame_names *f);
void write_stackshot_frame(struct writer *w, const struct frame_names *f);
void write_member_frame(struct writer *w, const struct frame_names *f); /* other JSON */
void write_meter_frame(struct writer *w, const struct frame_names *f);
void write_numbered_frame(struct writer *w, const struct frame_names *f); /* also with none */
void write_tree_frame(struct writer *w, const struct frame_names *f);     /* also with none */
void write_perf_frame(struct writer *w, const struct frame_names *f);
void write_list_frame(struct writer *w, const struct frame_names *f);

#endif
