/*
 * A frame in words: which name to show for it. Every writer asks here, so that text, JSON and
 * collapsed output never disagree about a name.
 */
#ifndef CLI_FRAME_TEXT_H
#define CLI_FRAME_TEXT_H

#include "cli/dump.h"

enum frame_subject {
    FRAME_FUNCTION, /* `name` is a function, or NAME@plt */
    FRAME_SIGNAL,   /* the kernel's call of a signal handler */
    FRAME_IMAGE,    /* no function known: `name` is the image's file name */
    FRAME_NOWHERE,  /* in no image: generated code, or garbage */
};

struct frame_text {
    enum frame_subject subject;
    const char *name; /* for display, cleaned; "" for FRAME_NOWHERE */
    uint64_t offset;  /* from the function's start, or in the image's file */
    struct fw_symbol symbol;
};

/* Looks names up and keeps them; one per writer. */
struct frame_names {
    const struct dump *dump;
    const struct dump_options *options;
    struct frame_name_slot *slots; /* name as in the symbol table -> name to show */
    size_t used, room;             /* room is a power of two, or 0 */
};

void frame_names_init(struct frame_names *names, const struct dump *dump,
                      const struct dump_options *options);
void frame_names_free(struct frame_names *names);

/* Describes a frame. `text` is valid until frame_names_free; false when out of memory. */
bool frame_describe(struct frame_names *names, const struct fw_frame *frame,
                    struct frame_text *text);

#endif
