/*
 * What a test may ask of the Mach-O host that runs it: counts of what was taken and not given back,
 * errors to inject, and how long threads were stopped. A program that includes this runs in the
 * host only. CALL is a function's name without underscore, as listed in exports.def.
 */
#ifndef MACHHOST_HOST_H
#define MACHHOST_HOST_H

#include <stdint.h>

/* The call of CALL that comes after AFTER others from now returns RESULT and does nothing. */
void machhost_fail(const char *call, unsigned after, int result);
/* Every call of CALL returns RESULT; 0 ends that. */
void machhost_fail_all(const char *call, int result);
/* Once, before the call of CALL that comes after AFTER others from now, FUNCTION runs on the
 * thread that calls; it may do what is forbidden while threads are stopped. */
void machhost_before(const char *call, unsigned after, void (*function)(void *), void *argument);

/* Send rights to threads that were taken and not given back. */
unsigned machhost_rights(void);
/* Arrays of task_threads that were not deallocated. */
unsigned machhost_arrays(void);
/* Threads whose suspend count is not zero. */
unsigned machhost_suspended(void);
/* How often CALL was called so far. */
uint64_t machhost_calls(const char *call);
/* Says on stderr what was not given back, and how many kinds there are: what happens at exit. */
unsigned machhost_check(void);

/* From the moment a thread is parked until it is resumed, over all threads. */
struct machhost_times {
    uint64_t windows; /* how often a thread was stopped */
    uint64_t total;   /* nanoseconds of all */
    uint64_t longest;
};
void machhost_stopped(struct machhost_times *times);
void machhost_stopped_reset(void);

/* A dispatch queue with this label, never freed; and which queue the calling thread serves, NULL
 * for none. Neither is looked at before somebody asks for the label of the queue. */
void *machhost_queue(const char *label);
void machhost_set_queue(void *queue);

#endif
