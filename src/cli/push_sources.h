/*
 * Source files to a collector: of each debug file that is found, those that its lines are of and
 * that are on this machine, as one source bundle (push_bundle.h).
 *
 * A debug file may be somebody else's and name any file of this machine, so only files whose names
 * end as sources do are taken, at most SOURCES_BYTES.
 */
#ifndef CLI_PUSH_SOURCES_H
#define CLI_PUSH_SOURCES_H

#include "cli/push_debug.h"

/* Adds the bundles to debug->found, and says of each what was found and what is missing. */
void push_sources_add(struct push_debug *debug);

#endif
