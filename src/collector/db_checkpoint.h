/* Checkpoints of a SQLite database on a thread of their own: db_checkpoint.c. Only db_sqlite.c
 * includes this. */
#ifndef COLLECTOR_DB_CHECKPOINT_H
#define COLLECTOR_DB_CHECKPOINT_H

#include "collector/db_driver.h"

#include <sqlite3.h>

/* From now on commits of this connection tell db->checkpoints how long the WAL is; and they begin
 * no checkpoints themselves. */
void db_checkpoint_watch(struct db *db, sqlite3 *writer);
fw_error db_checkpoint_start(struct db *db, struct fw_failure *why);
void db_checkpoint_stop(struct db *db); /* never started: fine */

#endif
