/*
 * capture.threads.64: 64 other threads at once, each asleep under 30 frames. Sides:
 *   ours    fw_threads_capture without names and states
 *   signal  the least that any such capture costs: a directed signal to each thread, an empty
 *           handler that counts itself done, a wait until all have
 *   held50, held99  how long our capture held one thread, median and 99th percentile
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "framewalk/threads.h"

enum { THREADS = 64, ROUNDS = 300, MAX_FRAMES = 128 };

static atomic_int ready;
static pid_t ids[THREADS];
static int gate[2];

static void sleep_in_kernel(void)
{
    char byte;
    ids[atomic_fetch_add(&ready, 1)] = (pid_t)syscall(SYS_gettid);
    while (read(gate[0], &byte, 1) < 0)
        ;
}

static void *sleeper(void *argument)
{
    bench_at_depth(sleep_in_kernel);
    return argument;
}

static void start_threads(void)
{
    if (pipe(gate) != 0)
        exit(1);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
            exit(1);
    }
    while (atomic_load(&ready) < THREADS)
        usleep(1000);
    usleep(20000);
}

static double capture_ours(double *held)
{
    static struct fw_thread threads[THREADS + 1];
    static struct fw_frame frames[(THREADS + 1) * MAX_FRAMES];
    const struct fw_threads_options options = {
        .size = sizeof options, .skip_self = true, .skip_names = true};
    size_t count;
    const uint64_t start = bench_now();
    const fw_error error = fw_threads_capture(threads, THREADS + 1, &count, frames,
                                              (THREADS + 1) * MAX_FRAMES, &options);
    const uint64_t end = bench_now();
    bench_require(error, FW_OK, "fw_threads_capture");
    bench_require((long long)count, THREADS, "threads");
    for (unsigned i = 0; i < THREADS; i++) {
        bench_require(threads[i].stack.end, FW_END_ROOT, "end of a stack");
        held[i] = (double)threads[i].held_ns;
    }
    return (double)(end - start);
}

static atomic_int answered;

static void empty_handler(int signal)
{
    (void)signal;
    if (atomic_fetch_add(&answered, 1) + 1 == THREADS)
        syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static double signal_round(void)
{
    const pid_t process = getpid();
    atomic_store(&answered, 0);
    const uint64_t start = bench_now();
    for (unsigned i = 0; i < THREADS; i++)
        syscall(SYS_tgkill, process, ids[i], SIGRTMIN + 5);
    int seen;
    while ((seen = atomic_load(&answered)) < THREADS)
        syscall(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    return (double)(bench_now() - start);
}

int main(int argc, char **argv)
{
    static double rounds[ROUNDS], held[ROUNDS * THREADS];
    const char *side = argc > 1 ? argv[1] : "ours";
    start_threads();
    if (strcmp(side, "signal") == 0) {
        sigaction(SIGRTMIN + 5,
                  &(struct sigaction){.sa_handler = empty_handler, .sa_flags = SA_RESTART}, NULL);
        signal_round();
        for (unsigned i = 0; i < ROUNDS; i++)
            rounds[i] = signal_round();
    } else {
        capture_ours(held);
        for (unsigned i = 0; i < ROUNDS; i++)
            rounds[i] = capture_ours(held + i * THREADS);
    }
    if (strcmp(side, "held50") == 0)
        printf("%.3f\n", bench_quantile(held, ROUNDS * THREADS, 0.5) / 1e3);
    else if (strcmp(side, "held99") == 0)
        printf("%.3f\n", bench_quantile(held, ROUNDS * THREADS, 0.99) / 1e3);
    else
        printf("%.2f\n", bench_quantile(rounds, ROUNDS, 0.5) / 1e3);
    _exit(fflush(stdout));
}
