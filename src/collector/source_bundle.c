/*
 * One pass over the zip: each file is packed and written as it comes, the manifest kept; then the
 * manifest is read, and the index written behind the contents.
 */
#include "collector/source_bundle.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/failure.h"
#include "base/hex.h"
#include "base/little_endian.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum {
    MANIFEST_BYTES = 32 << 20,
    LEVEL = 3,
    VERSION_FIRST = 2,
    VERSION_LAST = 3,
};
static const char manifest_name[] = "manifest.json";

struct file { /* an entry of the zip, and what the manifest makes of it */
    const char *entry;
    const char *path; /* clean; NULL: the manifest has not named it (yet), or it is no source */
    uint64_t at;
    uint32_t packed, size;
    bool named;
};

struct reading {
    const struct unpack_source *source;
    const struct source_bundle_output *output;
    struct source_bundle *bundle;
    struct fw_failure *why;
    uint8_t header[SOURCE_BUNDLE_HEADER];
    size_t header_size;
    struct arena arena;
    struct file *files;
    size_t count, capacity;
    uint64_t at;     /* where what is written next goes */
    uint8_t *buffer; /* of the entry in hand */
    size_t used, room;
    uint8_t *packed;
    size_t packed_room;
    const char *entry; /* in hand */
    uint8_t *manifest;
    size_t manifest_size;
    fw_error error; /* of what was made of an entry, and what it says: unpack() then only
                       says that it was ended */
    struct fw_failure said;
};

static fw_error refuse(struct reading *r, const char *name, const char *what)
{
    char shown[96];
    snprintf(shown, sizeof shown, "%.90s", name);
    for (char *c = shown; *c; c++)
        if (*c < ' ' || *c > 126)
            *c = '?';
    return failure_say(r->why, FW_ERR_UNSUPPORTED, 0, "%s: %s", shown, what);
}

static fw_error no_memory(struct reading *r)
{
    return failure_memory(r->why);
}

/* ---- before the zip ---- */

bool source_bundle_is(struct span start)
{
    return start.size >= 4 && memcmp(start.data, SOURCE_BUNDLE_MAGIC, 4) == 0;
}

static fw_error check_header(struct reading *r)
{
    uint32_t version = get_u32(r->header + 4);
    if (r->header_size < sizeof r->header || !source_bundle_is((struct span){r->header, 4}))
        return failure_say(r->why, FW_ERR_FORMAT, 0, "no source bundle");
    if (version < VERSION_FIRST || version > VERSION_LAST)
        return failure_say(r->why, FW_ERR_UNSUPPORTED, 0,
                           "a source bundle of version %u; %d and %d are known here",
                           (unsigned)version, VERSION_FIRST, VERSION_LAST);
    return FW_OK;
}

/* The zip alone; the header goes into r->header. */
static ssize_t give(void *context, const void **bytes)
{
    struct reading *r = context;
    const uint8_t *data;
    const void *piece;
    for (;;) {
        ssize_t got = r->source->read(r->source->context, &piece);
        if (got <= 0)
            return got;
        data = piece;
        size_t lacks = sizeof r->header - r->header_size;
        size_t n = (size_t)got < lacks ? (size_t)got : lacks;
        memcpy(r->header + r->header_size, data, n);
        r->header_size += n;
        if ((size_t)got > n) {
            *bytes = data + n;
            return got - (ssize_t)n;
        }
    }
}

/* ---- its files ---- */

static bool begin(void *context, const char *name)
{
    struct reading *r = context;
    size_t size = strlen(name) + 1;
    char *copy = arena_take(&r->arena, size);
    r->used = 0;
    r->entry = copy ? memcpy(copy, name, size) : NULL;
    if (!copy)
        r->error = no_memory(r);
    return copy != NULL;
}

static bool is_manifest(const struct reading *r)
{
    return strcmp(r->entry, manifest_name) == 0;
}

static bool take(void *context, uint64_t offset, struct span bytes)
{
    struct reading *r = context;
    size_t most = is_manifest(r) ? MANIFEST_BYTES : SOURCE_FILE_BYTES;
    if (offset > most || bytes.size > most - offset) {
        r->error = refuse(r, r->entry,
                          is_manifest(r) ? "the manifest is too large"
                                         : "a source file of more than 8 MB");
        return false;
    }
    if (!array_reserve(&r->buffer, &r->room, (size_t)offset + bytes.size + 1, 1)) {
        r->error = no_memory(r);
        return false;
    }
    if (offset > r->used)
        memset(r->buffer + r->used, 0, (size_t)offset - r->used);
    if (bytes.size)
        memcpy(r->buffer + offset, bytes.data, bytes.size);
    r->used = (size_t)offset + bytes.size;
    return true;
}

