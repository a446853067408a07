#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 64 * 1024, LARGEST_STEP = 16 * 1024 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* of the bytes that follow */
    alignas(max_align_t) unsigned char bytes[];
};

bool arena_reserve(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return false;
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return false;
    block->next = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->pos = block->bytes;
    arena->end = block->bytes + size;
    arena->total += size;
    return true;
}

static bool add_block(struct arena *arena, size_t at_least)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    return arena_reserve(arena, size < at_least ? at_least : size);
}

static bool rounded(size_t *size)
{
    if (*size > SIZE_MAX - ARENA_ALIGN)
        return false;
    *size = (*size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    return true;
}

void *arena_take(struct arena *arena, size_t size)
{
    if (!rounded(&size))
        return NULL;
    if ((!arena->pos || size > (size_t)(arena->end - arena->pos)) && !add_block(arena, size))
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

void *arena_resize(struct arena *arena, void *piece, size_t size, size_t new_size)
{
    size_t old_room = size, new_room = new_size;
    if (!rounded(&old_room) || !rounded(&new_room))
        return NULL;
    unsigned char *begin = piece;
    if (begin && arena->pos && arena->pos - old_room == begin &&
        new_room <= (size_t)(arena->end - begin)) {
        arena->pos = begin + new_room;
        return piece;
    }
    if (new_room <= old_room && begin)
        return piece;
    void *moved = arena_take(arena, new_size);
    if (moved && size)
        memcpy(moved, piece, size);
    return moved;
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
