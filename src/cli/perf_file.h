/*
 * The perf map of a process that runs: /tmp/perf-PID.map as the process sees it, in its own root
 * and with its number in its own namespace.
 *
 * Anybody may put a file into /tmp, and one of an earlier process may still lie there. A map is
 * taken only when its owner is the process's user or root, and when it was written to since the
 * process began.
 */
#ifndef CLI_PERF_FILE_H
#define CLI_PERF_FILE_H

#include <stdint.h>

/* The descriptor, or -1 when there is none; close(2) it. *size is how long the map is now: lines
 * behind it tell of code that was made later. */
int perf_file_open(int32_t pid, uint64_t *size);

#endif
