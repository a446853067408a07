/*
 * Moves pages from SQLite's WAL to the database (https://www.sqlite.org/wal.html), so that no
 * commit pays for it: by itself SQLite does it in whichever commit makes the WAL long, and whoever
 * waits for the connection that writes waits for that as well.
 *
 * A checkpoint beside writers never reaches the WAL's end, and a WAL that is never emptied grows.
 * So most is done beside them, and only the rest, what came meanwhile, with the connection that
 * writes held for that moment: the next writer begins the WAL anew. While the rest stays long (who
 * waits for the writer would wait for all of it), and while readers of an old state keep that from
 * happening, it is tried again after RETRY_MS, and the WAL grows: in the first case up to TOO_LONG,
 * in the second as long as they read (DB_STATEMENT_MS).
 */
#include "collector/db_checkpoint.h"

#include "base/failure.h"
#include "collector/clock.h"

#include <stdlib.h>

enum {
    LONG = 8000, /* pages in the WAL from which on there is a checkpoint: 32 MB */
    REST = 100,  /* with at most so many left, writers are held for the rest: a disk's moment */
    PASSES = 12, /* beside writers, until so little is left */
    TOO_LONG = 65536, /* pages in the WAL from which on writers are held for any rest: 256 MB */
    RETRY_MS = 500,   /* between two attempts */
};

struct db_checkpoints {
    struct db *db;
    sqlite3 *conn;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool stopping;
    int pages; /* in the WAL, after the last commit */
};

static int committed(void *context, sqlite3 *writer, const char *name, int pages)
{
    struct db_checkpoints *c = ((struct db *)context)->checkpoints;
    (void)writer, (void)name;
    if (!c)
        return SQLITE_OK;
    pthread_mutex_lock(&c->mutex);
    c->pages = pages;
    if (pages >= LONG)
        pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    return SQLITE_OK;
}

void db_checkpoint_watch(struct db *db, sqlite3 *writer)
{
    sqlite3_wal_hook(writer, committed, db);
}

/* How many pages of the WAL are not in the database yet; -1: that failed. */
static int pass(struct db_checkpoints *c)
{
    int pages = 0, done = 0;
    int result = sqlite3_wal_checkpoint_v2(c->conn, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
    return result || pages < 0 ? -1 : pages - done;
}

static void checkpoint(struct db_checkpoints *c, bool too_long)
{
    struct db_conn *writer;
    int left = REST + 1;
    for (int i = 0; i < PASSES && left > REST; i++)
        left = pass(c);
    if (left < 0 || (left > REST && !too_long) || db_take_first(c->db, &writer, NULL))
        return;
    pass(c);
    db_give(c->db, writer);
}

static void *run(void *context)
{
    struct db_checkpoints *c = context;
    pthread_mutex_lock(&c->mutex);
    while (!c->stopping) {
        if (c->pages < LONG) {
            pthread_cond_wait(&c->changed, &c->mutex);
            continue;
        }
        const bool too_long = c->pages >= TOO_LONG;
        pthread_mutex_unlock(&c->mutex);
        checkpoint(c, too_long);
        pthread_mutex_lock(&c->mutex);
        struct timespec until = clock_after(RETRY_MS);
        while (!c->stopping && pthread_cond_timedwait(&c->changed, &c->mutex, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

fw_error db_checkpoint_start(struct db *db, struct fw_failure *why)
{
    struct db_checkpoints *c = calloc(1, sizeof *c);
    if (!c)
        return failure_memory(why);
    clock_cond_init(&c->changed);
    pthread_mutex_init(&c->mutex, NULL);
    c->db = db;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int result = sqlite3_open_v2(db->where, &c->conn, flags, NULL);
    if (!result) /* to read something is what makes it find the WAL */
        result = sqlite3_exec(c->conn, "PRAGMA synchronous=FULL; SELECT 1 FROM sqlite_schema", NULL,
                              NULL, NULL);
    if (!result && pthread_create(&c->thread, NULL, run, c) == 0) {
        db->checkpoints = c;
        return FW_OK;
    }
    sqlite3_close(c->conn);
    free(c);
    return failure_say(why, FW_ERR_SYSTEM, 0,
                       "the thread of the database's checkpoints cannot be"
                       " started");
}

void db_checkpoint_stop(struct db *db)
{
    struct db_checkpoints *c = db->checkpoints;
    if (!c)
        return;
    pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    db->checkpoints = NULL;
    sqlite3_close(c->conn);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}
