/*
 * Memory of the kernel's that grows by doubling, for lists of what is loaded: not of malloc, which
 * the watched program may be in.
 */
#ifndef WATCH_KERNEL_ROOM_H
#define WATCH_KERNEL_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* Room for one more than `count` items of `size` bytes in *memory, which has *room. False: there is
 * none. */
static inline bool kernel_room(void **memory, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    const size_t more = *room ? *room * 2 : 4096 / size + 1;
    void *grown =
        mmap(NULL, more * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED)
        return false;
    if (*memory) {
        memcpy(grown, *memory, count * size);
        munmap(*memory, *room * size);
    }
    *memory = grown;
    *room = more;
    return true;
}

static inline void kernel_room_free(void *memory, size_t room, size_t size)
{
    if (memory)
        munmap(memory, room * size);
}

#endif
