/*
 * The DWARF of one debug file (DWARF 2 to 5, 32- and 64-bit): units, and the functions, inlined
 * calls and call sites in each, unflattened, as the file has them.
 *
 * dwarf_open finds the sections and indexes the unit headers of .debug_info and .debug_types; it
 * reads nothing else. After that a struct dwarf is read-only: dwarf_unit_read may run for different
 * units (or the same one) in any number of threads at once, each with an arena of its own.
 * Abbreviation tables are compiled once per offset and shared by all units.
 *
 * What is wrong in a unit ends that unit (or the DIE, where one can go on), never the file: the
 * problem is counted by category, with the first place of each (struct dwarf_problems).
 */
#ifndef DWARF_DWARF_H
#define DWARF_DWARF_H

#include "base/arena.h"
#include "dwarf/line.h"
#include "object/debug_sections.h"

struct dwarf;

/* Further files that the DWARF of one refers to. Objects must outlive the dwarf. */
struct dwarf_companions {
    struct object *supplementary; /* dwz: .gnu_debugaltlink / DWARF 5 .debug_sup; or NULL */
    struct object *package;       /* .dwp; or NULL */
    /* Opens the .dwo of a skeleton unit (called at most once for each, under a lock of struct
     * dwarf; the object stays the callee's and must outlive the dwarf); NULL when there is none. */
    struct object *(*find_dwo)(void *context, const char *comp_dir, const char *dwo_name,
                               uint64_t dwo_id);
    void *context;
};

/* `object` must outlive *dwarf. FW_ERR_NOT_FOUND when it has no DWARF. */
fw_error dwarf_open(struct object *object, const struct dwarf_companions *companions,
                    struct dwarf **dwarf, struct fw_failure *why);
void dwarf_close(struct dwarf *dwarf);
/* Bytes of all debug sections that are read, inflated: what rates are counted in. */
uint64_t dwarf_size(const struct dwarf *dwarf);

enum { DWARF_NONE = UINT32_MAX };

struct dwarf_unit_header {
    uint64_t offset, size; /* in .debug_info (or .debug_types), with the length field */
    uint16_t version;
    uint8_t address_size, offset_size;
    uint8_t unit_type; /* DW_UT_*; DW_UT_compile before version 5 */
    bool in_types;
};
/* Compile, partial and skeleton units in file order (type units are kept apart: they hold no code).
 */
size_t dwarf_unit_count(const struct dwarf *dwarf);
const struct dwarf_unit_header *dwarf_unit_header(const struct dwarf *dwarf, size_t unit);

/* ---- what one unit holds ---- */

/* What a function or an inlined call is called. Names follow DW_AT_abstract_origin and
 * DW_AT_specification (at most 16 steps, through other units and files). */
struct dwarf_subject {
    const char *name; /* DW_AT_linkage_name, else DW_AT_name; in the string section; NULL: none */
    uint64_t die;     /* section offset of the DIE at the end of the chain: the same for all that
                         are instances of one function within a file; bit 63: in .debug_types,
                         bit 62: in the supplementary file */
    uint32_t decl_file, decl_line; /* decl_file indexes the unit's own file table; 0 when the
                                      declaration lies in another unit or is not said */
    bool linkage;                  /* `name` is a linkage name */
    bool qualified;                /* `name` was put together from scopes, `name` is in the arena */
};

struct dwarf_inline { /* DW_TAG_inlined_subroutine, pre-order within its function */
    uint32_t subject;
    uint32_t parent; /* index into inlines[] of the enclosing one; DWARF_NONE: the function */
    uint32_t first_range, range_count;
    uint32_t call_file;              /* index into the unit's file table */
    uint32_t call_line, call_column; /* 0: unknown */
};

struct dwarf_call {   /* DW_TAG_call_site, DW_TAG_GNU_call_site */
    uint64_t pc;      /* return address; of a tail call an address inside the jump */
    uint32_t subject; /* what is called; DWARF_NONE: indirect */
    bool tail;
};

