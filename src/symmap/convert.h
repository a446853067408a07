/*
 * From an opened object (and its debug file) to a symbol map: reads units in several threads,
 * flattens, adds symbols, builds.
 */
#ifndef SYMMAP_CONVERT_H
#define SYMMAP_CONVERT_H

#include "object/debug_map.h"
#include "symmap/symmap.h"

struct convert_options {
    unsigned threads; /* 0: one per processor */
    bool columns;
    bool calls; /* keep call sites, for tail calls */
    /* Only what is needed for these link-time addresses (ascending); NULL: everything. */
    const uint64_t *only;
    size_t only_count;
    /* Opens an object file of the debug map of a Mach-O image that has no dSYM; NULL: it is not to
     * be had. The object stays the callee's, and must outlive the conversion. Asked from the
     * calling thread only. May be NULL. */
    struct object *(*open_part)(void *context, const struct debug_map_object *entry);
    void *part_context;
    /* Called now and then from the calling thread; may be NULL. */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
};

struct convert_report { /* what is worth telling */
    uint64_t dwarf_bytes;
    size_t units, functions, rows, inlined_calls, calls, symbols;
    size_t parts, parts_missing; /* object files of the debug map; those that were not to be had */
    struct dwarf_problems dwarf;
    struct symmap_problems map;
};

/* Whether all files were there that the debug information refers to: .dwo, .dwp, dwz's, and object
 * files of a debug map. Of a conversion for a few addresses: as far as these need them. */
bool convert_is_complete(const struct convert_report *report);

/*
 * `object` is the image; `debug` its separate debug file or dSYM, or NULL when `object` holds its
 * own; `companions` may be NULL. *bytes is malloc'ed.
 */
fw_error symmap_convert(struct object *object, struct object *debug,
                        const struct dwarf_companions *companions,
                        const struct convert_options *options, uint8_t **bytes, size_t *size,
                        struct convert_report *report, struct fw_failure *why);

#endif
