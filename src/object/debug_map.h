/*
 * The debug map of a linked Mach-O file: which object files it was made of, and where their
 * functions went. Apple's linker leaves debug information in the object files; dsymutil gathers it
 * by this map, and so can we when there is no dSYM.
 *
 * Names live as long as the object, the rest as long as the call.
 */
#ifndef OBJECT_DEBUG_MAP_H
#define OBJECT_DEBUG_MAP_H

#include "object/object.h"

struct debug_map_function {
    const char *name; /* as object_symbols gives it in both files */
    uint64_t vaddr;   /* in the linked file */
    uint64_t size;    /* 0 when the map does not say */
};

struct debug_map_object {
    const char *path;  /* as object_open_path takes it: FILE or ARCHIVE(MEMBER) */
    uint64_t modified; /* when it was linked, to be compared with object_modified; 0: not known */
    const struct debug_map_function *functions;
    size_t function_count;
};

/* Calls `each` for every object file, in the order of the map; stops when it returns false.
 * FW_ERR_NOT_FOUND when the file has no debug map. */
fw_error object_debug_map(const struct object *object,
                          bool (*each)(void *context, const struct debug_map_object *entry),
                          void *context, struct fw_failure *why);

#endif
