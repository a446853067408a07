/*
 * The driver of PostgreSQL on libpq, always in its pipeline mode (PostgreSQL manual 34.5).
 *
 * Statements are queued; who needs an answer sends a synchronization point and reads all answers up
 * to it. So the statements of a transaction that nobody waits for cost no round trips. Values go
 * and come in their binary forms, each with its type: no escaping, no guessing.
 *
 * Invariant: between calls everything that was sent is in `pending`, answers in the same order; and
 * outside of transactions and queries `pending` is empty. Every wait has an end: the server's
 * limits, and DB_PATIENCE_MS here for a server that is no longer there.
 */
#include "collector/db_postgres.h"

#include "base/failure.h"
#include "collector/db_cache.h"
#include "collector/db_driver.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DB_PATIENCE_MS = DB_STATEMENT_MS + 15000, /* without a byte of an answer that is due */
    PENDING_MAX = 256,                        /* statements sent ahead */
    PENDING_BYTES = 4 << 20,                  /* and bytes of their values */
};

enum { BYTEA = 17, INT8 = 20, TEXT = 25, FLOAT8 = 701 }; /* pg_type.oid */

struct statement {
    char name[24];  /* in the server */
    char start[72]; /* of its SQL, for messages */
    size_t count;   /* of values */
    Oid types[];    /* of them; 0: not known yet, it was NULL */
};

struct answer { /* that is due */
    struct statement *statement;
    bool prepares; /* it answers the preparation, not the execution */
};

struct postgres_conn {
    struct db_conn base;
    PGconn *pg;
    struct db_cache cache; /* of struct statement */
    uint64_t names;        /* counts statements, for their names */
    struct answer pending[PENDING_MAX + 4];
    unsigned sent;            /* entries of pending */
    size_t sent_bytes;        /* of values since the last wait */
    PGresult *row;            /* the row that is read; its first value is got before db_next asks */
    bool row_ready;           /* db_next has not given `row` yet */
    bool rows_done;           /* no rows follow */
    bool unlimited;           /* while the schema changes */
    struct fw_failure failed; /* while rows were read; db_end tells it */
};

static struct postgres_conn *mine(const struct db_conn *conn)
{
    return (struct postgres_conn *)(uintptr_t)conn;
}

/* ---- errors ---- */

static fw_error code_of(const char *state)
{
    static const struct {
        const char *state; /* SQLSTATE or how it begins: PostgreSQL manual, appendix A */
        fw_error code;
    } codes[] = {
        {"57014", FW_ERR_TIMEOUT},  /* statement_timeout */
        {"40", FW_ERR_TIMEOUT},     /* serialization, deadlock */
        {"55P03", FW_ERR_TIMEOUT},  /* lock_timeout */
        {"25P03", FW_ERR_TIMEOUT},  /* idle in a transaction */
        {"57P0", FW_ERR_VANISHED},  /* shut down, crashed, starting */
        {"08P01", FW_ERR_ARGUMENT}, /* not as many values as parameters */
        {"08", FW_ERR_VANISHED},    /* connection */
        {"53200", FW_ERR_MEMORY},     {"53300", FW_ERR_TIMEOUT},    /* too many connections */
        {"53", FW_ERR_FULL},          {"25006", FW_ERR_PERMISSION}, /* read only */
        {"42501", FW_ERR_PERMISSION}, {"28", FW_ERR_PERMISSION},    /* who are you */
        {"22", FW_ERR_ARGUMENT},      {"23", FW_ERR_ARGUMENT},      /* values, constraints */
        {"42", FW_ERR_UNSUPPORTED},   {"0A", FW_ERR_UNSUPPORTED},   {"XX", FW_ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return FW_ERR_SYSTEM;
}

/* libpq's messages have lines. */
static int first_line(const char *message)
{
    return (int)strcspn(message ? message : "", "\n");
}

static fw_error lost(struct postgres_conn *c, struct fw_failure *why)
{
    c->base.broken = true;
    c->sent = 0;
    const char *message = PQerrorMessage(c->pg);
    return failure_say(why, FW_ERR_VANISHED, 0, "database: the connection was lost: %.*s",
                       first_line(message), message);
}

static fw_error say(struct postgres_conn *c, const PGresult *result,
                    const struct statement *statement, struct fw_failure *why)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!state)
        return lost(c, why);
    fw_error code = code_of(state);
    if (code == FW_ERR_VANISHED)
        c->base.broken = true;
    return failure_say(why, code, 0, "database: %.120s [%s] (%s)", text ? text : "", state,
                       statement ? statement->start : "");
}

