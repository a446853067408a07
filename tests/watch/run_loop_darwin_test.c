/*
 * The main run loop as a watched loop (src/watch/run_loop_darwin.c), with the model of
 * CoreFoundation of the Mach-O host. The monitor has no thread but in the last test: what is tested
 * are the marks, and which stacks are those of a wait.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "machhost/models/core_foundation.h"
#include "watch/hang_core.h"
#include "watch/hang_marks.h"
#include "watch/hang_sites.h"

/* The model, which is loaded by the tests: the first one wants it away. */
static struct {
    CFRunLoopRef (*main)(void);
    CFRunLoopObserverRef (*create)(const void *, unsigned long, unsigned char, long,
                                   void (*)(CFRunLoopObserverRef, CFRunLoopActivity, void *),
                                   const void *);
    void (*add)(CFRunLoopRef, CFRunLoopObserverRef, CFStringRef);
    int (*run)(CFStringRef, double, unsigned char);
    void (*stop)(CFRunLoopRef);
    void (*post)(void (*)(void *), void *, int);
    void (*ask)(void), (*answer)(void);
    CFStringRef common, standard;
    struct model_loop *(*center)(void);
    void (*notify)(struct model_loop *, CFStringRef, const void *, const void *, unsigned char);
} cf;

static struct fw_hang_monitor *monitor;
static struct fw_hang_watch *watch;

static uint64_t mark(void)
{
    return __atomic_load_n(&watch->state, __ATOMIC_SEQ_CST);
}

static bool is_busy(void)
{
    return mark() & MARK_BUSY;
}

static uint64_t turn(void)
{
    return mark() & MARK_TURN;
}

static void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        fail_msg("%s", name);
    return found;
}

static void load_model(void)
{
    if (!dlopen(MODEL, RTLD_NOW))
        fail_msg("%s", dlerror());
    *(void **)&cf.main = symbol("CFRunLoopGetMain");
    *(void **)&cf.create = symbol("CFRunLoopObserverCreate");
    *(void **)&cf.add = symbol("CFRunLoopAddObserver");
    *(void **)&cf.run = symbol("CFRunLoopRunInMode");
    *(void **)&cf.stop = symbol("CFRunLoopStop");
    *(void **)&cf.post = symbol("model_post");
    *(void **)&cf.ask = symbol("model_ask");
    *(void **)&cf.answer = symbol("model_answer");
    *(void **)&cf.center = symbol("CFNotificationCenterGetLocalCenter");
    *(void **)&cf.notify = symbol("CFNotificationCenterPostNotification");
    cf.common = *(CFStringRef *)symbol("kCFRunLoopCommonModes");
    cf.standard = *(CFStringRef *)symbol("kCFRunLoopDefaultMode");
}

static const struct fw_hang_options patient = {.size = sizeof patient, .threshold_ms = 3600000};

static void begin(void)
{
    assert_int_equal(fw_hang_start(&patient, &monitor), FW_OK);
    assert_int_equal(fw_hang_watch_run_loop(monitor, &watch), FW_OK);
}

static void not_there(void **state)
{
    (void)state;
    assert_int_equal(fw_hang_start(&patient, &monitor), FW_OK);
    assert_int_equal(fw_hang_watch_run_loop(monitor, &watch), FW_ERR_UNSUPPORTED);
    assert_null(watch);
    fw_hang_stop(monitor);
    load_model();
}

static void *from_another_thread(void *error)
{
    *(fw_error *)error = fw_hang_watch_run_loop(monitor, &watch);
    return NULL;
}

static void only_once_and_on_the_main_thread(void **state)
{
    (void)state;
    struct fw_hang_watch *other;
    fw_error error = FW_OK;
    pthread_t thread;
    begin();
    assert_int_equal(fw_hang_watch_run_loop(monitor, &other), FW_ERR_FULL);
    assert_null(other);
    fw_hang_unwatch(watch);
    assert_int_equal(pthread_create(&thread, NULL, from_another_thread, &error), 0);
    pthread_join(thread, NULL);
    assert_int_equal(error, FW_ERR_ARGUMENT);
    assert_int_equal(fw_hang_watch_run_loop(NULL, &other), FW_ERR_ARGUMENT);
    fw_hang_stop(monitor);
}

