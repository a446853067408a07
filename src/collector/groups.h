/*
 * Groups in the database: giving stacks their keys anew, and what people do to groups.
 *
 * Stacks move in short transactions, so that reports are taken in meanwhile; each takes what it
 * moves out of one group's sums and adds it to the other's (group_sums.h). What is left to do is
 * marked in `moving` of groups and stacks. A job that is killed in between leaves the marks, and
 * who takes it over goes on.
 */
#ifndef COLLECTOR_GROUPS_H
#define COLLECTOR_GROUPS_H

#include "collector/access.h"
#include "collector/groups_fixed.h"
#include "collector/groups_move.h"
#include "collector/stack_group.h"

enum group_status { GROUP_OPEN, GROUP_IGNORED, GROUP_RESOLVED, GROUP_MERGED };

/* stack.pinned: by what somebody put the stack into its group. */
enum group_pinned { GROUP_FREE, GROUP_PINNED_MERGE, GROUP_PINNED_SPLIT };

enum group_moving {                     /* bits of hang_group.moving */
                    GROUP_STALE = 1,    /* reports or stacks left it: groups_settle_all */
                    GROUP_FRESH = 2,    /* made by moving stacks: has the status of those it got */
                    GROUP_HANDED = 4,   /* a fresh group took over its status and note */
                    GROUP_LEAVING = 8,  /* was merged: its stacks go to merged_into */
                    GROUP_PINNING = 16, /* its stacks are pinned, some not in their rows yet */
                    GROUP_FREEING = 32, /* and free again likewise */
};

enum { GROUPS_BATCH = 500 };

/* Moves what is left to be moved (groups_move_rest), then looks at all groups that something left:
 * the longest, the first and the last are found anew, and what nothing is left of is removed. Huge
 * groups are read while others write. `ours` (may be NULL) is asked in between; false:
 * FW_ERR_TIMEOUT. */
fw_error groups_settle_all(struct collector *c, bool (*ours)(void *context), void *context,
                           struct fw_failure *why);
/* The same for this group alone. */
fw_error groups_settle_one(struct collector *c, int64_t group, struct fw_failure *why);

struct groups_rekey {       /* which stacks: of an image, of a project, or of both */
    int64_t image, project; /* 0: of any */
    int64_t after;          /* stack after which the next batch begins */
    uint64_t examined, moved;
    size_t batch;            /* stacks of the next; 0 at first. So many as a turn has time for */
    struct groups_pace pace; /* reports */
};
/* The next stacks, GROUPS_BATCH at most, get the group that names and rules of now lead to, in one
 * transaction of about GROUPS_TURN_MS. False in *more: those were the last. */
fw_error groups_rekey_batch(struct collector *c, struct stack_grouper *grouper,
                            struct groups_rekey *rekey, bool *more, struct fw_failure *why);

/*
 * What people do. In the caller's transaction, stack_group_changed called; it holds from its commit
 * on. The caller writes the audit log, and settles afterwards (a job is queued that does so, too).
 * FW_ERR_NOT_FOUND: no such group, version or stack in the project; FW_ERR_ARGUMENT: that cannot be
 * done to this group. `why` is for the one who asked.
 */
fw_error groups_set_status(struct db_conn *conn, int64_t project, int64_t group,
                           enum group_status status, struct fw_failure *why);
struct group_fix {       /* in what somebody says that a group is fixed */
    const char *version; /* "2.2.0", "2.2.0 (7)"; NULL: in what comes after the newest */
    bool after;          /* not in it, in what comes after it */
};
/* `fixed`: how that was understood. */
fw_error groups_resolve(struct db_conn *conn, int64_t project, int64_t group,
                        const struct group_fix *fix, struct group_fixed *fixed,
                        struct fw_failure *why);
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
