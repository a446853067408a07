/* The images of this process as self_images.c knows them: for the names (names_darwin.c), for
 * reports (locate_darwin.c), and for those who change their pointers (bound_pointers_darwin.c). */
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

struct found_image {
    uint64_t base, size; /* its header, and to the end of the code around the address */
    uint8_t uuid[16];
    bool has_uuid;
    uint32_t cpu_type, cpu_subtype;
};
/* The image whose code is at `address`, and its path, cut to `path_size`, "" when not known.
 * Async-signal-safe: an image that is unloaded meanwhile waits. */
bool image_list_find(uint64_t address, struct found_image *found, char *path, size_t path_size);

/* Between these two no image comes or goes: so who holds must not call the loader, or wait for
 * somebody who does. One holds at a time, others wait. */
void image_list_hold(void);
void image_list_let_go(void);
/* While held: the header of image `index`; 0 beyond the last one. */
uintptr_t image_list_header(size_t index);

/* From now on `added` is called with every image that is loaded, bound and not initialised yet,
 * under the loader's lock, and held as above. NULL ends that. One at a time. */
void image_list_on_add(void (*added)(uintptr_t header));

#endif
