/*
 * What the two ways to convert share: DWARF of one file (convert.c), and DWARF of the object files
 * that a program was linked of (debug_map_convert.c). Nobody else includes this.
 */
#ifndef SYMMAP_CONVERT_INTERNAL_H
#define SYMMAP_CONVERT_INTERNAL_H

#include "symmap/convert.h"

struct convert_producer { /* DW_AT_producer of the first unit that has one */
    const char *name;     /* in the sections; NULL: none yet */
    size_t unit;
};

void convert_producer_take(struct convert_producer *producer, size_t unit, const char *name);
void convert_add_problem(struct dwarf_problems *all, enum dwarf_problem kind, uint64_t count,
                         const struct fw_failure *first);
void convert_add_problems(struct dwarf_problems *all, const struct dwarf_problems *more);

/* Reads and flattens one unit; `code` stays empty when the unit holds none. */
fw_error convert_unit(const struct dwarf *dwarf, size_t number, const struct dwarf_options *read,
                      const struct flatten_options *flatten, struct arena *scratch,
                      struct code_unit *code, struct convert_producer *producer,
                      struct dwarf_problems *problems);
/* How many threads to use for that many units. */
unsigned convert_threads(unsigned wanted, size_t units);

/* debug_map_convert.c: the code of the object files behind the debug map of `image`. */
struct part_code {
    struct code_unit *units;
    size_t count;
};
struct parts_code {
    struct part_code *parts; /* in the order of the debug map */
    size_t part_count;
    struct convert_producer producer;
};
/* FW_ERR_NOT_FOUND when the image has no debug map or none of its object files could be had. Fills
 * in what `report` tells of parts, bytes and problems. */
fw_error convert_parts(struct object *image, const struct convert_options *options,
                       struct parts_code *code, struct convert_report *report);
void convert_parts_free(struct parts_code *code);

#endif
