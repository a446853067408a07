/*
 * glibc gives each thread a heap that grows page by page, each time with a system call that makes
 * the others wait, and hands large pieces back as soon as they are free. One heap that grows in
 * large steps and keeps what it has makes a conversion a tenth faster, and in large pages a tenth
 * again: fewer pages to fault in (mallopt(3), madvise(2) MADV_HUGEPAGE). Nothing is used before it
 * is touched.
 */
#include "cli/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void heap_prepare(void)
{
#ifdef __GLIBC__
    enum { STEP = 256 << 20, LARGE_PAGE = 2 << 20, FROM_HEAP = 32 << 20 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, STEP);
    mallopt(M_TRIM_THRESHOLD, 2 * STEP);
    mallopt(M_MMAP_THRESHOLD, FROM_HEAP);
    char *first = malloc(LARGE_PAGE); /* makes the heap take its first step */
    if (!first)
        return;
    uintptr_t begin = ((uintptr_t)first + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    (void)madvise((void *)begin, STEP - LARGE_PAGE, MADV_HUGEPAGE);
    free(first);
#endif
}
