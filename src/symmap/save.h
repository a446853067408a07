/*
 * Files that appear whole or not at all: written beside their place under another name (PATH. and
 * what no other file has), then renamed. Of a process that is killed meanwhile, that one stays.
 */
#ifndef SYMMAP_SAVE_H
#define SYMMAP_SAVE_H

#include "framewalk/error.h"

#include <stddef.h>

/* Readers of an older file at `path` keep what they opened. Thread-safe; not async-signal-safe. */
fw_error symmap_save(const char *path, const void *bytes, size_t size, struct fw_failure *why);

#endif
