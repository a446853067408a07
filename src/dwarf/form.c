/* See form.h. The general path for every form; the walk has short cuts for the usual ones. */
#include "dwarf/die_walk.h"

enum { INDIRECT_LIMIT = 4 };

static struct form_shape fixed(uint8_t width)
{
    return (struct form_shape){true, false, width};
}

struct form_shape form_shape(uint64_t form, uint8_t address_size, uint8_t offset_size,
                             uint16_t version)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return fixed(0);
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return fixed(1);
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return fixed(2);
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return fixed(3);
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4: return fixed(4);
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return fixed(8);
    case DW_FORM_data16: return fixed(16);
    case DW_FORM_addr: return fixed(address_size);
    case DW_FORM_ref_addr: return fixed(version <= 2 ? address_size : offset_size);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return fixed(offset_size);
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_string:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_indirect:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return (struct form_shape){true, true, 0};
    default: return (struct form_shape){false, false, 0};
    }
}

static uint64_t read_u24(struct reader *r)
{
    uint64_t a = reader_u8(r), b = reader_u8(r), c = reader_u8(r);
    bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != r->swap;
    return big ? a << 16 | b << 8 | c : c << 16 | b << 8 | a;
}

static uint64_t read_fixed(struct reader *r, unsigned width)
{
    if (width == 3)
        return read_u24(r);
    if (width == 0)
        return 0;
    if (width == 16) {
        reader_skip(r, 16);
        return 0;
    }
    return reader_uint(r, width);
}

/* A form of variable size. *scalar: *value is its value; of a string, its section offset. */
static enum form_result read_variable(const struct view *view, struct reader *r, uint16_t *form,
                                      uint64_t *value, bool *scalar)
{
    *scalar = true;
    for (int i = 0; *form == DW_FORM_indirect; i++) {
        uint64_t next = reader_uleb(r);
        if (i == INDIRECT_LIMIT || next > UINT16_MAX || next == DW_FORM_implicit_const)
            return FORM_UNKNOWN;
        *form = (uint16_t)next;
    }
    struct form_shape shape =
        form_shape(*form, view->address_size, view->offset_size, view->version);
    if (!shape.known)
        return FORM_UNKNOWN;
    if (!shape.variable) {
        *value = *form == DW_FORM_flag_present ? 1 : read_fixed(r, shape.width);
        return r->failed ? FORM_TRUNCATED : FORM_OK;
    }
    switch (*form) {
    case DW_FORM_string:
        *value = (uint64_t)(r->pos - view->info);
        (void)reader_string(r);
        break;
    case DW_FORM_sdata: *value = (uint64_t)reader_sleb(r); break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        *scalar = false;
        reader_skip(r, reader_uleb(r));
        break;
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
        *scalar = false;
        reader_skip(r, reader_uint(r, *form == DW_FORM_block1   ? 1
                                      : *form == DW_FORM_block2 ? 2
                                                                : 4));
        break;
    default: *value = reader_uleb(r);
    }
    return r->failed ? FORM_TRUNCATED : FORM_OK;
}

enum form_result die_read(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                          struct die *die)
{
    die->abbrev = abbrev;
    die->has = 0;
    die->end = at;
    if (at > view->end)
        return FORM_TRUNCATED;
    struct reader r = reader_over(view->info + at, (size_t)(view->end - at));
    r.swap = view->swap;
    const struct die_step *step = view->abbrevs->steps + abbrev->first_step;
    const uint8_t *base = r.pos;
    for (unsigned i = 0; i < abbrev->step_count; i++, step++) {
        uint64_t value = (uint64_t)(int64_t)step->constant;
        uint16_t form = step->form;
        bool scalar = true;
        reader_seek(&r, (uint64_t)(base - r.begin) + step->offset);
        if (step->variable) {
            enum form_result result = read_variable(view, &r, &form, &value, &scalar);
            if (result != FORM_OK)
                return result;
            base = r.pos;
        } else if (step->width) {
            value = read_fixed(&r, step->width);
            scalar = step->width <= 8;
        }
        if (r.failed)
            return FORM_TRUNCATED;
        if (step->slot != SLOT_NONE && scalar) {
            die->value[step->slot] = value;
            die->form[step->slot] = form;
            die->has |= 1u << step->slot;
        }
    }
    reader_seek(&r, (uint64_t)(base - r.begin) + abbrev->tail);
    if (r.failed)
        return FORM_TRUNCATED;
    die->end = at + reader_offset(&r);
    return FORM_OK;
}

