/*
 * The codecs that tools give to object_set_codecs: zlib, zstd and xz from their libraries. This is
 * a library of its own (framewalk_codecs); libframewalk does not contain it.
 */
#ifndef OBJECT_CODECS_H
#define OBJECT_CODECS_H

#include "object/object.h"

extern const struct object_codecs object_codecs_all;

#endif
