/*
 * The images of a foreign process: which code lies at an address, whose file it is, what its
 * symbols are. Serves live processes and core files; what differs is the source.
 *
 * Invariant: a file is used for a mapping only when it is proven to be the mapped one (device and
 * inode, or build id); otherwise the image is read out of the process's memory, or there is none.
 * Files are opened when an address inside them is first looked up, never before, and stay open
 * until images_free: pointers handed out live as long.
 */
#ifndef CAPTURE_IMAGES_H
#define CAPTURE_IMAGES_H

#include "framewalk/process.h"
#include "object/object.h"
#include "object/symbols.h"
#include "os/linux/maps.h"

struct image_source {
    /* Opens the file that `mapping` shows, or NULL when it cannot be had; images->missed then says
     * why. *proven says that it is known to be the mapped file; if not, its build id is compared
     * with the memory's. */
    struct object *(*open)(void *context, const struct mapping *mapping, bool *proven);
    /* Copies memory of the process; false when any byte cannot be read. */
    bool (*read)(void *context, uint64_t address, void *to, size_t size);
    /* Calls images_set_maps with the mappings as they are now. NULL when they cannot change. */
    void (*reload)(void *context);
    void *context;
    /* Prefix under which the process sees its files, NULL for none. */
    const char *root;
};

struct image_file { /* one file, or one image in memory */
    struct image_file *next;
    uint64_t device, inode, base; /* base: where its ELF header lies, when read from memory */
    char *path;
    struct object *object; /* NULL when it is not ELF or cannot be had */
    struct object *debug;  /* separate debug file */
    struct symbols *symbols;
    bool debug_tried, symbols_tried, from_memory;
    uint8_t state; /* fw_image_file */
};

struct image { /* a file at one place */
    struct image *next;
    struct image_file *file;
    struct unwind_image unwind;
};

struct code_range { /* an executable mapping */
    uint64_t lo, hi;
    size_t mapping; /* index in maps.list */
    struct image_file *file;
    struct image *image;
    bool tried;
};

struct images {
    struct image_source source;
    const struct arch *arch; /* the process's: files of another one are no images of its code */
    struct maps maps;
    struct code_range *range; /* sorted */
    size_t count;
    size_t last;      /* range of the last lookup: the next is often there */
    unsigned reloads; /* how often a miss may still reload */
    uint8_t missed;   /* fw_image_file, of the file that could not be had last */
    bool no_memory;   /* memory ran out in a lookup: what it did not find may be there */
    struct image_file *files;
    struct image *images;
};

/* Remembers that `error`, met on behalf of `images`, was a lack of memory; returns it. */
static inline fw_error images_note(struct images *images, fw_error error)
{
    images->no_memory |= error == FW_ERR_MEMORY;
    return error;
}

/* Takes `maps` over (also on failure, which is lack of memory). *stale (optional) is set when code
 * that was there before is no more: rules cached for its addresses are void. */
bool images_set_maps(struct images *images, struct maps *maps, bool *stale);
void images_free(struct images *images);

/* For struct walk_space; `images` is a struct images. */
const struct unwind_image *images_find(void *images, uint64_t address);
bool images_is_code(void *images, uint64_t address);

/* False when the address is in no executable mapping of a file. */
bool images_symbol(struct images *images, const struct fw_frame *frame, struct fw_symbol *symbol);

/* Bytes of the file mapped at the address, as the file has them. */
bool images_read_file(struct images *images, uint64_t address, void *to, size_t size);
/* The address of the ELF header of the file that `mapping` (one of images->maps) shows a part of,
 * as far as it is mapped; 0 when it is not. */
uint64_t images_header_address(const struct images *images, const struct mapping *mapping);

#endif
