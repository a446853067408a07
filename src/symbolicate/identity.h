/*
 * Files found by identity alone: a build id or a UUID, as crash reports give it.
 */
#ifndef SYMBOLICATE_IDENTITY_H
#define SYMBOLICATE_IDENTITY_H

#include "base/reader.h"

struct fw_symbolicator;

struct identified {
    char *path;  /* malloc'ed; NULL: none was found */
    char *story; /* malloc'ed: where was looked, one line; NULL when memory ran out */
    bool is_map; /* a symbol map, not an object file */
};

/*
 * In this order: .build-id below the symbolicator's folders; any file of these folders, a symbol
 * map before an image, an image before a debug file; the system's .build-id folders; the servers of
 * debuginfod. What is found has the identity. False when memory ran out.
 */
bool identity_find(struct fw_symbolicator *symbolicator, struct span id, struct identified *found);
void identity_hex(struct span id, char *hex, size_t size);

#endif
