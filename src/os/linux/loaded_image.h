/*
 * Where an image lies that the loader has in memory: what unwinding (self_images.c) and naming
 * (self_identity.c) both begin with.
 */
#ifndef OS_LINUX_LOADED_IMAGE_H
#define OS_LINUX_LOADED_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/linux/self_eh_frame.h"

struct loaded_image {
    uintptr_t lo, hi, bias;
    const void *phdrs; /* ElfW(Phdr) */
    size_t phdr_count;
    const char *name;             /* the loader's own: gone when the image is unloaded */
    struct self_section eh_frame; /* where no program header leads to it */
};

/* The image around `address`. No lock, no allocation; async-signal-safe. */
bool loaded_image_at(uintptr_t address, struct loaded_image *found);

#endif
