/*
 * The part of an image's symbol tables that decides about a few stretches of addresses. An index of
 * the excerpt alone says there what the index of all symbols says; one pass over the tables makes
 * it, which copies and sorts next to nothing.
 */
#ifndef OBJECT_EXCERPT_H
#define OBJECT_EXCERPT_H

#include "object/debug_sections.h"
#include "object/object.h"

struct excerpt;

/* Of the tables of `object`, `debug` (may be NULL) and MiniDebugInfo, what decides about the
 * windows: ascending, apart. The objects must outlive it. NULL when out of memory. */
struct excerpt *excerpt_make(struct object *object, struct object *debug,
                             const struct object_range *windows, size_t count);
void excerpt_free(struct excerpt *excerpt);
/* Where it is as good as the whole; it holds the windows. Ascending, apart. */
const struct object_range *excerpt_ranges(const struct excerpt *excerpt, size_t *count);
/* Whether all of [lo, hi) lies there. */
bool excerpt_holds(const struct excerpt *excerpt, uint64_t lo, uint64_t hi);
/* object_symbols (object.h) of the excerpt; of the whole table when `excerpt` is NULL. */
fw_error excerpt_symbols(const struct excerpt *excerpt, struct object *object, bool dynamic,
                         bool (*each)(void *context, const struct object_symbol *symbol),
                         void *context);

#endif
