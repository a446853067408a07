/*
 * One open symbol map, and the names that were made readable of it. Nobody but the files of the
 * symbol store includes this.
 */
#ifndef COLLECTOR_SYMBOLS_IMAGE_H
#define COLLECTOR_SYMBOLS_IMAGE_H

#include "base/arena.h"
#include "collector/metrics.h"
#include "collector/symbols.h"
#include "symmap/symmap.h"

/* Maps the file and checks it. The descriptor stays the caller's. One reference. `metrics` counts
 * what is looked up; it may be NULL, and lives longer than the image. */
fw_error symbols_image_open(int fd, const char *label, struct metrics *metrics,
                            struct symbols_image **image, struct fw_failure *why);
void symbols_image_hold(struct symbols_image *image);
uint64_t symbols_image_bytes(const struct symbols_image *image);
const struct symmap *symbols_image_map(const struct symbols_image *image);

/* Where a place of a report lies in the map; false: nowhere. */
bool symbols_image_offset(const struct symbols_image *image, uint64_t offset, unsigned space,
                          unsigned kind, uint64_t *at);

struct symbols_names { /* in the arena; texts as long as the image is held, too */
    struct report_name *names;
    uint32_t count;
    uint32_t function; /* number of the outer one in the map; CODE_NONE */
};
/* `at` as of symbols_image_offset; `adds` is put on the offsets in the functions: 1 of a return
 * address, which was looked up one earlier. FW_OK with count 0: nothing is known there.
 * FW_ERR_MEMORY. */
fw_error symbols_image_names(const struct symbols_image *image, uint64_t at, unsigned adds,
                             struct arena *arena, struct symbols_names *found);
/* A function of the map by its number, as it would be without its line. */
fw_error symbols_image_function(const struct symbols_image *image, uint32_t function,
                                struct arena *arena, struct report_name *name);

#endif
