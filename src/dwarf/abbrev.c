/* See abbrev.h. Compiling reads .debug_abbrev through the bounded reader. */
#include "dwarf/abbrev.h"
#include "base/array.h"
#include "dwarf/form.h"

#include <stdio.h>

enum { LARGEST_OFFSET = UINT16_MAX };

static const struct abbrev bad_abbrev = {.kind = DIE_BAD};
static const struct abbrev end_abbrev = {.kind = DIE_END, .fixed = true};

struct compiler {
    struct reader r;
    const struct abbrev_slot *slot;
    struct abbrev_coded *all;
    size_t count, capacity;
    struct die_step *steps;
    size_t step_count, step_capacity;
    bool no_memory;
};

static uint8_t slot_of_function(uint64_t attribute)
{
    switch (attribute) {
    case DW_AT_low_pc: return SLOT_LOW_PC;
    case DW_AT_high_pc: return SLOT_HIGH_PC;
    case DW_AT_ranges: return SLOT_RANGES;
    case DW_AT_entry_pc: return SLOT_ENTRY_PC;
    case DW_AT_name: return SLOT_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name: return SLOT_LINKAGE;
    case DW_AT_abstract_origin: return SLOT_ORIGIN;
    case DW_AT_specification: return SLOT_SPECIFICATION;
    case DW_AT_decl_file: return SLOT_DECL_FILE;
    case DW_AT_decl_line: return SLOT_DECL_LINE;
    case DW_AT_artificial: return SLOT_ARTIFICIAL;
    case DW_AT_trampoline: return SLOT_TRAMPOLINE;
    case DW_AT_call_all_calls:
    case DW_AT_call_all_tail_calls:
    case DW_AT_GNU_all_call_sites:
    case DW_AT_GNU_all_tail_call_sites: return SLOT_ALL_CALLS;
    default: return SLOT_NONE;
    }
}

static uint8_t slot_of_inline(uint64_t attribute)
{
    switch (attribute) {
    case DW_AT_low_pc: return SLOT_LOW_PC;
    case DW_AT_high_pc: return SLOT_HIGH_PC;
    case DW_AT_ranges: return SLOT_RANGES;
    case DW_AT_abstract_origin: return SLOT_ORIGIN;
    case DW_AT_call_file: return SLOT_CALL_FILE;
    case DW_AT_call_line: return SLOT_CALL_LINE;
    case DW_AT_call_column: return SLOT_CALL_COLUMN;
    default: return SLOT_NONE;
    }
}

static uint8_t slot_of_call(uint64_t attribute)
{
    switch (attribute) {
    case DW_AT_low_pc: /* GNU: the return address */
    case DW_AT_call_return_pc: return SLOT_RETURN_PC;
    case DW_AT_call_pc: return SLOT_CALL_PC;
    case DW_AT_abstract_origin:
    case DW_AT_call_origin: return SLOT_ORIGIN;
    case DW_AT_call_tail_call:
    case DW_AT_GNU_tail_call: return SLOT_TAIL_CALL;
    default: return SLOT_NONE;
    }
}

static uint8_t slot_of_unit(uint64_t attribute)
{
    switch (attribute) {
    case DW_AT_low_pc: return SLOT_LOW_PC;
    case DW_AT_high_pc: return SLOT_HIGH_PC;
    case DW_AT_ranges: return SLOT_RANGES;
    case DW_AT_name: return SLOT_NAME;
    case DW_AT_language: return SLOT_LANGUAGE;
    case DW_AT_producer: return SLOT_PRODUCER;
    case DW_AT_comp_dir: return SLOT_COMP_DIR;
    case DW_AT_stmt_list: return SLOT_STMT_LIST;
    case DW_AT_str_offsets_base: return SLOT_STR_OFFSETS_BASE;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base: return SLOT_ADDR_BASE;
    case DW_AT_rnglists_base: return SLOT_RNGLISTS_BASE;
    case DW_AT_GNU_ranges_base: return SLOT_GNU_RANGES_BASE;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name: return SLOT_DWO_NAME;
    case DW_AT_GNU_dwo_id: return SLOT_DWO_ID;
    default: return SLOT_NONE;
    }
}

