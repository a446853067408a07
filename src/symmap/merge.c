#include "symmap/merge.h"

#include "base/array.h"
#include "symmap/intervals.h"

#include <stdlib.h>
#include <string.h>

struct candidate { /* what may own addresses: owner numbers of intervals are indices of these */
    uint32_t lo, hi, unit, index, symbol;
};

struct work {
    const struct symmap_source *source;
    struct workers *workers;
    struct merge *merge;
    struct candidate *candidates;
    size_t candidate_count, candidate_capacity;
    uint32_t *number;          /* by candidate: number of the function, once it has a piece */
    struct sort_item *symbols; /* by (offset, longest first, last first) */
    size_t symbol_count;
    struct lost { /* same range as a candidate, and poorer */
        uint32_t candidate, unit, index;
    } *lost;
    size_t lost_count, lost_capacity;
};

static const struct code_function *function_at(const struct work *w, uint32_t unit, uint32_t index)
{
    return &w->source->units[unit].functions[index];
}

/* Ranges as offsets from base; false when they cannot be said in 32 bits. */
static bool offsets_of(struct work *w, uint64_t lo, uint64_t hi, uint64_t *key)
{
    uint64_t base = w->source->identity.base;
    if (lo < base || hi - base > UINT32_MAX || hi < lo) {
        w->merge->problems.too_far++;
        return false;
    }
    *key = (lo - base) << 32 | (uint32_t)~(uint32_t)(hi - base);
    return true;
}

static uint32_t key_lo(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static uint32_t key_hi(uint64_t key)
{
    return ~(uint32_t)key;
}

static bool add_candidate(struct work *w, struct intervals *list, struct candidate c)
{
    if (!array_room(&w->candidates, &w->candidate_capacity, w->candidate_count, sizeof c))
        return false;
    uint32_t owner = (uint32_t)w->candidate_count;
    w->candidates[w->candidate_count++] = c;
    uint32_t rows = c.unit == MERGE_NONE ? (uint32_t)MERGE_NONE : owner;
    return intervals_add(list, (struct interval){c.lo, c.hi, owner, rows});
}

static bool has_lines(const struct work *w, const struct sort_item *item)
{
    uint32_t unit = (uint32_t)(item->value >> 32);
    const struct code_function *function = function_at(w, unit, (uint32_t)item->value);
    const struct code_row *rows = &w->source->units[unit].rows[function->first_row];
    for (uint32_t i = 0; i < function->row_count; i++)
        if (rows[i].file != CODE_NONE)
            return true;
    return false;
}

/*
 * Of `count` functions with one range the first of the file that has lines. Where units bring
 * copies of one function, the linker keeps the first and lets the descriptions of all others point
 * at it: if they were compiled differently, these are not true.
 */
static bool add_first(struct work *w, const struct sort_item *items, size_t count,
                      struct intervals *list)
{
    size_t best = 0;
    while (best < count && !has_lines(w, &items[best]))
        best++;
    if (best == count)
        best = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == best)
            continue;
        w->merge->problems.duplicates++;
        if (!array_room(&w->lost, &w->lost_capacity, w->lost_count, sizeof *w->lost))
            return false;
        w->lost[w->lost_count++] =
            (struct lost){(uint32_t)w->candidate_count, (uint32_t)(items[i].value >> 32),
                          (uint32_t)items[i].value};
    }
    return add_candidate(w, list,
                         (struct candidate){key_lo(items[0].key), key_hi(items[0].key),
                                            (uint32_t)(items[best].value >> 32),
                                            (uint32_t)items[best].value, MERGE_NONE});
}

/* One list in order, each range once. */
static bool resolve_list(struct work *w, struct sort_item *items, size_t count,
                         struct intervals *list)
{
    bool ok = sort_items(w->workers, items, count);
    for (size_t i = 0, end; ok && i < count; i = end) {
        for (end = i + 1; end < count && items[end].key == items[i].key; end++)
            continue;
        ok = add_first(w, items + i, end - i, list);
    }
    return ok && intervals_resolve(list, &w->merge->problems.overlaps);
}

/* Functions of the debug file, and the rows that none of them covers. Units are gone through once:
 * they have long left the cache. */
static bool collect_functions(struct work *w, struct intervals *functions, struct intervals *lines)
{
    size_t most = 0, count = 0, end = 0;
    for (size_t u = 0; u < w->source->unit_count; u++)
        most += w->source->units[u].function_count;
    struct sort_item *items = malloc((most ? most : 1) * sizeof *items);
    if (!items)
        return false;
    end = most; /* functions fill it from the front, lines from the back */
    for (size_t u = 0; u < w->source->unit_count; u++) {
        const struct code_unit *unit = &w->source->units[u];
        for (size_t i = 0; i < unit->function_count; i++) {
            const struct code_function *f = &unit->functions[i];
            struct sort_item item = {.value = (uint64_t)u << 32 | i};
            if (f->lo >= f->hi || !offsets_of(w, f->lo, f->hi, &item.key))
                continue;
            if (f->flags & CODE_FUNCTION_LINES_ONLY)
                items[--end] = item;
            else
                items[count++] = item;
        }
    }
    bool ok =
        resolve_list(w, items, count, functions) && resolve_list(w, items + end, most - end, lines);
    free(items);
    return ok;
}

