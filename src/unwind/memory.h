/*
 * Memory of the walked thread, checked. Up to two ranges are read directly (the stack, and the
 * thread's own stack when a signal handler runs on another one); anything else goes through `slow`,
 * which must refuse instead of faulting. Addresses are those of the walked process; `bytes` is
 * where the copy (or, for this process, the memory itself) lies.
 */
#ifndef UNWIND_MEMORY_H
#define UNWIND_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct memory_range {
    uint64_t lo;          /* first address */
    uint64_t size;        /* bytes */
    const uint8_t *bytes; /* where the byte of address `lo` is */
};

struct memory {
    struct memory_range range[2];
    /* Copies `size` bytes at `address` to `to`; false when any of them cannot be read. May be NULL.
     */
    bool (*slow)(void *context, uint64_t address, void *to, size_t size);
    void *context;
};

bool memory_read_slow(const struct memory *memory, uint64_t address, void *to, size_t size);

static inline bool memory_read(const struct memory *memory, uint64_t address, void *to, size_t size)
{
    uint64_t offset = address - memory->range[0].lo;
    if (__builtin_expect(offset < memory->range[0].size && size <= memory->range[0].size - offset,
                         1)) {
        memcpy(to, memory->range[0].bytes + offset, size);
        return true;
    }
    return memory_read_slow(memory, address, to, size);
}

/* A pointer-sized little-endian or native word. `size` is 4 or 8. */
static inline bool memory_word(const struct memory *memory, uint64_t address, unsigned size,
                               uint64_t *value)
{
    if (size == 8)
        return memory_read(memory, address, value, 8);
    uint32_t word;
    if (!memory_read(memory, address, &word, 4))
        return false;
    *value = word;
    return true;
}

#endif
