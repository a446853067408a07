/* Judging what was no hang: the part of it that is arithmetic. */
#ifndef WATCH_HANG_VETO_H
#define WATCH_HANG_VETO_H

#include "watch/hang_system.h"

/* Of the `elapsed` ns between two looks, how long the thread was ready to run without a processor;
 * 0 when that is not certain. */
uint64_t hang_starved(const struct hang_load *before, const struct hang_load *after,
                      uint64_t elapsed);

#endif
