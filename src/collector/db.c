/*
 * What both databases share: the pools of connections, the checks of values, and the guard that a
 * connection is used in the order that db.h asks for. How to talk to a database: db_sqlite.c,
 * db_postgres.c. How the schema comes to be: db_migrate.c.
 *
 * Invariant: a connection is in exactly one place: idle in its pool, on its way to a waiter, or
 * with the thread that took it.
 */
#include "collector/db.h"

#include "base/failure.h"
#include "base/utf8.h"
#include "collector/clock.h"
#include "collector/db_driver.h"

#include <errno.h>
#include <stdlib.h>

struct db_waiter { /* on the stack of the thread that waits */
    pthread_cond_t served;
    struct db_conn *conn; /* that it was given; NULL: it may open one */
    bool done;
    struct db_waiter *next;
};

/* ---- pools ---- */

static void pool_init(struct db_pool *pool, unsigned limit)
{
    pthread_mutex_init(&pool->mutex, NULL);
    pool->limit = limit;
    pool->last_one = &pool->waiters;
}

static void pool_destroy(struct db *db, struct db_pool *pool)
{
    while (pool->idle) {
        struct db_conn *conn = pool->idle;
        pool->idle = conn->next;
        db->driver->close(conn);
    }
    pthread_mutex_destroy(&pool->mutex);
}

/* Waits in the queue; the pool is locked. FW_OK: served, `conn` NULL when it is to be opened. */
static fw_error pool_wait(struct db_pool *pool, bool first, struct db_conn **conn,
                          struct fw_failure *why)
{
    struct db_waiter me = {.conn = NULL};
    clock_cond_init(&me.served);
    struct db_waiter **place = first ? &pool->waiters : pool->last_one;
    me.next = *place;
    *place = &me;
    if (!me.next)
        pool->last_one = &me.next;

    struct timespec until = clock_after(DB_TAKE_MS);
    int waited = 0;
    while (!me.done && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&me.served, &pool->mutex, &until);
    if (!me.done) { /* leaves the queue */
        struct db_waiter **at = &pool->waiters;
        while (*at != &me)
            at = &(*at)->next;
        *at = me.next;
        if (pool->last_one == &me.next)
            pool->last_one = at;
    }
    pthread_cond_destroy(&me.served);
    *conn = me.conn;
    return me.done ? FW_OK
                   : failure_say(why, FW_ERR_TIMEOUT, 0,
                                 "database: no connection became free in %d seconds (%u in use)",
                                 DB_TAKE_MS / 1000, pool->open);
}

/* Hands a connection, or with NULL the right to open one, to the first who waits. The pool is
 * locked. False: nobody waits. */
static bool pool_serve(struct db_pool *pool, struct db_conn *conn)
{
    struct db_waiter *first = pool->waiters;
    if (!first)
        return false;
    pool->waiters = first->next;
    if (!pool->waiters)
        pool->last_one = &pool->waiters;
    first->conn = conn;
    first->done = true;
    pthread_cond_signal(&first->served);
    return true;
}

/* One connection less is open. */
static void pool_closed_one(struct db_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    if (!pool_serve(pool, NULL))
        pool->open--;
    pthread_mutex_unlock(&pool->mutex);
}

static fw_error take(struct db *db, enum db_use use, bool first, struct db_conn **conn,
                     struct fw_failure *why)
{
    struct db_pool *pool = &db->pools[use];
    fw_error error = FW_OK;
    *conn = NULL;
    pthread_mutex_lock(&pool->mutex);
    if (pool->idle) {
        *conn = pool->idle;
        pool->idle = (*conn)->next;
    } else if (pool->open < pool->limit) {
        pool->open++;
    } else {
        error = pool_wait(pool, first, conn, why);
    }
    pthread_mutex_unlock(&pool->mutex);
    if (error)
        return error;

    if (*conn && !db->driver->alive(*conn)) {
        db->driver->close(*conn);
        *conn = NULL;
    }
    if (*conn)
        return FW_OK;
    error = db->driver->open(db, use, conn, why);
    if (error) {
        *conn = NULL;
        pool_closed_one(pool);
        return error;
    }
    (*conn)->db = db;
    (*conn)->use = use;
    (*conn)->rows.conn = *conn;
    return FW_OK;
}

fw_error db_take(struct db *db, enum db_use use, struct db_conn **conn, struct fw_failure *why)
{
    return take(db, use, false, conn, why);
}

fw_error db_take_first(struct db *db, struct db_conn **conn, struct fw_failure *why)
{
    return take(db, DB_WRITE, true, conn, why);
}

