/*
 * The separate debug file of an object.
 *
 * Places, in this order (GDB manual, "Debugging Information in Separate Files"):
 *     DIR/.build-id/ab/cdef….debug     for every DIR
 *     FOLDER/NAME, FOLDER/.debug/NAME  of .gnu_debuglink, FOLDER being the object's own
 *     DIR/FOLDER/NAME                  for every DIR
 * all below `root`. A file is taken only when it proves to belong to the object: its build id is
 * the same; one found by name has the link's CRC-32 and no other build id. A wrong file is worse
 * than none, so whatever cannot be proved is refused and named.
 */
#include "object/looked.h"
#include "object/object_internal.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct search {
    const struct object *object;
    const char *root;
    object_place_call tell; /* may be NULL */
    void *context;
    struct object *found;
    bool no_memory; /* a place could not be looked at */
};

/* CRC-32 as zlib computes it (ISO 3309, reflected 0xedb88320), eight bytes a step. */
static uint32_t crc32_of(struct span bytes)
{
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        table[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
    uint32_t crc = ~0u;
    const uint8_t *p = bytes.data;
    size_t left = bytes.size;
    for (; left >= 8; left -= 8, p += 8) {
        crc ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^
              table[4][crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; left; left--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

/* A stripped file has the identity of its debug file as well. */
static bool says_nothing(const struct object *candidate)
{
    struct object_section s;
    for (size_t i = 1; object_section_at(candidate, i, &s); i++)
        if (s.size && s.type != SHT_NOBITS &&
            (s.type == SHT_SYMTAB || strncmp(s.name, ".debug_", 7) == 0 ||
             strncmp(s.name, ".zdebug_", 8) == 0))
            return false;
    return true;
}

const char *object_mismatch(const struct object *object, const struct object *candidate,
                            const uint32_t *crc)
{
    if (candidate->has_inode && object->has_inode && candidate->device == object->device &&
        candidate->inode == object->inode)
        return "is the file itself";
    if (candidate->machine != object->machine || candidate->is_64 != object->is_64 ||
        candidate->big_endian != object->big_endian)
        return "other architecture";
    if (candidate->truncated)
        return "truncated";
    struct span own = object->build_id, other = candidate->build_id;
    if (own.size && other.size &&
        (own.size != other.size || memcmp(own.data, other.data, own.size) != 0))
        return "other build id";
    if (!crc && !other.size)
        return "no build id";
    if (says_nothing(candidate))
        return "no symbols and no debug information";
    if (crc && crc32_of(candidate->file) != *crc)
        return "other CRC";
    return NULL;
}

static void tell(const struct search *s, const char *path, const char *outcome)
{
    if (s->tell)
        s->tell(s->context, path, outcome);
}

/* True when the search is over. */
static bool try_path(struct search *s, const char *path, const uint32_t *crc)
{
    struct object *candidate;
    struct fw_failure why;
    fw_error error = object_open(path, &candidate, &why);
    if (error == FW_ERR_MEMORY) {
        s->no_memory = true;
        return true;
    }
    if (error != FW_OK) {
        tell(s, path, error == FW_ERR_NOT_FOUND ? OBJECT_NO_FILE : fw_error_text(error));
        return false;
    }
    const char *reason = object_mismatch(s->object, candidate, crc);
    tell(s, path, reason);
    if (reason)
        object_close(candidate);
    else
        s->found = candidate;
    return !reason;
}

static bool by_build_id(struct search *s, const char *const *dirs)
{
    struct span id = s->object->build_id;
    if (id.size < 2)
        return false;
    char hex[2 * 64 + 1];
    for (size_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    for (; *dirs; dirs++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s%s/.build-id/%.2s/%s.debug", s->root, *dirs, hex,
                         hex + 2);
        if (n > 0 && (size_t)n < sizeof path && try_path(s, path, NULL))
            return true;
    }
    return false;
}

static bool in_folder(struct search *s, const char *dir, const char *folder, const char *inner,
                      const char *name, uint32_t crc)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s/%s%s", s->root, dir, folder, inner, name);
    return n > 0 && (size_t)n < sizeof path && try_path(s, path, &crc);
}

/* `folder` is an absolute path without a slash at its end ("" for the root), or a relative one,
 * which has no place below DIR. */
static bool by_link(struct search *s, const char *folder, const char *const *dirs, const char *name,
                    uint32_t crc)
{
    if (in_folder(s, "", folder, "", name, crc) || in_folder(s, "", folder, ".debug/", name, crc))
        return true;
    bool absolute = folder[0] == '/' || folder[0] == 0;
    for (; absolute && *dirs; dirs++)
        if (in_folder(s, *dirs, folder, "", name, crc))
            return true;
    return false;
}

/* The folder of `path` as by_link wants it. */
static void folder_of(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, size, ".");
    else
        snprintf(folder, size, "%.*s", (int)(slash - path < INT_MAX ? slash - path : 0), path);
}

static bool by_debuglink(struct search *s, const char *path, const char *const *dirs)
{
    const char *name;
    uint32_t crc;
    if (!path || !object_debuglink(s->object, &name, &crc))
        return false;
    /* A link is a plain file name; anything else would lead out of the folders. */
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    char folder[PATH_MAX];
    folder_of(path, folder, sizeof folder);
    if (by_link(s, folder, dirs, name, crc))
        return true;
    /* Distributions install debug files below DIR by the real path of the file. */
    char real[PATH_MAX], real_folder[PATH_MAX];
    if (s->root[0] || !realpath(path, real))
        return false;
    folder_of(real, real_folder, sizeof real_folder);
    return strcmp(folder, real_folder) != 0 && by_link(s, real_folder, dirs, name, crc);
}

fw_error object_find_debug_told(const struct object *object, const char *path, const char *root,
                                const char *const *dirs, object_place_call place, void *context,
                                struct object **debug)
{
    static const char *const usual[] = {"/usr/lib/debug", NULL};
    struct search s = {
        .object = object, .root = root ? root : "", .tell = place, .context = context};
    *debug = NULL;
    if (!dirs)
        dirs = usual;
    if (!by_build_id(&s, dirs) && !by_debuglink(&s, path, dirs))
        return FW_ERR_NOT_FOUND;
    *debug = s.found;
    return s.no_memory ? FW_ERR_MEMORY : FW_OK;
}

fw_error object_find_debug(const struct object *object, const char *path, const char *root,
                           const char *const *dirs, struct object **debug, struct fw_failure *why)
{
    struct looked looked = {{0}, {0}};
    fw_error error = object_find_debug_told(object, path, root, dirs, looked_place, &looked, debug);
    if (error == FW_OK)
        return FW_OK;
    if (error == FW_ERR_MEMORY)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    if (!looked.places[0] && !looked.refused[0])
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label,
                           "has neither a build id nor a debug link");
    return looked_fail(&looked, "no debug file", why);
}
