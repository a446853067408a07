/*
 * One open symbol map.
 *
 * Readable names and whole paths are made once and kept in a table of fixed size: slots are filled
 * with compare-and-swap, never changed and never emptied before the image goes, so that readers
 * need no lock and may keep the texts while they hold the image. When the table or its bytes are
 * full, further texts are made anew for each answer.
 */
#include "collector/symbols_image.h"

#include "arch/arch.h"
#include "base/failure.h"
#include "demangle/demangle.h"
#include "symmap/export.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
    SLOTS_LEAST = 1 << 10,
    SLOTS_MOST = 1 << 18,
    PROBES = 8,             /* slots that are tried */
    TEXTS_BYTES = 32 << 20, /* of all kept texts of one image */
    FRAMES_USUAL = 32       /* more inlined into each other need memory of their own */
};

struct kept_text {
    const char *first, *second; /* texts of the map, where equal ones are one: a name and NULL, or
                                   a file and its directory */
    const char *shown;          /* `own`, or `first` when there was nothing to change */
    char own[];
};

struct symbols_image {
    atomic_uint holders;
    struct symmap *map;
    struct metrics *metrics; /* NULL: none */
    void *mapped;
    size_t size;
    uint64_t base;
    bool thumb;        /* of 32-bit ARM: the lowest bit of an address is no part of it */
    size_t slot_count; /* a power of two */
    atomic_size_t text_bytes;
    _Atomic(struct kept_text *) *slots;
};

/* ---- life ---- */

static size_t slots_for(const struct symmap *map)
{
    size_t wanted = 2 * symmap_function_count(map), count = SLOTS_LEAST;
    while (count < SLOTS_MOST && count < wanted)
        count *= 2;
    return count;
}

static void destroy(struct symbols_image *image)
{
    for (size_t i = 0; image->slots && i < image->slot_count; i++)
        free(atomic_load_explicit(&image->slots[i], memory_order_relaxed));
    free(image->slots);
    symmap_close(image->map);
    munmap(image->mapped, image->size);
    free(image);
}

static fw_error open_mapped(struct symbols_image *image, const char *label, struct fw_failure *why)
{
    struct span bytes = {image->mapped, image->size};
    fw_error error = symmap_open_bytes(bytes, false, label, &image->map, why);
    if (error != FW_OK)
        return error;
    image->base = symmap_identity(image->map)->base;
    image->thumb = arch_has_thumb(symmap_identity(image->map)->arch);
    image->slot_count = slots_for(image->map);
    image->slots = calloc(image->slot_count, sizeof *image->slots);
    return image->slots ? FW_OK : failure_say(why, FW_ERR_MEMORY, 0, "no memory for names");
}

fw_error symbols_image_open(int fd, const char *label, struct metrics *metrics,
                            struct symbols_image **result, struct fw_failure *why)
{
    *result = NULL;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return failure_say(why, FW_ERR_SYSTEM, errno, "%s cannot be read", label);
    if (status.st_size <= 0)
        return failure_say(why, FW_ERR_TRUNCATED, 0, "%s is empty", label);
    struct symbols_image *image = calloc(1, sizeof *image);
    if (!image)
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for %s", label);
    image->size = (size_t)status.st_size;
    image->mapped = mmap(NULL, image->size, PROT_READ, MAP_SHARED, fd, 0);
    if (image->mapped == MAP_FAILED) {
        free(image);
        return failure_say(why, FW_ERR_SYSTEM, errno, "%s cannot be mapped", label);
    }
    image->metrics = metrics;
    atomic_init(&image->holders, 1);
    fw_error error = open_mapped(image, label, why);
    if (error != FW_OK) {
        destroy(image);
        return error;
    }
    *result = image;
    return FW_OK;
}

void symbols_image_hold(struct symbols_image *image)
{
    atomic_fetch_add_explicit(&image->holders, 1, memory_order_relaxed);
}

