/*
 * Building a symbol index (symbols.h) out of symbols wherever they come from: symbols_object.c
 * takes those of files, symbols_loaded.c those of a loaded Mach-O image. Which symbol speaks for an
 * address and where each ends is decided here, once for all.
 *
 *     struct symbols_builder b = {0};
 *     symbols_take_one(&b, &symbol, limit); ...
 *     struct symbols *symbols = symbols_finish(&b, &bounds);
 */
#ifndef OBJECT_SYMBOLS_BUILDER_H
#define OBJECT_SYMBOLS_BUILDER_H

#include "object/code_bounds.h"
#include "object/symbols.h"

struct candidate;

struct symbols_builder {
    bool dynamic;         /* what is taken now comes from a table of exports alone */
    size_t full_tables;   /* how many tables were read that hold local functions, too */
    size_t version_bytes; /* what names without their version may take; 0 when none has one */
    char *names;          /* owned: memory of names that were made for the index, or NULL */
    bool failed;          /* out of memory */
    struct candidate *list;
    size_t count, capacity;
};

/* Whether it may be a function. Names like .L5 or .annobin_x.c are marks of tools. */
bool symbols_takes(const struct object_symbol *symbol);
/* Takes such a symbol; `limit` is the end of the section or segment of code that it stands in. The
 * name has to outlive the index. */
void symbols_take_one(struct symbols_builder *builder, const struct object_symbol *symbol,
                      uint64_t limit);
/* A stub at [lo, hi) that leads to the function `name`. `builder` is a struct symbols_builder. */
void symbols_take_stub(void *builder, uint64_t lo, uint64_t hi, uint64_t limit, const char *name);
/* The end of the code around a symbol of `object`, or 0 when it does not stand in code. */
uint64_t symbol_code_limit(const struct object *object, const struct object_symbol *symbol);
/* Whether the tables of `debug` speak for `object`, too. */
bool symbols_debug_fits(const struct object *object, const struct object *debug);
/* The finished index; NULL when memory ran out. What the builder owned is gone. */
struct symbols *symbols_finish(struct symbols_builder *builder, const struct code_bounds *bounds);

#endif
