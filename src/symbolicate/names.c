/*
 * The texts of one answer: names and paths, each copied (and demangled) once.
 *
 * Texts are known by their addresses in the map, where equal ones are one: so a table belongs to
 * one map, and must not outlive it.
 */
#include "symbolicate/internal.h"

#include "demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

struct text_entry {
    const char *first;  /* NULL: free */
    const char *second; /* NULL: of a name */
    const char *kept, *shown;
};

static size_t place_of(const struct texts *texts, const char *first, const char *second)
{
    uint64_t hash = ((uint64_t)(uintptr_t)first * 31 + (uintptr_t)second) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash >> 32) & (texts->capacity - 1);
    while (texts->entries[i].first &&
           (texts->entries[i].first != first || texts->entries[i].second != second))
        i = (i + 1) & (texts->capacity - 1);
    return i;
}

static bool grow(struct texts *texts)
{
    struct texts larger = {.capacity = texts->capacity ? texts->capacity * 2 : 64,
                           .count = texts->count};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < texts->capacity; i++) {
        const struct text_entry *entry = &texts->entries[i];
        if (entry->first)
            larger.entries[place_of(&larger, entry->first, entry->second)] = *entry;
    }
    free(texts->entries);
    *texts = larger;
    return true;
}

/* The entry of these, a free one when they are new. NULL when memory ran out. */
static struct text_entry *find(struct texts *texts, const char *first, const char *second)
{
    if (texts->count * 2 >= texts->capacity && !grow(texts))
        return NULL;
    return &texts->entries[place_of(texts, first, second)];
}

static const char *copy(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *to = arena_take(arena, size);
    return to ? memcpy(to, text, size) : NULL;
}

/* `kept` itself where there is nothing to demangle. */
static const char *for_people(struct arena *arena, const char *kept, bool simplified)
{
    const struct demangle_options options = {.style =
                                                 simplified ? DEMANGLE_SIMPLIFIED : DEMANGLE_FULL};
    char text[DEMANGLE_TEXT_SIZE];
    return demangle(kept, &options, text, sizeof text) ? copy(arena, text) : kept;
}

bool texts_name(struct texts *texts, struct arena *arena,
                const struct fw_symbolicator *symbolicator, const char *name, const char **mangled,
                const char **shown)
{
    struct text_entry *entry = find(texts, name, NULL);
    if (!entry)
        return false;
    if (!entry->first) {
        const char *kept = copy(arena, name);
        const char *readable = kept && !symbolicator->options.mangled
                                   ? for_people(arena, kept, symbolicator->options.simplified)
                                   : kept;
        if (!readable)
            return false;
        *entry = (struct text_entry){name, NULL, kept, readable};
        texts->count++;
    }
    *mangled = entry->kept;
    *shown = entry->shown;
    return true;
}

static const char *join_path(struct arena *arena, const char *directory, const char *file)
{
    size_t head = strlen(directory), tail = strlen(file) + 1;
    bool slash = head && directory[head - 1] != '/';
    char *path = arena_take(arena, head + slash + tail);
    if (!path)
        return NULL;
    memcpy(path, directory, head);
    if (slash)
        path[head] = '/';
    memcpy(path + head + slash, file, tail);
    return path;
}

const char *texts_path(struct texts *texts, struct arena *arena, const char *directory,
                       const char *file)
{
    if (!directory)
        directory = "";
    struct text_entry *entry = find(texts, file, directory);
    if (!entry)
        return NULL;
    if (!entry->first) {
        const char *path = join_path(arena, directory, file);
        if (!path)
            return NULL;
        *entry = (struct text_entry){file, directory, path, path};
        texts->count++;
    }
    return entry->shown;
}

void texts_free(struct texts *texts)
{
    free(texts->entries);
    *texts = (struct texts){0};
}
