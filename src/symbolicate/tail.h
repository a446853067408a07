/*
 * Tail calls between a frame and the one that called it, out of a map's call sites. What is shown
 * and what is not: tail.c.
 */
#ifndef SYMBOLICATE_TAIL_H
#define SYMBOLICATE_TAIL_H

#include "symmap/symmap.h"

enum { TAIL_CHAIN_MAX = 32 };
struct tail_step {
    uint32_t function;
    uint64_t offset; /* of the jump; UINT64_MAX: several places are possible */
};
enum tail_result {
    TAIL_NONE = 0,
    TAIL_CHAIN,
    TAIL_AMBIGUOUS,
    TAIL_ELSEWHERE, /* the map holds too little to tell: a whole one is needed */
    TAIL_NO_MEMORY
};
/* The functions that must have run between the call that returns to `return_offset` and `callee`,
 * innermost first. `partial`: the map was built of some units only. */
enum tail_result tail_chain(const struct symmap *map, bool partial, uint64_t return_offset,
                            uint32_t callee, struct tail_step steps[TAIL_CHAIN_MAX], size_t *count);

#endif
