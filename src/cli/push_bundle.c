/*
 * The zip is written from front to back (APPNOTE.TXT 6.3, sections 4.3.7 to 4.3.16): each file
 * deflated in memory, sizes and checksum before it. Nothing of it needs Zip64.
 */
#include "cli/push_bundle.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/hex.h"
#include "base/little_endian.h"
#include "cli/push_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEVEL = 6,
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    NEEDS_VERSION = 20,
    UTF8_NAMES = 1 << 11,
    DEFLATED = 8,
    FIRST_DAY = 0x21 /* 1 January 1980, the first that a zip can say */
};

struct entry {
    const char *name;
    uint32_t crc, packed, size, at;
};

struct zip {
    int fd;
    uint64_t at;
    struct arena arena;
    struct entry *entries;
    size_t count, capacity;
    struct libdeflate_compressor *deflate;
    uint8_t *packed;
    size_t room;
};

static bool put(struct zip *z, const void *data, size_t size)
{
    z->at += size;
    return z->at <= UINT32_MAX && push_pack_write(z->fd, data, size);
}

/* What both headers of an entry have, from "version needed" on. */
static void put_common(uint8_t *p, const struct entry *e)
{
    memset(p, 0, 26);
    put_u16(p, NEEDS_VERSION);
    put_u16(p + 2, UTF8_NAMES);
    put_u16(p + 4, DEFLATED);
    put_u16(p + 8, FIRST_DAY);
    put_u32(p + 10, e->crc);
    put_u32(p + 14, e->packed);
    put_u32(p + 18, e->size);
    put_u16(p + 22, (uint32_t)strlen(e->name));
}

static bool add_entry(struct zip *z, const char *name, struct span bytes)
{
    uint8_t head[LOCAL_SIZE] = {'P', 'K', 3, 4};
    size_t length = strlen(name) + 1,
           bound = libdeflate_deflate_compress_bound(z->deflate, bytes.size);
    char *copy = arena_take(&z->arena, length);
    if (!copy || length > UINT16_MAX || !array_reserve(&z->packed, &z->room, bound, 1) ||
        !array_room(&z->entries, &z->capacity, z->count, sizeof *z->entries))
        return false;
    struct entry e = {.name = memcpy(copy, name, length),
                      .crc = libdeflate_crc32(0, bytes.data, bytes.size),
                      .size = (uint32_t)bytes.size,
                      .at = (uint32_t)z->at};
    e.packed = (uint32_t)libdeflate_deflate_compress(z->deflate, bytes.data, bytes.size, z->packed,
                                                     z->room);
    put_common(head + 4, &e);
    z->entries[z->count++] = e;
    return e.packed && put(z, head, sizeof head) && put(z, name, length - 1) &&
           put(z, z->packed, e.packed);
}

static bool end_zip(struct zip *z)
{
    uint8_t head[CENTRAL_SIZE], end[END_SIZE] = {'P', 'K', 5, 6};
    uint64_t begin = z->at;
    for (size_t i = 0; i < z->count; i++) {
        const struct entry *e = &z->entries[i];
        memset(head, 0, sizeof head);
        memcpy(head, "PK\1\2", 4);
        put_u16(head + 4, NEEDS_VERSION);
        put_common(head + 6, e);
        put_u32(head + 42, e->at);
        if (!put(z, head, sizeof head) || !put(z, e->name, strlen(e->name)))
            return false;
    }
    put_u16(end + 8, (uint32_t)z->count);
    put_u16(end + 10, (uint32_t)z->count);
    put_u32(end + 12, (uint32_t)(z->at - begin));
    put_u32(end + 16, (uint32_t)begin);
    return put(z, end, sizeof end);
}

/* ---- the manifest ---- */

/* As the field writes them: the first 16 bytes of a build id with the order of a GUID's numbers. */
static void debug_id_text(const struct symmap_identity *identity, char text[37])
{
    static const uint8_t guid[] = {3, 2, 1, 0, 5, 4, 7, 6};
    size_t used = 0;
    for (size_t i = 0; i < 16; i++) {
        size_t from = i < 8 && identity->id_kind != SYMMAP_ID_UUID ? guid[i] : i;
        used +=
            (size_t)snprintf(text + used, 37 - used, "%s%02x",
                             i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", identity->id[from]);
    }
}

static json_t *new_manifest(const struct symmap_identity *identity)
{
    char code_id[2 * sizeof identity->id + 1], debug_id[37];
    hex_text(code_id, identity->id, identity->id_size);
    debug_id_text(identity, debug_id);
    return json_pack("{s:{}, s:s, s:s, s:s, s:s}", "files", "arch", identity->arch, "code_id",
                     code_id, "debug_id", debug_id, "object_name",
                     identity->object ? identity->object : "");
}

/* "files/PATH". What other systems, or readers of zips, would take for something else gets a
 * number. */
static void entry_name(const struct push_source *source, size_t number, char *name, size_t size)
{
    const char *path = source->path + (source->path[0] == '/');
    bool plain =
        strlen(path) < 1024 && strncmp(path, "..", 2) != 0 && path[strcspn(path, "\\:")] == 0;
    if (plain)
        snprintf(name, size, "files/%s", path);
    else
        snprintf(name, size, "files/@%zu", number);
}

/* ---- all ---- */

static bool read_file(const char *path, struct span *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    bool good = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    *bytes = (struct span){NULL, 0};
    if (good && about.st_size > 0)
        good = push_pack_map(fd, bytes);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool add_files(struct zip *z, const struct push_source *sources, size_t count, json_t *files)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        char name[1100];
        struct span bytes;
        json_t *about = json_pack("{s:s, s:s}", "type", "source", "path", sources[i].path);
        if (!about || !read_file(sources[i].local, &bytes)) {
            json_decref(about); /* a path that is not UTF-8, or a file that went */
            continue;
        }
        entry_name(&sources[i], i, name, sizeof name);
        good = add_entry(z, name, bytes) && json_object_set(files, name, about) == 0;
        json_decref(about);
        if (bytes.size)
            munmap((void *)(uintptr_t)bytes.data, bytes.size);
    }
    return good;
}

static bool write_bundle(struct zip *z, const struct push_source *sources, size_t count,
                         const struct symmap_identity *identity)
{
    uint8_t head[8] = "SYSB";
    put_u32(head + 4, 2);
    json_t *manifest = z->deflate ? new_manifest(identity) : NULL;
    bool good = manifest && put(z, head, sizeof head) &&
                add_files(z, sources, count, json_object_get(manifest, "files"));
    char *text = good ? json_dumps(manifest, JSON_COMPACT) : NULL;
    good = text &&
           add_entry(z, "manifest.json", (struct span){(const uint8_t *)text, strlen(text)}) &&
           end_zip(z);
    free(text);
    json_decref(manifest);
    return good;
}

bool push_bundle_make(const struct push_source *sources, size_t count,
                      const struct symmap_identity *identity, struct span *bundle, char *why,
                      size_t size)
{
    struct zip z = {.fd = push_pack_file(), .deflate = libdeflate_alloc_compressor(LEVEL)};
    errno = 0;
    bool good =
        z.fd >= 0 && write_bundle(&z, sources, count, identity) && push_pack_map(z.fd, bundle);
    if (!good)
        snprintf(why, size, "the bundle cannot be made%s%s", errno ? ": " : "",
                 errno ? strerror(errno) : "");
    if (z.fd >= 0)
        close(z.fd);
    if (z.deflate)
        libdeflate_free_compressor(z.deflate);
    arena_free(&z.arena);
    free(z.entries);
    free(z.packed);
    return good;
}
