/*
 * Runs x86 code without running it: follows the stack pointer and the other general registers from
 * one address of a function to its return, or from its first instruction to one address.
 *
 * A register's value is known only relative to what the registers held where the run began, so the
 * outcome holds for every thread at that address. All paths that a bounded search finds have to
 * agree on the stack pointer; otherwise there is no outcome.
 */
#ifndef UNWIND_X86_TRACE_H
#define UNWIND_X86_TRACE_H

#include "unwind/image.h"
#include "unwind/x86_decode.h"

enum { X86_REGS = 16, X86_TRACE_SLOTS = 12 };

enum x86_value_how {
    X86_UNKNOWN = 0,
    X86_RELATIVE, /* what register `reg` held at the beginning, plus `offset` */
    X86_WORD,     /* the word that was at that address in memory at the beginning */
};

struct x86_value {
    uint8_t how; /* enum x86_value_how */
    uint8_t reg;
    int32_t offset;
};

struct x86_slot { /* a word of the stack that the run wrote: at register `reg` + `offset` */
    uint8_t reg;
    int32_t offset;
    struct x86_value value;
};

struct x86_state {
    struct x86_value reg[X86_REGS];
    struct x86_slot slot[X86_TRACE_SLOTS];
    uint8_t slots;
    bool slots_lost; /* more was written than there is room for */
};

enum x86_trace {
    X86_TRACE_NOTHING = 0,   /* no path led there */
    X86_TRACE_FOUND,         /* *state is filled */
    X86_TRACE_CONTRADICTION, /* paths disagree, or the return address was overwritten */
};

/* From `start` to the end of the function, which is at link-time [lo, hi) or, when hi is 0,
 * anywhere. *state is the one before the instruction that returns, or that leaves for another
 * function as if called. Registers that differ between paths are unknown. `tail_call`: the first
 * jump that leaves, or is computed, is known to be one. */
enum x86_trace x86_trace_to_return(const struct unwind_image *image, uint64_t start, uint64_t lo,
                                   uint64_t hi, bool tail_call, struct x86_state *state);

/* From the function's first instruction `lo` to `goal`, before it is executed; never leaves
 * [lo, hi). `exact`: the thread stands there, else it will return there from a call. */
enum x86_trace x86_trace_to(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                            uint64_t goal, bool exact, struct x86_state *state);

/* The code bytes from `vaddr` on, from .text or one of the PLTs; failed when there are none. */
struct reader x86_code_at(const struct unwind_image *image, uint64_t vaddr);

/* True when `vaddr` lies in one of the image's PLTs. */
bool x86_in_plt(const struct unwind_image *image, uint64_t vaddr);

/* How many bytes of arguments the function popped that was called by the instruction before `next`:
 * i386 only. -1 when it cannot be told. */
int64_t x86_popped_by_call(const struct unwind_image *image, uint64_t next);

/* True when a call that ends at `next` may be the last instruction of a function, so that what
 * follows belongs to another one: padding, or the place where an aligned function would begin. */
bool x86_may_be_function_end(const struct unwind_image *image, uint64_t next);

/* Whether nothing but padding lies between `next` and the end of its function at `hi`: bounds that
 * come from starts alone reach to the next function. */
bool x86_only_padding(const struct unwind_image *image, uint64_t next, uint64_t hi);

#endif
