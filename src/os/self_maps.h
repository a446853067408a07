/*
 * Questions about this process's address space, by system calls alone: async-signal-safe, no
 * allocation, no cancellation point (a capture may interrupt a thread that is to be cancelled, with
 * any lock held).
 */
#ifndef OS_SELF_MAPS_H
#define OS_SELF_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct self_mapping {
    uintptr_t lo, hi;
    bool readable, executable, writable;
};

/* The mapping that holds `address`; false when there is none or /proc cannot be read. Costs 5 us
 * where the kernel answers PROCMAP_QUERY (Linux 6.11), else the time to read /proc/self/maps up to
 * it. */
bool self_mapping_find(uintptr_t address, struct self_mapping *mapping);

/* Whether the word at `address` can be read, asked of the kernel. */
bool self_readable(uintptr_t address);

/* Copies memory that may not be there. False when any byte of it cannot be read. */
bool self_read(uintptr_t address, void *to, size_t size);

#endif
