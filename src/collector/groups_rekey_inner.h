/*
 * What the files of groups_rekey_batch share: groups_rekey.c reads the stacks of a batch and moves
 * them, groups_rekey_targets.c finds and makes the groups that they go to. Nobody else includes it.
 */
#ifndef COLLECTOR_GROUPS_REKEY_INNER_H
#define COLLECTOR_GROUPS_REKEY_INNER_H

#include "base/arena.h"
#include "collector/groups.h"

struct rekey_stack { /* a row of `stack`, and of the group it is in */
    struct stack_row row;
    int64_t group, last_ms, rules;
    enum group_pinned pinned;
    bool named;
    bool sample;    /* the group shows this one */
    int64_t status; /* of the group */
    int64_t moving; /* of the group */
    bool noted;     /* the group has a note */
};

struct rekey_target { /* a group that keys of this batch lead to */
    int64_t project;
    uint8_t key[16];
    size_t first; /* stack of the batch that has the key */
    int64_t id;   /* 0: there is none yet */
    int64_t status, into, moving;
    bool inherits; /* made here, with status, note and history of the group of `first` */
};

struct rekey_batch { /* stacks that are keyed and moved in one transaction */
    struct collector *c;
    struct stack_grouper *grouper;
    struct db_conn *conn; /* NULL while keys are made */
    struct fw_failure *why;
    struct arena arena;
    struct rekey_stack stacks[GROUPS_BATCH];
    struct stack_key keys[GROUPS_BATCH];
    bool readable[GROUPS_BATCH]; /* a stack that nobody can read stays where it is */
    bool quick;                  /* placing them took no half of a turn */
    size_t count, read;          /* to be placed, and how many rows were there */
    struct rekey_target targets[GROUPS_BATCH];
    size_t target_count;
    int64_t stale[GROUPS_BATCH]; /* groups that gave */
    size_t stale_count;
    struct groups_pace *pace;
    uint64_t moved;
};

/* ---- groups_rekey_targets.c ---- */

/* What groups_rekey_targets found for this key; NULL: no stack asked for it. */
struct rekey_target *groups_rekey_target(struct rekey_batch *b, int64_t project,
                                         const uint8_t key[16]);
/* Whether the key of a stack matters: those that were split off stay, whatever it is. */
bool groups_rekey_is_free(const struct rekey_batch *b, size_t i);
/* The groups that `count` stacks from `from` on go to; those that are missing are made. */
fw_error groups_rekey_targets(struct rekey_batch *b, size_t from, size_t count);
/* A fresh group has status and note of this stack's. */
fw_error groups_rekey_hand_over(struct rekey_batch *b, const struct rekey_stack *s);
fw_error groups_rekey_history(struct rekey_batch *b, const struct rekey_stack *s, int64_t to);

#endif
