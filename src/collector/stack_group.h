/*
 * Which group a stack belongs to: its frames out of the database, names for them out of the symbol
 * store, the key by the project's rules (grouping.h), and the group with that key, made when there
 * is none.
 *
 * stack_group gives a stack its first group: it writes `stack` (group_id, rules, named) and makes
 * rows of hang_group. A stack that has one keeps it, even if names or rules of now lead elsewhere:
 * all its reports are in one group, and those who move stacks (groups.h) see to it that
 * their reports follow.
 *
 * A group that was merged leads to the one it was merged into.
 *
 * Whoever changes stack.group_id of a stack that reports have, or status or merged_into of a group,
 * first counts the setting "generation" up in the same transaction (stack_group_changed): workers
 * hold that row while they write, and drop what they remember of stacks when it changed.
 */
#ifndef COLLECTOR_STACK_GROUP_H
#define COLLECTOR_STACK_GROUP_H

#include "collector/collector.h"
#include "collector/db.h"
#include "collector/generation.h"
#include "collector/grouping.h"

/* Rules of projects as last seen. Belongs to one thread. */
struct stack_grouper;
fw_error stack_grouper_new(struct collector *c, struct stack_grouper **grouper);
void stack_grouper_free(struct stack_grouper *grouper); /* NULL is fine */
/* First in a transaction: holds the generation until the transaction ends, and forgets the rules
 * when it is another than before; `changed` says so. */
fw_error stack_grouper_begin(struct stack_grouper *grouper, struct db_conn *conn, bool *changed,
                             struct fw_failure *why);

/* For keys that are made outside of a transaction, so that nobody waits for names meanwhile: look
 * first (holds nothing), then make keys with no connection held, then claim in the transaction that
 * writes them: counts the generation up and holds it. `same` is false when somebody else did so
 * since the look: the keys are void. */
fw_error stack_grouper_look(struct stack_grouper *grouper, struct db_conn *conn,
                            struct fw_failure *why);
fw_error stack_grouper_claim(struct stack_grouper *grouper, struct db_conn *conn, bool *same,
                             struct fw_failure *why);

/* In the caller's transaction, after stack_grouper_begin. `group`: row of hang_group. at_ms:
 * first_ms of a new one; `made`: it is new. */
fw_error stack_group(struct stack_grouper *grouper, struct db_conn *conn, int64_t project,
                     int64_t stack, uint64_t at_ms, int64_t *group, bool *made,
                     struct fw_failure *why);

/* The key alone, by the rules in force or by others; writes nothing. `conn` NULL: what must be read
 * is read on a connection taken for that moment. Making names may take another for reading, so hold
 * none or one for writing. */
struct stack_row { /* of the table `stack` */
    int64_t id, project, main_image;
    struct span frames;
};
struct stack_key { /* in the arena */
    struct group_answer answer;
    bool all_maps;         /* every image of the stack has a map */
    int64_t rules_version; /* 0: there is none, or the rules were given */
};
fw_error stack_group_key(struct stack_grouper *grouper, struct db_conn *conn,
                         const struct stack_row *row,
                         const struct group_rules *rules /* NULL: in force */, struct arena *arena,
                         struct stack_key *key, struct fw_failure *why);

/* What stands at one place, as of the innermost frame; in the arena. Nothing is held meanwhile but
 * perhaps a connection for reading. */
struct stack_frame;
struct stack_place {
    const char *image;           /* file name; "": it is in none */
    const char *function, *file; /* NULL: not known */
    uint32_t line;
};
fw_error stack_group_place(struct stack_grouper *grouper, int64_t project,
                           const struct stack_frame *frame, struct arena *arena,
                           struct stack_place *place, struct fw_failure *why);

#endif
