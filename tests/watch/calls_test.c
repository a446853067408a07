/* The call watch in one process: images that come and go, threads, signals, fork, limits. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "framewalk/calls.h"
#include "watch/calls_internal.h"
#include "watch/calls_target.h"

#ifndef STORM_US
#define STORM_US 200 /* between two signals; an emulator needs more */
#endif

static struct fw_calls *start_with(struct fw_calls_options options, const char *const *names,
                                   size_t count)
{
    struct fw_calls *calls = NULL;
    options.size = sizeof options;
    options.names = names;
    options.count = count;
    assert_int_equal(fw_calls_start(&options, &calls), FW_OK);
    assert_non_null(calls);
    return calls;
}

#define START(...)                                                                                 \
    start_with((struct fw_calls_options){0}, (const char *const[]){__VA_ARGS__},                   \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static struct fw_calls_api api_of(struct fw_calls *calls, uint32_t name)
{
    struct fw_calls_api api = {.size = sizeof api};
    assert_int_equal(fw_calls_api(calls, name, &api), FW_OK);
    return api;
}

static struct fw_calls_totals totals_of(struct fw_calls *calls)
{
    struct fw_calls_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_calls_totals(calls, &totals), FW_OK);
    return totals;
}

static void test_wrong_options_are_refused(void **state)
{
    static const char *const names[] = {"open", NULL};
    struct fw_calls *calls = (struct fw_calls *)1;
    struct fw_calls_options options = {.size = sizeof options, .names = names, .count = 2};
    (void)state;
    assert_int_equal(fw_calls_start(NULL, &calls), FW_ERR_ARGUMENT);
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT); /* a name is NULL */
    options.count = 0;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT);
    options.count = FW_CALLS_NAMES + 1;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT);
    options.count = 1;
    options.frames = 129;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT);
    options.frames = 0;
    options.size--;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT);
    options.size++;
    options.memory = 100;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_ARGUMENT);
    options.memory = 0;
    const char *const group = "@privacy"; /* of Apple's */
    options.names = &group;
    assert_int_equal(fw_calls_start(&options, &calls), FW_ERR_UNSUPPORTED);
    assert_null(calls);
    fw_calls_stop(NULL);
}

static void test_one_watch_at_a_time(void **state)
{
    static const char *const names[] = {"open"};
    const struct fw_calls_options options = {.size = sizeof options, .names = names, .count = 1};
    struct fw_calls *first, *second;
    (void)state;
    assert_int_equal(fw_calls_start(&options, &first), FW_OK);
    assert_int_equal(fw_calls_start(&options, &second), FW_ERR_FULL);
    fw_calls_stop(first);
    assert_int_equal(fw_calls_start(&options, &second), FW_OK);
    fw_calls_stop(second);
}

static void test_an_entry_tells_stack_count_and_times(void **state)
{
    struct fw_calls *calls = START("target_plain");
    struct fw_calls_entry entry;
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(target_plain(i), i + 1);
    assert_int_equal(fw_calls_entry(calls, 0, &entry), FW_OK);
    assert_int_equal(entry.count, 100);
    assert_int_equal(entry.api, 0);
    assert_int_equal(entry.thread, getpid());
    assert_int_equal(entry.stack.end, FW_END_ROOT);
    assert_true(entry.stack.frames[0].kind == FW_FRAME_RETURN);
    Dl_info info;
    assert_true(dladdr((void *)(uintptr_t)entry.stack.frames[0].address, &info));
    assert_true(entry.first_ms > 1600000000000u && entry.last_ms >= entry.first_ms);
    assert_int_equal(fw_calls_entry(calls, 1, &entry), FW_ERR_NOT_FOUND);
    fw_calls_stop(calls);
}

/* Opened through the watched dlopen of this program. */
static void *open_plugin(void)
{
    void *plugin = dlopen(CALLS_PLUGIN, RTLD_NOW);
    if (!plugin)
        fail_msg("%s", dlerror());
    return plugin;
}

