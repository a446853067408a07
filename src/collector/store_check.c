#include "collector/store_check.h"

#include "base/array.h"
#include "base/failure.h"
#include "base/hex.h"
#include "collector/packs.h"
#include "report/report.h"
#include "symmap/symmap.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 8 << 20, BODY_LIMIT = 64 << 20 };

/* ---- packs ---- */

struct body {
    int64_t report, offset, size, sum;
    uint8_t id[16];
    bool complete; /* as it was when it was processed */
};

struct bodies {
    struct body *list;
    size_t count, capacity;
};

static fw_error read_bodies(struct db *db, int64_t pack, struct bodies *bodies,
                            struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    bool room = true;
    fw_error e = db_take(db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why,
                 "SELECT id, body_offset, body_size, COALESCE(body_sum, -1), report_id, complete"
                 " FROM report WHERE pack = $1 ORDER BY body_offset",
                 DB_VALUES(db_int(pack)));
    if (!e) {
        while (room && db_next(rows)) {
            room =
                array_room(&bodies->list, &bodies->capacity, bodies->count, sizeof *bodies->list);
            if (!room)
                break;
            struct body *body = &bodies->list[bodies->count++];
            *body = (struct body){.report = db_get_int(rows, 0),
                                  .offset = db_get_int(rows, 1),
                                  .size = db_get_int(rows, 2),
                                  .sum = db_get_int(rows, 3),
                                  .complete = db_get_int(rows, 5) != 0};
            struct span id = db_get_bytes(rows, 4);
            memcpy(body->id, id.data, id.size < 16 ? id.size : 16);
        }
        e = db_end(rows, why);
        e = e || room ? e : failure_memory(why);
    }
    db_give(db, conn);
    return e;
}

/* Without a checksum: what can be unpacked, and read as far as it could be read before. */
static const char *read_through(const struct body *body, struct span packed)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct report *report = NULL;
    const char *wrong = NULL;
    if (packs_unsqueeze(packed, BODY_LIMIT, &bytes, &size, NULL) != FW_OK)
        return "it cannot be unpacked";
    if (report_read((struct span){bytes, size}, &report, NULL) != FW_OK)
        wrong = "it cannot be read";
    else if (body->complete && !report->complete)
        wrong = "it breaks off, and did not when it came";
    report_free(report);
    free(bytes);
    return wrong;
}

static fw_error check_body(struct store_check *s, const char *key, const struct body *body,
                           struct span pack, bool there, struct fw_failure *why)
{
    struct store_checked thing = {
        .kind = DAMAGE_BODY, .row = body->report, .key = key, .missing = !there, .sum = -1};
    hex_text(thing.name, body->id, sizeof body->id);
    bool inside = body->offset >= 0 && body->size >= 0 && (uint64_t)body->offset <= pack.size &&
                  (uint64_t)body->size <= pack.size - (uint64_t)body->offset;
    if (!there) {
        thing.message = "its pack is not there";
    } else if (!inside) {
        thing.message = "its pack ends before it";
    } else {
        struct span packed = {pack.data + body->offset, (size_t)body->size};
        if (body->sum < 0)
            thing.message = read_through(body, packed);
        else if (damage_sum(packed) != body->sum)
            thing.message = "its checksum is not that of what came";
        thing.whole = !thing.message;
        if (thing.whole && body->sum < 0)
            thing.sum = damage_sum(packed);
    }
    return s->tell(s->context, &thing, why);
}

static bool is_gone(fw_error error)
{
    return error == FW_ERR_NOT_FOUND || error == FW_ERR_TRUNCATED;
}

fw_error store_check_pack(struct store_check *s, int64_t pack, const char *key,
                          struct fw_failure *why)
{
    struct bodies bodies = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    fw_error e = read_bodies(s->db, pack, &bodies, why);
    if (!e)
        e = blobs_get(s->blobs, key, 0, 0, &bytes, &size, why);
    bool there = !e;
    e = is_gone(e) ? FW_OK : e;
    s->bytes += size;
    for (size_t i = 0; i < bodies.count && !e; i++)
        e = check_body(s, key, &bodies.list[i], (struct span){bytes, size}, there, why);
    free(bodies.list);
    free(bytes);
    return e;
}

/* ---- debug files ---- */

struct file {
    char name[128], blob[320], map_blob[320];
    uint8_t sha256[32];
    uint64_t size;
};

