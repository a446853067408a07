/*
 * A pack without some of its bodies: forget.h. The new blob is there before one transaction moves
 * the bodies that stay, only if the pack's key is still the one that was read; then the old blob
 * goes. Who reads a body meanwhile looks up the pack once more (api_download.c).
 *
 * A pack also has bodies that no report names: of a server that was killed while it moved rows
 * (they are in another pack, too), and those that retention let go. They may be anybody's, and go
 * as well.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/forget.h"
#include "collector/packs.h"

#include <stdio.h>
#include <stdlib.h>

struct body {
    int64_t report;
    uint64_t offset, size, moved_to;
    bool goes;
};

struct rewrite {
    struct forget *f;
    int64_t pack;
    char key[128], new_key[PACKS_KEY];
    struct body *bodies;
    size_t count, capacity, stay, go;
    uint64_t had, named; /* bytes of the pack as it is, and those that are a report's body */
    uint8_t *bytes;
    uint64_t size; /* of `bytes`, the new pack */
    bool decided;  /* a commit was asked for: it may have happened */
};

static fw_error read_key(struct rewrite *r, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, why, "SELECT key, size FROM pack WHERE id = $1",
                          DB_VALUES(db_int(r->pack)));
    if (e)
        return e;
    if (db_next(rows)) {
        snprintf(r->key, sizeof r->key, "%s", db_get_text(rows, 0));
        r->had = (uint64_t)db_get_int(rows, 1);
    }
    return db_end(rows, why);
}

static fw_error read_bodies(struct rewrite *r, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e = db_query(
        conn, &rows, why,
        "SELECT id, body_offset, body_size, CASE WHEN project = $2"
        " AND install = $3 THEN 1 ELSE 0 END FROM report WHERE pack = $1"
        " ORDER BY body_offset",
        DB_VALUES(db_int(r->pack), db_int(r->f->project), db_bytes(r->f->install, FORGET_HASH)));
    if (e)
        return e;
    bool room = true;
    while (room && db_next(rows)) {
        room = array_room(&r->bodies, &r->capacity, r->count, sizeof *r->bodies);
        if (!room)
            break;
        struct body *body = &r->bodies[r->count++];
        *body = (struct body){.report = db_get_int(rows, 0),
                              .offset = (uint64_t)db_get_int(rows, 1),
                              .size = (uint64_t)db_get_int(rows, 2),
                              .goes = db_get_int(rows, 3) != 0};
        r->go += body->goes;
        r->stay += !body->goes;
        r->named += body->size;
    }
    e = db_end(rows, why);
    return e || room ? e : failure_memory(why);
}

static fw_error read_rows(struct rewrite *r, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(r->f->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = read_key(r, conn, why);
    e = e ? e : read_bodies(r, conn, why);
    db_give(r->f->c->db, conn);
    return e;
}

/* The bodies that stay, one behind the other in the bytes that were read. */
static fw_error close_up(struct rewrite *r, struct fw_failure *why)
{
    size_t got = 0;
    fw_error e = blobs_get(r->f->c->blobs, r->key, 0, 0, &r->bytes, &got, why);
    if (e)
        return e;
    for (size_t i = 0; i < r->count; i++) {
        struct body *body = &r->bodies[i];
        if (body->goes)
            continue;
        if (body->offset < r->size || body->offset > got || body->size > got - body->offset)
            return failure_say(why, FW_ERR_CORRUPT, 0, "%.100s: its bodies lie elsewhere", r->key);
        memmove(r->bytes + r->size, r->bytes + body->offset, (size_t)body->size);
        body->moved_to = r->size;
        r->size += body->size;
    }
    e = packs_name(r->new_key, why);
    if (e)
        return e;
    return blobs_put(r->f->c->blobs, r->new_key, (struct span){r->bytes, (size_t)r->size}, why);
}

static fw_error write_pack(struct rewrite *r, struct db_conn *conn, struct fw_failure *why)
{
    uint64_t changed = 0;
    fw_error e = r->stay
                     ? db_change(conn, why, &changed,
                                 "UPDATE pack SET key = $3, size = $4"
                                 " WHERE id = $1 AND key = $2",
                                 DB_VALUES(db_int(r->pack), db_text(r->key), db_text(r->new_key),
                                           db_int((int64_t)r->size)))
                     : db_change(conn, why, &changed, "DELETE FROM pack WHERE id = $1 AND key = $2",
                                 DB_VALUES(db_int(r->pack), db_text(r->key)));
    if (!e && changed != 1)
        e = failure_say(why, FW_ERR_TIMEOUT, 0, "somebody else changes the same pack");
    return e;
}

/* The pack's row is ours now: whoever was moving bodies into it has done so before, or will not. */
static fw_error nobody_came(struct rewrite *r, struct db_conn *conn, struct fw_failure *why)
{
    struct db_rows *rows;
    int64_t count = -1;
    fw_error e = db_query(conn, &rows, why, "SELECT COUNT(*) FROM report WHERE pack = $1",
                          DB_VALUES(db_int(r->pack)));
    if (e)
        return e;
    if (db_next(rows))
        count = db_get_int(rows, 0);
    e = db_end(rows, why);
    if (!e && count != (int64_t)r->count)
        e = failure_say(why, FW_ERR_TIMEOUT, 0, "bodies were moved to the same pack meanwhile");
    return e;
}

static fw_error write_rows(struct rewrite *r, struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_begin(conn, why);
    e = e ? e : write_pack(r, conn, why);
    e = e ? e : nobody_came(r, conn, why);
    for (size_t i = 0; i < r->count && !e; i++) {
        const struct body *body = &r->bodies[i];
        if (body->goes)
            e = db_run(conn, why,
                       "UPDATE report SET pack = NULL, body_offset = NULL, body_size = NULL"
                       " WHERE id = $1 AND pack = $2",
                       DB_VALUES(db_int(body->report), db_int(r->pack)));
        else if (body->moved_to != body->offset)
            e = db_run(
                conn, why, "UPDATE report SET body_offset = $3 WHERE id = $1 AND pack = $2",
                DB_VALUES(db_int(body->report), db_int(r->pack), db_int((int64_t)body->moved_to)));
    }
    r->decided = !e;
    return e ? e : db_commit(conn, why);
}

fw_error forget_pack(struct forget *f, int64_t row, struct fw_failure *why)
{
    struct rewrite r = {.f = f, .pack = row};
    struct db_conn *conn;
    fw_error e = read_rows(&r, why);
    bool wanted = !e && r.key[0] && (r.go || r.had != r.named);
    if (wanted && r.stay)
        e = close_up(&r, why);
    if (wanted && !e) {
        e = db_take(f->c->db, DB_WRITE, &conn, why);
        if (!e) {
            e = write_rows(&r, conn, why);
            db_give(f->c->db, conn);
        }
        f->packs += !e;
        if (e && r.new_key[0] && !r.decided) /* it has what is to go elsewhere */
            blobs_remove(f->c->blobs, r.new_key, NULL);
        e = e ? e : blobs_remove(f->c->blobs, r.key, why);
    }
    free(r.bodies);
    free(r.bytes);
    return e;
}
