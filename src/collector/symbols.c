/*
 * The open maps of the symbol store.
 *
 * A slot says what is known of one image: its map, or that there is none, and when the database was
 * asked. It is asked again when that is older than SYMBOLS_MISS_MS, or after symbols_changed; one
 * thread asks, without the lock, others that cannot go on without the answer wait for it. The lock
 * guards the slots and is never held over a query, a file or a lookup.
 */
#include "collector/symbols.h"

#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/clock.h"
#include "collector/damage.h"
#include "collector/db.h"
#include "collector/jobs.h"
#include "collector/symbols_image.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUCKETS = 4096, SLOTS_MAX = 20000, STAMP_SIZE = 320 };

struct key {
    int64_t project; /* whose files: symbols_of */
    bool breakpad;
    uint8_t id[64];
    size_t id_size;
    char arch[24];
};

struct slot {
    struct slot *next;          /* in its bucket */
    struct slot *newer, *older; /* by last use */
    struct key key;
    struct symbols_image *image; /* NULL: there is none */
    char stamp[STAMP_SIZE];      /* which map it is: another row, blob or size is another one */
    int64_t asked_ms;            /* when the database was (clock_ms); 0: to be asked now */
    uint32_t changes;            /* counts symbols_changed */
    bool busy;                   /* some thread asks; the slot stays */
    bool used;                   /* its map was taken since it was last noted */
};

struct symbols {
    struct collector *collector;
    uint64_t limit; /* bytes of maps that slots hold */
    pthread_mutex_t lock;
    pthread_cond_t asked; /* some slot is not busy any more */
    struct slot *buckets[BUCKETS];
    struct slot *newest, *oldest;
    size_t count;
    uint64_t bytes;
    atomic_flag alone; /* see symbols_alone_begin */
};

fw_error symbols_open(struct collector *c, uint64_t maps_bytes, struct symbols **symbols,
                      struct fw_failure *why)
{
    *symbols = calloc(1, sizeof **symbols);
    if (!*symbols)
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for the symbol store");
    (*symbols)->collector = c;
    (*symbols)->limit = maps_bytes;
    pthread_mutex_init(&(*symbols)->lock, NULL);
    pthread_cond_init(&(*symbols)->asked, NULL);
    atomic_flag_clear(&(*symbols)->alone);
    return FW_OK;
}

void symbols_close(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (struct slot *slot = symbols->newest; slot;) {
        struct slot *older = slot->older;
        symbols_drop(slot->image);
        free(slot);
        slot = older;
    }
    pthread_cond_destroy(&symbols->asked);
    pthread_mutex_destroy(&symbols->lock);
    free(symbols);
}

/* ---- what the database has ---- */

struct map_row {
    bool there;
    int64_t id; /* of symbol_file */
    char blob[256], stamp[STAMP_SIZE];
};

/* The first row is the best: of debug information before a map that came as such, before an
 * executable; the newest. */
static fw_error choose_row(struct db_rows *rows, const char *arch, struct map_row *row,
                           struct fw_failure *why)
{
    bool exact = false;
    *row = (struct map_row){0};
    while (db_next(rows)) {
        const char *blob = db_get_text(rows, 0), *of = db_get_text(rows, 1);
        bool same = arch[0] && of && strcmp(arch, of) == 0;
        if (!blob || strlen(blob) >= sizeof row->blob || (row->there && (exact || !same)))
            continue;
        exact = same;
        row->there = true;
        row->id = db_get_int(rows, 3);
        snprintf(row->blob, sizeof row->blob, "%s", blob);
        snprintf(row->stamp, sizeof row->stamp, "%s %lld %lld", blob,
                 (long long)db_get_int(rows, 2), (long long)db_get_int(rows, 3));
    }
    return db_end(rows, why);
}

/* Who sees all files sees the shared ones first: a project must not put its own before others'. A
 * project's own come before shared ones that are as good. */
#define BEST_FIRST(project)                                                                        \
    " AND " SYMBOLS_OF(project) " AND state = 1 AND map_blob IS NOT NULL"                          \
                                " ORDER BY CASE WHEN $" project                                    \
                                " < 0 AND project <> 0 THEN 1 ELSE 0 END,"                         \
                                " CASE kind WHEN 2 THEN 0 WHEN 3 THEN 1 ELSE 2 END,"               \
                                " CASE WHEN project = 0 THEN 1 ELSE 0 END, id DESC LIMIT 50"

