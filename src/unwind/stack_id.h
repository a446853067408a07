/*
 * The 64-bit id of a stack: one multiply per frame, order-dependent, so that recursion of another
 * depth and permutations of the same frames get other ids. Each step is a bijection of the id
 * before it. An async frame counts with another value than its address: a return address may be the
 * same one, where the function in front ends with a call that does not return.
 */
#ifndef UNWIND_STACK_ID_H
#define UNWIND_STACK_ID_H

#include <stdint.h>

#define STACK_ID_START 0x46726d77616c6b21u

static inline uint64_t stack_id_step(uint64_t id, uint64_t address)
{
    uint64_t h = (id ^ address) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static inline uint64_t stack_id_async_step(uint64_t id, uint64_t address)
{
    return stack_id_step(id, ~address);
}

#endif
