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
    struct symbol_list aliases; /* on their way into the list */
    size_t alias_capacity;
    bool part; /* the list does not hold all symbols any more */
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
    size_t count = symbols_count(c->list->symbols);
    for (size_t i = 0; i < count && !c->failed; i++) {
        struct symbol_match match;
        symbols_at(c->list->symbols, i, &match);
        add(c, (struct symmap_symbol){.lo = match.vaddr,
                                      .hi = match.vaddr + match.size,
                                      .name = match.name,
                                      .flags = match.plt ? SYMMAP_FRAME_PLT : 0});
    }
    c->list->named = c->list->count;
}

/* Names and files are both ascending. */
static void name_files(struct collector *c)
{
    size_t next = 0;
    if (c->file_count)
        qsort(c->files, c->file_count, sizeof *c->files, by_file_vaddr);
    for (size_t i = 0; i < c->list->named; i++) {
        struct symmap_symbol *name = &c->list->items[i];
        while (next < c->file_count && c->files[next].vaddr < name->lo)
            next++;
        if (next < c->file_count && c->files[next].vaddr == name->lo)
            name->file = c->files[next].file;
    }
}

/* Whether a name of the list begins there. */
static bool begins_at(const struct symbol_list *list, uint64_t vaddr)
{
    size_t low = 0, high = list->named;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].lo < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->named && list->items[low].lo == vaddr;
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
    if (!function || !symbol->name[0] || (c->part && !begins_at(c->list, symbol->vaddr)) ||
        !symbols_lookup(c->list->symbols, symbol->vaddr, &match))
        return true;
    if (match.vaddr != symbol->vaddr || match.plt)
        return true;
    if (strcmp(match.name, symbol->name) == 0) {
        if (symbol->file)
            add_file(c, symbol);
        return !c->failed;
    }
    if (symbol_unversioned(symbol->name))
        return true;
    struct symbol_list *aliases = &c->aliases;
    if (!array_room(&aliases->items, &c->alias_capacity, aliases->count, sizeof *aliases->items)) {
        c->failed = true;
        return false;
    }
    aliases->items[aliases->count++] = (struct symmap_symbol){
        .lo = match.vaddr, .hi = match.vaddr + match.size, .name = symbol->name};
    return true;
}

static bool add_start(void *context, uint64_t vaddr)
{
    struct collector *c = context;
    struct symbol_match match;
    if ((c->list->excerpt && !excerpt_holds(c->list->excerpt, vaddr, vaddr + 1)) ||
        symbols_lookup(c->list->symbols, vaddr, &match))
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

/* The list holds the named symbols, ascending. */
static void add_nameless(struct collector *c, struct object *object)
{
    const struct object_range *code = NULL;
    size_t code_count = 0;
    if (c->start_count == 0 || object_code_ranges(object, &code, &code_count) != FW_OK)
        return;
    qsort(c->starts, c->start_count, sizeof *c->starts, by_value);
    size_t next_symbol = 0, end_of_names = c->list->count;
    for (size_t i = 0; i < c->start_count && !c->failed; i++) {
        if (i > 0 && c->starts[i] == c->starts[i - 1])
            continue;
        uint64_t end = end_of(c, i, code, code_count, &next_symbol, end_of_names);
        if (end > c->starts[i])
            add(c, (struct symmap_symbol){.lo = c->starts[i], .hi = end});
    }
}

/* Aliases stand before the names: the last of an address is its name (symmap.h). */
static void put_aliases_first(struct collector *c)
{
    struct symbol_list *list = c->list;
    size_t count = c->aliases.count, size = sizeof *list->items;
    if (count == 0)
        return;
    struct symmap_symbol *all = calloc(count + list->count, size);
    if (!all) {
        c->failed = true;
        return;
    }
    memcpy(all, c->aliases.items, count * size);
    if (list->count)
        memcpy(all + count, list->items, list->count * size);
    free(list->items);
    list->items = all;
    list->count += count;
}

static fw_error list_names(struct object *object, struct object *debug, struct symbol_list *list)
{
    list->symbols = symbols_build_excerpt(object, debug, list->excerpt);
    if (!list->symbols)
        return FW_ERR_MEMORY;
    struct collector c = {.list = list};
    add_names(&c);
    object_function_starts(object, add_start, &c);
    add_nameless(&c, object);
    free(c.starts);
    return c.failed ? FW_ERR_MEMORY : FW_OK;
}

fw_error symbol_list_near(struct object *object, struct object *debug,
                          const struct object_range *windows, size_t count,
                          struct symbol_list *list)
{
    *list = (struct symbol_list){.excerpt = excerpt_make(object, debug, windows, count)};
    return list->excerpt ? list_names(object, debug, list) : FW_ERR_MEMORY;
}

fw_error symbol_list_finish(struct object *object, struct object *debug, struct symbol_list *list)
{
    struct collector c = {.list = list, .part = list->named < symbols_count(list->symbols)};
    struct object *tables[] = {object, debug};
    for (size_t i = 0; i < 2 && !c.failed; i++) {
        if (!tables[i])
            continue;
        excerpt_symbols(list->excerpt, tables[i], true, add_alias, &c);
        excerpt_symbols(list->excerpt, tables[i], false, add_alias, &c);
    }
    name_files(&c);
    if (!c.failed)
        put_aliases_first(&c);
    free(c.files);
    free(c.aliases.items);
    return c.failed ? FW_ERR_MEMORY : FW_OK;
}

fw_error symbol_list_build(struct object *object, struct object *debug, struct symbol_list *list)
{
    *list = (struct symbol_list){0};
    fw_error error = list_names(object, debug, list);
    if (error == FW_OK)
        error = symbol_list_finish(object, debug, list);
    if (error != FW_OK)
        symbol_list_free(list);
    return error;
}

void symbol_list_free(struct symbol_list *list)
{
    free(list->items);
    symbols_destroy(list->symbols);
    excerpt_free(list->excerpt);
    *list = (struct symbol_list){0};
}
