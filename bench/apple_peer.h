/*
 * The peer of the Apple figures: the way of BSBacktraceLogger and of the many copies of it, written
 * from its description. A thread's stack is followed one checked read a frame record, and the name
 * of each address is looked for among all symbols of the image that contains it.
 */
#ifndef BENCH_APPLE_PEER_H
#define BENCH_APPLE_PEER_H

#include <mach/mach.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEER_FRAMES = 50 };

struct peer_stack {
    uintptr_t addresses[PEER_FRAMES]; /* innermost first */
    const char *names[PEER_FRAMES];   /* with their underscore; NULL where none was found */
    size_t count;
};

/* Notes the images loaded now. The original asks dyld for each address, which is what may not be
 * done while a thread is suspended: it may hold dyld's lock. */
void peer_note_images(void);

/* The last symbol at or before `address`, by a scan over all symbols of its image. */
const char *peer_name(uintptr_t address);

/* Of a suspended thread. */
bool peer_walk(thread_act_t thread, struct peer_stack *stack);
void peer_names(struct peer_stack *stack);

#endif
