/*
 * What the files that find debug files share. Nobody else includes this.
 */
#ifndef SYMBOLICATE_FIND_INTERNAL_H
#define SYMBOLICATE_FIND_INTERNAL_H

#include "symbolicate/file_index.h"
#include "symbolicate/find.h"

struct opened_file { /* a .dwo or an object file of the debug map */
    uint64_t hash;   /* of the path, to compare first: there may be thousands */
    char *path;
    struct object *object;
};

struct finder {
    struct debug_files files; /* what is handed out; its companions' context is this finder */
    const struct object *object;
    char *path;     /* of the object; "" when it has none */
    char **folders; /* owned, NULL-terminated; the last is SYSROOT/usr/lib/debug */
    char *sysroot;  /* "" when there is none */
    struct file_index *index, *own_index; /* of the caller's folders; own_index NULL: not ours */
    char **own_folders;                   /* what own_index was made of; NULL-terminated */
    bool debuginfod;
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
    struct opened_file *opened; /* each once */
    size_t opened_count, opened_capacity, place_capacity;
    size_t parts_told; /* object files of the debug map that are among the places */
    bool no_memory;
};

/* A file that must have a property. */
struct candidate_test {
    const char *(*objection)(const struct finder *finder, struct object *candidate,
                             const void *context); /* NULL: it is the one */
    const void *context;
    const struct object_choice *choice; /* of fat files; NULL: a file of one slice is wanted */
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

/* Searches the trees of the caller's folders for a file of this identity that passes the test. */
struct object *finder_by_id(struct finder *finder, struct span id,
                            const struct candidate_test *test);
/* find_tree.c: the same for a file name. */
struct object *finder_by_name(struct finder *finder, const char *name,
                              const struct candidate_test *test);

/* Files that stay open, by path; finder_remember owns the object from then on, which may be NULL.
 */
struct object *finder_known(const struct finder *finder, const char *path);
struct object *finder_remember(struct finder *finder, const char *path, struct object *object);

/* find_parts.c: whether any object file of the image's debug map is to be had. */
bool finder_has_parts(struct finder *finder);

/* find_companions.c: fills in finder->files.companions. `dwarf` holds the DWARF and lies at `path`.
 */
void finder_companions(struct finder *finder, struct object *dwarf, const char *path);

#endif
