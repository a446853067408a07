#include "symmap/symbol_list.h"

#include "base/array.h"
#include "object/debug_sections.h"

#include <elf.h>

struct symbol_file { /* the source file of a local symbol that speaks for its address */
    uint64_t vaddr;
    const char *file;
};

struct collector {
    struct symbol_list *list;
    size_t capacity;
    struct symbol_file *files;
    size_t file_count, file_capacity;
    uint64_t *starts; /* function starts that are known without a symbol */
    size_t start_count, start_capacity;
    bool failed;
};

static void add(struct collector *c, struct symmap_symbol symbol)
{
    struct symbol_list *list = c->list;
    if (!array_room(&list->items, &c->capacity, list->count, sizeof *list->items)) {
        c->failed = true;
        return;
    }
    list->items[list->count++] = symbol;
}

/* Of one address the same file always comes first, whatever qsort does with equals. */
static int by_file_vaddr(const void *a, const void *b)
{
    const struct symbol_file *x = a, *y = b;
    if (x->vaddr != y->vaddr)
        return x->vaddr > y->vaddr ? 1 : -1;
    return strcmp(x->file, y->file);
}

static void add_names(struct collector *c)
{
    size_t count = symbols_count(c->list->symbols), next = 0;
    if (c->file_count)
        qsort(c->files, c->file_count, sizeof *c->files, by_file_vaddr);
    for (size_t i = 0; i < count && !c->failed; i++) {
        struct symbol_match match;
        symbols_at(c->list->symbols, i, &match);
        while (next < c->file_count && c->files[next].vaddr < match.vaddr)
            next++;
        bool filed = next < c->file_count && c->files[next].vaddr == match.vaddr;
        add(c, (struct symmap_symbol){.lo = match.vaddr,
                                      .hi = match.vaddr + match.size,
                                      .name = match.name,
                                      .flags = match.plt ? SYMMAP_FRAME_PLT : 0,
                                      .file = filed ? c->files[next].file : NULL});
    }
}

static void add_file(struct collector *c, const struct object_symbol *symbol)
{
    if (!array_room(&c->files, &c->file_capacity, c->file_count, sizeof *c->files))
        c->failed = true;
    else
        c->files[c->file_count++] = (struct symbol_file){symbol->vaddr, symbol->file};
}

/* A symbol that does not speak for its address is an alias of the one that does. */
static bool add_alias(void *context, const struct object_symbol *symbol)
{
    struct collector *c = context;
    struct symbol_match match;
    bool function = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
    if (!function || !symbol->name[0] || !symbols_lookup(c->list->symbols, symbol->vaddr, &match))
        return true;
    if (match.vaddr != symbol->vaddr || match.plt)
        return true;
    if (strcmp(match.name, symbol->name) == 0) {
        if (symbol->file)
            add_file(c, symbol);
        return !c->failed;
    }
    if (strchr(symbol->name, '@'))
        return true;
    add(c, (struct symmap_symbol){
               .lo = match.vaddr, .hi = match.vaddr + match.size, .name = symbol->name});
    return !c->failed;
}

static bool add_start(void *context, uint64_t vaddr)
{
    struct collector *c = context;
    struct symbol_match match;
    if (symbols_lookup(c->list->symbols, vaddr, &match))
        return true;
    if (!array_room(&c->starts, &c->start_capacity, c->start_count, sizeof *c->starts)) {
        c->failed = true;
        return false;
    }
    c->starts[c->start_count++] = vaddr;
    return true;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The end of a nameless function: the next start, the next symbol or the end of its code. */
static uint64_t end_of(const struct collector *c, size_t i, const struct object_range *code,
                       size_t code_count, size_t *next_symbol, size_t symbols_end)
{
    uint64_t start = c->starts[i], end = start;
    for (size_t k = 0; k < code_count; k++)
        if (start >= code[k].lo && start < code[k].hi)
            end = code[k].hi;
    if (i + 1 < c->start_count && c->starts[i + 1] < end)
        end = c->starts[i + 1];
    const struct symmap_symbol *symbols = c->list->items;
    while (*next_symbol < symbols_end && symbols[*next_symbol].lo < start)
        (*next_symbol)++;
    if (*next_symbol < symbols_end && symbols[*next_symbol].lo < end)
        end = symbols[*next_symbol].lo;
    return end;
}

/* The named symbols, ascending, stand from `first` to the end of the list. */
static void add_nameless(struct collector *c, struct object *object, size_t first)
{
    const struct object_range *code = NULL;
    size_t code_count = 0;
    if (c->start_count == 0 || object_code_ranges(object, &code, &code_count) != FW_OK)
        return;
    qsort(c->starts, c->start_count, sizeof *c->starts, by_value);
    size_t next_symbol = first, end_of_names = c->list->count;
    for (size_t i = 0; i < c->start_count && !c->failed; i++) {
        if (i > 0 && c->starts[i] == c->starts[i - 1])
            continue;
        uint64_t end = end_of(c, i, code, code_count, &next_symbol, end_of_names);
        if (end > c->starts[i])
            add(c, (struct symmap_symbol){.lo = c->starts[i], .hi = end});
    }
}

fw_error symbol_list_build(struct object *object, struct object *debug, struct symbol_list *list)
{
    *list = (struct symbol_list){.symbols = symbols_build(object, debug)};
    if (!list->symbols)
        return FW_ERR_MEMORY;
    struct collector c = {.list = list};
    struct object *tables[] = {object, debug};
    for (size_t i = 0; i < 2 && !c.failed; i++) {
        if (!tables[i])
            continue;
        object_symbols(tables[i], true, add_alias, &c);
        object_symbols(tables[i], false, add_alias, &c);
    }
    size_t first = list->count;
    add_names(&c); /* behind the aliases: the last of an address is its name (symmap.h) */
    object_function_starts(object, add_start, &c);
    add_nameless(&c, object, first);
    free(c.starts);
    free(c.files);
    if (!c.failed)
        return FW_OK;
    symbol_list_free(list);
    return FW_ERR_MEMORY;
}

void symbol_list_free(struct symbol_list *list)
{
    free(list->items);
    symbols_destroy(list->symbols);
    *list = (struct symbol_list){0};
}