uint64_t die_skip_carefully(const struct view *view, const struct abbrev *abbrev, uint64_t at,
                            enum form_result *why)
{
    struct die die;
    *why = die_read(view, abbrev, at, &die);
    return *why == FORM_OK ? die.end : 0;
}

bool die_at(const struct view *view, uint64_t offset, struct die *die)
{
    if (offset < view->unit->first_die || offset >= view->end)
        return false;
    struct reader r = reader_over(view->info + offset, (size_t)(view->end - offset));
    uint64_t code = reader_uleb(&r);
    const struct abbrev *abbrev = abbrev_find(view->abbrevs, code);
    if (r.failed || abbrev->kind == DIE_END || abbrev->kind == DIE_BAD)
        return false;
    die->offset = offset;
    uint64_t at = offset + reader_offset(&r);
    return die_read_fixed(view, abbrev, at, die) || die_read(view, abbrev, at, die) == FORM_OK;
}

static bool string_at(struct span section, uint64_t offset, const char **string)
{
    if (offset >= section.size) /* the sections were cut behind their last NUL */
        return false;
    *string = (const char *)section.data + offset;
    return true;
}

/* Entry `index` of .debug_str_offsets, in the part of it that is this unit's. */
static bool indexed_string(const struct view *view, uint64_t index, const char **string)
{
    struct span offsets = view->file->section[SECTION_STR_OFFSETS];
    if (index > UINT64_MAX / 16 || view->str_offsets_base > UINT64_MAX / 2)
        return false;
    struct reader r =
        reader_at(offsets.data, offsets.size, view->str_offsets_base + index * view->offset_size);
    r.swap = view->swap;
    uint64_t offset = reader_uint(&r, view->offset_size);
    return !r.failed && string_at(view->file->section[SECTION_STR], offset, string);
}

bool form_string(const struct view *view, const struct die *die, enum die_slot slot,
                 const char **string)
{
    uint64_t value = die->value[slot];
    const struct dwarf_file *supplementary = view->file->dwarf->supplementary;
    switch (die->form[slot]) {
    case DW_FORM_string: *string = (const char *)view->info + value; return true;
    case DW_FORM_strp: return string_at(view->file->section[SECTION_STR], value, string);
    case DW_FORM_line_strp: return string_at(view->file->section[SECTION_LINE_STR], value, string);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return supplementary && string_at(supplementary->section[SECTION_STR], value, string);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: return indexed_string(view, value, string);
    default: return false;
    }
}

bool form_address_index(const struct view *view, uint64_t index, uint64_t *address)
{
    struct span addresses = view->address_file->section[SECTION_ADDR];
    if (index > UINT64_MAX / 16 || view->addr_base > UINT64_MAX / 2)
        return false;
    struct reader r =
        reader_at(addresses.data, addresses.size, view->addr_base + index * view->address_size);
    r.swap = view->swap;
    *address = reader_uint(&r, view->address_size);
    return !r.failed;
}

bool form_is_address(uint16_t form)
{
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: return true;
    default: return false;
    }
}

bool form_address(const struct view *view, uint16_t form, uint64_t value, uint64_t *address)
{
    if (form == DW_FORM_addr) {
        *address = value;
        return true;
    }
    return form_is_address(form) && form_address_index(view, value, address);
}

bool form_reference(const struct view *view, uint16_t form, uint64_t value, struct die_place *place)
{
    const struct dwarf_file *supplementary = view->file->dwarf->supplementary;
    switch (form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (value >= view->end - view->start)
            return false;
        *place = (struct die_place){view->unit, view->start + value};
        return true;
    case DW_FORM_ref_addr:
        *place = (struct die_place){dwarf_unit_at(view->file, false, value), value};
        return place->unit != NULL;
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        if (!supplementary)
            return false;
        *place = (struct die_place){dwarf_unit_at(supplementary, false, value), value};
        return place->unit != NULL;
    case DW_FORM_ref_sig8:
        place->unit = dwarf_unit_signed(view->file, true, value);
        if (!place->unit)
            return false;
        place->offset = place->unit->type_die;
        return true;
    default: return false;
    }
}
