/*
 * Random code units, and what a symbol map of them must say at an offset, found out the slow way:
 * by looking at every function, row and symbol, with none of the code of src/symmap.
 */
#ifndef TEST_SYMMAP_MODEL_H
#define TEST_SYMMAP_MODEL_H

#include "symmap/symmap.h"

struct model_shape {
    unsigned units, functions, symbols; /* at most */
    unsigned span;                      /* bytes of addresses */
    unsigned step;                      /* all addresses are multiples */
    unsigned longest;                   /* of a function */
    unsigned depth;                     /* contexts of a function */
    bool columns, calls;
};

struct model {
    struct symmap_source source;
    struct code_unit *units;
    struct symmap_symbol *symbols;
};

enum { MODEL_BASE = 0x400000, MODEL_FRAMES = 64 };

struct model *model_make(uint64_t seed, const struct model_shape *shape);
void model_free(struct model *model);

/* Frames at the offset: 0 when nothing is known there. `function` is left 0. */
size_t model_frames(const struct model *model, uint64_t offset, struct symmap_frame *frames);

#endif
