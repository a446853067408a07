/* Capturing the threads of another process: the right stacks, and the process left as it was. */
#include "capture/target.h"

#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct target target;

static int end_target(void **state)
{
    (void)state;
    target_end(&target);
    return 0;
}

static struct fw_process *open_target(void)
{
    struct fw_process *process = NULL;
    struct fw_failure why = {0};
    if (fw_process_open(target.pid, &process, &why) != FW_OK)
        fail_msg("%s", why.message);
    return process;
}

struct capture {
    const struct fw_process_thread *threads;
    size_t count;
};

static struct capture capture(struct fw_process *process, const struct fw_process_options *options)
{
    struct capture taken = {0};
    struct fw_failure why = {0};
    if (fw_process_capture(process, options, &taken.threads, &taken.count, &why) != FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(target_traced(target.pid), 0);
    return taken;
}

static void expect(struct fw_process *process, struct capture taken, const char *thread,
                   const char *const *functions)
{
    assert_true(stack_has(process, find_thread(taken.threads, taken.count, thread), functions));
}

static void check_all_kinds(const char *program, bool consistent)
{
    assert_true(target_start(&target, program,
                             LIST("futex:3", "nanosleep", "pipe:1", "spin:2", "altstack:1")));
    assert_true(target_wait_state(target.pid, 'S'));
    struct fw_process *process = open_target();
    struct fw_process_options options = {.size = sizeof options, .consistent = consistent};
    for (int round = 0; round < 3; round++) {
        struct capture taken = capture(process, &options);
        assert_int_equal(taken.count, 6);
        expect(process, taken, "t-futex", LIST("wait_futex", "recurse*4", "start"));
        expect(process, taken, "t-nanosleep", LIST("wait_nanosleep", "recurse*1", "start"));
        expect(process, taken, "t-pipe", LIST("wait_pipe", "recurse*2", "start"));
        expect(process, taken, "t-spin", LIST("wait_spin", "recurse*3", "start"));
        expect(process, taken, "t-altstack", LIST("wait_altstack", "recurse*2", "start"));
        expect(process, taken, "t-altstack", LIST("handler_on_other_stack"));
        const struct fw_process_thread *main = &taken.threads[0];
        assert_true(main->thread.is_main);
        assert_int_equal(main->thread.id, target.pid);
        assert_true(stack_has(process, main, LIST("wait_main", "main")));
        /* Not of a thread that was stopped a moment ago: it may still be running. */
        if (round == 0 && !consistent)
            assert_int_equal(main->thread.state, 'S');
        assert_int_equal(find_thread(taken.threads, taken.count, "t-spin")->thread.state, 'R');
        assert_true(main->pause_ns > 0);
        assert_int_equal(main->thread.stack.frames[0].kind, FW_FRAME_EXACT);
        assert_int_equal(main->thread.stack.frames[1].kind, FW_FRAME_RETURN);
    }
    fw_process_close(process);
}

static void names_of_all_threads(void **state)
{
    (void)state;
    check_all_kinds(FW_PROGRAM_THREADS, false);
}

static void names_of_all_threads_at_one_moment(void **state)
{
    (void)state;
    check_all_kinds(FW_PROGRAM_THREADS, true);
}

static void names_of_a_32_bit_program(void **state)
{
    (void)state;
#ifdef FW_PROGRAM_THREADS_32
    check_all_kinds(FW_PROGRAM_THREADS_32, false);
    struct fw_process *process = open_target();
    struct fw_process_info info;
    fw_process_describe(process, &info);
    assert_string_equal(info.arch, "i386");
    fw_process_close(process);
#else
    skip();
#endif
}

static void describes_the_process(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("pipe", "pipe")));
    struct fw_process *process = open_target();
    struct fw_process_info info;
    fw_process_describe(process, &info);
    char command[4096];
    snprintf(command, sizeof command, "%s pipe pipe", FW_PROGRAM_THREADS);
    assert_int_equal(info.pid, target.pid);
    assert_string_equal(info.command, command);
    assert_string_equal(strrchr(info.executable, '/'), strrchr(FW_PROGRAM_THREADS, '/'));
    assert_false(info.truncated);
    fw_process_close(process);
}

