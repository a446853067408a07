/* A whole file in memory: for symbols of other tools, which are read once from end to end. */
#ifndef SYMMAP_READ_FILE_H
#define SYMMAP_READ_FILE_H

#include "framewalk/error.h"

#include <stdint.h>

/* *bytes is malloc'ed. FW_ERR_FORMAT for what is no regular file. */
fw_error symmap_read_file(const char *path, uint8_t **bytes, size_t *size, struct fw_failure *why);

#endif
