/*
 * Cutting an excerpt out of symbol tables.
 *
 * Around each window a segment [from, to) is looked for that what lies outside cannot reach into.
 * `from` is the last symbol at or below the window that no earlier one reaches beyond; so it is
 * never a label inside a function (symbols.c leaves those out), and what has no size ends there at
 * the latest. `to` is the next symbol behind the window that is certain to be in the index; so what
 * has no size ends there at the latest, too. An excerpt holds all symbols of [from, to], in the
 * order of their tables.
 *
 * Segments only shrink in a pass, so what is thrown away on the way stays away. When a symbol below
 * `from` reaches beyond it, the window grows down to that symbol, and the tables are read again.
 */
#include "object/excerpt.h"

#include <stdlib.h>

#include "base/array.h"
#include "object/object_internal.h"
#include "object/symbols_builder.h"

enum { TABLES = 6, PASSES = 4 }; /* of three files, both; the last pass takes everything */

struct kept {
    struct object_symbol symbol;
    uint8_t table;
};

struct segment {
    struct object_range window;
    uint64_t from;       /* 0 until a symbol is found */
    uint64_t from_reach; /* the highest end of the symbols that start there */
    uint64_t reach;      /* the highest end above `from` of those that start below */
    uint64_t reach_start;
    uint64_t to;
    bool found; /* `from` is a symbol */
};

struct table {
    struct object *object;
    bool dynamic;
    bool indexed;   /* the index takes its symbols; else they are aliases at most */
    fw_error error; /* of reading it */
};

struct excerpt {
    struct table tables[TABLES];
    size_t table_count;
    struct kept *symbols;
    size_t count, capacity;
    struct object_range *ranges;
    size_t range_count;
};

struct pass {
    struct excerpt *excerpt;
    struct segment *segments; /* by window */
    size_t count;
    uint8_t table; /* the one that is read now */
    bool failed;
};

/* The first segment whose window does not begin below `vaddr`. */
static size_t segment_from(const struct pass *p, uint64_t vaddr)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->segments[middle].window.lo < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* `next` is segment_from(vaddr). Windows are apart, so only neighbours can want it. */
static bool wanted(const struct pass *p, size_t next, uint64_t vaddr)
{
    return (next > 0 && vaddr <= p->segments[next - 1].to) ||
           (next < p->count && vaddr >= p->segments[next].from);
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static void note_reach(struct segment *s, uint64_t start, uint64_t end)
{
    if (end > s->reach) {
        s->reach = end;
        s->reach_start = start;
    }
}

/* What the index takes narrows the segments around it. `indexed`: whatever is beside it. */
static void narrow(struct pass *p, size_t next, uint64_t start, uint64_t size, bool indexed)
{
    const uint64_t end = end_of(start, size);
    if (next < p->count) {
        struct segment *s = &p->segments[next];
        if (s->found && start < s->from) {
            note_reach(s, start, end);
        } else if (s->found && start == s->from) {
            s->from_reach = end > s->from_reach ? end : s->from_reach;
        } else {
            if (s->found)
                note_reach(s, s->from, s->from_reach);
            s->found = true;
            s->from = start;
            s->from_reach = end;
        }
    }
    if (indexed && next > 0) {
        struct segment *s = &p->segments[next - 1];
        if (start >= s->window.hi && start < s->to)
            s->to = start;
    }
}

/* Throws away what the segments have left by now. */
static void prune(struct pass *p)
{
    struct excerpt *e = p->excerpt;
    size_t left = 0;
    for (size_t i = 0; i < e->count; i++) {
        uint64_t vaddr = e->symbols[i].symbol.vaddr;
        if (wanted(p, segment_from(p, vaddr), vaddr))
            e->symbols[left++] = e->symbols[i];
    }
    e->count = left;
}

static bool keep(struct pass *p, const struct object_symbol *symbol)
{
    struct excerpt *e = p->excerpt;
    if (e->count == e->capacity && e->capacity) {
        prune(p);
        /* Half of the room is free now, or there will be more: not every symbol prunes. */
        if (e->count > e->capacity / 2 &&
            !array_reserve(&e->symbols, &e->capacity, e->capacity + 1, sizeof *e->symbols))
            return false;
    }
    if (!array_room(&e->symbols, &e->capacity, e->count, sizeof *e->symbols))
        return false;
    e->symbols[e->count++] = (struct kept){*symbol, p->table};
    return true;
}

/* Most symbols lie below all segments, without reaching them, or above. */
static bool outside(const struct pass *p, uint64_t vaddr, uint64_t size)
{
    if (!p->count || vaddr > p->segments[p->count - 1].to)
        return true;
    const uint64_t from = p->segments[0].from;
    return vaddr < from && size <= from - vaddr;
}

static bool look_at(void *context, const struct object_symbol *symbol)
{
    struct pass *p = context;
    const uint64_t vaddr = symbol->vaddr;
    if (outside(p, vaddr, symbol->size))
        return true;
    const size_t next = segment_from(p, vaddr);
    const bool near = wanted(p, next, vaddr);
    if (!near && (next == p->count || end_of(vaddr, symbol->size) <= p->segments[next].from))
        return true;
    if (!symbols_takes(symbol))
        return true;
    const struct table *table = &p->excerpt->tables[p->table];
    if (table->indexed && symbol_code_limit(table->object, symbol))
        narrow(p, next, vaddr, symbol->size,
               symbol->size || (symbol->type != SYMBOL_NOTYPE && !symbol->stub));
    if (near && !keep(p, symbol))
        p->failed = true;
    return !p->failed;
}

static void look_at_stub(void *context, uint64_t lo, uint64_t hi, uint64_t limit, const char *name)
{
    struct pass *p = context;
    (void)limit;
    (void)name;
    narrow(p, segment_from(p, lo), lo, hi - lo, hi > lo);
}

/* Windows grow down to what reaches into their segments. False when none does. */
static bool grow(struct pass *p)
{
    bool grown = false;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->segments[i].found && p->segments[i].reach > p->segments[i].from) {
            p->segments[i].window.lo = p->segments[i].reach_start;
            grown = true;
        }
    for (size_t i = 0; grown && i < p->count; i++) {
        struct object_range window = p->segments[i].window;
        while (count && p->segments[count - 1].window.hi >= window.lo) {
            const struct object_range *before = &p->segments[--count].window;
            window.lo = before->lo < window.lo ? before->lo : window.lo;
            window.hi = before->hi > window.hi ? before->hi : window.hi;
        }
        p->segments[count++].window = window;
    }
    if (grown)
        p->count = count;
    return grown;
}

