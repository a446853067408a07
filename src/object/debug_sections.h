/*
 * Debug sections by their DWARF name, whatever the container calls them, and the other things that
 * symbolication needs of an object file: code ranges, function starts, companions.
 *
 * Everything handed out lives as long as the object. One object from one thread at a time; spans
 * once handed out may be read from any number of threads. Not async-signal-safe.
 */
#ifndef OBJECT_DEBUG_SECTIONS_H
#define OBJECT_DEBUG_SECTIONS_H

#include "object/object.h"

/*
 * The contents of the debug section `name` without prefix ("info", "str_offsets", "cu_index"):
 * ELF .debug_NAME or .zdebug_NAME, Mach-O __debug_NAME or __zdebug_NAME (names cut to 16 bytes).
 * With `dwo`, the .dwo form (.debug_info.dwo). Inflated when compressed; in relocatable objects
 * with their relocations applied (to a copy that the object owns). Several sections of one name
 * (type units of relocatable objects: COMDAT .debug_types / .debug_info) follow each other in one
 * span. FW_ERR_NOT_FOUND when there is none, with `*data` empty. FW_OK and a code in *why (which
 * the caller has set to zero): a relocation could not be applied, what it would have changed is
 * wrong.
 */
fw_error object_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                              struct fw_failure *why);

/*
 * Unpacking on several threads. A section is inflated when it is first asked for, by whoever asks;
 * to have several done at once, take a list of those that are still packed, run its entries in any
 * order on any threads, and give the results back. In between the object may not be used.
 *
 *     n = object_inflations(object, names, count, false, list, room);
 *     (each once, anywhere) object_inflation_run(&list[i]);
 *     object_inflations_take(object, list, n);
 *
 * Nothing here fails: what could not be inflated is tried again, and explained, by
 * object_debug_section.
 */
struct object_inflation {
    object_inflate codec;
    struct span packed;
    size_t size;      /* inflated */
    uint32_t section; /* which one, to the object */
    uint8_t *result;  /* of running it; NULL when it failed */
};
/* `names` and `dwo` as for object_debug_section. At most `room` are listed. */
size_t object_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                         struct object_inflation *list, size_t room);
void object_inflation_run(struct object_inflation *inflation);
void object_inflations_take(struct object *object, struct object_inflation *list, size_t count);

/* The link-time ranges of executable code, ascending, not overlapping; from sections where there
 * are any, else from segments. In relocatable objects each section has made-up addresses of its own
 * (object_section.vaddr; elf_layout.c says how), which relocations and symbols are given in. */
struct object_range {
    uint64_t lo, hi;
};
fw_error object_code_ranges(struct object *object, const struct object_range **ranges,
                            size_t *count);

/* Function starts that are known without symbols: LC_FUNCTION_STARTS, FDEs of .eh_frame. Ascending
 * and without repeats is not promised. Stops when `each` returns false. */
void object_function_starts(struct object *object, bool (*each)(void *context, uint64_t vaddr),
                            void *context);

/* .gnu_debugaltlink, or .debug_sup of DWARF 5: path and build id (checksum) of the supplementary
 * file that dwz made; false when none. */
bool object_debugaltlink(struct object *object, const char **path, struct span *build_id);
/* What a supplementary file is known by in such links: its build id, else the checksum of its own
 * .debug_sup; size 0 when it has neither. */
struct span object_supplementary_id(struct object *object);

#endif