static uint8_t slot_of(uint64_t tag, uint64_t attribute)
{
    switch (tag) {
    case DW_TAG_subprogram: return slot_of_function(attribute);
    case DW_TAG_inlined_subroutine: return slot_of_inline(attribute);
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return slot_of_call(attribute);
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit:
    case DW_TAG_type_unit: return slot_of_unit(attribute);
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_namespace:
    case DW_TAG_module: /* for the scopes of names */
        return attribute == DW_AT_name              ? SLOT_NAME
               : attribute == DW_AT_abstract_origin ? SLOT_ORIGIN
               : attribute == DW_AT_specification   ? SLOT_SPECIFICATION
                                                    : SLOT_NONE;
    default: return SLOT_NONE;
    }
}

/* `code`: the declaration has an attribute that gives it code; `declares`: DW_AT_declaration. */
static uint8_t kind_of(uint64_t tag, bool children, bool code, bool declares)
{
    switch (tag) {
    case DW_TAG_subprogram:
        return code ? DIE_FUNCTION : !children ? DIE_LEAF : declares ? DIE_JUMP : DIE_ABSTRACT;
    case DW_TAG_inlined_subroutine: return DIE_INLINE;
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return DIE_CALL;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type: return children ? DIE_TYPE : DIE_LEAF;
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_enumeration_type: return children ? DIE_JUMP : DIE_LEAF;
    default: return children ? DIE_ENTER : DIE_LEAF;
    }
}

static bool add_step(struct compiler *c, struct die_step step)
{
    if (!array_room(&c->steps, &c->step_capacity, c->step_count, sizeof *c->steps)) {
        c->no_memory = true;
        return false;
    }
    c->steps[c->step_count++] = step;
    return true;
}

/* One attribute of a declaration: a step when it matters or is of variable size. False: stop. */
static bool compile_attribute(struct compiler *c, struct abbrev *a, uint64_t attribute,
                              uint64_t form, int64_t constant)
{
    struct form_shape shape =
        form_shape(form, c->slot->address_size, c->slot->offset_size, c->slot->version);
    if (!shape.known || form > UINT16_MAX || a->tail > LARGEST_OFFSET - 16 ||
        a->step_count == UINT16_MAX) {
        a->kind = DIE_BAD;
        return true;
    }
    uint8_t slot = shape.width > 8 ? SLOT_NONE : slot_of(a->tag, attribute);
    if (form == DW_FORM_implicit_const && (constant > INT32_MAX || constant < INT32_MIN))
        slot = SLOT_NONE;
    if (attribute == DW_AT_sibling && form >= DW_FORM_ref1 && form <= DW_FORM_ref8) {
        a->sibling = 1; /* made right at the end */
        a->sibling_width = shape.width;
    } else if (a->sibling) {
        unsigned sum = a->sibling + (shape.variable ? (unsigned)UINT8_MAX : shape.width);
        a->sibling = sum > UINT8_MAX ? 0 : (uint8_t)sum;
    }
    if ((slot != SLOT_NONE || shape.variable) &&
        !add_step(c,
                  (struct die_step){.offset = a->tail,
                                    .form = (uint16_t)form,
                                    .slot = slot,
                                    .width = shape.variable ? 0 : shape.width,
                                    .variable = shape.variable,
                                    .constant = form == DW_FORM_implicit_const ? (int32_t)constant
                                                : form == DW_FORM_flag_present ? 1
                                                                               : 0}))
        return false;
    if (slot != SLOT_NONE || shape.variable)
        a->step_count++;
    if (shape.variable) {
        a->fixed = false;
        a->tail = 0;
    } else {
        a->tail = (uint16_t)(a->tail + shape.width);
    }
    return true;
}

/* One declaration. False at the end of the table, and when it cannot go on. */
static bool compile_one(struct compiler *c)
{
    uint64_t code = reader_uleb(&c->r);
    if (c->r.failed || code == 0)
        return false;
    if (!array_room(&c->all, &c->capacity, c->count, sizeof *c->all) ||
        c->step_count > UINT32_MAX / 2) {
        c->no_memory = true;
        return false;
    }
    uint64_t tag = reader_uleb(&c->r);
    bool children = reader_u8(&c->r) != 0;
    struct abbrev a = {.first_step = (uint32_t)c->step_count,
                       .tag = tag > UINT16_MAX ? 0 : (uint16_t)tag,
                       .fixed = true,
                       .children = children};
    bool has_code = false, declares = false;
    for (;;) {
        uint64_t attribute = reader_uleb(&c->r), form = reader_uleb(&c->r);
        int64_t constant = form == DW_FORM_implicit_const ? reader_sleb(&c->r) : 0;
        if (c->r.failed)
            return false;
        if (attribute == 0 && form == 0)
            break;
        has_code |= attribute == DW_AT_low_pc || attribute == DW_AT_ranges;
        declares |= attribute == DW_AT_declaration;
        if (!compile_attribute(c, &a, attribute, form, constant))
            return false;
    }
    if (a.sibling) /* from "1 + what follows" to "its own width + what follows" */
        a.sibling = a.sibling - 1u + a.sibling_width > UINT8_MAX
                        ? 0
                        : (uint8_t)(a.sibling - 1 + a.sibling_width);
    if (a.kind != DIE_BAD)
        a.kind = kind_of(a.tag, children, has_code, declares);
    c->all[c->count++] = (struct abbrev_coded){code, a};
    return true;
}