void db_give(struct db *db, struct db_conn *conn)
{
    if (!conn)
        return;
    if (conn->reading)
        db_end(&conn->rows, NULL);
    if (conn->in_transaction)
        db_rollback(conn);
    struct db_pool *pool = &db->pools[conn->use];
    if (conn->broken) {
        db->driver->close(conn);
        pool_closed_one(pool);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    if (!pool_serve(pool, conn)) {
        conn->next = pool->idle;
        pool->idle = conn;
    }
    pthread_mutex_unlock(&pool->mutex);
}

/* ---- opening ---- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static fw_error open_pools(const char *url, struct db **db, struct fw_failure *why)
{
    *db = NULL;
    const struct db_driver *driver;
    const char *where = url;
    if (starts_with(url, "sqlite:")) {
        driver = &db_sqlite;
        where += strlen("sqlite:");
    } else if (starts_with(url, "postgresql://") || starts_with(url, "postgres://")) {
        driver = &db_postgres;
    } else {
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "a database is named sqlite:PATH or postgresql://...");
    }
    struct db *made = calloc(1, sizeof *made);
    if (made)
        made->where = strdup(where);
    if (!made || !made->where) {
        free(made);
        return failure_memory(why);
    }
    made->driver = driver;
    pool_init(&made->pools[DB_READ], driver->readers);
    pool_init(&made->pools[DB_WRITE], driver->writers);
    *db = made;
    return FW_OK;
}

fw_error db_open(const char *url, struct db **db, struct fw_failure *why)
{
    fw_error error = open_pools(url, db, why);
    if (!error)
        error = db_migrate(*db, schema_migrations, schema_version, why);
    if (!error && (*db)->driver->start)
        error = (*db)->driver->start(*db, why);
    if (error) {
        db_close(*db);
        *db = NULL;
    }
    return error;
}

fw_error db_open_as_it_is(const char *url, struct db **db, uint64_t *version,
                          struct fw_failure *why)
{
    *version = 0;
    fw_error error = open_pools(url, db, why);
    if (!error)
        error = db_version(*db, schema_version, version, why);
    if (error) {
        db_close(*db);
        *db = NULL;
    }
    return error;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (db->driver->stop)
        db->driver->stop(db);
    pool_destroy(db, &db->pools[DB_READ]);
    pool_destroy(db, &db->pools[DB_WRITE]);
    free(db->where);
    free(db);
}

bool db_is_postgres(const struct db *db)
{
    return db->driver == &db_postgres;
}

fw_error db_erase(struct db *db, struct fw_failure *why)
{
    return db->driver->erase ? db->driver->erase(db, why) : FW_OK;
}

fw_error db_backup(struct db *db, const char *path, struct fw_failure *why)
{
    return db->driver->backup(db, path, why);
}

/* ---- statements ---- */

static bool is_utf8(struct span text)
{
    for (size_t i = 0, length; i < text.size; i += length) {
        length = 1;
        if (text.data[i] < 0x80)
            continue;
        char next[5] = {0}; /* the text ends without NUL */
        memcpy(next, text.data + i, text.size - i < 4 ? text.size - i : 4);
        length = utf8_length(next);
        if (!length)
            return false;
    }
    return true;
}

/* What failed in this transaction, once more. */
static fw_error again(const struct db_conn *conn, struct fw_failure *why)
{
    if (why)
        *why = conn->failed;
    return conn->failed.code;
}

/* Takes the failure of a driver's call down: in PostgreSQL nothing more can run in a transaction
 * where something failed, and so it is kept with SQLite. */
static fw_error note(struct db_conn *conn, fw_error error, const struct fw_failure *failure,
                     struct fw_failure *why)
{
    if (!error)
        return FW_OK;
    if (why)
        *why = *failure;
    if (conn->in_transaction)
        conn->failed = *failure;
    return error;
}

/* What neither database may be asked to keep, or only one of them would. */
static fw_error check(const struct db_conn *conn, const struct db_value *values, size_t count,
                      struct fw_failure *why)
{
    if (conn->broken)
        return failure_say(why, FW_ERR_VANISHED, 0, "database: the connection was lost");
    if (conn->failed.code)
        return again(conn, why);
    if (conn->reading)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "database: rows of another query are open");
    if (count > DB_VALUES_MAX)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "database: %zu values, at most %d are taken",
                           count, DB_VALUES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (values[i].type != DB_TEXT)
            continue;
        struct span text = values[i].bytes;
        if (text.size && memchr(text.data, 0, text.size))
            return failure_say(why, FW_ERR_ARGUMENT, 0, "database: text $%zu contains NUL", i + 1);
        if (!is_utf8(text))
            return failure_say(why, FW_ERR_ARGUMENT, 0, "database: text $%zu is not UTF-8", i + 1);
    }
    return FW_OK;
}

