/*
 * Uses everything that an object offers, whatever its bytes claim. The sanitizers judge; the result
 * only keeps the work from being optimised away. Shared by the hostile-input test and the fuzz
 * target.
 */
#ifndef TESTS_OBJECT_EXERCISE_H
#define TESTS_OBJECT_EXERCISE_H

#include "object/symbols.h"

static uint64_t exercise_span(const uint8_t *data, size_t size)
{
    return size ? (uint64_t)data[0] + data[size - 1] + data[size / 2] : 0;
}

static bool exercise_note(void *context, const char *name, uint32_t type, struct span contents)
{
    *(uint64_t *)context += strlen(name) + type + exercise_span(contents.data, contents.size);
    return true;
}

static bool exercise_symbol(void *context, const struct object_symbol *symbol)
{
    *(uint64_t *)context += strlen(symbol->name) + symbol->vaddr + symbol->size;
    return true;
}

static uint64_t exercise_sections(struct object *object)
{
    uint64_t sum = 0;
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section) && i < 256; i++) {
        struct unwind_section data;
        if (object_section_data(object, section.name, &data, NULL) == FW_OK)
            sum += exercise_span(data.data, data.size) + data.vaddr;
    }
    for (size_t i = 0; i < object_segment_count(object); i++) {
        struct span bytes = object_segment_data(object, i);
        sum += exercise_span(bytes.data, bytes.size);
    }
    struct span at = object_at(object, object_entry(object));
    return sum + exercise_span(at.data, at.size);
}

static uint64_t exercise_unwind_image(struct object *object)
{
    struct unwind_image image;
    object_unwind_image(object, object_minidebug(object, NULL), &image);
    const struct unwind_section all[] = {image.text,   image.eh_frame_hdr, image.eh_frame,
                                         image.exidx,  image.extab,        image.debug_frame,
                                         image.plt[0], image.plt[1],       image.plt[2]};
    uint64_t sum = image.lo + image.hi + image.got_vaddr;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sum += exercise_span(all[i].data, all[i].size);
    return sum;
}

static uint64_t exercise_lookups(struct object *object)
{
    struct symbols *symbols = symbols_build(object, object);
    uint64_t sum = 0;
    for (size_t i = 0; symbols && i < object_segment_count(object) && i < 64; i++) {
        const struct object_segment *s = object_segment(object, i);
        for (uint64_t k = 0; k < 64; k++) {
            struct symbol_match match;
            if (symbols_lookup(symbols, s->vaddr + s->memory_size / 64 * k, &match))
                sum += strlen(match.name) + match.offset;
        }
    }
    symbols_destroy(symbols);
    return sum;
}

static uint64_t exercise_object(struct object *object)
{
    uint64_t sum = exercise_sections(object) + exercise_unwind_image(object);
    const char *name;
    uint32_t crc;
    if (object_debuglink(object, &name, &crc))
        sum += strlen(name) + crc;
    struct span id = object_build_id(object);
    sum += exercise_span(id.data, id.size);
    object_notes(object, exercise_note, &sum);
    object_symbols(object, true, exercise_symbol, &sum);
    object_symbols(object, false, exercise_symbol, &sum);
    return sum + exercise_lookups(object);
}

/* An image whose memory is `data` from address 0x10000 on. */
struct exercise_memory {
    const uint8_t *data;
    size_t size;
};

static bool exercise_read(void *context, uint64_t address, void *to, size_t size)
{
    const struct exercise_memory *m = context;
    uint64_t offset = address - 0x10000;
    if (offset > m->size || size > m->size - offset)
        return false;
    memcpy(to, m->data + offset, size);
    return true;
}

static uint64_t exercise_bytes(const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    struct object *object;
    struct fw_failure why;
    if (object_open_bytes(data, size, false, "bytes", &object, &why) == FW_OK) {
        sum += exercise_object(object);
        object_close(object);
    }
    struct exercise_memory memory = {data, size};
    if (object_open_image(exercise_read, &memory, 0x10000, "image", &object, &why) == FW_OK) {
        sum += exercise_object(object);
        object_close(object);
    }
    return sum;
}

#endif
