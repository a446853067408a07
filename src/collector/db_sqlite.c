/*
 * The driver of SQLite (https://www.sqlite.org/c3ref/): one file, one connection that writes.
 *
 * Invariant: a commit returned is on the disk (WAL, synchronous=FULL). Readers see the last commit
 * before their statement, or before their transaction, and never wait for the writer. Other
 * processes may have the same file open; they are waited for, DB_BUSY_MS at most.
 */
#include "base/failure.h"
#include "base/os_error.h"
#include "collector/clock.h"
#include "collector/db_cache.h"
#include "collector/db_driver.h"
#include "collector/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sqlite_conn {
    struct db_conn base;
    sqlite3 *db;
    struct db_cache cache; /* of sqlite3_stmt */
    sqlite3_stmt *query;   /* whose rows are read */
    int query_result;      /* of its last step */
    bool row_ready;        /* the first step found a row, which db_next has not given yet */
    int64_t deadline;      /* of the statement that runs, by clock_ms; 0: none */
    bool unlimited;        /* while the schema changes */
};

static struct sqlite_conn *mine(const struct db_conn *conn)
{
    return (struct sqlite_conn *)(uintptr_t)conn;
}

static sqlite3_stmt *row(const struct db_conn *conn)
{
    return mine(conn)->query;
}

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

static fw_error say(sqlite3 *db, int result, const char *what, struct fw_failure *why)
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

