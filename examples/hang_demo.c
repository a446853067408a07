/*
 * A program that hangs, to be looked at with `framewalk dump`: the main thread wants a lock; the
 * thread that holds it waits for a line from a pipe into which nobody writes. Around them stands
 * what every server has: a pool of idle workers, a thread that computes and a timer that sleeps.
 *
 * Prints "ready" once all threads are where they stay, and runs until it is killed, at most five
 * minutes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { POOL_SIZE = 8, LIFETIME_S = 300 };

/* Frames worth looking at: no inlining, no tail call. */
#define FRAME __attribute__((noinline))
#define KEEP  __asm__ volatile("" ::: "memory")

static pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int settings_pipe[2];
static atomic_int threads_in_place;
static _Atomic uint64_t checksum;

static void start(const char *name, void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        perror("pthread_create");
        exit(1);
    }
    pthread_setname_np(thread, name);
    pthread_detach(thread);
}

FRAME static ssize_t read_settings_line(void)
{
    char line[64];
    atomic_fetch_add(&threads_in_place, 1);
    const ssize_t length = read(settings_pipe[0], line, sizeof line);
    KEEP;
    return length;
}

FRAME static void load_settings(void)
{
    pthread_mutex_lock(&settings_lock);
    if (read_settings_line() < 0)
        perror("read");
    pthread_mutex_unlock(&settings_lock);
    KEEP;
}

static void *reload_settings(void *argument)
{
    load_settings();
    return argument;
}

FRAME static void wait_for_job(void)
{
    pthread_mutex_lock(&queue_lock);
    atomic_fetch_add(&threads_in_place, 1);
    for (;;)
        pthread_cond_wait(&queue_filled, &queue_lock);
}

static void *pool_worker(void *argument)
{
    wait_for_job();
    return argument;
}

FRAME static uint64_t mix(uint64_t value)
{
    for (unsigned i = 0; i < 1000; i++)
        value = (value ^ value >> 29) * 0x9e3779b97f4a7c15u;
    return value;
}

FRAME static void compute_checksum(void)
{
    atomic_fetch_add(&threads_in_place, 1);
    for (;;)
        atomic_store(&checksum, mix(atomic_load(&checksum) + 1));
}

static void *checksum_worker(void *argument)
{
    compute_checksum();
    return argument;
}

FRAME static void sleep_until_next_tick(void)
{
    atomic_fetch_add(&threads_in_place, 1);
    for (;;)
        sleep(3600);
}

static void *timer_worker(void *argument)
{
    sleep_until_next_tick();
    return argument;
}

FRAME static void read_setting(void)
{
    pthread_mutex_lock(&settings_lock);
    pthread_mutex_unlock(&settings_lock);
    KEEP;
}

FRAME static void draw_window(void)
{
    read_setting();
    KEEP;
}

FRAME static void run_event_loop(void)
{
    draw_window();
    KEEP;
}

int main(void)
{
    alarm(LIFETIME_S);
    if (pipe(settings_pipe) != 0) {
        perror("pipe");
        return 1;
    }
    start("settings", reload_settings);
    for (unsigned i = 0; i < POOL_SIZE; i++)
        start("pool", pool_worker);
    start("checksum", checksum_worker);
    start("timer", timer_worker);

    const struct timespec moment = {.tv_nsec = 10000000};
    while (atomic_load(&threads_in_place) < POOL_SIZE + 3)
        nanosleep(&moment, NULL);
    nanosleep(&moment, NULL);
    puts("ready");
    fflush(stdout);
    run_event_loop();
    return 0;
}
