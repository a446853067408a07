/* Bodies of reports: packs.h. */
#include "collector/packs.h"
#include "base/array.h"
#include "base/failure.h"
#include "base/hex.h"
#include "collector/blobs.h"
#include "collector/blobs_sweep.h"
#include "collector/damage.h"
#include "collector/health.h"
#include "collector/jobs.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

enum {
    SWEEP_MS = 6 * 3600 * 1000,
    PACK_ROWS = 8192,          /* bodies of one pack at most */
    PACK_LEASE_MS = 5 * 60000, /* who writes a pack has its rows this long */
    BODY_LIMIT = 64 << 20,
    ORPHAN_MS = 3600 * 1000, /* a blob this old that no row names is nobody's */
    MOVED = 64, /* rows of one transaction: others wait for the connection that writes */
    LEVEL = 3,
};

/* ---- zstd ---- */

fw_error packs_squeeze(struct span body, uint8_t **packed, size_t *size, struct fw_failure *why)
{
    size_t bound = ZSTD_compressBound(body.size);
    *packed = malloc(bound ? bound : 1);
    if (!*packed)
        return failure_memory(why);
    *size = ZSTD_compress(*packed, bound, body.data, body.size, LEVEL);
    if (ZSTD_isError(*size)) {
        free(*packed);
        *packed = NULL;
        return failure_say(why, FW_ERR_MEMORY, 0, "zstd: %s", ZSTD_getErrorName(*size));
    }
    uint8_t *smaller = realloc(*packed, *size);
    *packed = smaller ? smaller : *packed;
    return FW_OK;
}

fw_error packs_unsqueeze(struct span packed, size_t limit, uint8_t **body, size_t *size,
                         struct fw_failure *why)
{
    unsigned long long whole = ZSTD_getFrameContentSize(packed.data, packed.size);
    *body = NULL;
    if (whole == ZSTD_CONTENTSIZE_ERROR || whole == ZSTD_CONTENTSIZE_UNKNOWN || whole > limit)
        return failure_say(why, FW_ERR_CORRUPT, 0, "a stored body is none that was packed");
    *body = malloc(whole ? (size_t)whole : 1);
    if (!*body)
        return failure_memory(why);
    *size = ZSTD_decompress(*body, (size_t)whole, packed.data, packed.size);
    if (!ZSTD_isError(*size) && *size == whole)
        return FW_OK;
    free(*body);
    *body = NULL;
    return failure_say(why, FW_ERR_CORRUPT, 0, "a stored body cannot be unpacked");
}

/* ---- reading ---- */

fw_error packs_find(struct db_conn *conn, int64_t report, struct packs_place *place,
                    struct fw_failure *why)
{
    struct db_rows *rows;
    *place = (struct packs_place){.packed = NULL};
    fw_error e = db_query(conn, &rows, why,
                          "SELECT pack.key, report.body_offset, report.body_size, inbox_body.body,"
                          " COALESCE(report.body_sum, -1)"
                          " FROM report LEFT JOIN pack ON pack.id = report.pack"
                          " LEFT JOIN inbox_body ON report.pack IS NULL"
                          " AND inbox_body.seq = report.body_offset WHERE report.id = $1",
                          DB_VALUES(db_int(report)));
    if (e)
        return e;
    fw_error found =
        failure_say(why, FW_ERR_NOT_FOUND, 0, "the report's body is not kept any more");
    bool there = db_next(rows);
    place->sum = there ? db_get_int(rows, 4) : -1;
    if (there && !db_is_null(rows, 0)) {
        snprintf(place->key, sizeof place->key, "%s", db_get_text(rows, 0));
        place->offset = (uint64_t)db_get_int(rows, 1);
        place->size = (size_t)db_get_int(rows, 2);
        found = FW_OK;
    } else if (there && db_get_bytes(rows, 3).size) {
        struct span bytes = db_get_bytes(rows, 3);
        place->packed = malloc(bytes.size);
        place->size = bytes.size;
        if (place->packed)
            memcpy(place->packed, bytes.data, bytes.size);
        found = place->packed ? FW_OK : failure_memory(why);
    }
    e = db_end(rows, why);
    if (e) {
        free(place->packed);
        place->packed = NULL;
    }
    return e ? e : found;
}

