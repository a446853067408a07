/*
 * Stacks of a made-up program with Swift async functions, and the frames that a walk has to find.
 *
 * The program has a table for each kind of frame. A stack is built from the outermost frame on:
 * world_begin(), then world_enter() for each call; world_expect() tells the answer.
 */
#ifndef TESTS_UNWIND_ASYNC_WORLD_H
#define TESTS_UNWIND_ASYNC_WORLD_H

#include "unwind/rule.h"
#include "unwind/walk.h"

/* What a frame looks like. */
enum kind {
    RECORD,      /* keeps a frame record; the table counts from fp */
    RECORD_SP,   /* keeps one; the table counts from sp */
    FRAMELESS,   /* no record, fp is the caller's */
    BY_REGISTER, /* no record; the table counts from a register that only the whole mode carries */
    TRAMPOLINE, /* called by the kernel: the next frame is exact and has the fp it was saved with */
    SIGTRAMP,   /* the same, and keeps a frame record */
    ENTRY,      /* nothing is pushed yet (innermost only) */
    NO_TABLE,   /* keeps a frame record, has no table */
    KINDS,
};

enum {
    WORLD_STACK = 1 << 14,  /* bytes */
    WORLD_CONTEXTS = 3000,  /* most contexts of one stack */
    WORLD_FRAMES = 64,      /* most frames on the stack */
    WORLD_FOUND = 4096,     /* most frames of an answer */
    WORLD_KIND_CODE = 4096, /* bytes of code of each kind */
    WORLD_SP_FRAME = 64,    /* CFA - sp of kinds that count from sp */
};

#define WORLD_TAG  ((uint64_t)1 << 60)
#define WORLD_CODE UINT64_C(0x10000000)

struct world {
    const struct arch *arch;
    struct unwind_image image;
    struct walk_space space;
    struct memory memory;
    struct regs regs;
    uint64_t signature; /* bits that signed pointers get */
    bool contexts_slow; /* contexts are read by memory.slow, not from a range */

    uint64_t stack_lo, heap_lo; /* where stack and contexts lie */
    uint64_t stack[WORLD_STACK / 8];
    uint8_t heap[WORLD_CONTEXTS * 16]; /* contexts, one behind the other */
    size_t context_count;

    struct {
        uint64_t pc, context;
        bool exact, is_async, is_signal;
    } frame[WORLD_FRAMES]; /* outermost first */
    size_t frame_count;

    uint64_t random;
};

/* An empty program of the architecture. `direct`: the stack lies at its own addresses. */
void world_create(struct world *w, const struct arch *arch, bool direct, uint64_t seed);
void world_destroy(struct world *w);

uint64_t world_random(struct world *w, uint64_t below);

/* The address of an instruction of code of this kind. */
uint64_t world_code(struct world *w, enum kind kind);

/* A context; 0 for the parent or the function is as it says. */
uint64_t world_context(struct world *w, uint64_t parent, uint64_t resume);
/* Gives a context another parent. */
void world_reparent(struct world *w, uint64_t context, uint64_t parent);
/* A chain of `count` contexts with resume functions; 0 for count 0. */
uint64_t world_chain(struct world *w, size_t count);

/* An empty stack. */
void world_begin(struct world *w);
/* The innermost function calls one of `kind`. */
void world_enter(struct world *w, enum kind kind);
/* The same, and it is async: kind RECORD or RECORD_SP. */
void world_enter_async(struct world *w, enum kind kind, uint64_t context);

/* Writes a word of the stack. */
void world_poke(struct world *w, uint64_t address, uint64_t value);
/* A pointer as it is stored where pointers are signed. */
uint64_t world_sign(struct world *w, uint64_t pointer);

/* The frames to be found (at most WORLD_FOUND), and how the walk ends. */
size_t world_expect(const struct world *w, struct fw_frame *frames, uint8_t *end);

/* Walks the stack; false: as a thread in a call (the innermost frame is a return address). */
void world_walk(const struct world *w, const struct walk_options *options, struct fw_stack *stack);

#endif
