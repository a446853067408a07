/*
 * A map as a walk over functions, each with its line rows and its inlined calls as a tree: what
 * formats want that describe functions and not rows.
 *
 * Inlined calls of the same function from the same place are one call with several ranges. Parents
 * stand before their children. Everything is valid during the call only.
 */
#ifndef SYMMAP_EXPORT_TREE_H
#define SYMMAP_EXPORT_TREE_H

#include "base/array.h"
#include "symmap/symmap.h"

struct export_row {
    uint64_t lo;
    uint32_t file; /* number + 1; 0: unknown */
    uint32_t line;
};

struct export_range {
    uint64_t lo, hi;
};

struct export_call { /* an inlined call */
    const char *name;
    uint32_t parent; /* EXPORT_NONE: the function */
    uint32_t depth;  /* of the function's own calls 0 */
    uint32_t call_file, call_line;
    uint32_t first_range, range_count;
    uint32_t first_child, next; /* by address; EXPORT_NONE: no more */
};
enum { EXPORT_NONE = UINT32_MAX };

struct export_function { /* one stretch of code that a function owns */
    uint64_t lo, hi;     /* offsets from the base */
    uint32_t number;     /* in the map */
    uint32_t flags;      /* symmap_frame_flags */
    const char *name;    /* NULL: unknown */
    bool whole;          /* it begins where the function begins */
    bool has_lines;      /* a row has a file */
    const struct export_row *rows;
    size_t row_count;
    const struct export_call *calls;
    size_t call_count;
    const struct export_range *ranges;
    uint32_t first_call; /* of the function itself; the others are its `next` */
};

struct export_file {
    const char *directory, *name;
};
struct export_files { /* numbered as they are met; all zero at first */
    struct export_file *items;
    size_t count, capacity;
    uint32_t *slots; /* a hash table of numbers + 1 */
    size_t slot_count;
};
void export_files_free(struct export_files *files);

/* In address order. FW_ERR_MEMORY also when `each` returns false. */
fw_error export_each(const struct symmap *map, struct export_files *files,
                     bool (*each)(void *context, const struct export_function *function),
                     void *context);

/* Bytes that grow. */
struct buffer {
    uint8_t *data;
    size_t size, capacity;
};
static inline bool buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size > SIZE_MAX - buffer->size ||
        !array_reserve(&buffer->data, &buffer->capacity, buffer->size + size, 1))
        return false;
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    return true;
}

#endif
