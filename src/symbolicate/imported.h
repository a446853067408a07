/* Symbols that other tools wrote (symmap/import.h), as files. */
#ifndef SYMBOLICATE_IMPORTED_H
#define SYMBOLICATE_IMPORTED_H

#include "base/reader.h"
#include "framewalk/error.h"

/* The map of the GSYM or Breakpad file at `path`, in malloc'ed *bytes. */
fw_error imported_read(const char *path, uint8_t **bytes, size_t *size, struct fw_failure *why);

#endif
