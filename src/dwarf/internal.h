/*
 * What the files of this folder share about an opened DWARF. Nobody else includes this.
 *
 * Invariant: after dwarf_open nothing here changes but the three things that are made on first use
 * and installed with one atomic exchange: compiled abbreviations, unit roots and split units. Every
 * offset in a struct unit was checked to lie inside its section when the unit was indexed.
 */
#ifndef DWARF_INTERNAL_H
#define DWARF_INTERNAL_H

#include "dwarf/constants.h"
#include "dwarf/dwarf.h"

#include <pthread.h>
#include <stdatomic.h>

enum dwarf_section {
    SECTION_INFO = 0,
    SECTION_TYPES,
    SECTION_ABBREV,
    SECTION_STR,
    SECTION_LINE_STR,
    SECTION_STR_OFFSETS,
    SECTION_ADDR,
    SECTION_RANGES,
    SECTION_RNGLISTS,
    SECTION_LINE,
    SECTION_ARANGES,
    SECTION_CU_INDEX,
    SECTION_TU_INDEX,
    SECTION_COUNT
};

struct abbrev_table;
struct unit_root;

/* One table of abbreviations as units of one shape see it; compiled on first use. */
struct abbrev_slot {
    uint64_t offset; /* in .debug_abbrev */
    uint16_t version;
    uint8_t address_size, offset_size;
    _Atomic(struct abbrev_table *) table;
};

struct unit {
    struct dwarf_unit_header header;
    const struct dwarf_file *file;
    uint64_t first_die;    /* section offset */
    uint64_t signature;    /* of a type unit; dwo_id of a DWARF 5 skeleton or split unit */
    uint64_t type_die;     /* section offset of the type that a type unit is about */
    uint64_t abbrev_start; /* of its abbreviations, in .debug_abbrev */
    struct abbrev_slot *abbrevs;
    uint64_t str_offsets_start, rnglists_start; /* of the unit's parts of sections in a package */
    bool packaged;                              /* a row of a package's index is about it */
    _Atomic(struct unit_root *) root;
};

/* One set of sections that units refer to by offset: the file itself, the .dwo sections inside of
 * it, a .dwo, a .dwp, the supplementary file. */
struct dwarf_file {
    struct dwarf *dwarf;
    struct object *object;
    struct span section[SECTION_COUNT];
    bool swap, dwo;
    uint64_t mark;      /* what struct dwarf_subject.die carries: bit 62 for the supplementary */
    struct unit *units; /* those of .debug_info by offset, then those of .debug_types by offset */
    size_t unit_count, info_count;
    const struct unit **signed_units; /* with a signature, ascending by (is type, signature) */
    size_t signed_count;
    struct abbrev_slot *slots;
    size_t slot_count;
    _Atomic(uint64_t) abbrev_used; /* bytes of .debug_abbrev compiled so far */
    struct fw_failure broken;      /* where indexing the units stopped; code FW_OK: nowhere */
};

struct dwarf {
    struct dwarf_file main;
    struct dwarf_file *supplementary; /* or NULL */
    struct dwarf_file *package;       /* .dwp; or NULL */
    struct dwarf_file *embedded;      /* .dwo sections in the main file; or NULL */
    uint32_t *code_units;             /* indexes of main.units that dwarf_unit_count counts */
    size_t code_unit_count;
    struct aranges_set *aranges; /* ascending by unit */
    size_t aranges_count;
    struct dwarf_companions companions;
    pthread_mutex_t lock;      /* over `loose` and calls of companions.find_dwo */
    struct dwarf_file **loose; /* .dwo files opened so far */
    size_t loose_count, loose_capacity;
};

/* The attributes of a unit's first DIE, resolved. Strings lie in the sections; "" never NULL only
 * where said. */
struct unit_root {
    const char *name, *comp_dir, *producer, *dwo_name; /* or NULL */
    uint64_t dwo_id;
    uint64_t stmt_list;
    uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
    uint64_t low_pc; /* base address of range lists; 0 when there is none */
    uint64_t high_pc;
    uint64_t ranges; /* DW_AT_ranges as it stands */
    uint32_t language;
    uint16_t ranges_form;
    bool has_stmt_list, has_low_pc, has_high_pc, high_is_length, has_ranges, has_dwo_id;
    bool has_addr_base, has_children;
    bool broken;               /* the first DIE cannot be read */
    _Atomic(bool) split_known; /* the two below stand */
    bool split_other;          /* the .dwo that was found is another one */
    const struct unit *split;  /* the unit that a skeleton stands for; NULL: none */
};

/* ---- problems.c ---- */

__attribute__((format(printf, 6, 7))) void
dwarf_problem_note(struct dwarf_problems *problems, enum dwarf_problem category, fw_error code,
                   uint64_t place, const struct dwarf_file *file, const char *format, ...);

/* ---- file.c: sections and unit headers of one file ---- */

enum dwarf_role { ROLE_MAIN = 0, ROLE_DWO, ROLE_SUPPLEMENTARY };

fw_error dwarf_file_open(struct dwarf_file *file, struct dwarf *dwarf, struct object *object,
                         enum dwarf_role role, struct fw_failure *why);
void dwarf_file_close(struct dwarf_file *file);
/* The unit that holds a section offset; NULL when none does. */
const struct unit *dwarf_unit_at(const struct dwarf_file *file, bool types, uint64_t offset);
/* The type unit, or the compile unit, of a signature; NULL when there is none. */
const struct unit *dwarf_unit_signed(const struct dwarf_file *file, bool type, uint64_t signature);

/* ---- split.c ---- */

/* Opens the .dwo sections inside of the main file and the package, as far as there are any. */
fw_error dwarf_split_open(struct dwarf *dwarf, struct fw_failure *why);
void dwarf_split_close(struct dwarf *dwarf);
/* package.c: takes over what a package's indexes say of its units. */
void dwarf_package_read(struct dwarf_file *file);
/* Gives .dwo units before version 5 their dwo_id as signature. False: memory ran out. */
bool dwarf_split_sign(struct dwarf_file *file);
/* The unit that a skeleton stands for, in *split; NULL when `unit` is none, or it is not to be had,
 * which is told. False: memory ran out. Thread-safe. */
bool dwarf_split_find(const struct unit *unit, const struct unit_root *root,
                      const struct unit **split, struct dwarf_problems *problems);
/* Whether `unit` is a skeleton of which dwarf_split_find gave nothing. */
bool dwarf_split_lacks(const struct unit *unit, const struct unit_root *root,
                       const struct unit *split);

/* ---- aranges.c ---- */

struct aranges_set { /* one set of .debug_aranges, without its header */
    const struct unit *unit;
    uint64_t offset, end;
    uint8_t address_size;
};
bool dwarf_aranges_open(struct dwarf *dwarf); /* false: memory ran out */

static inline struct span dwarf_unit_section(const struct unit *unit)
{
    return unit->file->section[unit->header.in_types ? SECTION_TYPES : SECTION_INFO];
}

#endif
