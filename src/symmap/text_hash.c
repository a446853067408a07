#include "symmap/text_hash.h"

#include <string.h>

enum { TEXT_HASHED = 4096 };

bool text_hash(struct object *object, uint8_t hash[TEXT_HASH_SIZE])
{
    struct unwind_section text;
    const char *name = object_is_macho(object) ? "__text" : ".text";
    if (object_section_data(object, name, &text, NULL) != FW_OK || !text.size)
        return false;
    size_t size = text.size < TEXT_HASHED ? text.size : TEXT_HASHED;
    memset(hash, 0, TEXT_HASH_SIZE);
    for (size_t i = 0; i < size; i++)
        hash[i % TEXT_HASH_SIZE] ^= text.data[i];
    return true;
}