static void test_images_loaded_later_are_watched_and_may_go(void **state)
{
    struct fw_calls *calls = START("target_plain", "getppid");
    (void)state;
    const uint32_t before = api_of(calls, 0).pointers;
    for (int round = 1; round <= 20; round++) {
        void *plugin = open_plugin();
        int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
        int (*plugin_parent)(void) = (int (*)(void))dlsym(plugin, "plugin_parent");
        assert_int_equal(plugin_calls(10), 55);
        assert_int_equal(plugin_parent(), getppid());
        assert_int_equal(api_of(calls, 0).calls, 10 * round);
        assert_true(api_of(calls, 0).pointers > before);
        assert_int_equal(dlclose(plugin), 0);
        assert_int_equal(api_of(calls, 0).pointers, before);
    }
    fw_calls_stop(calls);
}

static void test_an_image_that_stays_is_put_back(void **state)
{
    struct fw_calls *calls = START("target_plain");
    (void)state;
    void *plugin = open_plugin();
    int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
    assert_int_equal(plugin_calls(3), 6);
    assert_int_equal(api_of(calls, 0).calls, 3);
    fw_calls_stop(calls);
    assert_int_equal(plugin_calls(3), 6);
    dlclose(plugin);
}

static void test_dlsym_gives_pointers_through_the_watch(void **state)
{
    void *library = dlopen(CALLS_TARGET, RTLD_NOW);
    int (*before)(int) = (int (*)(int))dlsym(library, "target_plain");
    struct fw_calls *calls = START("target_plain", "target_versioned@OLD");
    (void)state;
    int (*plain)(int) = (int (*)(int))dlsym(library, "target_plain");
    int (*anywhere)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "target_plain");
    int (*old)(int) = (int (*)(int))dlvsym(library, "target_versioned", "OLD");
    assert_ptr_not_equal(plain, before);
    assert_ptr_equal(plain, anywhere);
    assert_int_equal(plain(1), 2);
    assert_int_equal(old(1), 2);
    assert_int_equal(before(1), 2);           /* given out before: not seen */
    assert_int_equal(target_versioned(1), 3); /* another version */
    assert_int_equal(api_of(calls, 0).calls, 1);
    assert_int_equal(api_of(calls, 1).calls, 1);
    assert_null(dlsym(library, "no_such_function"));
    assert_non_null(dlerror());
    fw_calls_stop(calls);
    assert_int_equal(plain(1), 2); /* passes on for ever */
    dlclose(library);
}

static void test_other_namespaces(void **state)
{
    struct fw_calls *calls = START("target_plain");
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    fw_calls_stop(calls);
    skip(); /* a sanitizer's runtime is in one namespace only */
#endif
    void *plugin = dlmopen(LM_ID_NEWLM, CALLS_PLUGIN, RTLD_NOW);
    if (!plugin)
        fail_msg("%s", dlerror());
    int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
    assert_int_equal(plugin_calls(4), 10);
    assert_int_equal(api_of(calls, 0).calls, 4);
    dlclose(plugin);
    fw_calls_stop(calls);
}

static void test_callers_of_other_images_are_counted_without_stack(void **state)
{
    static const char *const callers[] = {"libcalls_plugin.so"};
    static const char *const names[] = {"target_plain"};
    struct fw_calls *calls =
        start_with((struct fw_calls_options){.callers = callers, .caller_count = 1}, names, 1);
    (void)state;
    void *plugin = open_plugin();
    int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
    for (int i = 0; i < 5; i++)
        target_plain(i);
    plugin_calls(7);
    assert_int_equal(api_of(calls, 0).calls, 12);
    assert_int_equal(api_of(calls, 0).counted, 7);
    assert_int_equal(totals_of(calls).counted, 7);
    fw_calls_stop(calls);

    static const char *const program[] = {"test_calls"}; /* for which the loader has no path */
    calls = start_with((struct fw_calls_options){.callers = program, .caller_count = 1}, names, 1);
    for (int i = 0; i < 5; i++)
        target_plain(i);
    plugin_calls(7);
    assert_int_equal(api_of(calls, 0).calls, 12);
    assert_int_equal(api_of(calls, 0).counted, 5);
    dlclose(plugin);
    fw_calls_stop(calls);
}