static fw_error query_id(struct db_conn *conn, const struct key *key, struct map_row *row,
                         struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error = db_query(conn, &rows, why,
                              "SELECT map_blob, arch, map_size, id FROM symbol_file"
                              " WHERE debug_id = $1" BEST_FIRST("2"),
                              DB_VALUES(db_bytes(key->id, key->id_size), db_int(key->project)));
    return error == FW_OK ? choose_row(rows, key->arch, row, why) : error;
}

/* The bytes of a build id whose Breakpad id this is; it may be longer, and one that was shorter was
 * filled up with zeros: all of these lie from `low` to before `high`. */
static size_t build_id_range(const uint8_t id[16], uint8_t low[16], uint8_t high[16])
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < 16; i++)
        low[i] = id[order[i]];
    memcpy(high, low, 16);
    for (size_t i = 16; i-- > 0;)
        if (++high[i])
            break;
    size_t size = 16;
    while (size > 1 && low[size - 1] == 0)
        size--;
    return size;
}

static fw_error query_breakpad(struct db_conn *conn, const struct key *key, struct map_row *row,
                               struct fw_failure *why)
{
    fw_error error = query_id(conn, key, row, why);
    if (error != FW_OK || row->there)
        return error;
    uint8_t low[16], high[16];
    size_t low_size = build_id_range(key->id, low, high);
    struct db_rows *rows;
    error = db_query(conn, &rows, why,
                     "SELECT map_blob, arch, map_size, id FROM symbol_file"
                     " WHERE debug_id >= $1 AND debug_id < $2" BEST_FIRST("3"),
                     DB_VALUES(db_bytes(low, low_size), db_bytes(high, 16), db_int(key->project)));
    return error == FW_OK ? choose_row(rows, "", row, why) : error;
}

static fw_error find_row(struct symbols *symbols, const struct key *key, struct map_row *row,
                         struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error error = db_take(symbols->collector->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    error = key->breakpad ? query_breakpad(conn, key, row, why) : query_id(conn, key, row, why);
    db_give(symbols->collector->db, conn);
    return error;
}

static fw_error open_blob(struct collector *c, const char *blob, struct symbols_image **image,
                          struct fw_failure *why)
{
    int fd;
    fw_error error = blobs_file(c->blobs, blob, &fd, why);
    if (error == FW_ERR_NOT_FOUND)
        return failure_say(why, FW_ERR_CORRUPT, 0, "the symbol map is not there any more");
    if (error != FW_OK)
        return error;
    error = symbols_image_open(fd, blob, c->metrics, image, why);
    close(fd);
    return error;
}

static fw_error open_row(struct symbols *symbols, const struct map_row *row,
                         struct symbols_image **image)
{
    struct collector *c = symbols->collector;
    struct fw_failure why = {0};
    fw_error error = open_blob(c, row->blob, image, &why);
    if (damage_is(error) && blobs_forget_copy(c->blobs, row->blob))
        error = open_blob(c, row->blob, image, &why);
    if (damage_is(error))
        damage_found(DAMAGE_MAP, row->id, why.message);
    return error;
}

/* ---- slots, under the lock ---- */

static uint32_t bucket_of(const uint8_t *id, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ id[i]) * 16777619u;
    return (hash ^ hash >> 12) % BUCKETS;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->project == b->project && a->breakpad == b->breakpad && a->id_size == b->id_size &&
           memcmp(a->id, b->id, a->id_size) == 0 && strcmp(a->arch, b->arch) == 0;
}

static void unlink_use(struct symbols *s, struct slot *slot)
{
    *(slot->newer ? &slot->newer->older : &s->newest) = slot->older;
    *(slot->older ? &slot->older->newer : &s->oldest) = slot->newer;
}

static void link_newest(struct symbols *s, struct slot *slot)
{
    slot->newer = NULL;
    slot->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = slot;
    s->newest = slot;
}

static void set_image(struct symbols *s, struct slot *slot, struct symbols_image *image)
{
    if (slot->image)
        s->bytes -= symbols_image_bytes(slot->image);
    symbols_drop(slot->image);
    slot->image = image;
    if (image)
        s->bytes += symbols_image_bytes(image);
}

static void remove_slot(struct symbols *s, struct slot *slot)
{
    struct slot **at = &s->buckets[bucket_of(slot->key.id, slot->key.id_size)];
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    unlink_use(s, slot);
    set_image(s, slot, NULL);
    s->count--;
    free(slot);
}

