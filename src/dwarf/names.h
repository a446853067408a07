/*
 * What functions, inlined calls and call sites are called: subjects, one for each DIE that is
 * referred to, made once for each unit that is read.
 *
 * A linkage name anywhere along DW_AT_abstract_origin and DW_AT_specification beats DW_AT_name. A
 * reference counts in the unit of the DIE that holds it.
 */
#ifndef DWARF_NAMES_H
#define DWARF_NAMES_H

#include "dwarf/root.h"

struct subject_place { /* where the chain of a subject ended */
    const struct unit *unit;
    uint64_t offset;
    bool wants_scope; /* C++ with a short name only */
};

struct subject_slot { /* of an open-addressed hash; key 0: empty */
    uint32_t key;     /* offset of the DIE in the unit */
    uint32_t subject;
};

struct subject_far_slot { /* the same for other units */
    const struct unit *unit;
    uint64_t offset;
    uint32_t subject;
};

struct subjects {
    struct arena *arena;
    struct dwarf_problems *problems;
    const struct view *view; /* of the unit that is read */
    struct dwarf_subject *items;
    struct subject_place *places; /* beside items[] */
    size_t count, capacity;
    struct subject_slot *near;
    uint32_t near_bits, near_count;
    struct subject_far_slot *far;
    uint32_t far_bits, far_count;
    bool no_memory;
};

bool subjects_begin(struct subjects *subjects, const struct view *view, struct arena *arena,
                    struct dwarf_problems *problems);
/* What a reference of the unit leads to; DWARF_NONE: nowhere, or memory ran out. */
uint32_t subject_of_reference(struct subjects *subjects, uint16_t form, uint64_t value,
                              uint64_t die);
/* The same for a DIE of the unit by its section offset. */
uint32_t subject_of_die(struct subjects *subjects, uint64_t offset);

/* scopes.c: writes out the names of subjects that want their scopes. False: memory ran out. */
bool subjects_qualify(struct subjects *subjects);

#endif