fw_error packs_fetch(struct collector *c, struct packs_place *place, uint8_t **body, size_t *size,
                     struct fw_failure *why)
{
    fw_error e = FW_OK;
    *body = NULL;
    if (*place->key)
        e = blobs_get(c->blobs, place->key, place->offset, place->size, &place->packed,
                      &place->size, why);
    if (!e && place->sum >= 0 &&
        damage_sum((struct span){place->packed, place->size}) != place->sum)
        e = failure_say(why, FW_ERR_CORRUPT, 0, "its checksum is not that of what came");
    if (!e)
        e = packs_unsqueeze((struct span){place->packed, place->size}, BODY_LIMIT, body, size, why);
    free(place->packed);
    place->packed = NULL;
    return e;
}

/* ---- writing ---- */

struct pack_row {
    int64_t seq, project;
    uint8_t report_id[16];
    uint64_t offset, size;
};

struct pack { /* one that is being written */
    struct collector *c;
    struct pack_row *rows;
    size_t count, capacity;
    uint64_t size, oldest_ms;
    int64_t row;      /* of the table */
    size_t moved;     /* rows that are in it */
    int64_t lease_ms; /* names this writer's rows */
    uint8_t *bytes;
    char key[PACKS_KEY];
};

/* Long enough; a time to come was written by a clock that was wrong. */
static bool waited(uint64_t since_ms, uint64_t now_ms)
{
    return now_ms >= since_ms + PACKS_WAIT_MS || since_ms > now_ms + DB_LEASE_MAX_MS;
}

/* The oldest bodies that wait, up to PACKS_BYTES. */
static fw_error choose(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e =
        db_query(conn, &rows, why,
                 "SELECT seq, project, report_id, packed, received_ms FROM inbox"
                 " WHERE state = 2 AND " DB_LEASE_OVER("lease_ms", "$1") " ORDER BY seq LIMIT $2"
                                                                         " FOR UPDATE SKIP LOCKED",
                 DB_VALUES(db_int((int64_t)collector_now_ms()), db_int(PACK_ROWS)));
    if (e)
        return e;
    bool ok = true;
    while (ok && p->size < PACKS_BYTES && db_next(rows)) {
        ok = array_room(&p->rows, &p->capacity, p->count, sizeof *p->rows);
        if (!ok)
            break;
        struct pack_row *row = &p->rows[p->count++];
        *row = (struct pack_row){.seq = db_get_int(rows, 0),
                                 .project = db_get_int(rows, 1),
                                 .offset = p->size,
                                 .size = (uint64_t)db_get_int(rows, 3)};
        struct span id = db_get_bytes(rows, 2);
        memcpy(row->report_id, id.data, id.size < 16 ? id.size : 16);
        p->size += row->size;
        if (p->count == 1)
            p->oldest_ms = (uint64_t)db_get_int(rows, 4);
    }
    e = db_end(rows, why);
    return ok ? e : failure_memory(why);
}

static fw_error lease(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_begin_soft(conn, why);
    e = e ? e : choose(p, conn, why);
    uint64_t now = collector_now_ms();
    if (!e && p->size < PACKS_BYTES && !waited(p->oldest_ms, now))
        p->count = 0;
    /* Nobody else has rows until this very millisecond of another five minutes. */
    uint16_t salt = 0;
    RAND_bytes((unsigned char *)&salt, sizeof salt);
    p->lease_ms = (int64_t)now + PACK_LEASE_MS + salt;
    for (size_t i = 0; i < p->count && !e; i++)
        e = db_run(conn, why, "UPDATE inbox SET lease_ms = $2 WHERE seq = $1",
                   DB_VALUES(db_int(p->rows[i].seq), db_int(p->lease_ms)));
    return e ? e : db_commit(conn, why);
}

