/* What the parts of the program frames.c share. */
#ifndef TESTS_PROGRAMS_FRAMES_H
#define TESTS_PROGRAMS_FRAMES_H

#define NOINLINE __attribute__((noinline))

/* frames_asm.S: without unwind information. */
long frames_enter(long (*function)(long), long n); /* calls function(n) */
/* Returns n from the frames_enter that runs. */
void frames_leave(long n) __attribute__((noreturn));
long frames_bare(long n);        /* recursive, without a frame pointer */
long frames_bare_framed(long n); /* with one */
long frames_bare_saving(long n, long (*function)(long, long)); /* saves callee-saved registers */
long frames_system(void);                                      /* a system call that fails */

/* frames_dispatch.S: without unwind information. */
unsigned long frames_dispatch(unsigned long n,
                              unsigned long (*function)(unsigned long, unsigned long));
unsigned long frames_put_aside(unsigned long n,
                               unsigned long (*function)(unsigned long, unsigned long));

/* frames_library.c: in another image. */
long frames_leaf(long a, long b);
long frames_tail(long n);
long frames_apply(long (*function)(long, long), long n);
void frames_sort(long *values, long count, int (*compare)(const void *, const void *));

#endif
