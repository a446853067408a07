/*
 * What the files db_sqlite*.c share; nobody else includes it.
 *
 *     db_sqlite.c        the driver: statements, rows, transactions
 *     db_sqlite_open.c   opening the file; what SQLite's errors mean
 *     db_sqlite_copy.c   erasing what was deleted, a copy while others write
 *     db_checkpoint.c    checkpoints, on a thread of their own
 */
#ifndef COLLECTOR_DB_SQLITE_INNER_H
#define COLLECTOR_DB_SQLITE_INNER_H

#include "collector/db_cache.h"
#include "collector/db_driver.h"

#include <sqlite3.h>

struct sqlite_conn {
    struct db_conn base;
    sqlite3 *db;
    struct db_cache cache; /* of sqlite3_stmt */
    sqlite3_stmt *query;   /* whose rows are read */
    int query_result;      /* of its last step */
    bool row_ready;        /* the first step found a row, which db_next has not given yet */
    int64_t deadline;      /* of the statement that runs, by clock_ms; 0: none */
    bool soft;             /* synchronous=NORMAL is set */
    bool unlimited;        /* while the schema changes */
};

static inline struct sqlite_conn *db_sqlite_conn(const struct db_conn *conn)
{
    return (struct sqlite_conn *)(uintptr_t)conn;
}

/* ---- db_sqlite_open.c ---- */

/* What failed with `result`, while `what` (SQL or a path) was done. */
fw_error db_sqlite_say(sqlite3 *db, int result, const char *what, struct fw_failure *why);
/* SQLite's result; `sql` has no rows that count. */
int db_sqlite_pragma(sqlite3 *db, const char *sql);
fw_error db_sqlite_open(struct db *db, enum db_use use, struct db_conn **conn,
                        struct fw_failure *why);
void db_sqlite_close(struct db_conn *conn);

/* ---- db_sqlite_copy.c: db_erase and db_backup ---- */

fw_error db_sqlite_erase(struct db *db, struct fw_failure *why);
fw_error db_sqlite_backup(struct db *db, const char *path, struct fw_failure *why);

#endif
