/* The paths of checked memory that are not worth inlining. */
#include "unwind/memory.h"

bool memory_read_slow(const struct memory *memory, uint64_t address, void *to, size_t size)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct memory_range *range = &memory->range[i];
        uint64_t offset = address - range->lo;
        if (offset < range->size && size <= range->size - offset) {
            memcpy(to, range->bytes + offset, size);
            return true;
        }
    }
    return memory->slow && memory->slow(memory->context, address, to, size);
}
