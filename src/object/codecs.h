/*
 * The codecs that tools give to object_set_codecs: zlib, zstd and xz from their libraries; and what
 * packs. This is a library of its own (framewalk_codecs); libframewalk does not contain it.
 */
#ifndef OBJECT_CODECS_H
#define OBJECT_CODECS_H

#include "object/object.h"

extern const struct object_codecs object_codecs_all;

/* gzip (RFC 1952) of `data`, the same bytes for the same data: no time, no name. malloc'ed; NULL:
 * memory ran out. */
uint8_t *codecs_gzip(const void *data, size_t data_size, size_t *size);

#endif