/* ---- waiting ---- */

/* The next result, NULL at the end of one statement's. When the server is lost: `lost` says so. */
static fw_error get(struct postgres_conn *c, PGresult **result, struct fw_failure *why)
{
    *result = NULL;
    while (PQisBusy(c->pg)) {
        int unsent = PQflush(c->pg);
        if (unsent < 0)
            return lost(c, why);
        struct pollfd p = {.fd = PQsocket(c->pg),
                           .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN)};
        int ready = poll(&p, 1, c->unlimited ? -1 : DB_PATIENCE_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            lost(c, NULL);
            return failure_say(why, FW_ERR_TIMEOUT, 0, "database: no answer in %d seconds",
                               DB_PATIENCE_MS / 1000);
        }
        if (ready < 0 || !PQconsumeInput(c->pg))
            return lost(c, why);
    }
    *result = PQgetResult(c->pg);
    return FW_OK;
}

static void forget(struct postgres_conn *c, struct statement *statement)
{
    for (unsigned i = 0; i < c->sent; i++)
        if (c->pending[i].statement == statement)
            c->pending[i].statement = NULL;
    db_cache_remove(&c->cache, statement);
    free(statement);
}

/* Reads all that answers one entry. The first failure of all stays in `failed`. */
static fw_error read_answer(struct postgres_conn *c, struct answer *answer, uint64_t *rows,
                            struct fw_failure *failed)
{
    bool fine = false;
    PGresult *result;
    for (;;) {
        struct fw_failure now;
        fw_error error = get(c, &result, &now);
        if (error && !failed->code)
            *failed = now;
        if (error || !result)
            break;
        ExecStatusType status = PQresultStatus(result);
        fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
        if (fine && rows && !answer->prepares)
            *rows = strtoull(PQcmdTuples(result), NULL, 10);
        else if (!fine && status != PGRES_PIPELINE_ABORTED && !failed->code)
            say(c, result, answer->statement, failed);
        PQclear(result);
    }
    if (!fine && answer->prepares && answer->statement)
        forget(c, answer->statement); /* it is not known to the server */
    return failed->code;
}

/* Reads the answer of the synchronization point itself. */
static fw_error read_sync(struct postgres_conn *c, struct fw_failure *failed)
{
    PGresult *result = NULL;
    while (!c->base.broken) {
        struct fw_failure now;
        fw_error error = get(c, &result, &now);
        if (error || PQstatus(c->pg) == CONNECTION_BAD) {
            if (!error)
                lost(c, &now);
            if (!failed->code)
                *failed = now;
        }
        bool there = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        PQclear(result);
        if (there)
            break;
    }
    c->sent = 0;
    c->sent_bytes = 0;
    return failed->code;
}

static fw_error send_sync(struct postgres_conn *c, struct fw_failure *why)
{
    return PQpipelineSync(c->pg) && PQflush(c->pg) >= 0 ? FW_OK : lost(c, why);
}

/* Waits for all that was sent. `rows`: that the last statement changed. */
static fw_error settle(struct postgres_conn *c, uint64_t *rows, struct fw_failure *why)
{
    struct fw_failure failed = {.code = FW_OK};
    fw_error error = send_sync(c, why);
    if (error)
        return error;
    for (unsigned i = 0; i < c->sent && !c->base.broken; i++)
        read_answer(c, &c->pending[i], rows, &failed);
    error = read_sync(c, &failed);
    if (error && why)
        *why = failed;
    return error;
}

/* ---- sending ---- */

