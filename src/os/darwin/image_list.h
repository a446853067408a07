/* The images of this process as self_images.c knows them, for the names (names_darwin.c). */
#ifndef OS_DARWIN_IMAGE_LIST_H
#define OS_DARWIN_IMAGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_image {
    uintptr_t header;
    const char *path; /* in the caller's bytes */
    bool permanent;   /* never unloaded: its memory may be looked at without precautions */
};

/* Copies the list and its paths. *count and *path_size say how much room there is, and then how
 * much is needed: false when that is more. `unloads`: how many images were unloaded so far;
 * `changes`: image_list_changes of this copy. Not
 * async-signal-safe; does not wait for dyld. */
bool image_list_copy(struct listed_image *list, size_t *count, char *paths, size_t *path_size,
                     unsigned long long *unloads, uint64_t *changes);

/* A number that is another one after each image that came or went; before the memory of the one
 * that went is gone. Async-signal-safe. */
uint64_t image_list_changes(void);

#endif
