/*
 * Memory prepared before a thread is suspended: mapped by the kernel, touched, and kept for the
 * next capture. malloc's may not be used while a thread is suspended, and would grow with it.
 *
 * Thread-safe, no lock, bounded: at most PREPARED_KEPT pieces of at most PREPARED_LARGEST bytes are
 * kept; larger ones are given back to the kernel.
 */
#ifndef OS_DARWIN_PREPARED_H
#define OS_DARWIN_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PREPARED_KEPT = 4, PREPARED_LARGEST = 1 << 20, PREPARED_ALIGN = 16 };

struct prepared {
    uint8_t *bytes; /* begins with a page */
    size_t size;
    size_t used; /* by prepared_part */
};

/* At least `size` bytes, all of them touched. False when the kernel has none. */
bool prepared_take(struct prepared *memory, size_t size);
void prepared_give(struct prepared *memory);

/* The next `size` bytes of it, aligned to PREPARED_ALIGN, whose price is up to as many bytes more;
 * the caller has asked for enough. */
void *prepared_part(struct prepared *memory, size_t size);

#endif
