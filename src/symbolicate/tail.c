/*
 * Tail calls: a function that ends with a jump to another one is not on the stack. When the call at
 * a return address names a function T, and the frame inside is a function F that is not T, then
 * T must have jumped, through others perhaps, to F. Which way it went follows when the call sites
 * admit one way only.
 *
 * Example: main calls `parse`; parse jumps to `parse_list`, that to `fail`. On the stack: fail,
 * main. The call site in main names parse; of parse's jumps only the one to parse_list leads to
 * fail; so parse_list and parse stood between, and are shown as inferred.
 *
 * A chain is given only when nothing else is possible: every function that can be reached from T
 * has a whole list of its tail calls (DW_AT_call_all_tail_calls), none of them is indirect, and no
 * circle lies on the way. Otherwise the answer is TAIL_AMBIGUOUS: nothing is invented. See DWARF 5
 * sections 3.4 and 2.17 and gdb's manual, "Tail Call Frames".
 */
#include "symbolicate/tail.h"

#include <stdlib.h>

enum { REACHED_MAX = 512, JUMPS_MAX = 4096, SLOTS = 2 * REACHED_MAX };

struct node {
    uint32_t function;
    bool leads;    /* the callee can be reached from here */
    uint8_t state; /* 0 untouched, 1 on the path being walked, 2 done */
    size_t first_jump, jump_count;
};

struct jump {
    uint64_t offset;
    uint32_t target;
    struct node *node; /* of the target; NULL: there were too many */
};

struct graph { /* what can be reached from the function that was called */
    const struct symmap *map;
    struct node nodes[REACHED_MAX];
    size_t node_count;
    uint16_t slots[SLOTS]; /* nodes by function: 1 + index; 0: free */
    struct jump jumps[JUMPS_MAX];
    size_t jump_count;
    bool indirect;  /* some jump goes through a pointer: it may lead anywhere */
    bool elsewhere; /* some jump leads to a function that the map does not hold */
    bool unknown;   /* a list may not be whole, or there was too much */
};

/* The slot of a function, a free one when it was not reached. */
static uint16_t *slot_of(struct graph *g, uint32_t function)
{
    size_t i = (function * 0x9e3779b1u >> 16) % SLOTS;
    while (g->slots[i] && g->nodes[g->slots[i] - 1].function != function)
        i = (i + 1) % SLOTS;
    return &g->slots[i];
}

static struct node *find(struct graph *g, uint32_t function)
{
    uint16_t slot = *slot_of(g, function);
    return slot ? &g->nodes[slot - 1] : NULL;
}

static struct node *reach(struct graph *g, uint32_t function)
{
    uint16_t *slot = slot_of(g, function);
    if (*slot)
        return &g->nodes[*slot - 1];
    if (g->node_count == REACHED_MAX) {
        g->unknown = true;
        return NULL;
    }
    struct node *node = &g->nodes[g->node_count++];
    *slot = (uint16_t)g->node_count;
    *node = (struct node){.function = function};
    return node;
}

static bool take_jump(void *context, uint64_t offset, uint32_t target)
{
    struct graph *g = context;
    if (target == SYMMAP_CALL_INDIRECT) {
        g->indirect = true;
        return true;
    }
    if (target == SYMMAP_CALL_ELSEWHERE) {
        g->elsewhere = true; /* in a whole map: another image, from which no way leads back */
        return true;
    }
    if (g->jump_count == JUMPS_MAX) {
        g->unknown = true;
        return false;
    }
    g->jumps[g->jump_count++] = (struct jump){offset, target, NULL};
    return true;
}

/* Everything that can be reached, breadth first. The callee's own jumps lead nowhere that matters,
 * unless they come back to it. */