/* Any thread's id opens the process, and one thread can be asked for. */
static void one_thread_only(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("pipe", "futex:1")));
    struct fw_process *process = open_target();
    struct capture all = capture(process, NULL);
    fw_thread_id id = find_thread(all.threads, all.count, "t-futex")->thread.id;
    fw_process_close(process);

    assert_int_equal(fw_process_open(id, &process, NULL), FW_OK);
    struct fw_process_info info;
    fw_process_describe(process, &info);
    assert_int_equal(info.pid, target.pid);
    for (int consistent = 0; consistent < 2; consistent++) {
        struct fw_process_options options = {
            .size = sizeof options, .only = id, .consistent = consistent};
        struct capture one = capture(process, &options);
        assert_int_equal(one.count, 1);
        assert_int_equal(one.threads[0].thread.id, id);
        expect(process, one, "t-futex", LIST("wait_futex", "recurse*2", "start"));
        options.only = 1;
        assert_int_equal(fw_process_capture(process, &options, &one.threads, &one.count, NULL),
                         FW_ERR_NOT_FOUND);
    }
    fw_process_close(process);
}

static void check_deep(struct fw_process_options options, uint64_t depth)
{
    struct fw_process *process = open_target();
    struct capture taken = capture(process, &options);
    const struct fw_process_thread *deep = find_thread(taken.threads, taken.count, "t-futex");
    const struct fw_stack *stack = &deep->thread.stack;
    if (stack->end != FW_END_ROOT)
        stack_print(process, deep);
    assert_int_equal(stack->end, FW_END_ROOT);
    assert_true(stack->count + stack->omitted > depth + 3);
    assert_true(stack->count + stack->omitted < depth + 12);
    assert_true(stack->head < stack->count && stack->omitted > 0);
    struct fw_symbol symbol;
    fw_process_symbol(process, &stack->frames[stack->count - 1], &symbol);
    assert_false(symbol.name && !strcmp(symbol.name, "recurse"));
    bool start = false, wait = false;
    for (uint32_t i = 0; i < stack->count; i++) {
        fw_process_symbol(process, &stack->frames[i], &symbol);
        if (symbol.name && !strcmp(symbol.name, "wait_futex"))
            wait = i < stack->head;
        if (symbol.name && !strcmp(symbol.name, "start"))
            start = i >= stack->head;
    }
    assert_true(wait);
    assert_true(start);
    fw_process_close(process);
}

/* Deeper than the first copy: copied again. Deeper than the frames kept: innermost and outermost.
 */
static void deep_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("futex:100000", "pipe")));
    check_deep((struct fw_process_options){.size = sizeof(struct fw_process_options)}, DEPTH);
    check_deep((struct fw_process_options){.size = sizeof(struct fw_process_options),
                                           .stack_bytes = 4096,
                                           .max_frames = 100,
                                           .consistent = true},
               DEPTH);
}

/* Few frames are asked for: what is equal is the whole stack, not its first frames. */
static void cut_at_a_depth(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("futex:5", "futex:5", "futex:9")));
    assert_true(target_wait_all(target.pid, 'S'));
    struct fw_process *process = open_target();
    const struct fw_process_options options = {.size = sizeof options, .max_frames = 2};
    struct capture taken = capture(process, &options);
    const struct fw_stack *stack[3];
    assert_int_equal(taken.count, 4);
    for (unsigned i = 0; i < 3; i++) {
        stack[i] = &taken.threads[i + 1].thread.stack;
        assert_int_equal(stack[i]->count, 2);
        assert_int_equal(stack[i]->omitted, 0);
        assert_int_equal(stack[i]->end, FW_END_LIMIT);
        assert_int_equal(stack[i]->frames[1].address, stack[0]->frames[1].address);
    }
    assert_true(stack[0]->id == stack[1]->id);
    assert_true(stack[0]->id != stack[2]->id);
    fw_process_close(process);
}

