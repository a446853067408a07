/*
 * access_store.h: the memory of secrets, the look into the database, and the thread that writes
 * when keys were last used.
 *
 * Secrets are found by their SHA-256, in memory and in the database, so how long a comparison takes
 * tells nothing about a secret. A look that began before access_forget leaves nothing in memory
 * (generation).
 */
#include "collector/access_store.h"

#include "base/failure.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "collector/db.h"
#include "collector/log.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REMEMBERED = 1024, /* slots, by the first bytes of the hash: a newer one takes an older's */
    USED = 1024,
    LONGEST_SECRET = 1024,
};

struct remembered {
    uint8_t hash[ACCESS_HASH_SIZE];
    uint64_t until_ms; /* 0: free */
    struct access_entry entry;
};

struct used {
    int64_t id;
    uint64_t at_ms;
};

struct access_store {
    struct collector *collector;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t end;
    bool ending;
    uint64_t generation;
    struct remembered remembered[REMEMBERED];
    struct used used[USED]; /* since they were written last; past the last one nothing is noted */
    size_t used_count;
    pthread_t writer;
};

static struct remembered *slot_of(struct access_store *store, const uint8_t *hash)
{
    return &store->remembered[(hash[0] | hash[1] << 8) % REMEMBERED];
}

static bool expired(const struct access_entry *entry, uint64_t now)
{
    return entry->expires_ms && (uint64_t)entry->expires_ms <= now;
}

/* Below the lock. */
static void note_used(struct access_store *store, int64_t id, uint64_t now)
{
    for (size_t i = 0; i < store->used_count; i++) {
        if (store->used[i].id == id) {
            store->used[i].at_ms = now;
            return;
        }
    }
    if (store->used_count < USED)
        store->used[store->used_count++] = (struct used){id, now};
}

static bool recall(struct access_store *store, const uint8_t *hash, struct access_entry *entry)
{
    uint64_t now = collector_now_ms();
    pthread_mutex_lock(&store->lock);
    struct remembered *slot = slot_of(store, hash);
    bool there = slot->until_ms > now && slot->until_ms <= now + ACCESS_REMEMBER_MS &&
                 CRYPTO_memcmp(slot->hash, hash, ACCESS_HASH_SIZE) == 0 &&
                 !expired(&slot->entry, now);
    if (there)
        *entry = slot->entry;
    pthread_mutex_unlock(&store->lock);
    return there;
}

bool access_remembered(struct access_store *store, const char *secret, struct access_entry *entry)
{
    uint8_t hash[ACCESS_HASH_SIZE];
    if (strnlen(secret, LONGEST_SECRET) == LONGEST_SECRET)
        return false;
    access_hash(secret, hash);
    return recall(store, hash, entry);
}

/* A session has its token's rights, and ends with it. */
static const char find_sql[] =
    "SELECT k.id, k.kind, k.project, COALESCE(p.scopes, k.scopes), k.label, k.csrf, k.expires_ms"
    " FROM access_key k LEFT JOIN access_key p ON p.id = k.parent"
    " WHERE k.hash = $1 AND k.revoked_ms IS NULL AND COALESCE(k.expires_ms, $2) >= $2"
    " AND (k.parent IS NULL OR (p.id IS NOT NULL AND p.revoked_ms IS NULL"
    " AND COALESCE(p.expires_ms, $2) >= $2))";