void symbols_drop(struct symbols_image *image)
{
    if (image && atomic_fetch_sub_explicit(&image->holders, 1, memory_order_acq_rel) == 1)
        destroy(image);
}

uint64_t symbols_image_bytes(const struct symbols_image *image)
{
    return image->size;
}

const struct symmap *symbols_image_map(const struct symbols_image *image)
{
    return image->map;
}

fw_error symbols_breakpad(const struct symbols_image *image, uint8_t **text, size_t *size,
                          struct fw_failure *why)
{
    return export_breakpad(image->map, text, size, why);
}

/* ---- texts ---- */

static size_t hash_of(const char *first, const char *second)
{
    uint64_t hash = ((uint64_t)(uintptr_t)first * 31 + (uintptr_t)second) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32);
}

static const struct kept_text *find_text(const struct symbols_image *image, const char *first,
                                         const char *second)
{
    size_t hash = hash_of(first, second);
    for (size_t i = 0; i < PROBES; i++) {
        const struct kept_text *kept = atomic_load_explicit(
            &image->slots[(hash + i) & (image->slot_count - 1)], memory_order_acquire);
        if (!kept)
            return NULL;
        if (kept->first == first && kept->second == second)
            return kept;
    }
    return NULL;
}

/* Another thread may have kept the same meanwhile: then both stay, which does no harm. */
static bool keep_text(struct symbols_image *image, struct kept_text *kept, size_t bytes)
{
    if (atomic_fetch_add_explicit(&image->text_bytes, bytes, memory_order_relaxed) + bytes <=
        TEXTS_BYTES) {
        size_t hash = hash_of(kept->first, kept->second);
        for (size_t i = 0; i < PROBES; i++) {
            struct kept_text *expected = NULL;
            if (atomic_compare_exchange_strong_explicit(
                    &image->slots[(hash + i) & (image->slot_count - 1)], &expected, kept,
                    memory_order_release, memory_order_relaxed))
                return true;
        }
    }
    atomic_fetch_sub_explicit(&image->text_bytes, bytes, memory_order_relaxed);
    return false;
}

/* `length` bytes of `text`, or `first` itself when `text` is NULL. The table is a cache: the image
 * stays what it is for those who look. */