/* The longest unused go first; the newest stays, however large its map is. */
static void make_room(struct symbols *s)
{
    for (struct slot *slot = s->oldest; slot && slot != s->newest;) {
        if (s->bytes <= s->limit && s->count <= SLOTS_MAX)
            return;
        struct slot *newer = slot->newer;
        if (!slot->busy && (slot->image || s->count > SLOTS_MAX))
            remove_slot(s, slot);
        slot = newer;
    }
}

static struct slot *slot_of(struct symbols *s, const struct key *key)
{
    struct slot **bucket = &s->buckets[bucket_of(key->id, key->id_size)], *slot = *bucket;
    while (slot && !same_key(&slot->key, key))
        slot = slot->next;
    if (slot) {
        unlink_use(s, slot);
        link_newest(s, slot);
        return slot;
    }
    slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->key = *key;
    slot->next = *bucket;
    *bucket = slot;
    link_newest(s, slot);
    s->count++;
    make_room(s);
    return slot;
}

/* ---- taking ---- */

/* A shared file's map is open once for all projects that use it. Takes the lock for itself; the
 * slot's own key is its reader's while it is busy. NULL: nobody has it open. */
static struct symbols_image *opened_for_others(struct symbols *s, const struct slot *of,
                                               const char *stamp)
{
    struct symbols_image *image = NULL;
    pthread_mutex_lock(&s->lock);
    struct slot *slot = s->buckets[bucket_of(of->key.id, of->key.id_size)];
    for (; slot && !image; slot = slot->next)
        if (slot != of && slot->image && strcmp(slot->stamp, stamp) == 0)
            image = slot->image;
    if (image)
        symbols_image_hold(image);
    pthread_mutex_unlock(&s->lock);
    return image;
}

/* Asks the database for a slot that is busy by us. Without the lock, taken again at the end. What
 * cannot be asked or opened now stays as it was. */
static void ask(struct symbols *s, struct slot *slot)
{
    struct map_row row;
    struct symbols_image *image = NULL;
    struct fw_failure why = {0};
    uint32_t changes = slot->changes;
    pthread_mutex_unlock(&s->lock);
    fw_error error = find_row(s, &slot->key, &row, &why);
    bool same = error == FW_OK && row.there && slot->image && strcmp(row.stamp, slot->stamp) == 0;
    if (error == FW_OK && row.there && !same)
        image = opened_for_others(s, slot, row.stamp);
    if (error == FW_OK && row.there && !same && !image)
        error = open_row(s, &row, &image);
    int64_t now = clock_ms();
    pthread_mutex_lock(&s->lock);
    if (error == FW_OK && !same) {
        set_image(s, slot, image);
        memcpy(slot->stamp, row.stamp, sizeof slot->stamp);
    }
    slot->asked_ms = slot->changes == changes ? now : 0;
    slot->busy = false;
    unlink_use(s, slot);
    link_newest(s, slot);
    make_room(s);
    pthread_cond_broadcast(&s->asked);
}

static struct symbols_image *take(struct symbols *s, const struct key *key)
{
    struct symbols_image *image = NULL;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct slot *slot = slot_of(s, key); /* anew: while waiting it may have been removed */
        if (!slot)
            break;
        bool fresh = slot->asked_ms && clock_ms() - slot->asked_ms < SYMBOLS_MISS_MS;
        if (!fresh && !slot->busy) {
            slot->busy = true;
            ask(s, slot);
            continue;
        }
        if (!fresh && !(slot->asked_ms && slot->image)) {
            pthread_cond_wait(&s->asked, &s->lock);
            continue;
        }
        image = slot->image;
        if (image)
            symbols_image_hold(image);
        slot->used |= image != NULL;
        break;
    }
    pthread_mutex_unlock(&s->lock);
    return image;
}

int64_t symbols_of(const struct access *access)
{
    return access->kind == ACCESS_NOBODY ? SYMBOLS_SHARED
           : access->project             ? access->project
                                         : SYMBOLS_ALL;
}

struct symbols_image *symbols_take(struct symbols *symbols, int64_t project, const uint8_t *id,
                                   size_t id_size, const char *arch)
{
    struct key key = {.project = project, .id_size = id_size};
    if (id_size == 0 || id_size > sizeof key.id)
        return NULL;
    memcpy(key.id, id, id_size);
    snprintf(key.arch, sizeof key.arch, "%s", arch ? arch : "");
    return take(symbols, &key);
}

struct symbols_image *symbols_take_breakpad(struct symbols *symbols, int64_t project,
                                            const uint8_t id[16])
{
    struct key key = {.project = project, .breakpad = true, .id_size = 16};
    memcpy(key.id, id, 16);
    return take(symbols, &key);
}

