/*
 * The tables that load commands of Mach-O point at: symbols, stubs, function starts.
 *
 * The symbol table has no sizes and no types: what stands in a section of instructions is a
 * function, and ends where the next one starts. Entries of debuggers (stabs) are the business of
 * debug_map.c.
 *
 * <mach-o/nlist.h>, <mach-o/loader.h> (S_SYMBOL_STUBS, LC_FUNCTION_STARTS).
 */
#include "object/macho_format.h"

bool macho_table_symbol(const struct macho_symbol_table *table, size_t i,
                        struct macho_symbol *symbol)
{
    if (i >= table->count)
        return false;
    const size_t size = table->is_64 ? 16 : 12;
    struct reader r = reader_over(table->entries.data + i * size, size);
    r.swap = table->swap;
    uint32_t name = reader_u32(&r);
    symbol->type = reader_u8(&r);
    symbol->section = reader_u8(&r);
    symbol->desc = reader_u16(&r);
    symbol->value = table->is_64 ? reader_u64(&r) : reader_u32(&r);
    symbol->name = name < table->strings.size ? (const char *)table->strings.data + name : "";
    return true;
}

bool macho_holds_stubs(const char *section_name, uint32_t type)
{
    static const char *const names[] = {"__stubs", "__auth_stubs", "__stub_helper", "__objc_stubs"};
    if (type == S_SYMBOL_STUBS)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(section_name, names[i]) == 0)
            return true;
    return false;
}

/* Labels of compilers and linkers: ltmp0, l_anything, L_anything. Names of C begin with an
 * underscore, so none of theirs is met. */
static bool is_label(const char *name)
{
    return strncmp(name, "ltmp", 4) == 0 || name[0] == 'L' || strncmp(name, "l_", 2) == 0;
}

static bool in_section(const struct macho_symbol *s)
{
    return !(s->type & N_STAB) && (s->type & N_TYPE) == N_SECT && s->section;
}

bool macho_symbol_redacted(const struct macho_symbol *stored)
{
    return in_section(stored) && strcmp(stored->name, "<redacted>") == 0;
}

bool macho_symbol_counts(const struct macho_symbol *stored)
{
    return in_section(stored) && !is_label(stored->name) && !macho_symbol_redacted(stored);
}

static uint8_t binding_of(const struct macho_symbol *s)
{
    if (!(s->type & N_EXT) || (s->type & N_PEXT))
        return SYMBOL_LOCAL;
    return s->desc & N_WEAK_DEF ? SYMBOL_WEAK : SYMBOL_GLOBAL;
}

struct object_symbol macho_symbol_view(const struct macho_symbol *stored,
                                       const struct macho_home *home, uint32_t cpu_type)
{
    uint8_t type = stored->desc & N_ALT_ENTRY ? SYMBOL_NOTYPE : SYMBOL_FUNCTION;
    struct object_symbol symbol = {
        .vaddr = stored->value,
        .name = macho_source_name(stored->name),
        .binding = binding_of(stored),
        .type = home->code ? type : SYMBOL_DATA,
        .section = stored->section,
        .thumb = cpu_type == CPU_ARM && home->code &&
                 ((stored->desc & N_ARM_THUMB_DEF) || (stored->value & 1)),
        .stub = home->stubs,
    };
    if (symbol.thumb)
        symbol.vaddr &= ~(uint64_t)1;
    return symbol;
}

void macho_each_stub(const struct macho_symbol_table *table, struct span indirect,
                     const struct macho_stub_area *area, size_t *left, macho_stub_call *each,
                     void *context)
{
    const uint64_t size = area->stub_size, end = area->vaddr + area->size;
    if (size == 0 || end < area->vaddr)
        return;
    struct reader r = reader_at(indirect.data, indirect.size, (uint64_t)area->indirect * 4);
    r.swap = table->swap;
    for (uint64_t at = area->vaddr; at < end && size <= end - at && *left; at += size) {
        --*left;
        uint32_t number = reader_u32(&r);
        struct macho_symbol s;
        if (r.failed)
            return;
        if (macho_table_symbol(table, number, &s) && s.name[0])
            each(context, at, at + size, end, macho_source_name(s.name));
    }
}

void macho_each_start(struct span list, uint64_t header, uint32_t cpu_type,
                      bool (*each)(void *context, uint64_t vaddr), void *context)
{
    struct reader r = reader_over(list.data, list.size);
    uint64_t vaddr = header;
    while (reader_left(&r)) {
        uint64_t distance = reader_uleb(&r);
        if (r.failed || distance == 0 || vaddr + distance < vaddr)
            break;
        vaddr += distance;
        if (!each(context, cpu_type == CPU_ARM ? vaddr & ~(uint64_t)1 : vaddr))
            break;
    }
}
