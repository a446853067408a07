#include "symbolicate/source_path.h"

#include <string.h>

/* Takes the last part of clean[0..used) away; false when there is none that can go. */
static bool take_part(const char *clean, size_t *used, size_t root)
{
    size_t at = *used;
    while (at > root && clean[at - 1] != '/')
        at--;
    bool climbs = *used - at == 2 && memcmp(clean + at, "..", 2) == 0;
    if (*used == root || climbs)
        return false;
    *used = at > root ? at - 1 : root;
    return true;
}

bool source_path_clean(const char *path, char *clean, size_t size)
{
    size_t used = 0, root = path[0] == '/';
    if (!path[0] || size < 2)
        return false;
    if (root)
        clean[used++] = '/';
    while (*path) {
        size_t length = strcspn(path, "/");
        bool dot = length == 1 && path[0] == '.';
        bool up = length == 2 && memcmp(path, "..", 2) == 0;
        if (length && !dot && !(up && take_part(clean, &used, root))) {
            if (used + length + 2 > size)
                return false;
            if (used > root)
                clean[used++] = '/';
            memcpy(clean + used, path, length);
            used += length;
        }
        path += length + (path[length] == '/');
    }
    clean[used] = 0;
    return used > root;
}
