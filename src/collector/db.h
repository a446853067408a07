/*
 * The database: SQLite or PostgreSQL behind one small interface and one text of SQL.
 *
 * SQL is written once, in what both understand: parameters $1, $2...; INSERT ... ON CONFLICT,
 * RETURNING; GREATEST and LEAST (SQLite gets them from us); "FOR UPDATE SKIP LOCKED" (dropped for
 * SQLite, whose one writer needs no such thing). Integers are 64 bits, texts UTF-8 without NUL
 * (others are refused: FW_ERR_ARGUMENT), booleans are 0 and 1, times milliseconds since 1970. In
 * the schema {ID} stands for a primary key that numbers itself, {BLOB} for bytes, {CLUSTERED}
 * behind a table for rows that stand in its primary key's own tree (SQLite); INTEGER is 64
 * bits and TEXT sorted by its bytes in both. Statements are prepared once per connection and found
 * by their text.
 *
 * Where the two differ, so that a statement runs in one and not in the other: PostgreSQL finds out
 * the type of a value from its place, and "$1 IS NULL" tells none: CAST($1 AS BIGINT). Conditions
 * are conditions ("x <> 0", not "x"). NULLs sort first here and last there: NULLS FIRST. LIKE heeds
 * case in both. SUM of no rows is NULL. A value comes out by the function of its own type.
 *
 * A connection belongs to the thread that took it until it gives it back. SQLite has one connection
 * that writes (who takes it waits for its turn) and several that read; with PostgreSQL all do both.
 *
 * A connection that waits for its turn waits 15 s, a statement for another's lock 10 s, and takes
 * 60 s at most: then FW_ERR_TIMEOUT. A thread takes one connection at a time: with two it may wait
 * for itself. Turns come in the order of asking, but for db_take_first: what people and programs
 * wait for goes before what goes on behind their backs. Whoever writes in the background holds the
 * connection for DB_TURN_MS or so, and then lets others have their turn.
 *
 * A lost server: the call that notices returns FW_ERR_VANISHED and the connection is of no more
 * use; it is opened anew at the next db_take. Of a db_commit: it may or may not have happened.
 * Transactions that conflicted with another's (deadlock, serialization, SQLite busy) return
 * FW_ERR_TIMEOUT: roll back and begin again. Other errors: FW_ERR_ARGUMENT (a constraint, a value
 * that cannot be), FW_ERR_FULL, FW_ERR_PERMISSION, FW_ERR_UNSUPPORTED (SQL that is not understood),
 * FW_ERR_CORRUPT, FW_ERR_MEMORY, FW_ERR_SYSTEM. Once something failed in a transaction, every call
 * fails so until db_rollback.
 */
#ifndef COLLECTOR_DB_H
#define COLLECTOR_DB_H

#include "base/reader.h"
#include "framewalk/error.h"

struct db;
struct db_conn;

/* "sqlite:PATH" or "postgresql://...". The schema is brought to this version (schema.h); a newer
 * one is refused with FW_ERR_UNSUPPORTED. */
fw_error db_open(const char *url, struct db **db, struct fw_failure *why);
/* The same, and the schema stays as it is, of which `version` tells the number: for copies. */
fw_error db_open_as_it_is(const char *url, struct db **db, uint64_t *version,
                          struct fw_failure *why);
void db_close(struct db *db); /* NULL is fine */
bool db_is_postgres(const struct db *db);

enum { DB_TURN_MS = 25 };
/* Whether a lease is over, as SQL. One that ends later than any lease would was written by a server
 * whose clock was wrong. */
enum { DB_LEASE_MAX_MS = 3600000 };
#define DB_LEASE_OVER(column, now) "(" column " < " now " OR " column " > " now " + 3600000)"

enum db_use { DB_READ, DB_WRITE };
fw_error db_take(struct db *db, enum db_use use, struct db_conn **conn, struct fw_failure *why);
/* A DB_WRITE connection, before all others that wait. */
fw_error db_take_first(struct db *db, struct db_conn **conn, struct fw_failure *why);
/* Rolls back what was begun and not committed. NULL is fine. */
void db_give(struct db *db, struct db_conn *conn);