static fw_error begin(struct db_conn *conn, bool soft, struct fw_failure *why)
{
    fw_error error = check(conn, NULL, 0, why);
    if (!error && conn->in_transaction)
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "database: a transaction is open already");
    if (!error)
        error = conn->db->driver->begin(conn, soft, why);
    if (!error)
        conn->in_transaction = true;
    return error;
}

fw_error db_begin(struct db_conn *conn, struct fw_failure *why)
{
    return begin(conn, false, why);
}

fw_error db_begin_soft(struct db_conn *conn, struct fw_failure *why)
{
    return begin(conn, true, why);
}

fw_error db_use_indexes(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = check(conn, NULL, 0, why);
    return error || !conn->db->driver->use_indexes ? error
                                                   : conn->db->driver->use_indexes(conn, why);
}

fw_error db_commit(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = check(conn, NULL, 0, why);
    if (!error && !conn->in_transaction)
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "database: no transaction is open");
    if (!error)
        error = conn->db->driver->commit(conn, why);
    if (error)
        db_rollback(conn);
    conn->in_transaction = false;
    return error;
}

void db_rollback(struct db_conn *conn)
{
    if (conn->reading)
        db_end(&conn->rows, NULL);
    if (conn->in_transaction)
        conn->db->driver->rollback(conn);
    conn->in_transaction = false;
    conn->failed.code = FW_OK;
}

fw_error db_run(struct db_conn *conn, struct fw_failure *why, const char *sql,
                const struct db_value *values, size_t count)
{
    struct fw_failure failure;
    fw_error error = check(conn, values, count, &failure);
    if (!error)
        error = conn->db->driver->run(conn, &failure, NULL, sql, values, count);
    return note(conn, error, &failure, why);
}

fw_error db_pass_gate(struct db_conn *conn, enum db_gate how, struct fw_failure *why)
{
    const char *sql = conn->db->driver->gates[how];
    return sql ? db_run(conn, why, sql, DB_NONE) : FW_OK;
}

fw_error db_change(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                   const struct db_value *values, size_t count)
{
    *rows = 0;
    struct fw_failure failure;
    fw_error error = check(conn, values, count, &failure);
    if (!error)
        error = conn->db->driver->run(conn, &failure, rows, sql, values, count);
    return note(conn, error, &failure, why);
}

fw_error db_query(struct db_conn *conn, struct db_rows **rows, struct fw_failure *why,
                  const char *sql, const struct db_value *values, size_t count)
{
    *rows = NULL;
    struct fw_failure failure;
    fw_error error = check(conn, values, count, &failure);
    if (!error)
        error = conn->db->driver->query(conn, &failure, sql, values, count);
    if (error)
        return note(conn, error, &failure, why);
    conn->reading = true;
    *rows = &conn->rows;
    return FW_OK;
}

bool db_next(struct db_rows *rows)
{
    return rows->conn->db->driver->next(rows->conn);
}

fw_error db_end(struct db_rows *rows, struct fw_failure *why)
{
    if (!rows || !rows->conn->reading)
        return FW_OK;
    rows->conn->reading = false;
    struct fw_failure failure;
    fw_error error = rows->conn->db->driver->end(rows->conn, &failure);
    return note(rows->conn, error, &failure, why);
}

bool db_is_null(const struct db_rows *rows, int column)
{
    return rows->conn->db->driver->is_null(rows->conn, column);
}

int64_t db_get_int(const struct db_rows *rows, int column)
{
    return rows->conn->db->driver->get_int(rows->conn, column);
}

const char *db_get_text(const struct db_rows *rows, int column)
{
    return (const char *)rows->conn->db->driver->get_bytes(rows->conn, column, true).data;
}

struct span db_get_bytes(const struct db_rows *rows, int column)
{
    return rows->conn->db->driver->get_bytes(rows->conn, column, false);
}

fw_error db_query_int(struct db_conn *conn, int64_t *value, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count)
{
    struct db_rows *rows;
    *value = 0;
    fw_error error = db_query(conn, &rows, why, sql, values, count);
    if (error)
        return error;
    if (db_next(rows))
        *value = db_get_int(rows, 0);
    return db_end(rows, why);
}
