/*
 * What the files of stack_group.h share: stack_grouper.c remembers rules and images, stack_key.c
 * makes the key of a stack out of its frames' names, stack_group.c finds and makes groups.
 */
#ifndef COLLECTOR_STACK_GROUP_INNER_H
#define COLLECTOR_STACK_GROUP_INNER_H

#include "base/arena.h"
#include "collector/stack_group.h"

struct project_rules {
    int64_t project, version;
    struct group_rules *rules;
};

struct stack_image { /* row of `image`, as the project has it */
    int64_t project, id;
    const char *name, *path, *arch;
    struct span debug_id;
    bool own;
    bool looked;               /* for a map, in this call */
    struct symbols_image *map; /* in this call; NULL: there is none */
};

struct stack_grouper {
    struct collector *c;
    int64_t generation;
    struct project_rules *rules;
    size_t rule_count, rule_capacity;
    struct stack_image **images; /* by project, then id */
    size_t image_count, image_capacity;
    struct arena image_arena;
    struct arena arena; /* of one call */
};

struct grouping { /* of one stack */
    struct stack_grouper *g;
    struct db_conn *conn;
    struct fw_failure *why;
    struct arena *arena;
    int64_t project, stack, main_image;
    struct stack_frame *frames;
    size_t count;
    struct stack_image **images; /* whose maps this call holds */
    size_t image_count;
    bool all_maps;
};

/* The caller's connection, or one for a moment. */
fw_error grouping_borrow(struct grouping *s, struct db_conn **conn);
void grouping_give_back(struct grouping *s, struct db_conn *conn);
/* In force for the project. */
fw_error grouping_rules(struct grouping *s, const struct project_rules **found);
/* A row of `image`, as it was when it was first asked for. */
fw_error grouping_image(struct grouping *s, int64_t id, struct stack_image **found);

static inline void *copied(struct arena *arena, const void *data, size_t size)
{
    void *copy = arena_take(arena, size);
    return copy && size ? memcpy(copy, data, size) : copy;
}

static inline const char *copied_text(struct arena *arena, const char *text)
{
    return text ? copied(arena, text, strlen(text) + 1) : NULL;
}

#endif
