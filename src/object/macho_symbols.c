/*
 * Symbols, stubs and function starts of a Mach-O file, as struct object_format wants them; the
 * rules are those of macho_tables.c.
 */
#include "object/macho_internal.h"

fw_error macho_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context)
{
    const struct macho_file *macho = object->macho;
    if (dynamic || macho->table.count == 0)
        return FW_ERR_NOT_FOUND;
    struct macho_symbol s;
    for (size_t i = 0; macho_table_symbol(&macho->table, i, &s); i++) {
        if (s.section >= object->section_count || !macho_symbol_counts(&s))
            continue;
        const struct section *section = &object->sections[s.section];
        const struct macho_home home = {
            section->view.code, macho_names_stubs(section->view.name, section->macho.stub_size)};
        struct object_symbol symbol = macho_symbol_view(&s, &home, macho->cpu_type);
        if (!each(context, &symbol))
            break;
    }
    return FW_OK;
}

bool macho_stubs(struct object *object, object_stub_call each, void *context)
{
    const struct macho_file *macho = object->macho;
    size_t left = macho->indirect.size / 4;
    for (size_t i = 1; i < object->section_count; i++) {
        const struct section *s = &object->sections[i];
        const struct macho_stub_area area = {s->view.vaddr, s->view.size, s->macho.indirect,
                                             s->macho.stub_size};
        macho_each_stub(&macho->table, macho->indirect, &area, &left, each, context);
    }
    return true;
}

bool macho_starts(const struct object *object, object_start_call each, void *context)
{
    struct span list = object->macho->function_starts;
    if (list.size == 0)
        return false;
    macho_each_start(list, object->base, object->macho->cpu_type, each, context);
    return true;
}
