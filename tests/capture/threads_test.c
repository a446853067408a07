/* capture/threads.c, collect.c: threads that can answer, wherever they are. */
#include "capture/targets.h"
#include "support/platform.h"

#include <sys/mman.h>
#include <ucontext.h>

/* --- where threads sleep ------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

KNOWN(lock_mutex) static void lock_mutex(struct target *target)
{
    target->ready = true;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

KNOWN(wait_condition) static void wait_condition(struct target *target)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    target->ready = true;
    while (!target->leave)
        pthread_cond_wait(&condition, &own);
    pthread_mutex_unlock(&own);
}

KNOWN(sleep_long) static void sleep_long(struct target *target)
{
    target->ready = true;
    while (!target->leave)
        usleep(200000);
}

static void asleep_in_futex(void **state)
{
    (void)state;
    struct target target = {.body = lock_mutex};
    struct captured got;
    pthread_mutex_lock(&mutex);
    target_begin_asleep(&target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    pthread_mutex_unlock(&mutex);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, lock_mutex), 1);
    assert_int_equal(got.thread.id, target.id);
    assert_int_equal(got.thread.state, 'S');
    assert_false(got.thread.is_main);
    assert_false(got.thread.is_self);
    assert_true(got.thread.held_ns > 0);
}

static void asleep_in_condition(void **state)
{
    (void)state;
    struct target target = {.body = wait_condition};
    struct captured got;
    target_begin_asleep(&target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target.leave = true;
    while (pthread_tryjoin_np(target.thread, NULL) != 0) {
        pthread_cond_broadcast(&condition);
        pause_ms(1);
    }
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, wait_condition), 1);
}

static void asleep_in_read(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    struct captured got;
    target_begin_asleep(&target);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, read_pipe), 1);
    }
    assert_int_equal(write(ends[1], "x", 1), 1); /* the call was never broken off */
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
}

static void asleep_in_nanosleep(void **state)
{
    (void)state;
    struct target target = {.body = sleep_long};
    struct captured got;
    target_begin_asleep(&target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, sleep_long), 1);
}

static void running(void **state)
{
    (void)state;
    struct target target = {.body = spin};
    struct captured got;
    target_begin(&target, 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, spin), 1);
    }
    target_end(&target);
}

/* --- unusual stacks ------------------------------------------------------------------------ */

static struct target *interrupted;

KNOWN(on_alternate_stack) static void on_alternate_stack(int signal)
{
    (void)signal;
    interrupted->ready = true;
    wait_until_leave(interrupted);
}

KNOWN(use_alternate_stack) static void use_alternate_stack(struct target *target)
{
    const size_t size = 256 * 1024;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    stack_t none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK};
    interrupted = target;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    NOT_A_TAIL_CALL();
    sigaltstack(&none, NULL);
    free(stack.ss_sp);
}

static void alternate_stack(void **state)
{
    (void)state;
    NEEDS_TABLES_OF_LIBC();
    struct target target = {.body = use_alternate_stack};
    struct captured got;
    target_begin_asleep(&target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, on_alternate_stack), 1);
    assert_int_equal(FRAMES_IN(&got.thread.stack, use_alternate_stack), 1);
    unsigned signals = 0;
    for (uint32_t i = 0; i < got.thread.stack.count; i++)
        signals += got.frames[i].flags & FW_FRAME_SIGNAL;
    assert_int_equal(signals, 1);
}

static ucontext_t coroutine, resumer;
static struct target *coroutine_target;

KNOWN(coroutine_body) static void coroutine_body(void)
{
    coroutine_target->ready = true;
    wait_until_leave(coroutine_target);
    swapcontext(&coroutine, &resumer);
}

KNOWN(run_coroutine) static void run_coroutine(struct target *target)
{
    const size_t size = 256 * 1024;
    void *stack =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    coroutine_target = target;
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = size;
    coroutine.uc_link = &resumer;
    makecontext(&coroutine, coroutine_body, 0);
    swapcontext(&resumer, &coroutine);
    NOT_A_TAIL_CALL();
    munmap(stack, size);
}

