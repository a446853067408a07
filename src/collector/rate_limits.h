/*
 * Token buckets by key or address, in a table of fixed size: where it is full, the bucket that was
 * not used for the longest time makes room. Thread-safe.
 */
#ifndef COLLECTOR_RATE_LIMITS_H
#define COLLECTOR_RATE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct rate_limits;

struct rate_limits *rate_limits_create(void); /* NULL: no memory */
void rate_limits_free(struct rate_limits *limits);
/* Takes `cost` from the bucket of `name`, which fills with `a_minute` and holds `burst`. 0: it may;
 * else how many seconds until it may. `now_us`: clock_us. */
unsigned rate_limits_take(struct rate_limits *limits, const char *name, unsigned a_minute,
                          unsigned burst, unsigned cost, uint64_t now_us);

#endif
