/*
 * Large reports take turns: one that is read takes about fifteen times its bytes in memory, so only
 * so many bytes are read at a time, in all threads together. Small ones pass.
 */
#ifndef COLLECTOR_HEAVY_H
#define COLLECTOR_HEAVY_H

#include "collector/collector.h"

#include <stddef.h>

enum {
    HEAVY_FROM = 256 << 10, /* smaller ones are not counted */
    HEAVY_BYTES = 10 << 20, /* at a time; a larger one is read alone */
    HEAVY_WAITING = 4,      /* more requests than these do not wait */
    HEAVY_WAIT_MS = 10000,
};

struct heavy *heavy_create(void); /* NULL: no memory */
void heavy_free(struct heavy *heavy);
/* False: others had their turn for HEAVY_WAIT_MS, or too many wait; come again later. Else
 * heavy_end with the same bytes. NULL for `heavy` is fine. Thread-safe. */
bool heavy_begin(struct heavy *heavy, size_t bytes);
void heavy_end(struct heavy *heavy, size_t bytes);

#endif
