/* The formats of `framewalk convert`: what it writes besides symbol maps, and what it reads besides
 * object files. */
#ifndef CLI_CONVERT_FORMATS_H
#define CLI_CONVERT_FORMATS_H

#include "framewalk/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum convert_format { CONVERT_MAP = 0, CONVERT_GSYM, CONVERT_BREAKPAD };

/* False, with a message, for a name that is none: "symmap", "gsym", "breakpad". */
bool convert_format_named(const char *name, enum convert_format *format);
/* What files of it end with: ".symmap", ".gsym", ".sym". */
const char *convert_suffix(enum convert_format format);

/* A file of symbols alone (debug_file_is_symbols) as a checked symbol map in malloc'ed *bytes. */
fw_error convert_read_symbols(const char *path, uint8_t **bytes, size_t *size,
                              struct fw_failure *why);
/* Replaces the map in malloc'ed *bytes by the format. */
fw_error convert_to(enum convert_format format, uint8_t **bytes, size_t *size,
                    struct fw_failure *why);

#endif
