/*
 * health.h. A thread asks the database and another one the store, since either may keep who asks
 * waiting for long; one that waits longer than STUCK_MS counts as not answered. While reports could
 * not be stored, the one of the database tries to write, so that it is noticed when that works
 * again though nobody sends any more.
 */
#include "collector/health.h"

#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/clock.h"
#include "collector/damage.h"
#include "collector/db.h"
#include "collector/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EVERY_MS = 1000,       /* how often the database is asked */
    STORE_EVERY_MS = 5000, /* and a store that works */
    STUCK_MS = 3000,
    LEAVE_SECONDS = 5, /* at the end, for one that waits */
};

struct probe {
    struct health *health;
    pthread_t thread;
    bool runs;        /* the thread was started */
    bool gone;        /* and has ended, or is about to */
    int64_t since_ms; /* monotonic: it waits for an answer since then; 0: it does not wait */
};

struct health {
    struct collector *c;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t end;   /* of this, and of a probe */
    bool ending;
    bool ill[HEALTH_COUNT], full; /* full: reports are not stored for want of room */
    struct probe database, store;
};

static const char *const troubles[HEALTH_COUNT] = {
    [HEALTH_DATABASE] = "the database does not answer",
    [HEALTH_REPORTS] = "reports cannot be stored",
    [HEALTH_STORE] = "the blob store does not answer",
    [HEALTH_PACKS] = "the blob store cannot be written",
};

void health_note(struct health *health, enum health_of of, const struct fw_failure *why)
{
    if (!health)
        return;
    pthread_mutex_lock(&health->lock);
    bool was = health->ill[of];
    health->ill[of] = why != NULL;
    if (of == HEALTH_REPORTS)
        health->full = why && why->code == FW_ERR_FULL;
    pthread_mutex_unlock(&health->lock);
    if (why && !was)
        log_line("health: %s: %s", troubles[of], why->message);
    else if (!why && was)
        log_line("health: no longer: %s", troubles[of]);
}

/* ---- asking ---- */

static fw_error read_something(struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why, "SELECT COUNT(*) FROM setting", DB_NONE);
    return e ? e : db_end(rows, why);
}

static fw_error with_database(struct collector *c, enum db_use use,
                              fw_error (*step)(struct db_conn *, struct fw_failure *),
                              struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, use, &conn, why);
    if (e)
        return e;
    e = step(conn, why);
    db_give(c->db, conn);
    return e;
}

static fw_error write_something(struct db_conn *conn, struct fw_failure *why)
{
    return db_run(conn, why, "UPDATE setting SET value = value WHERE name = 'salt'", DB_NONE);
}

static void ask_database(struct health *h)
{
    struct fw_failure why = {0};
    fw_error e = with_database(h->c, DB_READ, read_something, &why);
    health_note(h, HEALTH_DATABASE, e ? &why : NULL);
    if (!e)
        damage_write_down(h->c);
    if (!e && !health_works(h, HEALTH_REPORTS) &&
        with_database(h->c, DB_WRITE, write_something, &why) == FW_OK)
        health_note(h, HEALTH_REPORTS, NULL);
}

static void ask_store(struct health *h)
{
    struct fw_failure why = {0};
    uint64_t size;
    fw_error e = blobs_size(h->c->blobs, "packs/healthz", &size, &why);
    health_note(h, HEALTH_STORE, e && e != FW_ERR_NOT_FOUND ? &why : NULL);
}

static void *run(struct probe *probe, void (*ask)(struct health *), enum health_of of,
                 unsigned well_ms)
{
    struct health *h = probe->health;
    pthread_mutex_lock(&h->lock);
    while (!h->ending) {
        probe->since_ms = clock_ms();
        pthread_mutex_unlock(&h->lock);
        ask(h);
        pthread_mutex_lock(&h->lock);
        probe->since_ms = 0;
        unsigned ms = h->ill[of] ? EVERY_MS : well_ms;
        struct timespec until = clock_after(ms);
        while (!h->ending && pthread_cond_timedwait(&h->end, &h->lock, &until) == 0)
            ;
    }
    probe->gone = true;
    pthread_cond_broadcast(&h->end);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void *run_database(void *probe)
{
    return run(probe, ask_database, HEALTH_DATABASE, EVERY_MS);
}

static void *run_store(void *probe)
{
    return run(probe, ask_store, HEALTH_STORE, STORE_EVERY_MS);
}

/* ---- answers ---- */

static bool stuck(const struct probe *probe)
{
    return probe->since_ms && clock_ms() - probe->since_ms > STUCK_MS;
}

/* With the lock. */
static bool is_ill(const struct health *h, enum health_of of)
{
    return h->ill[of] || (of == HEALTH_DATABASE && stuck(&h->database)) ||
           (of == HEALTH_STORE && stuck(&h->store));
}

bool health_works(struct health *health, enum health_of of)
{
    pthread_mutex_lock(&health->lock);
    bool ill = is_ill(health, of);
    pthread_mutex_unlock(&health->lock);
    return !ill;
}

const char *health_trouble(struct health *health)
{
    const char *text = NULL;
    pthread_mutex_lock(&health->lock);
    for (int of = 0; of < HEALTH_COUNT && !text; of++)
        if (is_ill(health, (enum health_of)of))
            text = of == HEALTH_REPORTS && health->full
                       ? "reports cannot be stored: the disk is full"
                       : troubles[of];
    pthread_mutex_unlock(&health->lock);
    return text;
}

/* ---- life ---- */

fw_error health_start(struct collector *c, struct fw_failure *why)
{
    struct health *h = calloc(1, sizeof *h);
    if (!h)
        return failure_memory(why);
    clock_cond_init(&h->end);
    pthread_mutex_init(&h->lock, NULL);
    h->c = c;
    h->database.health = h->store.health = h;
    c->health = h;
    h->database.runs = pthread_create(&h->database.thread, NULL, run_database, &h->database) == 0;
    h->store.runs = pthread_create(&h->store.thread, NULL, run_store, &h->store) == 0;
    return h->database.runs && h->store.runs
               ? FW_OK
               : failure_say(why, FW_ERR_SYSTEM, 0, "cannot start a thread");
}

static void join(struct probe *probe)
{
    struct health *h = probe->health;
    struct timespec until = clock_after(LEAVE_SECONDS * 1000);
    if (!probe->runs)
        return;
    pthread_mutex_lock(&h->lock);
    while (!probe->gone && pthread_cond_timedwait(&h->end, &h->lock, &until) == 0)
        ;
    bool gone = probe->gone;
    pthread_mutex_unlock(&h->lock);
    if (!gone) {
        log_line("health: leaving without an answer of the database or the store");
        _exit(1); /* all that was acknowledged is stored */
    }
    pthread_join(probe->thread, NULL);
}

void health_stop(struct health *health)
{
    if (!health)
        return;
    pthread_mutex_lock(&health->lock);
    health->ending = true;
    pthread_cond_broadcast(&health->end);
    pthread_mutex_unlock(&health->lock);
    join(&health->database);
    join(&health->store);
    pthread_cond_destroy(&health->end);
    pthread_mutex_destroy(&health->lock);
    free(health);
}