static Oid type_of(const struct db_value *value)
{
    switch (value->type) {
    case DB_INT: return INT8;
    case DB_REAL: return FLOAT8;
    case DB_TEXT: return TEXT;
    case DB_BYTES: return BYTEA;
    default: return 0;
    }
}

static bool fits(const struct statement *s, const struct db_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].type != DB_NULL && type_of(&values[i]) != s->types[i])
            return false;
    return s->count == count;
}

static fw_error out_of_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

/* Sends the preparation of a statement that this connection has not seen with such values. */
static fw_error prepare(struct postgres_conn *c, struct statement **statement, const char *sql,
                        const struct db_value *values, size_t count, struct fw_failure *why)
{
    struct statement *s = calloc(1, sizeof *s + count * sizeof *s->types);
    if (!s)
        return out_of_memory(why);
    snprintf(s->name, sizeof s->name, "s%llu", (unsigned long long)++c->names);
    snprintf(s->start, sizeof s->start, "%s", sql);
    s->count = count;
    for (size_t i = 0; i < count; i++)
        s->types[i] = type_of(&values[i]);
    if (!PQsendPrepare(c->pg, s->name, sql, (int)count, s->types)) {
        free(s);
        return lost(c, why);
    }
    void *dropped;
    if (!db_cache_add(&c->cache, sql, s, &dropped)) {
        free(s);
        c->base.broken = true; /* the answer would find no entry */
        return out_of_memory(why);
    }
    c->pending[c->sent++] = (struct answer){s, true};
    *statement = s;
    if (!dropped)
        return FW_OK;
    char sql_drop[48];
    snprintf(sql_drop, sizeof sql_drop, "DEALLOCATE %s", ((struct statement *)dropped)->name);
    forget(c, dropped);
    if (!PQsendQueryParams(c->pg, sql_drop, 0, NULL, NULL, NULL, NULL, 1))
        return lost(c, why);
    c->pending[c->sent++] = (struct answer){NULL, false};
    return FW_OK;
}

/* A value's binary form: the bytes themselves, or `eight` in network order. */
static void encode(const struct db_value *v, uint8_t eight[8], const char **data, int *size)
{
    uint64_t bits = 0;
    *size = 8;
    *data = (const char *)eight;
    switch (v->type) {
    case DB_INT: bits = (uint64_t)v->integer; break;
    case DB_REAL: memcpy(&bits, &v->real, sizeof bits); break;
    case DB_NULL:
        *data = NULL;
        *size = 0;
        return;
    default:
        *data = v->bytes.data ? (const char *)v->bytes.data : "";
        *size = (int)v->bytes.size;
        return;
    }
    for (int i = 0; i < 8; i++)
        eight[i] = (uint8_t)(bits >> (56 - 8 * i));
}

static fw_error send(struct postgres_conn *c, const char *sql, const struct db_value *values,
                     size_t count, struct fw_failure *why)
{
    uint8_t eights[DB_VALUES_MAX][8];
    const char *data[DB_VALUES_MAX];
    int sizes[DB_VALUES_MAX], binary[DB_VALUES_MAX];
    for (size_t i = 0; i < count; i++) {
        if (values[i].bytes.size > INT32_MAX / 2 && values[i].type >= DB_TEXT)
            return failure_say(why, FW_ERR_ARGUMENT, 0, "database: value $%zu is too large", i + 1);
        encode(&values[i], eights[i], &data[i], &sizes[i]);
        binary[i] = 1;
        c->sent_bytes += (size_t)sizes[i];
    }
    struct db_statement *known = db_cache_find(&c->cache, sql, NULL);
    while (known && !fits(known->prepared, values, count))
        known = db_cache_find(&c->cache, sql, known);
    struct statement *s = known ? known->prepared : NULL;
    fw_error error = s ? FW_OK : prepare(c, &s, sql, values, count, why);
    if (error)
        return error;
    if (!PQsendQueryPrepared(c->pg, s->name, (int)count, data, sizes, binary, 1))
        return lost(c, why);
    c->pending[c->sent++] = (struct answer){s, false};
    return FW_OK;
}

