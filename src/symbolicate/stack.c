/*
 * Whole stacks: each address looked up in its source, and between every return address and the
 * frame inside of it the tail calls that must have happened (tail.c).
 *
 * Small maps come first, and are made for the addresses of the stack alone. Where one holds too
 * little to tell what a call leads to, the whole map of that source is taken and the stack answered
 * again: never is a chain shown that only a part of the call sites admits. Where it suffices, it is
 * made once more for the places of the jumps too, so that they get the names of the symbol table.
 */
#include "symbolicate/lookup.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define NO_SOURCE SIZE_MAX

struct stack_lookup {
    const struct fw_stack_address *stack;
    size_t count;
    struct place *places;
    uint32_t *functions; /* outer function of each place in its map */
    size_t *lookup_of;   /* index into lookups, or NO_SOURCE */
    struct lookup *lookups;
    size_t lookup_count;
    struct fw_symbol_frame *chain; /* of one place, while it is put together */
    size_t chain_count, chain_capacity;
    struct jump { /* of an inferred step, which the next small map must know */
        size_t lookup;
        uint64_t vaddr;
    } *jumps;
    size_t jump_count, jump_capacity;
};

static size_t lookup_for(struct stack_lookup *s, struct fw_source *source)
{
    if (!source)
        return NO_SOURCE;
    for (size_t k = 0; k < s->lookup_count; k++)
        if (s->lookups[k].source == source)
            return k;
    s->lookups[s->lookup_count].source = source;
    return s->lookup_count++;
}

/* Gets the map for all places of one source. */
static fw_error begin_one(struct stack_lookup *s, size_t k, struct fw_failure *why)
{
    struct place *own = NULL;
    size_t used = 0, capacity = 0;
    bool room = true;
    for (size_t i = 0; i < s->count && room; i++)
        if (s->lookup_of[i] == k && (room = array_room(&own, &capacity, used, sizeof *own)))
            own[used++] = s->places[i];
    for (size_t i = 0; i < s->jump_count && room; i++)
        if (s->jumps[i].lookup == k && (room = array_room(&own, &capacity, used, sizeof *own)))
            own[used++] = (struct place){.vaddr = s->jumps[i].vaddr};
    fw_error error = room ? lookup_begin(&s->lookups[k], own, used, why) : FW_ERR_MEMORY;
    free(own);
    return error;
}

/* One lookup for each source. */
static fw_error begin_all(struct stack_lookup *s, struct fw_failure *why)
{
    fw_error error = FW_OK;
    for (size_t i = 0; i < s->count && error == FW_OK; i++) {
        s->lookup_of[i] = lookup_for(s, s->stack[i].source);
        if (s->stack[i].source)
            error = place_of(s->stack[i].source, &s->stack[i].address, &s->places[i], why);
    }
    for (size_t k = 0; k < s->lookup_count && error == FW_OK; k++)
        error = begin_one(s, k, why);
    return error;
}

static bool add_to_chain(struct stack_lookup *s, struct lookup *lookup, struct arena *arena,
                         const struct symmap_frame *frame, uint64_t offset)
{
    return array_room(&s->chain, &s->chain_capacity, s->chain_count, sizeof *s->chain) &&
           lookup_copy(lookup, arena, frame, offset, FW_SYMBOL_TAIL_CALL,
                       &s->chain[s->chain_count++]);
}

/* The frames of one inferred step: those at its jump when that is known, else its function. */
static fw_error add_step(struct stack_lookup *s, struct lookup *lookup, struct arena *arena,
                         const struct tail_step *step)
{
    size_t count = 0;
    struct symmap_function function;
    bool known = symmap_function(lookup->map, step->function, &function);
    if (lookup->bytes && !lookup->knows_jumps && known) {
        uint64_t offset = step->offset == UINT64_MAX ? function.start : step->offset;
        if (!array_room(&s->jumps, &s->jump_capacity, s->jump_count, sizeof *s->jumps))
            return FW_ERR_MEMORY;
        s->jumps[s->jump_count++] =
            (struct jump){(size_t)(lookup - s->lookups), lookup->source->base + offset};
        lookup->needs_jumps = true;
    }
    fw_error error =
        step->offset == UINT64_MAX ? FW_ERR_NOT_FOUND : lookup_frames(lookup, step->offset, &count);
    if (error == FW_ERR_MEMORY)
        return error;
    if (error != FW_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct symmap_frame *frame = &lookup->found[i];
        if (!add_to_chain(s, lookup, arena, frame, step->offset - frame->start))
            return FW_ERR_MEMORY;
    }
    if (count || !known)
        return FW_OK;
    struct symmap_frame frame = {
        .name = function.name, .start = function.start, .flags = function.flags};
    return add_to_chain(s, lookup, arena, &frame, 0) ? FW_OK : FW_ERR_MEMORY;
}

