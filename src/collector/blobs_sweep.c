#include "collector/blobs_sweep.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"

#include <stdlib.h>
#include <string.h>

struct keys {
    char **list;
    size_t count, capacity;
    uint64_t before_ms;
    bool failed; /* memory ran out */
};

static bool take_old(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    struct keys *k = context;
    (void)size;
    if (changed_ms >= k->before_ms)
        return true;
    char *copy = array_room(&k->list, &k->capacity, k->count, sizeof *k->list) ? strdup(key) : NULL;
    k->failed = !copy;
    if (copy)
        k->list[k->count++] = copy;
    return copy != NULL;
}

static fw_error sweep_key(struct collector *c, const struct blobs_sweep *sweep, const char *key,
                          struct fw_failure *why)
{
    struct db_conn *conn;
    bool named = true;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = sweep->named(conn, key, &named, why);
    db_give(c->db, conn);
    return e || named ? e : blobs_remove(c->blobs, key, why);
}

fw_error blobs_sweep(struct collector *c, const struct job *job, const struct blobs_sweep *sweep,
                     struct fw_failure *why)
{
    struct keys k = {.before_ms = sweep->before_ms};
    fw_error e = blobs_list(c->blobs, sweep->prefix, take_old, &k, why);
    if (!e && k.failed)
        e = failure_memory(why);
    for (size_t i = 0; i < k.count; i++) {
        if (!e && !jobs_progress(c, job, i, k.count))
            e = failure_say(why, FW_ERR_TIMEOUT, 0, "stopped");
        e = e ? e : sweep_key(c, sweep, k.list[i], why);
        free(k.list[i]);
    }
    free(k.list);
    return e;
}
