/* A space of one image without memory, for tests of rows. */
#ifndef TESTS_UNWIND_ONE_IMAGE_H
#define TESTS_UNWIND_ONE_IMAGE_H

#include "unwind/step.h"

static inline const struct unwind_image *find_image(void *context, uint64_t address)
{
    const struct unwind_image *image = context;
    return address - image->bias >= image->lo && address - image->bias < image->hi ? image : NULL;
}

static inline bool row_at(const struct unwind_image *image, uint64_t vaddr, bool exact,
                          struct unwind_row *row)
{
    static const struct memory none;
    const struct walk_space space = {
        .arch = image->arch, .find_image = find_image, .context = (void *)image};
    return step_find_row(&space, &none, vaddr, exact, row) == UNWIND_OK;
}

#endif
