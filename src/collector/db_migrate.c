/*
 * Bringing the schema of a database to the version of this program (schema.h).
 *
 * Invariant: all that is missing is done in one transaction, under a lock that other servers wait
 * for; the version is a row that is changed in the same transaction.
 */
#include "base/failure.h"
#include "collector/db_driver.h"

#include <inttypes.h>
#include <stdlib.h>

static const char create_version[] =
    "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)";

struct text {
    char *data;
    size_t size, room;
};

static bool append(struct text *text, const char *part, size_t size)
{
    if (text->size + size + 1 > text->room) {
        size_t room = (text->size + size + 1) * 2;
        char *data = realloc(text->data, room);
        if (!data)
            return false;
        text->data = data;
        text->room = room;
    }
    memcpy(text->data + text->size, part, size);
    text->size += size;
    text->data[text->size] = 0;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The words of the schema that each database spells in its own way. */
static bool spelled(const struct db_driver *driver, const char *sql, size_t size, struct text *out)
{
    enum { WORDS = 5 };
    const struct {
        const char *word, *means;
    } words[WORDS] = {{"{ID}", driver->id},
                      {"{BLOB}", driver->blob},
                      {"{CLUSTERED}", driver->clustered},
                      {"INTEGER", driver->integer},
                      {"TEXT", driver->text}};
    for (size_t i = 0; i < size;) {
        size_t w = 0, length = 0;
        bool inside = i > 0 && is_word(sql[i - 1]);
        for (; w < WORDS; w++) {
            length = strlen(words[w].word);
            if (!inside && length <= size - i && memcmp(sql + i, words[w].word, length) == 0 &&
                (i + length == size || !is_word(sql[i + length]) || sql[i] == '{'))
                break;
        }
        bool fine = w < WORDS ? append(out, words[w].means, strlen(words[w].means))
                              : append(out, sql + i, 1);
        if (!fine)
            return false;
        i += w < WORDS ? length : 1;
    }
    return true;
}

static fw_error run_all(struct db_conn *conn, const char *sql, struct fw_failure *why)
{
    while (*sql) {
        const char *end = strstr(sql, ";\n");
        size_t size = end ? (size_t)(end - sql) : strlen(sql);
        struct text one = {0};
        uint64_t rows;
        fw_error error = spelled(conn->db->driver, sql, size, &one)
                             ? db_change(conn, why, &rows, one.data ? one.data : "", DB_NONE)
                             : failure_memory(why);
        free(one.data);
        if (error)
            return error;
        sql += size + (end ? 2 : 0);
    }
    return FW_OK;
}

/* 0: none of our tables is there. */
static fw_error read_version(struct db_conn *conn, uint64_t *version, struct fw_failure *why)
{
    *version = 0;
    struct db_rows *rows;
    fw_error error = db_query(conn, &rows, why, "SELECT MAX(version) FROM schema_version", DB_NONE);
    if (error)
        return error;
    if (db_next(rows) && !db_is_null(rows, 0))
        *version = (uint64_t)db_get_int(rows, 0);
    return db_end(rows, why);
}

static fw_error newer(uint64_t version, size_t count, struct fw_failure *why)
{
    return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                       "the database has schema %" PRIu64 ", this program knows up to %zu: it was "
                       "used by a newer one, which is the one to start",
                       version, count);
}

static fw_error migrate(struct db_conn *conn, const struct schema_migration *migrations,
                        size_t count, struct fw_failure *why)
{
    uint64_t version;
    fw_error error = conn->db->driver->lock_schema(conn, why);
    if (!error)
        error = db_run(conn, why, create_version, DB_NONE);
    if (!error)
        error = read_version(conn, &version, why);
    if (error || version == count)
        return error;
    if (version > count)
        return newer(version, count, why);
    for (uint64_t i = version; !error && i < count; i++)
        error = run_all(conn, migrations[i].sql, why);
    if (!error)
        error = db_run(conn, why, "DELETE FROM schema_version", DB_NONE);
    if (!error)
        error = db_run(conn, why, "INSERT INTO schema_version (version) VALUES ($1)",
                       DB_VALUES(db_int((int64_t)count)));
    return error;
}

fw_error db_migrate(struct db *db, const struct schema_migration *migrations, size_t count,
                    struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error error = db_take(db, DB_WRITE, &conn, why);
    if (error)
        return error;
    error = db_begin(conn, why);
    if (!error)
        error = migrate(conn, migrations, count, why);
    if (!error)
        error = db_commit(conn, why);
    else
        db_rollback(conn);
    conn->broken = true; /* what it prepared is of no further use */
    db_give(db, conn);
    return error;
}

fw_error db_version(struct db *db, size_t count, uint64_t *version, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error error = db_take(db, DB_READ, &conn, why);
    if (error)
        return error;
    error = read_version(conn, version, why);
    db_give(db, conn);
    return !error && *version > count ? newer(*version, count, why) : error;
}