static void read_tables(struct pass *p)
{
    struct excerpt *e = p->excerpt;
    struct object *image = e->tables[0].object;
    e->count = 0;
    for (size_t i = 0; i < p->count; i++)
        p->segments[i] = (struct segment){.window = p->segments[i].window, .to = UINT64_MAX};
    if (!image->format->stubs(image, look_at_stub, p))
        p->failed = true;
    for (size_t i = 0; i < e->table_count && !p->failed; i++) {
        struct table *table = &e->tables[i];
        p->table = (uint8_t)i;
        table->error = object_symbols(table->object, table->dynamic, look_at, p);
    }
    prune(p);
}

/* Where no symbol begins between two windows, their segments are one: the second has no `from`, and
 * the first no `to`. */
static bool store_ranges(struct pass *p)
{
    struct excerpt *e = p->excerpt;
    e->ranges = malloc((p->count + 1) * sizeof *e->ranges);
    for (size_t i = 0; e->ranges && i < p->count; i++) {
        const struct segment *s = &p->segments[i];
        if (e->range_count && e->ranges[e->range_count - 1].hi >= s->from)
            e->ranges[e->range_count - 1].hi = s->to;
        else
            e->ranges[e->range_count++] = (struct object_range){s->from, s->to};
    }
    return e->ranges != NULL;
}

static bool fill(struct excerpt *e, const struct object_range *windows, size_t count)
{
    struct pass p = {.excerpt = e, .count = count};
    p.segments = calloc(count + 1, sizeof *p.segments);
    for (size_t i = 0; p.segments && i < count; i++)
        p.segments[i].window = windows[i];
    bool good = p.segments != NULL, settled = false;
    for (int pass = 1; good && !settled; pass++) {
        if (pass == PASSES) {
            p.count = 1;
            p.segments[0].window = (struct object_range){0, UINT64_MAX};
        }
        read_tables(&p);
        good = !p.failed;
        settled = pass == PASSES || !grow(&p);
    }
    good = good && store_ranges(&p);
    free(p.segments);
    return good;
}

static void add_tables(struct excerpt *e, struct object *object, bool indexed)
{
    for (int dynamic = 0; object && dynamic < 2; dynamic++)
        e->tables[e->table_count++] =
            (struct table){.object = object, .dynamic = dynamic != 0, .indexed = indexed};
}

struct excerpt *excerpt_make(struct object *object, struct object *debug,
                             const struct object_range *windows, size_t count)
{
    struct excerpt *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    add_tables(e, object, true);
    add_tables(e, debug, debug && symbols_debug_fits(object, debug));
    add_tables(e, object_minidebug(object, NULL), true);
    if (fill(e, windows, count))
        return e;
    excerpt_free(e);
    return NULL;
}

void excerpt_free(struct excerpt *excerpt)
{
    if (!excerpt)
        return;
    free(excerpt->symbols);
    free(excerpt->ranges);
    free(excerpt);
}

const struct object_range *excerpt_ranges(const struct excerpt *excerpt, size_t *count)
{
    *count = excerpt->range_count;
    return excerpt->ranges;
}

bool excerpt_holds(const struct excerpt *excerpt, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < excerpt->range_count; i++)
        if (lo >= excerpt->ranges[i].lo && hi <= excerpt->ranges[i].hi)
            return true;
    return false;
}

fw_error excerpt_symbols(const struct excerpt *excerpt, struct object *object, bool dynamic,
                         bool (*each)(void *context, const struct object_symbol *symbol),
                         void *context)
{
    if (!excerpt)
        return object_symbols(object, dynamic, each, context);
    size_t table = 0;
    while (table < excerpt->table_count &&
           (excerpt->tables[table].object != object || excerpt->tables[table].dynamic != dynamic))
        table++;
    if (table == excerpt->table_count)
        return FW_ERR_NOT_FOUND;
    for (size_t i = 0; i < excerpt->count; i++)
        if (excerpt->symbols[i].table == table && !each(context, &excerpt->symbols[i].symbol))
            break;
    return excerpt->tables[table].error;
}
