/*
 * The watched process's first thread, and sleeping until it has ended.
 *
 * It holds a robust mutex for as long as it lives: the kernel marks the mutex's word and wakes who
 * sleeps on it, however the thread ends (set_robust_list(2), FUTEX_OWNER_DIED), and nothing happens
 * before. The agent's thread sleeps on that word whatever it waits for.
 */
#ifndef AGENT_LEADER_H
#define AGENT_LEADER_H

#include <stdbool.h>
#include <stdint.h>

/* In the first thread, before agent threads exist; in the child of fork() anew. */
void leader_hold(void);
bool leader_has_ended(void);
/* What leader_wait() is given: taken before looking whether there is something to do. */
uint32_t leader_look(void);
/* Sleeps until the first thread ends, or leader_wake() is called after `seen` was taken; at most
 * `ms` (negative: without end). May return early. False: the time is over. */
bool leader_wait(uint32_t seen, long ms);
/* Wakes leader_wait(). Async-signal-safe. Two calls between look and sleep undo each other: who
 * waits for an answer calls again. */
void leader_wake(void);

#endif
