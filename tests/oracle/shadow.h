/*
 * The true call stack, kept from what is executed: calls push, returns pop, signal deliveries push
 * the interrupted place, and whatever moves sp past a return address takes it off (longjmp,
 * exceptions). Only what is on the stack counts: tail calls leave no trace.
 *
 * Invariant: entries are ordered as they were pushed, innermost last. On one stack their slots
 * fall.
 */
#ifndef TESTS_ORACLE_SHADOW_H
#define TESTS_ORACLE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shadow_kind {
    SHADOW_CALL,
    SHADOW_SIGNAL,   /* a handler runs; its return address is the trampoline */
    SHADOW_RETURNED, /* the handler has returned to its trampoline */
};

struct shadow_entry {
    uint64_t slot; /* where the return address lies; with a link register, sp at the call */
    uint64_t ra;
    uint64_t pc, sp; /* SHADOW_SIGNAL: what was interrupted */
    uint8_t kind;
    bool rewritten; /* the program has put another address in the slot */
};

struct shadow { /* one stack's */
    struct shadow_entry *entry;
    size_t count, room;
    uint64_t sp; /* when it was left for another stack */
};

/* All stacks of the one thread; stack[current] is running. */
struct shadows {
    struct shadow *stack;
    size_t count, current;
    uint64_t dropped; /* entries taken off by something else than their return */
    uint64_t switches;
};

bool shadow_start(struct shadows *shadows);
void shadow_free(struct shadows *shadows);

void shadow_call(struct shadows *shadows, uint64_t slot, uint64_t ra);
/* A return instruction took the word at `slot`. False when it was no return to where a call came
 * from, but a jump. */
bool shadow_return(struct shadows *shadows, uint64_t slot);
void shadow_signal(struct shadows *shadows, uint64_t slot, uint64_t ra, uint64_t pc, uint64_t sp);
/* Where the innermost call returns to; 0 when there is none. */
uint64_t shadow_innermost(const struct shadows *shadows);
/* rt_sigreturn put the interrupted registers back. */
void shadow_sigreturn(struct shadows *shadows, uint64_t sp);
/* sp was moved to `sp`, outwards on the same stack as far as is known. */
void shadow_moved(struct shadows *shadows, uint64_t sp);
/* sp was loaded with a value from elsewhere: another stack, or a place further out on this one.
 * True when frames were left by it: until the jump that follows, the stack is neither the old nor
 * the new one. */
bool shadow_jumped(struct shadows *shadows, uint64_t from, uint64_t to);
/* A stack other than the first, on which nothing was called yet. */
bool shadow_is_fresh(const struct shadows *shadows);

struct shadow_frame {
    uint64_t address;
    bool exact;
    uint64_t slot; /* where the address was read from; 0 when it was not */
};
/* Frames from `pc` outwards, at most `room`; returns how many there are. */
size_t shadow_frames(const struct shadows *shadows, uint64_t pc, struct shadow_frame *frame,
                     size_t room);
/* The return address in `slot` was overwritten with `ra`. */
void shadow_rewrite(struct shadows *shadows, uint64_t slot, uint64_t ra);

#endif