static const struct symmap_symbol *symbol_of(const struct work *w, const struct sort_item *item)
{
    return &w->source->symbols[UINT32_MAX - item->value];
}

static bool sort_symbols(struct work *w)
{
    size_t count = 0, most = w->source->symbol_count;
    w->symbols = malloc((most ? most : 1) * sizeof *w->symbols);
    if (!w->symbols)
        return false;
    for (size_t i = 0; i < most && i < UINT32_MAX; i++) {
        const struct symmap_symbol *symbol = &w->source->symbols[i];
        if (offsets_of(w, symbol->lo, symbol->hi, &w->symbols[count].key))
            w->symbols[count++].value = UINT32_MAX - i; /* the last of equal ones comes first */
    }
    w->symbol_count = count;
    return sort_items(w->workers, w->symbols, count);
}

/* End of the symbols at the address of the i-th; *name: the first with a name, or MERGE_NONE. */
static size_t symbols_at(const struct work *w, size_t i, uint32_t *name)
{
    size_t end = i;
    *name = MERGE_NONE;
    for (; end < w->symbol_count && key_lo(w->symbols[end].key) == key_lo(w->symbols[i].key); end++)
        if (*name == MERGE_NONE && symbol_of(w, &w->symbols[end])->name)
            *name = (uint32_t)(UINT32_MAX - w->symbols[end].value);
    return end;
}

static bool collect_symbols(struct work *w, struct intervals *list)
{
    uint64_t overlaps = 0; /* of symbols: no defect of the debug file */
    for (size_t i = 0, end; i < w->symbol_count; i = end) {
        uint32_t name;
        end = symbols_at(w, i, &name);
        if (name == MERGE_NONE)
            name = (uint32_t)(UINT32_MAX - w->symbols[i].value);
        if (!add_candidate(w, list,
                           (struct candidate){key_lo(w->symbols[i].key), key_hi(w->symbols[i].key),
                                              MERGE_NONE, MERGE_NONE, name}))
            return false;
    }
    return intervals_resolve(list, &overlaps);
}

/* Numbers owners in the order of their first pieces, and sorts the pieces by them. */
static bool number_functions(struct work *w, const struct intervals *pieces)
{
    struct merge *m = w->merge;
    m->functions = calloc(w->candidate_count + 1, sizeof *m->functions);
    m->pieces = malloc((pieces->count + 1) * sizeof *m->pieces);
    w->number = malloc((w->candidate_count + 1) * sizeof *w->number);
    if (!m->functions || !m->pieces || !w->number)
        return false;
    memset(w->number, 0xff, w->candidate_count * sizeof *w->number);
    for (size_t i = 0; i < pieces->count; i++) {
        const struct interval *piece = &pieces->items[i];
        const struct candidate *c = &w->candidates[piece->owner];
        if (w->number[piece->owner] == MERGE_NONE) {
            w->number[piece->owner] = m->function_count;
            m->functions[m->function_count++] =
                (struct merge_function){c->lo, c->hi, c->unit, c->index, c->symbol, 0, 0, false};
        }
        m->functions[w->number[piece->owner]].piece_count++;
    }
    uint32_t at = 0;
    for (uint32_t f = 0; f < m->function_count; f++) {
        m->functions[f].first_piece = at;
        at += m->functions[f].piece_count;
        m->functions[f].piece_count = 0;
    }
    for (size_t i = 0; i < pieces->count; i++) {
        const struct interval *piece = &pieces->items[i];
        struct merge_function *f = &m->functions[w->number[piece->owner]];
        bool rows = piece->rows != MERGE_NONE;
        m->pieces[f->first_piece + f->piece_count++] = (struct merge_piece){
            piece->lo, piece->hi, rows ? w->candidates[piece->rows].unit : (uint32_t)MERGE_NONE,
            rows ? w->candidates[piece->rows].index : (uint32_t)MERGE_NONE};
    }
    m->piece_count = at;
    uint32_t end = 0;
    for (uint32_t f = 0; f < m->function_count; f++) {
        struct merge_function *function = &m->functions[f];
        function->closed = end <= m->pieces[function->first_piece].lo;
        uint32_t hi = m->pieces[function->first_piece + function->piece_count - 1].hi;
        end = hi > end ? hi : end;
    }
    return true;
}

static bool add_alias(struct work *w, uint32_t function, const char *name)
{
    struct merge *m = w->merge;
    if (!name || !*name)
        return true;
    if (!array_room(&m->aliases, &m->alias_capacity, m->alias_count, sizeof *m->aliases))
        return false;
    m->aliases[m->alias_count++] = (struct merge_alias){function, name};
    return true;
}

static const struct code_subject *subject_of(const struct work *w, uint32_t unit, uint32_t index)
{
    uint32_t subject = function_at(w, unit, index)->subject;
    return subject == CODE_NONE ? NULL : &w->source->units[unit].subjects[subject];
}