/* What lies between frame `i` and the caller's frame i + 1, behind the frames of `i`. */
static fw_error add_tail_calls(struct stack_lookup *s, size_t i, struct arena *arena,
                               struct fw_resolved *symbol)
{
    if (symbol->frame_count == 0 || s->lookup_of[i] != s->lookup_of[i + 1] ||
        !s->places[i + 1].returns || s->places[i + 1].reason != FW_REASON_NONE)
        return FW_OK;
    struct lookup *lookup = &s->lookups[s->lookup_of[i]];
    struct tail_step steps[TAIL_CHAIN_MAX];
    size_t count;
    uint64_t returns = s->places[i + 1].vaddr + 1 - lookup->source->base;
    enum tail_result result =
        tail_chain(lookup->map, lookup->bytes != NULL, returns, s->functions[i], steps, &count);
    if (result == TAIL_NO_MEMORY)
        return FW_ERR_MEMORY;
    lookup->needs_whole |= result == TAIL_ELSEWHERE;
    struct fw_symbol_frame *frames = (struct fw_symbol_frame *)(uintptr_t)symbol->frames;
    if (result == TAIL_AMBIGUOUS)
        frames[symbol->frame_count - 1].flags |= FW_SYMBOL_AMBIGUOUS_TAIL;
    if (result != TAIL_CHAIN)
        return FW_OK;
    s->chain_count = 0;
    for (size_t k = 0; k < count; k++) {
        fw_error error = add_step(s, lookup, arena, &steps[k]);
        if (error != FW_OK)
            return error;
    }
    size_t own = symbol->frame_count;
    struct fw_symbol_frame *all = arena_take_many(arena, own + s->chain_count, sizeof *all);
    if (!all)
        return FW_ERR_MEMORY;
    memcpy(all, frames, own * sizeof *all);
    memcpy(all + own, s->chain, s->chain_count * sizeof *all);
    symbol->frames = all;
    symbol->frame_count = own + s->chain_count;
    return FW_OK;
}

static fw_error answer_stack(struct stack_lookup *s, struct arena *arena, struct fw_resolved *items)
{
    memset(items, 0, s->count * sizeof *items);
    for (size_t i = 0; i < s->count; i++) {
        if (s->lookup_of[i] == NO_SOURCE) {
            items[i].reason = FW_REASON_UNKNOWN_FILE;
            continue;
        }
        fw_error error = lookup_place(&s->lookups[s->lookup_of[i]], arena, &s->places[i], &items[i],
                                      &s->functions[i]);
        if (error != FW_OK)
            return error;
    }
    for (size_t i = 0; i + 1 < s->count; i++) {
        fw_error error = add_tail_calls(s, i, arena, &items[i]);
        if (error != FW_OK)
            return error;
    }
    return FW_OK;
}

/* Larger maps where small ones hold too little. */
static fw_error take_better_maps(struct stack_lookup *s, bool *changed, struct fw_failure *why)
{
    *changed = false;
    for (size_t k = 0; k < s->lookup_count; k++) {
        struct lookup *lookup = &s->lookups[k];
        bool whole = lookup->needs_whole;
        if (!whole && !lookup->needs_jumps)
            continue;
        struct fw_source *source = lookup->source;
        lookup_end(lookup);
        *lookup = (struct lookup){.source = source, .knows_jumps = true};
        *changed = true;
        fw_error error = whole ? source_whole_map(source, &lookup->map, why) : begin_one(s, k, why);
        if (error != FW_OK)
            return error;
    }
    return FW_OK;
}

static void end_all(struct stack_lookup *s)
{
    for (size_t k = 0; k < s->lookup_count; k++)
        lookup_end(&s->lookups[k]);
    free(s->places);
    free(s->functions);
    free(s->lookup_of);
    free(s->lookups);
    free(s->chain);
    free(s->jumps);
}

fw_error fw_symbolicate_stack(const struct fw_stack_address *stack, size_t count,
                              struct fw_symbols **symbols, struct fw_failure *why)
{
    struct fw_resolved *items;
    struct answer *answer = answer_begin(count, &items, symbols, why);
    struct stack_lookup s = {.stack = stack, .count = count};
    if (answer && count < SIZE_MAX) {
        s.places = calloc(count + 1, sizeof *s.places);
        s.functions = calloc(count + 1, sizeof *s.functions);
        s.lookup_of = calloc(count + 1, sizeof *s.lookup_of);
        s.lookups = calloc(count + 1, sizeof *s.lookups);
    }
    fw_error error =
        s.places && s.functions && s.lookup_of && s.lookups ? begin_all(&s, why) : FW_ERR_MEMORY;
    /* At most three times: after a small map one that knows the jumps, then the whole one. */
    for (bool changed = true; error == FW_OK && changed;) {
        error = answer_stack(&s, &answer->arena, items);
        if (error == FW_OK)
            error = take_better_maps(&s, &changed, why);
    }
    end_all(&s);
    return answer_finish(answer, error, symbols, why);
}
