/* os/linux/doorbell.c: which signal is used, and what happens when somebody takes it away. */
#include "capture/targets.h"

static _Atomic unsigned foreign_calls;

static void foreign_handler(int signal)
{
    (void)signal;
    foreign_calls++;
}

static void foreign_action(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    foreign_handler(signal);
}

static void capture_works(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    struct captured got;
    target_begin_asleep(&target);
    fw_error error = capture_into(&got, target.id, NULL);
    assert_int_equal(write(ends[1], "x", 1), 1);
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(error, FW_OK);
    assert_whole(&got.thread);
    assert_true(got.thread.held_ns > 0);
}

static void chosen_among_the_free(void **state)
{
    (void)state;
    assert_int_equal(fw_threads_signal(), 0);
    signal(SIGRTMAX - 2, foreign_handler);
    capture_works();
    assert_in_range(fw_threads_signal(), SIGRTMIN, SIGRTMAX - 3);
}

static void asked_for(void **state)
{
    (void)state;
    assert_int_equal(fw_threads_set_signal(SIGUSR1), FW_ERR_ARGUMENT);
    assert_int_equal(fw_threads_set_signal(SIGRTMAX + 1), FW_ERR_ARGUMENT);
    assert_int_equal(fw_threads_set_signal(SIGRTMAX - 2), FW_ERR_ARGUMENT); /* handled */
    signal(SIGRTMIN + 1, SIG_IGN);
    assert_int_equal(fw_threads_set_signal(SIGRTMIN + 1), FW_ERR_ARGUMENT);
    assert_int_equal(fw_threads_set_signal(SIGRTMIN + 2), FW_OK);
    assert_int_equal(fw_threads_signal(), SIGRTMIN + 2);
    capture_works();
    assert_int_equal(fw_threads_signal(), SIGRTMIN + 2);
    assert_int_equal(fw_threads_set_signal(SIGRTMIN + 2), FW_OK);
}

static void replaced_before(void **state)
{
    (void)state;
    capture_works();
    int was = fw_threads_signal();
    foreign_calls = 0;
    signal(was, foreign_handler);
    capture_works();
    assert_int_not_equal(fw_threads_signal(), was);
    assert_int_equal(foreign_calls, 0);
}

/* Replaced while a question is out: the thread takes the new handler's call, and is asked again
 * with another signal. The signal is kept back until then by blocking it. */
KNOWN(open_late) static void open_late(struct target *target)
{
    target->ready = true;
    while (!*(_Atomic bool *)target->context)
        ;
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    wait_until_leave(target);
}

struct replacing {
    _Atomic bool open;
    pthread_t thread;
    bool all; /* leave no real-time signal free */
};

static void *replace_soon(void *context)
{
    struct replacing *replacing = context;
    struct sigaction action = {.sa_sigaction = foreign_action, .sa_flags = SA_SIGINFO};
    pause_ms(20);
    if (replacing->all)
        for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
            sigaction(i, &action, NULL);
    else
        sigaction(fw_threads_signal(), &action, NULL);
    replacing->open = true;
    return NULL;
}

static void replaced_during(void **state)
{
    (void)state;
    struct replacing replacing = {.all = *state != NULL};
    struct target target = {.body = open_late, .context = &replacing, .block_signals = true};
    struct fw_threads_options options = {.size = sizeof options};
    options.timeout_ms = replacing.all ? 100 : 5000;
    struct captured got;
    capture_works();
    int was = fw_threads_signal();
    foreign_calls = 0;
    target_begin(&target, 0);
    pthread_create(&replacing.thread, NULL, replace_soon, &replacing);
    assert_int_equal(capture_into(&got, target.id, &options), FW_OK);
    pthread_join(replacing.thread, NULL);
    target_end(&target);
    assert_true(foreign_calls >= 1);
    if (!replacing.all) {
        assert_whole(&got.thread);
        assert_int_not_equal(fw_threads_signal(), was);
    } else if (got.thread.stack.end == FW_END_UNAVAILABLE) {
        assert_int_equal(got.thread.stack.unavailable, FW_UNAVAILABLE_REPLACED);
    } else {
        assert_int_equal(got.thread.held_ns, 0); /* seen asleep, without a signal */
    }
}

/* Another's signal of our number: queued by somebody else, or sent by kill. */
static void foreign_signals_are_ignored(void **state)
{
    (void)state;
    capture_works();
    union sigval value = {.sival_int = 3};
    for (int i = 0; i < 100; i++) {
        assert_int_equal(sigqueue(getpid(), fw_threads_signal(), value), 0);
        assert_int_equal(pthread_kill(pthread_self(), fw_threads_signal()), 0);
    }
    capture_works();
}

static void none_left(void **state)
{
    (void)state;
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        signal(i, foreign_handler);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    struct captured got;
    target_begin_asleep(&target);
    fw_error error = capture_into(&got, target.id, NULL);
    assert_int_equal(write(ends[1], "x", 1), 1);
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(error, FW_ERR_UNSUPPORTED);
}

int main(void)
{
    LEAVE_UNDER_TSAN();
    static char all[] = "all";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_among_the_free),
        cmocka_unit_test(asked_for),
        cmocka_unit_test(replaced_before),
        cmocka_unit_test(replaced_during),
        cmocka_unit_test(foreign_signals_are_ignored),
        cmocka_unit_test_prestate(replaced_during, all),
        cmocka_unit_test(none_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
