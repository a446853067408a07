#include "collector/symbol_store.h"

#include "base/array.h"
#include "base/failure.h"
#include "base/hex.h"
#include "collector/collector.h"
#include "collector/jobs.h"
#include "collector/stack_group.h"
#include "symbolicate/debug_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void symbol_id_hex(const uint8_t *id, size_t size, char *hex, size_t hex_size)
{
    size_t room = (hex_size - 1) / 2;
    hex_text(hex, id, size < room ? size : room);
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static fw_error find_old(struct db_conn *conn, const struct symbol_file *file, char old[2][320],
                         bool *other, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error = db_query(
        conn, &rows, why,
        "SELECT sha256, blob, map_blob FROM symbol_file "
        "WHERE debug_id = $1 AND arch = $2 AND kind = $3",
        DB_VALUES(db_bytes(file->id, file->id_size), db_text(file->arch), db_int(file->kind)));
    if (error != FW_OK)
        return error;
    while (db_next(rows)) {
        struct span sha256 = db_get_bytes(rows, 0);
        bool same = sha256.size == 32 && memcmp(sha256.data, file->sha256, 32) == 0;
        *other |= !same;
        if (!same)
            continue;
        copy(old[0], 320, db_get_text(rows, 1));
        copy(old[1], 320, db_get_text(rows, 2));
    }
    return db_end(rows, why);
}

fw_error symbol_store_add(struct db_conn *conn, const struct symbol_file *file, const char *by,
                          char old[2][320], bool *other, struct fw_failure *why)
{
    int64_t now = (int64_t)collector_now_ms();
    old[0][0] = old[1][0] = 0;
    *other = false;
    fw_error error = find_old(conn, file, old, other, why);
    if (error != FW_OK)
        return error;
    if (strcmp(old[0], file->blob) == 0)
        old[0][0] = 0;
    if (strcmp(old[1], file->map_blob) == 0)
        old[1][0] = 0;
    return db_run(
        conn, why,
        "INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob, map_blob, "
        "map_size, features, state, message, uploaded_ms, uploaded_by, used_ms) VALUES ($1, $2, "
        "$3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12, $13, $12) "
        "ON CONFLICT (debug_id, arch, kind, sha256) DO UPDATE SET name = excluded.name, "
        "blob = excluded.blob, map_blob = excluded.map_blob, map_size = excluded.map_size, "
        "features = excluded.features, message = excluded.message, used_ms = excluded.used_ms",
        DB_VALUES(db_bytes(file->id, file->id_size), db_text(file->arch), db_int(file->kind),
                  db_text(file->name), db_bytes(file->sha256, 32), db_int((int64_t)file->size),
                  db_text(file->blob), file->map_blob[0] ? db_text(file->map_blob) : db_null(),
                  file->map_blob[0] ? db_int((int64_t)file->map_size) : db_null(),
                  db_text(file->features), db_text(file->message), db_int(now), db_text(by)));
}

/* ---- which is in use ---- */

static fw_error mark_images(struct db_conn *conn, const uint8_t *id, size_t id_size, int64_t **list,
                            size_t *count, struct fw_failure *why)
{
    struct db_rows *rows;
    size_t capacity = 0;
    bool room = true;
    fw_error error = db_query(
        conn, &rows, why,
        "UPDATE image SET has_map = CASE WHEN EXISTS (SELECT 1 FROM symbol_file WHERE debug_id = "
        "$1 AND state = 1) THEN 1 ELSE 0 END, own = CASE WHEN EXISTS (SELECT 1 FROM symbol_file "
        "WHERE debug_id = $1 AND state = 1) THEN 1 ELSE 0 END, map_ms = $2 WHERE id_key = $1 "
        "RETURNING id",
        DB_VALUES(db_bytes(id, id_size), db_int((int64_t)collector_now_ms())));
    if (error != FW_OK)
        return error;
    while (room && db_next(rows)) {
        room = array_room(list, &capacity, *count, sizeof **list);
        if (room)
            (*list)[(*count)++] = db_get_int(rows, 0);
    }
    error = db_end(rows, why);
    return room ? error : failure_memory(why);
}

fw_error symbol_store_choose(struct db_conn *conn, const uint8_t *id, size_t id_size,
                             struct fw_failure *why)
{
    static const char choose[] =
        "UPDATE symbol_file SET state = CASE "
        "WHEN map_blob IS NULL THEN CASE WHEN message = '' THEN 0 ELSE 2 END "
        "WHEN id = (SELECT f.id FROM symbol_file f WHERE f.debug_id = $1 AND f.arch = "
        "symbol_file.arch AND f.map_blob IS NOT NULL ORDER BY CASE WHEN f.features LIKE "
        "'%debug_info%' AND f.features NOT LIKE '%split%' THEN 4 WHEN f.kind = 3 THEN 3 "
        "WHEN f.features LIKE '%debug_info%' THEN 2 WHEN f.features LIKE '%symtab%' THEN 1 "
        "ELSE 0 END DESC, f.id DESC LIMIT 1) THEN 1 ELSE 0 END WHERE debug_id = $1";
    int64_t *images = NULL;
    size_t count = 0;
    fw_error error = stack_group_changed(conn, why);
    if (error == FW_OK)
        error = db_run(conn, why, choose, DB_VALUES(db_bytes(id, id_size)));
    if (error == FW_OK)
        error = mark_images(conn, id, id_size, &images, &count, why);
    for (size_t i = 0; error == FW_OK && i < count; i++) {
        char subject[24];
        snprintf(subject, sizeof subject, "%" PRId64, images[i]);
        error = jobs_add(conn, "names", subject, "", why);
    }
    free(images);
    return error;
}

/* ---- going ---- */

static fw_error shared(struct db_conn *conn, const struct symbol_file *file, bool *blob, bool *map,
                       struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error =
        db_query(conn, &rows, why, "SELECT blob, map_blob FROM symbol_file WHERE sha256 = $1",
                 DB_VALUES(db_bytes(file->sha256, 32)));
    if (error != FW_OK)
        return error;
    while (db_next(rows)) {
        const char *one = db_get_text(rows, 0), *two = db_get_text(rows, 1);
        *blob |= one && strcmp(one, file->blob) == 0;
        *map |= two && strcmp(two, file->map_blob) == 0;
    }
    return db_end(rows, why);
}

static fw_error take_row(struct db_conn *conn, int64_t row, struct symbol_file *file,
                         struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error = db_query(conn, &rows, why,
                              "DELETE FROM symbol_file WHERE id = $1 RETURNING debug_id, arch, "
                              "kind, name, sha256, size, blob, map_blob",
                              DB_VALUES(db_int(row)));
    if (error != FW_OK)
        return error;
    bool found = db_next(rows);
    if (found) {
        struct span id = db_get_bytes(rows, 0), sha256 = db_get_bytes(rows, 4);
        file->id_size = id.size <= sizeof file->id ? id.size : 0;
        memcpy(file->id, id.data, file->id_size);
        if (sha256.size == 32)
            memcpy(file->sha256, sha256.data, 32);
        copy(file->arch, sizeof file->arch, db_get_text(rows, 1));
        file->kind = (int)db_get_int(rows, 2);
        copy(file->name, sizeof file->name, db_get_text(rows, 3));
        file->size = (uint64_t)db_get_int(rows, 5);
        copy(file->blob, sizeof file->blob, db_get_text(rows, 6));
        copy(file->map_blob, sizeof file->map_blob, db_get_text(rows, 7));
    }
    error = db_end(rows, why);
    if (error == FW_OK && !found)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no such file: somebody removed it");
    return error;
}

fw_error symbol_store_remove(struct db_conn *conn, int64_t row, struct symbol_file *file,
                             struct fw_failure *why)
{
    char hex[2 * sizeof file->id + 1], pattern[sizeof hex + 8];
    bool blob = false, map = false;
    *file = (struct symbol_file){0};
    fw_error error = take_row(conn, row, file, why);
    if (error == FW_OK)
        error = shared(conn, file, &blob, &map, why);
    if (blob)
        file->blob[0] = 0;
    if (map)
        file->map_blob[0] = 0;
    if (error == FW_OK && file->kind != DEBUG_FILE_SOURCES)
        error = symbol_store_choose(conn, file->id, file->id_size, why);
    /* Who sends the same again is not told that it is here. */
    symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
    snprintf(pattern, sizeof pattern, "%%\"%s\"%%", hex);
    if (error == FW_OK)
        error = db_run(conn, why, "DELETE FROM upload WHERE state = 2 AND result LIKE $1",
                       DB_VALUES(db_text(pattern)));
    return error;
}

fw_error symbol_store_orphan(struct db_conn *conn, const uint8_t *id, size_t id_size, int64_t *row,
                             struct fw_failure *why)
{
    struct db_rows *rows;
    *row = 0;
    fw_error error = db_query(conn, &rows, why,
                              "SELECT s.id FROM symbol_file s WHERE s.debug_id = $1 AND s.kind = 4 "
                              "AND NOT EXISTS (SELECT 1 FROM symbol_file f WHERE f.debug_id = $1 "
                              "AND f.kind < 4) LIMIT 1",
                              DB_VALUES(db_bytes(id, id_size)));
    if (error != FW_OK)
        return error;
    if (db_next(rows))
        *row = db_get_int(rows, 0);
    return db_end(rows, why);
}
