/* Interning: every text, function, location and node once, found through hash tables. */
#include "report/profile.h"

#include "base/array.h"
#include "base/utf8.h"

uint32_t profile_hash(uint32_t hash, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < size; i++) /* FNV-1a */
        hash = (hash ^ p[i]) * 16777619U;
    return hash;
}

/* Spreads what FNV leaves in the low bits. */
static size_t place_of(uint32_t hash, size_t size)
{
    return ((uint64_t)hash * 0x9e3779b97f4a7c15U >> 20) & (size - 1);
}

static bool grow(struct profile_table *table)
{
    size_t size = table->size ? table->size * 2 : 64;
    if (size > SIZE_MAX / sizeof *table->slots)
        return false;
    struct profile_slot *slots = malloc(size * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < size; i++)
        slots[i].index = PROFILE_NONE;
    for (size_t i = 0; i < table->size; i++) {
        if (table->slots[i].index == PROFILE_NONE)
            continue;
        size_t at = place_of(table->slots[i].hash, size);
        while (slots[at].index != PROFILE_NONE)
            at = (at + 1) & (size - 1);
        slots[at] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->size = size;
    return true;
}

uint32_t profile_intern(struct profile_table *table, uint32_t hash, profile_same *same,
                        const void *context, const void *key, uint32_t fresh)
{
    if (table->count >= table->size / 2 && !grow(table))
        return PROFILE_NONE;
    size_t at = place_of(hash, table->size);
    while (table->slots[at].index != PROFILE_NONE) {
        const struct profile_slot *slot = &table->slots[at];
        if (slot->hash == hash && same(context, slot->index, key))
            return slot->index;
        at = (at + 1) & (table->size - 1);
    }
    table->slots[at] = (struct profile_slot){hash, fresh};
    table->count++;
    return fresh;
}

static uint32_t no_memory(struct profile *p)
{
    p->error = FW_ERR_MEMORY;
    return PROFILE_NONE;
}

static bool same_text(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    return strcmp(p->texts[index], key) == 0;
}

/* `text` itself when it is UTF-8, else a copy in which every byte that is no character is U+FFFD.
 */
static const char *repaired(struct profile *p, const char *text)
{
    const char *end = text;
    for (size_t length; (length = utf8_length(end)) > 0;)
        end += length;
    if (!*end)
        return text;
    size_t size = strlen(text);
    char *copy = size < SIZE_MAX / 4 ? arena_take(&p->arena, 3 * size + 4) : NULL;
    if (copy)
        utf8_repair(text, copy, 3 * size + 4);
    return copy;
}

static const char *keep_text(struct profile *p, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(&p->arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

uint32_t profile_text(struct profile *p, const char *text)
{
    text = repaired(p, text);
    if (!text || !array_room(&p->texts, &p->text_capacity, p->text_count, sizeof *p->texts)) {
        no_memory(p);
        return 0;
    }
    uint32_t index = profile_intern(&p->by_text, profile_hash(2166136261U, text, strlen(text)),
                                    same_text, p, text, (uint32_t)p->text_count);
    if (index == p->text_count && (p->texts[index] = keep_text(p, text)))
        p->text_count++;
    if (index >= p->text_count) {
        no_memory(p);
        return 0;
    }
    return index;
}

static bool same_function(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    const struct profile_function *a = &p->functions[index], *b = key;
    return a->name == b->name && a->file == b->file && a->image == b->image &&
           a->nameless == b->nameless && a->pseudo == b->pseudo;
}

uint32_t profile_function(struct profile *p, const struct profile_function *function)
{
    const uint32_t words[] = {function->name, function->file, function->image,
                              (uint32_t)function->nameless << 1 | (uint32_t)function->pseudo};
    if (!array_room(&p->functions, &p->function_capacity, p->function_count, sizeof *p->functions))
        return no_memory(p);
    p->functions[p->function_count] = *function;
    uint32_t index = profile_intern(&p->by_function, profile_hash(2166136261U, words, sizeof words),
                                    same_function, p, function, (uint32_t)p->function_count);
    if (index == PROFILE_NONE)
        return no_memory(p);
    p->function_count += index == p->function_count;
    return index;
}

bool profile_add_line(struct profile *p, const struct profile_line *line)
{
    if (!array_room(&p->lines, &p->line_capacity, p->line_count, sizeof *p->lines)) {
        p->error = FW_ERR_MEMORY;
        return false;
    }
    p->lines[p->line_count++] = *line;
    return true;
}

static bool same_location(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    const struct profile_location *a = &p->locations[index], *b = key;
    if (a->image != b->image || a->kind != b->kind || a->has_address != b->has_address ||
        a->has_offset != b->has_offset || a->address != b->address || a->offset != b->offset ||
        a->line_count != b->line_count)
        return false;
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct profile_line *x = &p->lines[a->first_line + i],
                                  *y = &p->lines[b->first_line + i];
        if (x->function != y->function || x->line != y->line || x->column != y->column ||
            x->flags != y->flags)
            return false;
    }
    return true;
}

static uint32_t hash_of_location(const struct profile *p, const struct profile_location *l)
{
    const uint64_t words[] = {l->image, l->kind, l->address, l->offset, l->line_count};
    uint32_t hash = profile_hash(2166136261U, words, sizeof words);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        const uint32_t parts[] = {line->function, line->line};
        hash = profile_hash(hash, parts, sizeof parts);
    }
    return hash;
}

uint32_t profile_location(struct profile *p, const struct profile_location *location)
{
    if (p->error ||
        !array_room(&p->locations, &p->location_capacity, p->location_count, sizeof *p->locations))
        return no_memory(p);
    p->locations[p->location_count] = *location;
    uint32_t index = profile_intern(&p->by_location, hash_of_location(p, location), same_location,
                                    p, location, (uint32_t)p->location_count);
    if (index == PROFILE_NONE)
        return no_memory(p);
    if (index == p->location_count)
        p->location_count++;
    else
        p->line_count = location->first_line; /* they are there already */
    return index;
}

static bool same_node(const void *context, uint32_t index, const void *key)
{
    const struct profile *p = context;
    const struct profile_node *a = &p->nodes[index], *b = key;
    return a->parent == b->parent && a->location == b->location;
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location)
{
    const struct profile_node node = {parent, location};
    if (p->error || p->node_count >= PROFILE_NONE ||
        !array_room(&p->nodes, &p->node_capacity, p->node_count, sizeof *p->nodes))
        return no_memory(p);
    p->nodes[p->node_count] = node;
    uint32_t index = profile_intern(&p->by_node, profile_hash(2166136261U, &node, sizeof node),
                                    same_node, p, &node, (uint32_t)p->node_count);
    if (index == PROFILE_NONE)
        return no_memory(p);
    p->node_count += index == p->node_count;
    return index;
}

size_t profile_stack(const struct profile *p, uint32_t node, uint32_t stack[PROFILE_MAX_DEPTH],
                     bool *cut)
{
    size_t count = 0;
    for (; node != PROFILE_NONE && count < PROFILE_MAX_DEPTH; node = p->nodes[node].parent)
        stack[count++] = node;
    *cut = node != PROFILE_NONE;
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t other = stack[i];
        stack[i] = stack[count - 1 - i];
        stack[count - 1 - i] = other;
    }
    return count;
}

