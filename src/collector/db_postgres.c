/*
 * The driver of PostgreSQL on libpq: statements, rows and transactions, always in its pipeline mode
 * (db_postgres_pipe.c). Values come in their binary forms (db_binary.h).
 */
#include "base/failure.h"
#include "collector/db_binary.h"
#include "collector/db_postgres_inner.h"

/* ---- statements ---- */

static fw_error run(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                    const struct db_value *values, size_t count)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    fw_error error = db_postgres_send(c, sql, values, count, why);
    bool ahead =
        conn->in_transaction && !rows && c->sent < PENDING_MAX && c->sent_bytes < PENDING_BYTES;
    return error || ahead ? error : db_postgres_settle(c, rows, why);
}

/* Takes the next result of the query into `row`; the end and failures are noted. */
static void step(struct postgres_conn *c)
{
    PQclear(c->row);
    c->row = NULL;
    PGresult *result;
    if (db_postgres_get(c, &result, &c->failed)) {
        c->rows_done = true;
        return;
    }
    if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
        c->row = result;
        return;
    }
    c->rows_done = true;
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_PIPELINE_ABORTED && !c->failed.code)
        db_postgres_say(c, result, c->pending[c->sent - 1].statement, &c->failed);
    PQclear(result);
}

static fw_error end(struct db_conn *conn, struct fw_failure *why)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    while (!c->rows_done)
        step(c);
    c->row_ready = false;
    while (!conn->broken) { /* the NULL behind the last result */
        PGresult *result;
        if (db_postgres_get(c, &result, &c->failed) || !result)
            break;
        PQclear(result);
    }
    fw_error error = db_postgres_read_sync(c, &c->failed);
    if (error && why)
        *why = c->failed;
    return error;
}

static fw_error query(struct db_conn *conn, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    c->failed.code = FW_OK;
    fw_error error = db_postgres_send(c, sql, values, count, why);
    if (!error)
        error = db_postgres_send_sync(c, why);
    if (error)
        return error;
    for (unsigned i = 0; i + 1 < c->sent && !conn->broken; i++)
        db_postgres_read_answer(c, &c->pending[i], NULL, &c->failed);
    c->rows_done = conn->broken;
    if (!conn->broken)
        PQsetSingleRowMode(c->pg);
    if (!c->rows_done)
        step(c);
    c->row_ready = c->row != NULL;
    return c->failed.code ? end(conn, why) : FW_OK;
}

static bool next(struct db_conn *conn)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    if (c->row_ready)
        c->row_ready = false;
    else if (!c->rows_done)
        step(c);
    return c->row != NULL;
}

/* ---- transactions ---- */

/* Readers see one moment, as in SQLite. */
static fw_error begin(struct db_conn *conn, bool soft, struct fw_failure *why)
{
    fw_error error = db_postgres_send(
        db_postgres_conn(conn),
        conn->use == DB_WRITE ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        DB_NONE, why);
    return error || !soft ? error
                          : db_postgres_send(db_postgres_conn(conn),
                                             "SET LOCAL synchronous_commit = off", DB_NONE, why);
}

static fw_error use_indexes(struct db_conn *conn, struct fw_failure *why)
{
    static const char *const settings[] = {
        "SET LOCAL enable_seqscan = off",
        "SET LOCAL enable_hashjoin = off",
        "SET LOCAL enable_mergejoin = off",
        /* A plan that is kept outlives the size of the tables that it was made for. */
        "SET LOCAL plan_cache_mode = force_custom_plan",
    };
    fw_error error = FW_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && !error; i++)
        error = run(conn, why, NULL, settings[i], DB_NONE);
    return error;
}

static fw_error commit(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = db_postgres_send(db_postgres_conn(conn), "COMMIT", DB_NONE, why);
    return error ? error : db_postgres_settle(db_postgres_conn(conn), NULL, why);
}

static void rollback(struct db_conn *conn)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    c->unlimited = false;
    if (!conn->broken && c->sent)
        db_postgres_settle(c, NULL, NULL);
    if (!conn->broken && PQtransactionStatus(c->pg) != PQTRANS_IDLE &&
        (db_postgres_send(c, "ROLLBACK", DB_NONE, NULL) || db_postgres_settle(c, NULL, NULL)))
        conn->broken = true;
}

static fw_error lock_schema(struct db_conn *conn, struct fw_failure *why)
{
    db_postgres_conn(conn)->unlimited =
        true; /* this connection is not used for anything else: db_migrate */
    fw_error error = run(conn, why, NULL, "SET LOCAL statement_timeout = 0", DB_NONE);
    if (!error)
        error = run(conn, why, NULL, "SET LOCAL lock_timeout = 0", DB_NONE);
    if (!error)
        error = run(conn, why, NULL, "SELECT pg_advisory_xact_lock($1)",
                    DB_VALUES(db_int(0x6672616d6577616b))); /* "framewak" */
    return error;
}

/* ---- values of a row ---- */

static bool is_null(const struct db_conn *conn, int column)
{
    return PQgetisnull(db_postgres_conn(conn)->row, 0, column) != 0;
}

static struct db_binary binary(const struct db_conn *conn, int column)
{
    const PGresult *row = db_postgres_conn(conn)->row;
    struct db_binary value = {.type = PQftype(row, column)};
    if (PQgetisnull(row, 0, column))
        return value;
    value.bytes.data = (const uint8_t *)PQgetvalue(row, 0, column);
    value.bytes.size = (size_t)PQgetlength(row, 0, column);
    return value;
}

static int64_t get_int(const struct db_conn *conn, int column)
{
    return db_binary_int(binary(conn, column));
}

static struct span get_bytes(const struct db_conn *conn, int column, bool text)
{
    struct db_binary value = binary(conn, column);
    if (text ? !db_binary_is_text(value.type) : value.type != BYTEA)
        return (struct span){NULL, 0};
    return value.bytes; /* libpq puts a NUL behind */
}

static fw_error backup(struct db *db, const char *path, struct fw_failure *why)
{
    (void)db, (void)path;
    return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                       "a copy of a PostgreSQL database is made by pg_dump --format=custom");
}

const struct db_driver db_postgres = {
    .id = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    .blob = "BYTEA",
    .clustered = "",
    .integer = "BIGINT",
    .text = "TEXT COLLATE \"C\"",
    .readers = 8,
    .writers = 8,
    .open = db_postgres_open,
    .close = db_postgres_close,
    .alive = db_postgres_alive,
    .begin = begin,
    .gates = {"SELECT pg_advisory_xact_lock_shared(8388065495825347685)",
              "SELECT pg_advisory_xact_lock(8388065495825347685)"}, /* "the gate" */
    .use_indexes = use_indexes,
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
    .backup = backup,
};
