/* A core file: its memory, and the files that its process had mapped. core.c captures its threads,
 * core_source.c supplies memory, mappings and files. */
#ifndef CAPTURE_CORE_H
#define CAPTURE_CORE_H

#include "capture/core_notes.h"
#include "capture/process_internal.h"

enum { CORE_PATH_SIZE = 4352 }; /* PATH_MAX and a root before it */

struct core_segment {
    uint64_t lo;
    uint64_t size;     /* bytes of memory */
    uint64_t stored;   /* of these, how many the core says that it holds */
    struct span bytes; /* those that it does hold: fewer when the file is cut off */
    bool writable;
};

struct core {
    struct object *object;
    struct core_notes notes;
    struct core_segment *segments; /* sorted by address */
    size_t segment_count;
    char *given; /* the executable that the caller named, or NULL */
    char *sysroot;
    struct object *main; /* the executable, opened to find where it lies; may be NULL */
    char **paths;        /* of files that core_place_files found */
    size_t path_count;
    uint64_t missing; /* bytes that the core says it holds, and does not */
    bool truncated;
};

/* Sorts the segments and counts what is missing. False when out of memory. */
bool core_read_segments(struct core *core);
/* The segment around the address, or NULL. */
const struct core_segment *core_segment_at(const struct core *core, uint64_t address);
/* Memory that the core holds; for struct image_source, `context` is the process. */
bool core_read(void *context, uint64_t address, void *to, size_t size);
/* The same, and memory that it left out because it is as in the mapped file. For struct memory. */
bool core_read_or_file(void *context, uint64_t address, void *to, size_t size);
/* Builds the mappings and gives them to process->images. False when out of memory. */
bool core_make_maps(struct fw_process *process);
/* False when the executable that the caller named is known to be another one than the core's. */
bool core_is_given(struct fw_process *process);
/* Opens a regular file at a path below `root` (may be NULL); -1 when there is none. */
int core_open_path(const char *root, const char *path);
/* core_place.c: names the executable, and where the core does not list its mapped files, finds out
 * what lies in `maps`. */
void core_place_files(struct fw_process *process, struct maps *maps);
struct image_source core_source(struct fw_process *process);

#endif