/* ---- statements ---- */

static fw_error run(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                    const struct db_value *values, size_t count)
{
    struct postgres_conn *c = mine(conn);
    fw_error error = send(c, sql, values, count, why);
    bool ahead =
        conn->in_transaction && !rows && c->sent < PENDING_MAX && c->sent_bytes < PENDING_BYTES;
    return error || ahead ? error : settle(c, rows, why);
}

/* Takes the next result of the query into `row`; the end and failures are noted. */
static void step(struct postgres_conn *c)
{
    PQclear(c->row);
    c->row = NULL;
    PGresult *result;
    if (get(c, &result, &c->failed)) {
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
        say(c, result, c->pending[c->sent - 1].statement, &c->failed);
    PQclear(result);
}

static fw_error end(struct db_conn *conn, struct fw_failure *why)
{
    struct postgres_conn *c = mine(conn);
    while (!c->rows_done)
        step(c);
    c->row_ready = false;
    while (!conn->broken) { /* the NULL behind the last result */
        PGresult *result;
        if (get(c, &result, &c->failed) || !result)
            break;
        PQclear(result);
    }
    fw_error error = read_sync(c, &c->failed);
    if (error && why)
        *why = c->failed;
    return error;
}

static fw_error query(struct db_conn *conn, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count)
{
    struct postgres_conn *c = mine(conn);
    c->failed.code = FW_OK;
    fw_error error = send(c, sql, values, count, why);
    if (!error)
        error = send_sync(c, why);
    if (error)
        return error;
    for (unsigned i = 0; i + 1 < c->sent && !conn->broken; i++)
        read_answer(c, &c->pending[i], NULL, &c->failed);
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
    struct postgres_conn *c = mine(conn);
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
    fw_error error =
        send(mine(conn),
             conn->use == DB_WRITE ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
             DB_NONE, why);
    return error || !soft ? error
                          : send(mine(conn), "SET LOCAL synchronous_commit = off", DB_NONE, why);
}

static fw_error use_indexes(struct db_conn *conn, struct fw_failure *why)
{
    static const char *const settings[] = {
        "SET LOCAL enable_seqscan = off",
        "SET LOCAL enable_hashjoin = off",
        "SET LOCAL enable_mergejoin = off",
    };
    fw_error error = FW_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && !error; i++)
        error = run(conn, why, NULL, settings[i], DB_NONE);
    return error;
}

static fw_error commit(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = send(mine(conn), "COMMIT", DB_NONE, why);
    return error ? error : settle(mine(conn), NULL, why);
}

static void rollback(struct db_conn *conn)
{
    struct postgres_conn *c = mine(conn);
    c->unlimited = false;
    if (!conn->broken && c->sent)
        settle(c, NULL, NULL);
    if (!conn->broken && PQtransactionStatus(c->pg) != PQTRANS_IDLE &&
        (send(c, "ROLLBACK", DB_NONE, NULL) || settle(c, NULL, NULL)))
        conn->broken = true;
}

static fw_error lock_schema(struct db_conn *conn, struct fw_failure *why)
{
    mine(conn)->unlimited = true; /* this connection is not used for anything else: db_migrate */
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
    return PQgetisnull(mine(conn)->row, 0, column) != 0;
}

