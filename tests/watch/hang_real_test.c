/*
 * The hang monitor on the real clock: hangs that are found whatever lock the thread holds, and one
 * real case of each thing that is no hang. Each in a child process. No test measures time; waits
 * have bounds that only a machine which stands still exceeds.
 */
#include "watch/hang_loops.h"
#include "watch/spool_support.h"

#include "capture/targets.h"
#include "support/sanitizers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHECK(true_thing)                                                                          \
    do {                                                                                           \
        if (!(true_thing)) {                                                                       \
            dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #true_thing);                            \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static int to_child[2], to_parent[2];

static void say(int fd)
{
    const ssize_t wrote = write(fd, "x", 1);
    (void)wrote;
}

static bool hear(int fd)
{
    char byte;
    ssize_t got;
    while ((got = read(fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

static pid_t start_child(void (*body)(void))
{
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(to_child[1]);
        close(to_parent[0]);
        alarm(LOOPS_PATIENCE_S);
        body();
        _exit(0);
    }
    close(to_child[0]);
    close(to_parent[1]);
    return pid;
}

static void expect_exit(pid_t pid, int wanted)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(to_child[1]);
    close(to_parent[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, wanted);
}

static void run(void (*body)(void))
{
    expect_exit(start_child(body), 0);
}

/* ---- what the children do ---- */

static struct fw_hang_monitor *monitor;
static struct fw_hang_watch *watch;
static struct fw_reports *reports;
static const char *folder;

static void begin(struct fw_hang_options options)
{
    options.size = sizeof options;
    options.on_hang = on_hang;
    options.reports = reports;
    CHECK(fw_hang_start(&options, &monitor) == FW_OK);
    CHECK(fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch) == FW_OK);
    fw_hang_busy(watch);
}

static struct fw_hang_totals totals(void)
{
    struct fw_hang_totals all = {.size = sizeof all};
    CHECK(fw_hang_totals(monitor, &all) == FW_OK);
    return all;
}

/* Until the veto was counted; nothing may be told. */
static void expect_veto(fw_hang_veto veto)
{
    while (totals().vetoed[veto] == 0) /* alarm() ends it */
        usleep(1000);
    CHECK(totals().hangs == 0);
    CHECK(times_told() == 0);
    fw_hang_stop(monitor);
}

static void a_hang(void)
{
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    CHECK(hang_until_told(false));
    fw_hang_idle(watch);
    fw_hang_stop(monitor); /* sees the end */
    CHECK(ended == told);
}

static void a_sleeping_one(void)
{
    begin((struct fw_hang_options){.threshold_ms = 50});
    const unsigned before = times_told();
    while (times_told() == before) { /* sampled where it sleeps: never woken early */
        struct timespec nap = {.tv_nsec = 200000000};
        CHECK(nanosleep(&nap, NULL) == 0);
    }
    fw_hang_stop(monitor);
}

/* As daemons do that lock themselves in. */
static void leave_proc(void)
{
    if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || chroot(folder) != 0)
        _exit(77);
    CHECK(access("/proc/self", F_OK) != 0);
}

static void a_hang_without_proc(void)
{
    leave_proc();
    a_hang();
}

static void a_sleeping_one_without_proc(void)
{
    leave_proc();
    a_sleeping_one();
}

static void stopped(void)
{
    begin((struct fw_hang_options){.threshold_ms = 2000, .sample_from_ms = 50});
    say(to_parent[1]);
    CHECK(hear(to_child[0])); /* meanwhile it was stopped for longer than the threshold */
    fw_hang_idle(watch);
    fw_hang_busy(watch);
    expect_veto(FW_HANG_VETO_STOPPED);
}

static void debugged(void)
{
    CHECK(hear(to_child[0]));
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    expect_veto(FW_HANG_VETO_DEBUGGED);
}

static void in_background(void)
{
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    fw_hang_set_background(monitor, true);
    fw_hang_busy(watch);
    expect_veto(FW_HANG_VETO_BACKGROUND);
}

/* The loop waits, and its mark says that it works. */
static void idle_stack(void)
{
    begin((struct fw_hang_options){.threshold_ms = 500, .sample_from_ms = 50});
    const uint64_t end = clock_ns() + UINT64_C(1500000000);
    while (clock_ns() < end)
        fw_hang_poll(NULL, NULL, 0, 1500);
    fw_hang_idle(watch);
    expect_veto(FW_HANG_VETO_IDLE_STACK);
}

/* An idle-priority thread beside somebody who never gives its processor away. */
static void starved(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    const int cpu = sched_getcpu();
    CPU_SET(cpu < 0 ? 0u : (unsigned)cpu, &one);
    begin((struct fw_hang_options){.threshold_ms = 200});
    fw_hang_idle(watch);
    const pid_t competitor = fork();
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        _exit(77);
    if (competitor == 0) {
        alarm(LOOPS_PATIENCE_S);
        for (;;)
            __asm__ volatile("");
    }
    const struct sched_param none = {0};
    const bool can = sched_setscheduler(0, SCHED_IDLE, &none) == 0;
    while (can && totals().vetoed[FW_HANG_VETO_STARVED] == 0 &&
           totals().vetoed[FW_HANG_VETO_STOPPED] == 0 &&
           totals().hangs == 0) { /* the monitor may come too late, too */
        const uint64_t end = clock_ns() + UINT64_C(1500000000);
        fw_hang_busy(watch);
        while (clock_ns() < end)
            ;
        fw_hang_idle(watch);
        usleep(100000);
    }
    kill(competitor, SIGKILL);
    waitpid(competitor, NULL, 0);
    if (!can)
        _exit(77);
    CHECK(totals().hangs == 0);
    fw_hang_stop(monitor);
}

static void after_fork(void)
{
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) { /* marks do nothing here; a monitor of its own does */
        for (unsigned i = 0; i < 1000; i++) {
            fw_hang_idle(watch);
            fw_hang_busy(watch);
        }
        struct fw_hang_watch *none;
        CHECK(fw_hang_watch_thread(monitor, fw_thread_self(), "", &none) == FW_ERR_NOT_FOUND);
        fw_hang_unwatch(watch);
        fw_hang_stop(monitor);
        a_hang();
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    while (totals().hangs == 0) /* the parent's own turn has lasted all the time */
        usleep(1000);
    fw_hang_stop(monitor);
}

/* Everybody else who allocates now waits for us. */
static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;
#if defined(__GLIBC__) && !UNDER_ASAN && !UNDER_TSAN
#define OWN_MALLOC 1
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void __libc_free(void *old);
void *malloc(size_t size)
{
    pthread_mutex_lock(&memory);
    void *got = __libc_malloc(size);
    pthread_mutex_unlock(&memory);
    return got;
}
void free(void *old)
{
    pthread_mutex_lock(&memory);
    __libc_free(old);
    pthread_mutex_unlock(&memory);
}
#pragma GCC visibility pop
#endif

static void open_reports(void)
{
    CHECK(fw_reports_open(&(struct fw_reports_options){.size = sizeof(struct fw_reports_options),
                                                       .folder = folder,
                                                       .own_names = true},
                          &reports, NULL) == FW_OK);
}

static void holding_malloc(void)
{
    open_reports();
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    pthread_mutex_lock(&memory);
    CHECK(hang_until_told(false));
    while (totals().reported == 0) /* the report was written meanwhile */
        usleep(1000);
    pthread_mutex_unlock(&memory);
    fw_hang_stop(monitor);
    fw_reports_close(reports);
}

static void holding_stdio(void)
{
    open_reports();
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    flockfile(stdout);
    flockfile(stderr);
    CHECK(hang_until_told(true));
    funlockfile(stderr);
    funlockfile(stdout);
    fw_hang_stop(monitor);
    fw_reports_close(reports);
}

__attribute__((visibility("default"))) void module_loads(void);
static bool told_in_loader;

void module_loads(void)
{
    told_in_loader = hang_until_told(false);
}

static void holding_the_loader(void)
{
    open_reports();
    begin((struct fw_hang_options){.threshold_ms = 50, .keep_starved = true});
    CHECK(dlopen(HANG_MODULE, RTLD_NOW) != NULL);
    CHECK(told_in_loader);
    fw_hang_stop(monitor);
    fw_reports_close(reports);
}

static void tell_parent(void *context, const struct fw_hang_event *event)
{
    (void)context;
    (void)event;
    say(to_parent[1]);
}

static void hanging_for_ever(void)
{
    open_reports();
    const struct fw_hang_options options = {.size = sizeof options,
                                            .threshold_ms = 50,
                                            .keep_starved = true,
                                            .reports = reports,
                                            .on_hang = tell_parent};
    CHECK(fw_hang_start(&options, &monitor) == FW_OK);
    CHECK(fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch) == FW_OK);
    fw_hang_busy(watch);
    for (;;)
        pause();
}

/* ---- tests ---- */

static void hangs_are_found(void **state)
{
    (void)state;
    run(a_hang);
    if (emulated()) { /* /proc has the emulator's registers; its locks do not survive the fork */
        print_message("skipped in the emulator: a sleeping thread, and after fork\n");
        return;
    }
    run(a_sleeping_one);
    run(after_fork);
}

static void stopped_by_a_signal(void **state)
{
    (void)state;
    const pid_t pid = start_child(stopped);
    int status;
    assert_true(hear(to_parent[0]));
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    sleep(3);
    assert_int_equal(kill(pid, SIGCONT), 0);
    usleep(500000); /* the monitor looks at it once more before it ends */
    say(to_child[1]);
    expect_exit(pid, 0);
}

static void with_a_debugger(void **state)
{
    (void)state;
    const pid_t pid = start_child(debugged);
    int status;
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        skip();
    }
    say(to_child[1]);
    for (;;) {
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) || WIFSIGNALED(status))
            break;
        ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
    }
    close(to_child[1]);
    close(to_parent[0]);
    assert_int_equal(status, 0);
}