static fw_error read_file(struct db *db, int64_t row, struct file *file, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    *file = (struct file){.size = 0};
    fw_error e = db_take(db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why,
                 "SELECT name, blob, COALESCE(map_blob, ''), sha256, size FROM symbol_file"
                 " WHERE id = $1",
                 DB_VALUES(db_int(row)));
    if (!e) {
        if (db_next(rows)) {
            snprintf(file->name, sizeof file->name, "%s", db_get_text(rows, 0));
            snprintf(file->blob, sizeof file->blob, "%s", db_get_text(rows, 1));
            snprintf(file->map_blob, sizeof file->map_blob, "%s", db_get_text(rows, 2));
            struct span sha256 = db_get_bytes(rows, 3);
            if (sha256.size == sizeof file->sha256)
                memcpy(file->sha256, sha256.data, sha256.size);
            file->size = (uint64_t)db_get_int(rows, 4);
        }
        e = db_end(rows, why);
    }
    db_give(db, conn);
    return e;
}

/* SHA-256 of `size` bytes of a blob, piece by piece: not by a copy on this machine, which could be
 * damaged for itself. */
static fw_error hash_blob(struct store_check *s, const char *key, uint64_t size, uint8_t sha256[32],
                          struct fw_failure *why)
{
    uint8_t result[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    fw_error e =
        hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 ? FW_OK : failure_memory(why);
    for (uint64_t at = 0; at < size && !e;) {
        uint8_t *bytes = NULL;
        size_t got = 0;
        e = blobs_get(s->blobs, key, at, size - at < PIECE ? size - at : PIECE, &bytes, &got, why);
        if (!e && (!got || EVP_DigestUpdate(hash, bytes, got) != 1))
            e = failure_memory(why);
        at += got;
        s->bytes += got;
        free(bytes);
    }
    if (!e && EVP_DigestFinal_ex(hash, result, NULL) != 1)
        e = failure_memory(why);
    if (!e)
        memcpy(sha256, result, 32);
    EVP_MD_CTX_free(hash);
    return e;
}

static fw_error check_whole_file(struct store_check *s, int64_t row, const struct file *file,
                                 struct fw_failure *why)
{
    struct store_checked thing = {.kind = DAMAGE_FILE, .row = row, .key = file->blob, .sum = -1};
    uint8_t sha256[32];
    uint64_t size = 0;
    snprintf(thing.name, sizeof thing.name, "%s", file->name);
    fw_error e = blobs_size(s->blobs, file->blob, &size, why);
    if (!e && size == file->size)
        e = hash_blob(s, file->blob, size, sha256, why);
    if (e && !is_gone(e))
        return e;
    thing.missing = e == FW_ERR_NOT_FOUND;
    if (thing.missing)
        thing.message = "the stored file is not there";
    else if (e || size != file->size)
        thing.message = "it is not as long as what came";
    else if (memcmp(sha256, file->sha256, sizeof sha256) != 0)
        thing.message = "its SHA-256 is not that of what came";
    thing.whole = !thing.message;
    return s->tell(s->context, &thing, why);
}

static fw_error check_map(struct store_check *s, int64_t row, const struct file *file,
                          struct fw_failure *why)
{
    struct store_checked thing = {.kind = DAMAGE_MAP, .row = row, .key = file->map_blob, .sum = -1};
    struct fw_failure said = {0};
    struct symmap *map = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    snprintf(thing.name, sizeof thing.name, "%s", file->name);
    fw_error e = blobs_get(s->blobs, file->map_blob, 0, 0, &bytes, &size, why);
    s->bytes += size;
    if (e && !is_gone(e))
        return e;
    thing.missing = e == FW_ERR_NOT_FOUND;
    if (e)
        thing.message = "the symbol map is not there";
    else if (symmap_open_bytes((struct span){bytes, size}, false, "the symbol map", &map, &said))
        thing.message = said.message;
    symmap_close(map);
    free(bytes);
    thing.whole = !thing.message;
    return s->tell(s->context, &thing, why);
}

fw_error store_check_file(struct store_check *s, int64_t row, struct fw_failure *why)
{
    struct file file;
    fw_error e = read_file(s->db, row, &file, why);
    if (!e && file.blob[0])
        e = check_whole_file(s, row, &file, why);
    if (!e && file.map_blob[0])
        e = check_map(s, row, &file, why);
    return e;
}
