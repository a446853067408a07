/*
 * Opening a SQLite database (https://www.sqlite.org/c3ref/): the file, the settings and functions
 * of each connection; and what SQLite's errors mean.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/db_checkpoint.h"
#include "collector/db_sqlite_inner.h"
#include "collector/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- errors ---- */

/* errno of the system call that failed last on the file or its WAL; 0: not known. */
static int system_error_of(sqlite3 *db)
{
    static const int pointers[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
    for (int i = 0; i < 2; i++) {
        sqlite3_file *file = NULL;
        int number = 0;
        if (sqlite3_file_control(db, "main", pointers[i], &file) == SQLITE_OK && file &&
            file->pMethods &&
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK &&
            number)
            return number;
    }
    return sqlite3_system_errno(db);
}

static fw_error code_of(int result, int system_error)
{
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT: return FW_ERR_TIMEOUT;
    case SQLITE_FULL: return FW_ERR_FULL;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return FW_ERR_PERMISSION;
    case SQLITE_NOMEM: return FW_ERR_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return FW_ERR_CORRUPT;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE: return FW_ERR_ARGUMENT;
    case SQLITE_ERROR: return FW_ERR_UNSUPPORTED; /* SQL that it does not understand */
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return system_error ? files_error(system_error) : FW_ERR_SYSTEM;
    default: return FW_ERR_SYSTEM;
    }
}

fw_error db_sqlite_say(sqlite3 *db, int result, const char *what, struct fw_failure *why)
{
    int kind = result & 0xff;
    int system_error = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN ? system_error_of(db) : 0;
    if (kind == SQLITE_INTERRUPT)
        return failure_say(why, FW_ERR_TIMEOUT, 0, "database: %.60s took more than %d seconds",
                           what, DB_STATEMENT_MS / 1000);
    return failure_say(why, code_of(result, system_error), system_error, "database: %s (%.100s)",
                       sqlite3_errmsg(db), what);
}

/* ---- opening ---- */

/* GREATEST and LEAST as PostgreSQL has them: NULLs are left out, NULL when there is nothing else.
 * The user data is 1 for the greatest, -1 for the least. */
static void extreme(sqlite3_context *context, int count, sqlite3_value **values)
{
    int sign = *(const int *)sqlite3_user_data(context);
    sqlite3_value *best = NULL;
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL)
            continue;
        double difference = 0;
        if (best && sqlite3_value_type(values[i]) == SQLITE_INTEGER &&
            sqlite3_value_type(best) == SQLITE_INTEGER) {
            sqlite3_int64 a = sqlite3_value_int64(values[i]), b = sqlite3_value_int64(best);
            difference = (a > b) - (a < b);
        } else if (best && sqlite3_value_numeric_type(values[i]) != SQLITE_TEXT) {
            difference = sqlite3_value_double(values[i]) - sqlite3_value_double(best);
        } else if (best) {
            difference = strcmp((const char *)sqlite3_value_text(values[i]),
                                (const char *)sqlite3_value_text(best));
        }
        if (!best || difference * sign > 0)
            best = values[i];
    }
    if (best)
        sqlite3_result_value(context, best);
    else
        sqlite3_result_null(context);
}

/* Called every so many steps of a statement; not 0 ends it. */
static int watch(void *context)
{
    struct sqlite_conn *c = context;
    return c->deadline && !c->unlimited && clock_ms() > c->deadline;
}

int db_sqlite_pragma(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* To become a WAL database needs the file alone: other processes that start now are waited for. */
static int use_wal(sqlite3 *db)
{
    int64_t until = clock_ms() + DB_BUSY_MS;
    for (;;) {
        int result = db_sqlite_pragma(db, "PRAGMA journal_mode=WAL");
        if ((result & 0xff) != SQLITE_BUSY || clock_ms() > until)
            return result;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static int set_up(struct db *db, struct sqlite_conn *c, enum db_use use)
{
    static const int greatest = 1, least = -1;
    int result = sqlite3_busy_timeout(c->db, DB_BUSY_MS);
    if (!result)
        result = use_wal(c->db);
    /* LIKE heeds case, as PostgreSQL's does. */
    if (!result)
        result = db_sqlite_pragma(c->db, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                                         "PRAGMA case_sensitive_like=ON; PRAGMA temp_store=MEMORY;"
                                         "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                                         "PRAGMA journal_size_limit=67108864");
    /* What is deleted is overwritten: bodies pass through here, and people may have them forgotten
     * (db_erase). */
    if (!result)
        result = db_sqlite_pragma(c->db, use == DB_WRITE
                                             ? "PRAGMA cache_size=-65536; PRAGMA secure_delete=ON"
                                             : "PRAGMA cache_size=-8192; PRAGMA query_only=ON");
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    if (!result)
        result = sqlite3_create_function_v2(
            c->db, "greatest", -1, flags, (void *)(uintptr_t)&greatest, extreme, NULL, NULL, NULL);
    if (!result)
        result = sqlite3_create_function_v2(c->db, "least", -1, flags, (void *)(uintptr_t)&least,
                                            extreme, NULL, NULL, NULL);
    if (use == DB_WRITE)
        db_checkpoint_watch(db, c->db);
    sqlite3_progress_handler(c->db, 20000, watch, c);
    return result;
}

void db_sqlite_close(struct db_conn *conn)
{
    struct sqlite_conn *c = db_sqlite_conn(conn);
    for (size_t i = 0; i < c->cache.count; i++)
        sqlite3_finalize(c->cache.statements[i].prepared);
    db_cache_free(&c->cache);
    sqlite3_close(c->db);
    free(c);
}

/* Makes the file when it is not there. Only its owner may read it: it holds hashes of secrets and
 * what people's programs did. It gets its name after it was closed: to close a file that SQLite has
 * open would drop SQLite's locks (https://www.sqlite.org/howtocorrupt.html, 2.2). */
static fw_error make_file(const char *path, struct fw_failure *why)
{
    if (access(path, F_OK) == 0)
        return FW_OK;
    char fresh[4096];
    if (snprintf(fresh, sizeof fresh, "%s.XXXXXX", path) >= (int)sizeof fresh)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the path of the database is too long");
    int fd = mkostemp(fresh, O_CLOEXEC); /* 0600 */
    if (fd < 0)
        return files_say(why, errno, "cannot make the database %s", path);
    close(fd);
    bool named = link(fresh, path) == 0 || errno == EEXIST;
    int os_error = errno;
    unlink(fresh);
    return named ? FW_OK : files_say(why, os_error, "cannot make the database %s", path);
}

fw_error db_sqlite_open(struct db *db, enum db_use use, struct db_conn **conn,
                        struct fw_failure *why)
{
    struct sqlite_conn *c = calloc(1, sizeof *c);
    if (!c)
        return failure_memory(why);
    fw_error error = make_file(db->where, why);
    if (error) {
        free(c);
        return error;
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(db->where, &c->db, flags, NULL);
    if (!result)
        result = set_up(db, c, use);
    if (result) {
        error = c->db ? db_sqlite_say(c->db, result, db->where, why) : failure_memory(why);
        db_sqlite_close(&c->base);
        return error;
    }
    *conn = &c->base;
    return FW_OK;
}
