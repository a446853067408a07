/*
 * Names in process: addresses of this process to function names, from the symbol tables of the
 * loaded images.
 *
 * An index is built once per image, sorted, outside of any stopped window: building reads files (on
 * Apple platforms the memory of the images, no files), allocates and takes the loader's lock for a
 * moment. Looking up is a binary search: no allocation, no lock, thread-safe and async-signal-safe
 * as long as fw_names_refresh is not running on the same fw_names.
 */
#ifndef FRAMEWALK_NAMES_H
#define FRAMEWALK_NAMES_H

#include "stack.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fw_names;

/* Builds the index of all images loaded now, so that any address can be looked up later, also in a
 * signal handler. On Apple platforms these are hundreds of system libraries, whose symbols take
 * seconds to page in and tens of megabytes to index: build it on a background thread, and only
 * where that is wanted. fw_text_... and fw_stack_names_... without an index of the caller's read
 * the symbols of the images alone that their stacks lead through. */
FW_API fw_error fw_names_create(struct fw_names **names);
FW_API void fw_names_destroy(struct fw_names *names);

/* Adds images loaded since, drops unloaded ones, of which names stay valid until then. Pointers
 * handed out for dropped images become invalid. */
FW_API fw_error fw_names_refresh(struct fw_names *names);

/* Were images loaded or unloaded since the index was built or refreshed? Thread-safe beside
 * lookups; NOT async-signal-safe (on Linux it takes the loader's lock for a moment). */
FW_API bool fw_names_outdated(const struct fw_names *names);

/* A number that changes with every refresh that finds other images than before: whoever keeps names
 * compares it, and asks again when it is another. Async-signal-safe, thread-safe, also while
 * fw_names_refresh is running. */
FW_API uint64_t fw_names_generation(const struct fw_names *names);

struct fw_name {
    const char *function;  /* mangled; NULL when unknown: then show image and image_offset */
    uint64_t offset;       /* address - function start */
    const char *image;     /* path, NULL when the address is in no image */
    uint64_t image_offset; /* address - image's load bias: as the file has it */
    uint64_t image_base;   /* where the image begins in memory: its ELF or Mach-O header */
    const char *file;      /* source file, NULL until debug information is read */
    uint32_t line;
    bool plt;
    uint8_t reserved[3];
};

/* FW_ERR_NOT_FOUND when no image covers the address; FW_OK with function NULL when the image has no
 * symbol there. */
FW_API fw_error fw_names_lookup(const struct fw_names *names, const struct fw_frame *frame,
                                struct fw_name *name);

/* One line of text for a frame as `function+0x12 (image)`, or `image+0x1234`, into `text`
 * (terminated, cut with "..." when too long). Returns the length it needs. Same safety as
 * fw_names_lookup. */
FW_API size_t fw_names_format(const struct fw_names *names, const struct fw_frame *frame,
                              char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
