/*
 * The symbol index: built once, then looked up by one binary search.
 *
 * Building goes in four steps. (1) Take function symbols of all tables; each carries the end of
 * its section, which it can never pass. (2) Sort by address and let one symbol speak for each
 * address (`better`). (3) Give sizeless symbols an end: the next symbol, the next function that the
 * unwind tables know, the end of an enclosing sized function or of the section, whichever comes
 * first. (4) Index the extents, so that the covering symbol which starts last is found at once.
 *
 * Invariant after building: extents are strictly ascending by start, and none is empty.
 */
#include "object/symbols_builder.h"

#include <stdlib.h>

#include "object/extents.h"

enum { RANK_LOCAL = 1, RANK_NOTYPE = 2, RANK_PLT = 4 }; /* the lower sum speaks for an address */

struct candidate {
    uint64_t start, size, limit; /* limit: end of the section or segment around it */
    const char *name;
    uint8_t rank;
    bool dynamic; /* from .dynsym */
};

struct symbol_name {
    const char *text;
    bool plt;
};

struct symbols {
    struct extent *extents;    /* one per address that a symbol starts at */
    struct symbol_name *names; /* of the same order */
    size_t count;
    struct extents index;
    char *own_names;   /* names that had a version cut off, one behind the other */
    char *given_names; /* owned: those that the builder gave */
};

/* (1) Taking. */

static void add(struct symbols_builder *b, const struct candidate *candidate)
{
    if (b->count == b->capacity) {
        size_t capacity = b->capacity ? b->capacity * 2 : 1024;
        struct candidate *grown =
            capacity < UINT32_MAX / 4 ? realloc(b->list, capacity * sizeof *grown) : NULL;
        if (!grown) {
            b->failed = true;
            return;
        }
        b->list = grown;
        b->capacity = capacity;
    }
    b->list[b->count++] = *candidate;
}

bool symbols_takes(const struct object_symbol *symbol)
{
    bool function = symbol->type == SYMBOL_FUNCTION || symbol->type == SYMBOL_IFUNC;
    bool label = symbol->type == SYMBOL_NOTYPE;
    return (function || label) && symbol->name[0] && !(label && symbol->name[0] == '.');
}

void symbols_take_one(struct symbols_builder *b, const struct object_symbol *symbol, uint64_t limit)
{
    bool label = symbol->type == SYMBOL_NOTYPE;
    bool local = symbol->binding == SYMBOL_LOCAL;
    add(b,
        &(struct candidate){.start = symbol->vaddr,
                            .size = symbol->size,
                            .limit = limit,
                            .name = symbol->name,
                            .rank = (uint8_t)((label ? RANK_NOTYPE : 0) | (local ? RANK_LOCAL : 0) |
                                              (symbol->stub ? RANK_PLT : 0)),
                            .dynamic = b->dynamic});
}

void symbols_take_stub(void *builder, uint64_t lo, uint64_t hi, uint64_t limit, const char *name)
{
    add(builder, &(struct candidate){
                     .start = lo, .size = hi - lo, .limit = limit, .name = name, .rank = RANK_PLT});
}

/* (2) Sorting, and one symbol for each address. */

struct key {
    uint64_t start;
    uint32_t index; /* in the builder's list */
};

