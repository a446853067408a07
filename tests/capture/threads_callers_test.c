/*
 * Several callers at once, threads that come and go, forked children, signals from elsewhere: every
 * caller gets its answer.
 */
#include "capture/targets.h"
#include "support/platform.h"

enum { TARGETS = 40, ROUNDS = 25, CALLERS = 4 };

static struct target targets[TARGETS];

static void begin_targets(void)
{
    memset(targets, 0, sizeof targets);
    for (int i = 0; i < TARGETS; i++) {
        targets[i].body = sleep_well;
        target_begin(&targets[i], 128 * 1024);
    }
}

static void end_targets(void)
{
    for (int i = 0; i < TARGETS; i++)
        targets[i].leave = true;
    for (int i = 0; i < TARGETS; i++)
        target_end(&targets[i]);
}

enum { CAPACITY = 256 };

struct caller {
    pthread_t thread;
    unsigned rounds, targets;
    unsigned failed, missing;
    struct fw_thread threads[CAPACITY];
    struct fw_frame frames[CAPACITY * 32];
};

static void check_round(struct caller *caller, size_t count)
{
    unsigned whole = 0;
    for (size_t i = 0; i < count && i < CAPACITY; i++) {
        const struct fw_stack *stack = &caller->threads[i].stack;
        for (unsigned j = 0; j < caller->targets; j++) {
            if (caller->threads[i].id != targets[j].id)
                continue;
            if (UNDER_TSAN) /* see LEAVE_UNDER_TSAN; here to see races */
                whole++;
            else if (ends_as_whole(stack) && FRAMES_IN(stack, known_caller) == 1 &&
                     FRAMES_IN(stack, target_main) == 1)
                whole++;
            else
                print_stack(&caller->threads[i]);
        }
    }
    caller->missing += caller->targets - whole;
}

static void *call(void *context)
{
    struct caller *caller = context;
    struct fw_threads_options patient = {.size = sizeof patient, .timeout_ms = patience_ms()};
    for (unsigned i = 0; i < caller->rounds; i++) {
        size_t count = 0;
        if (fw_threads_capture(caller->threads, CAPACITY, &count, caller->frames, CAPACITY * 32,
                               &patient) != FW_OK)
            caller->failed++;
        check_round(caller, count);
    }
    return NULL;
}

static struct caller callers[CALLERS];

static void callers_at_once(void **state)
{
    const unsigned n = *(unsigned *)*state;
    begin_targets();
    for (unsigned i = 0; i < n; i++) {
        callers[i].rounds = emulated() ? 3 : ROUNDS;
        callers[i].targets = TARGETS;
        callers[i].failed = callers[i].missing = 0;
        pthread_create(&callers[i].thread, NULL, call, &callers[i]);
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(callers[i].thread, NULL);
    end_targets();
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(callers[i].failed, 0);
        assert_int_equal(callers[i].missing, 0);
    }
}

/* --- threads that come and go -------------------------------------------------------------- */

static _Atomic bool churning;
static _Atomic unsigned born;

static void *live_briefly(void *context)
{
    (void)context;
    return NULL;
}

static void *churn(void *context)
{
    (void)context;
    while (churning) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, live_briefly, NULL) != 0)
                threads[i] = pthread_self();
        for (int i = 0; i < 4; i++)
            if (!pthread_equal(threads[i], pthread_self()))
                pthread_join(threads[i], NULL);
        born += 4;
    }
    return NULL;
}

/* Those that live all the time are never missing; the others have a stack or the reason. */
static void threads_come_and_go(void **state)
{
    (void)state;
    begin_targets();
    churning = true;
    pthread_t churners[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&churners[i], NULL, churn, NULL);
    struct caller *caller = &callers[0];
    *caller = (struct caller){.rounds = 1, .targets = TARGETS};
    unsigned wrong = 0;
    for (int i = 0; i < (emulated() ? 4 : 60); i++) {
        call(caller);
        for (size_t j = 0; j < CAPACITY && caller->threads[j].id; j++) {
            const struct fw_stack *stack = &caller->threads[j].stack;
            wrong += stack->end == FW_END_NONE;
            wrong += !UNDER_TSAN && !emulated() && stack->end == FW_END_UNAVAILABLE &&
                     stack->unavailable == FW_AVAILABLE;
            wrong +=
                stack->end == FW_END_UNAVAILABLE && stack->unavailable == FW_UNAVAILABLE_TIMEOUT;
        }
    }
    churning = false;
    for (int i = 0; i < 2; i++)
        pthread_join(churners[i], NULL);
    end_targets();
    assert_true(born > 0);
    assert_int_equal(caller->failed, 0);
    assert_int_equal(caller->missing, 0);
    assert_int_equal(wrong, 0);
}

/* --- fork ---------------------------------------------------------------------------------- */

static int capture_in_child(void)
{
    begin_targets();
    callers[0] = (struct caller){.rounds = 3, .targets = TARGETS};
    call(&callers[0]);
    end_targets();
    return callers[0].failed || callers[0].missing;
}

/* Forks while others are in the middle of captures: the child's copy of the slots is in any state.
 */
static void forked_children(void **state)
{
    bool busy = *state != NULL;
    if (UNDER_TSAN || emulated() || (UNDER_ASAN && busy)) /* their locks do not survive the fork */
        skip();
    begin_targets();
    callers[1] = (struct caller){.rounds = busy ? 40 : 1, .targets = TARGETS};
    pthread_create(&callers[1].thread, NULL, call, &callers[1]);
    if (!busy)
        pthread_join(callers[1].thread, NULL);
    int bad = 0;
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(capture_in_child());
        int status = -1;
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    if (busy)
        pthread_join(callers[1].thread, NULL);
    end_targets();
    assert_int_equal(bad, 0);
    assert_int_equal(callers[1].failed, 0);
    assert_int_equal(callers[1].missing, 0);
}

/* --- signals from elsewhere ---------------------------------------------------------------- */

static _Atomic bool storming;
static _Atomic unsigned storm_calls;

static void on_storm(int signal)
{
    (void)signal;
    storm_calls++;
}

static void *storm(void *context)
{
    (void)context;
    while (storming) {
        for (int i = 0; i < TARGETS; i++)
            pthread_kill(targets[i].thread, i % 2 ? SIGUSR1 : SIGRTMIN);
        pause_ms(1);
    }
    return NULL;
}

static void signal_storm(void **state)
{
    (void)state;
    NEEDS_TABLES_OF_LIBC();
    struct sigaction action = {.sa_handler = on_storm, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGRTMIN, &action, NULL);
    begin_targets();
    storming = true;
    pthread_t stormer;
    pthread_create(&stormer, NULL, storm, NULL);
    callers[0] = (struct caller){.rounds = emulated() ? 3 : ROUNDS, .targets = TARGETS};
    call(&callers[0]);
    storming = false;
    pthread_join(stormer, NULL);
    end_targets();
    assert_true(storm_calls > 0);
    assert_int_equal(callers[0].failed, 0);
    assert_int_equal(callers[0].missing, 0);
}

int main(void)
{
    static unsigned two = 2, four = 4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(callers_at_once, &two),
        cmocka_unit_test_prestate(callers_at_once, &four),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test_prestate(forked_children, NULL),
        cmocka_unit_test_prestate(forked_children, &two),
        cmocka_unit_test(signal_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