static bool put(struct reading *r, struct span bytes)
{
    if (bytes.size && !r->output->write(r->output->context, r->at, bytes)) {
        r->error = FW_ERR_SYSTEM;
        return false;
    }
    r->at += bytes.size;
    return true;
}

static bool keep_manifest(struct reading *r)
{
    r->manifest = r->buffer; /* the next entry makes a buffer of its own */
    r->manifest_size = r->used;
    r->buffer = NULL;
    r->room = 0;
    if (!r->manifest)
        r->error = failure_say(r->why, FW_ERR_CORRUPT, 0, "the manifest is empty");
    return r->manifest != NULL;
}

static bool end(void *context, uint64_t size)
{
    struct reading *r = context;
    (void)size;
    if (is_manifest(r))
        return keep_manifest(r);
    size_t bound = ZSTD_compressBound(r->used);
    if (!array_room(&r->files, &r->capacity, r->count, sizeof *r->files) ||
        !array_reserve(&r->packed, &r->packed_room, bound, 1)) {
        r->error = no_memory(r);
        return false;
    }
    size_t packed = ZSTD_compress(r->packed, bound, r->buffer, r->used, LEVEL);
    if (ZSTD_isError(packed)) {
        r->error = no_memory(r);
        return false;
    }
    r->files[r->count++] = (struct file){
        .entry = r->entry, .at = r->at, .packed = (uint32_t)packed, .size = (uint32_t)r->used};
    return put(r, (struct span){r->packed, packed});
}

/* ---- the manifest ---- */

static int by_entry(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->entry, ((const struct file *)b)->entry);
}

/* Those that are no sources go to the end. */
static int by_path(const void *a, const void *b)
{
    const char *x = ((const struct file *)a)->path, *y = ((const struct file *)b)->path;
    return x && y ? strcmp(x, y) : (x == NULL) - (y == NULL);
}

static fw_error take_path(struct reading *r, struct file *file, const json_t *about)
{
    char clean[SOURCE_PATH_MAX];
    const char *type = json_string_value(json_object_get(about, "type"));
    const char *path = json_string_value(json_object_get(about, "path"));
    file->named = true;
    if (type && strcmp(type, "source") != 0)
        return FW_OK; /* of scripts: source maps and the like */
    if (!path || !source_path_clean(path, clean, sizeof clean))
        return refuse(r, file->entry, "the manifest gives it no path, or too long a one");
    size_t size = strlen(clean) + 1;
    char *copy = arena_take(&r->arena, size);
    if (!copy)
        return no_memory(r);
    file->path = memcpy(copy, clean, size);
    return FW_OK;
}

static fw_error take_paths(struct reading *r, json_t *list)
{
    const char *name;
    json_t *about;
    if (!json_is_object(list))
        return failure_say(r->why, FW_ERR_CORRUPT, 0, "the manifest has no \"files\"");
    if (r->count)
        qsort(r->files, r->count, sizeof *r->files, by_entry);
    json_object_foreach(list, name, about)
    {
        const struct file key = {.entry = name};
        struct file *file =
            r->count ? bsearch(&key, r->files, r->count, sizeof key, by_entry) : NULL;
        if (!file)
            return refuse(r, name, "the manifest names it, and it is not there");
        fw_error error = take_path(r, file, about);
        if (error != FW_OK)
            return error;
    }
    for (size_t i = 0; i < r->count; i++)
        if (!r->files[i].named)
            return refuse(r, r->files[i].entry, "the manifest does not name it");
    if (r->count)
        qsort(r->files, r->count, sizeof *r->files, by_path);
    for (size_t i = 1; i < r->count && r->files[i].path; i++)
        if (strcmp(r->files[i - 1].path, r->files[i].path) == 0)
            return refuse(r, r->files[i].path, "the manifest gives two files this path");
    return FW_OK;
}

/* Hexadecimal digits of either case, dashes left out; 0 when there is something else. */
static size_t read_id(const char *text, uint8_t id[64])
{
    size_t digits = 0;
    for (; text && *text; text++) {
        char c = *text;
        if (c == '-')
            continue;
        int value = hex_digit(c);
        if (value < 0 || digits == 128)
            return 0;
        id[digits / 2] = (uint8_t)(digits % 2 ? id[digits / 2] | value : value << 4);
        digits++;
    }
    return digits % 2 ? 0 : digits / 2;
}

