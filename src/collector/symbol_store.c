#include "collector/symbol_store.h"
#include "collector/calls_sums.h"

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
    fw_error error = db_query(conn, &rows, why,
                              "SELECT sha256, blob, map_blob FROM symbol_file "
                              "WHERE debug_id = $1 AND arch = $2 AND kind = $3 AND project = $4",
                              DB_VALUES(db_bytes(file->id, file->id_size), db_text(file->arch),
                                        db_int(file->kind), db_int(file->project)));
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
        "map_size, features, state, message, uploaded_ms, uploaded_by, used_ms, project) VALUES "
        "($1, "
        "$2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12, $13, $12, $14) "
        "ON CONFLICT (debug_id, project, arch, kind, sha256) DO UPDATE SET name = excluded.name, "
        "blob = excluded.blob, map_blob = excluded.map_blob, map_size = excluded.map_size, "
        "features = excluded.features, message = excluded.message, used_ms = excluded.used_ms",
        DB_VALUES(db_bytes(file->id, file->id_size), db_text(file->arch), db_int(file->kind),
                  db_text(file->name), db_bytes(file->sha256, 32), db_int((int64_t)file->size),
                  db_text(file->blob), file->map_blob[0] ? db_text(file->map_blob) : db_null(),
                  file->map_blob[0] ? db_int((int64_t)file->map_size) : db_null(),
                  db_text(file->features), db_text(file->message), db_int(now), db_text(by),
                  db_int(file->project)));
}

/* ---- which is in use ---- */

/* Those of the project; of all when the file is shared. Shared files count for each. */
static fw_error mark_images(struct db_conn *conn, int64_t project, const uint8_t *id,
                            size_t id_size, int64_t **list, size_t *count, struct fw_failure *why)
{
    struct db_rows *rows;
    size_t capacity = 0;
    bool room = true;
    fw_error error = db_query(
        conn, &rows, why,
        "UPDATE project_image SET has_map = CASE WHEN EXISTS (SELECT 1 FROM symbol_file f WHERE "
        "f.debug_id = $1 AND f.state = 1 AND f.project IN (0, project_image.project)) THEN 1 ELSE "
        "0 END, own = CASE WHEN EXISTS (SELECT 1 FROM symbol_file f WHERE f.debug_id = $1 AND "
        "f.state = 1 AND f.project IN (0, project_image.project)) THEN 1 ELSE 0 END, map_ms = $2 "
        "WHERE debug_id = $1 AND ($3 = 0 OR project = $3) RETURNING image",
        DB_VALUES(db_bytes(id, id_size), db_int((int64_t)collector_now_ms()), db_int(project)));
    if (error != FW_OK)
        return error;
    while (room && db_next(rows)) {
        int64_t image = db_get_int(rows, 0);
        bool known = false;
        for (size_t i = 0; i < *count && !known; i++)
            known = (*list)[i] == image; /* of another project; an id has few rows of `image` */
        room = known || array_room(list, &capacity, *count, sizeof **list);
        if (room && !known)
            (*list)[(*count)++] = image;
    }
    error = db_end(rows, why);
    return room ? error : failure_memory(why);
}

