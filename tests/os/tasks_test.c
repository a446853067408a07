/* os/linux/tasks.c: what /proc says of the threads of this process. */
#include "os/linux/tasks.h"

#include "capture/targets.h"

#include <grp.h>

struct seen {
    fw_thread_id ids[64];
    size_t count;
};

static bool remember(void *context, unsigned pass, fw_thread_id id)
{
    struct seen *seen = context;
    if (pass == 0 && seen->count < 64)
        seen->ids[seen->count++] = id;
    return false;
}

static void lists_everybody(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    struct seen seen = {.count = 0};
    target_begin_asleep(&target);
    assert_int_equal(os_threads_each(remember, &seen), FW_OK);
    bool found = false;
    for (size_t i = 0; i < seen.count; i++)
        found |= seen.ids[i] == target.id;
    assert_int_equal(seen.ids[0], getpid());
    assert_true(found);
    assert_int_equal(write(ends[1], "x", 1), 1);
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
}

static struct fw_thread described(fw_thread_id id)
{
    struct fw_thread thread = {.id = id, .state = '?'};
    os_thread_describe(&thread, true);
    return thread;
}

static void describes(void **state)
{
    (void)state;
    static const char *const names[] = {"", "plain", "a b", "x) S 1 (", "()()()", "\n\t\\", ")"};
    struct fw_thread before = described(getpid());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pthread_setname_np(pthread_self(), names[i]);
        struct fw_thread thread = described(getpid());
        assert_string_equal(thread.name, names[i]);
        assert_int_equal(thread.state, 'R');
        assert_int_equal(thread.system_id, getpid());
    }
    pthread_setname_np(pthread_self(), before.name);
}

static void status_of(void **state)
{
    (void)state;
    if (emulated()) /* the emulator's own mask is shown there */
        skip();
    sigset_t set, old;
    struct task_status status;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    assert_int_equal(tasks_status((fw_thread_id)syscall(SYS_gettid), &status), FW_OK);
    assert_int_equal(status.state, 'R');
    assert_true(status.blocked >> (SIGRTMIN + 3 - 1) & 1);
    assert_int_equal(status.pending, 0);
    pthread_kill(pthread_self(), SIGRTMIN + 3);
    assert_int_equal(tasks_status((fw_thread_id)syscall(SYS_gettid), &status), FW_OK);
    assert_true(status.pending >> (SIGRTMIN + 3 - 1) & 1);
    const struct timespec at_once = {0, 0};
    assert_int_equal(sigtimedwait(&set, NULL, &at_once), SIGRTMIN + 3);
    pthread_sigmask(SIG_SETMASK, &old, NULL);

    uint64_t before = status.switches;
    pause_ms(2);
    assert_int_equal(tasks_status((fw_thread_id)syscall(SYS_gettid), &status), FW_OK);
    assert_true(status.switches > before);
}

/* A user of many groups: the line that lists them is longer than any piece that is read. */
static void status_with_a_long_line(void **state)
{
    (void)state;
    enum { GROUPS = 3000 };
    pid_t child = fork();
    if (child == 0) {
        static gid_t groups[GROUPS];
        struct task_status status, again;
        for (gid_t i = 0; i < GROUPS; i++)
            groups[i] = 100000 + i;
        if (setgroups(GROUPS, groups) != 0)
            _exit(77);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN + 3);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        if (tasks_status(getpid(), &status) != FW_OK || status.state != 'R' ||
            !(status.blocked >> (SIGRTMIN + 3 - 1) & 1))
            _exit(1);
        pause_ms(2);
        if (tasks_status(getpid(), &again) != FW_OK || again.switches <= status.switches)
            _exit(2);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77 || emulated())
        skip(); /* only the privileged join groups */
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void registers_of_a_sleeper(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    struct task_registers registers;
    target_begin_asleep(&target);
    fw_error error = tasks_registers(target.id, &registers);
    pthread_attr_t attr;
    void *stack;
    size_t size;
    pthread_getattr_np(target.thread, &attr);
    pthread_attr_getstack(&attr, &stack, &size);
    pthread_attr_destroy(&attr);
    assert_int_equal(write(ends[1], "x", 1), 1);
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
    if (error == FW_ERR_UNSUPPORTED || emulated())
        skip();
    assert_int_equal(error, FW_OK);
    assert_true(registers.in_call);
    assert_int_equal(registers.argument[0], ends[0]);
    assert_int_equal(registers.argument[2], 1);
    assert_in_range(registers.sp, (uintptr_t)stack, (uintptr_t)stack + size);
}

static void registers_of_a_runner(void **state)
{
    (void)state;
    struct target target = {.body = spin};
    struct task_registers registers;
    target_begin(&target, 0);
    fw_error error = tasks_registers(target.id, &registers);
    target_end(&target);
    if (error == FW_ERR_UNSUPPORTED)
        skip();
    assert_int_equal(error, FW_ERR_VANISHED);
}

static void nobody(void **state)
{
    (void)state;
    struct task_status status;
    struct task_registers registers;
    struct fw_thread other = described(1); /* another process */
    assert_int_equal(other.state, '?');
    assert_string_equal(other.name, "");
    assert_false(os_thread_keep(1));
    assert_true(os_thread_keep(fw_thread_self()));
    os_thread_release(fw_thread_self());
    assert_int_equal(tasks_status(1, &status), FW_ERR_NOT_FOUND);
    assert_int_equal(tasks_registers(1, &registers), FW_ERR_NOT_FOUND);
    assert_int_equal(tasks_status(INT32_MAX, &status), FW_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_everybody),
        cmocka_unit_test(describes),
        cmocka_unit_test(status_of),
        cmocka_unit_test(status_with_a_long_line),
        cmocka_unit_test(registers_of_a_sleeper),
        cmocka_unit_test(registers_of_a_runner),
        cmocka_unit_test(nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
