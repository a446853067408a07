/*
 * What the files that find debug files share. Nobody else includes this.
 */
#ifndef SYMBOLICATE_FIND_INTERNAL_H
#define SYMBOLICATE_FIND_INTERNAL_H

#include "symbolicate/find.h"

struct opened_dwo {
    uint64_t hash; /* of the path, to compare first: there may be thousands */
    char *path;
    struct object *object;
};

struct finder {
    struct debug_files files; /* what is handed out; its companions' context is this finder */
    const struct object *object;
    char *path;     /* of the object; "" when it has none */
    char **folders; /* owned, NULL-terminated; the last is SYSROOT/usr/lib/debug */
    char *sysroot;  /* "" when there is none */
    bool debuginfod;
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
    struct opened_dwo *dwos; /* each opened once */
    size_t dwo_count, dwo_capacity, place_capacity;
    bool no_memory;
};

/* A file that must have a property. */
struct candidate_test {
    const char *(*objection)(const struct finder *finder, struct object *candidate,
                             const void *context); /* NULL: it is the one */
    const void *context;
};

/* find.c: notes a place; `outcome` NULL is "found". */
void finder_note(struct finder *finder, const char *path, const char *outcome);
/* Opens `path` and notes how that went; NULL unless it passes the test. */
struct object *finder_try(struct finder *finder, const char *path,
                          const struct candidate_test *test);
__attribute__((format(printf, 3, 4))) struct object *
finder_try_at(struct finder *finder, const struct candidate_test *test, const char *format, ...);
/* DIR/.build-id/xx/yyyy SUFFIX for every folder. */
struct object *finder_by_build_id(struct finder *finder, struct span id, const char *suffix,
                                  const struct candidate_test *test);
/* What servers have under this build id. */
struct object *finder_from_servers(struct finder *finder, struct span id,
                                   const struct candidate_test *test);
/* The folder of a path, without a slash at its end; "." for a bare name. To be freed. */
char *finder_folder(struct finder *finder, const char *path);

/* find_tree.c: searches the trees of the caller's folders for a file that passes the test; only
 * those with this file name when `name` is not NULL. */
struct object *finder_in_trees(struct finder *finder, const char *name,
                               const struct candidate_test *test);

/* find_companions.c: fills in finder->files.companions. `dwarf` holds the DWARF and lies at `path`.
 */
void finder_companions(struct finder *finder, struct object *dwarf, const char *path);

#endif
