/*
 * Reports follow their stacks into another group, so many at a time as a short transaction bears.
 *
 * Who puts a stack into another group writes stack.group_id, so that reports which come in from
 * then on are there, and calls groups_move_reports for those that are there already. When they are
 * too many, stack.moving is 1 until groups_move_rest has moved the others. Each transaction takes
 * the reports that it moves out of one group's sums and adds them to the other's.
 *
 * Merging, and what was done by hand and is taken back, concern all stacks of a group: they are
 * marked (enum group_moving), hold from then on, and groups_move_rest does it stack by stack.
 */
#ifndef COLLECTOR_GROUPS_MOVE_H
#define COLLECTOR_GROUPS_MOVE_H

#include "collector/collector.h"
#include "collector/db.h"

struct groups_move { /* a stack, and the group that its reports go to */
    int64_t stack, to;
};

/* How many reports a transaction of a turn moves: found out by the time that they take. */
struct groups_pace {
    size_t reports; /* 0 at first */
};
size_t groups_pace_limit(const struct groups_pace *pace, const struct db *db);
void groups_pace_took(struct groups_pace *pace, const struct db *db, size_t moved, int64_t ms);
/* Longest time that a job's transaction holds the one connection that writes, about. */
enum { GROUPS_TURN_MS = 10 };

/* In the caller's transaction, which called stack_group_changed: reports with rows above `after` of
 * these stacks (in the order of their rows), `limit` at most. `moved`: so many, the last one was
 * `last`; `whole`: of so many of the first stacks no report is left elsewhere. */
struct groups_moved {
    size_t moved, whole;
    int64_t last;
};
fw_error groups_move_reports(const struct db *db, struct db_conn *conn,
                             const struct groups_move *moves, size_t count, int64_t after,
                             size_t limit, struct groups_moved *done, struct fw_failure *why);
/* Something left this group: it is settled later. */
fw_error groups_mark_stale(struct db_conn *conn, int64_t group, struct fw_failure *why);

/* All that was begun: marked groups, and stacks with reports elsewhere. `ours` as in groups.h. */
fw_error groups_move_rest(struct collector *c, bool (*ours)(void *context), void *context,
                          struct fw_failure *why);

#endif
