/*
 * Threads at known places, for tests that look at a process from outside:
 *
 *     main     main -> run_server -> wait_for_end, in a read from a pipe that stays empty
 *     worker   4 of them: worker_main -> hang::Worker::next_job(int), waiting for a condition
 *     spinner  spinner_main -> compute -> mix, always running
 *     handler  handler_main -> interrupt_self -> on_signal -> stay, in a signal handler
 *
 * Prints "ready" when all are in place. With an argument it then aborts instead of staying.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAME __attribute__((noinline))
/* After the last call: keeps the compiler from leaving by a jump. */
#define KEEP __asm__ volatile("" ::: "memory")

enum { WORKERS = 4, OTHERS = WORKERS + 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job = PTHREAD_COND_INITIALIZER;
static atomic_int in_place;
static int empty_pipe[2];
static volatile uint64_t sink;

/* A name as a C++ compiler would make it. */
void next_job(int number) __asm__("_ZN4hang6Worker8next_jobEi");
FRAME void next_job(int number)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&in_place, 1);
    for (;;)
        pthread_cond_wait(&job, &lock);
    sink += (uint64_t)number;
}

static void *worker_main(void *argument)
{
    next_job(1);
    KEEP;
    return argument;
}

FRAME static void mix(void)
{
    atomic_fetch_add(&in_place, 1);
    for (;;)
        sink = sink * 6364136223846793005u + 1442695040888963407u;
}

FRAME static void compute(void)
{
    mix();
    KEEP;
}

static void *spinner_main(void *argument)
{
    compute();
    KEEP;
    return argument;
}

FRAME static void stay(void)
{
    char byte;
    atomic_fetch_add(&in_place, 1);
    while (read(empty_pipe[0], &byte, 1) != 1)
        KEEP;
}

static void on_signal(int number)
{
    (void)number;
    stay();
    KEEP;
}

FRAME static void interrupt_self(void)
{
    raise(SIGUSR1);
    KEEP;
}

static void *handler_main(void *argument)
{
    signal(SIGUSR1, on_signal);
    interrupt_self();
    KEEP;
    return argument;
}

static void start(const char *name, void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        abort();
    pthread_setname_np(thread, name);
}

FRAME static void wait_for_end(void)
{
    char byte;
    while (read(empty_pipe[0], &byte, 1) != 1)
        KEEP;
}

FRAME static void run_server(int end)
{
    while (atomic_load(&in_place) < OTHERS)
        usleep(1000);
    puts("ready");
    fflush(stdout);
    if (end)
        abort();
    wait_for_end();
    KEEP;
}

int main(int argc, char **argv)
{
    (void)argv;
    alarm(120); /* should the test forget it */
    if (pipe(empty_pipe) != 0)
        return 1;
    for (int i = 0; i < WORKERS; i++)
        start("worker", worker_main);
    start("spinner", spinner_main);
    start("handler", handler_main);
    run_server(argc > 1);
    KEEP;
    return 0;
}
