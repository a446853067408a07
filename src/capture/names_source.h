/*
 * Where the names in process come from, for names.c: names_linux.c asks the loader and reads files,
 * names_darwin.c reads the memory of the loaded images.
 */
#ifndef CAPTURE_NAMES_SOURCE_H
#define CAPTURE_NAMES_SOURCE_H

#include "object/symbols.h"

struct names_tables; /* what the index of an image points into; its source knows what that is */

struct named_image {
    uintptr_t header, bias;      /* where its header lies; runtime - link-time */
    char *path;                  /* owned; of the main program its own */
    uint8_t build_id[64];        /* or UUID */
    size_t build_id_size;        /* 0 when the image has none */
    struct symbols *symbols;     /* owned; NULL when there is none (yet) */
    bool indexed;                /* names_source_index was asked for them */
    struct names_tables *tables; /* owned; may be NULL */
};

struct named_range { /* memory of an image; ranges of images may interleave, but do not overlap */
    uintptr_t lo, hi;
    uint32_t image;
};

struct names_list {
    struct named_image *images;
    size_t count, capacity;
    struct named_range *ranges; /* ascending by lo once it is finished */
    size_t range_count, range_capacity;
    unsigned long long unloads; /* how many images the loader had taken away by then */
    uint64_t changes;           /* names_source_changes by then */
};

void names_list_free(struct names_list *list);
/* names.c. Both take what they get only when they return true, else memory ran out. */
bool names_list_add(struct names_list *list, const struct named_image *image);
/* A range of the image that was added last. */
bool names_list_range(struct names_list *list, uintptr_t lo, uintptr_t hi);

/* A number that is another one after each image that came or went. Thread-safe. On Linux it takes
 * the loader's lock for a moment; on Apple it is async-signal-safe. */
uint64_t names_source_changes(void);
/* Lists the images that are loaded now, without their symbols. False when out of memory. */
bool names_source_list(struct names_list *list);
/* Builds the index of an image so listed, NULL where nothing is known. False when out of memory. */
bool names_source_index(struct named_image *image);
void names_source_free(struct names_tables *tables);

#endif