static int pragma(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* To become a WAL database needs the file alone: other processes that start now are waited for. */
static int use_wal(sqlite3 *db)
{
    int64_t until = clock_ms() + DB_BUSY_MS;
    for (;;) {
        int result = pragma(db, "PRAGMA journal_mode=WAL");
        if ((result & 0xff) != SQLITE_BUSY || clock_ms() > until)
            return result;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static int set_up(struct sqlite_conn *c, enum db_use use)
{
    static const int greatest = 1, least = -1;
    int result = sqlite3_busy_timeout(c->db, DB_BUSY_MS);
    if (!result)
        result = use_wal(c->db);
    /* LIKE heeds case, as PostgreSQL's does. A larger WAL than the default: fewer checkpoints, each
     * of which costs a commit two more fsyncs. */
    if (!result)
        result = pragma(c->db, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                               "PRAGMA case_sensitive_like=ON; PRAGMA temp_store=MEMORY;"
                               "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                               "PRAGMA wal_autocheckpoint=4000;"
                               "PRAGMA journal_size_limit=67108864");
    /* What is deleted is overwritten: bodies pass through here, and people may have them forgotten
     * (db_erase). */
    if (!result)
        result = pragma(c->db, use == DB_WRITE ? "PRAGMA cache_size=-32768; PRAGMA secure_delete=ON"
                                               : "PRAGMA cache_size=-8192; PRAGMA query_only=ON");
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    if (!result)
        result = sqlite3_create_function_v2(
            c->db, "greatest", -1, flags, (void *)(uintptr_t)&greatest, extreme, NULL, NULL, NULL);
    if (!result)
        result = sqlite3_create_function_v2(c->db, "least", -1, flags, (void *)(uintptr_t)&least,
                                            extreme, NULL, NULL, NULL);
    sqlite3_progress_handler(c->db, 20000, watch, c);
    return result;
}

static void close_it(struct db_conn *conn)
{
    struct sqlite_conn *c = mine(conn);
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

static fw_error open_it(struct db *db, enum db_use use, struct db_conn **conn,
                        struct fw_failure *why)
{
    struct sqlite_conn *c = calloc(1, sizeof *c);
    if (!c)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    fw_error error = make_file(db->where, why);
    if (error) {
        free(c);
        return error;
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(db->where, &c->db, flags, NULL);
    if (!result)
        result = set_up(c, use);
    if (result) {
        error = c->db ? say(c->db, result, db->where, why)
                      : failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
        close_it(&c->base);
        return error;
    }
    *conn = &c->base;
    return FW_OK;
}

static bool alive(struct db_conn *conn)
{
    (void)conn;
    return true;
}

/* ---- statements ---- */

/* SQL as SQLite takes it: ?1 for $1, whose own $1 would be a name, and no locks of rows. */
static char *spelled(const char *sql)
{
    static const char lock[] = " FOR UPDATE", skip[] = " SKIP LOCKED";
    char *out = malloc(strlen(sql) + 1), *to = out;
    bool quoted = false;
    while (out && *sql) {
        if (*sql == '\'')
            quoted = !quoted;
        if (!quoted && strncmp(sql, lock, sizeof lock - 1) == 0) {
            sql += sizeof lock - 1;
            if (strncmp(sql, skip, sizeof skip - 1) == 0)
                sql += sizeof skip - 1;
            continue;
        }
        bool value = !quoted && *sql == '$' && sql[1] >= '0' && sql[1] <= '9';
        *to++ = value ? '?' : *sql;
        sql++;
    }
    if (out)
        *to = 0;
    return out;
}

static fw_error prepare(struct sqlite_conn *c, const char *sql, sqlite3_stmt **statement,
                        struct fw_failure *why)
{
    struct db_statement *known = db_cache_find(&c->cache, sql, NULL);
    if (known) {
        *statement = known->prepared;
        return FW_OK;
    }
    char *text = spelled(sql);
    if (!text)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    const char *rest = NULL;
    int result = sqlite3_prepare_v3(c->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, &rest);
    bool more = !result && rest && *rest;
    free(text);
    if (result)
        return say(c->db, result, sql, why);
    void *dropped;
    if (more || !*statement || !db_cache_add(&c->cache, sql, *statement, &dropped)) {
        sqlite3_finalize(*statement);
        return failure_say(why, more ? FW_ERR_ARGUMENT : FW_ERR_MEMORY, 0, "database: %s (%.100s)",
                           more ? "more than one statement" : "no statement", sql);
    }
    sqlite3_finalize(dropped);
    return FW_OK;
}

/* `keep`: SQLITE_STATIC when the bytes stay until the statement is done, else SQLITE_TRANSIENT. */
static int bind(sqlite3_stmt *s, int at, const struct db_value *v, sqlite3_destructor_type keep)
{
    const void *data = v->bytes.data ? (const void *)v->bytes.data : "";
    switch (v->type) {
    case DB_INT: return sqlite3_bind_int64(s, at, v->integer);
    case DB_REAL: return sqlite3_bind_double(s, at, v->real);
    case DB_TEXT: return sqlite3_bind_text64(s, at, data, v->bytes.size, keep, SQLITE_UTF8);
    case DB_BYTES: return sqlite3_bind_blob64(s, at, data, v->bytes.size, keep);
    default: return sqlite3_bind_null(s, at);
    }
}

static fw_error start(struct sqlite_conn *c, sqlite3_stmt **statement, const char *sql,
                      const struct db_value *values, size_t count, sqlite3_destructor_type keep,
                      struct fw_failure *why)
{
    if (c->base.in_transaction && sqlite3_get_autocommit(c->db)) /* some failures roll back */
        return failure_say(why, FW_ERR_TIMEOUT, 0, "database: the transaction was rolled back");
    fw_error error = prepare(c, sql, statement, why);
    if (error)
        return error;
    if ((size_t)sqlite3_bind_parameter_count(*statement) != count)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "database: %zu values for %d (%.100s)", count,
                           sqlite3_bind_parameter_count(*statement), sql);
    for (size_t i = 0; i < count; i++) {
        int result = bind(*statement, (int)i + 1, &values[i], keep);
        if (result) {
            sqlite3_clear_bindings(*statement);
            return say(c->db, result, sql, why);
        }
    }
    c->deadline = clock_ms() + DB_STATEMENT_MS;
    return FW_OK;
}

static fw_error run(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                    const struct db_value *values, size_t count)
{
    struct sqlite_conn *c = mine(conn);
    sqlite3_stmt *s;
    fw_error error = start(c, &s, sql, values, count, SQLITE_STATIC, why);
    if (error)
        return error;
    int result;
    do
        result = sqlite3_step(s);
    while (result == SQLITE_ROW);
    if (result != SQLITE_DONE)
        error = say(c->db, result, sql, why);
    else if (rows)
        *rows = sqlite3_stmt_readonly(s) ? 0 : (uint64_t)sqlite3_changes64(c->db);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    c->deadline = 0;
    return error;
}

static fw_error query(struct db_conn *conn, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count)
{
    struct sqlite_conn *c = mine(conn);
    fw_error error = start(c, &c->query, sql, values, count, SQLITE_TRANSIENT, why);
    if (error)
        return error;
    c->query_result = sqlite3_step(c->query);
    c->row_ready = c->query_result == SQLITE_ROW;
    if (c->row_ready || c->query_result == SQLITE_DONE)
        return FW_OK;
    error = say(c->db, c->query_result, sql, why);
    sqlite3_reset(c->query);
    sqlite3_clear_bindings(c->query);
    c->deadline = 0;
    return error;
}

static bool next(struct db_conn *conn)
{
    struct sqlite_conn *c = mine(conn);
    if (c->row_ready)
        c->row_ready = false;
    else if (c->query_result == SQLITE_ROW)
        c->query_result = sqlite3_step(c->query);
    return c->query_result == SQLITE_ROW;
}

static fw_error end(struct db_conn *conn, struct fw_failure *why)
{
    struct sqlite_conn *c = mine(conn);
    fw_error error = FW_OK;
    if (c->query_result != SQLITE_ROW && c->query_result != SQLITE_DONE)
        error = say(c->db, c->query_result, sqlite3_sql(c->query), why);
    sqlite3_reset(c->query);
    sqlite3_clear_bindings(c->query);
    c->deadline = 0;
    return error;
}

static fw_error begin(struct db_conn *conn, struct fw_failure *why)
{
    return run(conn, why, NULL, conn->use == DB_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", DB_NONE);
}

static void rollback(struct db_conn *conn)
{
    conn->in_transaction = false;
    if (!sqlite3_get_autocommit(mine(conn)->db) && run(conn, NULL, NULL, "ROLLBACK", DB_NONE))
        conn->broken = true;
    mine(conn)->unlimited = false;
}

static fw_error commit(struct db_conn *conn, struct fw_failure *why)
{
    fw_error error = run(conn, why, NULL, "COMMIT", DB_NONE);
    mine(conn)->unlimited = false;
    return error;
}

static fw_error lock_schema(struct db_conn *conn, struct fw_failure *why)
{
    (void)why; /* who writes is alone */
    mine(conn)->unlimited = true;
    return FW_OK;
}

/* ---- values of a row ---- */

static bool is_null(const struct db_conn *conn, int column)
{
    return sqlite3_column_type(row(conn), column) == SQLITE_NULL;
}

static int64_t get_int(const struct db_conn *conn, int column)
{
    int type = sqlite3_column_type(row(conn), column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_column_int64(row(conn), column)
                                                          : 0;
}

static double get_real(const struct db_conn *conn, int column)
{
    int type = sqlite3_column_type(row(conn), column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_column_double(row(conn), column)
                                                          : 0;
}

static struct span get_bytes(const struct db_conn *conn, int column, bool text)
{
    int type = sqlite3_column_type(row(conn), column);
    if (type != (text ? SQLITE_TEXT : SQLITE_BLOB))
        return (struct span){NULL, 0};
    const void *data = text ? (const void *)sqlite3_column_text(row(conn), column)
                            : sqlite3_column_blob(row(conn), column);
    return (struct span){data, (size_t)sqlite3_column_bytes(row(conn), column)};
}

/* ---- what was deleted ---- */

/* All of the WAL into the database, and the WAL cut to nothing: the pages of before are gone. */
static fw_error erase(struct db *db, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error error = db_take(db, DB_WRITE, &conn, why);
    if (error)
        return error;
    error = db_query(conn, &rows, why, "PRAGMA wal_checkpoint(TRUNCATE)", DB_NONE);
    if (!error) {
        bool busy = db_next(rows) && db_get_int(rows, 0) != 0;
        error = db_end(rows, why);
        if (!error && busy)
            error = failure_say(why, FW_ERR_TIMEOUT, 0,
                                "database: somebody still reads what it was before");
    }
    db_give(db, conn);
    return error;
}

/* ---- a copy ---- */

/* All pages under one snapshot: writers go on in the WAL meanwhile. */
static fw_error copy_pages(sqlite3 *from, sqlite3 *to, struct fw_failure *why)
{
    sqlite3_backup *copy = sqlite3_backup_init(to, "main", from, "main");
    if (copy)
        sqlite3_backup_step(copy, -1);
    int result = copy ? sqlite3_backup_finish(copy) : sqlite3_errcode(to);
    return result ? say(to, result, "backup", why) : FW_OK;
}

static fw_error backup_to(struct db_conn *conn, const char *path, struct fw_failure *why)
{
    sqlite3 *to = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(path, &to, flags, NULL);
    fw_error error = result ? say(to, result, path, why) : FW_OK;
    /* What is copied says WAL; the copy is one file, closed with a whole checkpoint. */
    if (!error && pragma(to, "PRAGMA synchronous=FULL"))
        error = say(to, sqlite3_errcode(to), path, why);
    if (!error)
        error = copy_pages(mine(conn)->db, to, why);
    sqlite3_close(to);
    return error;
}

static fw_error backup(struct db *db, const char *path, struct fw_failure *why)
{
    char partial[4096];
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the path of the backup is too long");
    unlink(partial);
    int fd = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return files_say(why, errno, "cannot make %s", partial);
    close(fd);
    struct db_conn *conn;
    fw_error error = db_take(db, DB_READ, &conn, why);
    if (!error)
        error = backup_to(conn, partial, why);
    db_give(db, conn);
    if (!error)
        error = files_publish(partial, path, why);
    if (error)
        unlink(partial);
    return error;
}

const struct db_driver db_sqlite = {
    .id = "INTEGER PRIMARY KEY AUTOINCREMENT", /* numbers of deleted rows never come again */
    .blob = "BLOB",
    .clustered = "WITHOUT ROWID",
    .integer = "INTEGER",
    .text = "TEXT",
    .readers = 8,
    .writers = 1,
    .open = open_it,
    .close = close_it,
    .alive = alive,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .lock_schema = lock_schema,
    .run = run,
    .query = query,
    .next = next,
    .end = end,
    .is_null = is_null,
    .get_int = get_int,
    .get_real = get_real,
    .get_bytes = get_bytes,
    .erase = erase,
    .backup = backup,
};