static _Thread_local volatile int sink;

static __attribute__((noinline)) void at_depth(int depth)
{
    volatile int keep = depth;
    if (depth)
        at_depth(depth - 1);
    else
        sink = target_plain(1);
    sink += keep;
}

static void test_memory_is_bounded(void **state)
{
    static const char *const names[] = {"target_plain"};
    struct fw_calls *calls =
        start_with((struct fw_calls_options){.memory = 16 * 1024, .frames = 128}, names, 1);
    (void)state;
    for (int round = 0; round < 3; round++)
        for (int depth = 0; depth < 100; depth++)
            at_depth(depth);
    const struct fw_calls_totals totals = totals_of(calls);
    assert_int_equal(totals.calls, 300);
    assert_true(totals.dropped > 0 && totals.stacks > 3 && totals.stacks < 100);
    assert_int_equal(totals.counted + totals.dropped + totals.nested, 300);
    assert_int_equal(api_of(calls, 0).calls, 300);
    fw_calls_stop(calls);
}

static void test_deep_stacks_are_cut(void **state)
{
    static const char *const names[] = {"target_plain"};
    struct fw_calls *calls = start_with((struct fw_calls_options){.frames = 16}, names, 1);
    struct fw_calls_entry entry;
    (void)state;
    for (int i = 0; i < 10; i++)
        at_depth(1000);
    assert_int_equal(fw_calls_entry(calls, 0, &entry), FW_OK);
    assert_int_equal(entry.count, 10);
    assert_int_equal(entry.stack.count, 16);
    assert_int_equal(entry.stack.end, FW_END_LIMIT);
    fw_calls_stop(calls);
}

enum { THREADS = 8, EACH = 20000 };

static void *call_often(void *context)
{
    (void)context;
    for (int i = 0; i < EACH; i++)
        at_depth(i % 16);
    return NULL;
}

