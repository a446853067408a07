/* Paths of source files, as debug information has them: made one spelling. */
#ifndef SYMBOLICATE_SOURCE_PATH_H
#define SYMBOLICATE_SOURCE_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum { SOURCE_PATH_MAX = 4096 }; /* bytes, with the end */

/* `path` without "." and empty parts, and without "x/.."; what would lead above the root, or above
 * the beginning of a relative path, stays as "..". False: it is empty or does not fit. */
bool source_path_clean(const char *path, char *clean, size_t size);

#endif