struct profile_sample *profile_merge(const struct profile *p, const struct profile_series *series,
                                     size_t *count)
{
    struct profile_sample *merged = malloc((series->sample_count + 1) * sizeof *merged);
    *count = 0;
    for (size_t i = 0; merged && i < series->sample_count; i++) {
        const struct profile_sample *sample = &series->samples[i];
        uint32_t *at = &p->place[sample->node];
        if (*at == PROFILE_NONE) {
            *at = (uint32_t)*count;
            merged[(*count)++] = *sample;
        } else {
            merged[*at].value = profile_add(merged[*at].value, sample->value);
        }
    }
    for (size_t i = 0; merged && i < series->sample_count; i++)
        p->place[series->samples[i].node] = PROFILE_NONE;
    return merged;
}

void profile_free(struct profile *p)
{
    for (size_t i = 0; i < p->series_count; i++)
        free(p->series[i].samples);
    free(p->texts);
    free(p->functions);
    free(p->lines);
    free(p->locations);
    free(p->nodes);
    free(p->series);
    free(p->of_frame);
    free(p->place);
    free(p->by_text.slots);
    free(p->by_function.slots);
    free(p->by_location.slots);
    free(p->by_node.slots);
    free(p->by_series.slots);
    arena_free(&p->arena);
    *p = (struct profile){0};
}