/* The caller of a coroutine is not on its stack: known_caller must not be there. */
static void coroutine_stack(void **state)
{
    (void)state;
    struct target target = {.body = run_coroutine};
    struct captured got;
    target_begin_asleep(&target);
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target_end(&target);
    assert_int_equal(got.thread.stack.unavailable, FW_AVAILABLE);
    assert_int_equal(FRAMES_IN(&got.thread.stack, coroutine_body), 1);
    assert_int_equal(FRAMES_IN(&got.thread.stack, known_caller), 0);
}

enum { DEPTH = 100000 };

static void recurse_deeply(struct target *target)
{
    descend(target, DEPTH - 1);
    NOT_A_TAIL_CALL();
}

static void deep_recursion(void **state)
{
    (void)state;
    struct target target = {.body = recurse_deeply};
    struct captured got;
    struct fw_threads_options options = {.size = sizeof options, .frames = 64, .tail = 16};
    options.timeout_ms = patience_ms();
    target_begin(&target, (size_t)DEPTH * 256 + (1 << 20));
    assert_true(reaches_state(target.id, 'S'));
    assert_int_equal(capture_into(&got, target.id, &options), FW_OK);
    target_end(&target);
    assert_whole(&got.thread);
    const struct fw_stack *stack = &got.thread.stack;
    assert_int_equal(stack->count, 64);
    assert_int_equal(stack->head, 48);
    /* All but the few frames around the recursion are in it. */
    unsigned kept = FRAMES_IN(stack, descend);
    assert_in_range(kept, 50, 63);
    assert_int_equal(stack->omitted + kept, DEPTH);
}

/* --- lists, room, options ------------------------------------------------------------------ */

enum { MANY = 300 };

static struct target many[MANY];
static struct fw_thread threads[MANY + 8];
static struct fw_frame frames[(MANY + 8) * 32];

static void begin_many(void)
{
    memset(many, 0, sizeof many);
    for (int i = 0; i < MANY; i++) {
        many[i].body = sleep_well;
        target_begin(&many[i], 128 * 1024);
    }
}

static void end_many(void)
{
    for (int i = 0; i < MANY; i++)
        many[i].leave = true;
    for (int i = 0; i < MANY; i++)
        target_end(&many[i]);
}

static const struct fw_thread *find_thread(fw_thread_id id, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (threads[i].id == id)
            return &threads[i];
    return NULL;
}

KNOWN(capture_everybody)
static fw_error capture_everybody(size_t capacity, size_t *count, size_t room,
                                  struct fw_threads_options *options)
{
    memset(threads, 0xa5, sizeof threads);
    fw_error error = fw_threads_capture(threads, capacity, count, frames, room, options);
    NOT_A_TAIL_CALL();
    return error;
}

static void three_hundred_threads(void **state)
{
    (void)state;
    begin_many();
    struct fw_threads_options options = {.size = sizeof options, .timeout_ms = patience_ms()};
    size_t count = 0, others = 0;
    fw_error error =
        capture_everybody(MANY + 8, &count, sizeof frames / sizeof frames[0], &options);
    fw_thread_id ids[MANY + 8], few[4];
    size_t listed = 0, short_count = 0;
    fw_error list_error = fw_threads_list(ids, MANY + 8, &listed);
    fw_error short_error = fw_threads_list(few, 4, &short_count);
    end_many();

    assert_int_equal(error, FW_OK);
    assert_int_equal(list_error, FW_OK);
    assert_int_equal(listed, count);
    assert_int_equal(short_error, FW_ERR_MEMORY);
    assert_int_equal(short_count, count);
    for (int i = 0; i < MANY; i++) {
        const struct fw_thread *thread = find_thread(many[i].id, count);
        assert_non_null(thread);
        if (!emulated() ||
            thread->stack.end != FW_END_UNAVAILABLE) /* qemu loses a few of so many */
            assert_whole(thread);
        assert_string_equal(thread->name[0] ? "named" : "", "named");
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(threads[i].id, ids[i]);
        assert_int_equal(threads[i].is_main, threads[i].id == getpid());
        if (threads[i].is_self) {
            others++;
            const struct fw_frame *first = &threads[i].stack.frames[0];
            assert_int_equal(first->kind, FW_FRAME_RETURN);
            assert_in_range(first->address, (uintptr_t)__start_known_capture_everybody,
                            (uintptr_t)__stop_known_capture_everybody);
        }
    }
    assert_int_equal(others, 1);
}

