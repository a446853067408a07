/*
 * The job "uploads": takes away what nobody finishes or names any more.
 *
 * A blob is made before the row that names it, and goes after the row: one that is older than a
 * day and has no row was left by a server that was killed in between.
 */
#include "collector/blobs_sweep.h"
#include "collector/db.h"
#include "collector/uploads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOUR_MS = 3600000, DAY_MS = 86400000, ABANDONED_DAYS = 3, TOLD_DAYS = 90 };

/* ---- rows ---- */

static fw_error sweep_rows(struct db_conn *conn, struct fw_failure *why)
{
    int64_t now = (int64_t)collector_now_ms();
    const struct db_value old = db_int(now - (int64_t)ABANDONED_DAYS * DAY_MS);
    fw_error error = db_begin(conn, why);
    if (error == FW_OK)
        error = db_run(conn, why,
                       "DELETE FROM upload_part WHERE upload IN (SELECT id FROM upload WHERE "
                       "state = 0 AND changed_ms < $1)",
                       &old, 1);
    if (error == FW_OK)
        error =
            db_run(conn, why, "DELETE FROM upload WHERE state = 0 AND changed_ms < $1", &old, 1);
    if (error == FW_OK)
        error = db_run(conn, why, "DELETE FROM upload WHERE state > 1 AND changed_ms < $1",
                       DB_VALUES(db_int(now - (int64_t)TOLD_DAYS * DAY_MS)));
    /* The job came to no end: five servers died of it, or it was given up. */
    if (error == FW_OK)
        error = db_run(conn, why,
                       "UPDATE upload SET state = 3, changed_ms = $1, message = 'it could not be "
                       "converted: the server ended each time it was tried' WHERE state = 1 AND "
                       "NOT EXISTS (SELECT 1 FROM job WHERE job.kind = 'convert' AND job.subject "
                       "= upload.id AND job.state < 2)",
                       DB_VALUES(db_int(now)));
    if (error == FW_OK)
        error = db_run(conn, why,
                       "DELETE FROM upload_part WHERE upload IN (SELECT id FROM upload WHERE "
                       "state > 1)",
                       DB_NONE);
    return error == FW_OK ? db_commit(conn, why) : error;
}

/* ---- blobs ---- */

static fw_error is_named(struct db_conn *conn, const char *sql, const struct db_value *values,
                         size_t count, bool *named, struct fw_failure *why)
{
    int64_t one;
    fw_error error = db_query_int(conn, &one, why, sql, values, count);
    *named = one != 0;
    return error;
}

static size_t read_hex(const char *hex, size_t digits, uint8_t *bytes, size_t size)
{
    size_t n = 0;
    for (; n < size && 2 * n + 1 < digits; n++) {
        const char two[3] = {hex[2 * n], hex[2 * n + 1], 0};
        bytes[n] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

/* Whether a row has symbols/AB/CDEF.../ARCH-v1-HASH-UPLOAD.symmap, a map of the identity ABCDEF...,
 * or symbols/.../KIND-SHA256-UPLOAD, which slices of other identities may share. */
static fw_error is_symbol(struct db_conn *conn, const char *key, bool *named,
                          struct fw_failure *why)
{
    uint8_t bytes[64];
    char hex[130];
    size_t used = 0;
    const char *end = strrchr(key, '/'), *dash = strchr(end, '-');
    if (strstr(end, ".symmap")) {
        for (const char *from = key + strlen("symbols/"); from < end && used + 1 < sizeof hex;
             from++)
            if (*from != '/')
                hex[used++] = *from;
        size_t size = read_hex(hex, used, bytes, sizeof bytes);
        return is_named(conn, "SELECT 1 FROM symbol_file WHERE debug_id = $1 AND map_blob = $2",
                        DB_VALUES(db_bytes(bytes, size), db_text(key)), named, why);
    }
    if (!dash || strcspn(dash + 1, "-") != 64)
        return FW_OK; /* not of ours: left alone */
    read_hex(dash + 1, 64, bytes, sizeof bytes);
    return is_named(conn, "SELECT 1 FROM symbol_file WHERE sha256 = $1 AND blob = $2",
                    DB_VALUES(db_bytes(bytes, 32), db_text(key)), named, why);
}

static fw_error is_part(struct db_conn *conn, const char *key, bool *named, struct fw_failure *why)
{
    return is_named(conn, "SELECT 1 FROM upload_part WHERE blob = $1", DB_VALUES(db_text(key)),
                    named, why);
}

/* ---- this server's files ---- */

static void sweep_folder(const char *path, time_t before, unsigned depth)
{
    DIR *dir = opendir(path);
    struct stat about;
    char name[800];
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (lstat(name, &about) != 0 || about.st_mtime >= before)
            continue;
        if (!S_ISDIR(about.st_mode))
            unlink(name);
        else if (depth) {
            sweep_folder(name, before, depth - 1);
            rmdir(name);
        }
    }
    if (dir)
        closedir(dir);
}

static fw_error run_sweep(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct db_conn *conn;
    char folder[400];
    fw_error error = clock_may_remove(why);
    if (error == FW_OK)
        error = db_take(c->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    error = sweep_rows(conn, why);
    db_give(c->db, conn);
    uint64_t before_ms = collector_now_ms() - DAY_MS;
    const struct blobs_sweep parts = {"uploads/", before_ms, is_part};
    const struct blobs_sweep symbols = {"symbols/", before_ms, is_symbol};
    if (error == FW_OK)
        error = blobs_sweep(c, job, &parts, why);
    if (error == FW_OK)
        error = blobs_sweep(c, job, &symbols, why);
    if (error == FW_OK && upload_work_folder(c, folder, sizeof folder, why))
        sweep_folder(folder, (time_t)(clock_real_ms() - DAY_MS) / 1000, 2);
    return error;
}

const struct job_kind job_uploads = {"uploads", run_sweep, HOUR_MS};