fw_error symbol_store_choose(struct db_conn *conn, int64_t project, const uint8_t *id,
                             size_t id_size, struct fw_failure *why)
{
    static const char choose[] =
        "UPDATE symbol_file SET state = CASE "
        "WHEN map_blob IS NULL THEN CASE WHEN message = '' THEN 0 ELSE 2 END "
        "WHEN id = (SELECT f.id FROM symbol_file f WHERE f.debug_id = $1 AND f.project = $2 AND "
        "f.arch = "
        "symbol_file.arch AND f.map_blob IS NOT NULL ORDER BY CASE WHEN f.features LIKE "
        "'%debug_info%' AND f.features NOT LIKE '%split%' THEN 4 WHEN f.kind = 3 THEN 3 "
        "WHEN f.features LIKE '%debug_info%' THEN 2 WHEN f.features LIKE '%symtab%' THEN 1 "
        "ELSE 0 END DESC, f.id DESC LIMIT 1) THEN 1 ELSE 0 END WHERE debug_id = $1 AND project = "
        "$2";
    int64_t *images = NULL;
    size_t count = 0;
    fw_error error = stack_group_changed(conn, why);
    if (error == FW_OK)
        error = db_run(conn, why, choose, DB_VALUES(db_bytes(id, id_size), db_int(project)));
    if (error == FW_OK)
        error = mark_images(conn, project, id, id_size, &images, &count, why);
    for (size_t i = 0; error == FW_OK && i < count; i++) {
        char subject[48];
        if (project)
            snprintf(subject, sizeof subject, "%" PRId64 "@%" PRId64, images[i], project);
        else
            snprintf(subject, sizeof subject, "%" PRId64, images[i]);
        error = jobs_add(conn, "names", subject, "", why);
        if (error == FW_OK)
            error = calls_rename(conn, project, images[i], why);
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

static fw_error take_row(struct db_conn *conn, int64_t project, int64_t row,
                         struct symbol_file *file, struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error = db_query(conn, &rows, why,
                              "DELETE FROM symbol_file WHERE id = $1 AND (project = $2 OR $2 < 0) "
                              "RETURNING debug_id, arch, kind, name, sha256, size, blob, map_blob, "
                              "project",
                              DB_VALUES(db_int(row), db_int(project)));
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
        file->project = db_get_int(rows, 8);
        copy(file->blob, sizeof file->blob, db_get_text(rows, 6));
        copy(file->map_blob, sizeof file->map_blob, db_get_text(rows, 7));
    }
    error = db_end(rows, why);
    if (error == FW_OK && !found)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no such file: somebody removed it");
    return error;
}

/* Who sends the same again is not told that it is here. */
static fw_error forget_uploads(struct db_conn *conn, const struct symbol_file *file,
                               struct fw_failure *why)
{
    char hex[2 * sizeof file->id + 1], pattern[sizeof hex + 8];
    symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
    snprintf(pattern, sizeof pattern, "%%\"%s\"%%", hex);
    return db_run(conn, why,
                  "DELETE FROM upload WHERE state = 2 AND project = $2 AND result LIKE $1",
                  DB_VALUES(db_text(pattern), db_int(file->project)));
}

fw_error symbol_store_remove(struct db_conn *conn, int64_t project, int64_t row,
                             struct symbol_file *file, struct fw_failure *why)
{
    bool blob = false, map = false;
    *file = (struct symbol_file){0};
    fw_error error = take_row(conn, project, row, file, why);
    if (error == FW_OK)
        error = shared(conn, file, &blob, &map, why);
    if (blob)
        file->blob[0] = 0;
    if (map)
        file->map_blob[0] = 0;
    if (error == FW_OK && file->kind != DEBUG_FILE_SOURCES)
        error = symbol_store_choose(conn, file->project, file->id, file->id_size, why);
    return error == FW_OK ? forget_uploads(conn, file, why) : error;
}

fw_error symbol_store_give(struct db_conn *conn, int64_t row, int64_t project,
                           struct symbol_file *file, struct fw_failure *why)
{
    struct db_rows *rows;
    int64_t same = 0;
    *file = (struct symbol_file){0};
    fw_error error =
        db_query(conn, &rows, why,
                 "SELECT f.debug_id, f.project, f.kind, f.name, (SELECT COUNT(*) FROM symbol_file o"
                 " WHERE o.debug_id = f.debug_id AND o.project = $2 AND o.arch = f.arch"
                 " AND o.kind = f.kind AND o.sha256 = f.sha256 AND o.id <> f.id)"
                 " FROM symbol_file f WHERE f.id = $1",
                 DB_VALUES(db_int(row), db_int(project)));
    if (error != FW_OK)
        return error;
    if (db_next(rows)) {
        struct span id = db_get_bytes(rows, 0);
        file->id_size = id.size <= sizeof file->id ? id.size : 0;
        memcpy(file->id, id.data, file->id_size);
        file->project = db_get_int(rows, 1);
        file->kind = (int)db_get_int(rows, 2);
        copy(file->name, sizeof file->name, db_get_text(rows, 3));
        same = db_get_int(rows, 4);
    }
    error = db_end(rows, why);
    if (error == FW_OK && !file->id_size)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "no such file: somebody removed it");
    if (error == FW_OK && same)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the same file is there already");
    if (error == FW_OK)
        error = db_run(conn, why, "UPDATE symbol_file SET project = $2 WHERE id = $1",
                       DB_VALUES(db_int(row), db_int(project)));
    if (error == FW_OK)
        error = forget_uploads(conn, file, why);
    if (error == FW_OK && file->kind != DEBUG_FILE_SOURCES)
        error = symbol_store_choose(conn, file->project, file->id, file->id_size, why);
    if (error == FW_OK && file->kind != DEBUG_FILE_SOURCES)
        error = symbol_store_choose(conn, project, file->id, file->id_size, why);
    return error;
}

fw_error symbol_store_orphan(struct db_conn *conn, int64_t project, const uint8_t *id,
                             size_t id_size, int64_t *row, struct fw_failure *why)
{
    struct db_rows *rows;
    *row = 0;
    fw_error error = db_query(conn, &rows, why,
                              "SELECT s.id FROM symbol_file s WHERE s.debug_id = $1 AND s.kind = 4 "
                              "AND s.project = $2 AND NOT EXISTS (SELECT 1 FROM symbol_file f "
                              "WHERE f.debug_id = $1 AND f.kind < 4 AND f.project IN (0, $2)) "
                              "LIMIT 1",
                              DB_VALUES(db_bytes(id, id_size), db_int(project)));
    if (error != FW_OK)
        return error;
    if (db_next(rows))
        *row = db_get_int(rows, 0);
    return db_end(rows, why);
}
