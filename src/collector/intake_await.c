/*
 * Waiting until what was acknowledged is processed: for who answers about reports that were sent a
 * moment ago.
 *
 * The inbox is asked, since any server of the database may process it. What comes later is not
 * waited for, so the wait ends however much comes in.
 */
#include "collector/clock.h"
#include "collector/db.h"
#include "collector/intake_inner.h"

enum { PAUSE_MS = 50, ASKERS = 4 };

static fw_error ask(struct intake *in, int64_t *number, struct fw_failure *why, const char *sql,
                    const struct db_value *values, size_t count)
{
    struct db_conn *conn;
    fw_error e = db_take(in->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query_int(conn, number, why, sql, values, count);
    db_give(in->c->db, conn);
    return e;
}

/* Each one holds a thread of the pool, most of which stay for others. */
static bool may_wait(struct intake *in)
{
    pthread_mutex_lock(&in->lock);
    bool may = in->askers < ASKERS;
    in->askers += may;
    pthread_mutex_unlock(&in->lock);
    return may;
}

static void end_wait(struct intake *in)
{
    pthread_mutex_lock(&in->lock);
    in->askers--;
    pthread_mutex_unlock(&in->lock);
}

fw_error intake_await(struct intake *in, int64_t project, unsigned wait_ms, int64_t *waiting,
                      struct fw_failure *why)
{
    static const char last_sql[] =
        "SELECT COALESCE(MAX(seq), 0) FROM inbox WHERE state = 0 AND project = $1";
    static const char waiting_sql[] =
        "SELECT COUNT(*) FROM inbox WHERE state = 0 AND seq <= $2 AND project = $1";
    int64_t last = 0, until = clock_ms() + (int64_t)wait_ms;
    *waiting = 0;
    fw_error e = ask(in, &last, why, last_sql, DB_VALUES(db_int(project)));
    if (e || !last)
        return e;
    bool waits = wait_ms && may_wait(in);
    for (;;) {
        e = ask(in, waiting, why, waiting_sql, DB_VALUES(db_int(project), db_int(last)));
        if (e || !*waiting || !waits || clock_ms() >= until || intake_stopping(in))
            break;
        intake_sleep(in, PAUSE_MS);
    }
    if (waits)
        end_wait(in);
    return e;
}
