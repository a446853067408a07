/*
 * capture/collect_mach.c, os/darwin: whatever the system refuses, each thread goes on as it was,
 * nothing that was lent is kept, and what is missing says why.
 */
#include "capture/mach_targets.h"

#include <sys/mman.h>

static struct captured got;

/* --- every call fails, at every time ------------------------------------------------------- */

enum { TARGETS = 3 };
static struct target targets[TARGETS];

static void begin_targets(void)
{
    memset(targets, 0, sizeof targets);
    for (int i = 0; i < TARGETS; i++) {
        targets[i].body = spin;
        target_begin(&targets[i], 0);
    }
}

static void end_targets(void)
{
    for (int i = 0; i < TARGETS; i++)
        target_end(&targets[i]);
}

/* Whatever happened, each thread has a stack or a reason, and lives. */
static void check_answers(fw_error error)
{
    check_nothing_left();
    if (error != FW_OK) {
        assert_true(error == FW_ERR_SYSTEM || error == FW_ERR_PERMISSION);
        return;
    }
    for (int i = 0; i < TARGETS; i++) {
        const struct fw_thread *thread = captured_thread(targets[i].id);
        assert_non_null(thread);
        const struct fw_stack *stack = &thread->stack;
        assert_true((stack->end == FW_END_UNAVAILABLE) == (stack->unavailable != FW_AVAILABLE));
        assert_true((stack->count > 0) == (stack->unavailable == FW_AVAILABLE));
    }
}

static void check_whole(void)
{
    struct fw_threads_options options = {.size = sizeof options};
    assert_int_equal(capture_all(&options), FW_OK);
    check_nothing_left();
    for (int i = 0; i < TARGETS; i++)
        assert_whole(captured_thread(targets[i].id));
}

static const char *const calls[] = {
    "task_threads",      "thread_info",   "thread_suspend", "thread_get_state",
    "vm_read_overwrite", "thread_resume", "vm_allocate",
};

static const int errors[] = {KERN_INVALID_ADDRESS,   KERN_PROTECTION_FAILURE, KERN_FAILURE,
                             KERN_RESOURCE_SHORTAGE, KERN_NO_ACCESS,          KERN_ABORTED};

static void each_call_fails_once(void **state)
{
    (void)state;
    begin_targets();
    for (int at_once = 0; at_once < 2; at_once++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            struct fw_threads_options options = {.size = sizeof options, .at_once = at_once};
            uint64_t before = machhost_calls(calls[c]);
            assert_int_equal(capture_all(&options), FW_OK);
            unsigned made = (unsigned)(machhost_calls(calls[c]) - before);
            for (unsigned nth = 0; nth < made; nth++) {
                int error = errors[(nth + c) % (sizeof errors / sizeof *errors)];
                machhost_fail(calls[c], nth, error);
                check_answers(capture_all(&options));
            }
            machhost_fail_all(calls[c], 0); /* also one that was never reached */
        }
    check_whole();
    end_targets();
}

static void each_call_fails_always(void **state)
{
    (void)state;
    begin_targets();
    for (int at_once = 0; at_once < 2; at_once++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            if (strcmp(calls[c], "thread_resume") == 0)
                continue; /* nobody could make good for that */
            struct fw_threads_options options = {.size = sizeof options, .at_once = at_once};
            for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
                machhost_fail_all(calls[c], errors[e]);
                fw_error error = capture_all(&options);
                machhost_fail_all(calls[c], 0);
                check_answers(error);
            }
        }
    check_whole();
    end_targets();
}

/* --- what each refusal is called ----------------------------------------------------------- */

static fw_unavailable reason_when(const char *call, int error)
{
    machhost_fail_all(call, error);
    assert_int_equal(capture_into(&got, targets[0].id, NULL), FW_OK);
    machhost_fail_all(call, 0);
    check_nothing_left();
    return (fw_unavailable)got.thread.stack.unavailable;
}

