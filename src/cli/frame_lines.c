/*
 * Each pair of a frame and its caller is an entry; an entry knows the one of its caller. The
 * entries of one source are asked as stacks: a run of entries that call each other is one, two runs
 * are kept apart by an address without a source.
 */
#include "cli/frame_lines.h"

#include "base/array.h"
#include "cli/frame_sources.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT32_MAX }; /* no caller: the outermost frame, or what it was is not known */

struct place { /* what an answer depends on */
    uint64_t address, caller;
    uint8_t kind, caller_kind; /* fw_frame_kind; NO_CALLER */
};
enum { NO_CALLER = 255 };

struct entry {
    struct place place;
    uint32_t caller; /* its entry, or NOBODY */
    uint64_t link;   /* the address as the image's file has it */
    struct fw_source *source;
    const struct fw_resolved *answer; /* NULL: nothing is known */
};

struct asked { /* a source, and what it answered */
    struct fw_source *source;
    struct fw_symbols *symbols;
};

struct frame_lines {
    const struct dump *dump;
    struct frame_sources *sources;
    struct entry *entries;
    size_t count, room;
    uint32_t *slots; /* entry + 1, 0 = free; slot_count is a power of two, or 0 */
    size_t slot_count;
    struct asked *asked;
    size_t asked_count, asked_room;
};

/* Collecting */

/* A frame that the kernel made calls nothing and was called by nothing. */
static bool is_signal(const struct fw_frame *frame)
{
    return (frame->flags & FW_FRAME_SIGNAL) != 0;
}

static struct place place_of(const struct dump_stack *stack, uint32_t at)
{
    const struct fw_frame *frame = &stack->frames[at];
    struct place place = {.address = frame->address, .kind = frame->kind, .caller_kind = NO_CALLER};
    bool gap = at + 1 == stack->head && stack->omitted > 0;
    if (at + 1 < stack->count && !gap && !is_signal(frame + 1)) {
        place.caller = frame[1].address;
        place.caller_kind = frame[1].kind;
    }
    return place;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->address == b->address && a->caller == b->caller && a->kind == b->kind &&
           a->caller_kind == b->caller_kind;
}

static size_t find_slot(const struct frame_lines *lines, const struct place *place)
{
    uint64_t hash =
        (place->address + 0x9e3779b97f4a7c15u * place->caller + place->kind) * 0xff51afd7ed558ccdu;
    for (size_t at = (size_t)(hash >> 32);; at++) {
        size_t slot = at & (lines->slot_count - 1);
        uint32_t entry = lines->slots[slot];
        if (entry == 0 || same_place(&lines->entries[entry - 1].place, place))
            return slot;
    }
}

static bool make_room(struct frame_lines *lines)
{
    if (!array_room(&lines->entries, &lines->room, lines->count, sizeof *lines->entries) ||
        lines->count >= NOBODY - 1)
        return false;
    if (lines->count * 2 < lines->slot_count)
        return true;
    size_t wanted = lines->slot_count == 0 ? 256 : lines->slot_count * 2;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL)
        return false;
    free(lines->slots);
    lines->slots = slots;
    lines->slot_count = wanted;
    for (size_t i = 0; i < lines->count; i++)
        lines->slots[find_slot(lines, &lines->entries[i].place)] = (uint32_t)i + 1;
    return true;
}

/* Sources are few. False when out of memory. */
static bool remember_source(struct frame_lines *lines, struct fw_source *source)
{
    for (size_t i = 0; i < lines->asked_count; i++) {
        if (lines->asked[i].source == source)
            return true;
    }
    if (source == NULL)
        return true;
    if (!array_room(&lines->asked, &lines->asked_room, lines->asked_count, sizeof *lines->asked))
        return false;
    lines->asked[lines->asked_count++] = (struct asked){.source = source};
    return true;
}

/* The entry of a frame whose caller's is `caller`; made when there is none. NOBODY: no memory. */
static uint32_t add_frame(struct frame_lines *lines, const struct dump_stack *stack, uint32_t at,
                          uint32_t caller)
{
    if (!make_room(lines))
        return NOBODY;
    struct entry entry = {.place = place_of(stack, at), .caller = caller};
    size_t slot = find_slot(lines, &entry.place);
    if (lines->slots[slot] != 0)
        return lines->slots[slot] - 1;
    struct fw_symbol symbol;
    if (fw_process_symbol(lines->dump->process, &stack->frames[at], &symbol) != FW_OK ||
        !frame_sources_find(lines->sources, &symbol, &entry.source) ||
        !remember_source(lines, entry.source))
        return NOBODY;
    entry.link = symbol.image_offset;
    if (entry.place.caller_kind == NO_CALLER)
        entry.caller = NOBODY;
    lines->entries[lines->count++] = entry;
    lines->slots[slot] = (uint32_t)lines->count;
    return (uint32_t)lines->count - 1;
}

/* From the outermost frame inwards: the caller is there first. */
static bool add_stack(struct frame_lines *lines, const struct dump_stack *stack)
{
    uint32_t caller = NOBODY;
    for (uint32_t at = stack->count; at-- > 0;) {
        if (is_signal(&stack->frames[at])) {
            caller = NOBODY;
            continue;
        }
        caller = add_frame(lines, stack, at, caller);
        if (caller == NOBODY)
            return false;
    }
    return true;
}

