/*
 * glibc gives each thread a heap that grows page by page, each time with a system call that makes
 * the others wait, and hands large pieces back as soon as they are free. One heap that grows in
 * large steps and keeps what it has makes a conversion a tenth faster (mallopt(3)). Large pages
 * would make it faster still on an idle machine, and slower by half where the kernel has to move
 * memory about to find them, so they are not asked for.
 */
#include "cli/heap.h"

#include <malloc.h>

void heap_prepare(void)
{
#ifdef __GLIBC__
    enum { STEP = 32 << 20, KEPT = 512 << 20 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, STEP);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_MMAP_THRESHOLD, STEP);
#endif
}
