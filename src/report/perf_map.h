/*
 * Lines of /tmp/perf-PID.map, in which just-in-time compilers tell perf(1) what they made:
 * START SIZE NAME, both numbers hexadecimal (Documentation/perf/jit-interface.txt of Linux' tools).
 *
 * A map is anybody's text. Both functions cut the text that they are given, which must be
 * terminated; what they hand out points into it.
 */
#ifndef REPORT_PERF_MAP_H
#define REPORT_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct perf_line {
    uint64_t start, size; /* size is not 0, and start + size does not overflow */
    char *name;           /* without the end of the line */
};
/* False for what is no such line. */
bool perf_map_line(char *text, struct perf_line *line);

/* A name as a compiler writes it, in its parts. */
struct perf_name {
    const char *function;
    const char *file; /* NULL: unknown */
    uint32_t line;    /* where the function begins; 0: unknown */
};
/* Knows V8 (Node, Chrome) and CPython; of others the function is all of `text`. */
void perf_map_name(char *text, struct perf_name *name);

#endif