static fw_error read_bodies(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = FW_OK;
    p->bytes = malloc(p->size ? p->size : 1);
    if (!p->bytes)
        return failure_memory(why);
    for (size_t i = 0; i < p->count && !e; i++) {
        struct db_rows *rows;
        bool right = false;
        e = db_query(conn, &rows, why, "SELECT body FROM inbox_body WHERE seq = $1",
                     DB_VALUES(db_int(p->rows[i].seq)));
        if (e)
            return e;
        if (db_next(rows)) {
            struct span body = db_get_bytes(rows, 0);
            right = body.size == p->rows[i].size;
            if (right)
                memcpy(p->bytes + p->rows[i].offset, body.data, body.size);
        }
        e = db_end(rows, why);
        if (!e && !right)
            e = failure_say(why, FW_ERR_CORRUPT, 0,
                            "body %lld of the inbox is not as large as it"
                            " says",
                            (long long)p->rows[i].seq);
    }
    return e;
}

fw_error packs_name(char key[PACKS_KEY], struct fw_failure *why)
{
    unsigned char random[12];
    char text[2 * sizeof random + 1];
    time_t now = (time_t)(collector_now_ms() / 1000);
    struct tm day;
    gmtime_r(&now, &day);
    if (RAND_bytes(random, sizeof random) != 1)
        return failure_say(why, FW_ERR_SYSTEM, 0, "no random numbers are to be had");
    hex_text(text, random, sizeof random);
    snprintf(key, PACKS_KEY, "packs/%04d%02d%02d/%s.pack", day.tm_year + 1900, day.tm_mon + 1,
             day.tm_mday, text);
    return FW_OK;
}

/* One report from the inbox to the pack. When the lease was lost another server does it. */
static fw_error move_row(const struct pack_row *row, const struct pack *p, struct db_conn *conn,
                         int64_t pack, struct fw_failure *why)
{
    uint64_t changed;
    fw_error e = db_change(conn, why, &changed,
                           "DELETE FROM inbox WHERE seq = $1 AND state = 2 AND lease_ms = $2",
                           DB_VALUES(db_int(row->seq), db_int(p->lease_ms)));
    if (!e && changed != 1)
        e = failure_say(why, FW_ERR_VANISHED, 0, "another server packs these reports");
    e = e ? e
          : db_run(conn, why, "DELETE FROM inbox_body WHERE seq = $1", DB_VALUES(db_int(row->seq)));
    return e ? e
             : db_run(conn, why,
                      "UPDATE report SET pack = $3, body_offset = $4, body_size = $5"
                      " WHERE project = $1 AND report_id = $2 AND pack IS NULL"
                      " AND body_offset = $6",
                      DB_VALUES(db_int(row->project), db_bytes(row->report_id, 16), db_int(pack),
                                db_int((int64_t)row->offset), db_int((int64_t)row->size),
                                db_int(row->seq)));
}

static fw_error insert_pack(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_begin_soft(conn, why);
    e = e ? e
          : db_query_int(
                conn, &p->row, why,
                "INSERT INTO pack (key, size, created_ms) VALUES ($1, $2, $3) RETURNING id",
                DB_VALUES(db_text(p->key), db_int((int64_t)p->size),
                          db_int((int64_t)collector_now_ms())));
    return e ? e : db_commit(conn, why);
}

/* A blob is written anew under another key (forget_pack.c): rows that move afterwards would name
 * places in the old one. Until the transaction ends nobody changes the key. */
static fw_error still_there(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    uint64_t rows = 0;
    fw_error e =
        db_change(conn, why, &rows, "UPDATE pack SET size = size WHERE id = $1 AND key = $2",
                  DB_VALUES(db_int(p->row), db_text(p->key)));
    if (!e && rows != 1)
        e = failure_say(why, FW_ERR_VANISHED, 0, "the pack was written anew meanwhile");
    return e;
}

/* The next MOVED of them. */
static fw_error move_rows(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_begin_soft(conn, why);
    e = e ? e : still_there(p, conn, why);
    for (size_t i = 0; i < MOVED && p->moved < p->count && !e; i++)
        e = move_row(&p->rows[p->moved++], p, conn, p->row, why);
    return e ? e : db_commit(conn, why);
}

typedef fw_error (*pack_step)(struct pack *p, struct db_conn *conn, struct fw_failure *why);

