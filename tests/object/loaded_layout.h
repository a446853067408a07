/*
 * Mach-O images laid out in memory as a loader does it: each segment a block of its own at its
 * address plus the slide, so that the sanitizer sees every step beyond one. __LINKEDIT may be put
 * far away, as in Apple's shared cache.
 */
#ifndef TESTS_OBJECT_LOADED_LAYOUT_H
#define TESTS_OBJECT_LOADED_LAYOUT_H

#include "object/macho_format.h"
#include "object/macho_loaded.h"

#include <stdlib.h>

struct layout_block {
    uint64_t lo;
    size_t size;
    uint8_t *bytes;
};

struct layout {
    struct layout_block block[64];
    size_t count;
    uint64_t header; /* of the image that was laid out last */
};

static inline const void *layout_at(void *context, uint64_t address, size_t size)
{
    const struct layout *layout = context;
    for (size_t i = 0; i < layout->count; i++) {
        const struct layout_block *b = &layout->block[i];
        if (address - b->lo < b->size && size <= b->size - (address - b->lo))
            return b->bytes + (address - b->lo);
    }
    return NULL;
}

static inline struct macho_memory layout_memory(struct layout *layout)
{
    return (struct macho_memory){layout_at, layout};
}

static inline uint8_t *layout_add(struct layout *layout, uint64_t lo, size_t size)
{
    uint8_t *bytes = calloc(1, size);
    if (bytes)
        layout->block[layout->count++] = (struct layout_block){lo, size, bytes};
    return bytes;
}

/* False when the file is none that can be loaded here. */
static inline bool layout_load(struct layout *layout, const uint8_t *file, size_t size,
                               uint64_t slide, uint64_t linkedit_move)
{
    struct reader r = reader_over(file, size), body;
    struct macho_header h;
    uint32_t command;
    size_t patch = 0; /* where the header says __LINKEDIT's address */
    uint64_t patched = 0;
    uint8_t *text = NULL;
    if (!macho_read_header(&r, &h) || h.swap ||
        (h.file_type != MH_EXECUTE && h.file_type != MH_DYLIB && h.file_type != MH_BUNDLE))
        return false;
    for (uint32_t i = 0; i < h.command_count && macho_next_command(&r, &command, &body); i++) {
        struct macho_segment s;
        if (!macho_is_segment(command))
            continue;
        const size_t place = (size_t)(body.pos - file) + MACHO_NAME_SIZE;
        macho_read_segment(&body, h.is_64, &s);
        const bool linkedit = strcmp(s.name, "__LINKEDIT") == 0;
        if (s.protection == 0 || s.memory_size == 0 || s.memory_size > 1 << 28 ||
            layout->count == sizeof layout->block / sizeof layout->block[0])
            continue;
        uint8_t *bytes = layout_add(layout, s.vaddr + slide + (linkedit ? linkedit_move : 0),
                                    (size_t)s.memory_size);
        if (!bytes)
            return false;
        if (s.offset < size) {
            uint64_t n = s.file_size < s.memory_size ? s.file_size : s.memory_size;
            memcpy(bytes, file + s.offset, (size_t)(n < size - s.offset ? n : size - s.offset));
        }
        if (strcmp(s.name, "__TEXT") == 0) {
            text = bytes;
            layout->header = s.vaddr + slide;
        }
        if (linkedit) {
            patch = place;
            patched = s.vaddr + linkedit_move;
        }
    }
    if (text && patch)
        memcpy(text + patch, &patched, h.is_64 ? 8 : 4);
    return text != NULL;
}

static inline void layout_free(struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        free(layout->block[i].bytes);
    layout->count = 0;
}

#endif
