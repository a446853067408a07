/*
 * Stacks: the functions at each place, and between a return address and the frame inside of it the
 * tail calls that must have happened (symbolicate/tail.h).
 *
 * Reports repeat: each different place is looked up once, each different pair of callee and caller
 * is examined once.
 */
#include "base/array.h"
#include "collector/symbols_image.h"
#include "symbolicate/tail.h"

struct known { /* a place that was looked up */
    const struct symbols_image *image;
    uint64_t at;
    bool returns;
    struct symbols_names own;
};

struct pair { /* a frame and its caller, as numbers of `known` */
    uint32_t inner, outer;
    struct symbols_found found; /* of the caller, with what lies between */
    bool ambiguous;             /* of the inner one */
};

struct index { /* numbers + 1 by hash; 0: free */
    uint32_t *slots;
    size_t mask;
};

struct stack_names {
    struct arena *arena;
    struct known *known;
    size_t known_count, known_capacity;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    struct index known_index, pair_index;
    struct report_name *chain; /* being put together */
    size_t chain_count, chain_capacity;
};

#define UNKNOWN UINT32_MAX

/* At most `count` entries will come: the table is never more than half full. */
static bool index_make(struct index *index, size_t count)
{
    size_t slots = 64;
    while (slots < 2 * count)
        slots *= 2;
    index->mask = slots - 1;
    index->slots = calloc(slots, sizeof *index->slots);
    return index->slots != NULL;
}

static size_t mix(uint64_t a, uint64_t b)
{
    uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu;
    return (size_t)(hash >> 29);
}

/* ---- places ---- */

/* *number: of the place in `known`, UNKNOWN for one that is nowhere. */
static fw_error look_up(struct stack_names *s, const struct symbols_place *place, uint32_t *number)
{
    uint64_t at;
    bool returns = place->kind == REPORT_RETURN;
    *number = UNKNOWN;
    if (!place->image ||
        !symbols_image_offset(place->image, place->offset, place->space, place->kind, &at))
        return FW_OK;
    size_t i = mix((uintptr_t)place->image, at * 2 + returns) & s->known_index.mask;
    for (uint32_t slot; (slot = s->known_index.slots[i]); i = (i + 1) & s->known_index.mask) {
        const struct known *known = &s->known[slot - 1];
        if (known->image == place->image && known->at == at && known->returns == returns) {
            *number = slot - 1;
            return FW_OK;
        }
    }
    if (!array_room(&s->known, &s->known_capacity, s->known_count, sizeof *s->known))
        return FW_ERR_MEMORY;
    struct known *known = &s->known[s->known_count];
    *known = (struct known){.image = place->image, .at = at, .returns = returns};
    fw_error error = symbols_image_names(place->image, at, returns, s->arena, &known->own);
    if (error != FW_OK)
        return error;
    *number = (uint32_t)s->known_count++;
    s->known_index.slots[i] = *number + 1;
    return FW_OK;
}

/* ---- between places ---- */

static bool add_to_chain(struct stack_names *s, const struct report_name *name)
{
    if (!array_room(&s->chain, &s->chain_capacity, s->chain_count, sizeof *s->chain))
        return false;
    struct report_name *added = &s->chain[s->chain_count++];
    *added = *name;
    added->has_offset = false;
    added->offset = added->size = 0;
    added->flags = REPORT_TAIL_CALL;
    return true;
}

/* The functions of one inferred step: those at its jump when that is known, else its own name. */
static fw_error add_step(struct stack_names *s, const struct symbols_image *image,
                         const struct tail_step *step)
{
    struct symbols_names at_jump = {0};
    struct report_name name;
    fw_error error = step->offset == UINT64_MAX
                         ? FW_OK
                         : symbols_image_names(image, step->offset, 0, s->arena, &at_jump);
    for (uint32_t i = 0; error == FW_OK && i < at_jump.count; i++)
        if (!add_to_chain(s, &at_jump.names[i]))
            error = FW_ERR_MEMORY;
    if (error != FW_OK || at_jump.count)
        return error;
    error = symbols_image_function(image, step->function, s->arena, &name);
    return error != FW_OK || add_to_chain(s, &name) ? error : FW_ERR_MEMORY;
}

