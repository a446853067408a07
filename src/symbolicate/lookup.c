/*
 * Looking up: addresses to link-time places, one map for all of them, frames copied out into one
 * answer that owns everything it shows.
 */
#include "symbolicate/internal.h"

#include "object/debug_sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 512 }; /* inlined calls at one address */

struct answer { /* what fw_symbols really is */
    struct fw_symbols symbols;
    struct arena arena;
};

struct place {      /* one address of the question */
    uint64_t vaddr; /* link-time, of an instruction: a byte of the call for a return address */
    bool returns;
    bool valid; /* it is in the file at all */
};

/* One source within a question, with the map that answers it. */
struct lookup {
    struct fw_source *source;
    struct symmap *map;
    uint8_t *bytes;   /* of a small map; NULL: the map is the source's */
    bool needs_whole; /* the small map could not tell about tail calls */
    struct name_cache names;
};

static void lookup_end(struct lookup *lookup)
{
    if (lookup->bytes) {
        symmap_close(lookup->map);
        free(lookup->bytes);
    }
    name_cache_free(&lookup->names);
}

static bool file_place(const struct fw_source *source, uint64_t offset, uint64_t *vaddr)
{
    if (!source->object)
        return false;
    for (size_t i = 0; i < object_segment_count(source->object); i++) {
        const struct object_segment *segment = object_segment(source->object, i);
        if (offset >= segment->offset && offset - segment->offset < segment->file_size) {
            *vaddr = segment->vaddr + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

static struct place place_of(const struct fw_source *source, const struct fw_address *address)
{
    struct place place = {.vaddr = address->value,
                          .returns = (address->space & FW_ADDRESS_RETURN) != 0,
                          .valid = true};
    switch (address->space & ~(uint32_t)FW_ADDRESS_RETURN) {
    case FW_ADDRESS_IMAGE: place.vaddr += source->base; break;
    case FW_ADDRESS_FILE: place.valid = file_place(source, address->value, &place.vaddr); break;
    default: break;
    }
    if (place.returns)
        place.vaddr--;
    return place;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The map that knows all valid places. */
static fw_error lookup_begin(struct lookup *lookup, const struct place *places, size_t count,
                             struct fw_failure *why)
{
    uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return FW_ERR_MEMORY;
    size_t used = 0, distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (places[i].valid)
            sorted[used++] = places[i].vaddr;
    qsort(sorted, used, sizeof *sorted, by_value);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[distinct++] = sorted[i];
    fw_error error =
        source_map_for(lookup->source, sorted, distinct, &lookup->map, &lookup->bytes, why);
    free(sorted);
    return error;
}

static enum fw_reason reason_of(const struct fw_source *source, const struct place *place)
{
    if (!place->valid)
        return FW_REASON_OUTSIDE;
    bool inside = source->object == NULL;
    const struct object_range *code;
    size_t count;
    if (source->object && object_code_ranges(source->object, &code, &count) == FW_OK)
        for (size_t i = 0; i < count; i++)
            inside |= place->vaddr >= code[i].lo && place->vaddr < code[i].hi;
    if (!inside)
        return FW_REASON_OUTSIDE;
    return source->kind == FW_SOURCE_DWARF || source->kind == FW_SOURCE_MAP ? FW_REASON_GAP
                                                                            : FW_REASON_NO_SYMBOLS;
}

static char *copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static char *join_path(struct arena *arena, const char *directory, const char *file)
{
    size_t head = directory ? strlen(directory) : 0, tail = strlen(file) + 1;
    bool slash = head && directory[head - 1] != '/';
    char *path = arena_take(arena, head + slash + tail);
    if (!path)
        return NULL;
    if (head)
        memcpy(path, directory, head);
    if (slash)
        path[head] = '/';
    memcpy(path + head + slash, file, tail);
    return path;
}

/* `offset` counts from the piece's start to the address as it was given. */
static bool copy_frame(struct lookup *lookup, struct arena *arena, const struct symmap_frame *from,
                       uint64_t offset, uint32_t flags, struct fw_symbol_frame *to)
{
    *to = (struct fw_symbol_frame){.line = from->line,
                                   .column = from->column,
                                   .start = lookup->source->base + from->start,
                                   .offset = offset,
                                   .flags = flags};
    static const struct {
        uint32_t map, shown;
    } same[] = {{SYMMAP_FRAME_INLINED, FW_SYMBOL_INLINED},
                {SYMMAP_FRAME_FROM_SYMBOL, FW_SYMBOL_FROM_TABLE},
                {SYMMAP_FRAME_SYNTHESIZED, FW_SYMBOL_SYNTHESIZED},
                {SYMMAP_FRAME_ARTIFICIAL, FW_SYMBOL_ARTIFICIAL},
                {SYMMAP_FRAME_PART, FW_SYMBOL_PART},
                {SYMMAP_FRAME_PLT, FW_SYMBOL_PLT}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (from->flags & same[i].map)
            to->flags |= same[i].shown;
    if (from->file && !(to->file = join_path(arena, from->directory, from->file)))
        return false;
    if (!from->name)
        return true;
    to->mangled = copy_text(arena, from->name);
    to->function = name_for_people(lookup->source->symbolicator, &lookup->names, arena, from->name);
    if (to->function == from->name) /* not mangled */
        to->function = to->mangled;
    return to->mangled && to->function;
}

/* The frames of one place into the arena. */
static fw_error answer_place(struct lookup *lookup, struct arena *arena, const struct place *place,
                             struct fw_resolved *symbol, uint32_t *outer_function)
{
    struct symmap_frame found[FRAMES_MAX];
    size_t count = 0;
    *outer_function = CODE_NONE;
    uint64_t offset = place->vaddr - lookup->source->base;
    fw_error error = place->valid ? symmap_lookup(lookup->map, offset, found, FRAMES_MAX, &count)
                                  : FW_ERR_NOT_FOUND;
    if (error == FW_ERR_CORRUPT) {
        symbol->reason = FW_REASON_DAMAGED;
        return FW_OK;
    }
    if (error != FW_OK || count == 0) {
        symbol->reason = reason_of(lookup->source, place);
        return FW_OK;
    }
    if (count > FRAMES_MAX)
        count = FRAMES_MAX;
    struct fw_symbol_frame *frames = arena_take_many(arena, count, sizeof *frames);
    if (!frames)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!copy_frame(lookup, arena, &found[i],
                        offset - found[i].start + (place->returns ? 1 : 0), 0, &frames[i]))
            return FW_ERR_MEMORY;
    *outer_function = found[count - 1].function;
    symbol->frames = frames;
    symbol->frame_count = count;
    return FW_OK;
}

static struct answer *answer_create(size_t count, struct fw_resolved **items)
{
    struct answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return NULL;
    *items = arena_take_many(&answer->arena, count + 1, sizeof **items);
    if (!*items) {
        free(answer);
        return NULL;
    }
    memset(*items, 0, (count + 1) * sizeof **items);
    answer->symbols = (struct fw_symbols){*items, count};
    return answer;
}

void fw_symbols_free(struct fw_symbols *symbols)
{
    if (!symbols)
        return;
    struct answer *answer = (struct answer *)(void *)symbols;
    arena_free(&answer->arena);
    free(answer);
}

static fw_error finish(struct answer *answer, fw_error error, struct fw_symbols **symbols,
                       struct fw_failure *why)
{
    if (error == FW_OK) {
        *symbols = &answer->symbols;
        return FW_OK;
    }
    if (answer)
        fw_symbols_free(&answer->symbols);
    if (why && why->code != error) {
        *why = (struct fw_failure){.code = error};
        snprintf(why->message, sizeof why->message, "%s", fw_error_text(error));
    }
    return error;
}

fw_error fw_symbolicate(struct fw_source *source, const struct fw_address *addresses, size_t count,
                        struct fw_symbols **symbols, struct fw_failure *why)
{
    *symbols = NULL;
    struct fw_resolved *items;
    struct answer *answer = answer_create(count, &items);
    struct place *places = calloc(count + 1, sizeof *places);
    struct lookup lookup = {.source = source};
    fw_error error = answer && places ? FW_OK : FW_ERR_MEMORY;
    for (size_t i = 0; error == FW_OK && i < count; i++)
        places[i] = place_of(source, &addresses[i]);
    if (error == FW_OK)
        error = lookup_begin(&lookup, places, count, why);
    uint32_t function;
    for (size_t i = 0; error == FW_OK && i < count; i++)
        error = answer_place(&lookup, &answer->arena, &places[i], &items[i], &function);
    lookup_end(&lookup);
    free(places);
    return finish(answer, error, symbols, why);
}

/* ---- stacks ---- */

struct stack_lookup {
    const struct fw_stack_address *stack;
    struct place *places;
    uint32_t *functions; /* outer function of each place in its map */
    size_t *lookup_of;   /* index into lookups; count: no source */
    struct lookup *lookups;
    size_t lookup_count;
};

/* One lookup for each source, with all its places. */
static fw_error begin_all(struct stack_lookup *s, size_t count, struct fw_failure *why)
{
    struct place *own = malloc((count + 1) * sizeof *own);
    if (!own)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        s->lookup_of[i] = count;
        for (size_t k = 0; k < s->lookup_count && s->stack[i].source; k++)
            if (s->lookups[k].source == s->stack[i].source)
                s->lookup_of[i] = k;
        if (s->stack[i].source && s->lookup_of[i] == count) {
            s->lookup_of[i] = s->lookup_count;
            s->lookups[s->lookup_count++].source = s->stack[i].source;
        }
        if (s->stack[i].source)
            s->places[i] = place_of(s->stack[i].source, &s->stack[i].address);
    }
    fw_error error = FW_OK;
    for (size_t k = 0; k < s->lookup_count && error == FW_OK; k++) {
        size_t used = 0;
        for (size_t i = 0; i < count; i++)
            if (s->lookup_of[i] == k)
                own[used++] = s->places[i];
        error = lookup_begin(&s->lookups[k], own, used, why);
    }
    free(own);
    return error;
}

/* A frame for one inferred step: where it jumps from, when that is known. */
static bool copy_step(struct lookup *lookup, struct arena *arena, const struct tail_step *step,
                      struct fw_symbol_frame *to)
{
    struct symmap_function function;
    if (!symmap_function(lookup->map, step->function, &function))
        return false;
    struct symmap_frame found[FRAMES_MAX], frame = {.name = function.name, .start = function.start};
    size_t count = 0;
    uint64_t offset = 0;
    if (step->offset != UINT64_MAX &&
        symmap_lookup(lookup->map, step->offset, found, FRAMES_MAX, &count) == FW_OK && count > 0 &&
        count <= FRAMES_MAX) {
        frame = found[count - 1];
        offset = step->offset - frame.start;
    }
    return copy_frame(lookup, arena, &frame, offset, FW_SYMBOL_TAIL_CALL, to);
}

/* What lies between frame `i` and the caller's frame i + 1, behind the frames of `i`. */
static bool add_tail_calls(struct stack_lookup *s, size_t i, struct arena *arena,
                           struct fw_resolved *symbol)
{
    if (symbol->frame_count == 0 || s->lookup_of[i] != s->lookup_of[i + 1] ||
        !s->places[i + 1].returns || s->functions[i] == CODE_NONE)
        return true;
    struct lookup *lookup = &s->lookups[s->lookup_of[i]];
    struct tail_step steps[TAIL_CHAIN_MAX];
    size_t count;
    uint64_t returns = s->places[i + 1].vaddr + 1 - lookup->source->base;
    enum tail_result result =
        tail_chain(lookup->map, lookup->bytes != NULL, returns, s->functions[i], steps, &count);
    lookup->needs_whole |= result == TAIL_ELSEWHERE;
    if (result != TAIL_AMBIGUOUS && count == 0)
        return true;
    struct fw_symbol_frame *frames =
        arena_take_many(arena, symbol->frame_count + count, sizeof *frames);
    if (!frames)
        return false;
    memcpy(frames, symbol->frames, symbol->frame_count * sizeof *frames);
    symbol->frames = frames;
    if (result == TAIL_AMBIGUOUS)
        frames[symbol->frame_count - 1].flags |= FW_SYMBOL_AMBIGUOUS_TAIL;
    for (size_t k = 0; k < count; k++)
        if (!copy_step(lookup, arena, &steps[k], &frames[symbol->frame_count++]))
            return false;
    return true;
}

static fw_error answer_stack(struct stack_lookup *s, size_t count, struct arena *arena,
                             struct fw_resolved *items)
{
    memset(items, 0, count * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        if (s->lookup_of[i] == count) {
            items[i].reason = FW_REASON_UNKNOWN_FILE;
            continue;
        }
        fw_error error = answer_place(&s->lookups[s->lookup_of[i]], arena, &s->places[i], &items[i],
                                      &s->functions[i]);
        if (error != FW_OK)
            return error;
    }
    for (size_t i = 0; i + 1 < count; i++)
        if (!add_tail_calls(s, i, arena, &items[i]))
            return FW_ERR_MEMORY;
    return FW_OK;
}

/* Whole maps where small ones hold too little. */
static fw_error take_whole_maps(struct stack_lookup *s, bool *changed, struct fw_failure *why)
{
    *changed = false;
    for (size_t k = 0; k < s->lookup_count; k++) {
        struct lookup *lookup = &s->lookups[k];
        if (!lookup->needs_whole)
            continue;
        struct fw_source *source = lookup->source;
        lookup_end(lookup);
        *lookup = (struct lookup){.source = source};
        *changed = true;
        fw_error error = source_whole_map(source, &lookup->map, why);
        if (error != FW_OK)
            return error;
    }
    return FW_OK;
}

fw_error fw_symbolicate_stack(const struct fw_stack_address *stack, size_t count,
                              struct fw_symbols **symbols, struct fw_failure *why)
{
    *symbols = NULL;
    struct fw_resolved *items;
    struct answer *answer = answer_create(count, &items);
    struct stack_lookup s = {.stack = stack,
                             .places = calloc(count + 1, sizeof *s.places),
                             .functions = calloc(count + 1, sizeof *s.functions),
                             .lookup_of = calloc(count + 1, sizeof *s.lookup_of),
                             .lookups = calloc(count + 1, sizeof *s.lookups)};
    fw_error error = answer && s.places && s.functions && s.lookup_of && s.lookups
                         ? begin_all(&s, count, why)
                         : FW_ERR_MEMORY;
    if (error == FW_OK)
        error = answer_stack(&s, count, &answer->arena, items);
    bool changed = false;
    if (error == FW_OK)
        error = take_whole_maps(&s, &changed, why);
    if (error == FW_OK && changed)
        error = answer_stack(&s, count, &answer->arena, items);
    for (size_t k = 0; s.lookups && k < s.lookup_count; k++)
        lookup_end(&s.lookups[k]);
    free(s.places);
    free(s.functions);
    free(s.lookup_of);
    free(s.lookups);
    return finish(answer, error, symbols, why);
}

const char *fw_reason_text(enum fw_reason reason)
{
    switch (reason) {
    case FW_REASON_NONE: return "named";
    case FW_REASON_OUTSIDE: return "not in the image's code";
    case FW_REASON_NO_SYMBOLS: return "no symbol there, and no debug file was found";
    case FW_REASON_GAP: return "the debug file knows nothing there";
    case FW_REASON_UNKNOWN_FILE: return "no file with this identity was found";
    case FW_REASON_DAMAGED: return "the debug file is damaged at this place";
    }
    return "unknown";
}
