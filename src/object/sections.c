/*
 * Sections and their contents, inflated where they are compressed.
 *
 * Invariant: no claim of a file makes us allocate more than SECTION_LIMIT, nor more than a
 * compressor can have packed into the stored bytes. Inflated bytes belong to the section and live
 * as long as the object.
 *
 * System V gABI chapter 4, "Compressed Sections" (SHF_COMPRESSED, Elf32_Chdr, Elf64_Chdr); the
 * older GNU form is a section named .zdebug_* that begins with "ZLIB" and the size as 8 bytes, most
 * significant first.
 */
#include "object/object_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SECTION_LIMIT ((uint64_t)4 << 30)

enum {
    CHDR_ZLIB = 1, /* ELFCOMPRESS_ZLIB */
    CHDR_ZSTD = 2, /* ELFCOMPRESS_ZSTD */
    /* The best that can be: deflate gives 258 bytes for 2 bits, a block of zstd 128 KB for 4 bytes
     * (its codec also asks each frame for its size). Debug sections stay under 20. */
    ZLIB_RATIO = 1032,
    ZSTD_RATIO = 1 << 15,
};

static const struct object_codecs *installed_codecs;

void object_set_codecs(const struct object_codecs *codecs)
{
    installed_codecs = codecs;
}

const struct object_codecs *object_codecs(void)
{
    static const struct object_codecs none;
    return installed_codecs ? installed_codecs : &none;
}

size_t object_section_count(const struct object *object)
{
    return object->section_count;
}

bool object_section_at(const struct object *object, size_t i, struct object_section *section)
{
    if (i >= object->section_count)
        return false;
    *section = object->sections[i].view;
    return true;
}

struct section *object_section_named(const struct object *object, const char *name)
{
    for (size_t i = 1; i < object->section_count; i++) {
        struct section *s = &object->sections[i];
        if (!s->empty && strcmp(s->view.name, name) == 0)
            return s;
    }
    return NULL;
}

struct span object_section_bytes(const struct object *object, const struct section *section)
{
    if (!section->inside)
        return (struct span){NULL, 0};
    return span_cut(object->file, section->view.offset, section->view.size);
}

static bool read_chdr(const struct object *object, struct span bytes, uint32_t *method,
                      struct section_packed *packed)
{
    struct reader r = object_reader(object, bytes);
    *method = reader_u32(&r);
    if (object->is_64)
        reader_skip(&r, 4);
    packed->size = object_word(object, &r);
    (void)object_word(object, &r); /* ch_addralign */
    packed->data = (struct span){r.pos, reader_left(&r)};
    return !r.failed;
}

/* The name that the older GNU form gives to a debug section; empty for any other section. */
static const char *zdebug_name(const char *name, char *packed, size_t size)
{
    packed[0] = 0;
    if (strncmp(name, ".debug_", 7) == 0)
        snprintf(packed, size, ".z%s", name + 1);
    else if (strncmp(name, "__debug_", 8) == 0)
        snprintf(packed, size, "__z%.13s", name + 2); /* at most 16 bytes */
    return packed;
}

static bool is_zdebug(const char *name)
{
    return strncmp(name, ".zdebug_", 8) == 0 || strncmp(name, "__zdebug_", 9) == 0;
}

static bool read_zdebug(struct span bytes, uint32_t *method, struct section_packed *packed)
{
    if (bytes.size < 12 || memcmp(bytes.data, "ZLIB", 4) != 0)
        return false;
    *method = CHDR_ZLIB;
    packed->size = 0;
    for (int i = 4; i < 12; i++)
        packed->size = packed->size << 8 | bytes.data[i];
    packed->data = (struct span){bytes.data + 12, bytes.size - 12};
    return true;
}

/* Can so many bytes come out of so few? */
static bool plausible(uint32_t method, const struct section_packed *packed)
{
    if (packed->size > SECTION_LIMIT || packed->size > SIZE_MAX / 2)
        return false;
    uint64_t ratio = method == CHDR_ZSTD ? ZSTD_RATIO : ZLIB_RATIO;
    return packed->size / ratio <= packed->data.size;
}

fw_error object_section_packed(const struct object *object, const struct section *section,
                               struct section_packed *packed, struct fw_failure *why)
{
    const char *name = section->view.name;
    uint64_t place = section->view.offset;
    struct span bytes = object_section_bytes(object, section);
    if (!section->inside)
        return object_fail(why, FW_ERR_TRUNCATED, 0, place, object->label,
                           "%s lies beyond the end of the file", name);
    *packed = (struct section_packed){.size = bytes.size, .data = bytes};
    if (!section->compressed && !is_zdebug(name))
        return FW_OK;
    uint32_t method;
    if (section->compressed ? !read_chdr(object, bytes, &method, packed)
                            : !read_zdebug(bytes, &method, packed))
        return object_fail(why, FW_ERR_CORRUPT, 0, place, object->label,
                           "%s has no valid compression header", name);
    packed->codec = method == CHDR_ZLIB   ? object_codecs()->zlib
                    : method == CHDR_ZSTD ? object_codecs()->zstd
                                          : NULL;
    if (!packed->codec)
        return object_fail(why, FW_ERR_UNSUPPORTED, 0, place, object->label,
                           "%s is compressed (method %u), which this build cannot unpack", name,
                           method);
    if (!plausible(method, packed))
        return object_fail(why, FW_ERR_CORRUPT, 0, place, object->label,
                           "%s claims to inflate %zu bytes to %llu", name, packed->data.size,
                           (unsigned long long)packed->size);
    return FW_OK;
}

fw_error object_section_contents(struct object *object, struct section *section, struct span *data,
                                 struct fw_failure *why)
{
    const char *name = section->view.name;
    uint64_t place = section->view.offset;
    struct section_packed packed;
    if (section->inflated) {
        *data = (struct span){section->inflated, section->inflated_size};
        return FW_OK;
    }
    fw_error error = object_section_packed(object, section, &packed, why);
    if (error != FW_OK)
        return error;
    if (!packed.codec) {
        *data = packed.data;
        return FW_OK;
    }
    errno = 0;
    section->inflated = packed.codec(packed.data.data, packed.data.size, (size_t)packed.size);
    if (!section->inflated && errno == ENOMEM) {
        object->no_memory = true;
        return object_fail(why, FW_ERR_MEMORY, 0, place, object->label, "out of memory");
    }
    if (!section->inflated)
        return object_fail(why, FW_ERR_CORRUPT, 0, place, object->label, "%s cannot be inflated",
                           name);
    section->inflated_size = (size_t)packed.size;
    *data = (struct span){section->inflated, section->inflated_size};
    return FW_OK;
}

fw_error object_section_data(struct object *object, const char *name,
                             struct unwind_section *section, struct fw_failure *why)
{
    *section = (struct unwind_section){0};
    struct section *found = object_section_named(object, name);
    char packed[64];
    if (!found && zdebug_name(name, packed, sizeof packed)[0])
        found = object_section_named(object, packed);
    if (!found)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "no section %s", name);
    struct span data = {NULL, 0};
    fw_error error = object_section_contents(object, found, &data, why);
    if (error != FW_OK)
        return error;
    section->data = data.data ? data.data : (const uint8_t *)"";
    section->size = data.size;
    section->vaddr = found->view.vaddr;
    return FW_OK;
}
