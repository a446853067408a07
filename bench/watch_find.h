/*
 * Hangs at random in a real loop, what the monitor tells of them, and how that compares with the
 * truth. watch_find_glib.c and watch_find_uv.c bring the loop.
 *
 *     PROGRAM HANGS            prints: share found | median error of the duration, ms | worst |
 *                              median error of the begin, ms | worst | false ones |
 *                              durations wrong by more than 10 ms and 5 %
 *     PROGRAM loaded HANGS     the same while LOAD processes compute beside it; starving counts
 *     PROGRAM ordinary SECONDS turns of up to 20 ms, with every processor busy: prints false ones
 */
#ifndef BENCH_WATCH_FIND_H
#define BENCH_WATCH_FIND_H

#include "bench.h"

#include "framewalk/framewalk.h"
#include "framewalk/hang.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIND_MOST = 2000,
    FIND_THRESHOLD_MS = 250,
    FIND_FROM_MS = 100,
    FIND_TO_MS = 2000,
    FIND_LOAD = 20,
    FIND_LOAD_S = 1800, /* no competitor lives longer, whatever becomes of us */
};

struct find_hang {
    double started_ms, duration_ms; /* wall clock */
    bool matched;
};

static struct find_hang find_truth[FIND_MOST], find_told[FIND_MOST];
static unsigned find_wanted, find_done;
static _Atomic unsigned find_told_count;
static double find_until; /* of ordinary turns */
static bool find_ordinary;
static struct fw_hang_monitor *find_monitor;
static pid_t find_burner[64];
static long find_burners;

/* Processes that compute: as many as there are processors, or FIND_LOAD. */
static void find_burn(long wanted)
{
    for (; find_burners < wanted && find_burners < 64; find_burners++) {
        find_burner[find_burners] = fork();
        if (find_burner[find_burners] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(FIND_LOAD_S);
            for (;;)
                BENCH_KEEP;
        }
    }
}

static double find_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void find_on_hang(void *context, const struct fw_hang_event *event)
{
    (void)context;
    if (event->ended && find_told_count < FIND_MOST)
        find_told[find_told_count++] =
            (struct find_hang){(double)event->started_ms, (double)event->duration_ns / 1e6, false};
}

static double find_random(double from, double to)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return from + (to - from) * (double)(state >> 33) / (double)(UINT64_C(1) << 31);
}

/* How long to wait before the next one. */
static inline unsigned find_pause_ms(void)
{
    return (unsigned)(find_ordinary ? find_random(0, 10) : find_random(5, 60));
}

/* One turn's work: spins, or sleeps, half of the time each. False when that was the last one. */
static inline bool find_turn(void)
{
    const uint64_t begin = bench_now();
    const double wall = find_wall_ms();
    const double ms = find_ordinary ? find_random(0, 20) : find_random(FIND_FROM_MS, FIND_TO_MS);
    const uint64_t end = begin + (uint64_t)(ms * 1e6);
    const bool sleeps = !find_ordinary && find_done % 2;
    while (bench_now() < end)
        if (sleeps)
            usleep(20000);
    if (find_ordinary)
        return find_wall_ms() < find_until;
    find_truth[find_done++] = (struct find_hang){wall, (double)(bench_now() - begin) / 1e6, false};
    return find_done < find_wanted;
}

static inline void find_start(int argc, char **argv)
{
    struct fw_hang_options options = {
        .size = sizeof options, .threshold_ms = FIND_THRESHOLD_MS, .on_hang = find_on_hang};
    const bool loaded = argc > 2 && strcmp(argv[1], "loaded") == 0;
    find_ordinary = argc > 2 && strcmp(argv[1], "ordinary") == 0;
    options.keep_starved = loaded; /* the truth is what the clock says */
    find_wanted = argc > 1 && !find_ordinary ? (unsigned)atoi(argv[loaded ? 2 : 1]) : 200;
    if (find_wanted > FIND_MOST)
        find_wanted = FIND_MOST;
    if (find_ordinary) {
        find_until = find_wall_ms() + 1e3 * atoi(argv[2]);
        find_burn(sysconf(_SC_NPROCESSORS_ONLN));
    }
    if (loaded)
        find_burn(FIND_LOAD);
    if (fw_hang_start(&options, &find_monitor) != FW_OK)
        exit(1);
}

static int find_finish(void)
{
    static double duration[FIND_MOST], begin[FIND_MOST];
    unsigned over = 0, found = 0, wrong = 0, off = 0;
    fw_hang_stop(find_monitor);
    for (long i = 0; i < find_burners; i++) {
        kill(find_burner[i], SIGKILL);
        waitpid(find_burner[i], NULL, 0);
    }
    for (unsigned i = 0; i < find_told_count; i++) {
        struct find_hang *told = &find_told[i], *best = NULL;
        for (unsigned j = 0; j < find_done; j++)
            if (!find_truth[j].matched && fabs(find_truth[j].started_ms - told->started_ms) < 50)
                best = &find_truth[j];
        wrong += !best || best->duration_ms < FIND_THRESHOLD_MS - 10;
        if (!best)
            continue;
        best->matched = true;
        duration[found] = fabs(told->duration_ms - best->duration_ms);
        off += duration[found] > 10 && duration[found] > best->duration_ms / 20;
        begin[found++] = fabs(told->started_ms - best->started_ms);
    }
    if (find_ordinary) {
        printf("%u\n", wrong);
        return 0;
    }
    unsigned matched = 0;
    for (unsigned j = 0; j < find_done; j++) {
        over += find_truth[j].duration_ms >= FIND_THRESHOLD_MS;
        matched += find_truth[j].duration_ms >= FIND_THRESHOLD_MS && find_truth[j].matched;
    }
    printf("%.4f %.2f %.2f %.2f %.2f %u %u\n", over ? (double)matched / over : 0,
           bench_quantile(duration, found, 0.5), bench_quantile(duration, found, 1),
           bench_quantile(begin, found, 0.5), bench_quantile(begin, found, 1), wrong, off);
    return found == 0;
}

#endif
