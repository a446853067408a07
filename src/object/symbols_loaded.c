/*
 * The symbol index of a loaded Mach-O image, out of the tables that lie in its __LINKEDIT.
 *
 * What has lost its name still bounds its neighbours: redacted symbols and function starts are
 * bounds, so that what lies behind them is not called after the last function that has a name.
 */
#include <stdlib.h>

#include "object/export_trie.h"
#include "object/macho_format.h"
#include "object/macho_loaded.h"
#include "object/symbols_builder.h"

enum {
    SECTIONS = 256,   /* a symbol's section is one byte, counted from 1 */
    NAMES_FACTOR = 16 /* names of the trie take no more than so many times its size */
};

struct home {
    uint64_t vaddr, size;
    struct macho_home kind;
    struct macho_stub_area stubs;
};

struct building {
    const struct macho_loaded *image;
    struct symbols_builder builder;
    struct code_bounds bounds;
    struct macho_symbol_table table;
    struct home sections[SECTIONS]; /* [0] is none */
    size_t section_count;
    size_t exported; /* functions that the symbol table shows to other images */
    bool redacted;
};

static bool take_section(void *context, const struct macho_section *s)
{
    struct building *b = context;
    if (b->section_count == SECTIONS)
        return false;
    b->sections[b->section_count++] = (struct home){
        .vaddr = s->vaddr,
        .size = s->size,
        .kind = {macho_is_code(s->flags), macho_names_stubs(s->name, s->stub_size)},
        .stubs = {s->vaddr, s->size, s->indirect, s->stub_size},
    };
    return true;
}

static bool is_function(const struct home *home, uint64_t vaddr)
{
    return home->kind.code && vaddr - home->vaddr < home->size;
}

static void take_symbol(struct building *b, const struct macho_symbol *s)
{
    const struct home *home = s->section < b->section_count ? &b->sections[s->section] : NULL;
    const uint32_t cpu = b->image->cpu_type;
    if (home && macho_symbol_redacted(s)) {
        struct object_symbol symbol = macho_symbol_view(s, &home->kind, cpu);
        if (is_function(home, symbol.vaddr))
            b->redacted |= code_bounds_list(&b->bounds, symbol.vaddr);
        return;
    }
    if (!home || !macho_symbol_counts(s))
        return;
    struct object_symbol symbol = macho_symbol_view(s, &home->kind, cpu);
    if (!symbols_takes(&symbol) || !is_function(home, symbol.vaddr))
        return;
    if (symbol.binding == SYMBOL_LOCAL)
        b->builder.full_tables = 1;
    else
        b->exported++;
    symbols_take_one(&b->builder, &symbol, home->vaddr + home->size);
}

static void take_stubs(struct building *b)
{
    struct span indirect = macho_loaded_bytes(b->image, b->image->indirect);
    size_t left = indirect.size / 4;
    for (size_t i = 1; i < b->section_count; i++)
        macho_each_stub(&b->table, indirect, &b->sections[i].stubs, &left, symbols_take_stub,
                        &b->builder);
}

/* What the export trie knows: counted first, then taken, when that is more than the symbol table
 * does. Its names stand nowhere as a whole, so they are copied. */
struct exports {
    struct building *b;
    size_t count, name_bytes, limit;
    char *names; /* NULL while counting */
    size_t used;
};

static const struct home *home_of(const struct building *b, uint64_t vaddr)
{
    for (size_t i = 1; i < b->section_count; i++)
        if (is_function(&b->sections[i], vaddr))
            return &b->sections[i];
    return NULL;
}

static bool count_export(void *context, const struct export_symbol *s)
{
    struct exports *e = context;
    if (!home_of(e->b, e->b->image->vaddr + s->offset))
        return true;
    if (s->name_size + 1 > e->limit - e->name_bytes)
        return false;
    e->count++;
    e->name_bytes += s->name_size + 1;
    return true;
}

static bool take_export(void *context, const struct export_symbol *s)
{
    struct exports *e = context;
    struct building *b = e->b;
    uint64_t vaddr = b->image->vaddr + s->offset;
    const struct home *home = home_of(b, vaddr);
    if (!home)
        return true;
    if (s->name_size + 1 > e->name_bytes - e->used)
        return false;
    char *name = e->names + e->used;
    memcpy(name, s->name, s->name_size + 1);
    e->used += s->name_size + 1;
    if (b->image->cpu_type == CPU_ARM)
        vaddr &= ~(uint64_t)1; /* says Thumb */
    const struct object_symbol symbol = {
        .vaddr = vaddr,
        .name = macho_source_name(name),
        .binding = s->weak ? SYMBOL_WEAK : SYMBOL_GLOBAL,
        .type = SYMBOL_FUNCTION,
        .stub = home->kind.stubs,
    };
    if (symbols_takes(&symbol))
        symbols_take_one(&b->builder, &symbol, home->vaddr + home->size);
    return !b->builder.failed;
}

static void take_exports(struct building *b)
{
    struct span trie = macho_loaded_bytes(b->image, b->image->exports);
    if (trie.size == 0 || trie.size > SIZE_MAX / NAMES_FACTOR)
        return;
    struct exports e = {.b = b, .limit = trie.size * NAMES_FACTOR};
    export_trie_each(trie, count_export, &e);
    if (e.count <= b->exported)
        return;
    e.names = b->builder.names = malloc(e.name_bytes);
    if (e.names)
        export_trie_each(trie, take_export, &e);
    else
        b->builder.failed = true;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void take_starts(struct building *b)
{
    struct span starts = macho_loaded_bytes(b->image, b->image->function_starts);
    macho_each_start(starts, b->image->vaddr, b->image->cpu_type, code_bounds_list, &b->bounds);
}

struct symbols *symbols_build_loaded(const struct macho_loaded *image)
{
    struct building *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->image = image;
    b->section_count = 1;
    macho_loaded_sections(image, take_section, b);
    b->table = macho_loaded_table(b->image);
    take_starts(b);
    /* Where all functions begin may be known to nobody: see set_extents. */
    b->builder.dynamic = true;
    struct macho_symbol s;
    for (size_t i = 0; macho_table_symbol(&b->table, i, &s) && !b->builder.failed; i++)
        take_symbol(b, &s);
    take_exports(b);
    take_stubs(b);
    if (b->redacted)
        qsort(b->bounds.listed, b->bounds.listed_count, sizeof *b->bounds.listed, by_value);
    b->builder.failed |= b->bounds.no_memory;
    struct symbols *symbols = symbols_finish(&b->builder, &b->bounds);
    code_bounds_free(&b->bounds);
    free(b);
    return symbols;
}
