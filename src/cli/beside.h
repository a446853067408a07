/* Files that are installed with the command, for its own use. */
#ifndef CLI_BESIDE_H
#define CLI_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The first `file` that `fits`, into path[size]: in the command's own folder, where it lies in the
 * build tree, or in a folder of libraries, of any class of processor. False: there is none. */
bool beside_find(const char *file, bool (*fits)(const char *path, const void *context),
                 const void *context, char *path, size_t size);

#endif