static void too_little_room(void **state)
{
    (void)state;
    begin_many();
    struct fw_threads_options options = {.size = sizeof options, .timeout_ms = patience_ms()};
    options.skip_self = options.skip_names = true;
    size_t count = 0;
    fw_error few_frames = capture_everybody(MANY + 8, &count, 100, &options);
    size_t used = 0, without = 0, captured = 0;
    for (size_t i = 0; i < count; i++) {
        used += threads[i].stack.count;
        without += threads[i].stack.unavailable == FW_UNAVAILABLE_NO_ROOM;
        captured += threads[i].stack.unavailable == FW_AVAILABLE;
        assert_true(threads[i].stack.count == 0 ||
                    threads[i].stack.frames + threads[i].stack.count <= frames + 100);
    }
    size_t few_count = 0;
    fw_error few_threads =
        capture_everybody(5, &few_count, sizeof frames / sizeof frames[0], &options);
    end_many();

    assert_int_equal(few_frames, FW_OK);
    assert_int_equal(used, 100);
    assert_true(captured > 0 && without > 0);
    if (!emulated())
        assert_int_equal(captured + without, count);
    assert_null(find_thread((fw_thread_id)syscall(SYS_gettid), count));
    assert_int_equal(few_threads, FW_ERR_MEMORY);
    assert_int_equal(few_count, count);
    assert_int_equal(threads[4].stack.unavailable, FW_AVAILABLE);
    assert_int_equal((uint8_t)threads[5].state, 0xa5); /* untouched */
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct captured got;
    struct fw_threads_options options = {.size = sizeof options - 1};
    size_t count;
    assert_int_equal(capture_into(&got, 0, NULL), FW_ERR_ARGUMENT);
    assert_int_equal(capture_into(&got, getpid(), &options), FW_ERR_ARGUMENT);
    options = (struct fw_threads_options){.size = sizeof options, .frames = 257};
    assert_int_equal(capture_into(&got, getpid(), &options), FW_ERR_ARGUMENT);
    options = (struct fw_threads_options){.size = sizeof options, .frames = 8, .tail = 8};
    assert_int_equal(capture_into(&got, getpid(), &options), FW_ERR_ARGUMENT);
    assert_int_equal(capture_into(&got, 1, NULL), FW_ERR_NOT_FOUND); /* another process */
    assert_int_equal(fw_threads_list(NULL, 1, &count), FW_ERR_ARGUMENT);
    assert_int_equal(fw_threads_list(NULL, 0, &count), FW_ERR_MEMORY);
    assert_true(count >= 1);
}

KNOWN(capture_own) static fw_error capture_own(struct captured *got)
{
    fw_error error = capture_into(got, (fw_thread_id)syscall(SYS_gettid), NULL);
    NOT_A_TAIL_CALL();
    return error;
}

static void own_stack(void **state)
{
    (void)state;
    struct captured got;
    assert_int_equal(capture_own(&got), FW_OK);
    assert_true(got.thread.is_self);
    assert_true(got.thread.is_main);
    assert_int_equal(got.thread.held_ns, 0);
    assert_true(ends_as_whole(&got.thread.stack));
    assert_int_equal(FRAMES_IN(&got.thread.stack, capture_own), 1);
    assert_int_equal(got.frames[0].kind, FW_FRAME_RETURN);
}

static void name_is_read(void **state)
{
    (void)state;
    struct target target = {.body = sleep_well};
    struct captured got;
    target_begin_asleep(&target);
    pthread_setname_np(target.thread, "a) (R) 1 b");
    assert_int_equal(capture_into(&got, target.id, NULL), FW_OK);
    target_end(&target);
    assert_string_equal(got.thread.name, "a) (R) 1 b");
    assert_int_equal(got.thread.state, 'S');
}

int main(void)
{
    LEAVE_UNDER_TSAN();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asleep_in_futex),
        cmocka_unit_test(asleep_in_condition),
        cmocka_unit_test(asleep_in_read),
        cmocka_unit_test(asleep_in_nanosleep),
        cmocka_unit_test(running),
        cmocka_unit_test(alternate_stack),
        cmocka_unit_test(coroutine_stack),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(own_stack),
        cmocka_unit_test(name_is_read),
        cmocka_unit_test(three_hundred_threads),
        cmocka_unit_test(too_little_room),
        cmocka_unit_test(wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