static struct db_binary binary(const struct db_conn *conn, int column)
{
    const PGresult *row = mine(conn)->row;
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

static double get_real(const struct db_conn *conn, int column)
{
    return db_binary_real(binary(conn, column));
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

/* ---- connections ---- */

static void close_it(struct db_conn *conn)
{
    struct postgres_conn *c = mine(conn);
    PQclear(c->row);
    PQfinish(c->pg);
    for (size_t i = 0; i < c->cache.count; i++)
        free(c->cache.statements[i].prepared);
    db_cache_free(&c->cache);
    free(c);
}

/* Between statements a server has nothing to say but its farewell. */
static bool alive(struct db_conn *conn)
{
    PGconn *pg = mine(conn)->pg;
    for (int i = 0; i < 16; i++) {
        struct pollfd p = {.fd = PQsocket(pg), .events = POLLIN};
        if (poll(&p, 1, 0) <= 0)
            return PQstatus(pg) == CONNECTION_OK;
        if (!PQconsumeInput(pg) || PQstatus(pg) != CONNECTION_OK)
            return false;
    }
    return false;
}

static void say_nothing(void *context, const PGresult *result)
{
    (void)context, (void)result;
}

/* The URL's settings with ours, which it may override, behind them. To compile a query takes longer
 * than to run it: all of ours are short. */
static PGconn *connect_to(const char *url, enum db_use use, char **message)
{
    char options[512];
    PQconninfoOption *given = PQconninfoParse(url, message);
    const char *theirs = "";
    for (PQconninfoOption *o = given; o && o->keyword; o++)
        if (strcmp(o->keyword, "options") == 0 && o->val)
            theirs = o->val;
    if (!given)
        return NULL;
    int length =
        snprintf(options, sizeof options,
                 "-c statement_timeout=%d -c lock_timeout=%d "
                 "-c idle_in_transaction_session_timeout=120000 "
                 "-c client_min_messages=error -c jit=off -c default_transaction_read_only=%s %s",
                 DB_STATEMENT_MS, DB_BUSY_MS, use == DB_READ ? "on" : "off", theirs);
    if (length >= (int)sizeof options) {
        PQconninfoFree(given);
        return NULL;
    }
    const char *keys[] = {
        "connect_timeout", "keepalives_idle", "tcp_user_timeout", "fallback_application_name",
        "dbname",          "client_encoding", "options",          NULL};
    const char *values[] = {"5", "30", "30000", "framewalk", url, "UTF8", options, NULL};
    PGconn *pg = PQconnectdbParams(keys, values, 1);
    PQconninfoFree(given);
    return pg;
}

/* What this driver cannot do without. */
static fw_error check_server(PGconn *pg, struct fw_failure *why)
{
    const char *encoding = PQparameterStatus(pg, "server_encoding");
    if (PQserverVersion(pg) < 120000)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0, "PostgreSQL %d is too old: 12 or later",
                           PQserverVersion(pg) / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "the database's encoding is %.20s; it must be UTF8",
                           encoding ? encoding : "unknown");
    if (PQsetnonblocking(pg, 1) != 0 || !PQenterPipelineMode(pg))
        return failure_say(why, FW_ERR_SYSTEM, 0, "database: no pipeline mode");
    PQsetNoticeReceiver(pg, say_nothing, NULL);
    return FW_OK;
}

static fw_error open_it(struct db *db, enum db_use use, struct db_conn **conn,
                        struct fw_failure *why)
{
    struct postgres_conn *c = calloc(1, sizeof *c);
    if (!c)
        return out_of_memory(why);
    char *message = NULL;
    c->pg = connect_to(db->where, use, &message);
    fw_error error;
    if (!c->pg) {
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "the database's URL cannot be used: %.*s",
                            first_line(message), message ? message : "");
        PQfreemem(message);
    } else if (PQstatus(c->pg) != CONNECTION_OK) {
        error = failure_say(why, FW_ERR_VANISHED, 0, "database: %.*s",
                            first_line(PQerrorMessage(c->pg)), PQerrorMessage(c->pg));
    } else {
        error = check_server(c->pg, why);
        if (!error) /* a stronger setting stays */
            error = run(&c->base, why, NULL,
                        "SELECT set_config('synchronous_commit', 'on', false)"
                        " WHERE current_setting('synchronous_commit') = 'off'",
                        DB_NONE);
    }
    if (error) {
        close_it(&c->base);
        return error;
    }
    *conn = &c->base;
    return FW_OK;
}

const struct db_driver db_postgres = {
    .id = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    .blob = "BYTEA",
    .clustered = "",
    .integer = "BIGINT",
    .text = "TEXT COLLATE \"C\"",
    .readers = 8,
    .writers = 8,
    .open = open_it,
    .close = close_it,
    .alive = alive,
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
    .get_real = get_real,
    .get_bytes = get_bytes,
    .backup = backup,
};
