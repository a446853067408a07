/*
 * Reports as programs would send them, made up from a seed: written by our own writer, of an
 * invented program with a few hundred places where it hangs, in several versions and on several
 * devices. The same seed and number give the same bytes. For tests and the load generator.
 */
#ifndef TESTS_COLLECTOR_REPORTS_H
#define TESTS_COLLECTOR_REPORTS_H

#include <stddef.h>
#include <stdint.h>

struct reports_shape {        /* 0: as said */
    unsigned threads;         /* 20 */
    unsigned frames;          /* of each stack; 30, at most 200 */
    unsigned samples;         /* 110 */
    unsigned sites;           /* places that hang, a few of them most of the time; 300 */
    unsigned installs;        /* 5,000 */
    unsigned new_per_mille;   /* reports with stacks that nobody has seen before; 50 */
    unsigned calls_per_mille; /* reports of calls in place of a hang; 0 */
    uint64_t now_ms;          /* the newest start; a fixed day in 2026 */
};

struct reports_maker;
struct reports_maker *reports_maker_new(uint64_t seed, const struct reports_shape *shape);
void reports_maker_free(struct reports_maker *maker);

/* Report `number`: its bytes, valid until the next call. */
const uint8_t *reports_make(struct reports_maker *maker, uint64_t number, uint8_t id[16],
                            size_t *size);

#endif