/* What a source of the loop sees. */
struct seen {
    bool busy;
    uint64_t turn;
    unsigned count;
};

static void look(void *argument)
{
    struct seen *seen = argument;
    seen->busy = is_busy();
    seen->turn = turn();
    seen->count++;
}

/* Waits until the main thread waits, then posts. */
struct later {
    void (*function)(void *);
    void *argument;
    bool by_message;
    pthread_t thread;
};

static void *post_when_idle(void *argument)
{
    const struct later *later = argument;
    while (is_busy())
        usleep(100);
    cf.post(later->function, later->argument, later->by_message);
    return NULL;
}

static void start_later(struct later *later)
{
    assert_int_equal(pthread_create(&later->thread, NULL, post_when_idle, later), 0);
}

static void turns_begin_and_end(void **state)
{
    (void)state;
    struct seen first = {0}, second = {0}, third = {0};
    begin();
    assert_true(is_busy()); /* the turn in which the program starts */
    const uint64_t starting = turn();
    cf.post(look, &first, false);
    assert_int_equal(cf.run(cf.standard, 60, true), kCFRunLoopRunFinished);
    assert_true(first.busy && first.turn != starting);
    for (int by_message = 0; by_message < 2; by_message++) {
        struct later later = {look, by_message ? &third : &second, by_message, NULL};
        start_later(&later); /* which ends when a wait was seen */
        assert_int_equal(cf.run("UITrackingRunLoopMode", 60, true), kCFRunLoopRunFinished);
        pthread_join(later.thread, NULL);
    }
    assert_true(second.busy && second.turn != first.turn);
    assert_true(third.busy && third.turn != second.turn);
    assert_true(is_busy()); /* what is served between two runs */
    assert_int_not_equal(turn(), third.turn);
    struct later later = {look, &first, false, NULL};
    start_later(&later);
    assert_int_equal(cf.run("UIInitializationRunLoopMode", 60, true), kCFRunLoopRunFinished);
    pthread_join(later.thread, NULL);
    assert_int_equal(first.count, 2);
    fw_hang_stop(monitor);
}

/* A loop that always finds work never waits; each time round is a turn. */
static void polling_is_many_turns(void **state)
{
    (void)state;
    struct seen seen = {0};
    uint64_t before = 0;
    begin();
    for (int i = 0; i < 20; i++) {
        cf.post(look, &seen, false);
        cf.run(cf.standard, 0, true);
        assert_true(seen.busy);
        assert_int_not_equal(seen.turn, before);
        before = seen.turn;
    }
    fw_hang_stop(monitor);
}

static struct {
    bool waited, busy_inside, busy_behind;
    uint64_t inside, behind;
} nested;

static void inside(void *argument)
{
    (void)argument;
    nested.busy_inside = is_busy();
    nested.inside = turn();
}

static void run_nested(void *mode)
{
    struct later later = {inside, NULL, true, NULL};
    start_later(&later);
    cf.run(mode, 60, true);
    pthread_join(later.thread, NULL);
    nested.waited = true;
    nested.busy_behind = is_busy();
    nested.behind = turn();
}

/* A modal panel: its run waits and turns like any other; behind it the turn goes on that opened it.
 */
static void nested_runs(void **state)
{
    (void)state;
    begin();
    cf.post(run_nested, (void *)(uintptr_t)cf.standard, false);
    assert_int_equal(cf.run(cf.standard, 60, true), kCFRunLoopRunFinished);
    assert_true(nested.waited && nested.busy_inside && nested.busy_behind);
    assert_int_not_equal(nested.inside, nested.behind);
    fw_hang_stop(monitor);
}

/* What others do when a turn begins or ends belongs to it. */
static unsigned others, others_idle;

static void other(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    others++;
    others_idle += watch && !is_busy();
}

