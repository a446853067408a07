/*
 * How long a thread of this process stands still while its stack is taken, 50 frames deep, by the
 * accounts of the Mach-O host: from the moment it is parked until it is resumed, over all windows
 * of a capture, for each thread. Usage: bench_apple_stop LIBRARY:COUNT THREADS WAY
 *
 *     ours      fw_threads_capture, one thread after the other
 *     at-once   the same, all threads stopped together
 *     scan      the peer, one thread after the other: reads and names before it is resumed
 *     noscan    the same without names
 *     bare      the same without looking at it: what the model of Mach costs by itself
 *     scan-at-once, noscan-at-once: all threads suspended, then read, then resumed
 */
#include "apple_peer.h"
#include "apple_stack.h"

#include "framewalk/framewalk.h"
#include "machhost/host.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, FRAMES = 64, ROUNDS = 41, SETTLE_US = 2000 };

static struct apple_library library;
static semaphore_t ready, leave;

static void asleep(struct apple_step *unused)
{
    (void)unused;
    semaphore_signal(ready);
    semaphore_wait(leave);
    BENCH_KEEP;
}

static void *body(void *seed)
{
    apple_descend(&library, (uintptr_t)seed, asleep, NULL);
    return NULL;
}

static unsigned thread_count;
static thread_act_t ports[MOST];

static void ours(bool at_once)
{
    static struct fw_thread threads[MOST];
    static struct fw_frame frames[MOST * FRAMES];
    const struct fw_threads_options options = {.size = sizeof options,
                                               .frames = FRAMES,
                                               .skip_self = true,
                                               .skip_names = true,
                                               .at_once = at_once};
    size_t count = 0;
    if (fw_threads_capture(threads, MOST, &count, frames, MOST * FRAMES, &options) != FW_OK)
        count = 0;
    bench_require((long long)count, thread_count, "threads");
    for (size_t i = 0; i < count; i++) {
        bench_require(threads[i].stack.end, FW_END_ROOT, "end of the walk");
        bench_require(threads[i].stack.count >= APPLE_DEPTH, 1, "50 frames");
    }
}

static struct peer_stack stacks[MOST];

static void suspend(unsigned i)
{
    bench_require(thread_suspend(ports[i]), KERN_SUCCESS, "thread_suspend");
}

static void take(unsigned i, bool scan)
{
    bench_require(peer_walk(ports[i], &stacks[i]), true, "thread_get_state");
    if (scan)
        peer_names(&stacks[i]);
}

static void resume(unsigned i)
{
    bench_require(thread_resume(ports[i]), KERN_SUCCESS, "thread_resume");
}

static void bare(void)
{
    for (unsigned i = 0; i < thread_count; i++) {
        suspend(i);
        resume(i);
    }
}

static void check(unsigned i, bool scan)
{
    unsigned named = 0;
    bench_require((long long)stacks[i].count, PEER_FRAMES, "frames");
    for (size_t k = 0; scan && k < stacks[i].count; k++)
        named += stacks[i].names[k] && strncmp(stacks[i].names[k], "_function_", 10) == 0;
    bench_require(!scan || named >= PEER_FRAMES - 2, true, "names");
}

static void peer(bool scan, bool at_once)
{
    for (unsigned i = 0; at_once && i < thread_count; i++)
        suspend(i);
    for (unsigned i = 0; i < thread_count; i++) {
        if (!at_once)
            suspend(i);
        take(i, scan);
        if (!at_once)
            resume(i);
    }
    for (unsigned i = 0; at_once && i < thread_count; i++)
        resume(i);
    for (unsigned i = 0; i < thread_count; i++)
        check(i, scan);
}

static void capture(const char *way)
{
    const bool at_once = strstr(way, "at-once") != NULL;
    if (strcmp(way, "ours") == 0 || strcmp(way, "at-once") == 0)
        ours(at_once);
    else if (strcmp(way, "bare") == 0)
        bare();
    else
        peer(strncmp(way, "scan", 4) == 0, at_once);
}

static void start(pthread_t *threads)
{
    semaphore_create(mach_task_self(), &ready, SYNC_POLICY_FIFO, 0);
    semaphore_create(mach_task_self(), &leave, SYNC_POLICY_FIFO, 0);
    for (unsigned i = 0; i < thread_count; i++) {
        bench_require(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)(i + 1)), 0,
                      "pthread_create");
        ports[i] = pthread_mach_thread_np(threads[i]);
    }
    for (unsigned i = 0; i < thread_count; i++)
        semaphore_wait(ready);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    library = apple_load(argv[1]);
    thread_count = (unsigned)strtoul(argv[2], NULL, 10);
    if (thread_count < 1 || thread_count > MOST)
        return 2;
    pthread_t threads[MOST];
    start(threads);
    peer_note_images();
    capture(argv[3]);
    double stopped[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct machhost_times times;
        usleep(SETTLE_US);
        machhost_stopped_reset();
        capture(argv[3]);
        machhost_stopped(&times);
        stopped[round] = (double)times.total / 1000 / thread_count;
    }
    printf("%.3f\n", bench_quantile(stopped, ROUNDS, 0.5));
    for (unsigned i = 0; i < thread_count; i++)
        semaphore_signal(leave);
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