static fw_error is_damaged(struct symbols *symbols, int64_t row, bool *damaged,
                           struct fw_failure *why)
{
    struct db_conn *conn;
    int64_t listed = 0;
    fw_error error = db_take(symbols->collector->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    error =
        db_query_int(conn, &listed, why, "SELECT item FROM damaged WHERE kind = $1 AND item = $2",
                     DB_VALUES(db_int(DAMAGE_MAP), db_int(row)));
    db_give(symbols->collector->db, conn);
    *damaged = listed || damage_found_lately(DAMAGE_MAP, row);
    return error;
}

fw_error symbols_why_none(struct symbols *symbols, int64_t project, const uint8_t *id,
                          size_t id_size, bool breakpad, struct fw_failure *why)
{
    struct key key = {.project = project, .breakpad = breakpad, .id_size = id_size};
    struct map_row row = {.there = false};
    bool damaged = false;
    memcpy(key.id, id, id_size < sizeof key.id ? id_size : sizeof key.id);
    fw_error error = find_row(symbols, &key, &row, why);
    if (error == FW_OK && row.there)
        error = is_damaged(symbols, row.id, &damaged, why);
    if (error != FW_OK)
        return error;
    return damaged ? failure_say(why, FW_ERR_CORRUPT, 0, "the stored symbol map is damaged")
                   : failure_say(why, FW_ERR_NOT_FOUND, 0, "not found");
}

void symbols_changed(struct symbols *symbols, const uint8_t *id, size_t id_size)
{
    uint8_t low[16], high[16], start[16] = {0};
    memcpy(start, id, id_size < sizeof start ? id_size : sizeof start);
    pthread_mutex_lock(&symbols->lock);
    for (struct slot *slot = symbols->newest; slot; slot = slot->older) {
        bool same = slot->key.id_size == id_size && memcmp(slot->key.id, id, id_size) == 0;
        if (!same && slot->key.breakpad) {
            build_id_range(slot->key.id, low, high);
            same = memcmp(low, start, sizeof low) == 0;
        }
        if (same) {
            slot->asked_ms = 0;
            slot->changes++;
        }
    }
    pthread_mutex_unlock(&symbols->lock);
}

bool symbols_alone_begin(struct symbols *symbols)
{
    return !atomic_flag_test_and_set(&symbols->alone);
}

void symbols_alone_end(struct symbols *symbols)
{
    atomic_flag_clear(&symbols->alone);
}

/* ---- what retention goes by ---- */

static struct key *take_used(struct symbols *s, size_t *count)
{
    *count = 0;
    pthread_mutex_lock(&s->lock);
    struct key *keys = calloc(s->count + 1, sizeof *keys);
    for (struct slot *slot = s->newest; keys && slot; slot = slot->older) {
        if (slot->used && slot->image) {
            struct key *key = &keys[(*count)++];
            *key = slot->key;
            if (key->breakpad) { /* only the map knows the whole id */
                const struct symmap_identity *of = symmap_identity(symbols_image_map(slot->image));
                key->id_size = of->id_size;
                memcpy(key->id, of->id, sizeof key->id);
            }
        }
        slot->used = false;
    }
    pthread_mutex_unlock(&s->lock);
    return keys;
}

/* symbol_file.used_ms of the images whose maps were taken lately. What a lost server did not note
 * is noted when it is used again: retention counts in months. */
static fw_error note_used(struct collector *c, const struct job *job, struct fw_failure *why)
{
    size_t count;
    struct key *keys = take_used(c->symbols, &count);
    struct db_conn *conn = NULL;
    fw_error error = keys ? FW_OK : failure_memory(why);
    (void)job;
    if (error == FW_OK && count)
        error = db_take(c->db, DB_WRITE, &conn, why);
    if (conn)
        error = db_begin(conn, why);
    for (size_t i = 0; conn && error == FW_OK && i < count; i++)
        error =
            db_run(conn, why,
                   "UPDATE symbol_file SET used_ms = $1 WHERE debug_id = $2 AND " SYMBOLS_OF("3"),
                   DB_VALUES(db_int((int64_t)collector_now_ms()),
                             db_bytes(keys[i].id, keys[i].id_size), db_int(keys[i].project)));
    if (conn && error == FW_OK)
        error = db_commit(conn, why);
    db_give(c->db, conn);
    free(keys);
    return error;
}

enum { NOTE_EVERY_MS = 10 * 60 * 1000 };
const struct job_kind job_symbols_used = {
    .name = "symbols used", .run = note_used, .every_ms = NOTE_EVERY_MS};
