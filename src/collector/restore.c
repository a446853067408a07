/*
 * A backup becomes a data folder: backup.h. Everything is made beside the folder, looked at, and
 * renamed at the end: what cannot be restored whole leaves nothing.
 */
#include "base/failure.h"
#include "collector/backup.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/files.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS = 4096, MANIFEST_MAX = 1 << 30 };

struct restore {
    const char *file;
    char data[PATHS - 16];
    char folder[PATHS]; /* what becomes the data folder */
    struct archive *tar;
    struct blobs *blobs;
    json_t *files;    /* [path, size, sha256] as they came */
    json_t *manifest; /* NULL: not come yet */
    uint64_t bytes;
};

static fw_error say_tar(struct restore *r, struct fw_failure *why)
{
    const char *text = archive_error_string(r->tar);
    return failure_say(why, FW_ERR_CORRUPT, 0, "cannot read %.200s: %.150s", r->file,
                       text ? text : "");
}

/* ---- one file ---- */

static fw_error copy(struct restore *r, int fd, EVP_MD_CTX *sha256, uint64_t *size,
                     struct fw_failure *why)
{
    for (;;) {
        const void *bytes;
        size_t count;
        la_int64_t offset;
        int result = archive_read_data_block(r->tar, &bytes, &count, &offset);
        if (result == ARCHIVE_EOF)
            return FW_OK;
        if (result != ARCHIVE_OK)
            return say_tar(r, why);
        if ((uint64_t)offset != *size)
            return failure_say(why, FW_ERR_CORRUPT, 0, "%.200s: a file with holes", r->file);
        fw_error e = files_write(fd, (struct span){bytes, count}, r->folder, why);
        if (e)
            return e;
        if (EVP_DigestUpdate(sha256, bytes, count) != 1)
            return failure_memory(why);
        *size += count;
    }
}

/* The next file of the tar into `to`. */
static fw_error take_file(struct restore *r, const char *path, const char *to,
                          struct fw_failure *why)
{
    uint64_t size = 0;
    EVP_MD_CTX *sha256 = EVP_MD_CTX_new();
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    fw_error e = FW_OK;
    if (fd < 0)
        e = files_say(why, errno, "cannot make %.120s", to);
    if (!e && (!sha256 || EVP_DigestInit_ex(sha256, EVP_sha256(), NULL) != 1))
        e = failure_memory(why);
    e = e ? e : copy(r, fd, sha256, &size, why);
    e = e ? e : backup_list_file(r->files, path, size, sha256, why);
    r->bytes += size;
    if (!e && fsync(fd) != 0)
        e = files_say(why, errno, "cannot write %.120s", to);
    EVP_MD_CTX_free(sha256);
    if (fd >= 0)
        close(fd);
    return e;
}

static fw_error take_manifest(struct restore *r, uint64_t size, struct fw_failure *why)
{
    char *text = size && size < MANIFEST_MAX ? malloc((size_t)size) : NULL;
    if (!text)
        return failure_say(why, FW_ERR_CORRUPT, 0, "%.200s: its manifest is none", r->file);
    if (archive_read_data(r->tar, text, (size_t)size) == (la_ssize_t)size)
        r->manifest = json_loadb(text, (size_t)size, 0, NULL);
    free(text);
    return r->manifest
               ? FW_OK
               : failure_say(why, FW_ERR_CORRUPT, 0, "%.200s: its manifest is none", r->file);
}

static fw_error take_entry(struct restore *r, struct archive_entry *entry, struct fw_failure *why)
{
    const char *path = archive_entry_pathname(entry);
    char to[PATHS + 64];
    if (r->manifest || !path || archive_entry_filetype(entry) != AE_IFREG ||
        archive_entry_hardlink(entry))
        return failure_say(why, FW_ERR_CORRUPT, 0, "%.200s is not a backup that we made", r->file);
    if (strcmp(path, BACKUP_MANIFEST) == 0)
        return take_manifest(r, (uint64_t)archive_entry_size(entry), why);
    if (strcmp(path, BACKUP_DATABASE) == 0) {
        snprintf(to, sizeof to, "%s/" BACKUP_DATABASE, r->folder);
        return take_file(r, path, to, why);
    }
    if (strncmp(path, BACKUP_STORE, strlen(BACKUP_STORE)) != 0)
        return failure_say(why, FW_ERR_CORRUPT, 0, "%.200s is not a backup that we made", r->file);
    snprintf(to, sizeof to, "%s/incoming", r->folder);
    fw_error e = take_file(r, path, to, why);
    /* The store looks at the key: none leads out of it. */
    return e ? e : blobs_put_file(r->blobs, path + strlen(BACKUP_STORE), to, why);
}

static fw_error take_all(struct restore *r, struct fw_failure *why)
{
    struct archive_entry *entry;
    fw_error e = FW_OK;
    int result = ARCHIVE_OK;
    while (!e && (result = archive_read_next_header(r->tar, &entry)) == ARCHIVE_OK)
        e = take_entry(r, entry, why);
    if (!e && result != ARCHIVE_EOF)
        e = say_tar(r, why);
    if (!e && !r->manifest)
        e = failure_say(why, FW_ERR_TRUNCATED, 0, "%.200s is not whole: it has no manifest",
                        r->file);
    return e;
}

