/*
 * Code of one unit as a symbol map wants it: functions as flat rows. This is what every source
 * (DWARF, GSYM, Breakpad text, symbol tables) is turned into, and all that the writer knows.
 *
 * A row says what holds from its offset up to the next row's offset or the end of its function: the
 * innermost inlined call (`context`), and file and line there. Contexts form a tree, parents before
 * children; context 0 is the function itself and stands in no array, context i is contexts[i - 1]
 * of the function.
 */
#ifndef SYMMAP_CODE_H
#define SYMMAP_CODE_H

#include "base/arena.h"
#include "dwarf/dwarf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_file { /* as dwarf_file_name; equal pointers mean equal strings, not the reverse */
    const char *comp_dir, *directory, *name;
};

struct code_subject {
    const char *name;   /* mangled; NULL: unknown */
    uint64_t identity;  /* the same for all instances of one function in the source; 0: unknown */
    uint32_t decl_file; /* index into files[], CODE_NONE */
    uint32_t decl_line; /* 0: unknown */
    bool linkage;
};

struct code_context {
    uint32_t subject; /* CODE_NONE: unknown */
    uint32_t
        parent; /* context number in the same function, smaller than its own; 0: the function */
    uint32_t call_file; /* index into files[], CODE_NONE */
    uint32_t call_line, call_column;
};

struct code_row {    /* kept small: a conversion holds all of them in memory */
    uint32_t offset; /* from the function's lo; ascending, the first row's is 0 */
    uint32_t context;
    uint32_t file; /* index into files[], CODE_NONE: no line is known here */
    uint32_t line; /* 0: unknown */
};

struct code_call {
    uint64_t pc;
    uint32_t subject; /* CODE_NONE: indirect */
    bool tail;
};

/* One contiguous piece of a function: [lo, hi). A function of several ranges is several of these,
 * of the same `identity` of subject and `die`. */
struct code_function {
    uint64_t lo, hi;
    uint64_t entry; /* of the whole function */
    uint64_t die;   /* its place in the source, for order among equals */
    uint32_t subject;
    uint32_t first_context, context_count;
    uint32_t first_row, row_count;
    uint32_t first_call, call_count; /* stand with the piece that holds `entry` */
    uint8_t flags;                   /* CODE_FUNCTION_* */
};

enum { CODE_NONE = UINT32_MAX };
enum {
    CODE_FUNCTION_PART = 1,           /* does not hold the entry (a .cold part) */
    CODE_FUNCTION_ARTIFICIAL = 2,     /* thunks and the like */
    CODE_FUNCTION_ALL_TAIL_CALLS = 4, /* no tail call is missing in its list */
    CODE_FUNCTION_LINES_ONLY = 8      /* line rows that no function of the debug file covers */
};

struct code_unit {
    struct arena arena; /* owns the arrays; strings belong to the source */
    struct code_function *functions;
    size_t function_count;
    struct code_context *contexts;
    size_t context_count;
    struct code_row *rows;
    uint16_t *columns; /* of rows[i], 0: unknown; NULL when columns are not kept */
    size_t row_count;
    struct code_call *calls;
    size_t call_count;
    struct code_subject *subjects;
    size_t subject_count;
    struct code_file *files;
    size_t file_count;
};

struct flatten_options {
    bool columns;
};

/*
 * Turns one unit of DWARF and its lines into flat code (flatten.c). `scratch` is reset by the
 * caller whenever it likes; the result owns its own arena, exactly sized. Strings stay those of the
 * sections, but for names put together from scopes, which are copied. Only files and subjects that
 * something refers to are kept.
 *
 * Functions: ranges that touch or overlap are one piece; a piece holds 4 GB at most, a longer one
 * is several (64 GB of it are kept). Within a unit, functions that share code are kept all; the
 * writer chooses. Output functions are ascending by (lo, hi, die).
 *
 * Inlined calls: ranges are clipped to those of the parent; where siblings overlap, the one that
 * starts later wins from its start, of equal starts the later in the file, and the other goes on
 * after it; a call that covers nothing is dropped with its children; a call and its parent of the
 * same range are both there.
 *
 * Lines: the last row at or before an address; where sequences overlap, the one that ends first.
 * Code without rows has file CODE_NONE, so has a row whose file is not in the table; a row of line
 * 0 keeps its file. Line rows outside of all functions (also the padding between functions, where a
 * sequence covers it) become functions of their own, CODE_FUNCTION_LINES_ONLY with subject
 * CODE_NONE. Neighbours that say the same are one row.
 *
 * `lines` is all zero when the unit has none. FW_ERR_MEMORY is the only error.
 */
fw_error code_flatten(const struct dwarf_unit *unit, const struct dwarf_lines *lines,
                      const struct flatten_options *options, struct arena *scratch,
                      struct code_unit *code);
void code_unit_free(struct code_unit *code);

#endif
