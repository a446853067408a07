/*
 * Stacks sampled from one turn, in fixed memory: runs of the same stack in a row, each with the
 * number of samples and the time that they stand for.
 *
 * Weights. Between two samples the stack changed somewhere: half of the gap belongs to either side.
 * So a stack seen rarely and by accident weighs what its interval weighs and no more, and the sum
 * of all weights is exactly the time from the first sample to the last one, or to the end.
 *
 * Room. When there are too many runs or different stacks, neighbours are merged: the pair's stack
 * is that of one of them, drawn with a chance in proportion to its weight, so no stack is favoured
 * by being early, late or long; sums stay exact.
 */
#ifndef WATCH_HANG_SAMPLES_H
#define WATCH_HANG_SAMPLES_H

#include "framewalk/stack.h"

#include <stdbool.h>

enum { HANG_STACKS = 32, HANG_RUNS = 128 };

struct hang_run {
    uint32_t stack;  /* index into `stacks` */
    uint32_t count;  /* samples */
    uint64_t at;     /* of the first of them, since the turn began; ns */
    uint64_t weight; /* ns */
};

struct hang_samples {
    struct fw_frame *frames; /* HANG_STACKS times `depth` */
    uint32_t depth;
    uint32_t run_count;
    uint32_t stack_count;
    uint64_t last;   /* time of the last sample, or of hang_samples_close; ns */
    uint64_t first;  /* time of the first sample */
    uint64_t taken;  /* samples in all */
    uint64_t chance; /* state of the random numbers */
    struct hang_run runs[HANG_RUNS];
    struct fw_stack stacks[HANG_STACKS]; /* frames point into `frames`; id 0: none could be taken */
};

/* `frames` has room for HANG_STACKS stacks of `depth` frames, and stays the caller's. */
void hang_samples_init(struct hang_samples *samples, struct fw_frame *frames, uint32_t depth);
/* Forgets everything. */
void hang_samples_reset(struct hang_samples *samples);
/* A stack taken `at` ns after the turn's begin. */
void hang_samples_add(struct hang_samples *samples, const struct fw_stack *stack, uint64_t at);
/* The time until `at` belongs to the last stack: at the end, or before writing. */
void hang_samples_close(struct hang_samples *samples, uint64_t at);
/* Forgets what has been written. The last run stays open, with nothing in it. */
void hang_samples_drained(struct hang_samples *samples);
/* The stack of the last sample, or NULL. */
const struct fw_stack *hang_samples_last(const struct hang_samples *samples);
/* The stack that weighs most, or NULL. */
const struct fw_stack *hang_samples_heaviest(const struct hang_samples *samples);
/* A random number below `below`, which is not 0. */
uint64_t hang_samples_draw(struct hang_samples *samples, uint64_t below);

#endif
