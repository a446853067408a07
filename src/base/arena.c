#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 64 * 1024, LARGEST_STEP = 16 * 1024 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* of the bytes that follow */
    alignas(max_align_t) unsigned char bytes[];
};

static int add_block(struct arena *arena, size_t at_least)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < at_least)
        size = at_least;
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return 0;
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return 0;
    block->next = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->pos = block->bytes;
    arena->end = block->bytes + size;
    arena->total += size;
    return 1;
}

void *arena_take(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + align - 1) / align * align;
    if (size > (size_t)(arena->end - arena->pos) && !add_block(arena, size))
        return NULL;
    void *taken = arena->pos;
    arena->pos += size;
    return taken;
}

void *arena_take_many(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return arena_take(arena, count * size);
}

void arena_reset(struct arena *arena)
{
    struct arena_block *largest = arena->blocks;
    for (struct arena_block *block = arena->blocks; block; block = block->next)
        if (block->size > largest->size)
            largest = block;
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        if (block != largest)
            free(block);
    }
    *arena = (struct arena){.blocks = largest};
    if (largest) {
        largest->next = NULL;
        arena->pos = largest->bytes;
        arena->end = largest->bytes + largest->size;
        arena->total = largest->size;
    }
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (struct arena){0};
}
