/*
 * Swift async functions on the stack, and the chain of contexts behind them.
 *
 * An async function goes on after a suspension on whatever stack an executor has, so its callers
 * are not on that stack. Its frame record is extended by one word below it:
 *
 *     fp - 8   pointer to its async context, or null
 *     fp       frame pointer of the executor, tagged: the four highest bits are 0001
 *     fp + 8   return address into the executor
 *
 * A context, mostly on the heap, begins with two pointers: the context of the function that awaits
 * this one, and the function with which that one goes on. Both and the word below the record may be
 * signed (arm64e). The words of the record are 8 bytes also on arm64_32, those of a context are 4
 * there. Other 32-bit platforms have no such frames. (Swift ABI, AsyncContext; LLVM's frame
 * lowering for "swiftasync".)
 *
 * The frame pointer register itself is tagged for a few instructions of the prologue and epilogue,
 * while it holds the caller's value; once it points to the record, the context is in its place.
 *
 * Async-signal-safe; memory is read only through struct memory.
 */
#ifndef UNWIND_ASYNC_H
#define UNWIND_ASYNC_H

#include "unwind/memory.h"
#include "unwind/row.h"

/* Whether code of this process makes such frames. */
#ifndef SELF_SWIFT_ASYNC
#if defined(__APPLE__) && (defined(__x86_64__) || defined(__aarch64__))
#define SELF_SWIFT_ASYNC true
#else
#define SELF_SWIFT_ASYNC false
#endif
#endif

/* Whether this is a frame pointer as the record of an async function keeps it. */
static inline bool async_is_tagged(uint64_t fp)
{
    return fp >> 60 == 1;
}

static inline uint64_t async_untag(uint64_t fp)
{
    return async_is_tagged(fp) ? fp & ~((uint64_t)1 << 60) : fp;
}

/* A walk along contexts. */
struct async_chain {
    uint64_t context; /* the next one, 0 at the end */
    uint64_t mask;    /* bits that pointers keep: those that are no signature */
    uint64_t mark;    /* an earlier context: when it comes again, the chain is a loop */
    uint32_t steps;   /* since the mark was set */
    uint32_t stride;  /* after how many steps it moves on; doubles each time (Brent's method) */
    uint8_t word;     /* bytes of a pointer in a context: 4 or 8 */
};

/* Begins at the context of the extended frame record at `fp`. False when there is none: it is null,
 * or no pointer to a context. */
bool async_begin(struct async_chain *chain, const struct memory *memory, uint64_t fp, uint8_t word,
                 uint64_t mask);

/* The function that runs next, from the innermost on. UNWIND_OK with *resume (never 0; whether it
 * is code is for the caller to tell), UNWIND_ROOT at the end of the chain, UNWIND_BAD_MEMORY or
 * UNWIND_LOOP where it is broken. */
enum unwind_status async_next(struct async_chain *chain, const struct memory *memory,
                              uint64_t *resume);

#endif
