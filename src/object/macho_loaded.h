/*
 * A Mach-O image as the loader laid it out in memory, described from its header there. Nothing is
 * allocated and no lock is taken: async-signal-safe.
 *
 * Segments of one image need not be neighbours: in Apple's shared cache those of many images
 * interleave, and __LINKEDIT is far away and common to all. File offsets mean nothing in memory but
 * for distances inside __LINKEDIT, so whatever lies there is at
 *
 *     __LINKEDIT's vmaddr + slide + (offset - __LINKEDIT's fileoff)
 *
 * and is bounded by that segment. Every other range is bounded by its segment, too. The loader
 * mapped the segments, so it is believed that their memory may be read; what a header says beyond
 * them is not.
 *
 * <mach-o/loader.h>.
 */
#ifndef OBJECT_MACHO_LOADED_H
#define OBJECT_MACHO_LOADED_H

#include "base/reader.h"
#include "unwind/image.h"

/* How bytes of the image's address space are had. They must stay for as long as they are used. */
struct macho_memory {
    /* The bytes at [address, address + size); NULL when they may not be read. */
    const void *(*at)(void *context, uint64_t address, size_t size);
    void *context;
};

struct macho_range { /* link-time; size 0 when there is none */
    uint64_t vaddr, size;
};

enum { MACHO_UUID = 16 };

struct macho_loaded {
    const struct macho_memory *memory;
    uint64_t header; /* where the header lies, at run time */
    uint64_t vaddr;  /* the same, link-time: that of __TEXT */
    uint64_t slide;  /* run time - link-time, modulo 2^64 */
    struct span commands;
    uint32_t cpu_type, cpu_subtype, file_type;
    uint64_t entry; /* where the kernel begins (LC_UNIXTHREAD: dyld, static programs); else 0 */
    uint8_t uuid[MACHO_UUID];
    bool is_64, has_uuid;
    const char *install_name; /* LC_ID_DYLIB, in the commands; NULL when there is none */
    bool permanent;           /* an executable, dyld, or of the shared cache: never unloaded */
    struct macho_range symbols, strings, indirect, exports, function_starts; /* in __LINKEDIT */
};

/* False when `header` is none of this machine's byte order, or its load commands contradict each
 * other. The memory must outlive the description. */
bool macho_loaded_read(struct macho_loaded *image, const struct macho_memory *memory,
                       uint64_t header);

/* A segment that takes up memory: not __PAGEZERO, nothing that runs over the end of it. */
struct macho_loaded_segment {
    uint64_t lo, hi; /* run time */
    bool readable, executable;
    bool linkedit; /* of the shared cache's images: the same for all */
};
void macho_loaded_segments(const struct macho_loaded *image,
                           bool (*each)(void *context, const struct macho_loaded_segment *segment),
                           void *context);

/* Its sections in order; those that do not lie inside their segment have size 0. */
struct macho_section; /* macho_format.h */
void macho_loaded_sections(const struct macho_loaded *image,
                           bool (*each)(void *context, const struct macho_section *section),
                           void *context);

/* LC_SYMTAB: the table without entries that are cut off, and strings up to the last NUL. */
struct macho_symbol_table; /* macho_format.h */
struct macho_symbol_table macho_loaded_table(const struct macho_loaded *image);

/* The bytes of such a place; empty when they may not be read. */
struct span macho_loaded_bytes(const struct macho_loaded *image, struct macho_range place);

/* What the unwinder wants of it, for the code around the runtime address `address`. `arch` is left
 * to the caller. */
void macho_loaded_unwind_image(const struct macho_loaded *image, uint64_t address,
                               struct unwind_image *out);

#endif
