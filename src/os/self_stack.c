/*
 * Reading the running thread's memory outside of its own stack (self_stack.h).
 */
#include "os/self_stack.h"

#include "os/self_maps.h"

enum {
    PAGE = 4096, /* the smallest page of every supported kernel: probing more often is harmless */
    MAX_PROBED = 1 << 20, /* bytes between the window and a frame that probing will bridge */
};

/* Grows the window page by page up to `address`, as long as pages can be read. */
static bool grow(struct memory_range *window, uint64_t end)
{
    uint64_t limit = window->lo + window->size;
    if (end > limit && end - limit > MAX_PROBED)
        return false;
    while (limit < end) {
        if (!self_readable((uintptr_t)limit))
            return false;
        limit = (limit | (PAGE - 1)) + 1;
        window->size = limit - window->lo;
    }
    return true;
}

bool self_stack_read_elsewhere(void *context, uint64_t address, void *to, size_t size)
{
    struct self_stack *stack = context;
    struct memory_range *window = &stack->memory.range[0];
    uint64_t end = address + size;
    if (end < address || end > UINTPTR_MAX)
        return false;
    if (!stack->own && address >= window->lo && grow(window, end)) {
        memcpy(to, (const void *)(uintptr_t)address, size);
        return true;
    }
    return self_read((uintptr_t)address, to, size);
}