static struct symbols_found own_names(const struct stack_names *s, uint32_t number)
{
    if (number == UNKNOWN)
        return (struct symbols_found){0};
    const struct symbols_names *own = &s->known[number].own;
    return (struct symbols_found){.names = own->names, .count = own->count};
}

/* Fills in a pair: the chain before the caller's own names. */
static fw_error examine(struct stack_names *s, struct pair *pair)
{
    const struct known *inner = &s->known[pair->inner], *outer = &s->known[pair->outer];
    struct tail_step steps[TAIL_CHAIN_MAX];
    size_t count;
    pair->found = own_names(s, pair->outer);
    enum tail_result result = tail_chain(symbols_image_map(outer->image), false, outer->at + 1,
                                         inner->own.function, steps, &count);
    pair->ambiguous = result == TAIL_AMBIGUOUS;
    if (result != TAIL_CHAIN)
        return result == TAIL_NO_MEMORY ? FW_ERR_MEMORY : FW_OK;
    s->chain_count = 0;
    for (size_t i = 0; i < count; i++) {
        fw_error error = add_step(s, outer->image, &steps[i]);
        if (error != FW_OK)
            return error;
    }
    struct report_name *all =
        arena_take_many(s->arena, s->chain_count + outer->own.count, sizeof *all);
    if (!all)
        return FW_ERR_MEMORY;
    memcpy(all, s->chain, s->chain_count * sizeof *all);
    memcpy(all + s->chain_count, outer->own.names, outer->own.count * sizeof *all);
    pair->found = (struct symbols_found){.names = all,
                                         .count = (uint32_t)s->chain_count + outer->own.count,
                                         .tail_calls = (uint32_t)s->chain_count};
    return FW_OK;
}

/* NULL: nothing can lie between these, or memory ran out (*error). */
static const struct pair *pair_of(struct stack_names *s, uint32_t inner, uint32_t outer,
                                  fw_error *error)
{
    *error = FW_OK;
    if (inner == UNKNOWN || outer == UNKNOWN || s->known[inner].image != s->known[outer].image ||
        !s->known[outer].returns || !s->known[inner].own.count || !s->known[outer].own.count)
        return NULL;
    size_t i = mix(inner, outer) & s->pair_index.mask;
    for (uint32_t slot; (slot = s->pair_index.slots[i]); i = (i + 1) & s->pair_index.mask)
        if (s->pairs[slot - 1].inner == inner && s->pairs[slot - 1].outer == outer)
            return &s->pairs[slot - 1];
    if (!array_room(&s->pairs, &s->pair_capacity, s->pair_count, sizeof *s->pairs)) {
        *error = FW_ERR_MEMORY;
        return NULL;
    }
    struct pair *pair = &s->pairs[s->pair_count];
    *pair = (struct pair){.inner = inner, .outer = outer};
    *error = examine(s, pair);
    if (*error != FW_OK)
        return NULL;
    s->pair_index.slots[i] = (uint32_t)++s->pair_count;
    return pair;
}

static fw_error answer(struct stack_names *s, const struct symbols_place *places, size_t count,
                       struct symbols_found *found)
{
    uint32_t inner = UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        fw_error error = look_up(s, &places[i], &number);
        if (error != FW_OK)
            return error;
        const struct pair *pair = pair_of(s, inner, number, &error);
        if (error != FW_OK)
            return error;
        found[i] = pair ? pair->found : own_names(s, number);
        if (pair)
            found[i - 1].ambiguous = pair->ambiguous;
        inner = number;
    }
    return FW_OK;
}

fw_error symbols_stack(const struct symbols_place *places, size_t count, struct arena *arena,
                       struct symbols_found *found)
{
    struct stack_names s = {.arena = arena};
    fw_error error = FW_ERR_MEMORY;
    if (count < UINT32_MAX / 4 && index_make(&s.known_index, count) &&
        index_make(&s.pair_index, count))
        error = answer(&s, places, count, found);
    free(s.known_index.slots);
    free(s.pair_index.slots);
    free(s.known);
    free(s.pairs);
    free(s.chain);
    return error;
}
