/*
 * Attribute forms (DWARF 5 section 7.5.5): sizes, values, and what the values lead to.
 */
#ifndef DWARF_FORM_H
#define DWARF_FORM_H

#include "dwarf/abbrev.h"

struct form_shape {
    bool known;
    bool variable; /* its size depends on its bytes */
    uint8_t width; /* bytes otherwise */
};
struct form_shape form_shape(uint64_t form, uint8_t address_size, uint8_t offset_size,
                             uint16_t version);

/* How to read the DIEs of one unit. */
struct view {
    const struct unit *unit;
    const struct dwarf_file *file;
    const struct abbrev_table *abbrevs;
    const struct unit_root *root; /* NULL while the root itself is read */
    const uint8_t *info;          /* the section: DIE offsets count in it */
    uint64_t start, end;          /* the unit in it */
    uint16_t version;
    uint8_t address_size, offset_size;
    bool swap;
    /* Where addresses and range lists are: those of the skeleton for a split unit. */
    const struct dwarf_file *address_file;
    uint64_t addr_base, rnglists_base, ranges_base, low_pc;
    uint64_t str_offsets_base;
};

/* One DIE's attributes that matter. A value counts only when its bit in `has` is set. */
struct die {
    const struct abbrev *abbrev;
    uint64_t offset, end; /* section offsets: the DIE, and behind its attributes */
    uint32_t has;         /* 1 << SLOT_* */
    uint64_t value[SLOT_COUNT];
    uint16_t form[SLOT_COUNT]; /* DW_FORM_indirect is replaced by what it leads to */
};

static inline bool die_has(const struct die *die, enum die_slot slot)
{
    return die->has & 1u << slot;
}

enum form_result { FORM_OK = 0, FORM_TRUNCATED, FORM_UNKNOWN };

/* The attributes from section offset `at` on; `die->end` is set. Never reads past the unit. */
enum form_result die_read(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                          struct die *die);
/* The DIE at a section offset inside the unit. False when there is none that can be read. */
bool die_at(const struct view *view, uint64_t offset, struct die *die);

/* The same for the usual DIE: nothing of variable size in it, this machine's byte order, and at
 * least 8 bytes of the unit behind it, so that each value may be loaded as 8 bytes and masked.
 * False: it is not usual, use die_read. */
static inline bool die_read_fixed(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                                  struct die *die)
{
    static const uint64_t mask[9] = {0,          0xff,         0xffff,         0xffffff,
                                     UINT32_MAX, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
                                     UINT64_MAX};
    if (!abbrev->fixed || view->swap || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
        view->end - at < (uint64_t)abbrev->tail + 8)
        return false;
    const struct die_step *step = view->abbrevs->steps + abbrev->first_step;
    const uint8_t *bytes = view->info + at;
    uint32_t has = 0;
    for (unsigned i = 0; i < abbrev->step_count; i++, step++) {
        uint64_t loaded;
        memcpy(&loaded, bytes + step->offset, sizeof loaded);
        die->value[step->slot] = (loaded & mask[step->width]) | (uint64_t)(int64_t)step->constant;
        die->form[step->slot] = step->form;
        has |= 1u << step->slot;
    }
    die->has = has;
    die->abbrev = abbrev;
    die->end = at + abbrev->tail;
    return true;
}

/* What an attribute's value leads to. False when it leads nowhere. */
bool form_string(const struct view *view, const struct die *die, enum die_slot slot,
                 const char **string);
bool form_address(const struct view *view, uint16_t form, uint64_t value, uint64_t *address);
bool form_is_address(uint16_t form);
/* Entry `index` of .debug_addr. */
bool form_address_index(const struct view *view, uint64_t index, uint64_t *address);

struct die_place { /* where a reference leads */
    const struct unit *unit;
    uint64_t offset; /* in its section */
};
bool form_reference(const struct view *view, uint16_t form, uint64_t value,
                    struct die_place *place);

#endif
