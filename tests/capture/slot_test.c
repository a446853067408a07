/*
 * capture/slot.c: the state machine, with the handler called as a function. `ucontext` is this
 * thread's own, so an answer is a real stack.
 */
#include "capture/slot.h"

#include "capture/targets.h"
#include "os/linux/sys.h"

#include <ucontext.h>

static ucontext_t here;
static fw_thread_id self;
static int collector;

static int begin(void **state)
{
    (void)state;
    getcontext(&here);
    self = (fw_thread_id)syscall(SYS_gettid);
    collector = slot_enter(getpid(), 0);
    return collector < 0;
}

static int end(void **state)
{
    (void)state;
    slot_leave(collector);
    return 0;
}

static void answered(void **state)
{
    (void)state;
    int slot = slot_take(collector);
    assert_int_equal(slot_state(slot), SLOT_TAKEN);
    slot_answer((uint32_t)slot, &here); /* nobody asked yet */
    assert_int_equal(slot_state(slot), SLOT_TAKEN);
    uint32_t seen = slot_answers(collector);
    slot_post(slot, self, 16, 4);
    assert_int_equal(slot_state(slot), SLOT_PENDING);
    slot_answer((uint32_t)slot, &here);
    assert_int_equal(slot_state(slot), SLOT_DONE);
    assert_int_equal(slot_answers(collector), seen + 1);
    assert_true(slot_at(slot)->stack.count > 0);
    assert_int_equal(slot_at(slot)->stack.capacity, 16);
    slot_answer((uint32_t)slot, &here); /* a second signal */
    assert_int_equal(slot_answers(collector), seen + 1);
    assert_false(slot_withdraw(slot));
    assert_int_equal(slot_abandon(slot), SLOT_DONE);
    slot_free(slot);
}

static void wrong_hint_and_wrong_thread(void **state)
{
    (void)state;
    int mine = slot_take(collector), other = slot_take(collector);
    slot_post(other, self + 1, 16, 0);
    slot_post(mine, self, 16, 0);
    slot_answer((uint32_t)other, &here);
    assert_int_equal(slot_state(other), SLOT_PENDING);
    assert_int_equal(slot_state(mine), SLOT_DONE);
    slot_answer(UINT32_MAX, &here);
    assert_int_equal(slot_state(other), SLOT_PENDING);
    assert_int_equal(slot_abandon(other), SLOT_TAKEN);
    slot_free(other);
    slot_free(mine);
}

static void late_signal(void **state)
{
    (void)state;
    int slot = slot_take(collector);
    slot_post(slot, self, 16, 0);
    assert_int_equal(slot_abandon(slot), SLOT_TAKEN);
    uint32_t seen = slot_answers(collector);
    slot_answer((uint32_t)slot, &here);
    assert_int_equal(slot_state(slot), SLOT_TAKEN);
    slot_free(slot);
    slot_answer((uint32_t)slot, &here);
    assert_int_equal(slot_state(slot), SLOT_FREE);
    assert_int_equal(slot_answers(collector), seen);
}

/* What a handler does that is stopped between its two steps, done by hand. */
static void given_up_while_running(void **state)
{
    (void)state;
    int slot = slot_take(collector);
    slot_post(slot, self, 16, 0);
    _Atomic uint32_t *word = &slot_at(slot)->state;
    *word = *word - SLOT_PENDING + SLOT_RUNNING;
    assert_false(slot_withdraw(slot));
    assert_int_equal(slot_abandon(slot), SLOT_ORPHANED);
    assert_int_equal(slot_abandon(slot), SLOT_ORPHANED);

    /* It is not handed out until the handler ends. */
    int rest[SLOT_COUNT], n = 0;
    for (int taken; (taken = slot_take(collector)) >= 0; n++) {
        assert_int_not_equal(taken, slot);
        rest[n] = taken;
    }
    assert_int_equal(n, SLOT_COUNT - 1);
    assert_false(slot_wait_free(0));
    slot_free(slot); /* as the handler does */
    assert_true(slot_wait_free(0));
    assert_int_equal(slot_take(collector), slot);
    slot_free(slot);
    while (n--)
        slot_free(rest[n]);
}

static void collectors_share(void **state)
{
    (void)state;
    assert_int_equal(slot_share(), SLOT_COUNT);
    int others[SLOT_COLLECTORS - 1];
    for (int i = 0; i < SLOT_COLLECTORS - 1; i++)
        assert_true((others[i] = slot_enter(getpid(), 0)) >= 0);
    assert_int_equal(slot_share(), SLOT_COUNT / SLOT_COLLECTORS);
    assert_int_equal(slot_enter(getpid(), sys_monotonic_ns() + 5000000), -1);
    slot_leave(others[3]);
    assert_int_equal(slot_enter(getpid(), 0), others[3]);
    for (int i = 0; i < SLOT_COLLECTORS - 1; i++)
        slot_leave(others[i]);
}

static void waits_are_bounded(void **state)
{
    (void)state;
    uint32_t seen = slot_answers(collector);
    uint64_t deadline = sys_monotonic_ns() + 2000000;
    slot_wait_answers(collector, seen, 1, deadline);
    assert_true(sys_monotonic_ns() >= deadline);
    slot_wait_answers(collector, seen - 1, 1, UINT64_MAX); /* already there */
}

/* Another process's pool: as a forked child finds it. */
static void new_process_starts_afresh(void **state)
{
    (void)state;
    int slot = slot_take(collector);
    slot_post(slot, self, 16, 0);
    int child = slot_enter(getpid() + 1, 0);
    assert_true(child >= 0);
    assert_int_equal(slot_state(slot), SLOT_FREE);
    int taken[SLOT_COUNT];
    for (int i = 0; i < SLOT_COUNT; i++)
        assert_true((taken[i] = slot_take(child)) >= 0);
    assert_int_equal(slot_take(child), -1);
    collector = slot_enter(getpid(), 0);
    assert_true(collector >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answered, begin, end),
        cmocka_unit_test_setup_teardown(wrong_hint_and_wrong_thread, begin, end),
        cmocka_unit_test_setup_teardown(late_signal, begin, end),
        cmocka_unit_test_setup_teardown(given_up_while_running, begin, end),
        cmocka_unit_test_setup_teardown(collectors_share, begin, end),
        cmocka_unit_test_setup_teardown(waits_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(new_process_starts_afresh, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