static int by_code(const void *a, const void *b)
{
    const struct abbrev_coded *x = a, *y = b;
    if (x->code != y->code)
        return x->code < y->code ? -1 : 1;
    return x->abbrev.first_step < y->abbrev.first_step ? -1 : 1; /* the first of one code counts */
}

/* Codes that are about as small as they are many go into dense[]. */
static bool distribute(struct compiler *c, struct abbrev_table *table)
{
    uint64_t limit = (uint64_t)c->count * 4 + 256, highest = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i].code < limit && c->all[i].code > highest)
            highest = c->all[i].code;
    table->dense = malloc((size_t)(highest + 1) * sizeof *table->dense);
    if (!table->dense)
        return false;
    table->dense_count = highest + 1;
    for (uint64_t i = 0; i <= highest; i++)
        table->dense[i] = bad_abbrev;
    size_t rest = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct abbrev_coded one = c->all[i];
        if (one.code > highest)
            c->all[rest++] = one;
        else if (table->dense[one.code].kind == DIE_BAD)
            table->dense[one.code] = one.abbrev;
    }
    table->dense[0] = end_abbrev;
    table->sparse = c->all;
    table->sparse_count = rest;
    c->all = NULL;
    if (rest)
        qsort(table->sparse, rest, sizeof *table->sparse, by_code);
    return true;
}

/* Everything, or up to the declaration of the code `last` when that is not 0. */
static struct abbrev_table *compile(const struct dwarf_file *file, const struct abbrev_slot *slot,
                                    uint64_t last)
{
    struct span data = file->section[SECTION_ABBREV];
    struct compiler c = {.slot = slot};
    c.r = reader_at(data.data, data.size, slot->offset);
    struct abbrev_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    /* Tables do not overlap in files that mean well; in others the sum of them all is bounded. */
    uint64_t used = atomic_load(&file->abbrev_used), limit = (uint64_t)data.size * 8 + 65536;
    while (used + reader_offset(&c.r) - slot->offset < limit && compile_one(&c))
        if (last && c.all[c.count - 1].code == last)
            break;
    atomic_fetch_add(&((struct dwarf_file *)(uintptr_t)file)->abbrev_used,
                     reader_offset(&c.r) - (c.r.failed ? 0 : slot->offset));
    if (c.r.failed) {
        table->broken.code = FW_ERR_TRUNCATED;
        table->broken.place = reader_offset(&c.r);
        snprintf(table->broken.message, sizeof table->broken.message,
                 "the abbreviations at 0x%llx are cut off", (unsigned long long)slot->offset);
    }
    /* There is always a step, so that steps + 0 is a place. */
    if (c.no_memory || !array_room(&c.steps, &c.step_capacity, c.step_count, sizeof *c.steps) ||
        !distribute(&c, table)) {
        free(c.all);
        free(c.steps);
        free(table);
        return NULL;
    }
    table->steps = c.steps;
    return table;
}

void abbrev_table_free(struct abbrev_table *table)
{
    if (!table)
        return;
    free(table->dense);
    free(table->sparse);
    free(table->steps);
    free(table);
}

const struct abbrev_table *abbrev_table_of(const struct unit *unit)
{
    struct abbrev_slot *slot = unit->abbrevs;
    struct abbrev_table *table = atomic_load_explicit(&slot->table, memory_order_acquire);
    if (table)
        return table;
    struct abbrev_table *made = compile(unit->file, slot, 0);
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&slot->table, &table, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    abbrev_table_free(made); /* another thread was first */
    return table;
}

struct abbrev_table *abbrev_table_for(const struct unit *unit, uint64_t code)
{
    return compile(unit->file, unit->abbrevs, code);
}

const struct abbrev *abbrev_sparse(const struct abbrev_table *table, uint64_t code)
{
    size_t lo = 0, hi = table->sparse_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (table->sparse[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < table->sparse_count && table->sparse[lo].code == code)
        return &table->sparse[lo].abbrev;
    return &bad_abbrev;
}
