#include "collector/clock_keeper.h"

#include "base/failure.h"
#include "collector/clock.h"
#include "collector/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_MS = 10000, START_LOOKS = 12, START_LOOK_MS = 1000 };

struct clock_keeper {
    struct collector *c;
    pthread_t thread;
    pthread_mutex_t lock; /* of `ending` */
    pthread_cond_t end;
    bool ending;
    int64_t written;   /* "clock_seen" by us, last */
    int64_t confirmed; /* "clock_confirmed" as it was read last */
    bool doubted;
};

/* ---- the database ---- */

struct noted {
    int64_t seen, confirmed; /* 0: none */
};

/* Before there was "clock_seen": the last reports, and the last pack. They are no proof, so that
 * what a wrong clock left in them does not count when it lies ahead. */
static fw_error newest_data(struct db_conn *conn, int64_t *newest, struct fw_failure *why)
{
    int64_t report = 0, pack = 0;
    fw_error e = db_query_int(conn, &report, why,
                              "SELECT MAX(received_ms) FROM (SELECT received_ms FROM report"
                              " ORDER BY id DESC LIMIT 1000) AS last",
                              DB_NONE);
    e = e ? e
          : db_query_int(conn, &pack, why, "SELECT created_ms FROM pack ORDER BY id DESC LIMIT 1",
                         DB_NONE);
    *newest = report > pack ? report : pack;
    if (*newest > clock_real_ms())
        *newest = 0;
    return e;
}

static fw_error read_settings(struct db_conn *conn, struct noted *noted, struct fw_failure *why)
{
    struct db_rows *rows;
    *noted = (struct noted){0};
    fw_error e = db_query(conn, &rows, why,
                          "SELECT name, value FROM setting WHERE name IN ('clock_seen',"
                          " 'clock_confirmed')",
                          DB_NONE);
    if (e)
        return e;
    while (db_next(rows)) {
        int64_t ms = strtoll(db_get_text(rows, 1), NULL, 10);
        *(strcmp(db_get_text(rows, 0), "clock_seen") == 0 ? &noted->seen : &noted->confirmed) = ms;
    }
    return db_end(rows, why);
}

static fw_error read_noted(struct collector *c, bool first, struct noted *noted,
                           struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = read_settings(conn, noted, why);
    if (!e && first && !noted->seen)
        e = newest_data(conn, &noted->seen, why);
    db_give(c->db, conn);
    return e;
}

static fw_error put(struct db_conn *conn, const char *name, int64_t ms, bool later_only,
                    struct fw_failure *why)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, ms);
    return db_run(conn, why,
                  "INSERT INTO setting (name, value) VALUES ($1, $2)"
                  " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                  " WHERE $3 = 0 OR CAST(setting.value AS BIGINT) < CAST(excluded.value AS BIGINT)",
                  DB_VALUES(db_text(name), db_text(text), db_int(later_only)));
}

fw_error clock_keeper_confirm(struct db_conn *conn, struct fw_failure *why)
{
    int64_t now = clock_real_ms();
    fw_error e = put(conn, "clock_seen", now, false, why);
    return e ? e : put(conn, "clock_confirmed", now, false, why);
}

static void write_seen(struct clock_keeper *k)
{
    struct db_conn *conn;
    int64_t now = (int64_t)collector_now_ms();
    if (db_take(k->c->db, DB_WRITE, &conn, NULL) != FW_OK)
        return;
    if (db_begin_soft(conn, NULL) == FW_OK && put(conn, "clock_seen", now, true, NULL) == FW_OK &&
        db_commit(conn, NULL) == FW_OK)
        k->written = now;
    db_give(k->c->db, conn);
}

/* ---- the thread ---- */

static void say(struct clock_keeper *k)
{
    char text[CLOCK_TEXT_SIZE];
    bool doubted = clock_doubted(text);
    if (doubted && !k->doubted)
        log_line("clock: %s", text);
    else if (!doubted && k->doubted)
        log_line("clock: it is believed again");
    k->doubted = doubted;
}

/* An administrator confirmed the clock of another server: this one's, too, when it says the same.
 */
static void take_confirmation(struct clock_keeper *k, const struct noted *noted)
{
    int64_t off = clock_real_ms() - noted->confirmed;
    if (noted->confirmed != k->confirmed && off > -CLOCK_NEAR_MS && off < CLOCK_NEAR_MS)
        clock_confirm();
    k->confirmed = noted->confirmed;
}

static void beat(struct clock_keeper *k)
{
    struct noted noted;
    if (read_noted(k->c, false, &noted, NULL) != FW_OK)
        return;
    take_confirmation(k, &noted);
    if (noted.seen != k->written && noted.seen > k->written - CLOCK_NEAR_MS)
        clock_other(noted.seen);
    say(k);
    if (!k->doubted)
        write_seen(k);
}

static void *run(void *context)
{
    struct clock_keeper *k = context;
    pthread_mutex_lock(&k->lock);
    while (!k->ending) {
        pthread_mutex_unlock(&k->lock);
        beat(k);
        pthread_mutex_lock(&k->lock);
        struct timespec until = clock_after(EVERY_MS);
        while (!k->ending && pthread_cond_timedwait(&k->end, &k->lock, &until) == 0)
            continue;
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* ---- life ---- */

/* Servers whose clock is believed write it down every ten seconds. */
static fw_error look_for_others(struct clock_keeper *k, struct noted *noted, struct fw_failure *why)
{
    char text[CLOCK_TEXT_SIZE];
    fw_error e = FW_OK;
    int64_t before = noted->seen;
    if (!db_is_postgres(k->c->db)) /* who has the file has this clock */
        return FW_OK;
    for (int i = 0; i < START_LOOKS && !e && clock_doubted(text); i++) {
        struct timespec wait = {START_LOOK_MS / 1000, 0};
        nanosleep(&wait, NULL);
        e = read_noted(k->c, false, noted, why);
        if (!e && noted->seen > before)
            clock_other(noted->seen);
        before = noted->seen > before ? noted->seen : before;
    }
    return e;
}

fw_error clock_keeper_start(struct collector *c, struct clock_keeper **keeper,
                            struct fw_failure *why)
{
    struct clock_keeper *k = calloc(1, sizeof *k);
    struct noted noted = {0};
    *keeper = k;
    if (!k)
        return failure_memory(why);
    k->c = c;
    pthread_mutex_init(&k->lock, NULL);
    clock_cond_init(&k->end);
    fw_error e = read_noted(c, true, &noted, why);
    if (!e) {
        clock_known(noted.seen);
        say(k);
        e = look_for_others(k, &noted, why);
    }
    k->written = noted.seen;
    k->confirmed = noted.confirmed;
    if (!e && pthread_create(&k->thread, NULL, run, k) != 0)
        e = failure_say(why, FW_ERR_SYSTEM, 0, "cannot start a thread");
    if (e) {
        k->ending = true; /* there is no thread to be waited for */
        clock_keeper_stop(k);
        *keeper = NULL;
    }
    return e;
}

void clock_keeper_stop(struct clock_keeper *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    bool runs = !k->ending;
    k->ending = true;
    pthread_cond_signal(&k->end);
    pthread_mutex_unlock(&k->lock);
    if (runs)
        pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->end);
    pthread_mutex_destroy(&k->lock);
    free(k);
}
