/*
 * Groups in the database: their sums, giving stacks their keys anew, and what people do to groups.
 *
 * Stacks move in short transactions, so that reports are taken in meanwhile; a group whose sums are
 * not right for that long has a bit of `moving`. groups_settle makes them right from `report` and
 * removes groups that nothing is left of. A job that is killed in between leaves the bits, and who
 * takes it over settles them.
 */
#ifndef COLLECTOR_GROUPS_H
#define COLLECTOR_GROUPS_H

#include "collector/access.h"
#include "collector/stack_group.h"

enum group_status { GROUP_OPEN, GROUP_IGNORED, GROUP_RESOLVED, GROUP_MERGED };

/* stack.pinned: by what somebody put the stack into its group. */
enum group_pinned { GROUP_FREE, GROUP_PINNED_MERGE, GROUP_PINNED_SPLIT };

enum group_moving {                   /* bits of hang_group.moving */
                    GROUP_STALE = 1,  /* reports came or went since the sums were made */
                    GROUP_FRESH = 2,  /* made by moving stacks: has the status of those it got */
                    GROUP_HANDED = 4, /* a fresh group took over its status and note */
};

enum { GROUPS_BATCH = 500, GROUPS_SETTLE_BATCH = 1000 };

/* Up to GROUPS_SETTLE_BATCH groups of `moving` <> 0, in the caller's transaction, which called
 * stack_group_changed. `count`: how many there were. */
fw_error groups_settle(struct db_conn *conn, size_t *count, struct fw_failure *why);
/* This one, if it is of them. */
fw_error groups_settle_one(struct db_conn *conn, int64_t group, struct fw_failure *why);
/* All of them, each batch in a transaction of its own. `ours` (may be NULL) is asked in between;
 * false: FW_ERR_TIMEOUT. */
fw_error groups_settle_all(struct collector *c, bool (*ours)(void *context), void *context,
                           struct fw_failure *why);

struct groups_rekey {       /* which stacks: of an image, or of a project */
    int64_t image, project; /* one is 0 */
    int64_t after;          /* stack after which the next batch begins */
    uint64_t examined, moved;
    size_t batch; /* of the next; 0 at first: GROUPS_BATCH. So many as a turn has time for */
};
/* The next stacks, GROUPS_BATCH at most, get the group that names and rules of now lead to, in one
 * transaction of about DB_TURN_MS. False in *more: those were the last. */
fw_error groups_rekey_batch(struct collector *c, struct stack_grouper *grouper,
                            struct groups_rekey *rekey, bool *more, struct fw_failure *why);

/*
 * What people do. In the caller's transaction, stack_group_changed called; the caller writes the
 * audit log, and settles. FW_ERR_NOT_FOUND: no such group, version or stack in the project;
 * FW_ERR_ARGUMENT: that cannot be done to this group. `why` is for the one who asked.
 */
fw_error groups_set_status(struct db_conn *conn, int64_t project, int64_t group,
                           enum group_status status, const char *version, struct fw_failure *why);
fw_error groups_set_note(struct db_conn *conn, int64_t project, int64_t group, const char *note,
                         struct fw_failure *why);
fw_error groups_merge(struct db_conn *conn, int64_t project, int64_t group, int64_t into,
                      struct fw_failure *why);
/* Into a group of their own; `made` is its row. */
fw_error groups_split(struct stack_grouper *grouper, struct db_conn *conn, int64_t project,
                      int64_t group, const int64_t *stacks, size_t count, int64_t *made,
                      struct fw_failure *why);
/* Takes back what was merged and split by hand around the group: its stacks are free again and what
 * was merged into it, or it was merged into, is open; a job gives all of them their keys. */
fw_error groups_undo(struct db_conn *conn, int64_t project, int64_t group, struct fw_failure *why);

#endif