/* A stopped process is captured and stays stopped; continued, it works. */
static void stopped_stays_stopped(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("futex:1", "nanosleep", "spin")));
    kill(target.pid, SIGSTOP);
    assert_true(target_wait_all(target.pid, 'T'));
    struct fw_process *process = open_target();
    for (int round = 0; round < 6; round++) {
        struct fw_process_options options = {.size = sizeof options, .consistent = round % 2};
        struct capture taken = capture(process, &options);
        assert_int_equal(taken.count, 4);
        expect(process, taken, "t-futex", LIST("wait_futex", "recurse*2", "start"));
        for (size_t i = 0; i < taken.count; i++)
            assert_int_equal(taken.threads[i].thread.state, 'T');
        assert_true(target_wait_all(target.pid, 'T'));
    }
    fw_process_close(process);
    int signals, early, status;
    kill(target.pid, SIGCONT);
    assert_true(target_counts(&target, &signals, &early));
    close(target.in);
    assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(target.out);
    target.pid = 0;
}

/* Signals that arrive while threads are stopped are all taken, and sleeps are not cut short. */
static void signals_and_sleeps_survive(void **state)
{
    (void)state;
    enum { SENT = 200 };
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("usr1", "nanosleep", "pipe")));
    struct fw_process *process = open_target();
    fw_process_capture(process, NULL, &(const struct fw_process_thread *){NULL}, &(size_t){0},
                       NULL);
    pid_t sender = fork();
    if (sender == 0) {
        for (int i = 0; i < SENT; i++) {
            while (sigqueue(target.pid, SIGRTMIN + 1, (union sigval){.sival_int = i}) != 0)
                usleep(100);
            usleep(500);
        }
        _exit(0);
    }
    int status;
    for (int round = 0; waitpid(sender, &status, WNOHANG) == 0; round++) {
        struct fw_process_options options = {.size = sizeof options, .consistent = round % 2};
        capture(process, &options);
    }
    fw_process_close(process);
    int signals = 0, early = -1;
    for (int i = 0; i < 500 && signals != SENT; i++) {
        usleep(10000);
        assert_true(target_counts(&target, &signals, &early));
    }
    assert_int_equal(signals, SENT);
    assert_int_equal(early, 0);
}

/* Threads that come and go do not disturb, and those that stay are never missing. */
static void threads_come_and_go(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS,
                             LIST("churn", "futex:2", "churn", "pipe:1", "nanosleep:4")));
    struct fw_process *process = open_target();
    for (int round = 0; round < 60; round++) {
        struct fw_process_options options = {.size = sizeof options, .consistent = round % 2};
        struct capture taken = capture(process, &options);
        expect(process, taken, "t-futex", LIST("wait_futex", "recurse*3", "start"));
        expect(process, taken, "t-pipe", LIST("wait_pipe", "recurse*2", "start"));
        expect(process, taken, "t-nanosleep", LIST("wait_nanosleep", "recurse*5", "start"));
        for (size_t i = 0; i < taken.count; i++)
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(taken.threads[i].thread.id, taken.threads[k].thread.id);
    }
    fw_process_close(process);
}

static void kill_target(void *context, size_t done, size_t total)
{
    (void)context;
    (void)total;
    if (done == 2)
        kill(target.pid, SIGKILL);
}

static void killed_meanwhile(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS,
                             LIST("pipe", "pipe", "pipe", "pipe", "futex", "futex")));
    struct fw_process *process = open_target();
    struct fw_process_options options = {.size = sizeof options, .progress = kill_target};
    struct capture taken;
    struct fw_failure why = {0};
    assert_int_equal(fw_process_capture(process, &options, &taken.threads, &taken.count, &why),
                     FW_ERR_VANISHED);
    assert_true(taken.count >= 2 && taken.count < 7);
    assert_non_null(strstr(why.message, "ended during the capture"));
    waitpid(target.pid, NULL, 0);
    assert_int_equal(fw_process_capture(process, &options, &taken.threads, &taken.count, &why),
                     FW_ERR_VANISHED);
    assert_int_equal(taken.count, 0);
    fw_process_close(process);
    target.pid = 0;
}

/* A child with a number of our choice, which sleeps; -1 where the system does not let us choose. */
static pid_t begin_with_number(pid_t number)
{
    const struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    while (child == 0)
        pause();
    return child;
}

