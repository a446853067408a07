/*
 * A symbol map in other tools' formats: GSYM version 1 (LLVM's GSYM headers) and Breakpad text
 * (docs/symbol_files.md of Breakpad). docs/symbol-map.md says what each of them keeps and loses.
 *
 * Both are made from the rows of a map alone, so they say at every address what the map says there.
 * Neither format can nest functions: a function that another one interrupts is written as several
 * of the same name.
 */
#ifndef SYMMAP_EXPORT_H
#define SYMMAP_EXPORT_H

#include "symmap/symmap.h"

/* *bytes is malloc'ed. The result depends on the map alone. FW_ERR_UNSUPPORTED: what the map holds
 * does not fit into the format. */
fw_error export_gsym(const struct symmap *map, uint8_t **bytes, size_t *size,
                     struct fw_failure *why);
fw_error export_breakpad(const struct symmap *map, uint8_t **bytes, size_t *size,
                         struct fw_failure *why);

/* Breakpad's debug id: the first 16 bytes of a build id as a GUID, whose first three fields are
 * little-endian numbers, or a UUID as it is; then the age, which is 0. Zeros for an image without
 * identity. */
enum { BREAKPAD_ID_SIZE = 34 };
void breakpad_id(const uint8_t *id, size_t size, bool uuid, char text[BREAKPAD_ID_SIZE]);

/* What both formats put for a function of which only lines are known; importing takes it away. */
#define EXPORT_UNKNOWN "<unknown>"

#endif