static void explore(struct graph *g, uint32_t called)
{
    reach(g, called);
    for (size_t i = 0; i < g->node_count; i++) {
        struct symmap_function function;
        struct node *node = &g->nodes[i];
        node->first_jump = g->jump_count;
        if (!symmap_function(g->map, node->function, &function)) {
            g->unknown = true;
            continue;
        }
        g->unknown |= !function.all_tail_calls;
        symmap_tail_calls(g->map, node->function, take_jump, g);
        node->jump_count = g->jump_count - node->first_jump;
        for (size_t k = 0; k < node->jump_count; k++)
            g->jumps[node->first_jump + k].node = reach(g, g->jumps[node->first_jump + k].target);
    }
}

/* Marks what leads to `callee`, backwards until nothing changes: at most REACHED_MAX rounds. */
static void mark_leading(struct graph *g, uint32_t callee)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < g->node_count; i++) {
            struct node *node = &g->nodes[i];
            for (size_t k = 0; k < node->jump_count && !node->leads; k++) {
                const struct jump *jump = &g->jumps[node->first_jump + k];
                node->leads = jump->target == callee || (jump->node && jump->node->leads);
                changed |= node->leads;
            }
        }
    }
}

/* The one function that `node` jumps to on the way; CODE_NONE when there are several. */
static uint32_t only_next(struct graph *g, const struct node *node, uint32_t callee,
                          uint64_t *offset)
{
    uint32_t found = CODE_NONE;
    for (size_t k = 0; k < node->jump_count; k++) {
        const struct jump *jump = &g->jumps[node->first_jump + k];
        if (jump->target != callee && !(jump->node && jump->node->leads))
            continue;
        if (found != CODE_NONE && found != jump->target)
            return CODE_NONE;
        *offset = found == CODE_NONE ? jump->offset : UINT64_MAX;
        found = jump->target;
    }
    return found;
}

/* Follows the only way; outermost first. */
static enum tail_result follow(struct graph *g, uint32_t called, uint32_t callee,
                               struct tail_step *steps, size_t *count)
{
    *count = 0;
    for (uint32_t at = called; at != callee;) {
        struct node *node = find(g, at);
        if (!node || node->state || *count == TAIL_CHAIN_MAX)
            return TAIL_AMBIGUOUS;
        node->state = 1;
        struct tail_step step = {.function = at};
        at = only_next(g, node, callee, &step.offset);
        if (at == CODE_NONE)
            return TAIL_AMBIGUOUS;
        steps[(*count)++] = step;
    }
    struct node *last = find(g, callee); /* one that may come back to itself went round any number
                                            of times */
    return last && last->leads ? TAIL_AMBIGUOUS : TAIL_CHAIN;
}

enum tail_result tail_chain(const struct symmap *map, bool partial, uint64_t return_offset,
                            uint32_t callee, struct tail_step steps[TAIL_CHAIN_MAX], size_t *count)
{
    *count = 0;
    uint32_t called;
    struct symmap_function inner;
    if (!symmap_function(map, callee, &inner))
        return TAIL_NONE;
    callee = inner.whole; /* in a .cold part, the function that was called is the whole */
    if (symmap_call_at(map, return_offset, &called) != FW_OK || called == SYMMAP_CALL_INDIRECT ||
        called == callee)
        return TAIL_NONE;
    if (called == SYMMAP_CALL_ELSEWHERE)
        return partial ? TAIL_ELSEWHERE : TAIL_NONE;
    struct graph *g = calloc(1, sizeof *g);
    if (!g)
        return TAIL_NO_MEMORY;
    g->map = map;
    explore(g, called);
    mark_leading(g, callee);
    enum tail_result result = TAIL_NONE;
    struct node *start = find(g, called);
    if (partial && g->elsewhere)
        result = TAIL_ELSEWHERE;
    else if (start && start->leads && !g->unknown && !g->indirect)
        result = follow(g, called, callee, steps, count);
    else if (g->indirect || (start && start->leads))
        result = TAIL_AMBIGUOUS;
    if (result != TAIL_CHAIN)
        *count = 0;
    for (size_t i = 0; i < *count / 2; i++) { /* innermost first */
        struct tail_step other = steps[i];
        steps[i] = steps[*count - 1 - i];
        steps[*count - 1 - i] = other;
    }
    free(g);
    return result;
}