/* Numbers of processes come again; what was learnt of one must not be believed of the next. */
static void number_of_another_process(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("pipe")));
    struct fw_process *process = open_target();
    assert_true(capture(process, NULL).count > 0);
    pid_t number = target.pid;
    target_end(&target);
    usleep(100000); /* the clock that tells processes apart ticks every 10 ms */
    pid_t next = begin_with_number(number);
    if (next < 0) {
        fw_process_close(process);
        skip(); /* only the privileged choose, since Linux 5.5 */
    }
    struct capture taken;
    struct fw_failure why = {0};
    fw_error error = fw_process_capture(process, NULL, &taken.threads, &taken.count, &why);
    kill(next, SIGKILL);
    waitpid(next, NULL, 0);
    assert_int_equal(error, FW_ERR_VANISHED);
    assert_int_equal(taken.count, 0);
    fw_process_close(process);
}

static void main_thread_ended(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("exit-main", "futex:1", "pipe:2")));
    assert_true(target_wait_state(target.pid, 'Z'));
    struct fw_process *process = open_target();
    for (int consistent = 0; consistent < 2; consistent++) {
        struct fw_process_options options = {.size = sizeof options, .consistent = consistent};
        struct capture taken = capture(process, &options);
        assert_int_equal(taken.count, 3);
        expect(process, taken, "t-futex", LIST("wait_futex", "recurse*2", "start"));
        expect(process, taken, "t-pipe", LIST("wait_pipe", "recurse*3", "start"));
        assert_int_equal(taken.threads[0].thread.state, 'Z');
        assert_int_equal(taken.threads[0].thread.stack.end, FW_END_UNAVAILABLE);
        assert_int_equal(taken.threads[0].thread.stack.unavailable, FW_UNAVAILABLE_EXITED);
    }
    fw_process_close(process);
}

/* A parent in vfork cannot be stopped until its child goes on. */
static void uninterruptible_sleep(void **state)
{
    (void)state;
    assert_true(target_start(&target, FW_PROGRAM_THREADS, LIST("vfork:1", "pipe:1")));
    struct fw_process *process = open_target();
    struct capture taken = {0};
    for (int consistent = 0; consistent < 2; consistent++) {
        const struct fw_process_thread *thread = NULL;
        for (int i = 0; i < 100; i++) {
            struct fw_process_options options = {.size = sizeof options, .consistent = consistent};
            taken = capture(process, &options);
            thread = find_thread(taken.threads, taken.count, "t-vfork");
            if (thread->thread.state == 'D')
                break;
        }
        assert_int_equal(thread->thread.state, 'D');
        expect(process, taken, "t-vfork", LIST("wait_vfork", "recurse*2", "start"));
        expect(process, taken, "t-pipe", LIST("wait_pipe", "recurse*2", "start"));
    }
    fw_process_close(process);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    struct fw_process *process;
    struct fw_failure why = {0};
    assert_int_equal(fw_process_open(0, &process, &why), FW_ERR_ARGUMENT);
    assert_int_equal(fw_process_open(getpid(), &process, &why), FW_ERR_ARGUMENT);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_true(target_wait_state(child, 'Z'));
    assert_int_equal(fw_process_open(child, &process, &why), FW_ERR_VANISHED);
    assert_non_null(strstr(why.message, "zombie"));
    waitpid(child, NULL, 0);
    assert_int_equal(fw_process_open(child, &process, &why), FW_ERR_NOT_FOUND);
    assert_null(process);
    char name[64];
    snprintf(name, sizeof name, "process %d", (int)child);
    assert_non_null(strstr(why.message, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_of_all_threads, end_target),
        cmocka_unit_test_teardown(names_of_all_threads_at_one_moment, end_target),
        cmocka_unit_test_teardown(names_of_a_32_bit_program, end_target),
        cmocka_unit_test_teardown(describes_the_process, end_target),
        cmocka_unit_test_teardown(one_thread_only, end_target),
        cmocka_unit_test_teardown(deep_recursion, end_target),
        cmocka_unit_test_teardown(cut_at_a_depth, end_target),
        cmocka_unit_test_teardown(stopped_stays_stopped, end_target),
        cmocka_unit_test_teardown(signals_and_sleeps_survive, end_target),
        cmocka_unit_test_teardown(threads_come_and_go, end_target),
        cmocka_unit_test_teardown(killed_meanwhile, end_target),
        cmocka_unit_test_teardown(number_of_another_process, end_target),
        cmocka_unit_test_teardown(main_thread_ended, end_target),
        cmocka_unit_test_teardown(uninterruptible_sleep, end_target),
        cmocka_unit_test_teardown(what_cannot_be_opened, end_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
