/*
 * capture/asleep.c, collect.c: threads that cannot answer a signal. Each must give its stack
 * another way or the right reason, in bounded time.
 */
#include "capture/targets.h"
#include "os/self_maps.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

static const struct fw_threads_options brief = {.size = sizeof brief, .timeout_ms = 60};

/* Does this system say where a thread sleeps? (qemu's emulation and some kernels do not.) */
static bool kernel_tells(fw_thread_id id)
{
    char path[64], text[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)id);
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    return got > 0 && !emulated();
}

/* Sleeps with all signals blocked, then counts the capture signals that piled up meanwhile. */
struct piled {
    int ends[2];
    int signals;
};

KNOWN(read_then_count) static void read_then_count(struct target *target)
{
    struct piled *piled = target->context;
    char byte;
    target->ready = true;
    while (read(piled->ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, fw_threads_signal());
    const struct timespec at_once = {0, 0};
    while (sigtimedwait(&set, NULL, &at_once) > 0)
        piled->signals++;
}

/* The whole stack, but only where no function on the way keeps its frame in a register that the
 * kernel does not show and the code does not prove: it is shorter then, never wrong. On x86_64 the
 * code of this file proves it, also when it keeps frame pointers. */
static void assert_asleep(const struct fw_thread *thread)
{
    assert_int_equal(thread->stack.unavailable, FW_AVAILABLE);
    assert_int_equal(thread->held_ns, 0);
    assert_true(thread->stack.count >= 1);
    assert_int_equal(thread->stack.frames[0].kind, FW_FRAME_EXACT);
    if (thread->stack.end != FW_END_ROOT) {
        print_stack(thread);
#if defined(__x86_64__)
        assert_true(UNDER_ASAN || UNDER_TSAN);
#endif
        assert_int_equal(thread->stack.end, FW_END_NO_INFO);
        print_message("only %u frames without the other registers\n",
                      (unsigned)thread->stack.count);
        return;
    }
    assert_whole(thread);
}

static void asleep_and_blocking(void **state)
{
    (void)state;
    struct piled piled = {.signals = 0};
    assert_int_equal(pipe(piled.ends), 0);
    struct target target = {.body = read_then_count, .context = &piled, .block_signals = true};
    struct captured got;
    target_begin_asleep(&target);
    bool tells = kernel_tells(target.id);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(capture_into(&got, target.id, &brief), FW_OK);
        if (tells)
            assert_asleep(&got.thread);
        else
            assert_int_equal(got.thread.stack.end, FW_END_UNAVAILABLE);
    }
    assert_int_equal(write(piled.ends[1], "x", 1), 1);
    target_end(&target);
    close(piled.ends[0]);
    close(piled.ends[1]);
    /* The queue of signals is limited for all programs of the user. */
    if (!emulated())
        assert_int_equal(piled.signals, 1);
}

static void running_and_blocking(void **state)
{
    (void)state;
    struct target target = {.body = spin, .block_signals = true};
    struct captured got;
    target_begin(&target, 0);
    assert_int_equal(capture_into(&got, target.id, &brief), FW_OK);
    assert_int_equal(got.thread.stack.end, FW_END_UNAVAILABLE);
    if (!emulated()) /* the emulator's own mask is shown there */
        assert_int_equal(got.thread.stack.unavailable, FW_UNAVAILABLE_BLOCKED);
    assert_int_equal(got.thread.stack.count, 0);
    target_end(&target);
}

KNOWN(spin_unblocked_later) static void spin_unblocked_later(struct target *target)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    target->ready = true;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (!*(_Atomic bool *)target->context);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    wait_until_leave(target);
}

/* A signal that waited past the deadline of its question is delivered when nobody asks any more,
 * and the next question is answered. */
static void late_signal_does_nothing(void **state)
{
    (void)state;
    _Atomic bool unblock = false;
    struct target target = {.body = spin_unblocked_later, .context = &unblock};
    target.block_signals = true;
    struct captured got;
    target_begin(&target, 0);
    assert_int_equal(capture_into(&got, target.id, &brief), FW_OK);
    assert_int_equal(got.thread.stack.end, FW_END_UNAVAILABLE);
    unblock = true;
    assert_true(reaches_state(target.id, 'S'));
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, spin_unblocked_later), 1);
    target_end(&target);
}

