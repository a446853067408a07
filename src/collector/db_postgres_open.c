/* Connections to PostgreSQL: what they are opened with, whether they still are, their end. */
#include "base/failure.h"
#include "collector/db_postgres_inner.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

void db_postgres_close(struct db_conn *conn)
{
    struct postgres_conn *c = db_postgres_conn(conn);
    PQclear(c->row);
    PQfinish(c->pg);
    for (size_t i = 0; i < c->cache.count; i++)
        free(c->cache.statements[i].prepared);
    db_cache_free(&c->cache);
    free(c);
}

/* Between statements a server has nothing to say but its farewell. */
bool db_postgres_alive(struct db_conn *conn)
{
    PGconn *pg = db_postgres_conn(conn)->pg;
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
 * than to run it: all of ours are short. What a view sorts or counts stays in memory. */
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
    int length = snprintf(options, sizeof options,
                          "-c statement_timeout=%d -c lock_timeout=%d "
                          "-c idle_in_transaction_session_timeout=120000 "
                          "-c client_min_messages=error -c jit=off -c work_mem=16MB "
                          "-c default_transaction_read_only=%s %s",
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

fw_error db_postgres_open(struct db *db, enum db_use use, struct db_conn **conn,
                          struct fw_failure *why)
{
    struct postgres_conn *c = calloc(1, sizeof *c);
    if (!c)
        return failure_memory(why);
    char *message = NULL;
    c->pg = connect_to(db->where, use, &message);
    fw_error error;
    if (!c->pg) {
        error = failure_say(why, FW_ERR_ARGUMENT, 0, "the database's URL cannot be used: %.*s",
                            db_postgres_first_line(message), message ? message : "");
        PQfreemem(message);
    } else if (PQstatus(c->pg) != CONNECTION_OK) {
        error = failure_say(why, FW_ERR_VANISHED, 0, "database: %.*s",
                            db_postgres_first_line(PQerrorMessage(c->pg)), PQerrorMessage(c->pg));
    } else {
        error = check_server(c->pg, why);
        if (!error) /* a stronger setting stays */
            error = db_postgres_send(c,
                                     "SELECT set_config('synchronous_commit', 'on', false)"
                                     " WHERE current_setting('synchronous_commit') = 'off'",
                                     DB_NONE, why);
        if (!error)
            error = db_postgres_settle(c, NULL, why);
    }
    if (error) {
        db_postgres_close(&c->base);
        return error;
    }
    *conn = &c->base;
    return FW_OK;
}
