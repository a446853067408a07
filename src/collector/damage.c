/*
 * damage.h. Who finds something may be anywhere, with a connection or without: what was found waits
 * in a short list, and the thread of health.c that asks the database anyway writes it down.
 */
#include "collector/damage.h"

#include "base/crc32c.h"
#include "collector/log.h"

#include <pthread.h>
#include <stdio.h>

enum { FOUND_MAX = 128, KEPT_MS = 60000 };

struct found {
    enum damage_kind kind; /* 0: free */
    int64_t row, at_ms;    /* clock_ms */
    bool written;
    char what[232];
};

static struct { /* one for the process; a full list takes no more until some are written */
    pthread_mutex_t lock;
    struct found list[FOUND_MAX];
} found = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t damage_sum(struct span packed)
{
    return crc32c(packed.data, packed.size);
}

bool damage_is(fw_error error)
{
    return error == FW_ERR_CORRUPT || error == FW_ERR_TRUNCATED || error == FW_ERR_FORMAT ||
           error == FW_ERR_UNSUPPORTED;
}

/* Below the lock; NULL: not there. */
static struct found *find(enum damage_kind kind, int64_t row)
{
    for (size_t i = 0; i < FOUND_MAX; i++)
        if (found.list[i].kind == kind && found.list[i].row == row)
            return &found.list[i];
    return NULL;
}

static struct found *free_place(void)
{
    for (size_t i = 0; i < FOUND_MAX; i++) {
        struct found *f = &found.list[i];
        if (!f->kind || (f->written && clock_ms() - f->at_ms > KEPT_MS))
            return f;
    }
    return NULL;
}

void damage_found(enum damage_kind kind, int64_t row, const char *what)
{
    pthread_mutex_lock(&found.lock);
    struct found *f = find(kind, row);
    bool again = f && f->written && clock_ms() - f->at_ms > KEPT_MS;
    if (!f || again) {
        f = f ? f : free_place();
        if (f) {
            *f = (struct found){.kind = kind, .row = row, .at_ms = clock_ms()};
            snprintf(f->what, sizeof f->what, "%s", what);
        }
    }
    pthread_mutex_unlock(&found.lock);
}

bool damage_found_lately(enum damage_kind kind, int64_t row)
{
    pthread_mutex_lock(&found.lock);
    const struct found *f = find(kind, row);
    bool lately = f && clock_ms() - f->at_ms <= KEPT_MS;
    pthread_mutex_unlock(&found.lock);
    return lately;
}

fw_error damage_note(struct db_conn *conn, enum damage_kind kind, int64_t row, const char *what,
                     struct fw_failure *why)
{
    static const char *const kinds[] = {"", "the body of report", "debug file", "the map of file"};
    uint64_t changed = 0;
    fw_error e = db_change(conn, why, &changed,
                           "INSERT INTO damaged (kind, item, message, found_ms)"
                           " VALUES ($1, $2, $3, $4) ON CONFLICT (kind, item) DO NOTHING",
                           DB_VALUES(db_int((int64_t)kind), db_int(row), db_text(what),
                                     db_int((int64_t)collector_now_ms())));
    if (!e && changed)
        log_line("damaged: %s number %lld: %s", kinds[kind], (long long)row, what);
    return e;
}

static bool take_unwritten(struct found *one)
{
    bool any = false;
    pthread_mutex_lock(&found.lock);
    for (size_t i = 0; i < FOUND_MAX && !any; i++) {
        any = found.list[i].kind && !found.list[i].written;
        if (any)
            *one = found.list[i];
    }
    pthread_mutex_unlock(&found.lock);
    return any;
}

void damage_write_down(struct collector *c)
{
    struct found one;
    struct db_conn *conn;
    while (take_unwritten(&one)) {
        if (db_take(c->db, DB_WRITE, &conn, NULL) != FW_OK)
            return;
        fw_error e = damage_note(conn, one.kind, one.row, one.what, NULL);
        db_give(c->db, conn);
        if (e)
            return;
        pthread_mutex_lock(&found.lock);
        struct found *f = find(one.kind, one.row);
        if (f)
            f->written = true;
        pthread_mutex_unlock(&found.lock);
    }
}

fw_error damage_over(struct db_conn *conn, enum damage_kind kind, int64_t row,
                     struct fw_failure *why)
{
    pthread_mutex_lock(&found.lock);
    struct found *f = find(kind, row);
    if (f)
        f->kind = 0; /* found again it counts again */
    pthread_mutex_unlock(&found.lock);
    return db_run(conn, why, "DELETE FROM damaged WHERE kind = $1 AND item = $2",
                  DB_VALUES(db_int((int64_t)kind), db_int(row)));
}
