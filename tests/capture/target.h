/*
 * Programs to be captured by the tests: start one of tests/programs, talk to it, end it; and what
 * its stacks should be.
 */
#ifndef TESTS_CAPTURE_TARGET_H
#define TESTS_CAPTURE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "framewalk/process.h"

struct target {
    pid_t pid;
    int in, out; /* its standard input and output, our ends */
};

/* Starts `program` with the arguments (after its name, up to NULL) and waits for its "ready". */
bool target_start(struct target *target, const char *program, const char *const *arguments);
/* Ends and reaps it. */
void target_end(struct target *target);
/* Asks programs/threads.c for its counts; false when it does not answer. */
bool target_counts(const struct target *target, int *signals, int *early);

/* The state letter of a thread as the kernel tells, '-' when it is gone. */
char target_state(pid_t tid);
/* How many threads of the process have a tracer, -1 when it is gone. */
int target_traced(pid_t pid);
bool target_wait_state(pid_t pid, char state);
/* The same for all threads of the process. */
bool target_wait_all(pid_t pid, char state);

/* The thread of this name in a capture, or NULL. */
const struct fw_process_thread *find_thread(const struct fw_process_thread *threads, size_t count,
                                            const char *name);
/* Are these functions (up to NULL; "x*3" stands for three times x) next to each other in the stack,
 * and did the walk reach the root? Prints the stack when not. */
bool stack_has(struct fw_process *process, const struct fw_process_thread *thread,
               const char *const *functions);
void stack_print(struct fw_process *process, const struct fw_process_thread *thread);

/* Runs `test` in a child process and returns what it returned, -1 when it did not return. */
int run_apart(int (*test)(void *), void *context);

#endif
