/*
 * Line number programs, DWARF 2 to 5 (DWARF 5 section 6.2): one program to sorted sequences.
 *
 * Rules: a sequence that begins at a dead address (0, 1, -1, -2 of the address size, unless
 * `keep_zero`; or outside of all `code` ranges) is dropped whole. Inside a sequence rows are
 * ascending (a program that goes back is sorted, stably), and of several rows at one address only
 * the last stands. Sequences of length zero are dropped, exact copies of one another are merged.
 * Row with line 0: no line is known there; it ends what came before. What is wrong in a program
 * ends that program: rows until then are kept, *why names the offset.
 */
#ifndef DWARF_LINE_H
#define DWARF_LINE_H

#include "base/arena.h"
#include "object/debug_sections.h"

struct dwarf_row {
    uint64_t address;
    uint32_t file; /* index into files[] */
    uint32_t line;
    uint16_t column; /* 0: unknown; capped */
    bool is_statement;
};

struct dwarf_sequence { /* covers [lo, hi) */
    uint64_t lo, hi;
    uint32_t first_row, row_count;
};

/* A path is the first that is absolute of name, directory/name, comp_dir/directory/name. The parts
 * point into the sections; a part that is not needed is "" (comp_dir also where directory is the
 * compilation directory as the table itself has it, which may be relative). POSIX and Windows
 * spellings of absolute count. */
struct dwarf_file_name {
    const char *comp_dir, *directory, *name;
};

struct dwarf_lines {
    struct dwarf_row *rows;
    size_t row_count;
    struct dwarf_sequence *sequences; /* ascending by lo */
    size_t sequence_count;
    struct dwarf_file_name *files; /* indexed as DW_AT_call_file and DW_AT_decl_file index them:
                                      [0] is "none" before version 5 (all parts "") */
    size_t file_count;
    uint16_t version;
};

struct dwarf_line_input {
    struct span line, str, line_str; /* sections */
    struct span str_offsets;         /* for DW_FORM_strx in headers (split units) */
    uint64_t str_offsets_base;
    uint64_t offset;       /* DW_AT_stmt_list */
    const char *comp_dir;  /* of the unit; may be NULL */
    const char *unit_name; /* DW_AT_name: what file 0 is where a table lacks it; may be NULL */
    uint8_t address_size;  /* of the unit, for versions before 5 */
    bool swap;             /* other byte order than this machine's */
    bool keep_zero;        /* text really lies at 0: relocatable objects */
    const struct object_range *code; /* executable ranges; NULL: any address is code */
    size_t code_count;
};

/* Memory is taken from `arena`. FW_OK also for a program that is broken part way: then *why (its
 * code) says so. FW_ERR_MEMORY, or FW_ERR_CORRUPT/TRUNCATED/UNSUPPORTED when the header is of no
 * use and there is nothing in `lines`. Thread-safe. */
fw_error dwarf_lines_read(const struct dwarf_line_input *input, struct arena *arena,
                          struct dwarf_lines *lines, struct fw_failure *why);
/* Only the header: files, no rows. */
fw_error dwarf_line_files_read(const struct dwarf_line_input *input, struct arena *arena,
                               struct dwarf_lines *lines, struct fw_failure *why);

#endif
