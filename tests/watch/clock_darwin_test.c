/* The sleep and the clocks of the hang monitor on Apple platforms (src/watch/clock_darwin.c). */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machhost/host.h"
#include "watch/clock.h"

static const struct watch_clock *system_clock;

static uint64_t now(void)
{
    return system_clock->now(system_clock->context);
}

static void sleep_on(uint32_t *word, uint32_t seen, uint64_t deadline)
{
    system_clock->sleep(system_clock->context, word, seen, deadline);
}

static void change(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    system_clock->wake(system_clock->context, word);
}

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void clocks_agree(void **state)
{
    (void)state;
    const uint64_t before = now(), coarse = system_clock->coarse(system_clock->context);
    const uint64_t continuous = system_clock->continuous(system_clock->context), after = now();
    assert_true(before <= after);
    assert_true(coarse <= after);
    assert_true(coarse + UINT64_C(1000000000) > before); /* a tick, and much patience */
    assert_true(continuous >= before);
    assert_true(system_clock->wall_ms(system_clock->context) > UINT64_C(1600000000000));
}

static void no_sleep_when_changed_or_late(void **state)
{
    (void)state;
    uint32_t word = 5;
    const uint64_t waits = machhost_calls("semaphore_wait");
    sleep_on(&word, 4, UINT64_MAX);
    sleep_on(&word, 5, 0);
    sleep_on(&word, 5, now());
    assert_int_equal(machhost_calls("semaphore_wait"), waits);
}

static void sleeps_until_the_deadline(void **state)
{
    (void)state;
    uint32_t word = 0;
    const uint64_t until = now() + 20000000;
    while (now() < until)
        sleep_on(&word, 0, until);
    assert_true(now() >= until);
}

/* Two threads hand a word to and fro: a lost wake ends in the test's timeout. */
struct pair {
    uint32_t ping, pong;
};
enum { ROUNDS = 2000 };

static void wait_for(uint32_t *word, uint32_t value)
{
    for (uint32_t seen; (seen = load(word)) < value;)
        sleep_on(word, seen, UINT64_MAX);
}

static void *answer(void *argument)
{
    struct pair *pair = argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        wait_for(&pair->ping, i);
        change(&pair->pong);
    }
    return NULL;
}

static void no_wake_is_lost(void **state)
{
    (void)state;
    struct pair pair = {0, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer, &pair), 0);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        change(&pair.ping);
        wait_for(&pair.pong, i);
    }
    pthread_join(thread, NULL);
    assert_int_equal(pair.pong, ROUNDS);
}

static uint32_t signalled;

static void on_signal(int number)
{
    (void)number;
    change(&signalled);
}

static void *sleep_for_signal(void *argument)
{
    wait_for(argument, 1);
    return argument;
}

static void signal_handlers_wake(void **state)
{
    (void)state;
    pthread_t thread;
    void *result = NULL;
    signal(SIGUSR1, on_signal);
    assert_int_equal(pthread_create(&thread, NULL, sleep_for_signal, &signalled), 0);
    raise(SIGUSR1);
    pthread_join(thread, &result);
    assert_ptr_equal(result, &signalled);
}

/* Without a semaphore it still comes back, and looks again. */
static void without_semaphores(void **state)
{
    (void)state;
    static struct pair pair;
    enum { KERN_RESOURCE_SHORTAGE = 6 };
    const pid_t child = fork(); /* where none is made yet */
    if (child == 0) {
        machhost_fail_all("semaphore_create", KERN_RESOURCE_SHORTAGE);
        sleep_on(&pair.ping, 0, UINT64_MAX);
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void forked_children_sleep_too(void **state)
{
    (void)state;
    uint32_t word = 0;
    sleep_on(&word, 0, now() + 1000000);
    const pid_t child = fork();
    if (child == 0) {
        static struct pair pair;
        pthread_t thread;
        if (pthread_create(&thread, NULL, answer, &pair) != 0)
            _exit(1);
        for (uint32_t i = 1; i <= ROUNDS; i++) {
            change(&pair.ping);
            wait_for(&pair.pong, i);
        }
        _exit(8);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 8);
}

int main(void)
{
    system_clock = watch_clock_system();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_agree),
        cmocka_unit_test(no_sleep_when_changed_or_late),
        cmocka_unit_test(sleeps_until_the_deadline),
        cmocka_unit_test(no_wake_is_lost),
        cmocka_unit_test(signal_handlers_wake),
        cmocka_unit_test(without_semaphores),
        cmocka_unit_test(forked_children_sleep_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