static void test_threads_lose_no_call(void **state)
{
    struct fw_calls *calls = START("target_plain");
    pthread_t thread[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    const struct fw_calls_totals totals = totals_of(calls);
    assert_int_equal(totals.calls, THREADS * EACH);
    assert_int_equal(totals.counted, THREADS * EACH);
    assert_int_equal(totals.stacks, 16);
    fw_calls_stop(calls);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    handled++;
    sink = target_plain(1);
    at_depth(handled % 4);
}

static void storm(bool on)
{
    const struct itimerval often = {{0, on ? STORM_US : 0}, {0, on ? STORM_US : 0}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (on)
        assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
}

static void test_signals_while_replacing_and_noting(void **state)
{
    (void)state;
    handled = 0;
    storm(true);
    for (int round = 0; round < 60; round++) {
        struct fw_calls *calls = START("target_plain", "target_doubles");
        for (int i = 0; i < 1500; i++) {
            at_depth(i % 6);
            assert_true(target_doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204);
        }
        const struct fw_calls_totals totals = totals_of(calls);
        assert_true(totals.counted + totals.nested + totals.dropped >= 3000);
        fw_calls_stop(calls);
    }
    storm(false);
    assert_true(handled > 0);
}

static void test_small_alternate_stacks_are_not_overrun(void **state)
{
    struct fw_calls *calls = START("target_plain");
    static unsigned char memory[64 * 1024];
    const size_t size = 16 * 1024;
    (void)state;
    memset(memory, 0xA5, sizeof memory);
    const stack_t small = {.ss_sp = memory + sizeof memory - size, .ss_size = size};
    assert_int_equal(sigaltstack(&small, NULL), 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
    for (size_t i = 0; i < sizeof memory - size; i++)
        assert_int_equal(memory[i], 0xA5);
    const struct fw_calls_totals totals = totals_of(calls);
    assert_int_equal(totals.calls, 2);
    assert_int_equal(totals.nested, 2); /* no room for a walk */
    const stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    fw_calls_stop(calls);
}

static void test_fork_goes_on_counting(void **state)
{
    struct fw_calls *calls = START("target_plain");
    (void)state;
    for (int i = 0; i < 10; i++)
        at_depth(0);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++)
            at_depth(i % 2);
        struct fw_calls_totals totals = {.size = sizeof totals};
        const bool right = fw_calls_totals(calls, &totals) == FW_OK && totals.calls == 20;
        fw_calls_stop(calls);
        at_depth(0);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(totals_of(calls).calls, 10);
    fw_calls_stop(calls);
}

static void test_vfork_and_execve(void **state)
{
    struct fw_calls *calls = START("execve", "target_plain");
    char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    (void)state;
    for (int i = 0; i < 5; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            execve("/bin/true", arguments, environment);
            _exit(3);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    if (STORM_US < 10000) /* no emulator: the child has its parent's memory */
        assert_int_equal(api_of(calls, 0).calls, 5);
    at_depth(0);
    assert_int_equal(api_of(calls, 1).calls, 1);
    fw_calls_stop(calls);
}

static jmp_buf place;

static void jump(void *context)
{
    (void)context;
    longjmp(place, 1);
}

static void test_functions_left_by_longjmp(void **state)
{
    struct fw_calls *calls = START("target_calls_back");
    (void)state;
    for (volatile int i = 0; i < 100; i++)
        if (setjmp(place) == 0)
            target_calls_back(jump, NULL);
    assert_int_equal(api_of(calls, 0).calls, 100);
    fw_calls_stop(calls);
}

/* malloc is used by everything, also by thread creation and by dlopen itself. */
static void test_functions_that_the_watch_itself_needs(void **state)
{
    struct fw_calls *calls = START("malloc", "free", "memcpy", "mmap", "mprotect", "clock_gettime",
                                   "pthread_mutex_lock", "getpid", "sigaltstack", "nanosleep");
    pthread_t thread;
    (void)state;
#if defined(__SANITIZE_THREAD__)
    fw_calls_stop(calls);
    skip(); /* its runtime calls them in threads that it does not know yet */
#endif
    for (int i = 0; i < 11; i++) {
        assert_int_equal(pthread_create(&thread, NULL, call_often, NULL), 0);
        pthread_join(thread, NULL);
        void *volatile block = malloc(100);
        free(block);
        void *plugin = open_plugin();
        dlclose(plugin);
    }
    fw_calls_refresh(calls);
    assert_true(api_of(calls, 0).calls >= 11);
    fw_calls_stop(calls);
}

static void *open_and_close(void *context)
{
    for (int i = 0; i < 60; i++) {
        void *plugin = dlopen(CALLS_PLUGIN, RTLD_LAZY);
        int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
        if (!plugin || plugin_calls(2) != 3)
            return context;
        dlclose(plugin);
    }
    return NULL;
}

static void test_images_come_and_go_while_watches_do(void **state)
{
    pthread_t thread[2];
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the loader's own locks are not seen: its threads race with each other */
#endif
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_and_close, thread), 0);
    for (int i = 0; i < 100; i++) {
        struct fw_calls *calls = START("target_plain", "getppid", "access");
        at_depth(1);
        fw_calls_refresh(calls);
        fw_calls_stop(calls);
    }
    for (size_t i = 0; i < 2; i++) {
        void *result;
        pthread_join(thread[i], &result);
        assert_null(result);
    }
}

#if CALLS_HOT && !defined(__SANITIZE_THREAD__)
/* Recipes of stacks that begin in `function`. */
static unsigned recipes_in(struct fw_calls *calls, uintptr_t function)
{
    unsigned recipes = 0;
    for (uint32_t i = 0; i < calls_table_count(&calls->table); i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        if (noted->frame[0].address - function < 200)
            recipes += noted->recipes;
    }
    return recipes;
}

/* Stacks through code that was unloaded are walked anew, once, and take no more memory for it. */
static void test_recipes_end_with_their_code_and_come_again(void **state)
{
    int (*volatile unseen)(void *) = dlclose; /* a pointer in data that was there before */
    struct fw_calls *calls = START("target_plain");
    uint32_t used = 0;
    (void)state;
    for (int round = 0; round < 10; round++) {
        void *plugin = open_plugin();
        int (*plugin_calls)(int) = (int (*)(int))dlsym(plugin, "plugin_calls");
        plugin_calls(10);
        const uintptr_t place_of_code = (uintptr_t)plugin_calls;
        assert_true(recipes_in(calls, place_of_code) > 0);
        if (round == 1)
            used = calls->table.used;
        round % 2 ? unseen(plugin) : dlclose(plugin);
        fw_calls_refresh(calls);
        assert_int_equal(recipes_in(calls, place_of_code), 0);
    }
    assert_true(calls->table.used < used + 500); /* when it comes to another place */
    fw_calls_stop(calls);
}
#endif

static uint64_t files_in(struct fw_reports *reports)
{
    struct fw_reports_totals totals = {.size = sizeof totals};
    assert_int_equal(fw_reports_totals(reports, &totals), FW_OK);
    return totals.files;
}

static void test_reports_hold_what_is_new(void **state)
{
    static const char *const names[] = {"target_plain"};
    char folder[] = CALLS_FOLDER "/calls-XXXXXX";
    struct fw_reports *reports;
    (void)state;
    assert_non_null(mkdtemp(folder));
    const struct fw_reports_options options = {.size = sizeof options, .folder = folder};
    assert_int_equal(fw_reports_open(&options, &reports, NULL), FW_OK);
    struct fw_calls *calls = start_with((struct fw_calls_options){.reports = reports}, names, 1);
    assert_int_equal(fw_calls_write(calls), FW_OK);
    assert_int_equal(files_in(reports), 0); /* nothing was called */
    at_depth(3);
    at_depth(5);
    assert_int_equal(fw_calls_write(calls), FW_OK);
    assert_int_equal(files_in(reports), 1);
    assert_int_equal(fw_calls_write(calls), FW_OK);
    assert_int_equal(files_in(reports), 1); /* nothing new */
    at_depth(3);
    const pid_t child = fork();
    if (child == 0) {
        at_depth(3);
        fw_calls_write(calls);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(files_in(reports), 1); /* a child writes none */
    fw_calls_stop(calls);
    assert_int_equal(files_in(reports), 2);
    fw_reports_close(reports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_one_watch_at_a_time),
        cmocka_unit_test(test_an_entry_tells_stack_count_and_times),
        cmocka_unit_test(test_images_loaded_later_are_watched_and_may_go),
        cmocka_unit_test(test_an_image_that_stays_is_put_back),
        cmocka_unit_test(test_dlsym_gives_pointers_through_the_watch),
        cmocka_unit_test(test_other_namespaces),
        cmocka_unit_test(test_callers_of_other_images_are_counted_without_stack),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_deep_stacks_are_cut),
        cmocka_unit_test(test_threads_lose_no_call),
        cmocka_unit_test(test_signals_while_replacing_and_noting),
        cmocka_unit_test(test_small_alternate_stacks_are_not_overrun),
        cmocka_unit_test(test_fork_goes_on_counting),
        cmocka_unit_test(test_vfork_and_execve),
        cmocka_unit_test(test_functions_left_by_longjmp),
        cmocka_unit_test(test_functions_that_the_watch_itself_needs),
        cmocka_unit_test(test_images_come_and_go_while_watches_do),
#if CALLS_HOT && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_recipes_end_with_their_code_and_come_again),
#endif
        cmocka_unit_test(test_reports_hold_what_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
