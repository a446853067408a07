#include "symmap/few.h"

#include "base/array.h"

#include <stdlib.h>

bool few_cover(const struct object_range *ranges, size_t count, const uint64_t *addresses,
               size_t address_count)
{
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = address_count; /* the first address not below the range's start */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (addresses[middle] < ranges[i].lo)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < address_count && addresses[low] < ranges[i].hi)
            return true;
    }
    return false;
}

/* What has a say in the answers: functions and symbols that cover an address asked for. */
struct windows {
    struct object_range *items; /* once merged: ascending, disjoint */
    size_t count, capacity;
};

static bool add_window(struct windows *w, uint64_t lo, uint64_t hi)
{
    if (!array_room(&w->items, &w->capacity, w->count, sizeof *w->items))
        return false;
    w->items[w->count++] = (struct object_range){lo, hi};
    return true;
}

static int by_lo(const void *a, const void *b)
{
    const struct object_range *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

static void merge_windows(struct windows *w)
{
    size_t kept = 0;
    if (w->count)
        qsort(w->items, w->count, sizeof *w->items, by_lo);
    for (size_t i = 0; i < w->count; i++) {
        if (kept && w->items[i].lo <= w->items[kept - 1].hi) {
            if (w->items[i].hi > w->items[kept - 1].hi)
                w->items[kept - 1].hi = w->items[i].hi;
        } else {
            w->items[kept++] = w->items[i];
        }
    }
    w->count = kept;
}

/* The first window that meets [lo, hi); NULL: none does. */
static const struct object_range *window_at(const struct windows *w, size_t count, uint64_t lo,
                                            uint64_t hi)
{
    size_t low = 0, high = count; /* the first that ends behind `lo` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->items[middle].hi <= lo)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && w->items[low].lo < hi ? &w->items[low] : NULL;
}

static bool find_windows(const struct code_unit *units, size_t unit_count,
                         const struct convert_options *options, struct windows *w)
{
    for (size_t i = 0; i < options->only_count; i++)
        if (!add_window(w, options->only[i], options->only[i] + 1))
            return false;
    for (size_t u = 0; u < unit_count; u++)
        for (size_t i = 0; i < units[u].function_count; i++) {
            const struct code_function *f = &units[u].functions[i];
            struct object_range range = {f->lo, f->hi};
            if (few_cover(&range, 1, options->only, options->only_count) &&
                !add_window(w, f->lo, f->hi))
                return false;
        }
    merge_windows(w);
    return true;
}

/* Symbols reach out of the windows that they meet until nothing more does. */
static bool widen_windows(struct windows *w, const struct symbol_list *symbols)
{
    for (size_t count = 0, before = SIZE_MAX; count != before;) {
        before = count = w->count;
        for (size_t i = 0; i < symbols->count; i++) {
            const struct symmap_symbol *symbol = &symbols->items[i];
            const struct object_range *window = window_at(w, before, symbol->lo, symbol->hi);
            if (!window || (symbol->lo >= window->lo && symbol->hi <= window->hi))
                continue;
            if (!add_window(w, symbol->lo, symbol->hi))
                return false;
            count++;
        }
        merge_windows(w);
    }
    return true;
}

static bool held(const struct windows *w, const struct excerpt *excerpt)
{
    for (size_t i = 0; i < w->count; i++)
        if (!excerpt_holds(excerpt, w->items[i].lo, w->items[i].hi))
            return false;
    return true;
}

/* The symbols around the windows, which grow over them; where they grow out of what was read, there
 * is more to read. Symbols of which each reaches into the next are read with all others at last. */
static fw_error read_symbols(struct object *object, struct object *debug, struct windows *w,
                             struct symbol_list *symbols)
{
    enum { READINGS = 4 };
    const struct object_range everything = {0, UINT64_MAX};
    for (int reading = 1; reading <= READINGS; reading++) {
        const bool last = reading == READINGS;
        symbol_list_free(symbols);
        fw_error error = symbol_list_near(object, debug, last ? &everything : w->items,
                                          last ? 1 : w->count, symbols);
        if (error == FW_OK && !widen_windows(w, symbols))
            error = FW_ERR_MEMORY;
        if (error != FW_OK || held(w, symbols->excerpt))
            return error;
    }
    return FW_OK;
}

static void leave_windows(struct symbol_list *symbols, const struct windows *w)
{
    size_t kept = 0, named = 0;
    for (size_t i = 0; i < symbols->count; i++)
        if (window_at(w, w->count, symbols->items[i].lo, symbols->items[i].hi)) {
            named += i < symbols->named;
            symbols->items[kept++] = symbols->items[i];
        }
    symbols->count = kept;
    symbols->named = named;
}

fw_error few_symbols(struct object *object, struct object *debug, const struct code_unit *units,
                     size_t unit_count, const struct convert_options *options,
                     struct symbol_list *symbols)
{
    struct windows w = {0};
    fw_error error = FW_ERR_MEMORY;
    if (find_windows(units, unit_count, options, &w))
        error = read_symbols(object, debug, &w, symbols);
    if (error == FW_OK)
        leave_windows(symbols, &w);
    free(w.items);
    return error;
}
