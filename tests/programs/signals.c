/* Signal handlers: with and without siginfo, on the alternate stack, nested, left by siglongjmp,
 * after a fault, in system calls that are interrupted, and from a timer at any instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;
static volatile int ticks;
static sigjmp_buf back;

NOINLINE static long work(int n)
{
    long total = 0;
    for (int i = 0; i < n; i++)
        total += i % 3 ? total / 3 : i;
    return total;
}

NOINLINE static long nested_work(int n)
{
    return n == 0 ? work(5) : nested_work(n - 1) + n;
}

static void plain(int number)
{
    sink += nested_work(number % 4);
}

static void detailed(int number, siginfo_t *info, void *context)
{
    (void)context;
    sink += nested_work(2) + info->si_pid;
    ticks++;
    if (number == SIGUSR1)
        raise(SIGUSR2); /* nested */
}

static void leaves(int number)
{
    (void)number;
    sink += nested_work(1);
    siglongjmp(back, 1);
}

static void on(int number, void (*handler)(int), void (*action)(int, siginfo_t *, void *),
               int flags)
{
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_flags = flags;
    if (action) {
        sa.sa_sigaction = action;
        sa.sa_flags |= SA_SIGINFO;
    } else {
        sa.sa_handler = handler;
    }
    sigaction(number, &sa, NULL);
}

NOINLINE static void faults(void)
{
    static void *page;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            *(volatile char *)page = 1;
}

/* A call through a bad pointer: the handler interrupts code that is nowhere. */
NOINLINE static void nowhere(void)
{
    void (*volatile function)(void) = NULL;
    if (sigsetjmp(back, 1) == 0)
        function();
    sink++;
}

NOINLINE static void interrupted(int restart)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    on(SIGALRM, plain, NULL, restart ? SA_RESTART : 0);
    struct itimerval often = {{1, 0}, {0, 100000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    if (restart) {
        usleep(150000);
        if (write(ends[1], "x", 1) != 1)
            return;
    }
    sink += read(ends[0], &byte, 1) < 0 ? errno : 1;
    setitimer(ITIMER_REAL, &never, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* The timer is armed again by hand: one that ticks by itself leaves a single-stepped program no
 * time. */
NOINLINE static void ticking(void)
{
    on(SIGALRM, NULL, detailed, SA_RESTART | SA_ONSTACK);
    char text[64];
    ticks = 0;
    for (int i = 0, last = -1; i < 50 && ticks < 6; i++) {
        int now = ticks;
        struct itimerval soon = {{0, 0}, {0, 700 + 331 * now}};
        if (last != now)
            setitimer(ITIMER_REAL, &soon, NULL);
        last = now;
        snprintf(text, sizeof text, "%d %f %s", i, i * 1.5, "text");
        sink += text[0] + nested_work(6);
    }
}

int main(void)
{
    static char other[65536];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    sigaltstack(&stack, NULL);

    on(SIGUSR1, NULL, detailed, 0);
    on(SIGUSR2, plain, NULL, 0);
    raise(SIGUSR1);
    on(SIGUSR1, NULL, detailed, SA_ONSTACK);
    raise(SIGUSR1);
    on(SIGUSR2, plain, NULL, SA_ONSTACK);
    raise(SIGUSR1);

    on(SIGSEGV, leaves, NULL, 0);
    faults();
    nowhere();
    on(SIGSEGV, leaves, NULL, SA_ONSTACK);
    faults();
    nowhere();
    if (sigsetjmp(back, 1) == 0)
        on(SIGUSR1, leaves, NULL, SA_NODEFER), raise(SIGUSR1);

    interrupted(0);
    interrupted(1);
    ticking();
    printf("%d\n", sink != 0);
    return 0;
}
