/*
 * An arena: memory that is handed out piece by piece and given back all at once.
 *
 * For conversions only: it calls malloc, and nothing here may run in a signal handler. One arena
 * belongs to one thread at a time. Pieces are aligned for any type and stay where they are until
 * arena_reset or arena_free.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {                  /* all zero: empty and ready */
    struct arena_block *blocks; /* the newest first */
    unsigned char *pos, *end;   /* what is left of the newest */
    size_t total;               /* bytes taken from malloc */
};

/* Uninitialised bytes; NULL only when memory ran out, also for no bytes at all. */
void *arena_take(struct arena *arena, size_t size);
/* Room for `count` items; NULL also when the product does not fit into size_t. */
void *arena_take_many(struct arena *arena, size_t count, size_t size);
/* The piece with another size: the one handed out last shrinks where it is, and grows where it is
 * while its block has room; any other is copied. NULL when memory ran out: the piece is as it was.
 */
void *arena_resize(struct arena *arena, void *piece, size_t size, size_t new_size);
/* A block of exactly `size` bytes for what is taken next: nothing is wasted on a result whose size
 * is known. Pieces are rounded up to ARENA_ALIGN. False when memory ran out. */
bool arena_reserve(struct arena *arena, size_t size);
enum { ARENA_ALIGN = alignof(max_align_t) };
/* Everything handed out becomes invalid; the largest block is kept for what comes next. */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);

#endif
