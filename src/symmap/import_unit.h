/*
 * What both importers fill: functions with their inlined calls and lines, gathered as one DWARF
 * unit, flattened every few thousand functions.
 *
 *     import_function(...); import_call(...)* ; import_line(...)*    in any order per function
 *
 * An importer counts what it adds against limits that the size of its input sets, so that a small
 * hostile file never becomes a large map.
 */
#ifndef SYMMAP_IMPORT_UNIT_H
#define SYMMAP_IMPORT_UNIT_H

#include "symmap/import.h"
#include "symmap/symmap.h"

struct import {
    const char *label;
    struct symmap_identity identity;
    struct fw_failure failure;

    /* All files of the input; [0] is none. */
    struct dwarf_file_name *files;
    size_t file_count, file_capacity;

    /* The unit at hand. */
    struct dwarf_function *functions;
    struct dwarf_inline *inlines;
    struct object_range *ranges;
    struct dwarf_subject *subjects;
    struct dwarf_row *rows;
    struct dwarf_sequence *sequences;
    size_t function_count, inline_count, range_count, subject_count, row_count, sequence_count;
    size_t function_capacity, inline_capacity, range_capacity, subject_capacity, row_capacity,
        sequence_capacity;

    struct code_unit *units; /* finished ones */
    size_t unit_count, unit_capacity;
    struct symmap_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    uint64_t die; /* functions so far: their order */

    struct arena strings; /* of what the input does not hold as C strings */
    struct arena scratch;
};

enum { IMPORT_DEPTH_MAX = 256 }; /* inlined calls in one another */

/* Sets the failure and returns its code. */
fw_error import_fail(struct import *import, fw_error code, uint64_t place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
fw_error import_no_memory(struct import *import);

/* Each returns false when memory ran out. */
bool import_file(struct import *import, const char *directory, const char *name);
/* [lo, hi) are link-time addresses. */
bool import_function(struct import *import, uint64_t lo, uint64_t hi, const char *name);
/* Of the last function; `parent` is what an earlier call gave as *number, DWARF_NONE the function.
 * Ranges are added after it. */
bool import_call(struct import *import, uint32_t parent, const char *name, uint32_t file,
                 uint32_t line, uint32_t *number);
bool import_range(struct import *import, uint64_t lo, uint64_t hi);
/* Of the last function; one sequence of rows at ascending addresses, from the first to `hi`. */
bool import_line(struct import *import, uint64_t address, uint32_t file, uint32_t line);
bool import_lines_end(struct import *import, uint64_t hi);
bool import_symbol(struct import *import, uint64_t lo, uint64_t hi, const char *name);

/* The importers: they fill *import. */
fw_error import_gsym(struct import *import, struct span bytes);
fw_error import_breakpad(struct import *import, struct span bytes);

#endif
