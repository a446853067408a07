/*
 * The images loaded in this process, as the unwinder wants them: linux/self_images.c asks the
 * loader, darwin/self_images.c keeps a list that the loader's notifications feed.
 */
#ifndef OS_SELF_IMAGES_H
#define OS_SELF_IMAGES_H

#include "unwind/image.h"

/* The image of one walk: the last one found is kept, as neighbouring frames mostly share it. */
struct self_images {
    struct unwind_image image;
    uintptr_t lo, hi; /* runtime range that `image` answers for; empty when there is none */
    bool reading;     /* Apple: whoever unloads an image waits for this walk */
    unsigned entered; /* Apple: if so, for image_table_leave */
};

static inline void self_images_begin(struct self_images *images)
{
    images->lo = images->hi = 0;
    images->reading = false;
}

/* Ends the walk: `image` and what it points to may not be looked at any more. Async-signal-safe. */
void self_images_end(struct self_images *images);

/* walk_space.find_image with a struct self_images as context. Async-signal-safe. */
const struct unwind_image *self_images_find(void *context, uint64_t address);

/* walk_space.is_code: executable memory outside of images (JIT). Async-signal-safe. */
bool self_images_is_code(void *context, uint64_t address);

#if !defined(__APPLE__)
/* What an image is called and how it is told from others of that name. */
struct self_identity {
    uintptr_t lo, hi, bias; /* lowest address, end, and what its link-time addresses are moved by */
    uint8_t build_id[64];
    uint32_t build_id_size; /* 0: none */
    char path[512]; /* as the loader has it; "" for the executable, "[vdso]" for the kernel's own */
};

/* Of the image around `address`, which some other thread may unload meanwhile: it is then not
 * found, or with less of its path and id. No lock of the loader, no allocation;
 * async-signal-safe. */
bool self_image_identify(uint64_t address, struct self_identity *identity);
#endif

/* Reads the loader's list again, and calls `changed` when images were loaded or unloaded since the
 * last time. Several callers wait for each other: whoever returns sees what was loaded when it
 * called, and `changed` has returned.
 *
 * On Apple the first call does so, which is the one of the library's constructor or earlier; from
 * then on the loader tells, and `changed` is called when it does, before the memory of an unloaded
 * image is gone. Nobody waits there for a first call that is not done: it takes dyld's lock, which
 * the one who waits may hold.
 * Thread-safe; not async-signal-safe (takes the loader's lock).
 */
void self_images_refresh(void (*changed)(void));

#endif
