/*
 * The code of a DIE: DW_AT_low_pc and DW_AT_high_pc, or DW_AT_ranges with its lists (DWARF 5
 * sections 2.17.2 and 2.17.3; DWARF 4 section 2.17.3).
 *
 * Dead code is left out: a range that does not begin in a code range; where no code ranges are
 * known, one that begins at 0, 1, -1 or -2, which linkers write for what they threw away.
 */
#ifndef DWARF_RANGES_H
#define DWARF_RANGES_H

#include "dwarf/root.h"

struct range_list { /* grows in an arena: what it grew out of is left there */
    struct arena *arena;
    struct object_range *items;
    size_t count, capacity;
};

struct range_reader {
    const struct dwarf_options *options;
    struct dwarf_problems *problems;
    size_t last;     /* the code range that the last one was found in */
    uint64_t budget; /* entries of lists that may still be read: lists may be shared */
    struct range_list *list;
    bool no_memory;
};

/* Appends [lo, hi) unless it is dead or empty. */
void range_add(struct range_reader *reader, const struct view *view, uint64_t lo, uint64_t hi);
/* Appends the ranges of a DW_AT_ranges value. */
void range_read_list(struct range_reader *reader, const struct view *view, uint16_t form,
                     uint64_t value, uint64_t die);
/* Appends those of a DIE: DW_AT_ranges before low and high. */
void range_read_die(struct range_reader *reader, const struct view *view, const struct die *die);

/* aranges.c: appends what .debug_aranges says of the unit. */
void aranges_read(struct range_reader *reader, const struct view *view);

#endif
