#include "collector/symbol_files.h"

#include "base/failure.h"
#include "collector/db.h"
#include "collector/symbols.h"

#include <stdio.h>

static fw_error read_row(struct db_rows *rows, struct symbol_blob *file, struct fw_failure *why)
{
    bool found = db_next(rows);
    if (found) {
        const char *blob = db_get_text(rows, 0), *name = db_get_text(rows, 1);
        int length = snprintf(file->blob, sizeof file->blob, "%s", blob ? blob : "");
        found = length > 0 && (size_t)length < sizeof file->blob;
        snprintf(file->name, sizeof file->name, "%s", name ? name : "");
        file->uploaded_ms = (uint64_t)db_get_int(rows, 2);
        file->used_ms = (uint64_t)db_get_int(rows, 3);
        file->row = db_get_int(rows, 4);
        struct span sha256 = db_get_bytes(rows, 5);
        if (sha256.size == sizeof file->sha256)
            memcpy(file->sha256, sha256.data, sha256.size);
    }
    fw_error error = db_end(rows, why);
    if (error == FW_OK && !found)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "not found");
    return error;
}

/* As symbols.c chooses: shared ones first for who sees all, else a project's own. */
#define OWNER_FIRST                                                                                \
    " CASE WHEN project = 0 AND $2 >= 0 THEN 1 WHEN project <> 0 AND $2 < 0 THEN 1 ELSE 0 END,"

fw_error symbol_files_find(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                           enum symbol_wanted wanted, struct symbol_blob *file,
                           struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error error = db_take(c->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    if (wanted == SYMBOL_EXECUTABLE)
        error = db_query(conn, &rows, why,
                         "SELECT blob, name, uploaded_ms, used_ms, id, sha256 FROM symbol_file"
                         " WHERE debug_id = $1 AND kind = 1 AND " SYMBOLS_OF(
                             "2") " ORDER BY" OWNER_FIRST " id DESC LIMIT 1",
                         DB_VALUES(db_bytes(id, id_size), db_int(project)));
    else
        error =
            db_query(conn, &rows, why,
                     "SELECT blob, name, uploaded_ms, used_ms, id, sha256 FROM symbol_file WHERE "
                     "debug_id = $1"
                     " AND (kind = 2 OR (kind = 1 AND features LIKE '%debug_info%'))"
                     " AND " SYMBOLS_OF("2") " ORDER BY" OWNER_FIRST " kind DESC, id DESC LIMIT 1",
                     DB_VALUES(db_bytes(id, id_size), db_int(project)));
    if (error == FW_OK)
        error = read_row(rows, file, why);
    db_give(c->db, conn);
    return error;
}

void symbol_files_used(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                       const struct symbol_blob *file)
{
    enum { DAY_MS = 24 * 3600 * 1000 };
    uint64_t now = collector_now_ms();
    struct db_conn *conn;
    if (now < file->used_ms + DAY_MS || db_take(c->db, DB_WRITE, &conn, NULL) != FW_OK)
        return;
    db_run(conn, NULL,
           "UPDATE symbol_file SET used_ms = $1 WHERE debug_id = $2 AND " SYMBOLS_OF("3"),
           DB_VALUES(db_int((int64_t)now), db_bytes(id, id_size), db_int(project)));
    db_give(c->db, conn);
}
