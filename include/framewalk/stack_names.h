/*
 * Names of stacks, kept: for programs that sample. A program that hangs, waits or renders shows the
 * same few stacks again and again; the names of one seen before are handed out without looking a
 * single frame up.
 *
 *     struct fw_stack_names *cache;
 *     struct fw_stack_names_options options = {.size = sizeof options, .text = true};
 *     fw_stack_names_create(&cache, &options);
 *     ...
 *     const struct fw_named_stack *named;
 *     if (fw_stack_names_get(cache, &stack, &named) == FW_OK) {
 *         puts(named->text);
 *         fw_stack_names_release(cache, named);
 *     }
 *
 * Stacks are found by their id (fw_stack.id) and compared frame by frame: two stacks never share
 * names because their ids happen to be the same. Memory is bounded; what was not asked for in a
 * while makes room (second chance). Names are never handed out that belong to images which the
 * index of names no longer knows.
 *
 * Thread-safe: any number of threads at once. NOT async-signal-safe, and not for the time while
 * threads are stopped: it takes locks, and allocates for a stack that is new.
 */
#ifndef FRAMEWALK_STACK_NAMES_H
#define FRAMEWALK_STACK_NAMES_H

#include "names.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fw_stack_names;

struct fw_stack_names_options {
    size_t size; /* sizeof(struct fw_stack_names_options) */
    struct fw_names
        *names;    /* where to look names up; the caller's, and must outlive the cache. NULL:
                      the process's own index, as for fw_text_*, which is refreshed by itself
                      when a new stack is looked up after images were loaded or unloaded */
    size_t memory; /* bytes for stacks kept; 0 = 1 MB, which is 100 to 200 stacks of 50 frames */
    const char *const *images; /* name only frames of these images, NULL for all: a path, a folder
                                  that ends in "/" for all inside it, or a bare file name. Copied */
    size_t image_count;
    bool text;           /* make named->text as well */
    uint8_t reserved[7]; /* zero */
};

/* `options` may be NULL. FW_ERR_ARGUMENT when one is outside what stands above. */
FW_API fw_error fw_stack_names_create(struct fw_stack_names **cache,
                                      const struct fw_stack_names_options *options);
/* All that it handed out must have been released. */
FW_API void fw_stack_names_destroy(struct fw_stack_names *cache);

struct fw_named_frame {
    struct fw_name name; /* all zero but for an address in an image */
    uint64_t index;      /* counted from the innermost frame of the whole stack, 0 */
    uint32_t frame;      /* which of stack.frames it is */
    uint32_t left_out;   /* frames of other images between the named frame before it and this one */
};

struct fw_named_stack {
    const struct fw_named_frame *frames; /* innermost first */
    uint32_t count;                      /* how many frames are named */
    uint32_t left_out;                   /* frames of other images, in all */
    const char *text; /* its lines as fw_text_stack makes them, with "... 3 frames of other images"
                         where some were left out; NULL unless options.text */
    size_t text_length;
};

/*
 * The names of `stack`. They are constant, and stay valid until fw_stack_names_release, whatever
 * happens to the cache, to the images and to the index of names meanwhile. FW_ERR_MEMORY when out
 * of memory.
 *
 * A stack seen before costs a lock of its part of the cache and the comparison of its frames, some
 * tens of nanoseconds for 50 of them; a new one the lookup of each, some microseconds, and what
 * fw_names_refresh costs when images came or went.
 */
FW_API fw_error fw_stack_names_get(struct fw_stack_names *cache, const struct fw_stack *stack,
                                   const struct fw_named_stack **named);
FW_API void fw_stack_names_release(struct fw_stack_names *cache,
                                   const struct fw_named_stack *named);

/* Refreshes the index of names, while no other thread looks anything up: needed after an image was
 * unloaded and another one loaded at the same addresses, as fw_images_refresh. Stacks that were
 * named before are named again when images changed. Of options.names, this is the only refresh that
 * may run beside fw_stack_names_get. */
FW_API fw_error fw_stack_names_refresh(struct fw_stack_names *cache);

struct fw_stack_names_counters {
    uint64_t hits;     /* found */
    uint64_t misses;   /* looked up: new, forgotten, or outdated */
    uint64_t evicted;  /* forgotten, to make room */
    uint64_t outdated; /* forgotten, because images changed */
    uint64_t stacks;   /* kept now */
    uint64_t bytes;    /* of memory now: stacks kept, those still held by somebody, and tables */
};

FW_API void fw_stack_names_count(struct fw_stack_names *cache,
                                 struct fw_stack_names_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
