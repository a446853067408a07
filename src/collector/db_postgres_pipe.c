/*
 * Statements on their way to PostgreSQL and their answers, in libpq's pipeline mode (PostgreSQL
 * manual 34.5).
 *
 * Statements are queued; who needs an answer sends a synchronization point and reads all answers up
 * to it. So the statements of a transaction that nobody waits for cost no round trips. Values go in
 * their binary forms, each with its type: no escaping, no guessing.
 *
 * Every wait has an end: the server's limits, and DB_PATIENCE_MS here for a server that is no
 * longer there.
 */
#include "base/failure.h"
#include "collector/db_postgres_inner.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

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
int db_postgres_first_line(const char *message)
{
    return (int)strcspn(message ? message : "", "\n");
}

fw_error db_postgres_lost(struct postgres_conn *c, struct fw_failure *why)
{
    c->base.broken = true;
    c->sent = 0;
    const char *message = PQerrorMessage(c->pg);
    return failure_say(why, FW_ERR_VANISHED, 0, "database: the connection was lost: %.*s",
                       db_postgres_first_line(message), message);
}

fw_error db_postgres_say(struct postgres_conn *c, const PGresult *result,
                         const struct postgres_statement *statement, struct fw_failure *why)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!state)
        return db_postgres_lost(c, why);
    fw_error code = code_of(state);
    if (code == FW_ERR_VANISHED)
        c->base.broken = true;
    return failure_say(why, code, 0, "database: %.120s [%s] (%s)", text ? text : "", state,
                       statement ? statement->start : "");
}

/* ---- waiting ---- */

fw_error db_postgres_get(struct postgres_conn *c, PGresult **result, struct fw_failure *why)
{
    *result = NULL;
    while (PQisBusy(c->pg)) {
        int unsent = PQflush(c->pg);
        if (unsent < 0)
            return db_postgres_lost(c, why);
        struct pollfd p = {.fd = PQsocket(c->pg),
                           .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN)};
        int ready = poll(&p, 1, c->unlimited ? -1 : DB_PATIENCE_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            db_postgres_lost(c, NULL);
            return failure_say(why, FW_ERR_TIMEOUT, 0, "database: no answer in %d seconds",
                               DB_PATIENCE_MS / 1000);
        }
        if (ready < 0 || !PQconsumeInput(c->pg))
            return db_postgres_lost(c, why);
    }
    *result = PQgetResult(c->pg);
    return FW_OK;
}

static void forget(struct postgres_conn *c, struct postgres_statement *statement)
{
    for (unsigned i = 0; i < c->sent; i++)
        if (c->pending[i].statement == statement)
            c->pending[i].statement = NULL;
    db_cache_remove(&c->cache, statement);
    free(statement);
}

fw_error db_postgres_read_answer(struct postgres_conn *c, struct postgres_answer *answer,
                                 uint64_t *rows, struct fw_failure *failed)
{
    bool fine = false;
    PGresult *result;
    for (;;) {
        struct fw_failure now;
        fw_error error = db_postgres_get(c, &result, &now);
        if (error && !failed->code)
            *failed = now;
        if (error || !result)
            break;
        ExecStatusType status = PQresultStatus(result);
        fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
        if (fine && rows && !answer->prepares)
            *rows = strtoull(PQcmdTuples(result), NULL, 10);
        else if (!fine && status != PGRES_PIPELINE_ABORTED && !failed->code)
            db_postgres_say(c, result, answer->statement, failed);
        PQclear(result);
    }
    if (!fine && answer->prepares && answer->statement)
        forget(c, answer->statement); /* it is not known to the server */
    return failed->code;
}

fw_error db_postgres_read_sync(struct postgres_conn *c, struct fw_failure *failed)
{
    PGresult *result = NULL;
    while (!c->base.broken) {
        struct fw_failure now;
        fw_error error = db_postgres_get(c, &result, &now);
        if (error || PQstatus(c->pg) == CONNECTION_BAD) {
            if (!error)
                db_postgres_lost(c, &now);
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

fw_error db_postgres_send_sync(struct postgres_conn *c, struct fw_failure *why)
{
    return PQpipelineSync(c->pg) && PQflush(c->pg) >= 0 ? FW_OK : db_postgres_lost(c, why);
}

fw_error db_postgres_settle(struct postgres_conn *c, uint64_t *rows, struct fw_failure *why)
{
    struct fw_failure failed = {.code = FW_OK};
    fw_error error = db_postgres_send_sync(c, why);
    if (error)
        return error;
    for (unsigned i = 0; i < c->sent && !c->base.broken; i++)
        db_postgres_read_answer(c, &c->pending[i], rows, &failed);
    error = db_postgres_read_sync(c, &failed);
    if (error && why)
        *why = failed;
    return error;
}

/* ---- sending ---- */

static Oid type_of(const struct db_value *value)
{
    switch (value->type) {
    case DB_INT: return INT8;
    case DB_TEXT: return TEXT;
    case DB_BYTES: return BYTEA;
    default: return 0;
    }
}

static bool fits(const struct postgres_statement *s, const struct db_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].type != DB_NULL && type_of(&values[i]) != s->types[i])
            return false;
    return s->count == count;
}

/* Sends the preparation of a statement that this connection has not seen with such values. */
static fw_error prepare(struct postgres_conn *c, struct postgres_statement **statement,
                        const char *sql, const struct db_value *values, size_t count,
                        struct fw_failure *why)
{
    struct postgres_statement *s = calloc(1, sizeof *s + count * sizeof *s->types);
    if (!s)
        return failure_memory(why);
    snprintf(s->name, sizeof s->name, "s%llu", (unsigned long long)++c->names);
    snprintf(s->start, sizeof s->start, "%s", sql);
    s->count = count;
    for (size_t i = 0; i < count; i++)
        s->types[i] = type_of(&values[i]);
    if (!PQsendPrepare(c->pg, s->name, sql, (int)count, s->types)) {
        free(s);
        return db_postgres_lost(c, why);
    }
    void *dropped;
    if (!db_cache_add(&c->cache, sql, s, &dropped)) {
        free(s);
        c->base.broken = true; /* the answer would find no entry */
        return failure_memory(why);
    }
    c->pending[c->sent++] = (struct postgres_answer){s, true};
    *statement = s;
    if (!dropped)
        return FW_OK;
    char sql_drop[48];
    snprintf(sql_drop, sizeof sql_drop, "DEALLOCATE %s",
             ((struct postgres_statement *)dropped)->name);
    forget(c, dropped);
    if (!PQsendQueryParams(c->pg, sql_drop, 0, NULL, NULL, NULL, NULL, 1))
        return db_postgres_lost(c, why);
    c->pending[c->sent++] = (struct postgres_answer){NULL, false};
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

fw_error db_postgres_send(struct postgres_conn *c, const char *sql, const struct db_value *values,
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
    struct postgres_statement *s = known ? known->prepared : NULL;
    fw_error error = s ? FW_OK : prepare(c, &s, sql, values, count, why);
    if (error)
        return error;
    if (!PQsendQueryPrepared(c->pg, s->name, (int)count, data, sizes, binary, 1))
        return db_postgres_lost(c, why);
    c->pending[c->sent++] = (struct postgres_answer){s, false};
    return FW_OK;
}
