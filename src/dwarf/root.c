/*
 * See root.h. A base that is not said has a default: behind the header of the unit's part of the
 * section (DWARF 5 sections 7.26 to 7.28; what is read is what producers write: without
 * DW_AT_str_offsets_base a .dwo has one table with one header).
 */
#include "dwarf/root.h"

#include <stdlib.h>

static uint64_t header_size(const struct view *view, uint64_t v4, uint64_t v32, uint64_t v64)
{
    return view->version < 5 ? v4 : view->offset_size == 8 ? v64 : v32;
}

static const char *text(const struct view *view, const struct die *die, enum die_slot slot)
{
    const char *string;
    return die_has(die, slot) && form_string(view, die, slot, &string) ? string : NULL;
}

static void read_bases(struct view *view, const struct die *die, struct unit_root *root)
{
    const struct unit *unit = view->unit;
    root->str_offsets_base = unit->str_offsets_start + (die_has(die, SLOT_STR_OFFSETS_BASE)
                                                            ? die->value[SLOT_STR_OFFSETS_BASE]
                                                            : header_size(view, 0, 8, 16));
    root->has_addr_base = die_has(die, SLOT_ADDR_BASE);
    root->addr_base =
        root->has_addr_base ? die->value[SLOT_ADDR_BASE] : header_size(view, 0, 8, 16);
    root->rnglists_base =
        unit->rnglists_start + (die_has(die, SLOT_RNGLISTS_BASE) ? die->value[SLOT_RNGLISTS_BASE]
                                                                 : header_size(view, 0, 12, 20));
    if (die_has(die, SLOT_GNU_RANGES_BASE))
        root->ranges_base = die->value[SLOT_GNU_RANGES_BASE];
    view->str_offsets_base = root->str_offsets_base;
    if (root->has_addr_base || view->address_file == view->file)
        view->addr_base = root->addr_base;
}

static void read_code(const struct view *view, const struct die *die, struct unit_root *root)
{
    root->has_low_pc =
        die_has(die, SLOT_LOW_PC) &&
        form_address(view, die->form[SLOT_LOW_PC], die->value[SLOT_LOW_PC], &root->low_pc);
    if (die_has(die, SLOT_HIGH_PC)) {
        root->high_is_length = !form_is_address(die->form[SLOT_HIGH_PC]);
        root->high_pc = die->value[SLOT_HIGH_PC];
        root->has_high_pc = root->high_is_length || form_address(view, die->form[SLOT_HIGH_PC],
                                                                 root->high_pc, &root->high_pc);
    }
    root->has_ranges = die_has(die, SLOT_RANGES);
    if (root->has_ranges) {
        root->ranges = die->value[SLOT_RANGES];
        root->ranges_form = die->form[SLOT_RANGES];
    }
}

static void read_root(struct view *view, struct unit_root *root)
{
    const struct unit *unit = view->unit;
    struct die die;
    if (!die_at(view, unit->first_die, &die)) {
        root->broken = true;
        return;
    }
    root->has_children = die.abbrev->children;
    read_bases(view, &die, root);
    root->name = text(view, &die, SLOT_NAME);
    root->comp_dir = text(view, &die, SLOT_COMP_DIR);
    root->producer = text(view, &die, SLOT_PRODUCER);
    root->dwo_name = text(view, &die, SLOT_DWO_NAME);
    if (die_has(&die, SLOT_LANGUAGE))
        root->language = (uint32_t)die.value[SLOT_LANGUAGE];
    root->has_stmt_list = die_has(&die, SLOT_STMT_LIST);
    if (root->has_stmt_list)
        root->stmt_list = die.value[SLOT_STMT_LIST];
    if (unit->header.unit_type == DW_UT_skeleton || unit->header.unit_type == DW_UT_split_compile) {
        root->has_dwo_id = true;
        root->dwo_id = unit->signature;
    } else if (die_has(&die, SLOT_DWO_ID)) {
        root->has_dwo_id = true;
        root->dwo_id = die.value[SLOT_DWO_ID];
    }
    read_code(view, &die, root);
}

/* The root as this view reads it; NULL when memory ran out. */
static const struct unit_root *root_of(struct view *view)
{
    struct unit *unit = (struct unit *)(uintptr_t)view->unit; /* only `root` is ever changed */
    struct unit_root *root = atomic_load_explicit(&unit->root, memory_order_acquire);
    if (root)
        return root;
    struct unit_root *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    read_root(view, made);
    if (atomic_compare_exchange_strong_explicit(&unit->root, &root, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    free(made); /* another thread was first */
    return root;
}

void view_begin(struct view *view, const struct unit *unit, const struct view *skeleton)
{
    const struct dwarf_unit_header *h = &unit->header;
    *view = (struct view){.unit = unit,
                          .file = unit->file,
                          .info = dwarf_unit_section(unit).data,
                          .start = h->offset,
                          .end = h->offset + h->size,
                          .version = h->version,
                          .address_size = h->address_size,
                          .offset_size = h->offset_size,
                          .swap = unit->file->swap,
                          .address_file = skeleton ? skeleton->file : unit->file};
    if (skeleton)
        view->addr_base = skeleton->addr_base;
}

static bool take_root(struct view *view, const struct view *skeleton)
{
    const struct unit_root *root = root_of(view);
    if (!root)
        return false;
    view->root = root;
    view->str_offsets_base = root->str_offsets_base;
    view->rnglists_base = root->rnglists_base;
    view->low_pc = root->low_pc;
    if (root->has_addr_base || !skeleton)
        view->addr_base = root->addr_base;
    if (skeleton) {
        view->low_pc = skeleton->root->low_pc;
        view->ranges_base = skeleton->root->ranges_base; /* counts in the split unit alone */
    }
    return true;
}

bool view_open(struct view *view, const struct unit *unit, const struct view *skeleton)
{
    view_begin(view, unit, skeleton);
    view->abbrevs = abbrev_table_of(unit);
    return view->abbrevs && take_root(view, skeleton);
}

bool view_open_root(struct view *view, const struct unit *unit)
{
    view_begin(view, unit, NULL);
    struct abbrev_table *table = NULL;
    if (!atomic_load_explicit(&unit->abbrevs->table, memory_order_acquire) &&
        !atomic_load_explicit(&((struct unit *)(uintptr_t)unit)->root, memory_order_acquire)) {
        struct span info = dwarf_unit_section(unit);
        struct reader r = reader_at(info.data, info.size, unit->first_die);
        uint64_t code = reader_uleb(&r);
        table = r.failed || code == 0 ? NULL : abbrev_table_for(unit, code);
    }
    view->abbrevs = table ? table : abbrev_table_of(unit);
    bool opened = view->abbrevs && take_root(view, NULL);
    view->abbrevs = NULL;
    abbrev_table_free(table);
    return opened;
}
