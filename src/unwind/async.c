/* The chain of Swift async contexts: async.h. */
#include "unwind/async.h"

static bool is_context(const struct async_chain *chain)
{
    return chain->context != 0 && chain->context % chain->word == 0;
}

bool async_begin(struct async_chain *chain, const struct memory *memory, uint64_t fp, uint8_t word,
                 uint64_t mask)
{
    uint64_t context;
    if (!memory_word(memory, fp - 8, 8, &context))
        return false;
    context &= mask;
    *chain = (struct async_chain){
        .context = context, .mask = mask, .mark = context, .stride = 1, .word = word};
    return is_context(chain);
}

enum unwind_status async_next(struct async_chain *chain, const struct memory *memory,
                              uint64_t *resume)
{
    uint64_t parent;
    if (chain->context == 0)
        return UNWIND_ROOT;
    if (!is_context(chain) || !memory_word(memory, chain->context, chain->word, &parent) ||
        !memory_word(memory, chain->context + chain->word, chain->word, resume))
        return UNWIND_BAD_MEMORY;
    *resume &= chain->mask;
    if (*resume == 0)
        return UNWIND_ROOT;
    if (chain->steps > 0 && chain->context == chain->mark)
        return UNWIND_LOOP;
    if (chain->steps == chain->stride) {
        chain->mark = chain->context;
        chain->steps = 0;
        chain->stride *= 2;
    }
    chain->steps++;
    chain->context = parent & chain->mask;
    return UNWIND_OK;
}
