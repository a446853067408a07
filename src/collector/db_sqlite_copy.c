/* A SQLite database as a whole: erasing what was deleted, and a copy while others write. */
#include "base/failure.h"
#include "collector/db_sqlite_inner.h"
#include "collector/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what was deleted ---- */

/* All of the WAL into the database, and the WAL cut to nothing: the pages of before are gone. */
fw_error db_sqlite_erase(struct db *db, struct fw_failure *why)
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
    return result ? db_sqlite_say(to, result, "backup", why) : FW_OK;
}

static fw_error backup_to(struct db_conn *conn, const char *path, struct fw_failure *why)
{
    sqlite3 *to = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(path, &to, flags, NULL);
    fw_error error = result ? db_sqlite_say(to, result, path, why) : FW_OK;
    /* What is copied says WAL; the copy is one file, closed with a whole checkpoint. */
    if (!error && db_sqlite_pragma(to, "PRAGMA synchronous=FULL"))
        error = db_sqlite_say(to, sqlite3_errcode(to), path, why);
    if (!error)
        error = copy_pages(db_sqlite_conn(conn)->db, to, why);
    sqlite3_close(to);
    return error;
}

fw_error db_sqlite_backup(struct db *db, const char *path, struct fw_failure *why)
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
