/*
 * Symbols of Mach-O files: LC_SYMTAB, the stubs that LC_DYSYMTAB names, LC_FUNCTION_STARTS.
 *
 * The table has no sizes and no types: what stands in a section of instructions is a function, and
 * ends where the next one starts. Entries of debuggers (stabs) are the business of debug_map.c.
 *
 * <mach-o/nlist.h>, <mach-o/loader.h> (S_SYMBOL_STUBS, LC_FUNCTION_STARTS: ULEB128 distances, the
 * first from the address of the header, ended by a zero).
 */
#include "object/macho_internal.h"

#include <elf.h>
#include <stdlib.h>

bool macho_symbol_read(const struct object *object, size_t i, struct macho_symbol *symbol)
{
    const struct macho_file *macho = object->macho;
    if (i >= macho->symbol_count)
        return false;
    size_t size = object->is_64 ? 16 : 12;
    struct reader r = object_reader(object, span_cut(macho->symbols, i * size, size));
    uint32_t name = reader_u32(&r);
    symbol->type = reader_u8(&r);
    symbol->section = reader_u8(&r);
    symbol->desc = reader_u16(&r);
    symbol->value = object_word(object, &r);
    symbol->name = name < macho->strings.size ? (const char *)macho->strings.data + name : "";
    return true;
}

/* Labels of compilers and linkers: ltmp0, l_anything, L_anything. Names of C begin with an
 * underscore, so none of theirs is met. */
static bool is_label(const char *name)
{
    return strncmp(name, "ltmp", 4) == 0 || name[0] == 'L' || strncmp(name, "l_", 2) == 0;
}

static uint8_t binding_of(const struct macho_symbol *s)
{
    if (!(s->type & N_EXT) || (s->type & N_PEXT))
        return STB_LOCAL;
    return s->desc & N_WEAK_DEF ? STB_WEAK : STB_GLOBAL;
}

/* Sections of stubs that have symbols of their own. */
static bool names_stubs(const struct section *section)
{
    return strcmp(section->view.name, "__objc_stubs") == 0 || section->macho.stub_size;
}

fw_error macho_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context)
{
    const struct macho_file *macho = object->macho;
    if (dynamic || macho->symbol_count == 0)
        return FW_ERR_NOT_FOUND;
    for (size_t i = 0; i < macho->symbol_count; i++) {
        struct macho_symbol s;
        macho_symbol_read(object, i, &s);
        if ((s.type & N_STAB) || (s.type & N_TYPE) != N_SECT || s.section == 0 ||
            s.section >= object->section_count || is_label(s.name))
            continue;
        const struct section *section = &object->sections[s.section];
        uint8_t type = s.desc & N_ALT_ENTRY ? STT_NOTYPE : STT_FUNC;
        struct object_symbol symbol = {
            .vaddr = s.value,
            .name = macho_source_name(s.name),
            .binding = binding_of(&s),
            .type = section->view.code ? type : STT_OBJECT,
            .section = s.section,
            .thumb = object->machine == EM_ARM && section->view.code && (s.desc & N_ARM_THUMB_DEF),
            .stub = names_stubs(section),
        };
        if (symbol.thumb)
            symbol.vaddr &= ~(uint64_t)1;
        if (!each(context, &symbol))
            break;
    }
    return FW_OK;
}

/* The stubs of one section: as many as fit, each with an entry in the table of indirect symbols;
 * entries that are no number of a symbol (local or absolute ones) exceed the table. All sections
 * together have no more stubs than that table has entries: `left` counts down. */
static void walk_stubs(const struct object *object, const struct section *section, size_t *left,
                       object_stub_call each, void *context)
{
    const struct macho_file *macho = object->macho;
    uint64_t size = section->macho.stub_size, end = section->view.vaddr + section->view.size;
    struct reader r = object_reader(object, macho->indirect);
    reader_skip(&r, (uint64_t)section->macho.indirect * 4);
    for (uint64_t at = section->view.vaddr; at < end && size <= end - at && *left; at += size) {
        --*left;
        uint32_t number = reader_u32(&r);
        struct macho_symbol s;
        if (r.failed)
            return;
        if (macho_symbol_read(object, number, &s) && s.name[0])
            each(context, at, at + size, end, macho_source_name(s.name));
    }
}

bool macho_stubs(struct object *object, object_stub_call each, void *context)
{
    size_t left = object->macho->indirect.size / 4;
    for (size_t i = 1; i < object->section_count; i++) {
        const struct section *s = &object->sections[i];
        if (s->macho.stub_size && s->view.vaddr + s->view.size > s->view.vaddr)
            walk_stubs(object, s, &left, each, context);
    }
    return true;
}

bool macho_starts(const struct object *object, object_start_call each, void *context)
{
    struct span list = object->macho->function_starts;
    if (list.size == 0)
        return false;
    struct reader r = object_reader(object, list);
    uint64_t vaddr = object->base;
    while (reader_left(&r)) {
        uint64_t distance = reader_uleb(&r);
        if (r.failed || distance == 0 || vaddr + distance < vaddr)
            break;
        vaddr += distance;
        /* On Arm, the lowest bit says Thumb. */
        if (!each(context, object->machine == EM_ARM ? vaddr & ~(uint64_t)1 : vaddr))
            break;
    }
    return true;
}
