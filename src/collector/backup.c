/* Making a backup: backup.h. */
#include "collector/backup.h"
#include "base/array.h"
#include "base/failure.h"
#include "base/hex.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/files.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20, PATHS = 4096 };

/* ---- what belongs into it ---- */

/* Whether these options are of SQLite and files. */
static fw_error can_be_copied(const struct collector_options *options, struct fw_failure *why)
{
    if (options->database && strncmp(options->database, "sqlite:", 7) != 0)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "PostgreSQL has its own: pg_dump --format=custom for the database");
    if (options->store && strncmp(options->store, "file:", 5) != 0)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "a store in S3 has its own: versioning of the bucket, with a lifecycle"
                           " that keeps removed objects as long as the dumps of the database");
    return FW_OK;
}

static bool add_key(struct backup_keys *keys, const char *key)
{
    if (!key || !*key)
        return true;
    if (!array_room(&keys->list, &keys->capacity, keys->count, sizeof *keys->list))
        return false;
    keys->list[keys->count] = strdup(key);
    return keys->list[keys->count] && ++keys->count;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct backup_keys *keys)
{
    size_t kept = 0;
    if (keys->count)
        qsort(keys->list, keys->count, sizeof *keys->list, by_text);
    for (size_t i = 0; i < keys->count; i++) {
        if (kept && strcmp(keys->list[kept - 1], keys->list[i]) == 0)
            free(keys->list[i]);
        else
            keys->list[kept++] = keys->list[i];
    }
    keys->count = kept;
}

static fw_error add_named(struct db_conn *conn, const char *sql, struct backup_keys *keys,
                          struct fw_failure *why)
{
    struct db_rows *rows;
    bool room = true;
    fw_error e = db_query(conn, &rows, why, sql, DB_NONE);
    if (e)
        return e;
    while (room && db_next(rows))
        room = add_key(keys, db_get_text(rows, 0));
    e = db_end(rows, why);
    return e || room ? e : failure_memory(why);
}

fw_error backup_named(struct db *db, struct backup_keys *keys, struct fw_failure *why)
{
    static const char *const named[] = {
        "SELECT key FROM pack",
        "SELECT blob FROM symbol_file",
        "SELECT map_blob FROM symbol_file WHERE map_blob IS NOT NULL",
        "SELECT blob FROM upload_part",
    };
    struct db_conn *conn;
    fw_error e = db_take(db, DB_READ, &conn, why);
    if (e)
        return e;
    for (size_t i = 0; i < sizeof named / sizeof *named && !e; i++)
        e = add_named(conn, named[i], keys, why);
    db_give(db, conn);
    sort(keys);
    return e;
}

void backup_keys_free(struct backup_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->list[i]);
    free(keys->list);
    *keys = (struct backup_keys){0};
}

/* ---- the file ---- */

struct backup {
    const struct collector_options *options;
    const char *file;
    char partial[PATHS], copy[PATHS]; /* beside it: the file, and the database's copy */
    char database[PATHS + 16];        /* its URL */
    struct archive *tar;
    struct blobs *blobs;
    json_t *files;    /* of the manifest */
    uint64_t version; /* of the schema */
    uint64_t bytes;
    uint8_t *piece;
};

static fw_error say_tar(struct backup *b, struct fw_failure *why)
{
    int os_error = archive_errno(b->tar);
    const char *text = archive_error_string(b->tar);
    return failure_say(why, files_error(os_error > 0 ? os_error : EIO), os_error,
                       "cannot write %.200s: %.150s", b->partial, text ? text : "");
}

static fw_error put_head(struct backup *b, const char *path, uint64_t size, struct fw_failure *why)
{
    struct archive_entry *entry = archive_entry_new();
    if (!entry)
        return failure_memory(why);
    archive_entry_set_pathname(entry, path);
    archive_entry_set_size(entry, (la_int64_t)size);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_mtime(entry, (time_t)(collector_now_ms() / 1000), 0);
    int result = archive_write_header(b->tar, entry);
    archive_entry_free(entry);
    return result == ARCHIVE_OK ? FW_OK : say_tar(b, why);
}

static fw_error put_bytes(struct backup *b, const void *bytes, size_t size, struct fw_failure *why)
{
    return archive_write_data(b->tar, bytes, size) == (la_ssize_t)size ? FW_OK : say_tar(b, why);
}

