/*
 * Memory that is made writable for a moment: pages of constant data (__DATA_CONST, __AUTH_CONST)
 * that dyld protected when it had bound them, mapped from a file or shared between processes (the
 * shared cache). The kernel copies them for this process; the protection is put back as it was.
 * Reading goes on meanwhile.
 *
 * Not async-signal-safe only in that two threads must not do it for the same pages at once.
 */
#ifndef OS_DARWIN_WRITABLE_H
#define OS_DARWIN_WRITABLE_H

#include <stdbool.h>
#include <stdint.h>

struct writable {
    uintptr_t lo, hi; /* whole pages that may be written; empty: none */
    int before;       /* their protection when it had to be changed; else 0 */
};

/* Makes the word at `address` writable, and with it what has the same protection up to `end`, whose
 * pages belong to the same image. Closes what was open. False when the system refuses. */
bool writable_open(struct writable *memory, uintptr_t address, uintptr_t end);
void writable_close(struct writable *memory);

#endif
