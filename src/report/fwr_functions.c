/* Functions that a report has names of already. See fwr_functions.h. */
#include "report/fwr_functions.h"

#include <assert.h>
#include <string.h>

static_assert((FWR_FUNCTION_SLOTS & (FWR_FUNCTION_SLOTS - 1)) == 0, "a power of two");

void functions_begin(struct fwr_functions *f)
{
    f->count = f->bytes = 0;
    f->left_out = 0;
    memset(f->slots, 0, sizeof f->slots);
}

bool functions_add(struct fwr_functions *f, uint32_t image, uint64_t start, size_t name)
{
    uint64_t hash = (start ^ (uint64_t)image << 48) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(hash >> 32) & (FWR_FUNCTION_SLOTS - 1);
    for (; f->slots[slot].image; slot = (slot + 1) & (FWR_FUNCTION_SLOTS - 1))
        if (f->slots[slot].start == start && f->slots[slot].image == image)
            return false;
    if (f->count == FWR_FUNCTIONS_MAX || name == 0 || name > FWR_FUNCTION_NAME ||
        name > FWR_FUNCTION_BYTES - f->bytes) {
        f->left_out++;
        return false;
    }
    f->slots[slot] = (struct fwr_known_function){start, image};
    f->count++;
    f->bytes += (uint32_t)name;
    return true;
}