static fw_error with_conn(struct pack *p, enum db_use use, pack_step step, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(p->c->db, use, &conn, why);
    if (e)
        return e;
    e = step(p, conn, why);
    db_give(p->c->db, conn);
    return e;
}

/* What could not be packed need not wait for the end of its lease. */
static fw_error release(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_begin(conn, why);
    for (size_t i = 0; i < p->count && !e; i++)
        e = db_run(conn, why, "UPDATE inbox SET lease_ms = 0 WHERE seq = $1 AND lease_ms = $2",
                   DB_VALUES(db_int(p->rows[i].seq), db_int(p->lease_ms)));
    return e ? e : db_commit(conn, why);
}

static fw_error write_pack(struct pack *p, struct fw_failure *why)
{
    fw_error e = with_conn(p, DB_READ, read_bodies, why);
    if (!e)
        e = packs_name(p->key, why);
    if (!e) {
        e = blobs_put(p->c->blobs, p->key, (struct span){p->bytes, (size_t)p->size}, why);
        health_note(p->c->health, HEALTH_PACKS, e ? why : NULL);
    }
    /* Rows that are not moved when something fails are given back. A commit whose answer was lost
     * may have happened: the blob stays until it is swept. */
    e = e ? e : with_conn(p, DB_WRITE, insert_pack, why);
    while (!e && p->moved < p->count)
        e = with_conn(p, DB_WRITE, move_rows, why);
    return e;
}

/* Whether it may be time, without taking the connection that writes. */
static fw_error is_due(struct pack *p, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why,
                          "SELECT SUM(packed), MIN(received_ms), COUNT(*) FROM"
                          " (SELECT packed, received_ms FROM inbox WHERE state = 2"
                          " ORDER BY seq LIMIT $1) AS waiting",
                          DB_VALUES(db_int(PACK_ROWS)));
    if (e)
        return e;
    if (db_next(rows) && db_get_int(rows, 2) > 0) {
        uint64_t oldest = (uint64_t)db_get_int(rows, 1);
        p->count = db_get_int(rows, 0) >= PACKS_BYTES || waited(oldest, collector_now_ms());
    }
    return db_end(rows, why);
}

fw_error packs_write(struct collector *c, size_t *count, struct fw_failure *why)
{
    struct pack p = {.c = c};
    *count = 0;
    fw_error e = with_conn(&p, DB_READ, is_due, why);
    if (e || p.count == 0)
        return e;
    p.count = 0;
    e = with_conn(&p, DB_WRITE, lease, why);
    if (!e && p.count)
        e = write_pack(&p, why);
    if (e && p.count)
        with_conn(&p, DB_WRITE, release, NULL);
    *count = e ? 0 : p.count;
    free(p.rows);
    free(p.bytes);
    return e;
}

/* ---- sweeping ---- */

/* Rows of packs that no report is in; their blobs are nobody's then. */
static fw_error drop_empty(struct collector *c, uint64_t now_ms, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_run(conn, why,
               "DELETE FROM pack WHERE created_ms < $1"
               " AND NOT EXISTS (SELECT 1 FROM report WHERE report.pack = pack.id)",
               DB_VALUES(db_int((int64_t)(now_ms - ORPHAN_MS))));
    db_give(c->db, conn);
    return e;
}

static fw_error is_named(struct db_conn *conn, const char *key, bool *named, struct fw_failure *why)
{
    int64_t pack;
    fw_error e = db_query_int(conn, &pack, why, "SELECT id FROM pack WHERE key = $1",
                              DB_VALUES(db_text(key)));
    *named = pack != 0;
    return e;
}

static fw_error sweep(struct collector *c, const struct job *job, struct fw_failure *why)
{
    uint64_t now_ms = collector_now_ms();
    const struct blobs_sweep packs = {"packs/", now_ms - ORPHAN_MS, is_named};
    fw_error e = clock_may_remove(why);
    if (e)
        return e;
    e = drop_empty(c, now_ms, why);
    e = e ? e : blobs_sweep(c, job, &packs, why);
    blobs_tidy(c->blobs); /* packs that were half written */
    return e;
}

extern const struct job_kind job_packs_sweep;
const struct job_kind job_packs_sweep = {"packs.sweep", sweep, SWEEP_MS};
