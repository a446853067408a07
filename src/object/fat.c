/*
 * Fat files: a big-endian header { magic, count } and for each slice { cpu type, cpu subtype,
 * offset, size, alignment }, offset and size of 8 bytes and one more word in the 64-bit form
 * (<mach-o/fat.h>). Slices may lie anywhere, overlap or be cut off; each is read by itself.
 *
 * Nothing is guessed: without a choice only a file of one slice opens.
 */
#include "object/fat.h"

#include "object/macho_internal.h"

#include <stdio.h>

enum { FAT_MAGIC = 0xcafebabe, FAT_MAGIC_64 = 0xcafebabf, UUID_TEXT = 2 * 64 + 1 };

size_t fat_read(struct span file, struct fat_slice slices[FAT_SLICES])
{
    struct reader r = reader_over(file.data, file.size);
    r.swap = !host_is_big_endian();
    uint32_t magic = reader_u32(&r);
    uint32_t count = reader_u32(&r);
    bool wide = magic == FAT_MAGIC_64;
    if (r.failed || (magic != FAT_MAGIC && !wide) || count > FAT_SLICES)
        return 0;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct fat_slice s = {.cpu_type = reader_u32(&r), .cpu_subtype = reader_u32(&r)};
        s.offset = wide ? reader_u64(&r) : reader_u32(&r);
        s.size = wide ? reader_u64(&r) : reader_u32(&r);
        reader_skip(&r, wide ? 8 : 4);
        if (r.failed)
            break;
        slices[used++] = s;
    }
    return used;
}

static const char *hex_of(struct span id, char text[UUID_TEXT])
{
    size_t used = 0;
    for (size_t i = 0; i < id.size && used + 2 < UUID_TEXT; i++)
        used += (size_t)snprintf(text + used, UUID_TEXT - used, "%02x", id.data[i]);
    text[used] = 0;
    return text;
}

static bool same_bytes(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static const char *slice_name(const struct fat_slice *slice)
{
    return macho_arch_name(slice->cpu_type, slice->cpu_subtype);
}

static struct span slice_uuid(struct span file, const struct fat_slice *slice)
{
    return macho_uuid(span_cut(file, slice->offset, slice->size));
}

/* "arm64, x86_64", with their UUIDs when these were asked for. */
static void list_slices(struct span file, const struct fat_slice *slices, size_t count, bool uuids,
                        char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        char hex[UUID_TEXT];
        struct span uuid = slice_uuid(file, &slices[i]);
        int n =
            snprintf(text + used, size - used, "%s%s%s%s", i ? ", " : "", slice_name(&slices[i]),
                     uuids && uuid.size ? " " : "", uuids ? hex_of(uuid, hex) : "");
        used += n > 0 ? (size_t)n : 0;
    }
}

/* The slice that is wanted, or -1; *several when more than one fits. */
static int find_slice(struct span file, const struct fat_slice *slices, size_t count,
                      const struct object_choice *choice, bool *several)
{
    *several = false;
    if (!choice || (!choice->arch && choice->uuid.size == 0)) {
        *several = count > 1;
        return count == 1 ? 0 : -1;
    }
    int found = -1;
    for (size_t i = 0; i < count; i++) {
        if (choice->uuid.size ? same_bytes(slice_uuid(file, &slices[i]), choice->uuid)
                              : strcmp(slice_name(&slices[i]), choice->arch) == 0)
            return (int)i;
        if (choice->uuid.size == 0 && macho_arch_family(choice->arch, slice_name(&slices[i]))) {
            *several = found >= 0;
            found = (int)i;
        }
    }
    return *several ? -1 : found;
}

fw_error fat_narrow(struct object *object, const struct object_choice *choice,
                    struct fw_failure *why)
{
    struct fat_slice slices[FAT_SLICES];
    size_t count = fat_read(object->file, slices);
    if (count == 0)
        return FW_OK;
    bool several;
    int found = find_slice(object->file, slices, count, choice, &several);
    if (found < 0) {
        bool by_uuid = choice && choice->uuid.size;
        char list[160], hex[UUID_TEXT];
        list_slices(object->file, slices, count, by_uuid, list, sizeof list);
        if (several)
            return object_fail(why, FW_ERR_ARGUMENT, 0, 0, object->label,
                               "choose one of its architectures: %s", list);
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "has no slice %s, but %s",
                           by_uuid ? hex_of(choice->uuid, hex) : choice->arch, list);
    }
    struct span slice = span_cut(object->file, slices[found].offset, slices[found].size);
    if (slice.size == 0)
        return object_fail(why, FW_ERR_TRUNCATED, 0, slices[found].offset, object->label,
                           "the slice %s lies beyond the end of the file",
                           slice_name(&slices[found]));
    object->truncated |= slice.size < slices[found].size;
    object->file = slice;
    return FW_OK;
}

fw_error fat_check(const struct object *object, const struct object_choice *choice,
                   struct fw_failure *why)
{
    if (!choice)
        return FW_OK;
    if (choice->uuid.size) {
        if (same_bytes(choice->uuid, object->build_id))
            return FW_OK;
        char have[UUID_TEXT], want[UUID_TEXT];
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "has %s%s, not %s",
                           object->build_id.size ? "the id " : "no id",
                           hex_of(object->build_id, have), hex_of(choice->uuid, want));
    }
    const char *name = object_arch_name(object);
    if (!choice->arch || strcmp(choice->arch, name) == 0 || macho_arch_family(choice->arch, name))
        return FW_OK;
    return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "is %s, not %s", name,
                       choice->arch);
}

fw_error fat_slices(const char *path, bool (*each)(void *context, const struct object_slice *),
                    void *context, struct fw_failure *why)
{
    struct object *object;
    fw_error error = object_map_path(path, &object, why);
    if (error != FW_OK)
        return error;
    struct fat_slice slices[FAT_SLICES];
    size_t count = fat_read(object->file, slices);
    bool more = true;
    for (size_t i = 0; i < count && more; i++) {
        struct object_slice slice = {slice_name(&slices[i]), slice_uuid(object->file, &slices[i]),
                                     slices[i].offset, slices[i].size};
        more = each(context, &slice);
    }
    if (count) {
        object_close(object);
        return FW_OK;
    }
    struct object *whole = NULL;
    error = object_finish_open(object, &whole, why);
    if (error != FW_OK)
        return error;
    struct object_slice slice = {object_arch_name(whole), whole->build_id, 0, whole->file.size};
    each(context, &slice);
    object_close(whole);
    return FW_OK;
}
