/*
 * Allocation failure on demand: the program is linked so that what the library allocates comes from
 * here (ALLOC_FAIL_OPTIONS in tests/CMakeLists.txt), and the n-th request is refused.
 */
#ifndef TESTS_SUPPORT_ALLOC_FAIL_H
#define TESTS_SUPPORT_ALLOC_FAIL_H

#include <stdbool.h>
#include <stddef.h>

/* One try of what is tested, cleaned up behind itself: true when it succeeded with a whole and
 * right answer, false when it returned an error that is to be expected of a lack of memory.
 * Anything else is a failed assertion of its own. */
typedef bool (*alloc_attempt)(void *context);

/* Runs the attempt with the 1st, 2nd, 3rd... allocation failing, alone and together with all later
 * ones, until it needs no more of them; returns how many it needs. Prints and aborts when memory is
 * not given back, or when the attempt fails though nothing was refused. */
unsigned alloc_fail_each(alloc_attempt attempt, void *context);

/* Between these nothing fails: for what an attempt does on the side. */
void alloc_fail_pause(void);
void alloc_fail_resume(void);

#endif
