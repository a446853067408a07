/*
 * The driver of SQLite (https://www.sqlite.org/c3ref/): one file, one connection that writes.
 *
 * Invariant: a commit returned is on the disk (WAL, synchronous=FULL), unless its transaction was a
 * soft one (synchronous=NORMAL: the WAL is written, and flushed with a later commit). Readers see
 * the last commit before their statement, or before their transaction, and never wait for the
 * writer. Other processes may have the same file open; they are waited for, DB_BUSY_MS at most.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_checkpoint.h"
#include "collector/db_sqlite_inner.h"

#include <stdlib.h>

static sqlite3_stmt *row(const struct db_conn *conn)
{
    return db_sqlite_conn(conn)->query;
}

static bool alive(struct db_conn *conn)
{
    (void)conn;
    return true;
}

/* ---- statements ---- */

/* SQL as SQLite takes it: ?1 for $1, whose own $1 would be a name, and no locks of rows. */
static char *spelled(const char *sql)
{
    static const char lock[] = " FOR UPDATE", skip[] = " SKIP LOCKED";
    char *out = malloc(strlen(sql) + 1), *to = out;
    bool quoted = false;
    while (out && *sql) {
        if (*sql == '\'')
            quoted = !quoted;
        if (!quoted && strncmp(sql, lock, sizeof lock - 1) == 0) {
            sql += sizeof lock - 1;
            if (strncmp(sql, skip, sizeof skip - 1) == 0)
                sql += sizeof skip - 1;
            continue;
        }
        bool value = !quoted && *sql == '$' && sql[1] >= '0' && sql[1] <= '9';
        *to++ = value ? '?' : *sql;
        sql++;
    }
    if (out)
        *to = 0;
    return out;
}

static fw_error prepare(struct sqlite_conn *c, const char *sql, sqlite3_stmt **statement,
                        struct fw_failure *why)
{
    struct db_statement *known = db_cache_find(&c->cache, sql, NULL);
    if (known) {
        *statement = known->prepared;
        return FW_OK;
    }
    char *text = spelled(sql);
    if (!text)
        return failure_memory(why);
    const char *rest = NULL;
    int result = sqlite3_prepare_v3(c->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, &rest);
    bool more = !result && rest && *rest;
    free(text);
    if (result)
        return db_sqlite_say(c->db, result, sql, why);
    void *dropped;
    if (more || !*statement || !db_cache_add(&c->cache, sql, *statement, &dropped)) {
        sqlite3_finalize(*statement);
        return failure_say(why, more ? FW_ERR_ARGUMENT : FW_ERR_MEMORY, 0, "database: %s (%.100s)",
                           more ? "more than one statement" : "no statement", sql);
    }
    sqlite3_finalize(dropped);
    return FW_OK;
}

/* `keep`: SQLITE_STATIC when the bytes stay until the statement is done, else SQLITE_TRANSIENT. */
static int bind(sqlite3_stmt *s, int at, const struct db_value *v, sqlite3_destructor_type keep)
{
    const void *data = v->bytes.data ? (const void *)v->bytes.data : "";
    switch (v->type) {
    case DB_INT: return sqlite3_bind_int64(s, at, v->integer);
    case DB_TEXT: return sqlite3_bind_text64(s, at, data, v->bytes.size, keep, SQLITE_UTF8);
    case DB_BYTES: return sqlite3_bind_blob64(s, at, data, v->bytes.size, keep);
    default: return sqlite3_bind_null(s, at);
    }
}

static fw_error start(struct sqlite_conn *c, sqlite3_stmt **statement, const char *sql,
                      const struct db_value *values, size_t count, sqlite3_destructor_type keep,
                      struct fw_failure *why)
{
    if (c->base.in_transaction && sqlite3_get_autocommit(c->db)) /* some failures roll back */
        return failure_say(why, FW_ERR_TIMEOUT, 0, "database: the transaction was rolled back");
    fw_error error = prepare(c, sql, statement, why);
    if (error)
        return error;
    if ((size_t)sqlite3_bind_parameter_count(*statement) != count)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "database: %zu values for %d (%.100s)", count,
                           sqlite3_bind_parameter_count(*statement), sql);
    for (size_t i = 0; i < count; i++) {
        int result = bind(*statement, (int)i + 1, &values[i], keep);
        if (result) {
            sqlite3_clear_bindings(*statement);
            return db_sqlite_say(c->db, result, sql, why);
        }
    }
    c->deadline = clock_ms() + DB_STATEMENT_MS;
    return FW_OK;
}

static fw_error run(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                    const struct db_value *values, size_t count)
{
    struct sqlite_conn *c = db_sqlite_conn(conn);
    sqlite3_stmt *s;
    fw_error error = start(c, &s, sql, values, count, SQLITE_STATIC, why);
    if (error)
        return error;
    int result;
    do
        result = sqlite3_step(s);
    while (result == SQLITE_ROW);
    if (result != SQLITE_DONE)
        error = db_sqlite_say(c->db, result, sql, why);
    else if (rows)
        *rows = sqlite3_stmt_readonly(s) ? 0 : (uint64_t)sqlite3_changes64(c->db);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    c->deadline = 0;
    return error;
}

