/*
 * Making recipes: the walk is done again by its rules alone, and each word that it reads is written
 * down. What comes out must be the stack that the real walk found, else there is no recipe: a step
 * that depended on more than its rule and these words, or a stack that changed meanwhile.
 */
#include "watch/calls_recipe.h"

#include "unwind/rule.h"
#include "unwind/step.h"

enum { WORD = sizeof(uintptr_t), OPEN = UINT32_MAX, SMALL = 4096 /* no stack is so low */ };

/* A walk under way. */
struct cook {
    struct recipe_draft *draft;
    const struct call_place *at;
    uintptr_t sp, fp, code_mask;
    uint32_t fp_at; /* offset of the word that `fp` is from; OPEN: the caller's register */
};

static bool cook_begin(struct cook *cook, const struct fw_stack *stack, const struct call_place *at,
                       uintptr_t code_mask, struct recipe_draft *draft)
{
    draft->head = (struct recipe){.return_address = (uintptr_t)stack->frames[0].address};
    *cook = (struct cook){.draft = draft,
                          .at = at,
                          .sp = at->sp,
                          .fp = at->fp,
                          .code_mask = code_mask,
                          .fp_at = OPEN};
    return stack->count && stack->count <= 128;
}

/* The word at `address` of the thread's stack, written down to reach so far. */
static bool cook_read(struct cook *cook, uintptr_t address, uintptr_t *word, uint32_t *offset)
{
    const uintptr_t from = address - cook->at->sp, room = cook->at->hi - cook->at->sp;
    if (address < cook->at->sp || room < WORD || from > room - WORD || from > UINT32_MAX - WORD ||
        address % WORD)
        return false;
    *offset = (uint32_t)from;
    *word = *(const volatile uintptr_t *)address;
    if (cook->draft->head.span < *offset + WORD)
        cook->draft->head.span = *offset + WORD;
    return true;
}

/* The frame pointer decides where the walk goes on: what it was is part of the recipe. */
static bool cook_needs_fp(struct cook *cook)
{
    struct recipe *head = &cook->draft->head;
    const uintptr_t delta = cook->fp - cook->at->sp;
    if (cook->fp_at == OPEN) {
        head->uses_fp = true;
        head->fp_delta = delta;
        return true;
    }
    if (head->fps && cook->draft->fp[head->fps - 1].at == cook->fp_at)
        return true;
    if (delta > UINT32_MAX || head->fps == 128)
        return false;
    cook->draft->fp[head->fps++] = (struct recipe_fp){cook->fp_at, (uint32_t)delta};
    return true;
}

/* A word that was read as the address of frame `number`, or as what ends the walk. */
static bool cook_word(struct cook *cook, const struct fw_stack *stack, uint32_t number,
                      uint32_t offset, uintptr_t word)
{
    struct recipe *head = &cook->draft->head;
    cook->draft->at[number - 1] = offset;
    if (number < stack->count) {
        head->words = (uint16_t)number;
        return stack->frames[number].address == word;
    }
    head->has_last = true;
    head->last = word;
    return word ? stack->end == FW_END_LIMIT : stack->end == FW_END_ROOT;
}

/* The word that says where the next record is ends the chain wherever the stack lies: it is 0, or
 * too small to be of any stack (what a function that keeps no record had in the register), or not
 * aligned. */
static bool cook_last_record(struct cook *cook, const struct fw_stack *stack, uint32_t number)
{
    struct recipe *head = &cook->draft->head;
    if (number != stack->count || cook->fp_at == OPEN)
        return false;
    cook->draft->at[number - 1] = cook->fp_at;
    head->has_last = true;
    head->last = cook->fp;
    return cook->fp == 0      ? stack->end == FW_END_ROOT
           : cook->fp < SMALL ? stack->end == FW_END_LOOP
                              : stack->end == FW_END_BAD_MEMORY;
}

/* The rule of a return address. The walk has just put it into the cache; but other frames of a deep
 * stack may share its slots there, so that one of them is always missing. */
static rule_t rule_of(const struct walk_space *space, const struct memory *memory, uint64_t address)
{
    struct unwind_row row;
    const rule_t rule = rule_cache_get(space->cache, address, false);
    if (rule != RULE_NONE)
        return rule;
    return step_find_row(space, memory, address, false, &row) == UNWIND_OK && !row.fleeting
               ? rule_pack(space->arch, &row)
               : RULE_NONE;
}

/* One step out of frame `number - 1` by its rule. *done: it was the root. */
static bool cook_step(struct cook *cook, const struct walk_space *space,
                      const struct memory *memory, const struct fw_stack *stack, uint32_t number,
                      bool *done)
{
    const struct fw_frame *frame = &stack->frames[number - 1];
    const rule_t rule = rule_of(space, memory, frame->address);
    const unsigned kind = rule_kind(rule);
    *done = kind == RULE_ROOT;
    if (frame->kind != FW_FRAME_RETURN || frame->flags)
        return false;
    if (kind == RULE_ROOT)
        return number == stack->count && stack->end == FW_END_ROOT;
    if (kind != RULE_SP && kind != RULE_FP)
        return false;
    if (kind == RULE_FP && !cook_needs_fp(cook))
        return false;
    const intptr_t ra_words = ARCH_NATIVE_HAS_LR ? (intptr_t)rule_ra_words(rule) : -1;
    const intptr_t fp_words = (intptr_t)rule_fp_words(rule);
    const uintptr_t cfa =
        (kind == RULE_FP ? cook->fp : cook->sp) + (uintptr_t)rule_cfa_words(rule) * WORD;
    uintptr_t word;
    uint32_t offset;
    if (cfa <= cook->sp || ra_words == 0 ||
        !cook_read(cook, cfa + (uintptr_t)ra_words * WORD, &word, &offset) ||
        !cook_word(cook, stack, number, offset, word & cook->code_mask))
        return false;
    if (fp_words && !cook_read(cook, cfa + (uintptr_t)fp_words * WORD, &cook->fp, &cook->fp_at))
        return false;
    cook->sp = cfa;
    return true;
}

bool recipe_of_walk(const struct walk_space *space, const struct memory *memory,
                    const struct fw_stack *stack, const struct call_place *at,
                    struct recipe_draft *draft)
{
    struct cook cook;
    bool done = false;
    if (space->swift_async || !cook_begin(&cook, stack, at, ~(uintptr_t)space->pac_mask, draft))
        return false;
    for (uint32_t number = 1; number <= stack->count && !done; number++)
        if (!cook_step(&cook, space, memory, stack, number, &done))
            return false;
    return true;
}

/* Each record is two words: the next one's address, and the return address. */
bool recipe_of_records(const struct fw_stack *stack, const struct call_place *at,
                       uintptr_t code_mask, struct recipe_draft *draft)
{
    struct cook cook;
    uintptr_t word;
    uint32_t offset;
    if (!cook_begin(&cook, stack, at, code_mask, draft))
        return false;
    for (uint32_t number = 1; number <= stack->count; number++) {
        if (cook.fp < SMALL || cook.fp % WORD)
            return cook_last_record(&cook, stack, number);
        if (!cook_needs_fp(&cook) || !cook_read(&cook, cook.fp + WORD, &word, &offset) ||
            !cook_word(&cook, stack, number, offset, word & code_mask) ||
            !cook_read(&cook, cook.fp, &cook.fp, &cook.fp_at))
            return false;
    }
    return true;
}