static void first_and_last_of_observers(void **state)
{
    (void)state;
    const unsigned long activities = kCFRunLoopEntry | kCFRunLoopBeforeSources |
                                     kCFRunLoopBeforeWaiting | kCFRunLoopAfterWaiting |
                                     kCFRunLoopExit;
    struct seen seen = {0};
    cf.add(cf.main(), cf.create(NULL, activities, 1, -2000000, other, NULL), cf.common);
    cf.add(cf.main(), cf.create(NULL, activities, 1, 2000000, other, NULL), cf.common);
    begin();
    struct later later = {look, &seen, true, NULL};
    start_later(&later);
    cf.run(cf.standard, 60, true);
    pthread_join(later.thread, NULL);
    assert_true(others >= 10); /* more when the loop was woken for nothing */
    assert_int_equal(others_idle, 0);
    fw_hang_stop(monitor);
    watch = NULL;
}

/* Stacks of the main thread, taken while it waits, from another thread. */
static struct {
    bool idle, taken;
    struct fw_frame frames[64];
    char names[512];
} sample;

static void take_sample(void)
{
    struct fw_thread thread = {.stack = {.frames = sample.frames, .capacity = 64}};
    sample.taken = fw_thread_capture(fw_thread_main(), &thread, NULL) == FW_OK;
    sample.idle = hang_sites_idle(&thread.stack);
    sample.names[0] = 0;
    for (uint32_t i = 0; i < thread.stack.count && i < 6; i++) {
        Dl_info info;
        if (dladdr((void *)(uintptr_t)(sample.frames[i].address - (i > 0)), &info) &&
            info.dli_sname) {
            strlcat(sample.names, info.dli_sname, sizeof sample.names);
            strlcat(sample.names, " ", sizeof sample.names);
        }
    }
}

static bool sample_has(const char *name)
{
    take_sample();
    return strstr(sample.names, name) != NULL;
}

static void nothing(void *argument)
{
    (void)argument;
}

static void *sample_wait(void *argument)
{
    (void)argument;
    while (!sample_has("mach_msg __CFRunLoopServiceMachPort __CFRunLoopRun "))
        usleep(100);
    cf.post(nothing, NULL, true);
    return NULL;
}

/* No observer of ours runs in this mode: the marks say busy, the stack knows better. */
static void waits_of_private_modes_are_known(void **state)
{
    (void)state;
    begin();
    struct seen seen;
    struct later later = {look, &seen, true, NULL};
    start_later(&later); /* a turn in a common mode: stacks are learned from it */
    cf.run(cf.standard, 60, true);
    pthread_join(later.thread, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sample_wait, NULL), 0);
    cf.run("PrivateMode", 60, true);
    pthread_join(thread, NULL);
    assert_true(sample.taken);
    assert_true(sample.idle);
    assert_true(is_busy());
    fw_hang_stop(monitor);
}

static void ask(void *argument)
{
    (void)argument;
    cf.ask();
}

static void *sample_question(void *argument)
{
    (void)argument;
    while (!sample_has("mach_msg model_ask "))
        usleep(100);
    cf.answer();
    return NULL;
}

/* A message that CoreFoundation waits for in a source is a hang, though the frames look alike. */
static void other_messages_are_no_waits(void **state)
{
    (void)state;
    pthread_t thread;
    begin();
    assert_int_equal(pthread_create(&thread, NULL, sample_question, NULL), 0);
    cf.post(ask, NULL, false);
    cf.run(cf.standard, 60, true);
    pthread_join(thread, NULL);
    assert_true(sample.taken);
    assert_false(sample.idle);
    fw_hang_stop(monitor);
}

/* Stopped while the loop turns: its observers do nothing any more, and do not touch freed memory.
 */
static void *stop_it(void *argument)
{
    fw_hang_stop(argument);
    cf.stop(cf.main());
    return NULL;
}

static void spin(void *left)
{
    unsigned *rounds = left;
    if (--*rounds)
        cf.post(spin, left, false);
}

static void stopped_while_it_turns(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        unsigned rounds = 200;
        pthread_t thread;
        begin();
        cf.post(spin, &rounds, false);
        assert_int_equal(pthread_create(&thread, NULL, stop_it, monitor), 0);
        while (cf.run(cf.standard, 60, false) != kCFRunLoopRunStopped)
            ;
        pthread_join(thread, NULL);
        while (rounds && cf.run(cf.standard, 0, true) == kCFRunLoopRunFinished)
            ;
    }
    watch = NULL;
}

