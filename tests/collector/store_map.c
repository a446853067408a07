#include "collector/store_map.h"

#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "object/codecs.h"
#include "object/object.h"
#include "symmap/convert.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(fw_error error, const struct fw_failure *why)
{
    if (error == FW_OK)
        return;
    fprintf(stderr, "%s\n", why->message);
    abort();
}

void test_store_open(struct test_store *store, uint64_t maps_bytes)
{
    static const struct collector_options options;
    char url[128], cache[128];
    struct fw_failure why = {0};
    *store = (struct test_store){.collector.options = &options};
    snprintf(store->folder, sizeof store->folder, "/tmp/fw-store-XXXXXX");
    if (!mkdtemp(store->folder))
        abort();
    object_set_codecs(&object_codecs_all);
    snprintf(url, sizeof url, "sqlite:%s/main.sqlite", store->folder);
    must(db_open(url, &store->collector.db, &why), &why);
    snprintf(url, sizeof url, "file:%s/store", store->folder);
    snprintf(cache, sizeof cache, "%s/cache", store->folder);
    must(blobs_open(url, cache, 1 << 30, &store->collector.blobs, &why), &why);
    must(symbols_open(&store->collector, maps_bytes, &store->collector.symbols, &why), &why);
}

void test_store_close(struct test_store *store)
{
    char command[128];
    symbols_close(store->collector.symbols);
    blobs_close(store->collector.blobs);
    db_close(store->collector.db);
    snprintf(command, sizeof command, "rm -rf '%s'", store->folder);
    if (system(command) != 0)
        abort();
}

static void hex_of(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

struct row {
    int kind;
    const char *name;
    struct span file, map;
};

static fw_error put_row(struct collector *c, const struct stored_file *image, const struct row *row,
                        struct fw_failure *why)
{
    uint8_t sha[32], map_sha[32];
    char id[129], hex[65], map_hex[65], blob[256], map_blob[256];
    SHA256(row->file.data, row->file.size, sha);
    SHA256(row->map.data, row->map.size, map_sha);
    hex_of(image->id, image->id_size, id);
    hex_of(sha, 32, hex);
    hex_of(map_sha, 32, map_hex);
    snprintf(blob, sizeof blob, "symbols/%.2s/%s/%s-%s", id, id + 2,
             row->kind == 1 ? "executable" : "debuginfo", hex);
    snprintf(map_blob, sizeof map_blob, "symbols/%.2s/%s/%s-v1-%.16s.symmap", id, id + 2,
             image->arch, map_hex);
    fw_error error = blobs_put(c->blobs, blob, row->file, why);
    if (error == FW_OK)
        error = blobs_put(c->blobs, map_blob, row->map, why);
    struct db_conn *conn;
    if (error == FW_OK)
        error = db_take(c->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_begin(conn, why);
    if (error == FW_OK)
        error = db_run(
            conn, why,
            "INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob,"
            " map_blob, map_size, features, state, uploaded_ms, uploaded_by, used_ms)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '[\"debug_info\"]', 1, 1000,"
            " 'test', 1000) ON CONFLICT (debug_id, project, arch, kind, sha256) DO NOTHING",
            DB_VALUES(db_bytes(image->id, image->id_size), db_text(image->arch), db_int(row->kind),
                      db_text(row->name), db_bytes(sha, 32), db_int((int64_t)row->file.size),
                      db_text(blob), db_text(map_blob), db_int((int64_t)row->map.size)));
    if (error == FW_OK)
        error = db_commit(conn, why);
    db_give(c->db, conn);
    return error;
}

static bool read_file(const char *path, uint8_t **bytes, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &status) == 0;
    *size = good ? (size_t)status.st_size : 0;
    *bytes = malloc(*size + 1);
    for (size_t at = 0; good && at < *size;) {
        ssize_t n = pread(fd, *bytes + at, *size - at, (off_t)at);
        good = n > 0;
        at += good ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

bool store_debug_file(struct collector *c, const char *path, struct stored_file *stored,
                      struct fw_failure *why)
{
    struct object *object;
    uint8_t *map = NULL, *file = NULL;
    const char *slash = strrchr(path, '/');
    struct row row = {.name = slash ? slash + 1 : path};
    size_t map_size;
    if (object_open(path, &object, why) != FW_OK)
        return false;
    const struct convert_options options = {.calls = true};
    struct span id = object_build_id(object);
    fw_error error = symmap_convert(object, NULL, NULL, &options, &map, &map_size, NULL, why);
    if (error == FW_OK && (id.size == 0 || !read_file(path, &file, &row.file.size)))
        error = failure_say(why, FW_ERR_FORMAT, 0, "%s has no id or cannot be read", path);
    if (error == FW_OK) {
        *stored = (struct stored_file){.id_size = id.size};
        memcpy(stored->id, id.data, id.size);
        snprintf(stored->arch, sizeof stored->arch, "%s", object_arch_name(object));
        /* Separate debug files keep the sections of code without their bytes. */
        struct unwind_section text;
        row.kind = object_type(object) != OBJECT_DSYM &&
                           object_section_data(object, object_is_macho(object) ? "__text" : ".text",
                                               &text, NULL) == FW_OK
                       ? 1
                       : 2;
        row.file.data = file;
        row.map = (struct span){map, map_size};
        error = put_row(c, stored, &row, why);
    }
    object_close(object);
    free(map);
    free(file);
    return error == FW_OK;
}

bool store_map_bytes(struct collector *c, const struct stored_file *image, const void *bytes,
                     size_t size, struct fw_failure *why)
{
    const struct row row = {3, "map", {bytes, size}, {bytes, size}};
    return put_row(c, image, &row, why) == FW_OK;
}
