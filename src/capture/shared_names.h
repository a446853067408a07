/*
 * The process's one index of names, for callers that have none of their own: made when it is first
 * needed, kept until the process ends, refreshed when images came or went. The symbols of an image
 * are read when the first frame in it is to be named.
 *
 * Any number of threads hold it at once; a refresh waits for them. Not async-signal-safe, and never
 * while threads are stopped: it allocates, takes a lock, and asks the loader.
 */
#ifndef CAPTURE_SHARED_NAMES_H
#define CAPTURE_SHARED_NAMES_H

#include "framewalk/names.h"

/* The index as of now, until shared_names_release, fit to look up these frames; *generation is
 * fw_names_generation of it. NULL when out of memory: then there is nothing to release. */
const struct fw_names *shared_names_hold(const struct fw_frame *frames, size_t count,
                                         uint64_t *generation);
void shared_names_release(void);

/* The generation that a holder would see if no image came or went since it was held last; 0, which
 * no holder ever sees, before the first time, and on Apple when one did. Lock-free. */
uint64_t shared_names_generation(void);

#endif