static void what_is_no_hang(void **state)
{
    (void)state;
    run(in_background);
    run(idle_stack);
}

static void without_a_processor(void **state)
{
    (void)state;
    if (emulated()) { /* which spends processor time on work of its own, in the thread's name */
        print_message("skipped in the emulator\n");
        skip();
    }
    run(starved);
}

static void whatever_lock_is_held(void **state)
{
    (void)state;
    folder = spool_new_folder();
#ifdef OWN_MALLOC
    run(holding_malloc);
#else
    (void)holding_malloc;
    (void)memory;
#endif
    run(holding_stdio);
    run(holding_the_loader);
    spool_remove_folder(folder);
}

static void without_proc(void **state)
{
    (void)state;
    folder = spool_new_folder();
    run(a_hang_without_proc);
    run(a_sleeping_one_without_proc);
    spool_remove_folder(folder);
}

static void killed_while_hanging(void **state)
{
    (void)state;
    folder = spool_new_folder();
    const pid_t pid = start_child(hanging_for_ever);
    assert_true(hear(to_parent[0]));
    assert_int_equal(kill(pid, SIGKILL), 0);
    expect_exit(pid, SIGKILL);
    struct fw_reports *next = spool_open(folder, 0);
    struct fw_reports_totals all = {.size = sizeof all};
    struct spool_contents contents;
    assert_int_equal(fw_reports_totals(next, &all), FW_OK);
    assert_int_equal(all.recovered, 1);
    spool_look(folder, &contents);
    assert_int_equal(contents.whole, 1);
    assert_int_equal(contents.hangs, 1);
    assert_int_equal(contents.killed, 1);
    assert_int_equal(contents.unreadable + contents.parts, 0);
    fw_reports_close(next);
    spool_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_are_found),      cmocka_unit_test(stopped_by_a_signal),
        cmocka_unit_test(with_a_debugger),      cmocka_unit_test(what_is_no_hang),
        cmocka_unit_test(without_a_processor),  cmocka_unit_test(whatever_lock_is_held),
        cmocka_unit_test(killed_while_hanging), cmocka_unit_test(without_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
