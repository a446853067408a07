/*
 * The symbol index: built once, then looked up by one binary search.
 *
 * Building goes in four steps. (1) Collect function symbols of all tables; each carries the end of
 * its section, which it can never pass. (2) Sort by address and let one symbol speak for each
 * address (`better`). (3) Give sizeless symbols an end: the next symbol, the next function that the
 * unwind tables know, the end of an enclosing sized function or of the section, whichever comes
 * first. (4) Flatten: cut the overlapping extents into disjoint pieces, each owned by the covering
 * symbol that starts last, or by none.
 *
 * Invariant after building: piece_start is strictly ascending, and an address belongs to the piece
 * with the greatest start not above it. Pieces before the first and owned by nobody have no name.
 */
#include "object/symbols.h"

#include "object/code_bounds.h"
#include "object/elf_internal.h"
#include "object/plt.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

enum { RANK_LOCAL = 1, RANK_NOTYPE = 2, RANK_PLT = 4 }; /* the lower sum speaks for an address */

struct candidate {
    uint64_t start, size, limit; /* limit: end of the section or segment around it */
    const char *name;
    uint8_t rank;
    bool dynamic; /* from .dynsym */
};

struct symbol {
    uint64_t start, end;
    const char *name;
    bool plt;
};

struct symbols {
    struct symbol *symbols; /* ascending, one per address */
    size_t count;
    uint64_t base;    /* link-time address that narrow piece starts count from */
    uint32_t *narrow; /* piece starts minus base; NULL when they need 64 bits */
    uint64_t *wide;   /* piece starts, else NULL */
    uint32_t *owner;  /* index into `symbols`, or NOBODY */
    size_t piece_count;
    char **own_names; /* names that had a version cut off */
    size_t own_name_count;
};

/* (1) Collecting. */

struct collector {
    struct object *object; /* whose table is being read */
    bool dynamic;
    struct candidate *list;
    size_t count, capacity;
    size_t full_tables; /* how many .symtab were read */
    bool failed;
};

static void add(struct collector *c, const struct candidate *candidate)
{
    if (c->count == c->capacity) {
        size_t capacity = c->capacity ? c->capacity * 2 : 1024;
        struct candidate *grown =
            capacity < NOBODY / 4 ? realloc(c->list, capacity * sizeof *grown) : NULL;
        if (!grown) {
            c->failed = true;
            return;
        }
        c->list = grown;
        c->capacity = capacity;
    }
    c->list[c->count++] = *candidate;
}

/* The end of the code around a symbol, or 0 when it does not stand in code. */
static uint64_t code_limit(const struct object *object, const struct object_symbol *symbol)
{
    if (symbol->section == 0)
        return 0;
    if (symbol->section < object->section_count) {
        const struct object_section *s = &object->sections[symbol->section].view;
        bool code = (s->flags & SHF_ALLOC) && (s->flags & SHF_EXECINSTR);
        bool inside = symbol->vaddr - s->vaddr < s->size && s->vaddr + s->size > s->vaddr;
        return code && inside ? s->vaddr + s->size : 0;
    }
    ptrdiff_t i = elf_load_at(object, symbol->vaddr);
    if (i < 0 || !object->loads[i].executable)
        return 0;
    return object->loads[i].vaddr + object->loads[i].memory_size;
}

static bool take_symbol(void *context, const struct object_symbol *symbol)
{
    struct collector *c = context;
    bool function = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
    bool label = symbol->type == STT_NOTYPE;
    bool local = symbol->binding == STB_LOCAL;
    /* Names like .L5 or .annobin_x.c are marks of tools, not functions. */
    if ((!function && !label) || !symbol->name[0] || (label && symbol->name[0] == '.'))
        return true;
    uint64_t limit = code_limit(c->object, symbol);
    if (limit)
        add(c, &(struct candidate){
                   .start = symbol->vaddr,
                   .size = symbol->size,
                   .limit = limit,
                   .name = symbol->name,
                   .rank = (uint8_t)((label ? RANK_NOTYPE : 0) | (local ? RANK_LOCAL : 0)),
                   .dynamic = c->dynamic});
    return !c->failed;
}

static void take_stub(void *context, uint64_t lo, uint64_t hi, uint64_t limit, const char *name)
{
    add(context, &(struct candidate){
                     .start = lo, .size = hi - lo, .limit = limit, .name = name, .rank = RANK_PLT});
}

