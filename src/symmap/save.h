/*
 * Files that appear whole or not at all: written beside their place under another name, then
 * renamed.
 */
#ifndef SYMMAP_SAVE_H
#define SYMMAP_SAVE_H

#include "framewalk/error.h"

#include <stddef.h>

/* Readers of an older file at `path` keep what they opened. Not async-signal-safe. */
fw_error symmap_save(const char *path, const void *bytes, size_t size, struct fw_failure *why);

#endif
