/*
 * MiniDebugInfo: a small ELF file with the symbol table of local functions (and perhaps
 * .debug_frame), packed with xz into the section .gnu_debugdata (GDB manual, "MiniDebugInfo").
 */
#include "object/object_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MINIDEBUG_LIMIT = 128 << 20 }; /* unpacked; real ones stay under a tenth of it */

static struct object *unpack(struct object *object, const struct unwind_section *packed,
                             struct fw_failure *why)
{
    if (!object_codecs()->xz) {
        object_fail(why, FW_ERR_UNSUPPORTED, 0, 0, object->label,
                    ".gnu_debugdata is xz-packed, which this build cannot unpack");
        return NULL;
    }
    size_t size = 0;
    errno = 0;
    uint8_t *bytes = object_codecs()->xz(packed->data, packed->size, MINIDEBUG_LIMIT, &size);
    if (!bytes && errno == ENOMEM) {
        object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
        return NULL;
    }
    if (!bytes) {
        object_fail(why, FW_ERR_CORRUPT, 0, 0, object->label, ".gnu_debugdata cannot be unpacked");
        return NULL;
    }
    char label[256];
    snprintf(label, sizeof label, "%s:.gnu_debugdata", object->label);
    struct object *inner = NULL;
    if (object_open_bytes(bytes, size, false, label, &inner, why) != FW_OK) {
        free(bytes);
        return NULL;
    }
    inner->whole = inner->file;
    inner->owned = OBJECT_BYTES_ALLOCATED;
    if (inner->machine != object->machine || inner->is_64 != object->is_64 ||
        inner->big_endian != object->big_endian) {
        object_fail(why, FW_ERR_CORRUPT, 0, 0, object->label,
                    ".gnu_debugdata is of another architecture");
        object_close(inner);
        return NULL;
    }
    inner->minidebug_tried = true; /* one level is enough */
    return inner;
}

struct object *object_minidebug(struct object *object, struct fw_failure *why)
{
    if (!object->minidebug_tried) {
        object->minidebug_tried = true;
        struct unwind_section packed;
        struct fw_failure *failure = &object->minidebug_failure;
        fw_error error = object_section_data(object, ".gnu_debugdata", &packed, failure);
        if (error == FW_OK)
            object->minidebug = unpack(object, &packed, failure);
        else if (error == FW_ERR_NOT_FOUND)
            *failure = (struct fw_failure){0};
        object->no_memory |= !object->minidebug && failure->code == FW_ERR_MEMORY;
    }
    if (why && !object->minidebug)
        *why = object->minidebug_failure;
    return object->minidebug;
}