static fw_error copy_bytes(struct backup *b, int fd, uint64_t size, EVP_MD_CTX *sha256,
                           const char *path, struct fw_failure *why)
{
    for (uint64_t done = 0; done < size;) {
        size_t wanted = size - done < PIECE ? (size_t)(size - done) : PIECE;
        ssize_t n = read(fd, b->piece, wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return files_say(why, errno, "cannot read %.120s", path);
        if (n == 0)
            return failure_say(why, FW_ERR_TRUNCATED, 0, "%.120s has become shorter", path);
        if (EVP_DigestUpdate(sha256, b->piece, (size_t)n) != 1)
            return failure_memory(why);
        fw_error e = put_bytes(b, b->piece, (size_t)n, why);
        if (e)
            return e;
        done += (uint64_t)n;
    }
    return FW_OK;
}

fw_error backup_list_file(json_t *files, const char *path, uint64_t size, EVP_MD_CTX *sha256,
                          struct fw_failure *why)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_size = 0;
    char hex[BACKUP_HEX] = "";
    bool fine = EVP_DigestFinal_ex(sha256, digest, &digest_size) == 1;
    if (fine && digest_size <= (sizeof hex - 1) / 2)
        hex_text(hex, digest, digest_size);
    fine = fine &&
           json_array_append_new(files, json_pack("[s, I, s]", path, (json_int_t)size, hex)) == 0;
    return fine ? FW_OK : failure_memory(why);
}

/* The descriptor is taken over. */
static fw_error put_file(struct backup *b, const char *path, int fd, struct fw_failure *why)
{
    struct stat info;
    EVP_MD_CTX *sha256 = EVP_MD_CTX_new();
    fw_error e =
        sha256 && EVP_DigestInit_ex(sha256, EVP_sha256(), NULL) == 1 ? FW_OK : failure_memory(why);
    if (!e && fstat(fd, &info) != 0)
        e = files_say(why, errno, "cannot look at %.120s", path);
    e = e ? e : put_head(b, path, (uint64_t)info.st_size, why);
    e = e ? e : copy_bytes(b, fd, (uint64_t)info.st_size, sha256, path, why);
    e = e ? e : backup_list_file(b->files, path, (uint64_t)info.st_size, sha256, why);
    b->bytes += (uint64_t)info.st_size;
    EVP_MD_CTX_free(sha256);
    close(fd);
    return e;
}

static fw_error put_database(struct backup *b, struct fw_failure *why)
{
    int fd = open(b->copy, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return files_say(why, errno, "cannot open %.120s", b->copy);
    return put_file(b, BACKUP_DATABASE, fd, why);
}

static fw_error put_blobs(struct backup *b, const struct backup_keys *keys, struct fw_failure *why)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < keys->count && !e; i++) {
        char path[BACKUP_PATH];
        int fd = -1;
        snprintf(path, sizeof path, BACKUP_STORE "%s", keys->list[i]);
        e = blobs_file(b->blobs, keys->list[i], &fd, why);
        e = e ? e : put_file(b, path, fd, why);
    }
    return e;
}

static fw_error put_manifest(struct backup *b, struct fw_failure *why)
{
    json_t *manifest = json_pack("{s:i, s:I, s:s, s:I, s:O}", "format", BACKUP_FORMAT, "schema",
                                 (json_int_t)b->version, "program", FW_VERSION, "created_ms",
                                 (json_int_t)collector_now_ms(), "files", b->files);
    char *text = manifest ? json_dumps(manifest, JSON_COMPACT) : NULL;
    json_decref(manifest);
    if (!text)
        return failure_memory(why);
    fw_error e = put_head(b, BACKUP_MANIFEST, strlen(text), why);
    e = e ? e : put_bytes(b, text, strlen(text), why);
    free(text);
    return e;
}

