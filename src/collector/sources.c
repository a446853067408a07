#include "collector/sources.h"

#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/source_store.h"
#include "collector/symbol_files.h"
#include "collector/symbols.h"
#include "collector/symbols_image.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUNDLES_MAX = 16 }; /* of one image; the newest ones */

static fw_error not_found(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_NOT_FOUND, 0, "not found");
}

/* ---- what the debug information names ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool sources_same_path(const char *a, const char *b)
{
    char x[SOURCE_PATH_MAX], y[SOURCE_PATH_MAX];
    return strcmp(last_part(a), last_part(b)) == 0 && source_path_clean(a, x, sizeof x) &&
           source_path_clean(b, y, sizeof y) && strcmp(x, y) == 0;
}

static bool joined(const char *directory, const char *file, char *path, size_t size)
{
    size_t length = strlen(directory);
    const char *between = length && directory[length - 1] != '/' ? "/" : "";
    int n = snprintf(path, size, "%s%s%s", directory, between, file);
    return n > 0 && (size_t)n < size;
}

/* `clean` is. One comparison a file of the map, nearly always of the last parts alone. */
static bool is_named(const struct symbols_image *image, const char *clean)
{
    char path[SOURCE_PATH_MAX];
    const char *directory, *file, *last = last_part(clean);
    for (uint32_t i = 0; symmap_file(symbols_image_map(image), i, &directory, &file); i++)
        if (file && strcmp(last_part(file), last) == 0 &&
            joined(directory, file, path, sizeof path) && sources_same_path(path, clean))
            return true;
    return false;
}

/* ---- what was sent ---- */

struct bundles {
    struct symbol_blob of[BUNDLES_MAX];
    size_t count;
};

static fw_error list_bundles(struct collector *c, int64_t project, const uint8_t *id,
                             size_t id_size, struct bundles *found, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    found->count = 0;
    fw_error error = db_take(c->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_query(conn, &rows, why,
                     "SELECT blob, uploaded_ms, used_ms, id, sha256 FROM symbol_file WHERE debug_id"
                     " = $1"
                     " AND kind = 4 AND " SYMBOLS_OF("3") " ORDER BY id DESC LIMIT $2",
                     DB_VALUES(db_bytes(id, id_size), db_int(BUNDLES_MAX), db_int(project)));
    if (error == FW_OK) {
        while (found->count < BUNDLES_MAX && db_next(rows)) {
            struct symbol_blob *file = &found->of[found->count];
            const char *blob = db_get_text(rows, 0);
            *file = (struct symbol_blob){.uploaded_ms = (uint64_t)db_get_int(rows, 1),
                                         .used_ms = (uint64_t)db_get_int(rows, 2),
                                         .row = db_get_int(rows, 3)};
            struct span sha256 = db_get_bytes(rows, 4);
            if (sha256.size == sizeof file->sha256)
                memcpy(file->sha256, sha256.data, sha256.size);
            int length = snprintf(file->blob, sizeof file->blob, "%s", blob ? blob : "");
            found->count += length > 0 && (size_t)length < sizeof file->blob;
        }
        error = db_end(rows, why);
    }
    db_give(c->db, conn);
    return error;
}

static fw_error read_from(struct span bytes, const char *path, struct source_text *text,
                          struct fw_failure *why)
{
    struct source_store store;
    struct source_entry entry;
    fw_error error = source_store_open(bytes, &store, why);
    if (error != FW_OK)
        return error;
    if (!source_store_find(&store, path, &entry))
        return not_found(why);
    return source_store_read(&entry, &text->bytes, &text->size, why);
}

static fw_error read_bundle(struct collector *c, const struct symbol_blob *file, const char *path,
                            struct source_text *text, struct fw_failure *why)
{
    int fd;
    struct stat about;
    const char *blob = file->blob;
    fw_error error = symbol_files_open(c, file, &fd, why);
    if (error != FW_OK)
        return error;
    bool good = fstat(fd, &about) == 0 && about.st_size > 0;
    void *at = good ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED)
        return failure_say(why, FW_ERR_SYSTEM, 0, "%s cannot be read", blob);
    error = read_from((struct span){at, (size_t)about.st_size}, path, text, why);
    munmap(at, (size_t)about.st_size);
    return error;
}

fw_error sources_find(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                      const char *path, struct source_text *text, struct fw_failure *why)
{
    char clean[SOURCE_PATH_MAX];
    struct bundles bundles;
    *text = (struct source_text){.size = 0};
    struct symbols_image *image = symbols_take(c->symbols, project, id, id_size, NULL);
    if (!image)
        return symbols_why_none(c->symbols, project, id, id_size, false, why);
    bool named = source_path_clean(path, clean, sizeof clean) && is_named(image, clean);
    symbols_drop(image);
    if (!named)
        return not_found(why);
    fw_error error = list_bundles(c, project, id, id_size, &bundles, why);
    if (error != FW_OK)
        return error;
    error = not_found(why);
    for (size_t i = 0; error == FW_ERR_NOT_FOUND && i < bundles.count; i++) {
        error = read_bundle(c, &bundles.of[i], clean, text, why);
        text->uploaded_ms = bundles.of[i].uploaded_ms;
        if (error == FW_OK)
            symbol_files_used(c, project, id, id_size, &bundles.of[i]);
    }
    return error;
}