struct dwarf_function { /* DW_TAG_subprogram with code */
    uint32_t subject;
    uint32_t first_range, range_count; /* as the DIE says, dead and empty ones left out */
    uint64_t entry;                    /* DW_AT_entry_pc, else the start of the first range */
    uint32_t first_inline, inline_count;
    uint32_t first_call, call_count;
    uint64_t die; /* section offset, for messages and order */
    bool artificial, trampoline;
    bool all_tail_calls; /* DW_AT_call_all_calls or _all_tail_calls, or the GNU forms: no tail call
                            is missing from the list */
};

/* What the first DIE of a unit says, without reading the others. NULL, 0: it does not say. */
struct dwarf_unit_about {
    const char *name, *comp_dir, *producer, *dwo_name;
    uint32_t language; /* DW_LANG_* */
};
/* FW_ERR_MEMORY is the only error. Thread-safe. */
fw_error dwarf_unit_about(const struct dwarf *dwarf, size_t unit, struct dwarf_unit_about *about);

struct dwarf_unit { /* everything is in the arena or in the sections */
    const char *name, *comp_dir, *producer;
    uint32_t language;           /* DW_LANG_*, 0 unknown */
    struct object_range *ranges; /* of its functions and inlined calls */
    size_t range_count;
    struct dwarf_function *functions;
    size_t function_count;
    struct dwarf_inline *inlines;
    size_t inline_count;
    struct dwarf_call *calls;
    size_t call_count;
    struct dwarf_subject *subjects;
    size_t subject_count;
    bool has_lines; /* false where lines alone are there, but the file with the functions is not:
                       nobody could say whose they are */
    struct dwarf_line_input line; /* ready for dwarf_lines_read */
};

enum dwarf_problem {                          /* categories; DWARF_PROBLEM_COUNT is their number */
                     DWARF_PROBLEM_UNIT = 0,  /* a unit header or its end */
                     DWARF_PROBLEM_ABBREV,    /* abbreviation missing or malformed */
                     DWARF_PROBLEM_FORM,      /* unknown or truncated attribute */
                     DWARF_PROBLEM_REFERENCE, /* a reference to nowhere, or in a circle */
                     DWARF_PROBLEM_RANGE,     /* an inverted or truncated range list */
                     DWARF_PROBLEM_STRING,    /* a string outside of its section */
                     DWARF_PROBLEM_NESTING,   /* DIEs nested too deep */
                     DWARF_PROBLEM_SPLIT,     /* a .dwo that is missing or another one than said */
                     DWARF_PROBLEM_LINE,      /* a line program */
                     DWARF_PROBLEM_SUPPLEMENTARY, /* the file of dwz that has names is missing */
                     DWARF_PROBLEM_COUNT
};
struct dwarf_problems {
    uint64_t count[DWARF_PROBLEM_COUNT];
    struct fw_failure first[DWARF_PROBLEM_COUNT];
};

struct dwarf_options {
    bool calls;                      /* fill in calls[] */
    const struct object_range *code; /* executable ranges; what lies outside is dead */
    size_t code_count;
    bool keep_zero; /* text really lies at 0 */
};

/* Reads one unit. `problems` may be NULL. FW_ERR_MEMORY, or FW_OK: what could be read is there. */
fw_error dwarf_unit_read(const struct dwarf *dwarf, size_t unit,
                         const struct dwarf_options *options, struct arena *arena,
                         struct dwarf_unit *result, struct dwarf_problems *problems);

/* The code ranges that a unit claims without reading its DIEs: .debug_aranges where it has a set
 * for the unit, else DW_AT_ranges / low_pc of its first DIE. *count 0: it does not say, read it.
 * Thread-safe. */
fw_error dwarf_unit_ranges(const struct dwarf *dwarf, size_t unit,
                           const struct dwarf_options *options, struct arena *arena,
                           struct object_range **ranges, size_t *count);

/* The unit is read. Now and then this tells the system that a stretch of units in a mapped file is
 * not needed soon (it is read again when it is after all): keeps the resident size of a long
 * conversion bounded. Units are to be read roughly in order. */
void dwarf_unit_done(const struct dwarf *dwarf, size_t unit);

#endif