static fw_error look(struct access_store *store, const uint8_t *hash, struct access_entry *entry,
                     struct fw_failure *why)
{
    struct db_conn *conn = NULL;
    struct db_rows *rows = NULL;
    fw_error error = db_take(store->collector->db, DB_READ, &conn, why);
    if (!error)
        error = db_query(
            conn, &rows, why, find_sql,
            DB_VALUES(db_bytes(hash, ACCESS_HASH_SIZE), db_int((int64_t)collector_now_ms())));
    *entry = (struct access_entry){.access.kind = ACCESS_NOBODY};
    if (!error && db_next(rows)) {
        entry->access.id = db_get_int(rows, 0);
        entry->access.kind = (enum access_kind)db_get_int(rows, 1);
        entry->access.project = db_get_int(rows, 2);
        entry->access.scopes = (unsigned)db_get_int(rows, 3);
        const char *label = db_get_text(rows, 4), *csrf = db_get_text(rows, 5);
        snprintf(entry->access.label, sizeof entry->access.label, "%s", label ? label : "");
        snprintf(entry->csrf, sizeof entry->csrf, "%s", csrf ? csrf : "");
        entry->expires_ms = db_get_int(rows, 6);
    }
    if (!error)
        error = db_end(rows, why);
    db_give(store->collector->db, conn);
    return error;
}

fw_error access_find(struct access_store *store, const char *secret, struct access_entry *entry,
                     struct fw_failure *why)
{
    uint8_t hash[ACCESS_HASH_SIZE];
    *entry = (struct access_entry){.access.kind = ACCESS_NOBODY};
    if (strnlen(secret, LONGEST_SECRET) == LONGEST_SECRET)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no such secret");
    access_hash(secret, hash);
    if (!recall(store, hash, entry)) {
        pthread_mutex_lock(&store->lock);
        uint64_t generation = store->generation;
        pthread_mutex_unlock(&store->lock);
        fw_error error = look(store, hash, entry, why);
        if (error)
            return error;
        uint64_t now = collector_now_ms();
        pthread_mutex_lock(&store->lock);
        if (entry->access.kind != ACCESS_NOBODY)
            note_used(store, entry->access.id, now);
        if (generation == store->generation) {
            struct remembered *slot = slot_of(store, hash);
            memcpy(slot->hash, hash, sizeof hash);
            slot->until_ms = now + ACCESS_REMEMBER_MS;
            slot->entry = *entry;
        }
        pthread_mutex_unlock(&store->lock);
    }
    if (entry->access.kind == ACCESS_NOBODY)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no such secret");
    return FW_OK;
}

void access_forget(struct access_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->generation++;
    for (size_t i = 0; i < REMEMBERED; i++)
        store->remembered[i].until_ms = 0;
    pthread_mutex_unlock(&store->lock);
}

/* ---- the writer ---- */

static fw_error write_used(struct db_conn *conn, const struct used *used, size_t count,
                           struct fw_failure *why)
{
    fw_error error = db_begin(conn, why);
    for (size_t i = 0; i < count && !error; i++)
        error = db_run(conn, why, "UPDATE access_key SET used_ms = $1 WHERE id = $2",
                       DB_VALUES(db_int((int64_t)used[i].at_ms), db_int(used[i].id)));
    if (!error && clock_may_remove(NULL) == FW_OK)
        error = db_run(conn, why, "DELETE FROM access_key WHERE kind = $1 AND expires_ms < $2",
                       DB_VALUES(db_int(ACCESS_SESSION),
                                 db_int((int64_t)collector_now_ms() - ACCESS_SESSION_MS)));
    return error ? error : db_commit(conn, why);
}

