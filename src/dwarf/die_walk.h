/*
 * Getting from DIE to DIE: codes, attributes that do not matter, siblings. Shared by the walk for
 * code and the scan for scopes; the hot path, hence inline.
 *
 * Invariant: a section offset is compared with the end of the unit before a byte there is read:
 * either it lies FAST_SLACK bytes before it, or the bounded reader is used.
 */
#ifndef DWARF_DIE_WALK_H
#define DWARF_DIE_WALK_H

#include "dwarf/form.h"

enum { FAST_SLACK = 16 };

/* The general path of die_skip: through die_read. 0: the attributes cannot be read, *why says it.
 */
uint64_t die_skip_carefully(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                            enum form_result *why);

/* Behind one attribute of variable size at `at`, which lies FAST_SLACK before the end; 0: take the
 * careful path. */
static inline uint64_t die_skip_variable(const struct view *view, uint16_t form, uint64_t at)
{
    const uint8_t *p = view->info + at;
    switch (form) {
    case DW_FORM_exprloc: return p[0] < 0x80 ? at + 1 + p[0] : 0;
    case DW_FORM_block1: return at + 1 + p[0];
    case DW_FORM_string: {
        const uint8_t *nul = memchr(p, 0, (size_t)(view->end - at));
        return nul ? at + (uint64_t)(nul - p) + 1 : 0;
    }
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
        for (unsigned n = 0; n < 10; n++)
            if (p[n] < 0x80)
                return at + n + 1;
        return 0;
    default: return 0;
    }
}

/* Behind the attributes at `at`: possibly beyond the end of the unit, which reading the next code
 * notices. 0: they cannot be read. */
static inline uint64_t die_skip(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                                enum form_result *why)
{
    if (abbrev->fixed)
        return at + abbrev->tail;
    const struct die_step *step = view->abbrevs->steps + abbrev->first_step;
    uint64_t pos = at;
    for (unsigned i = 0; i < abbrev->step_count; i++, step++) {
        if (!step->variable)
            continue;
        pos += step->offset;
        if (pos + FAST_SLACK > view->end || !(pos = die_skip_variable(view, step->form, pos)))
            return die_skip_carefully(view, abbrev, at, why);
    }
    return pos + abbrev->tail;
}

/* Where DW_AT_sibling leads from the DIE whose attributes end at `end`; 0: nowhere sensible. */
static inline uint64_t die_sibling(const struct view *view, const struct abbrev *abbrev,
                                   uint64_t end)
{
    if (!abbrev->sibling || end > view->end)
        return 0;
    const uint8_t *p = view->info + end - abbrev->sibling;
    uint64_t value;
    if (abbrev->sibling_width == 4) {
        uint32_t v;
        memcpy(&v, p, sizeof v);
        value = view->swap ? __builtin_bswap32(v) : v;
    } else {
        struct reader r = reader_over(p, abbrev->sibling_width);
        r.swap = view->swap;
        value = reader_uint(&r, abbrev->sibling_width);
    }
    return value < view->end - view->start && view->start + value > end ? view->start + value : 0;
}

/* The abbreviation of the DIE at *at, which is moved behind the code; NULL at the end of the unit.
 */
static inline const struct abbrev *die_code(const struct view *view, uint64_t *at)
{
    if (*at + FAST_SLACK < view->end) {
        const uint8_t *p = view->info + *at;
        if (p[0] < 0x80) {
            *at += 1;
            return abbrev_find(view->abbrevs, p[0]);
        }
        if (p[1] < 0x80) {
            *at += 2;
            return abbrev_find(view->abbrevs, (p[0] & 0x7fu) | (uint32_t)p[1] << 7);
        }
    }
    if (*at >= view->end)
        return NULL;
    struct reader r = reader_over(view->info + *at, (size_t)(view->end - *at));
    uint64_t code = reader_uleb(&r);
    if (r.failed)
        return NULL;
    *at += reader_offset(&r);
    return abbrev_find(view->abbrevs, code);
}

#endif