static const char *new_text(const struct symbols_image *image, const char *first,
                            const char *second, const char *text, size_t length,
                            struct arena *arena)
{
    size_t bytes = sizeof(struct kept_text) + (text ? length + 1 : 0);
    struct kept_text *kept = malloc(bytes);
    if (kept) {
        *kept = (struct kept_text){.first = first, .second = second, .shown = first};
        if (text) {
            memcpy(kept->own, text, length);
            kept->own[length] = 0;
            kept->shown = kept->own;
        }
        if (keep_text((struct symbols_image *)(uintptr_t)image, kept, bytes))
            return kept->shown;
        free(kept);
    }
    if (!text)
        return first;
    char *copy = arena_take(arena, length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

static const char *readable_name(const struct symbols_image *image, const char *name,
                                 struct arena *arena)
{
    const struct kept_text *kept = find_text(image, name, NULL);
    if (kept)
        return kept->shown;
    char text[DEMANGLE_TEXT_SIZE];
    bool changed = demangle(name, NULL, text, sizeof text) != DEMANGLE_NONE;
    return new_text(image, name, NULL, changed ? text : NULL, changed ? strlen(text) : 0, arena);
}

static const char *whole_path(const struct symbols_image *image, const char *directory,
                              const char *file, struct arena *arena)
{
    if (!directory || !directory[0])
        return file;
    const struct kept_text *kept = find_text(image, file, directory);
    if (kept)
        return kept->shown;
    size_t head = strlen(directory), tail = strlen(file);
    bool slash = directory[head - 1] != '/';
    char *path = arena_take_many(arena, head + slash + tail, 1);
    if (!path)
        return NULL;
    memcpy(path, directory, head);
    if (slash)
        path[head] = '/';
    memcpy(path + head + slash, file, tail);
    return new_text(image, file, directory, path, head + slash + tail, arena);
}

/* ---- looking up ---- */

bool symbols_image_offset(const struct symbols_image *image, uint64_t offset, unsigned space,
                          unsigned kind, uint64_t *at)
{
    bool returns = kind == REPORT_RETURN;
    offset &= ~(uint64_t)image->thumb;
    if (returns && offset == 0)
        return false;
    *at = offset - returns;
    if (space == REPORT_LINKED)
        *at -= image->base;
    return true;
}

static fw_error name_of(const struct symbols_image *image, const struct symmap_frame *from,
                        uint64_t offset, struct arena *arena, struct report_name *name)
{
    *name = (struct report_name){
        .line = from->line,
        .column = from->column,
        .has_offset = true,
        .offset = offset,
        .size = from->size,
        .flags = from->flags & SYMMAP_FRAME_INLINED ? REPORT_INLINED : 0,
    };
    if (from->name)
        name->function = readable_name(image, from->name, arena);
    if (from->file)
        name->file = whole_path(image, from->directory, from->file, arena);
    return (from->name && !name->function) || (from->file && !name->file) ? FW_ERR_MEMORY : FW_OK;
}

static fw_error lookup(const struct symbols_image *image, uint64_t at, struct symmap_frame *usual,
                       struct arena *arena, struct symmap_frame **frames, size_t *count)
{
    *frames = usual;
    metrics_add(image->metrics, METRIC_FRAMES_NAMED, 1);
    fw_error error = symmap_lookup(image->map, at, usual, FRAMES_USUAL, count);
    if (error == FW_OK && *count > FRAMES_USUAL) {
        *frames = arena_take_many(arena, *count, sizeof **frames);
        if (!*frames)
            return FW_ERR_MEMORY;
        error = symmap_lookup(image->map, at, *frames, *count, count);
    }
    if (error != FW_OK) /* nothing there, or damaged there: no name either way */
        *count = 0;
    return FW_OK;
}

fw_error symbols_image_names(const struct symbols_image *image, uint64_t at, unsigned adds,
                             struct arena *arena, struct symbols_names *found)
{
    struct symmap_frame usual[FRAMES_USUAL], *frames;
    size_t count = 0;
    *found = (struct symbols_names){.function = CODE_NONE};
    fw_error error = lookup(image, at, usual, arena, &frames, &count);
    if (error != FW_OK || count == 0)
        return error;
    struct report_name *names = arena_take_many(arena, count, sizeof *names);
    if (!names)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        error = name_of(image, &frames[i], at - frames[i].start + adds, arena, &names[i]);
        if (error != FW_OK)
            return error;
    }
    *found = (struct symbols_names){names, (uint32_t)count, frames[count - 1].function};
    return FW_OK;
}

fw_error symbols_image_function(const struct symbols_image *image, uint32_t function,
                                struct arena *arena, struct report_name *name)
{
    struct symmap_function from;
    *name = (struct report_name){0};
    if (!symmap_function(image->map, function, &from) || !from.name)
        return FW_OK;
    name->function = readable_name(image, from.name, arena);
    return name->function ? FW_OK : FW_ERR_MEMORY;
}

static const char *copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

size_t symbols_names(const struct symbols_image *image, uint64_t offset, unsigned space,
                     unsigned kind, struct arena *arena, struct report_name *names, size_t capacity)
{
    uint64_t at;
    struct symbols_names found;
    if (capacity == 0 || !symbols_image_offset(image, offset, space, kind, &at) ||
        symbols_image_names(image, at, kind == REPORT_RETURN, arena, &found) != FW_OK)
        return 0;
    size_t count = found.count < capacity ? found.count : capacity;
    for (size_t i = 0; i < count; i++) {
        names[i] = found.names[i + 1 == count ? found.count - 1 : i];
        if (names[i].function)
            names[i].function = copy_text(arena, names[i].function);
        if (names[i].file)
            names[i].file = copy_text(arena, names[i].file);
    }
    return count;
}
