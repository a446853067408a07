/*
 * A few threads that do the same thing to many items, for as long as one build runs.
 *
 * Items are handed out one after the other, so what an item's result is must not depend on who does
 * it or when. The caller's thread is one of them. When threads cannot be had, fewer do the work.
 */
#ifndef SYMMAP_WORKERS_H
#define SYMMAP_WORKERS_H

#include <stddef.h>

struct workers;

/* `threads` 0: one per processor. NULL when out of memory. */
struct workers *workers_start(unsigned threads);
void workers_stop(struct workers *workers);
/* How many there are: `worker` below is smaller. */
unsigned workers_count(const struct workers *workers);
/* Calls task(context, item, worker) for each item < count and returns when all are done. */
void workers_run(struct workers *workers, size_t count,
                 void (*task)(void *context, size_t item, unsigned worker), void *context);

#endif
