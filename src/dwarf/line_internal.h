/* What the two halves of the line table reader share: the header, as line_header.c reads it and
 * line_program.c runs by it. */
#ifndef DWARF_LINE_INTERNAL_H
#define DWARF_LINE_INTERNAL_H

#include "dwarf/line.h"

struct line_header {
    struct reader program; /* the opcodes */
    uint64_t unit;         /* section offset of the table */
    const uint8_t *section;
    uint8_t offset_size, address_size;
    uint8_t min_instruction, max_operations; /* max_operations > 1: VLIW */
    bool default_is_statement;
    int8_t line_base;
    uint8_t line_range, opcode_base;
    const uint8_t *operand_counts; /* of standard opcode i at [i - 1] */
    const char **directories;      /* for DW_LNE_define_file, indexed as files index them */
    size_t directory_count;
    size_t file_capacity;
};

/* Reads the header and its files. FW_OK also when the tables of names are damaged but the program
 * can be run; *why is set then. */
fw_error line_header_read(const struct dwarf_line_input *input, struct arena *arena,
                          struct line_header *header, struct dwarf_lines *lines,
                          struct fw_failure *why);
/* Adds a file at the end of the table. */
bool line_add_file(const struct dwarf_line_input *input, struct arena *arena,
                   struct line_header *header, struct dwarf_lines *lines, const char *name,
                   uint64_t directory);

/* Sets *why, unless it says something already: the first problem of a table is the one to know.
 * `place` is the offset in .debug_line. */
fw_error line_problem(struct fw_failure *why, fw_error code, uint64_t unit, uint64_t place,
                      const char *what);

#endif