static void reasons(void **state)
{
    (void)state;
    begin_targets();
    assert_int_equal(reason_when("thread_suspend", KERN_TERMINATED), FW_UNAVAILABLE_EXITED);
    assert_int_equal(reason_when("thread_suspend", MACH_SEND_INVALID_DEST), FW_UNAVAILABLE_EXITED);
    assert_int_equal(reason_when("thread_suspend", KERN_INVALID_ARGUMENT), FW_UNAVAILABLE_EXITED);
    assert_int_equal(reason_when("thread_suspend", KERN_NO_ACCESS), FW_UNAVAILABLE_PERMISSION);
    assert_int_equal(reason_when("thread_suspend", KERN_FAILURE), FW_UNAVAILABLE_PERMISSION);
    assert_int_equal(reason_when("thread_get_state", KERN_TERMINATED), FW_UNAVAILABLE_EXITED);
    assert_int_equal(reason_when("thread_get_state", KERN_FAILURE), FW_UNAVAILABLE_PERMISSION);

    /* Registers, but no memory: the innermost frame. */
    assert_int_equal(reason_when("vm_read_overwrite", KERN_INVALID_ADDRESS), FW_AVAILABLE);
    assert_int_equal(FRAMES_IN(&got.thread.stack, spin), 1);
    assert_true(got.thread.stack.end != FW_END_ROOT);

    machhost_fail_all("task_threads", KERN_NO_ACCESS);
    size_t count;
    fw_thread_id ids[8];
    assert_int_equal(fw_threads_list(ids, 8, &count), FW_ERR_PERMISSION);
    assert_int_equal(capture_into(&got, targets[0].id, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(capture_all(NULL), FW_ERR_PERMISSION);
    machhost_fail_all("task_threads", 0);
    check_nothing_left();
    end_targets();
}

/* --- threads that end meanwhile ------------------------------------------------------------ */

static void end_one(void *context)
{
    target_end(context);
}

static void ends_before_the_stop(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        struct fw_threads_options options = {.size = sizeof options, .at_once = at_once};
        begin_targets();
        const fw_thread_id gone = targets[1].id;
        machhost_before("thread_suspend", 0, end_one, &targets[1]);
        assert_int_equal(capture_all(&options), FW_OK);
        check_nothing_left();
        const struct fw_thread *thread = captured_thread(gone);
        assert_non_null(thread);
        assert_int_equal(thread->stack.end, FW_END_UNAVAILABLE);
        assert_int_equal(thread->stack.unavailable, FW_UNAVAILABLE_EXITED);
        assert_whole(captured_thread(targets[0].id));
        assert_whole(captured_thread(targets[2].id));
        target_end(&targets[0]);
        target_end(&targets[2]);
    }
}

static void ends_before_it_is_described(void **state)
{
    (void)state;
    begin_targets();
    const fw_thread_id gone = targets[1].id;
    machhost_before("thread_info", 0, end_one, &targets[1]);
    assert_int_equal(capture_all(NULL), FW_OK);
    check_nothing_left();
    const struct fw_thread *thread = captured_thread(gone);
    assert_non_null(thread);
    assert_int_equal(thread->stack.unavailable, FW_UNAVAILABLE_EXITED);
    target_end(&targets[0]);
    target_end(&targets[2]);
}

/* A deep stack needs a second stop, which finds nobody. */
enum {
    DEPTH = 4000,
    PAD = 512 /* bytes of each frame: more than is kept from one capture to the next */
};

KNOWN(recurse) static unsigned recurse(struct target *target, unsigned depth)
{
    char pad[PAD];
    unsigned below = 0;
    __asm__ volatile("" ::"r"(pad) : "memory");
    if (depth)
        below = recurse(target, depth - 1);
    else
        spin(target);
    NOT_A_TAIL_CALL();
    return below + 1;
}

static void recurse_deeply(struct target *target)
{
    recurse(target, DEPTH - 1);
    NOT_A_TAIL_CALL();
}

/* The stack as far as the first copy went. */
static void check_first_copy(void)
{
    const struct fw_stack *stack = &got.thread.stack;
    check_nothing_left();
    assert_int_equal(stack->unavailable, FW_AVAILABLE);
    assert_int_equal(FRAMES_IN(stack, spin), 1);
    assert_true(FRAMES_IN(stack, recurse) > 10);
    assert_int_equal(FRAMES_IN(stack, known_caller), 0);
    assert_true(stack->end != FW_END_ROOT);
}

static void ends_before_the_second_stop(void **state)
{
    (void)state;
    struct target target = {.body = recurse_deeply};
    target_begin(&target, 8 << 20);
    machhost_before("thread_suspend", 1, end_one, &target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    check_first_copy();
}

static void second_stop_is_refused(void **state)
{
    (void)state;
    struct target target = {.body = recurse_deeply};
    target_begin(&target, 8 << 20);
    static const char *const refused[] = {"thread_suspend", "thread_get_state"};
    for (unsigned i = 0; i < 2; i++) {
        machhost_fail(refused[i], 1, KERN_FAILURE);
        assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
        check_first_copy();
    }
    /* No memory for the second copy. */
    machhost_fail_all("vm_allocate", KERN_NO_SPACE);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    machhost_fail_all("vm_allocate", 0);
    check_first_copy();

    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    check_nothing_left();
    assert_whole(&got.thread);
    target_end(&target);
}

/* --- several callers ----------------------------------------------------------------------- */

static _Atomic bool enough;
static _Atomic unsigned captures, incomplete;

/* Each captures all, itself and the other callers included. */
static void *capture_in_a_loop(void *context)
{
    enum { ROOM = 16 };
    struct fw_thread *list = calloc(ROOM, sizeof *list);
    struct fw_frame *room = calloc(ROOM * 64, sizeof *room);
    /* Waiting for the others' windows takes long on a machine that is busy, and under emulation. */
    struct fw_threads_options options = {.size = sizeof options, .timeout_ms = 60000};
    options.at_once = context != NULL;
    while (!enough) {
        size_t count = 0;
        fw_error error = fw_threads_capture(list, ROOM, &count, room, ROOM * 64, &options);
        if (error != FW_OK)
            incomplete++;
        for (size_t i = 0; error == FW_OK && i < count; i++)
            incomplete += list[i].stack.unavailable != FW_AVAILABLE &&
                          list[i].stack.unavailable != FW_UNAVAILABLE_EXITED;
        captures++;
    }
    free(list);
    free(room);
    return NULL;
}

static void callers_capture_each_other(void **state)
{
    (void)state;
    enum { CALLERS = 6, ENOUGH = 400 };
    pthread_t callers[CALLERS];
    begin_targets();
    enough = false;
    captures = incomplete = 0;
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(
            pthread_create(&callers[i], NULL, capture_in_a_loop, i % 2 ? &callers[i] : NULL), 0);
    for (int i = 0; i < 60000 && captures < ENOUGH; i++)
        pause_ms(1);
    const unsigned done = captures;
    enough = true;
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    assert_true(done >= ENOUGH);
    assert_int_equal(incomplete, 0);
    check_nothing_left();
    check_whole();
    end_targets();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails_once),
        cmocka_unit_test(each_call_fails_always),
        cmocka_unit_test(reasons),
        cmocka_unit_test(ends_before_the_stop),
        cmocka_unit_test(ends_before_it_is_described),
        cmocka_unit_test(ends_before_the_second_stop),
        cmocka_unit_test(second_stop_is_refused),
        cmocka_unit_test(callers_capture_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