fw_error db_begin(struct db_conn *conn, struct fw_failure *why);
/* The same for what can be done again: its commit is kept when this process is killed, but when the
 * machine or the database's server fails, commits since the last one of db_begin may be lost, the
 * last ones first. It waits for no disk. */
fw_error db_begin_soft(struct db_conn *conn, struct fw_failure *why);
/* Until the end of this transaction a few rows of large tables are looked for: indexes are used
 * whatever the database believes. PostgreSQL reads whole tables, over and over, when they grew
 * since it last counted them. */
fw_error db_use_indexes(struct db_conn *conn, struct fw_failure *why);
/* Of one gate that many transactions hold together or one alone, until their end. Who asks first is
 * served first: a row lock that others share would be held in turns for ever (PostgreSQL lets
 * sharers pass those that wait to be alone). First in a transaction, and not twice: two that share
 * and both want to be alone wait for each other. SQLite: nothing to do, there is one writer. */
enum db_gate { DB_GATE_SHARED, DB_GATE_ALONE };
fw_error db_pass_gate(struct db_conn *conn, enum db_gate how, struct fw_failure *why);
/* Durable when FW_OK. */
fw_error db_commit(struct db_conn *conn, struct fw_failure *why);
void db_rollback(struct db_conn *conn);

enum db_type { DB_NULL, DB_INT, DB_TEXT, DB_BYTES };
struct db_value {
    enum db_type type;
    int64_t integer;
    struct span bytes; /* text or bytes: borrowed until the call returns */
};
static inline struct db_value db_int(int64_t value)
{
    return (struct db_value){.type = DB_INT, .integer = value};
}
static inline struct db_value db_text(const char *text) /* NULL: NULL */
{
    if (!text)
        return (struct db_value){.type = DB_NULL};
    return (struct db_value){.type = DB_TEXT, .bytes = {(const uint8_t *)text, strlen(text)}};
}
static inline struct db_value db_bytes(const void *data, size_t size)
{
    return (struct db_value){.type = DB_BYTES, .bytes = {data, size}};
}
static inline struct db_value db_null(void)
{
    return (struct db_value){.type = DB_NULL};
}
/* The values of a statement: db_run(conn, why, SQL, DB_VALUES(db_int(1), db_text("x"))) */
#define DB_VALUES(...)                                                                             \
    (const struct db_value[]){__VA_ARGS__},                                                        \
        sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)
#define DB_NONE NULL, 0

/* A statement without rows. Inside a transaction of PostgreSQL it may be sent without waiting: its
 * failure then comes out of a later call, at the latest of db_commit. */
fw_error db_run(struct db_conn *conn, struct fw_failure *why, const char *sql,
                const struct db_value *values, size_t count);
/* The same, and how many rows it changed. Waits for the answer. */
fw_error db_change(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                   const struct db_value *values, size_t count);

struct db_rows;
/* A statement with rows. One at a time on a connection: db_end before the next. */
fw_error db_query(struct db_conn *conn, struct db_rows **rows, struct fw_failure *why,
                  const char *sql, const struct db_value *values, size_t count);
/* The next row; false at the end, or when something failed, which db_end tells. */
bool db_next(struct db_rows *rows);
/* NULL is fine: FW_OK. */
fw_error db_end(struct db_rows *rows, struct fw_failure *why);
bool db_is_null(const struct db_rows *rows, int column);
int64_t db_get_int(const struct db_rows *rows, int column);       /* NULL: 0 */
const char *db_get_text(const struct db_rows *rows, int column);  /* until db_next; NULL: NULL */
struct span db_get_bytes(const struct db_rows *rows, int column); /* until db_next */

/* The first value of a statement's first row, a whole number; 0: NULL, or there is no row. */
fw_error db_query_int(struct db_conn *conn, int64_t *value, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count);

/* Overwrites what was deleted until now, in the database's files and its journal. SQLite alone:
 * PostgreSQL has its own times for that (docs/operations.md). FW_ERR_TIMEOUT: somebody still reads
 * what it was before. */
fw_error db_erase(struct db *db, struct fw_failure *why);

/* A whole copy while others write (SQLite: online backup; PostgreSQL: FW_ERR_UNSUPPORTED, the
 * message names pg_dump). */
fw_error db_backup(struct db *db, const char *path, struct fw_failure *why);

#endif
