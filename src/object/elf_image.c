/*
 * An image read out of memory: the vDSO, or a file that was deleted or replaced while it runs.
 *
 * Only what PT_LOAD segments have from the file is copied, packed one behind the other; segments'
 * `bytes` point into that. Section headers are not part of a loaded image, so everything is found
 * by program headers. A segment of which only the beginning can be read keeps that beginning, and
 * the object says that it is truncated.
 */
#include "object/elf_internal.h"

#include <stdlib.h>

enum {
    IMAGE_LIMIT = 256 << 20,
    CHUNK = 1 << 20,
    PAGE = 4096,             /* the smallest page size of the supported systems */
    HEADERS_LIMIT = 1 << 20, /* bytes of program headers; real images have under 1 KB */
};

typedef bool (*image_read)(void *context, uint64_t address, void *to, size_t size);

/* How many bytes from `address` on could be read, at most `size`. */
static size_t read_prefix(image_read read, void *context, uint64_t address, uint8_t *to,
                          size_t size)
{
    size_t done = 0;
    size_t step = CHUNK;
    while (done < size) {
        size_t n = size - done < step ? size - done : step;
        size_t to_page_end = PAGE - (size_t)((address + done) % PAGE);
        if (step == PAGE && n > to_page_end)
            n = to_page_end;
        if (read(context, address + done, to + done, n))
            done += n;
        else if (step > PAGE)
            step = PAGE;
        else
            break;
    }
    return done;
}

static uint64_t in_address_space(const struct object *object, uint64_t address)
{
    return object->is_64 ? address : (uint32_t)address;
}

static fw_error read_headers(struct object *object, image_read read, void *context, uint64_t base,
                             struct fw_failure *why)
{
    uint8_t bytes[64];
    size_t size = read_prefix(read, context, base, bytes, sizeof bytes);
    if (size == 0)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, base, object->label,
                           "cannot read memory at 0x%llx", (unsigned long long)base);
    struct elf_header header;
    fw_error error = elf_parse_header(object, (struct span){bytes, size}, &header, why);
    if (error != FW_OK)
        return error;
    size_t table_size = (size_t)header.phnum * header.phentsize;
    if (header.phnum == 0 || header.phnum >= PN_XNUM || table_size > HEADERS_LIMIT)
        return object_fail(why, FW_ERR_CORRUPT, 0, base, object->label,
                           "image with %u program headers of %u bytes", header.phnum,
                           header.phentsize);
    uint8_t *table = malloc(table_size ? table_size : 1);
    if (!table)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    uint64_t place = in_address_space(object, base + header.phoff);
    size_t got = read_prefix(read, context, place, table, table_size);
    error = elf_parse_segments(object, &header, (struct span){table, got}, why);
    free(table);
    return error;
}

/* The bytes of every PT_LOAD, packed into one allocation. */
static fw_error read_segments(struct object *object, image_read read, void *context,
                              struct fw_failure *why)
{
    uint64_t total = 0;
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        const struct elf_segment *s = &object->elf->segments[i];
        if (s->type != PT_LOAD)
            continue;
        if (s->file_size > IMAGE_LIMIT || total + s->file_size > IMAGE_LIMIT)
            return object_fail(why, FW_ERR_UNSUPPORTED, 0, s->vaddr, object->label,
                               "the image in memory is larger than %d MB", IMAGE_LIMIT >> 20);
        total += s->file_size;
    }
    uint8_t *bytes = malloc(total ? (size_t)total : 1);
    if (!bytes)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    object->file = object->whole = (struct span){bytes, (size_t)total};
    object->owned = OBJECT_BYTES_ALLOCATED;
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        struct elf_segment *s = &object->elf->segments[i];
        if (s->type != PT_LOAD)
            continue;
        uint64_t address = in_address_space(object, s->vaddr + object->elf->bias);
        size_t got = read_prefix(read, context, address, bytes, (size_t)s->file_size);
        if (got < s->file_size)
            object->truncated = true;
        s->bytes = (struct span){bytes, got};
        bytes += s->file_size;
    }
    return FW_OK;
}

/* All other program headers lie inside the loaded ones. */
static void attach_inner_segments(struct object *object)
{
    for (size_t i = 0; i < object->elf->segment_count; i++) {
        struct elf_segment *s = &object->elf->segments[i];
        if (s->type != PT_LOAD && s->file_size)
            s->bytes = span_cut(object_at(object, s->vaddr), 0, s->file_size);
    }
}

fw_error object_open_image(image_read read, void *context, uint64_t base, const char *label,
                           struct object **object, struct fw_failure *why)
{
    *object = NULL;
    struct object *built = object_new(label);
    if (!built)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, "image", "out of memory");
    if (!elf_begin(built)) {
        object_close(built);
        return object_fail(why, FW_ERR_MEMORY, 0, 0, "image", "out of memory");
    }
    built->elf->is_image = true;
    fw_error error = read_headers(built, read, context, base, why);
    const struct elf_segment *first = error == FW_OK ? elf_segment_of_type(built, PT_LOAD) : NULL;
    if (error == FW_OK && !first)
        error = object_fail(why, FW_ERR_CORRUPT, 0, base, built->label, "image without PT_LOAD");
    if (error == FW_OK) {
        built->elf->bias = base - (first->vaddr - first->offset);
        error = read_segments(built, read, context, why);
    }
    if (error == FW_OK)
        error = elf_collect_loads(built, why);
    if (error != FW_OK) {
        object_close(built);
        return error;
    }
    attach_inner_segments(built);
    elf_finish(built);
    *object = built;
    return FW_OK;
}
