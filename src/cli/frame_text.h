/*
 * Frames in words: which names to show for a captured frame. Every writer asks here, so that text,
 * JSON and collapsed output never disagree about a name.
 *
 * One captured frame may stand for several functions: what was inlined at its place, and what its
 * call led to before tail calls led on to the frame inside of it. They come innermost first, the
 * function that is really on the stack last.
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

enum frame_role {
    FRAME_REAL = 0,
    FRAME_INLINED,      /* inlined into the next */
    FRAME_TAIL_CALL,    /* inferred: called by the next, and left by a jump */
    FRAME_TAIL_INLINED, /* inferred: inlined into the next, which was left by a jump from here */
};

struct frame_text {
    enum frame_subject subject;
    enum frame_role role;   /* others than FRAME_REAL are FRAME_FUNCTION */
    const char *name;       /* for display, cleaned; "" for FRAME_NOWHERE */
    const char *linkage;    /* name as the symbol table or the debug file has it, or NULL */
    uint64_t offset;        /* from the function's start, or in the image's file; of FRAME_REAL */
    const char *file;       /* source file, whole path, not cleaned; NULL: unknown */
    uint32_t line;          /* 0: unknown */
    uint32_t frame;         /* index in the stack */
    bool ambiguous;         /* FRAME_REAL: tail calls lie between it and the frame inside of it, in
                               several possible ways: none is shown */
    struct fw_symbol image; /* of the captured frame: its image, and the place in it */
};

struct frame_list {
    struct frame_text *items;
    size_t count, room;
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

/* Appends what frame `at` of a stack of the dump stands for. The texts are valid until
 * frame_names_free; the list is freed by frame_list_free. False when out of memory. */
bool frame_describe(struct frame_names *names, const struct dump_stack *stack, uint32_t at,
                    struct frame_list *list);
void frame_list_free(struct frame_list *list);

/* For people, behind the name: " [inlined]", " [tail call]" or "". */
const char *frame_role_mark(enum frame_role role);
/* Is it a part of the captured frame, and not inferred? */
bool frame_role_is_certain(enum frame_role role);

#endif