static void collect_from(struct collector *c, struct object *object)
{
    c->object = object;
    c->dynamic = false;
    if (object_symbols(object, false, take_symbol, c) == FW_OK)
        c->full_tables++;
    c->dynamic = true;
    object_symbols(object, true, take_symbol, c);
}

/* (2) Sorting, and one symbol for each address. */

struct key {
    uint64_t start;
    uint32_t index; /* in the collector's list */
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

/* Underscores before the name proper; the prefix of mangled C++ and Rust names is none. */
static size_t underscores(const char *name)
{
    size_t n = strspn(name, "_");
    return n == 1 && (name[1] == 'Z' || name[1] == 'R') ? 0 : n;
}

/* Aliases of equal rank: the name that people write. No version suffix, then the fewest leading
 * underscores (`write`, not `__write`), then the shortest, then the first in byte order: functions
 * folded by the linker keep one name, always the same. */
static int compare_names(const char *a, const char *b)
{
    bool at_a = strchr(a, '@'), at_b = strchr(b, '@');
    if (at_a != at_b)
        return at_a ? 1 : -1;
    size_t lead_a = underscores(a), lead_b = underscores(b);
    if (lead_a != lead_b)
        return lead_a < lead_b ? -1 : 1;
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    return strcmp(a, b);
}

/* Functions before labels, global and weak before local, all before PLT stubs; then by name. */
static bool better(const struct candidate *a, const struct candidate *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->name == b->name)
        return false;
    return compare_names(a->name, b->name) < 0;
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

/* `guessable`: something besides .dynsym tells where functions begin. Without, a sizeless export
 * would swallow every stripped function behind it, so it names its first byte alone. */
static void set_extents(const struct candidate *merged, size_t count,
                        const struct code_bounds *bounds, bool guessable, struct symbol *symbols)
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
            if (c->dynamic && !guessable)
                end = c->start + 1;
        } else if (end > function_end) {
            function_end = end;
        }
        symbols[i] = (struct symbol){c->start, end, c->name, c->rank & RANK_PLT};
    }
}

/* (4) Flattening. */

struct pieces {
    uint64_t *start;
    uint32_t *owner;
    size_t count;
    uint32_t *open; /* symbols whose extent has begun, by start */
    size_t open_count;
    uint64_t at; /* everything below is done */
};

static void put_piece(struct pieces *p, uint64_t start, uint32_t owner)
{
    if (p->count && p->owner[p->count - 1] == owner)
        return;
    p->start[p->count] = start;
    p->owner[p->count++] = owner;
}

/* Emits the pieces below `limit`. */
static void advance(struct pieces *p, const struct symbol *symbols, uint64_t limit)
{
    while (p->open_count && p->at < limit) {
        uint32_t top = p->open[p->open_count - 1];
        uint64_t end = symbols[top].end;
        if (end > p->at) {
            put_piece(p, p->at, top);
            p->at = end < limit ? end : limit;
        }
        if (end <= p->at)
            p->open_count--;
    }
    if (p->at < limit && !p->open_count) {
        put_piece(p, p->at, NOBODY);
        p->at = limit;
    }
}

static void flatten(struct pieces *p, const struct symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0)
            p->at = symbols[0].start;
        advance(p, symbols, symbols[i].start);
        p->open[p->open_count++] = (uint32_t)i;
    }
    advance(p, symbols, UINT64_MAX);
}

/* Names as .symtab has them may carry a version (name@@VERSION), which is not part of the name. */
static bool cut_versions(struct symbols *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->symbols[i].name;
        const char *version = strchr(name, '@');
        if (!version || version == name)
            continue;
        if ((s->own_name_count & (s->own_name_count - 1)) == 0) {
            size_t capacity = s->own_name_count ? s->own_name_count * 2 : 1;
            char **grown = realloc(s->own_names, capacity * sizeof *grown);
            if (!grown)
                return false;
            s->own_names = grown;
        }
        char *cut = strndup(name, (size_t)(version - name));
        if (!cut)
            return false;
        s->own_names[s->own_name_count++] = cut;
        s->symbols[i].name = cut;
    }
    return true;
}

/* Piece starts as 32-bit offsets from the first, which is what every real object allows. */
static bool store_pieces(struct symbols *s, struct pieces *p)
{
    s->piece_count = p->count;
    s->owner = realloc(p->owner, (p->count ? p->count : 1) * sizeof *p->owner);
    if (!s->owner)
        s->owner = p->owner;
    p->owner = NULL;
    if (p->count == 0)
        return true;
    s->base = p->start[0];
    if (p->start[p->count - 1] - s->base > UINT32_MAX) {
        s->wide = p->start;
        p->start = NULL;
        return true;
    }
    s->narrow = malloc(p->count * sizeof *s->narrow);
    if (!s->narrow)
        return false;
    for (size_t i = 0; i < p->count; i++)
        s->narrow[i] = (uint32_t)(p->start[i] - s->base);
    return true;
}

