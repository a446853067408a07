/*
 * The setting "generation": it counts up whenever stacks change their group, or groups their
 * status, or stacks or reports go, or another map is in use. Who works with what it read before
 * looks first, and is told when it writes whether that still holds.
 */
#ifndef COLLECTOR_GENERATION_H
#define COLLECTOR_GENERATION_H

#include "collector/db.h"

/* As it is; holds nothing. */
fw_error generation_look(struct db_conn *conn, int64_t *generation, struct fw_failure *why);
/* First in a transaction that changes such things: counts up, and holds it (db_pass_gate). */
fw_error stack_group_changed(struct db_conn *conn, struct fw_failure *why);
/* The same; `same`: nobody else did so since it was `*looked`, which is brought up to date. */
fw_error generation_claim(struct db_conn *conn, int64_t *looked, bool *same,
                          struct fw_failure *why);

#endif
