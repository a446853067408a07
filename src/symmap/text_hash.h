/* The identity of an image that has none: Breakpad's rule, so that tools agree about it. */
#ifndef SYMMAP_TEXT_HASH_H
#define SYMMAP_TEXT_HASH_H

#include "object/object.h"

enum { TEXT_HASH_SIZE = 16 };
/* The first 4096 bytes of .text (__text), folded by exclusive or. False when there are none. */
bool text_hash(struct object *object, uint8_t hash[TEXT_HASH_SIZE]);

#endif
