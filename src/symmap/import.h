/*
 * Symbols that other tools wrote, as symbol maps: GSYM (versions 1 and 2, both byte orders) and
 * Breakpad text. docs/symbol-map.md says what they hold and what is lost.
 *
 * Both are turned into functions, inlined calls and line rows as DWARF has them, and flattened by
 * the same code (import_unit.h). Input is hostile: everything is bounded, and what contradicts
 * itself is refused with its place.
 */
#ifndef SYMMAP_IMPORT_H
#define SYMMAP_IMPORT_H

#include "base/reader.h"
#include "framewalk/error.h"

bool import_is_gsym(struct span bytes);
bool import_is_breakpad(struct span bytes);

/* A map of either kind into malloc'ed *map. FW_ERR_FORMAT when it is neither. `why` may be NULL. */
fw_error import_map(struct span bytes, const char *label, uint8_t **map, size_t *size,
                    struct fw_failure *why);

#endif