/* Least significant digit first, skipping digits that are the same everywhere. Stable. */
static bool sort_keys(struct key *keys, size_t count)
{
    struct key *other = malloc((count ? count : 1) * sizeof *other);
    if (!other)
        return false;
    struct key *from = keys, *to = other;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t place[256] = {0};
        for (size_t i = 0; i < count; i++)
            place[from[i].start >> shift & 0xff]++;
        if (count == 0 || place[from[0].start >> shift & 0xff] == count)
            continue;
        size_t sum = 0;
        for (size_t i = 0; i < 256; i++) {
            size_t n = place[i];
            place[i] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            to[place[from[i].start >> shift & 0xff]++] = from[i];
        struct key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
    free(other);
    return true;
}

/* What is compared of a name: a table may let many symbols share one endless string. */
enum { NAME_COMPARED = 1024 };

size_t symbol_unversioned(const char *name)
{
    const char *at = memchr(name, '@', strnlen(name, NAME_COMPARED));
    if (!at || at == name)
        return 0;
    const char *version = at + 1 + (at[1] == '@');
    size_t size = strnlen(version, NAME_COMPARED);
    if (size == 0 || (version[0] >= '0' && version[0] <= '9'))
        return 0;
    for (size_t i = 0; i < size; i++) {
        char c = version[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && c != '_' && c != '.' && c != '-' && c != '+')
            return 0;
    }
    return (size_t)(at - name);
}

struct name_parts {
    const char *text;
    size_t size; /* at most NAME_COMPARED */
    size_t lead; /* underscores before the name proper; the prefix of C++ and Rust names is none */
    bool versioned;
};

static struct name_parts take_apart(const char *name)
{
    struct name_parts p = {.text = name, .size = strnlen(name, NAME_COMPARED)};
    while (p.lead < p.size && name[p.lead] == '_')
        p.lead++;
    if (p.lead == 1 && (name[1] == 'Z' || name[1] == 'R'))
        p.lead = 0;
    p.versioned = symbol_unversioned(name) != 0;
    return p;
}

/* Of two names of one function the one that people write: no version suffix, then the fewest
 * leading underscores (`write`, not `__write`). */
static int compare_names(const char *a, const char *b)
{
    struct name_parts x = take_apart(a), y = take_apart(b);
    if (x.versioned != y.versioned)
        return x.versioned ? 1 : -1;
    return x.lead == y.lead ? 0 : x.lead < y.lead ? -1 : 1;
}

/* Functions before labels, global and weak before local, all before PLT stubs; then by name. Where
 * that does not decide (C1 and C2 of a constructor, functions folded into one): the longest, and of
 * equally long ones the last in the full table, which other tools show as well. `a` is the later.
 */
static bool better(const struct candidate *a, const struct candidate *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    int names = compare_names(a->name, b->name);
    if (names != 0)
        return names < 0;
    if (a->size != b->size)
        return a->size > b->size;
    return b->dynamic || !a->dynamic;
}

/* Merges the candidates of one address; an alias may know the size that the chosen one lacks. */
static struct candidate merge(const struct candidate *list, const struct key *keys, size_t count)
{
    struct candidate best = list[keys[0].index];
    uint64_t size = best.size;
    bool dynamic = best.dynamic;
    for (size_t i = 1; i < count; i++) {
        const struct candidate *c = &list[keys[i].index];
        size = c->size > size ? c->size : size;
        dynamic = dynamic && c->dynamic;
        if (better(c, &best))
            best = *c;
    }
    if (best.size == 0)
        best.size = size;
    best.dynamic = dynamic;
    return best;
}

/* Sorted, merged candidates; labels inside a sized function are part of it and left out. */
static size_t merge_all(const struct candidate *list, const struct key *keys, size_t count,
                        struct candidate *merged)
{
    size_t used = 0;
    uint64_t function_end = 0;
    for (size_t i = 0; i < count;) {
        size_t next = i + 1;
        while (next < count && keys[next].start == keys[i].start)
            next++;
        struct candidate c = merge(list, keys + i, next - i);
        i = next;
        if (c.size == 0 && (c.rank & RANK_NOTYPE) && c.start < function_end)
            continue;
        if (c.size > c.limit - c.start)
            c.size = c.limit - c.start;
        if (c.size && !(c.rank & RANK_NOTYPE) && c.start + c.size > function_end)
            function_end = c.start + c.size;
        merged[used++] = c;
    }
    return used;
}

/* (3) Extents. */

/* `listed`: something besides .dynsym tells where all functions begin, those without unwind tables,
 * too. Without, a sizeless export would swallow every stripped function behind it (musl's memset,
 * whose assembler has no tables, the system call behind it): only the table of that very function
 * tells where it ends, and else it names its first byte alone. */
static void set_extents(const struct candidate *merged, size_t count,
                        const struct code_bounds *bounds, bool listed, struct symbols *symbols)
{
    uint64_t function_end = 0;
    for (size_t i = 0; i < count; i++) {
        const struct candidate *c = &merged[i];
        uint64_t end = c->start + c->size;
        if (c->size == 0) {
            end = c->limit;
            uint64_t next = code_bounds_after(bounds, c->start);
            end = next < end ? next : end;
            if (i + 1 < count && merged[i + 1].start < end)
                end = merged[i + 1].start;
            if (c->start < function_end && function_end < end)
                end = function_end;
            if (c->dynamic && !listed) {
                uint64_t known = code_bounds_end(bounds, c->start);
                known = known > c->start ? known : c->start + 1;
                end = known < end ? known : end;
            }
        } else if (end > function_end) {
            function_end = end;
        }
        symbols->extents[i] = (struct extent){c->start, end};
        symbols->names[i] = (struct symbol_name){c->name, c->rank & RANK_PLT};
    }
}

/* A version is not part of the name. The copies without it take no more than `budget` bytes, which
 * those of a sane file never exceed; what goes beyond keeps its suffix. */
static bool cut_versions(struct symbols *s, size_t budget)
{
    size_t total = 0;
    for (size_t i = 0; i < s->count && total < budget; i++) {
        size_t size = symbol_unversioned(s->names[i].text);
        total += size ? size + 1 : 0;
    }
    total = total < budget ? total : budget;
    if (total == 0)
        return true;
    s->own_names = malloc(total);
    if (!s->own_names)
        return false;
    char *to = s->own_names;
    for (size_t i = 0; i < s->count; i++) {
        size_t size = symbol_unversioned(s->names[i].text);
        if (size == 0 || size >= total)
            continue;
        memcpy(to, s->names[i].text, size);
        to[size] = 0;
        s->names[i].text = to;
        to += size + 1;
        total -= size + 1;
    }
    return true;
}

/* From what was taken to the finished index. */
static bool build(struct symbols *s, const struct symbols_builder *c,
                  const struct code_bounds *bounds)
{
    struct key *keys = malloc((c->count + 1) * sizeof *keys);
    struct candidate *merged = malloc((c->count + 1) * sizeof *merged);
    bool good = keys && merged;
    for (size_t i = 0; good && i < c->count; i++)
        keys[i] = (struct key){c->list[i].start, (uint32_t)i};
    good = good && sort_keys(keys, c->count);
    if (good) {
        s->count = merge_all(c->list, keys, c->count, merged);
        s->extents = malloc((s->count + 1) * sizeof *s->extents);
        s->names = malloc((s->count + 1) * sizeof *s->names);
        good = s->extents && s->names;
    }
    if (good)
        set_extents(merged, s->count, bounds, c->full_tables > 0 || bounds->listed_count > 0, s);
    free(keys);
    free(merged);
    return good && cut_versions(s, c->version_bytes) &&
           extents_build(&s->index, s->extents, s->count);
}

struct symbols *symbols_finish(struct symbols_builder *builder, const struct code_bounds *bounds)
{
    struct symbols *s = builder->failed ? NULL : calloc(1, sizeof *s);
    if (s && !build(s, builder, bounds)) {
        symbols_destroy(s);
        s = NULL;
    }
    if (s)
        s->given_names = builder->names;
    else
        free(builder->names);
    free(builder->list);
    *builder = (struct symbols_builder){0};
    return s;
}

void symbols_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    free(symbols->own_names);
    free(symbols->given_names);
    free(symbols->extents);
    free(symbols->names);
    extents_free(&symbols->index);
    free(symbols);
}

size_t symbols_count(const struct symbols *symbols)
{
    return symbols->count;
}

void symbols_at(const struct symbols *symbols, size_t i, struct symbol_match *match)
{
    const struct extent *extent = &symbols->extents[i];
    *match = (struct symbol_match){
        .name = symbols->names[i].text,
        .vaddr = extent->start,
        .size = extent->end - extent->start,
        .plt = symbols->names[i].plt,
    };
}

bool symbols_lookup(const struct symbols *symbols, uint64_t vaddr, struct symbol_match *match)
{
    uint32_t i = extents_find(&symbols->index, vaddr);
    if (i == EXTENT_NONE)
        return false;
    symbols_at(symbols, i, match);
    match->offset = vaddr - match->vaddr;
    return true;
}
