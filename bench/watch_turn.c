/*
 * What the hang monitor costs.
 *
 *     turn LOOPS   ns of one fw_hang_idle and fw_hang_busy, with the monitor on and so many threads
 * at it idle         wake-ups a second of an idle program: as the monitor counts them, and as the
 *                  kernel counts its thread's switches
 *     cpu          processor time of the monitor's thread in percent of one processor, while 10
 * loops take 1,000 turns a second each
 */
#include "bench.h"

#include "framewalk/framewalk.h"
#include "framewalk/hang.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { LOOPS = 10, TURNS = 2000000, IDLE_S = 10, CPU_S = 20 };

static struct fw_hang_monitor *monitor;
static double turn_ns[LOOPS];
static volatile bool leave;

static struct fw_hang_watch *watch_me(void)
{
    struct fw_hang_watch *watch;
    if (fw_hang_watch_thread(monitor, fw_thread_self(), "loop", &watch) != FW_OK)
        exit(1);
    return watch;
}

static void *take_turns(void *result)
{
    struct fw_hang_watch *watch = watch_me();
    double batch[BENCH_BATCHES];
    for (unsigned b = 0; b < BENCH_BATCHES; b++) {
        const uint64_t start = bench_now();
        for (unsigned i = 0; i < TURNS / BENCH_BATCHES; i++) {
            fw_hang_busy(watch);
            BENCH_KEEP;
            fw_hang_idle(watch);
            BENCH_KEEP;
        }
        batch[b] = (double)(bench_now() - start) / (TURNS / BENCH_BATCHES);
    }
    *(double *)result = bench_quantile(batch, BENCH_BATCHES, 0.5);
    fw_hang_unwatch(watch);
    return NULL;
}

static void *thousand_a_second(void *none)
{
    struct fw_hang_watch *watch = watch_me();
    while (!leave) {
        fw_hang_poll(watch, NULL, 0, 1);
        const uint64_t end = bench_now() + 20000; /* a little work */
        while (bench_now() < end)
            ;
    }
    fw_hang_unwatch(watch);
    return none;
}

/* Of the monitor's thread: switches, or processor time in ns. */
static unsigned long long of_monitor(const char *file, const char *line)
{
    unsigned long long value = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[512], text[256];
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        const bool is_it =
            comm && fgets(text, sizeof text, comm) && !strncmp(text, "framewalk-hang", 14);
        if (comm)
            fclose(comm);
        snprintf(path, sizeof path, "/proc/self/task/%s/%s", task->d_name, file);
        FILE *of = is_it ? fopen(path, "r") : NULL;
        while (of && fgets(text, sizeof text, of))
            if (strncmp(text, line, strlen(line)) == 0)
                value += strtoull(text + strlen(line), NULL, 10);
        if (of)
            fclose(of);
    }
    if (tasks)
        closedir(tasks);
    return value;
}

static unsigned long long wakeups(void)
{
    struct fw_hang_totals totals = {.size = sizeof totals};
    fw_hang_totals(monitor, &totals);
    return totals.wakeups;
}

static void run_threads(unsigned count, void *(*body)(void *))
{
    pthread_t thread[LOOPS];
    for (unsigned i = 0; i < count; i++)
        pthread_create(&thread[i], NULL, body, &turn_ns[i]);
    if (body == thousand_a_second) {
        sleep(1);
        const unsigned long long before = of_monitor("schedstat", "");
        sleep(CPU_S);
        printf("%.4f\n", (double)(of_monitor("schedstat", "") - before) / (CPU_S * 1e9) * 100);
        leave = true;
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "turn";
    if (fw_hang_start(NULL, &monitor) != FW_OK)
        return 1;
    if (strcmp(what, "idle") == 0) {
        struct fw_hang_watch *watch = watch_me();
        fw_hang_poll(watch, NULL, 0, 100);
        fw_hang_idle(watch);
        sleep(1); /* it sleeps for ever now */
        const unsigned long long count = wakeups();
        const unsigned long long switches = of_monitor("status", "voluntary_ctxt_switches:");
        sleep(IDLE_S);
        printf("%.2f %.2f\n", (double)(wakeups() - count) / IDLE_S,
               (double)(of_monitor("status", "voluntary_ctxt_switches:") - switches) / IDLE_S);
    } else if (strcmp(what, "cpu") == 0) {
        run_threads(LOOPS, thousand_a_second);
    } else {
        const unsigned count = argc > 2 && atoi(argv[2]) > 1 ? LOOPS : 1;
        run_threads(count, take_turns);
        printf("%.2f\n", bench_quantile(turn_ns, count, 0.5));
    }
    fw_hang_stop(monitor);
    return 0;
}
