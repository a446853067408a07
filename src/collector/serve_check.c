/*
 * serve_check.h. First all that rows name, then all blobs that no row names. A server may work on
 * the same store: what looks wrong is looked at once more, with the rows as they are then.
 */
#include "collector/serve_check.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/backup.h"
#include "collector/clock.h"
#include "collector/schema.h"
#include "collector/store_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAY_EVERY_MS = 2000, ROWS_AT_ONCE = 1000, YOUNG_MS = 3600000 };

struct check {
    struct store_check store;
    uint64_t things, damaged, missing, unreferenced, unreferenced_bytes;
    uint64_t done, total; /* packs and debug files */
    int64_t said_ms;
    bool second; /* something was wrong: this is the second look */
    bool wrong;  /* in the first look */
    struct backup_keys named;
};

/* ---- what is found ---- */

static const char *const kinds[] = {"", "body of report", "debug file", "symbol map of"};

static fw_error tell(void *context, const struct store_checked *thing, struct fw_failure *why)
{
    struct check *c = context;
    (void)why;
    if (!c->second) {
        c->wrong |= !thing->whole;
        return FW_OK;
    }
    c->things++;
    if (thing->whole)
        return FW_OK;
    c->missing += thing->missing;
    c->damaged += !thing->missing;
    printf("%s: %s %s (%s): %s\n", thing->missing ? "missing" : "damaged", kinds[thing->kind],
           thing->name, thing->key, thing->message);
    return FW_OK;
}

static fw_error count_thing(void *context, const struct store_checked *thing,
                            struct fw_failure *why)
{
    struct check *c = context;
    (void)why;
    c->things++;
    c->wrong |= !thing->whole;
    return FW_OK;
}

static void progress(struct check *c)
{
    int64_t now = clock_ms();
    c->done++;
    if (now - c->said_ms < SAY_EVERY_MS)
        return;
    c->said_ms = now;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " packs and files, %" PRIu64 " MB\n", c->done,
            c->total, c->store.bytes >> 20);
}

/* ---- rows ---- */

struct row {
    int64_t id;
    char key[128];
};

static fw_error read_rows(struct check *c, const char *sql, int64_t after, struct row *rows,
                          size_t *count, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *found;
    *count = 0;
    fw_error e = db_take(c->store.db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &found, why, sql, DB_VALUES(db_int(after), db_int(ROWS_AT_ONCE)));
    if (!e) {
        while (*count < ROWS_AT_ONCE && db_next(found)) {
            struct row *row = &rows[(*count)++];
            row->id = db_get_int(found, 0);
            snprintf(row->key, sizeof row->key, "%s", db_get_text(found, 1));
        }
        e = db_end(found, why);
    }
    db_give(c->store.db, conn);
    return e;
}

static fw_error look(struct check *c, const struct row *row, bool pack, struct fw_failure *why)
{
    return pack ? store_check_pack(&c->store, row->id, row->key, why)
                : store_check_file(&c->store, row->id, why);
}

static fw_error check_row(struct check *c, const char *sql, struct row *row, bool pack,
                          struct fw_failure *why)
{
    size_t count = 0;
    uint64_t things = c->things;
    c->wrong = c->second = false;
    c->store.tell = count_thing;
    fw_error e = look(c, row, pack, why);
    if (!e && c->wrong) { /* the row may be another one by now */
        c->things = things;
        c->second = true;
        c->store.tell = tell;
        struct row *again = calloc(ROWS_AT_ONCE, sizeof *again);
        e = again ? read_rows(c, sql, row->id - 1, again, &count, why) : failure_memory(why);
        if (!e && count && again[0].id == row->id)
            e = look(c, &again[0], pack, why);
        free(again);
    }
    progress(c);
    return e;
}

static fw_error check_rows(struct check *c, const char *sql, bool pack, struct fw_failure *why)
{
    struct row *rows = calloc(ROWS_AT_ONCE, sizeof *rows);
    size_t count = 1;
    int64_t after = 0;
    fw_error e = rows ? FW_OK : failure_memory(why);
    while (!e && count) {
        e = read_rows(c, sql, after, rows, &count, why);
        for (size_t i = 0; i < count && !e; i++)
            e = check_row(c, sql, &rows[i], pack, why);
        after = count ? rows[count - 1].id : after;
    }
    free(rows);
    return e;
}

/* ---- blobs that nobody names ---- */

static int by_text(const void *key, const void *one)
{
    return strcmp(key, *(char *const *)one);
}