/* ---- looking at it ---- */

static fw_error check_manifest(const struct restore *r, struct fw_failure *why)
{
    if (json_integer_value(json_object_get(r->manifest, "format")) != BACKUP_FORMAT)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0, "%.200s: made by a newer program", r->file);
    if (!json_equal(json_object_get(r->manifest, "files"), r->files))
        return failure_say(why, FW_ERR_CORRUPT, 0,
                           "%.200s is damaged: its files are not those of its manifest", r->file);
    return FW_OK;
}

static fw_error check_pages(struct db *db, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error e = db_take(db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, "PRAGMA quick_check(1)", DB_NONE);
    if (!e) {
        const char *said = db_next(rows) ? db_get_text(rows, 0) : NULL;
        bool fine = said && strcmp(said, "ok") == 0;
        fw_error damaged =
            fine ? FW_OK
                 : failure_say(why, FW_ERR_CORRUPT, 0, "the database in it is damaged: %.150s",
                               said ? said : "nothing to read");
        e = db_end(rows, why);
        e = e ? e : damaged;
    }
    db_give(db, conn);
    return e;
}

static fw_error check_database(struct restore *r, struct fw_failure *why)
{
    struct backup_keys keys = {0};
    struct db *db;
    uint64_t version, size;
    char url[PATHS + 64];
    snprintf(url, sizeof url, "sqlite:%s/" BACKUP_DATABASE, r->folder);
    if (access(url + strlen("sqlite:"), F_OK) != 0)
        return failure_say(why, FW_ERR_CORRUPT, 0, "%.200s holds no database", r->file);
    fw_error e = db_open_as_it_is(url, &db, &version, why);
    if (e)
        return e;
    e = check_pages(db, why);
    e = e ? e : backup_named(db, &keys, why);
    for (size_t i = 0; i < keys.count && !e; i++)
        e = blobs_size(r->blobs, keys.list[i], &size, why);
    db_close(db);
    backup_keys_free(&keys);
    return e;
}

/* ---- all ---- */

static void remove_tree(const char *path)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *e; walk && (e = fts_read(walk));)
        if (e->fts_info != FTS_D)
            remove(e->fts_path);
    if (walk)
        fts_close(walk);
}

static fw_error make_folder(struct restore *r, struct fw_failure *why)
{
    char path[PATHS + 64];
    if (rmdir(r->data) != 0 && errno != ENOENT)
        return errno == ENOTEMPTY || errno == EEXIST
                   ? failure_say(why, FW_ERR_ARGUMENT, 0,
                                 "%.200s is not empty: restore into a new folder", r->data)
                   : files_say(why, errno, "%.120s", r->data);
    if (mkdir(r->folder, 0700) != 0) {
        fw_error e = files_say(why, errno, "cannot make %.120s", r->folder);
        r->folder[0] = '\0';
        return e;
    }
    snprintf(path, sizeof path, "%s/db", r->folder);
    if (mkdir(path, 0700) != 0)
        return files_say(why, errno, "cannot make %.120s", path);
    snprintf(path, sizeof path, "file:%s/store", r->folder);
    return blobs_open(path, NULL, 0, &r->blobs, why);
}

static fw_error open_tar(struct restore *r, struct fw_failure *why)
{
    r->tar = archive_read_new();
    if (!r->tar)
        return failure_memory(why);
    archive_read_support_format_tar(r->tar);
    return archive_read_open_filename(r->tar, r->file, 1 << 20) == ARCHIVE_OK ? FW_OK
                                                                              : say_tar(r, why);
}

static fw_error restore(struct restore *r, struct fw_failure *why)
{
    fw_error e = open_tar(r, why);
    e = e ? e : make_folder(r, why);
    e = e ? e : take_all(r, why);
    e = e ? e : check_manifest(r, why);
    e = e ? e : check_database(r, why);
    return e ? e : files_publish(r->folder, r->data, why);
}

int backup_restore(const struct collector_options *options, const char *file)
{
    struct restore r = {.file = file, .files = json_array()};
    struct fw_failure why = {0};
    umask(077);
    bool fits = snprintf(r.data, sizeof r.data, "%s", options->data) < (int)sizeof r.data;
    for (size_t n = strlen(r.data); n > 1 && r.data[n - 1] == '/'; n--)
        r.data[n - 1] = '\0';
    snprintf(r.folder, sizeof r.folder, "%s.restoring", r.data);
    fw_error e = options->database || options->store
                     ? failure_say(&why, FW_ERR_ARGUMENT, 0,
                                   "--restore makes a data folder: it takes --data alone")
                 : r.files && fits ? restore(&r, &why)
                                   : failure_memory(&why);
    if (e) {
        if (r.folder[0] && r.blobs)
            remove_tree(r.folder);
        fprintf(stderr, "framewalk serve: nothing was restored: %s\n", why.message);
    } else {
        printf("%s: restored, %zu files, %" PRIu64 " bytes\n", r.data, json_array_size(r.files),
               r.bytes);
    }
    blobs_close(r.blobs);
    archive_read_free(r.tar);
    json_decref(r.files);
    json_decref(r.manifest);
    return e ? 1 : 0;
}