static void copy_text(char *to, size_t size, const char *from)
{
    const char *slash = from ? strrchr(from, '/') : NULL;
    snprintf(to, size, "%s", slash ? slash + 1 : from ? from : "");
    for (char *c = to; *c; c++)
        if (*c < ' ' || *c > 126)
            *c = '?';
}

/* code_id is the build id or UUID itself. debug_id is the same for a UUID, but has only the
 * changed beginning of a build id, by which nothing is found here. */
static fw_error take_identity(struct reading *r, const json_t *manifest)
{
    struct source_bundle *b = r->bundle;
    b->id_size = read_id(json_string_value(json_object_get(manifest, "code_id")), b->id);
    if (!b->id_size)
        b->id_size = read_id(json_string_value(json_object_get(manifest, "debug_id")), b->id);
    copy_text(b->arch, sizeof b->arch, json_string_value(json_object_get(manifest, "arch")));
    copy_text(b->name, sizeof b->name, json_string_value(json_object_get(manifest, "object_name")));
    if (b->id_size < 4)
        return failure_say(r->why, FW_ERR_UNSUPPORTED, 0,
                           "the manifest has no code_id: which image the sources are of is not "
                           "known");
    return FW_OK;
}

static fw_error read_manifest(struct reading *r)
{
    json_error_t at;
    if (!r->manifest)
        return failure_say(r->why, FW_ERR_CORRUPT, 0, "a source bundle without manifest.json");
    json_t *manifest =
        json_loadb((const char *)r->manifest, r->manifest_size, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(manifest)) {
        json_decref(manifest);
        return failure_say(r->why, FW_ERR_CORRUPT, 0,
                           "manifest.json is no JSON object, or names something twice (line %d)",
                           manifest ? 1 : at.line);
    }
    fw_error error = take_identity(r, manifest);
    if (error == FW_OK)
        error = take_paths(r, json_object_get(manifest, "files"));
    json_decref(manifest);
    return error;
}

/* ---- the index ---- */

static fw_error write_index(struct reading *r)
{
    uint8_t header[SOURCE_HEADER_SIZE] = SOURCE_MAGIC, entry[SOURCE_ENTRY_SIZE];
    uint32_t count = 0, names = 0;
    uint64_t names_at = r->at;
    for (; count < r->count && r->files[count].path; count++) {
        size_t size = strlen(r->files[count].path);
        if (!put(r, (struct span){(const uint8_t *)r->files[count].path, size}))
            return r->error;
        names += (uint32_t)size; /* at most SOURCE_FILES_MAX * SOURCE_PATH_MAX */
    }
    uint64_t entries_at = r->at;
    uint32_t name = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct file *file = &r->files[i];
        uint32_t size = (uint32_t)strlen(file->path);
        put_u64(entry, file->at);
        put_u32(entry + 8, file->packed);
        put_u32(entry + 12, file->size);
        put_u32(entry + 16, name);
        put_u32(entry + 20, size);
        name += size;
        if (!put(r, (struct span){entry, sizeof entry}))
            return r->error;
    }
    put_u32(header + 8, count);
    put_u32(header + 12, names);
    put_u64(header + 16, entries_at);
    put_u64(header + 24, names_at);
    r->bundle->files = count;
    r->bundle->size = r->at;
    if (!count)
        return failure_say(r->why, FW_ERR_UNSUPPORTED, 0, "no source file in the bundle");
    return r->output->write(r->output->context, 0, (struct span){header, sizeof header})
               ? FW_OK
               : FW_ERR_SYSTEM;
}

fw_error source_bundle_read(const struct unpack_source *source, uint64_t limit,
                            const struct source_bundle_output *output, struct source_bundle *bundle,
                            struct fw_failure *why)
{
    *bundle = (struct source_bundle){.files = 0};
    struct reading r = {
        .source = source, .output = output, .bundle = bundle, .at = SOURCE_HEADER_SIZE};
    const struct unpack_source zip = {give, &r};
    const struct unpack_sink sink = {begin, take, end, &r, true};
    struct unpack_sum sum;
    r.why = &r.said;
    fw_error error =
        unpack(&zip, limit < SOURCE_BUNDLE_LIMIT ? limit : SOURCE_BUNDLE_LIMIT, &sink, &sum, why);
    fw_error better = r.error != FW_OK ? r.error : check_header(&r);
    if (better != FW_OK) { /* unpack() only says that it was ended, or that this is no zip */
        error = better;
        if (why)
            *why = r.said;
    }
    r.why = why;
    if (error == FW_OK)
        error = read_manifest(&r);
    if (error == FW_OK)
        error = write_index(&r);
    arena_free(&r.arena);
    free(r.files);
    free(r.buffer);
    free(r.packed);
    free(r.manifest);
    return error;
}