static bool build_pieces(struct symbols *s)
{
    size_t room = 2 * s->count + 2;
    struct pieces p = {
        .start = malloc(room * sizeof *p.start),
        .owner = malloc(room * sizeof *p.owner),
        .open = malloc((s->count + 1) * sizeof *p.open),
    };
    bool good = p.start && p.owner && p.open;
    if (good) {
        flatten(&p, s->symbols, s->count);
        good = store_pieces(s, &p);
    }
    free(p.start);
    free(p.owner);
    free(p.open);
    return good;
}

/* From collected candidates to the finished index. */
static bool build(struct symbols *s, const struct collector *c, const struct code_bounds *bounds)
{
    struct key *keys = malloc((c->count + 1) * sizeof *keys);
    struct candidate *merged = malloc((c->count + 1) * sizeof *merged);
    bool good = keys && merged;
    for (size_t i = 0; good && i < c->count; i++)
        keys[i] = (struct key){c->list[i].start, (uint32_t)i};
    good = good && sort_keys(keys, c->count);
    if (good) {
        s->count = merge_all(c->list, keys, c->count, merged);
        s->symbols = malloc((s->count + 1) * sizeof *s->symbols);
        good = s->symbols != NULL;
    }
    if (good)
        set_extents(merged, s->count, bounds, c->full_tables > 0 || bounds->count > 0, s->symbols);
    free(keys);
    free(merged);
    return good && cut_versions(s) && build_pieces(s);
}

struct symbols *symbols_build(struct object *object, struct object *debug)
{
    struct symbols *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    /* Addresses in a relocatable file are section offsets: they name nothing by themselves. */
    if (object->e_type == ET_REL || object->e_type == ET_CORE)
        return s;
    struct collector c = {0};
    collect_from(&c, object);
    if (debug && debug->machine == object->machine && debug->is_64 == object->is_64)
        collect_from(&c, debug);
    struct object *mini = object_minidebug(object, NULL);
    if (mini)
        collect_from(&c, mini);
    if (!plt_stubs(object, take_stub, &c))
        c.failed = true;

    struct unwind_image image;
    struct code_bounds bounds;
    object_unwind_image(object, NULL, &image);
    code_bounds_init(&bounds, object, &image);
    if (c.failed || !build(s, &c, &bounds)) {
        symbols_destroy(s);
        s = NULL;
    }
    free(c.list);
    return s;
}

void symbols_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->own_name_count; i++)
        free(symbols->own_names[i]);
    free(symbols->own_names);
    free(symbols->symbols);
    free(symbols->narrow);
    free(symbols->wide);
    free(symbols->owner);
    free(symbols);
}

size_t symbols_count(const struct symbols *symbols)
{
    return symbols->count;
}

/* Index of the last element not above `value`; the first one is not. */
static size_t search_narrow(const uint32_t *list, size_t count, uint32_t value)
{
    size_t at = 0;
    while (count > 1) {
        size_t half = count / 2;
        at = list[at + half] <= value ? at + half : at;
        count -= half;
    }
    return at;
}

static size_t search_wide(const uint64_t *list, size_t count, uint64_t value)
{
    size_t at = 0;
    while (count > 1) {
        size_t half = count / 2;
        at = list[at + half] <= value ? at + half : at;
        count -= half;
    }
    return at;
}

bool symbols_lookup(const struct symbols *symbols, uint64_t vaddr, struct symbol_match *match)
{
    if (symbols->piece_count == 0 || vaddr < symbols->base)
        return false;
    uint64_t offset = vaddr - symbols->base;
    size_t piece;
    if (symbols->wide)
        piece = search_wide(symbols->wide, symbols->piece_count, vaddr);
    else if (offset <= UINT32_MAX)
        piece = search_narrow(symbols->narrow, symbols->piece_count, (uint32_t)offset);
    else
        return false;
    uint32_t owner = symbols->owner[piece];
    if (owner == NOBODY)
        return false;
    const struct symbol *s = &symbols->symbols[owner];
    *match = (struct symbol_match){
        .name = s->name,
        .vaddr = s->start,
        .size = s->end - s->start,
        .offset = vaddr - s->start,
        .plt = s->plt,
    };
    return true;
}