static bool hidden_after(const char *notification)
{
    cf.notify(cf.center(), *(CFStringRef *)symbol(notification), NULL, NULL, true);
    return __atomic_load_n(&monitor->background, __ATOMIC_ACQUIRE);
}

/* The frameworks tell; the program need not. */
static void hidden_and_seen(void **state)
{
    (void)state;
    begin();
    assert_false(__atomic_load_n(&monitor->background, __ATOMIC_ACQUIRE));
    assert_true(hidden_after("UIApplicationDidEnterBackgroundNotification"));
    assert_true(hidden_after("UIApplicationDidEnterBackgroundNotification"));
    assert_false(hidden_after("UIApplicationWillEnterForegroundNotification"));
    assert_false(hidden_after("UIApplicationWillEnterForegroundNotification"));
    assert_true(hidden_after("NSApplicationDidHideNotification"));
    assert_true(hidden_after("UIApplicationDidEnterBackgroundNotification"));
    assert_true(hidden_after("NSApplicationDidUnhideNotification")); /* UIKit still hides it */
    fw_hang_stop(monitor);
    begin(); /* while it is hidden */
    assert_true(__atomic_load_n(&monitor->background, __ATOMIC_ACQUIRE));
    assert_false(hidden_after("UIApplicationWillEnterForegroundNotification"));
    fw_hang_stop(monitor);
    watch = NULL;
    cf.notify(cf.center(), *(CFStringRef *)symbol("NSApplicationDidHideNotification"), NULL, NULL,
              true); /* nobody watches */
    cf.notify(cf.center(), *(CFStringRef *)symbol("NSApplicationDidUnhideNotification"), NULL, NULL,
              true);
}

/* The whole thing once: a source that blocks is found and reported, an idle loop before it is not.
 */
static void hang_until_told(void *argument)
{
    (void)argument;
    struct fw_hang_totals totals = {.size = sizeof totals};
    do
        fw_hang_totals(monitor, &totals);
    while (totals.reported == 0);
}

static void a_real_hang(void **state)
{
    (void)state;
    const struct fw_reports_options kept = {.size = sizeof kept, .folder = REPORTS};
    struct fw_hang_options options = {.size = sizeof options, .threshold_ms = 1000};
    struct fw_hang_totals totals = {.size = sizeof totals};
    struct fw_reports_totals before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_int_equal(fw_reports_open(&kept, &options.reports, NULL), FW_OK);
    assert_int_equal(fw_reports_totals(options.reports, &before), FW_OK);
    assert_int_equal(fw_hang_start(&options, &monitor), FW_OK);
    assert_int_equal(fw_hang_watch_run_loop(monitor, &watch), FW_OK);
    assert_int_equal(cf.run(cf.standard, 0.3, true), kCFRunLoopRunTimedOut);
    fw_hang_totals(monitor, &totals);
    assert_int_equal(totals.hangs, 0);
    cf.post(hang_until_told, NULL, false);
    cf.run(cf.standard, 60, true);
    fw_hang_totals(monitor, &totals);
    assert_int_equal(totals.hangs, 1);
    assert_int_equal(totals.reported, 1);
    assert_true(totals.samples > 0);
    fw_hang_stop(monitor);
    assert_int_equal(fw_reports_totals(options.reports, &after), FW_OK);
    assert_true(after.files == before.files + 1 || after.evicted == 1);
    fw_reports_close(options.reports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_there),
        cmocka_unit_test(only_once_and_on_the_main_thread),
        cmocka_unit_test(turns_begin_and_end),
        cmocka_unit_test(polling_is_many_turns),
        cmocka_unit_test(nested_runs),
        cmocka_unit_test(first_and_last_of_observers),
        cmocka_unit_test(waits_of_private_modes_are_known),
        cmocka_unit_test(other_messages_are_no_waits),
        cmocka_unit_test(stopped_while_it_turns),
        cmocka_unit_test(hidden_and_seen),
        cmocka_unit_test(a_real_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
