/* Stacks of which the source says every line: a comment names the function that a call is in, as
 * debug information has it. Linked with tail_calls.c; at -O2 -g by several compilers. The main
 * thread stands behind inlined functions, the others each behind a case of tail_run. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, noipa))
#endif

void tail_run(int which, int choice, void (*callback)(void));

static volatile int sink;
static int started[2];

NOINLINE static void stay(void)
{
    char byte = 1;
    if (write(started[1], &byte, 1) != 1)
        sink++;
    for (;;)
        pause(); /* in stay */
}

__attribute__((always_inline)) static inline void innermost(int n)
{
    sink += n;
    stay(); /* in innermost */
    sink -= n;
}

__attribute__((always_inline)) static inline void middle(int n)
{
    innermost(n + sink); /* in middle */
    sink += 3;
}

NOINLINE static void outer(int n)
{
    sink *= n;
    middle(n); /* in outer */
    sink++;
}

static const int cases[][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 3}, {6, 0}};
enum { CASES = sizeof cases / sizeof cases[0] };

static void *run_case(void *which)
{
    const int *one = which;
    tail_run(one[0], one[1], stay); /* in run_case */
    sink++;
    return NULL;
}

/* One after the other: tail_run keeps what it was asked in variables. */
int main(void)
{
    pthread_t threads[CASES];
    if (pipe(started) != 0)
        return 1;
    for (int i = 0; i < CASES; i++) {
        char byte, name[16];
        if (pthread_create(&threads[i], NULL, run_case, (void *)&cases[i]) != 0)
            return 1;
        snprintf(name, sizeof name, "case-%d-%d", cases[i][0], cases[i][1]);
        pthread_setname_np(threads[i], name);
        if (read(started[0], &byte, 1) != 1)
            return 1;
    }
    puts("ready");
    fflush(stdout);
    outer(2); /* in main */
    return sink;
}