static bool look_at_blob(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    struct check *c = context;
    bool young = (int64_t)changed_ms > clock_real_ms() - YOUNG_MS; /* its row may be to come */
    if (young || (c->named.count &&
                  bsearch(key, c->named.list, c->named.count, sizeof *c->named.list, by_text)))
        return true;
    c->unreferenced++;
    c->unreferenced_bytes += size;
    printf("unreferenced: %s, %" PRIu64 " bytes\n", key, size);
    return true;
}

static fw_error check_unreferenced(struct check *c, struct fw_failure *why)
{
    static const char *const prefixes[] = {"packs/", "symbols/", "uploads/"};
    fw_error e = backup_named(c->store.db, &c->named, why);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !e; i++)
        e = blobs_list(c->store.blobs, prefixes[i], look_at_blob, c, why);
    backup_keys_free(&c->named);
    return e;
}

/* ---- all ---- */

static fw_error check_pages(struct check *c, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    if (db_is_postgres(c->store.db)) /* has checksums of its own, where they are wanted */
        return FW_OK;
    fw_error e = db_take(c->store.db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, "PRAGMA quick_check(20)", DB_NONE);
    if (!e) {
        while (db_next(rows)) {
            const char *said = db_get_text(rows, 0);
            if (strcmp(said, "ok") == 0)
                continue;
            c->damaged++;
            printf("damaged: the database: %s\n", said);
        }
        e = db_end(rows, why);
    }
    db_give(c->store.db, conn);
    return e;
}

static fw_error count_rows(struct check *c, struct fw_failure *why)
{
    struct db_conn *conn;
    int64_t total = 0;
    fw_error e = db_take(c->store.db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query_int(conn, &total, why,
                     "SELECT (SELECT COUNT(*) FROM pack) + (SELECT COUNT(*) FROM symbol_file)",
                     DB_NONE);
    db_give(c->store.db, conn);
    c->total = (uint64_t)total;
    return e;
}

static fw_error check_all(struct check *c, struct fw_failure *why)
{
    c->store.context = c;
    fw_error e = check_pages(c, why);
    e = e ? e : count_rows(c, why);
    e = e ? e
          : check_rows(c, "SELECT id, key FROM pack WHERE id > $1 ORDER BY id LIMIT $2", true, why);
    e = e ? e
          : check_rows(c, "SELECT id, name FROM symbol_file WHERE id > $1 ORDER BY id LIMIT $2",
                       false, why);
    return e ? e : check_unreferenced(c, why);
}

static fw_error open_all(const struct collector_options *o, struct check *c, struct fw_failure *why)
{
    char database[4096], store[4096], cache[4096];
    uint64_t version = 0;
    snprintf(database, sizeof database, "sqlite:%s/db/main.sqlite", o->data);
    snprintf(store, sizeof store, "file:%s/store", o->data);
    snprintf(cache, sizeof cache, "%s/cache", o->data);
    if (!o->database && access(database + strlen("sqlite:"), R_OK) != 0)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "there is no database in %.150s", o->data);
    if (!o->store && access(store + strlen("file:"), R_OK | X_OK) != 0)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "there is no store in %.150s", o->data);
    fw_error e =
        db_open_as_it_is(o->database ? o->database : database, &c->store.db, &version, why);
    if (!e && version != schema_version)
        e = failure_say(why, FW_ERR_UNSUPPORTED, 0,
                        "the database is of an older version (%" PRIu64
                        "): start the server once, which brings it up to date",
                        version);
    return e ? e : blobs_open(o->store ? o->store : store, cache, UINT64_MAX, &c->store.blobs, why);
}

int serve_check(const struct collector_options *options)
{
    struct check c = {.said_ms = clock_ms()};
    struct fw_failure why = {0};
    umask(077);
    fw_error e = open_all(options, &c, &why);
    e = e ? e : check_all(&c, &why);
    blobs_close(c.store.blobs);
    db_close(c.store.db);
    if (!e)
        printf("%" PRIu64 " bodies, debug files and maps, %" PRIu64 " MB read: %" PRIu64
               " damaged, %" PRIu64 " missing; %" PRIu64 " blobs (%" PRIu64
               " bytes) that nothing refers to\n",
               c.things, c.store.bytes >> 20, c.damaged, c.missing, c.unreferenced,
               c.unreferenced_bytes);
    else
        fprintf(stderr, "framewalk serve: not everything could be looked at: %s\n", why.message);
    fflush(stdout);
    return e                        ? SERVE_CHECK_FAILED
           : c.damaged || c.missing ? SERVE_CHECK_DAMAGED
                                    : SERVE_CHECK_WHOLE;
}