static fw_error write_tar(struct backup *b, const struct backup_keys *keys, struct fw_failure *why)
{
    unlink(b->partial);
    int fd = open(b->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return files_say(why, errno, "cannot make %.120s", b->partial);
    b->tar = archive_write_new();
    fw_error e = b->tar ? FW_OK : failure_memory(why);
    if (!e && (archive_write_set_format_pax_restricted(b->tar) != ARCHIVE_OK ||
               archive_write_open_fd(b->tar, fd) != ARCHIVE_OK))
        e = say_tar(b, why);
    e = e ? e : put_database(b, why);
    e = e ? e : put_blobs(b, keys, why);
    e = e ? e : put_manifest(b, why);
    if (!e && archive_write_close(b->tar) != ARCHIVE_OK)
        e = say_tar(b, why);
    archive_write_free(b->tar);
    if (close(fd) != 0 && !e)
        e = files_say(why, errno, "cannot write %.120s", b->partial);
    return e ? e : files_publish(b->partial, b->file, why);
}

/* ---- all ---- */

/* Looked for first: to open a database or a store makes it. */
static fw_error find_database(struct backup *b, struct fw_failure *why)
{
    if (b->options->database)
        snprintf(b->database, sizeof b->database, "%s", b->options->database);
    else
        snprintf(b->database, sizeof b->database, "sqlite:%s/" BACKUP_DATABASE, b->options->data);
    const char *path = b->database + strlen("sqlite:");
    return access(path, F_OK) == 0 ? FW_OK : files_say(why, errno, "no database %.100s", path);
}

/* What the server has under way is nobody's in the copy: who starts on it need not wait. */
static fw_error end_leases(struct db *db, struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_run(conn, why, "UPDATE inbox SET lease_ms = 0 WHERE lease_ms <> 0", DB_NONE);
    e = e ? e : db_run(conn, why, "UPDATE job SET lease_ms = 0 WHERE state = 1", DB_NONE);
    db_give(db, conn);
    return e;
}

/* The database as it is now, into a file of its own; and what it names. */
static fw_error copy_database(struct backup *b, struct backup_keys *keys, struct fw_failure *why)
{
    char url[PATHS + 16];
    struct db *db;
    fw_error e = db_open_as_it_is(b->database, &db, &b->version, why);
    if (e)
        return e;
    e = db_backup(db, b->copy, why);
    db_close(db);
    snprintf(url, sizeof url, "sqlite:%s", b->copy);
    e = e ? e : db_open_as_it_is(url, &db, &b->version, why);
    if (e)
        return e;
    e = end_leases(db, why);
    e = e ? e : backup_named(db, keys, why);
    db_close(db);
    return e;
}

static fw_error open_store(struct backup *b, struct fw_failure *why)
{
    char url[PATHS + 16];
    if (b->options->store)
        snprintf(url, sizeof url, "%s", b->options->store);
    else
        snprintf(url, sizeof url, "file:%s/store", b->options->data);
    return blobs_open(url, NULL, 0, &b->blobs, why);
}

static fw_error make(struct backup *b, struct fw_failure *why)
{
    struct backup_keys keys = {0};
    int held = -1;
    fw_error e = can_be_copied(b->options, why);
    e = e ? e : find_database(b, why);
    e = e ? e : open_store(b, why);
    e = e ? e : blobs_hold(b->blobs, &held, why);
    e = e ? e : copy_database(b, &keys, why);
    e = e ? e : write_tar(b, &keys, why);
    if (held >= 0)
        close(held);
    blobs_close(b->blobs);
    backup_keys_free(&keys);
    return e;
}

int backup_make(const struct collector_options *options, const char *file)
{
    struct backup b = {.options = options, .file = file, .files = json_array()};
    struct fw_failure why = {0};
    b.piece = malloc(PIECE);
    bool fits = snprintf(b.partial, sizeof b.partial, "%s.partial", file) < (int)sizeof b.partial &&
                snprintf(b.copy, sizeof b.copy, "%s.sqlite", file) < (int)sizeof b.copy;
    umask(077);
    fw_error e = b.piece && b.files && fits
                     ? make(&b, &why)
                     : failure_say(&why, FW_ERR_MEMORY, 0, "out of memory, or a path too long");
    unlink(b.copy);
    if (e) {
        unlink(b.partial);
        fprintf(stderr, "framewalk serve: no backup was made: %s\n", why.message);
    } else {
        printf("%s: the database and %zu files of the store, %" PRIu64 " bytes\n", file,
               json_array_size(b.files) - 1, b.bytes);
    }
    json_decref(b.files);
    free(b.piece);
    return e ? 1 : 0;
}
