/* What the targets of the unwinder share. */
#ifndef FUZZ_UNWIND_H
#define FUZZ_UNWIND_H

#include <stdlib.h>
#include <string.h>

#include "unwind/image.h"

/* The next bytes after their 16-bit length, as an allocation of its own, so that a byte too far is
 * noticed. The caller frees `data`. */
static inline struct unwind_section chunk(struct reader *r, uint64_t vaddr)
{
    struct unwind_section section = {NULL, 0, vaddr};
    uint16_t size = reader_u16(r);
    const uint8_t *bytes;
    if (size > reader_left(r))
        size = (uint16_t)reader_left(r);
    if (r->failed || size == 0 || !reader_take(r, size, &bytes))
        return section;
    uint8_t *copy = malloc(size);
    if (!copy)
        return section;
    memcpy(copy, bytes, size);
    section.data = copy;
    section.size = size;
    return section;
}

/* What holds for every input, or the target fails. */
static inline void expect(bool holds)
{
    if (!holds)
        abort();
}

/* struct walk_space.find over one image. */
static inline const struct unwind_image *find_image(void *context, uint64_t address)
{
    const struct unwind_image *image = context;
    return address >= image->lo && address < image->hi ? image : NULL;
}

#endif