static fw_error query(struct db_conn *conn, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count)
{
    struct sqlite_conn *c = db_sqlite_conn(conn);
    fw_error error = start(c, &c->query, sql, values, count, SQLITE_TRANSIENT, why);
    if (error)
        return error;
    c->query_result = sqlite3_step(c->query);
    c->row_ready = c->query_result == SQLITE_ROW;
    if (c->row_ready || c->query_result == SQLITE_DONE)
        return FW_OK;
    error = db_sqlite_say(c->db, c->query_result, sql, why);
    sqlite3_reset(c->query);
    sqlite3_clear_bindings(c->query);
    c->deadline = 0;
    return error;
}

static bool next(struct db_conn *conn)
{
    struct sqlite_conn *c = db_sqlite_conn(conn);
    if (c->row_ready)
        c->row_ready = false;
    else if (c->query_result == SQLITE_ROW)
        c->query_result = sqlite3_step(c->query);
    return c->query_result == SQLITE_ROW;
}

static fw_error end(struct db_conn *conn, struct fw_failure *why)
{
    struct sqlite_conn *c = db_sqlite_conn(conn);
    fw_error error = FW_OK;
    if (c->query_result != SQLITE_ROW && c->query_result != SQLITE_DONE)
        error = db_sqlite_say(c->db, c->query_result, sqlite3_sql(c->query), why);
    sqlite3_reset(c->query);
    sqlite3_clear_bindings(c->query);
    c->deadline = 0;
    return error;
}

/* Between transactions; what runs outside of any is hard. */
static fw_error set_soft(struct sqlite_conn *c, bool soft, struct fw_failure *why)
{
    if (c->soft == soft)
        return FW_OK;
    int result =
        db_sqlite_pragma(c->db, soft ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL");
    if (result)
        return db_sqlite_say(c->db, result, "PRAGMA synchronous", why);
    c->soft = soft;
    return FW_OK;
}

static fw_error begin(struct db_conn *conn, bool soft, struct fw_failure *why)
{
    fw_error error = set_soft(db_sqlite_conn(conn), soft, why);
    if (error)
        return error;
    return run(conn, why, NULL, conn->use == DB_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", DB_NONE);
}

static void rollback(struct db_conn *conn)
{
    conn->in_transaction = false;
    if (!sqlite3_get_autocommit(db_sqlite_conn(conn)->db) &&
        run(conn, NULL, NULL, "ROLLBACK", DB_NONE))
        conn->broken = true;
    if (!conn->broken && set_soft(db_sqlite_conn(conn), false, NULL))
        conn->broken = true;
    db_sqlite_conn(conn)->unlimited = false;
}

static fw_error commit(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = run(conn, why, NULL, "COMMIT", DB_NONE);
    db_sqlite_conn(conn)->unlimited = false;
    if (!error && set_soft(db_sqlite_conn(conn), false, NULL))
        conn->broken = true;
    return error;
}

static fw_error lock_schema(struct db_conn *conn, struct fw_failure *why)
{
    (void)why; /* who writes is alone */
    db_sqlite_conn(conn)->unlimited = true;
    return FW_OK;
}

/* ---- values of a row ---- */

static bool is_null(const struct db_conn *conn, int column)
{
    return sqlite3_column_type(row(conn), column) == SQLITE_NULL;
}

static int64_t get_int(const struct db_conn *conn, int column)
{
    int type = sqlite3_column_type(row(conn), column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_column_int64(row(conn), column)
                                                          : 0;
}

static struct span get_bytes(const struct db_conn *conn, int column, bool text)
{
    int type = sqlite3_column_type(row(conn), column);
    if (type != (text ? SQLITE_TEXT : SQLITE_BLOB))
        return (struct span){NULL, 0};
    const void *data = text ? (const void *)sqlite3_column_text(row(conn), column)
                            : sqlite3_column_blob(row(conn), column);
    return (struct span){data, (size_t)sqlite3_column_bytes(row(conn), column)};
}

const struct db_driver db_sqlite = {
    .id = "INTEGER PRIMARY KEY AUTOINCREMENT", /* numbers of deleted rows never come again */
    .blob = "BLOB",
    .clustered = "WITHOUT ROWID",
    .integer = "INTEGER",
    .text = "TEXT",
    .readers = 8,
    .writers = 1,
    .open = db_sqlite_open,
    .close = db_sqlite_close,
    .start = db_checkpoint_start,
    .stop = db_checkpoint_stop,
    .alive = alive,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .lock_schema = lock_schema,
    .run = run,
    .query = query,
    .next = next,
    .end = end,
    .is_null = is_null,
    .get_int = get_int,
    .get_bytes = get_bytes,
    .erase = db_sqlite_erase,
    .backup = db_sqlite_backup,
};