/* What symbols leave of lines alone has no name, also where the lines begin with a symbol. */
static bool is_lines_only(const struct work *w, const struct merge_function *f)
{
    return f->unit != MERGE_NONE &&
           function_at(w, f->unit, f->index)->flags & CODE_FUNCTION_LINES_ONLY;
}

/* A part of a function that is several symbols, as of clang's basic block sections, is called as
 * the function: none of the symbols is of all of it. */
static bool names_all(const struct work *w, const struct merge_function *f, uint32_t symbol)
{
    if (f->unit == MERGE_NONE || !(function_at(w, f->unit, f->index)->flags & CODE_FUNCTION_PART))
        return true;
    return w->source->symbols[symbol].hi - w->source->identity.base >= f->hi;
}

/* Symbols at the start of each function: one is its name, the others are aliases. */
static bool name_by_symbols(struct work *w)
{
    struct sort_item *starts = malloc((w->merge->function_count + 1) * sizeof *starts);
    if (!starts)
        return false;
    for (uint32_t f = 0; f < w->merge->function_count; f++)
        starts[f] = (struct sort_item){w->merge->functions[f].lo, f};
    bool ok = sort_items(w->workers, starts, w->merge->function_count);
    size_t i = 0;
    for (uint32_t k = 0; ok && k < w->merge->function_count; k++) {
        uint32_t number = (uint32_t)starts[k].value, name;
        struct merge_function *f = &w->merge->functions[number];
        while (i < w->symbol_count && key_lo(w->symbols[i].key) < f->lo)
            i++;
        if (i == w->symbol_count)
            break;
        if (key_lo(w->symbols[i].key) != f->lo || is_lines_only(w, f))
            continue;
        size_t end = symbols_at(w, i, &name);
        if (name != MERGE_NONE && names_all(w, f, name))
            f->symbol = name;
        for (size_t s = i; ok && s < end; s++)
            ok = add_alias(w, number, symbol_of(w, &w->symbols[s])->name);
        if (ok && name != MERGE_NONE && f->unit != MERGE_NONE) {
            const struct code_subject *subject = subject_of(w, f->unit, f->index);
            bool part = function_at(w, f->unit, f->index)->flags & CODE_FUNCTION_PART;
            if (subject && subject->linkage && !part)
                ok = add_alias(w, number, subject->name);
        }
    }
    free(starts);
    return ok;
}

/* Where each function of the units went, and the names of those that lost. */
static bool number_sources(struct work *w)
{
    struct merge *m = w->merge;
    size_t total = 0;
    for (size_t u = 0; u < w->source->unit_count; u++) {
        m->first_of_unit[u] = total;
        total += w->source->units[u].function_count;
    }
    m->numbers = malloc((total + 1) * sizeof *m->numbers);
    if (!m->numbers)
        return false;
    memset(m->numbers, 0xff, (total + 1) * sizeof *m->numbers);
    for (size_t c = 0; c < w->candidate_count; c++)
        if (w->candidates[c].unit != MERGE_NONE)
            m->numbers[m->first_of_unit[w->candidates[c].unit] + w->candidates[c].index] =
                w->number[c];
    for (size_t i = 0; i < w->lost_count; i++) {
        const struct lost *lost = &w->lost[i];
        uint32_t number = w->number[lost->candidate];
        m->numbers[m->first_of_unit[lost->unit] + lost->index] = number;
        const struct code_subject *subject = subject_of(w, lost->unit, lost->index);
        if (number != MERGE_NONE && subject && !add_alias(w, number, subject->name))
            return false;
    }
    return true;
}

static bool run(struct work *w)
{
    struct intervals functions = {0}, lines = {0}, symbols = {0};
    struct intervals named = {0}, rest = {0}, all = {0};
    bool ok = collect_functions(w, &functions, &lines) && sort_symbols(w) &&
              collect_symbols(w, &symbols) && intervals_attach(&symbols, &lines, &named) &&
              intervals_overlay(&named, &lines, &rest) &&
              intervals_overlay(&functions, &rest, &all) && number_functions(w, &all) &&
              name_by_symbols(w) && number_sources(w);
    free(functions.items);
    free(lines.items);
    free(symbols.items);
    free(named.items);
    free(rest.items);
    free(all.items);
    return ok;
}

fw_error merge_run(const struct symmap_source *source, struct workers *workers, struct merge *merge)
{
    *merge = (struct merge){0};
    struct work w = {.source = source, .workers = workers, .merge = merge};
    merge->first_of_unit = malloc((source->unit_count + 1) * sizeof *merge->first_of_unit);
    bool ok = merge->first_of_unit && run(&w);
    free(w.candidates);
    free(w.number);
    free(w.symbols);
    free(w.lost);
    return ok ? FW_OK : FW_ERR_MEMORY;
}

void merge_free(struct merge *merge)
{
    free(merge->functions);
    free(merge->pieces);
    free(merge->aliases);
    free(merge->numbers);
    free(merge->first_of_unit);
}
