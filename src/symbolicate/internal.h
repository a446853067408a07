/*
 * What the files of this folder share. Nobody else includes this.
 *
 * A source begins with an object (image and debug file) and no map. Lookups of a few addresses
 * build a small map of the units that hold them and throw it away; once enough was asked, the whole
 * file is converted and `map` stands for good. `lock` guards everything but a map that stands:
 * objects are for one thread at a time.
 */
#ifndef SYMBOLICATE_INTERNAL_H
#define SYMBOLICATE_INTERNAL_H

#include "base/arena.h"
#include "framewalk/symbolicate.h"
#include "symbolicate/tail.h"

#include <pthread.h>
#include <stdatomic.h>

struct fw_symbolicator {
    struct fw_symbolicator_options options; /* strings are owned */
    char **folders;                         /* debug_folders, NULL-terminated, owned */
    struct file_index *index;               /* of these folders; owned */
    char *sysroot, *cache_folder;           /* owned; cache_folder "" or NULL: no cache */
};

struct fw_source {
    struct fw_symbolicator *symbolicator;
    pthread_mutex_t lock;
    char *path, *debug_path; /* owned; debug_path NULL: the same file */
    char arch[16];
    bool thumb; /* of 32-bit ARM: the lowest bit of an address is no part of it */
    uint8_t id[64];
    size_t id_size;
    uint64_t base;
    enum fw_source_kind kind;
    char *searched;                /* owned, never NULL */
    struct arena texts;            /* of `missing`, now and earlier */
    uint64_t missing_count;        /* files that were missing when `missing` was said */
    _Atomic(const char *) missing; /* NULL: nothing so far */

    struct object *object;           /* NULL for a map */
    struct object *debug;            /* its separate debug file, of `files`; or NULL */
    struct debug_files *files;       /* NULL: not looked for */
    const struct object_range *code; /* of the object, ascending; it owns them */
    size_t code_count;               /* 0: not known */
    size_t asked;                    /* what was asked of small maps so far */

    _Atomic(struct symmap *) map; /* of the whole image; set once */
    uint8_t *map_bytes;           /* when it was built here */
};

/* symbolicator.c: reads a struct that begins with its `size`, made by a caller of an older or newer
 * version: what an older one lacks becomes zero, what a newer one has more must be zero
 * (FW_ERR_UNSUPPORTED). FW_ERR_ARGUMENT for a size that no version has. */
fw_error take_sized(void *to, size_t size, const void *from);
enum { SIZED_MAX = 4096 };

/* source.c: a map of the whole image, from the cache or converted now. */
fw_error source_whole_map(struct fw_source *source, struct symmap **map, struct fw_failure *why);
/* source.c: a map that knows at least `addresses` (link-time, ascending). When *bytes is not NULL
 * afterwards, the map is the caller's: symmap_close, then free(*bytes). */
fw_error source_map_for(struct fw_source *source, const uint64_t *addresses, size_t count,
                        struct symmap **map, uint8_t **bytes, struct fw_failure *why);

/* cache.c: the path that the source's map has in the cache; NULL: not cached (or out of memory).
 * Maps of symbols alone are not: they are made in no time, and a later run may find more. To be
 * freed. */
char *cache_path(const struct fw_source *source);
/* The map at `path` when it is whole and of this source. */
struct symmap *cache_open(const struct fw_source *source, const char *path);
/* Keeps a map, and takes the longest unused ones away when the cache is over its limit. Failing is
 * no error: the next run converts again. */
void cache_keep(const struct fw_symbolicator *symbolicator, const char *path, const void *bytes,
                size_t size);

/* names.c: texts of a map, copied into `arena` once however often they are asked for. False or NULL
 * when memory ran out. */
struct texts { /* all zero: empty */
    struct text_entry *entries;
    size_t count, capacity; /* a power of two */
};
/* *shown is demangled as the options say; *mangled itself when there is nothing to demangle. */
bool texts_name(struct texts *texts, struct arena *arena,
                const struct fw_symbolicator *symbolicator, const char *name, const char **mangled,
                const char **shown);
const char *texts_path(struct texts *texts, struct arena *arena, const char *directory,
                       const char *file);
void texts_free(struct texts *texts);

#endif
