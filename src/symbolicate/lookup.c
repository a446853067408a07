/*
 * Looking up: addresses to link-time places, one map for all of them, frames copied out into one
 * answer that owns everything it shows.
 */
#include "symbolicate/lookup.h"

#include "base/array.h"
#include "object/debug_sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

struct answer *answer_begin(size_t count, struct fw_resolved **items, struct fw_symbols **symbols,
                            struct fw_failure *why)
{
    *symbols = NULL;
    if (why)
        why->code = FW_OK;
    struct answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return NULL;
    *items = arena_take_many(&answer->arena, count, sizeof **items);
    if (!*items) {
        free(answer);
        return NULL;
    }
    memset(*items, 0, count * sizeof **items);
    answer->symbols = (struct fw_symbols){*items, count};
    return answer;
}

fw_error answer_finish(struct answer *answer, fw_error error, struct fw_symbols **symbols,
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

void fw_symbols_free(struct fw_symbols *symbols)
{
    if (!symbols)
        return;
    struct answer *answer = (struct answer *)(void *)symbols;
    arena_free(&answer->arena);
    free(answer);
}

/* ---- places ---- */

static bool file_place(const struct object *object, uint64_t offset, uint64_t *vaddr)
{
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *segment = object_segment(object, i);
        if (offset >= segment->offset && offset - segment->offset < segment->file_size) {
            *vaddr = segment->vaddr + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

fw_error place_of(const struct fw_source *source, const struct fw_address *address,
                  struct place *place, struct fw_failure *why)
{
    uint32_t space = address->space & ~(uint32_t)FW_ADDRESS_RETURN;
    bool returns = (address->space & FW_ADDRESS_RETURN) != 0;
    uint64_t given = address->value & ~(uint64_t)source->thumb;
    uint64_t value = given - returns; /* a byte of the call */
    *place = (struct place){.vaddr = value, .returns = returns};
    if (returns && given == 0)
        place->reason = FW_REASON_OUTSIDE;
    if (space == FW_ADDRESS_IMAGE) {
        place->vaddr += source->base; /* a base may lie below 0: it wraps, and so does this */
    } else if (space == FW_ADDRESS_FILE) {
        if (!source->object)
            place->reason = FW_REASON_NO_OFFSETS;
        else if (!file_place(source->object, value, &place->vaddr))
            place->reason = FW_REASON_OUTSIDE;
    } else if (space != FW_ADDRESS_LINK) {
        if (why) {
            *why = (struct fw_failure){.code = FW_ERR_ARGUMENT, .place = address->value};
            snprintf(why->message, sizeof why->message,
                     "0x%" PRIx64 " is in address space %u, which there is not", address->value,
                     space);
        }
        return FW_ERR_ARGUMENT;
    }
    return FW_OK;
}

static bool is_code(const struct fw_source *source, uint64_t vaddr)
{
    size_t low = 0, high = source->code_count; /* the first range that ends behind it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source->code[middle].hi <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < source->code_count && source->code[low].lo <= vaddr;
}

/* Why the map has nothing there. A map knows no sections, and a file may have none either: then
 * only what no map reaches is known to lie outside. */
static enum fw_reason reason_of(const struct fw_source *source, uint64_t vaddr)
{
    if (vaddr - source->base > UINT32_MAX || (source->code_count && !is_code(source, vaddr)))
        return FW_REASON_OUTSIDE;
    return source->kind == FW_SOURCE_DWARF || source->kind == FW_SOURCE_MAP ? FW_REASON_GAP
                                                                            : FW_REASON_NO_SYMBOLS;
}

/* ---- lookups ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

fw_error lookup_begin(struct lookup *lookup, const struct place *places, size_t count,
                      struct fw_failure *why)
{
    lookup->map = atomic_load(&lookup->source->map);
    if (lookup->map)
        return FW_OK;
    size_t used = 0, distinct = 0;
    uint64_t *sorted = count < SIZE_MAX ? calloc(count + 1, sizeof *sorted) : NULL;
    if (!sorted)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (places[i].reason == FW_REASON_NONE)
            sorted[used++] = places[i].vaddr;
    qsort(sorted, used, sizeof *sorted, by_value);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[distinct++] = sorted[i];
    fw_error error = distinct == 0 ? FW_OK
                                   : source_map_for(lookup->source, sorted, distinct, &lookup->map,
                                                    &lookup->bytes, why);
    free(sorted);
    return error;
}

void lookup_end(struct lookup *lookup)
{
    if (lookup->bytes) {
        symmap_close(lookup->map);
        free(lookup->bytes);
    }
    texts_free(&lookup->texts);
    free(lookup->found);
}

fw_error lookup_frames(struct lookup *lookup, uint64_t offset, size_t *count)
{
    fw_error error =
        symmap_lookup(lookup->map, offset, lookup->found, lookup->found_capacity, count);
    if (error != FW_OK || *count <= lookup->found_capacity)
        return error;
    if (!array_reserve(&lookup->found, &lookup->found_capacity, *count, sizeof *lookup->found))
        return FW_ERR_MEMORY;
    return symmap_lookup(lookup->map, offset, lookup->found, lookup->found_capacity, count);
}

bool lookup_copy(struct lookup *lookup, struct arena *arena, const struct symmap_frame *from,
                 uint64_t offset, uint32_t flags, struct fw_symbol_frame *to)
{
    *to = (struct fw_symbol_frame){.line = from->line,
                                   .column = from->column,
                                   .start = lookup->source->base + from->start,
                                   .offset = offset,
                                   .size = flags & FW_SYMBOL_TAIL_CALL ? 0 : from->size,
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
    if (from->file) {
        to->file = texts_path(&lookup->texts, arena, from->directory, from->file);
        if (!to->file)
            return false;
    }
    return !from->name || texts_name(&lookup->texts, arena, lookup->source->symbolicator,
                                     from->name, &to->mangled, &to->function);
}

fw_error lookup_place(struct lookup *lookup, struct arena *arena, const struct place *place,
                      struct fw_resolved *symbol, uint32_t *outer_function)
{
    size_t count = 0;
    *outer_function = CODE_NONE;
    if (place->reason != FW_REASON_NONE) {
        symbol->reason = place->reason;
        return FW_OK;
    }
    uint64_t offset = place->vaddr - lookup->source->base;
    fw_error error = lookup_frames(lookup, offset, &count);
    if (error == FW_ERR_CORRUPT) {
        symbol->reason = FW_REASON_DAMAGED;
        return FW_OK;
    }
    if (error == FW_ERR_NOT_FOUND || (error == FW_OK && count == 0)) {
        symbol->reason = reason_of(lookup->source, place->vaddr);
        return FW_OK;
    }
    if (error != FW_OK)
        return error;
    struct fw_symbol_frame *frames = arena_take_many(arena, count, sizeof *frames);
    if (!frames)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct symmap_frame *from = &lookup->found[i];
        if (!lookup_copy(lookup, arena, from, offset - from->start + place->returns, 0, &frames[i]))
            return FW_ERR_MEMORY;
    }
    *outer_function = lookup->found[count - 1].function;
    symbol->frames = frames;
    symbol->frame_count = count;
    return FW_OK;
}

fw_error fw_symbolicate(struct fw_source *source, const struct fw_address *addresses, size_t count,
                        struct fw_symbols **symbols, struct fw_failure *why)
{
    struct fw_resolved *items;
    struct answer *answer = answer_begin(count, &items, symbols, why);
    struct place *places = answer && count < SIZE_MAX ? calloc(count + 1, sizeof *places) : NULL;
    struct lookup lookup = {.source = source};
    fw_error error = places ? FW_OK : FW_ERR_MEMORY;
    for (size_t i = 0; error == FW_OK && i < count; i++)
        error = place_of(source, &addresses[i], &places[i], why);
    if (error == FW_OK)
        error = lookup_begin(&lookup, places, count, why);
    uint32_t function;
    for (size_t i = 0; error == FW_OK && i < count; i++)
        error = lookup_place(&lookup, &answer->arena, &places[i], &items[i], &function);
    lookup_end(&lookup);
    free(places);
    return answer_finish(answer, error, symbols, why);
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
    case FW_REASON_NO_OFFSETS: return "a symbol map does not know offsets in the file";
    }
    return "unknown";
}