static bool collect(struct frame_lines *lines)
{
    for (size_t t = 0; t < lines->dump->thread_count; t++) {
        const struct dump_thread *thread = &lines->dump->threads[t];
        for (size_t s = 0; s < thread->stack_count; s++) {
            if (!add_stack(lines, &thread->stacks[s]))
                return false;
        }
    }
    return true;
}

/* Asking */

struct question {
    struct fw_stack_address *stack;
    uint32_t *entries; /* of each address; NOBODY: there for another one's sake */
    size_t count;
};

static void ask(struct question *question, const struct entry *entry, uint32_t index)
{
    uint32_t space = FW_ADDRESS_LINK;
    if (entry->place.kind == FW_FRAME_RETURN)
        space |= FW_ADDRESS_RETURN;
    question->entries[question->count] = index;
    question->stack[question->count++] =
        (struct fw_stack_address){entry->source, {entry->link, space}};
}

static void ask_nothing(struct question *question)
{
    question->entries[question->count] = NOBODY;
    question->stack[question->count++] = (struct fw_stack_address){.source = NULL};
}

/* All entries of `source`, callers behind those whom they call: a later entry is further in. */
static void ask_source(const struct frame_lines *lines, const struct fw_source *source,
                       struct question *question)
{
    uint32_t next = NOBODY; /* the caller that the address before this one waits for */
    for (size_t i = lines->count; i-- > 0;) {
        const struct entry *entry = &lines->entries[i];
        if (entry->source != source)
            continue;
        if (next != i && question->count > 0) {
            if (next != NOBODY)
                ask(question, &lines->entries[next], NOBODY);
            ask_nothing(question);
        }
        ask(question, entry, (uint32_t)i);
        next = entry->caller;
        if (next != NOBODY && lines->entries[next].source != source)
            next = NOBODY;
    }
    if (next != NOBODY)
        ask(question, &lines->entries[next], NOBODY);
}

static void keep_answers(struct frame_lines *lines, const struct question *question,
                         const struct fw_symbols *symbols)
{
    for (size_t i = 0; i < question->count; i++) {
        if (question->entries[i] != NOBODY && symbols->items[i].frame_count > 0)
            lines->entries[question->entries[i]].answer = &symbols->items[i];
    }
}

static bool read_source(struct frame_lines *lines, struct asked *asked)
{
    size_t most = 3 * lines->count;
    struct question question = {.stack = calloc(most, sizeof *question.stack),
                                .entries = calloc(most, sizeof *question.entries)};
    struct fw_failure why = {0};
    fw_error error = FW_ERR_MEMORY;
    if (question.stack != NULL && question.entries != NULL) {
        ask_source(lines, asked->source, &question);
        error = fw_symbolicate_stack(question.stack, question.count, &asked->symbols, &why);
    }
    if (error == FW_OK)
        keep_answers(lines, &question, asked->symbols);
    else if (error != FW_ERR_MEMORY)
        frame_sources_failed(lines->sources, asked->source, &why);
    free(question.stack);
    free(question.entries);
    return error != FW_ERR_MEMORY;
}

static bool read_all(struct frame_lines *lines)
{
    for (size_t i = 0; i < lines->asked_count; i++) {
        if (!read_source(lines, &lines->asked[i]))
            return false;
    }
    return true;
}

struct frame_lines *frame_lines_read(const struct dump *dump, const struct dump_options *options,
                                     struct progress *progress)
{
    struct frame_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL)
        return NULL;
    lines->dump = dump;
    lines->sources = frame_sources_create(dump, options, progress);
    if (lines->sources == NULL || !collect(lines) || !read_all(lines)) {
        frame_lines_free(lines);
        return NULL;
    }
    return lines;
}

void frame_lines_free(struct frame_lines *lines)
{
    if (lines == NULL)
        return;
    for (size_t i = 0; i < lines->asked_count; i++)
        fw_symbols_free(lines->asked[i].symbols);
    free(lines->asked);
    free(lines->entries);
    free(lines->slots);
    frame_sources_destroy(lines->sources);
    free(lines);
}

const struct fw_resolved *frame_lines_at(const struct frame_lines *lines,
                                         const struct dump_stack *stack, uint32_t at)
{
    if (lines == NULL || lines->count == 0 || is_signal(&stack->frames[at]))
        return NULL;
    struct place place = place_of(stack, at);
    uint32_t entry = lines->slots[find_slot(lines, &place)];
    return entry != 0 ? lines->entries[entry - 1].answer : NULL;
}

size_t frame_lines_source_count(const struct frame_lines *lines)
{
    return lines->asked_count;
}

const char *frame_lines_missing(const struct frame_lines *lines, size_t i)
{
    struct fw_source_info info = {.size = sizeof info};
    bool known = fw_source_info(lines->asked[i].source, &info) == FW_OK && info.missing != NULL;
    return known ? info.missing : "";
}

const char *frame_lines_story(const struct frame_lines *lines, const char *image)
{
    return lines != NULL ? frame_sources_story(lines->sources, image) : NULL;
}
