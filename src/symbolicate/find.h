/*
 * Everything that goes with an object file: its separate debug file, the supplementary file that
 * dwz made, the package or the single files of split DWARF. One call finds them; whoever reads the
 * DWARF gets them as struct dwarf_companions.
 *
 * What is handed out proved to belong to the object: same build id, or the CRC of its debug link. A
 * file that does not is never used, and every place that was looked at is kept with the outcome, so
 * that "nothing was found" can say what was looked for and where.
 */
#ifndef SYMBOLICATE_FIND_H
#define SYMBOLICATE_FIND_H

#include "dwarf/dwarf.h"
#include "object/debug_map.h"

struct file_index;

struct debug_find_options {
    /* NULL-terminated, or NULL. Each is a folder laid out like /usr/lib/debug, or any tree of debug
     * files, which is searched for the build id or the name of the debug link. */
    const char *const *folders;
    /* Of the same folders; must outlive the files found. NULL: one is made for this search. */
    struct file_index *index;
    const char *sysroot; /* before /usr/lib/debug and before absolute names in files; or NULL */
    bool debuginfod;     /* ask the servers of DEBUGINFOD_URLS, when it is set */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
};

struct debug_place {
    char *path;    /* or URL */
    char *outcome; /* "found", "no such file", "other build id", "HTTP 404" ... */
};

struct debug_files {
    struct object *debug; /* NULL when the object has its own DWARF or nothing was found */
    struct dwarf_companions companions; /* of the debug file, or of the object itself */
    bool parts; /* a Mach-O image without dSYM, of which an object file of its debug map was found:
                   debug_files_part has the DWARF */
    struct debug_place *places; /* in the order in which they were looked at */
    size_t place_count;
    struct finder *finder; /* what find_dwo needs */
};

/*
 * `path` is where `object` lies, NULL when it came from nowhere. FW_OK also when nothing was found:
 * then all pointers are NULL. Else FW_ERR_MEMORY. `object` must outlive *files, and *files what is
 * opened with its companions.
 */
fw_error debug_files_find(struct object *object, const char *path,
                          const struct debug_find_options *options, struct debug_files **files,
                          struct fw_failure *why);
/* An object file of the debug map (convert_options.open_part, with `files` as context): at its
 * path, beside the image, or below the folders under any tail of its path, since the path is that
 * of the machine that built it. One of another date than was linked is refused. NULL when there is
 * none; the object belongs to `files`. From one thread at a time. */
struct object *debug_files_part(void *files, const struct debug_map_object *entry);
void debug_files_close(struct debug_files *files);

/* All places but those where a file was found, as one line: "refused A (other build id); none at B,
 * C". malloc'ed; NULL when memory ran out. */
char *debug_files_story(const struct debug_files *files);

/* Whether the object has debug sections with contents of its own. Does not unpack any. */
bool debug_files_has_dwarf(const struct object *object);

#endif