static void *write_loop(void *context)
{
    struct access_store *store = context;
    struct used used[USED];
    pthread_mutex_lock(&store->lock);
    for (bool ending = false; !ending;) {
        struct timespec until = clock_after(ACCESS_USED_MS);
        while (!store->ending && pthread_cond_timedwait(&store->end, &store->lock, &until) == 0)
            continue;
        ending = store->ending;
        size_t count = store->used_count;
        memcpy(used, store->used, count * sizeof *used);
        store->used_count = 0;
        pthread_mutex_unlock(&store->lock);
        struct fw_failure why = {0};
        struct db_conn *conn = NULL;
        if (count && (db_take(store->collector->db, DB_WRITE, &conn, &why) ||
                      write_used(conn, used, count, &why)))
            log_line("access: when keys were used could not be written: %s", why.message);
        db_give(store->collector->db, conn);
        pthread_mutex_lock(&store->lock);
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

/* ---- life cycle ---- */

static const struct access starter = {.label = "framewalk serve"};

static fw_error make_admin(struct db_conn *conn, char secret[ACCESS_SECRET_SIZE],
                           struct fw_failure *why)
{
    int64_t id = 0;
    char subject[32];
    const struct access_new admin = {.kind = ACCESS_TOKEN, .label = "admin", .scopes = ACCESS_ALL};
    fw_error error = access_make(conn, &admin, secret, NULL, &id, why);
    snprintf(subject, sizeof subject, "%lld", (long long)id);
    if (!error)
        audit(conn, &starter, "token.create", subject, "admin");
    return error;
}

fw_error access_make_admin(struct collector *c, char secret[ACCESS_SECRET_SIZE],
                           struct fw_failure *why)
{
    struct db_conn *conn = NULL;
    fw_error error = db_take(c->db, DB_WRITE, &conn, why);
    if (!error)
        error = db_begin(conn, why);
    if (!error)
        error = make_admin(conn, secret, why);
    if (!error)
        error = db_commit(conn, why);
    db_give(c->db, conn);
    return error;
}

static fw_error has_admin(struct db_conn *conn, bool *has, struct fw_failure *why)
{
    int64_t one;
    fw_error error = db_query_int(conn, &one, why,
                                  "SELECT 1 FROM access_key WHERE kind = $1 AND (scopes & $2) <> 0"
                                  " AND revoked_ms IS NULL LIMIT 1",
                                  DB_VALUES(db_int(ACCESS_TOKEN), db_int(ACCESS_ADMIN)));
    *has = one != 0;
    return error;
}

static fw_error first_project(struct collector *c, struct fw_failure *why)
{
    struct db_conn *conn = NULL;
    fw_error error = db_take(c->db, DB_WRITE, &conn, why);
    if (!error)
        error = db_begin(conn, why);
    if (!error)
        error = db_run(conn, why,
                       "INSERT INTO project (slug, name, created_ms)"
                       " VALUES ('default', 'Default', $1) ON CONFLICT (slug) DO NOTHING",
                       DB_VALUES(db_int((int64_t)collector_now_ms())));
    if (!error)
        error = db_commit(conn, why);
    db_give(c->db, conn);
    return error;
}

fw_error access_make_first(struct collector *c, char first[ACCESS_SECRET_SIZE],
                           struct fw_failure *why)
{
    struct db_conn *conn = NULL;
    bool has = true;
    first[0] = '\0';
    fw_error error = db_take(c->db, DB_WRITE, &conn, why);
    if (!error)
        error = db_begin(conn, why);
    if (!error)
        error = has_admin(conn, &has, why);
    if (!error && !has)
        error = make_admin(conn, first, why);
    if (!error)
        error = db_commit(conn, why);
    db_give(c->db, conn);
    return error;
}

fw_error access_open(struct collector *c, struct access_store **out, struct fw_failure *why)
{
    *out = NULL;
    fw_error error = first_project(c, why);
    if (error)
        return error;
    struct access_store *store = calloc(1, sizeof *store);
    if (!store)
        return failure_memory(why);
    store->collector = c;
    pthread_mutex_init(&store->lock, NULL);
    clock_cond_init(&store->end);
    int failed = pthread_create(&store->writer, NULL, write_loop, store);
    if (failed) {
        free(store);
        return failure_say(why, FW_ERR_SYSTEM, failed, "cannot start a thread");
    }
    *out = store;
    return FW_OK;
}

void access_close(struct access_store *store)
{
    if (!store)
        return;
    pthread_mutex_lock(&store->lock);
    store->ending = true;
    pthread_cond_signal(&store->end);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->writer, NULL);
    pthread_cond_destroy(&store->end);
    pthread_mutex_destroy(&store->lock);
    free(store);
}
