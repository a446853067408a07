/*
 * All loaded ELF images of all namespaces, in the order of the loader, and which definition a
 * reference is bound to.
 */
#ifndef WATCH_GOT_IMAGES_H
#define WATCH_GOT_IMAGES_H

#include "watch/got_image.h"

enum { GOT_IMAGES_MOST = 4096 };

struct got_head { /* where an image's program headers are */
    const ElfW(Phdr) * phdr;
    size_t count;
    uintptr_t dynamic; /* address of its dynamic section */
};

struct got_images {
    struct got_image *image;
    size_t count, room;
    uintptr_t self;   /* an address in our own code */
    uintptr_t loader; /* bias of the loader's own image */
    bool told;        /* the loader counts what it loads and unloads: */
    uint64_t loads;   /* so many so far */
    uint64_t unloads;

    /* Of a visit that reads them anew. */
    size_t known; /* images in front that are as the last visit read them */
    struct got_head *head;
    size_t heads, head_room, head_next;
    bool has_heads;
};

/* Calls `work` with all images, under the loader's lock, in memory that is used again with each
 * call and freed by got_images_free: what was read is kept until the loader has loaded or unloaded
 * something. `work` makes no call into the loader. */
void got_images_visit(struct got_images *images,
                      void (*work)(void *context, const struct got_images *images), void *context);
void got_images_free(struct got_images *images);

/* Whether the image's own calls are watched: not those of the loader, the vDSO, and the library
 * that this code is in. */
bool got_is_watched(const struct got_images *images, const struct got_image *image);

/* Whether the image was loaded with the program: it is relocated as long as anything of it runs. */
bool got_came_with_program(const struct got_images *images, const struct got_image *image);

/* The image whose code `address` is; NULL: none. */
const struct got_image *got_image_of_code(const struct got_images *images, uintptr_t address);

/* What the loader will bind the reference of `image` to symbol `name` in `version` to; 0: that
 * cannot be told for sure, or there is none. */
uintptr_t got_bound_to(const struct got_images *images, const struct got_image *image,
                       const char *name, const char *version);

/* Whether `address`, in the image's own code, is where its slots lead before they are bound: in its
 * linkage table, not a function. */
bool got_is_unbound(const struct got_image *image, uintptr_t address);

/* Where a definition is: runs the resolver of one that is chosen at run time. */
uintptr_t got_address(const struct got_image *image, const ElfW(Sym) * symbol);

#endif
