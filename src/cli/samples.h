/*
 * Sampling: many captures of one process, merged. Of each thread every different stack is kept
 * once, with a count.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include "cli/dump.h"

struct samples;

struct samples *samples_create(void); /* NULL when out of memory */
void samples_destroy(struct samples *samples);

/* Adds one capture; everything is copied. False when out of memory. */
bool samples_add(struct samples *samples, const struct fw_process_thread *threads, size_t count);

/* Puts what was gathered into dump->threads, in the order in which threads were first seen; it
 * belongs to `samples`, to which nothing may be added any more. False when out of memory. */
bool samples_finish(struct samples *samples, struct dump *dump);

#endif
