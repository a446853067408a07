/* dump.256: the process to be dumped, 256 threads asleep under 30 frames each. Prints "ready", then
 * sleeps. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bench.h"

enum { THREADS = 256, LIFETIME_S = 600 };

static atomic_int ready;

static void sleep_in_kernel(void)
{
    atomic_fetch_add(&ready, 1);
    for (;;)
        pause();
}

static void *sleeper(void *argument)
{
    bench_at_depth(sleep_in_kernel);
    return argument;
}

int main(void)
{
    alarm(LIFETIME_S);
    for (unsigned i = 1; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
            return 1;
    }
    while (atomic_load(&ready) < THREADS - 1)
        usleep(1000);
    usleep(100000);
    puts("ready");
    fflush(stdout);
    bench_at_depth(sleep_in_kernel);
}