/* The parent of a vfork() sleeps uninterruptibly until its child is gone. */
KNOWN(fork_and_wait) static void fork_and_wait(struct target *target)
{
    int *ends = target->context;
    target->ready = true;
    pid_t child = vfork();
    if (child == 0) {
        char byte;
        syscall(SYS_close, ends[1]);
        syscall(SYS_read, ends[0], &byte, 1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void uninterruptible(void **state)
{
    (void)state;
    if (UNDER_TSAN || emulated()) /* vfork is fork there */
        skip();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = fork_and_wait, .context = ends};
    struct captured got;
    target_begin(&target, 0);
    if (!reaches_state(target.id, 'D')) {
        close(ends[1]);
        target_end(&target);
        skip();
    }
    bool tells = kernel_tells(target.id);
    assert_int_equal(capture_into(&got, target.id, &brief), FW_OK);
    close(ends[1]);
    target_end(&target);
    close(ends[0]);
    assert_int_equal(got.thread.state, 'D');
    if (tells) {
        assert_asleep(&got.thread);
    } else {
        assert_int_equal(got.thread.stack.unavailable, FW_UNAVAILABLE_UNINTERRUPTIBLE);
    }
}

static void gone(void **state)
{
    (void)state;
    struct target target = {.body = wait_until_leave, .ready = true};
    struct captured got;
    target_begin(&target, 0);
    fw_thread_id id = target.id;
    target_end(&target);
    while (syscall(SYS_tgkill, getpid(), id, 0) == 0)
        pause_ms(1);
    assert_int_equal(capture_into(&got, id, NULL), FW_ERR_NOT_FOUND);
}

/* The first thread may end before the others; it stays in the list as a zombie. */
static void *capture_zombie(void *context)
{
    (void)context;
    struct captured got;
    while (state_of(getpid()) != 'Z')
        pause_ms(1);
    fw_error error = capture_into(&got, getpid(), &brief);
    _exit(error == FW_OK && got.thread.stack.unavailable == FW_UNAVAILABLE_EXITED ? 0 : 1);
}

/* Then nothing that goes by the process's id tells of its memory any more. */
static void *capture_sleeper_after_zombie(void *context)
{
    struct target *target = context;
    struct captured got;
    struct self_mapping code, stack;
    uintptr_t word = 0x5ca1ab1e, copy = 0;
    while (state_of(getpid()) != 'Z' || !target->ready || state_of(target->id) != 'S')
        pause_ms(1);
    if (!self_mapping_find((uintptr_t)__start_known_known_caller, &code) || !code.executable ||
        !self_mapping_find((uintptr_t)&word, &stack) || stack.executable ||
        self_mapping_find(8, &stack))
        _exit(1);
    if (!self_read((uintptr_t)&word, &copy, sizeof copy) || copy != word)
        _exit(2);
    if (!kernel_tells(target->id))
        _exit(0);
    if (capture_into(&got, target->id, &brief) != FW_OK)
        _exit(3);
    _exit(got.thread.stack.end == FW_END_ROOT || got.thread.stack.end == FW_END_NO_INFO ? 0 : 4);
}

static void main_thread_gone(void **state)
{
    (void)state;
    if (UNDER_TSAN || emulated()) /* neither survives a first thread that ends */
        skip();
    struct piled piled = {.signals = 0};
    assert_int_equal(pipe(piled.ends), 0);
    void *(*const bodies[])(void *) = {capture_zombie, capture_sleeper_after_zombie};
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct target target = {
                .body = read_then_count, .context = &piled, .block_signals = true};
            pthread_t thread;
            pthread_create(&target.thread, NULL, target_main, &target);
            pthread_create(&thread, NULL, bodies[i], &target);
            syscall(SYS_exit, 0); /* this thread alone */
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    close(piled.ends[0]);
    close(piled.ends[1]);
}

/* A child process holds one of our threads as a debugger does. */
static pid_t hold_thread(fw_thread_id id, int *release)
{
    int held[2], done[2];
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(done), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte = 'n';
        close(done[1]);
        if (ptrace(PTRACE_SEIZE, id, NULL, NULL) == 0 &&
            ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 && waitpid(id, NULL, __WALL) == id)
            byte = 'y';
        if (write(held[1], &byte, 1) == 1 && read(done[0], &byte, 1) >= 0)
            ptrace(PTRACE_DETACH, id, NULL, NULL);
        _exit(0);
    }
    char byte = 'n';
    close(held[1]);
    close(done[0]);
    assert_int_equal(read(held[0], &byte, 1), 1);
    close(held[0]);
    *release = done[1];
    return byte == 'y' ? child : -child;
}

static void held_by_debugger(void **state)
{
    (void)state;
    if (UNDER_TSAN || emulated()) /* no ptrace */
        skip();
    struct target target = {.body = spin};
    struct captured got;
    target_begin(&target, 0);
    int release;
    pid_t holder = hold_thread(target.id, &release);
    fw_error error = capture_into(&got, target.id, &brief);
    close(release);
    waitpid(holder > 0 ? holder : -holder, NULL, 0);
    if (holder < 0) {
        target_end(&target);
        skip(); /* this system lets no child trace its parent */
    }
    assert_int_equal(error, FW_OK);
    assert_int_equal(got.thread.state, 't');
    if (got.thread.stack.end == FW_END_UNAVAILABLE)
        assert_int_equal(got.thread.stack.unavailable, FW_UNAVAILABLE_TIMEOUT);
    else
        assert_int_equal(FRAMES_IN(&got.thread.stack, spin), 1);

    /* And it goes on as if nothing had been. */
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target_end(&target);
    assert_whole(&got.thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asleep_and_blocking),
        cmocka_unit_test(running_and_blocking),
        cmocka_unit_test(late_signal_does_nothing),
        cmocka_unit_test(uninterruptible),
        cmocka_unit_test(gone),
        cmocka_unit_test(main_thread_gone),
        cmocka_unit_test(held_by_debugger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
