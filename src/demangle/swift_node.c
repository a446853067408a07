/* Nodes and their arena: see swift_node.h. */
#include "demangle/swift_node.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct swift_block {
    struct swift_block *next;
    max_align_t memory[];
};

enum { BLOCK_SIZE = 1 << 14 };

const uint16_t swift_kind_flags[SW_KIND_COUNT] = {
#define X(kind, flags, full, simplified) flags,
    SWIFT_KINDS(X)
#undef X
};

void swift_arena_init(struct swift_arena *arena, void *first, size_t size, size_t cap)
{
    *arena = (struct swift_arena){.at = first, .end = (unsigned char *)first + size, .left = cap};
}

void swift_arena_free(struct swift_arena *arena)
{
    while (arena->blocks != NULL) {
        struct swift_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
}

void *swift_take(struct swift_arena *arena, size_t size)
{
    size = (size + alignof(struct swift_node) - 1) & ~(alignof(struct swift_node) - 1);
    if (size > (size_t)(arena->end - arena->at)) {
        size_t fresh = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        if (fresh > arena->left)
            return NULL;
        struct swift_block *block = malloc(sizeof(*block) + fresh);
        if (block == NULL)
            return NULL;
        arena->left -= fresh;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->at = (unsigned char *)block->memory;
        arena->end = arena->at + fresh;
    }
    void *taken = arena->at;
    arena->at += size;
    return taken;
}

struct swift_node *swift_new(struct swift_arena *arena, enum swift_kind kind)
{
    struct swift_node *node = swift_take(arena, sizeof(*node));
    if (node != NULL)
        *node = (struct swift_node){.kind = (uint16_t)kind};
    return node;
}

struct swift_node *swift_new_text(struct swift_arena *arena, enum swift_kind kind, const char *text,
                                  size_t length)
{
    struct swift_node *node = swift_new(arena, kind);
    if (node != NULL) {
        node->text = text;
        node->length = (uint32_t)length;
    }
    return node;
}

struct swift_node *swift_new_words(struct swift_arena *arena, enum swift_kind kind,
                                   const char *words)
{
    return swift_say(swift_new(arena, kind), words);
}

struct swift_node *swift_say(struct swift_node *node, const char *words)
{
    if (node != NULL) {
        node->text = words;
        node->length = (uint32_t)strlen(words);
    }
    return node;
}

struct swift_node *swift_new_index(struct swift_arena *arena, enum swift_kind kind, uint64_t index)
{
    struct swift_node *node = swift_new(arena, kind);
    if (node != NULL)
        node->index = index;
    return node;
}

struct swift_node *swift_new_slots(struct swift_arena *arena, enum swift_kind kind, unsigned slots)
{
    struct swift_node *node = swift_new(arena, kind);
    if (node == NULL)
        return NULL;
    node->kids = swift_take(arena, slots * sizeof(struct swift_node *));
    if (node->kids == NULL)
        return NULL;
    node->count = node->room = slots;
    for (unsigned i = 0; i < slots; i++)
        node->kids[i] = NULL;
    return node;
}

struct swift_node *swift_new_1(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a)
{
    struct swift_node *node = a != NULL ? swift_new_slots(arena, kind, 1) : NULL;
    if (node != NULL)
        node->kids[0] = a;
    return node;
}

struct swift_node *swift_new_2(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a, struct swift_node *b)
{
    struct swift_node *node = a != NULL && b != NULL ? swift_new_slots(arena, kind, 2) : NULL;
    if (node != NULL) {
        node->kids[0] = a;
        node->kids[1] = b;
    }
    return node;
}

struct swift_node *swift_new_3(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a, struct swift_node *b, struct swift_node *c)
{
    bool all = a != NULL && b != NULL && c != NULL;
    struct swift_node *node = all ? swift_new_slots(arena, kind, 3) : NULL;
    if (node != NULL) {
        node->kids[0] = a;
        node->kids[1] = b;
        node->kids[2] = c;
    }
    return node;
}

struct swift_node *swift_copy(struct swift_arena *arena, const struct swift_node *node)
{
    struct swift_node *copy = swift_new_slots(arena, node->kind, node->count ? node->count : 1);
    if (copy == NULL)
        return NULL;
    struct swift_node **kids = copy->kids;
    uint32_t room = copy->room;
    *copy = *node;
    copy->kids = kids;
    copy->room = room;
    if (node->count != 0)
        memcpy(kids, node->kids, node->count * sizeof(struct swift_node *));
    return copy;
}

struct swift_node *swift_add(struct swift_arena *arena, struct swift_node *parent,
                             struct swift_node *child)
{
    if (parent == NULL || child == NULL)
        return NULL;
    if (parent->count == parent->room) {
        uint32_t room = parent->room != 0 ? 2 * parent->room : 4;
        struct swift_node **kids = swift_take(arena, room * sizeof(struct swift_node *));
        if (kids == NULL)
            return NULL;
        if (parent->count != 0)
            memcpy(kids, parent->kids, parent->count * sizeof(struct swift_node *));
        parent->kids = kids;
        parent->room = room;
    }
    parent->kids[parent->count++] = child;
    return parent;
}

void swift_reverse(struct swift_node *node, uint32_t from)
{
    for (uint32_t low = from, high = node->count; low + 1 < high; low++) {
        struct swift_node *kid = node->kids[low];
        node->kids[low] = node->kids[--high];
        node->kids[high] = kid;
    }
}

bool swift_text_is(const struct swift_node *node, const char *text)
{
    size_t length = strlen(text);
    return node != NULL && node->length == length && memcmp(node->text, text, length) == 0;
}
