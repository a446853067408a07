/*
 * The job "scrub": reads what is stored, a part at a time and then from the beginning again, and
 * compares it with its checksums (damage.h). Where it stopped is the setting "scrub": the numbers
 * of the last pack and the last debug file.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/job_kinds.h"
#include "collector/jobs.h"
#include "collector/store_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_MS = 6 * 3600 * 1000 };
static const uint64_t BYTES_AT_ONCE = (uint64_t)1 << 30;

struct result {
    enum damage_kind kind;
    int64_t row, sum;
    bool whole;
    char message[160];
};

struct scrub {
    struct collector *c;
    const struct job *job;
    struct result *results; /* of the blob in hand */
    size_t count, capacity;
    int64_t pack, file; /* the last ones */
};

static fw_error keep(void *context, const struct store_checked *thing, struct fw_failure *why)
{
    struct scrub *s = context;
    if (!array_room(&s->results, &s->capacity, s->count, sizeof *s->results))
        return failure_memory(why);
    struct result *r = &s->results[s->count++];
    *r = (struct result){
        .kind = thing->kind, .row = thing->row, .sum = thing->sum, .whole = thing->whole};
    snprintf(r->message, sizeof r->message, "%s", thing->message ? thing->message : "");
    return FW_OK;
}

static fw_error write_result(struct db_conn *conn, const struct result *r, struct fw_failure *why)
{
    if (!r->whole)
        return damage_note(conn, r->kind, r->row, r->message, why);
    fw_error e = damage_over(conn, r->kind, r->row, why);
    return e || r->sum < 0 ? e
                           : db_run(conn, why, "UPDATE report SET body_sum = $2 WHERE id = $1",
                                    DB_VALUES(db_int(r->row), db_int(r->sum)));
}

static fw_error write_place(struct db_conn *conn, const struct scrub *s, struct fw_failure *why)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64, s->pack, s->file);
    return db_run(conn, why,
                  "INSERT INTO setting (name, value) VALUES ('scrub', $1)"
                  " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                  DB_VALUES(db_text(text)));
}

/* What was found out of one blob, and how far that is. A pack that was written anew meanwhile
 * (forget_pack.c) would look damaged: then nothing of it counts. */
static fw_error write_results(struct scrub *s, int64_t pack, const char *key,
                              struct fw_failure *why)
{
    struct db_conn *conn;
    int64_t same = 1;
    fw_error e = db_take(s->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin_soft(conn, why);
    if (!e && pack)
        e = db_query_int(conn, &same, why, "SELECT id FROM pack WHERE id = $1 AND key = $2",
                         DB_VALUES(db_int(pack), db_text(key)));
    for (size_t i = 0; i < s->count && !e && same; i++)
        e = write_result(conn, &s->results[i], why);
    e = e ? e : write_place(conn, s, why);
    e = e ? e : db_commit(conn, why);
    db_give(s->c->db, conn);
    s->count = 0;
    return e;
}

/* The next row after `after` of a statement with its number and a text; 0: none. */
static fw_error next_row(struct collector *c, const char *sql, int64_t after, int64_t *row,
                         char key[128], struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    *row = 0;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, sql, DB_VALUES(db_int(after)));
    if (!e) {
        if (db_next(rows)) {
            *row = db_get_int(rows, 0);
            snprintf(key, 128, "%s", db_get_text(rows, 1));
        }
        e = db_end(rows, why);
    }
    db_give(c->db, conn);
    return e;
}

static fw_error go_on(struct scrub *s, uint64_t bytes, struct fw_failure *why)
{
    return jobs_progress(s->c, s->job, bytes >> 20, BYTES_AT_ONCE >> 20)
               ? FW_OK
               : failure_say(why, FW_ERR_TIMEOUT, 0, "stopped");
}

static fw_error scrub_packs(struct scrub *s, struct store_check *check, struct fw_failure *why)
{
    char key[128];
    fw_error e = FW_OK;
    for (int64_t row = 1; row && !e && check->bytes < BYTES_AT_ONCE;) {
        e = next_row(s->c, "SELECT id, key FROM pack WHERE id > $1 ORDER BY id LIMIT 1", s->pack,
                     &row, key, why);
        s->pack = row; /* 0: from the beginning, the next time */
        if (!e && row)
            e = store_check_pack(check, row, key, why);
        e = e ? e : write_results(s, row, key, why);
        e = e ? e : go_on(s, check->bytes, why);
    }
    return e;
}

static fw_error scrub_files(struct scrub *s, struct store_check *check, struct fw_failure *why)
{
    char name[128];
    fw_error e = FW_OK;
    for (int64_t row = 1; row && !e && check->bytes < BYTES_AT_ONCE;) {
        e = next_row(s->c, "SELECT id, name FROM symbol_file WHERE id > $1 ORDER BY id LIMIT 1",
                     s->file, &row, name, why);
        s->file = row;
        if (!e && row)
            e = store_check_file(check, row, why);
        e = e ? e : write_results(s, 0, "", why);
        e = e ? e : go_on(s, check->bytes, why);
    }
    return e;
}

/* Rows of things that are gone, and where to go on. */
static fw_error begin(struct scrub *s, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error e = db_take(s->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_run(conn, why,
               "DELETE FROM damaged WHERE (kind = 1 AND NOT EXISTS (SELECT 1 FROM report r"
               " WHERE r.id = item AND r.body_offset IS NOT NULL)) OR (kind > 1 AND NOT EXISTS"
               " (SELECT 1 FROM symbol_file f WHERE f.id = item))",
               DB_NONE);
    if (!e)
        e = db_query(conn, &rows, why, "SELECT value FROM setting WHERE name = 'scrub'", DB_NONE);
    if (!e) {
        char *end = NULL;
        if (db_next(rows)) {
            s->pack = strtoll(db_get_text(rows, 0), &end, 10);
            s->file = strtoll(end, NULL, 10);
        }
        e = db_end(rows, why);
    }
    db_give(s->c->db, conn);
    return e;
}

static fw_error run(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct scrub s = {.c = c, .job = job};
    struct store_check check = {.db = c->db, .blobs = c->blobs, .tell = keep, .context = &s};
    fw_error e = begin(&s, why);
    e = e ? e : scrub_packs(&s, &check, why);
    e = e ? e : scrub_files(&s, &check, why);
    free(s.results);
    return e;
}

extern const struct job_kind job_scrub;
const struct job_kind job_scrub = {"scrub", run, EVERY_MS};
