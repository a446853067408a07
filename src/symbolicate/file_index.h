/*
 * Which file has which identity, in the folders that the caller names: images, debug files, dSYM
 * bundles, slices of fat files, symbol maps. The folders are walked once, when they are first
 * asked; a report with hundreds of images asks hundreds of times.
 */
#ifndef SYMBOLICATE_FILE_INDEX_H
#define SYMBOLICATE_FILE_INDEX_H

#include "base/reader.h"

struct file_index;

enum indexed_kind {
    INDEXED_MAP = 0, /* a symbol map */
    INDEXED_IMAGE,   /* has code */
    INDEXED_DEBUG    /* debug information alone: a dSYM, a separate debug file */
};
struct indexed_file { /* lives as long as the index */
    const char *path;
    enum indexed_kind kind;
};

/* NULL when memory ran out. Reads nothing yet; `folders` (NULL-terminated, or NULL) must outlive
 * the index. A folder may also be a single file. */
struct file_index *file_index_create(const char *const *folders);
void file_index_destroy(struct file_index *index);

/* Calls `each` for the files with this build id or UUID, in the order of the folders, until it
 * returns false. Thread-safe. False when memory ran out. */
bool file_index_find(struct file_index *index, struct span id,
                     bool (*each)(void *context, const struct indexed_file *file), void *context);
/* Tells of each folder how many files are in it, and which identities when these are few. */
void file_index_tell(const struct file_index *index,
                     void (*tell)(void *context, const char *place, const char *outcome),
                     void *context);

#endif
