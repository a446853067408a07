/* capture/collect_mach.c, os/darwin: threads wherever they are, by suspending them. */
#include "capture/mach_targets.h"

#include <sys/mman.h>

static struct captured got;

static void capture_once(struct target *target)
{
    assert_int_equal(capture_into(&got, target->id, NULL), FW_OK);
    check_nothing_left();
}

/* --- where threads are --------------------------------------------------------------------- */

static void asleep_in_read(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target target = {.body = read_pipe, .context = ends};
    target_begin_asleep(&target);
    for (int i = 0; i < 20; i++) {
        capture_once(&target);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, read_pipe), 1);
        if (i == 0)
            assert_int_equal(got.thread.state, 'S');
    }
    assert_int_equal(got.thread.id, target.id);
    assert_false(got.thread.is_main);
    assert_false(got.thread.is_self);
    assert_true(got.thread.held_ns > 0);
    assert_int_equal(write(ends[1], "x", 1), 1); /* the call was never broken off */
    target_end(&target);
    close(ends[0]);
    close(ends[1]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

KNOWN(lock_mutex) static void lock_mutex(struct target *target)
{
    target->ready = true;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void asleep_in_mutex(void **state)
{
    (void)state;
    struct target target = {.body = lock_mutex};
    pthread_mutex_lock(&mutex);
    target_begin_asleep(&target);
    capture_once(&target);
    pthread_mutex_unlock(&mutex);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, lock_mutex), 1);
}

static void running(void **state)
{
    (void)state;
    struct target target = {.body = spin};
    target_begin(&target, 0);
    for (int i = 0; i < 50; i++) {
        capture_once(&target);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, spin), 1);
    }
    target_end(&target);
}

/* A leaf without a frame of its own: on arm64 its caller is in the link register alone. */
unsigned spin_in_leaf(_Atomic bool *leave);
__asm__(".text\n.p2align 4\n.globl _spin_in_leaf\n_spin_in_leaf:\n.cfi_startproc\n"
#if defined(__aarch64__)
        "mov w8, #0\n"
        "1: add w8, w8, #1\n"
        "ldrb w9, [x0]\n"
        "cbz w9, 1b\n"
        "mov w0, w8\n"
        "ret\n"
#else
        "xorl %eax, %eax\n"
        "1: incl %eax\n"
        "cmpb $0, (%rdi)\n"
        "je 1b\n"
        "retq\n"
#endif
        ".cfi_endproc\n");

KNOWN(call_leaf) static void call_leaf(struct target *target)
{
    target->ready = true;
    spin_in_leaf(&target->leave);
    NOT_A_TAIL_CALL();
}

static void running_in_a_leaf(void **state)
{
    (void)state;
    struct target target = {.body = call_leaf};
    target_begin(&target, 0);
    for (int i = 0; i < 50; i++) {
        capture_once(&target);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, call_leaf), 1);
    }
    target_end(&target);
    assert_int_equal(FRAMES_IN(&got.thread.stack, spin_in_leaf), 1);
}

/* A large frame without a frame record, in the middle of a chain. */
void call_frameless(void (*function)(struct target *), struct target *target);
__asm__(".text\n.p2align 4\n.globl _call_frameless\n_call_frameless:\n.cfi_startproc\n"
#if defined(__aarch64__)
        "sub sp, sp, #496\n.cfi_def_cfa_offset 496\n"
        "str x30, [sp, #488]\n.cfi_offset w30, -8\n"
        "mov x8, x0\n"
        "mov x0, x1\n"
        "blr x8\n"
        "ldr x30, [sp, #488]\n"
        "add sp, sp, #496\n.cfi_def_cfa_offset 0\n"
        "ret\n"
#else
        "subq $504, %rsp\n.cfi_def_cfa_offset 512\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "callq *%rax\n"
        "addq $504, %rsp\n.cfi_def_cfa_offset 8\n"
        "retq\n"
#endif
        ".cfi_endproc\n");

KNOWN(above_frameless) static void above_frameless(struct target *target)
{
    call_frameless(spin, target);
    NOT_A_TAIL_CALL();
}

static void frameless_in_between(void **state)
{
    (void)state;
    struct target target = {.body = above_frameless};
    target_begin(&target, 0);
    capture_once(&target);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, spin), 1);
    assert_int_equal(FRAMES_IN(&got.thread.stack, call_frameless), 1);
    assert_int_equal(FRAMES_IN(&got.thread.stack, above_frameless), 1);
}

/* --- unusual stacks ------------------------------------------------------------------------ */

enum { DEPTH = 10000 };

static void recurse_deeply(struct target *target)
{
    descend(target, DEPTH - 1);
    NOT_A_TAIL_CALL();
}

static void recurse_a_little(struct target *target)
{
    descend(target, 49);
    NOT_A_TAIL_CALL();
}

static void deep_recursion(void **state)
{
    (void)state;
    struct target target = {.body = recurse_deeply};
    struct fw_threads_options options = {.size = sizeof options, .frames = 64, .tail = 16};
    target_begin(&target, 4 << 20);
    const uint64_t stops = machhost_calls("thread_suspend");
    assert_int_equal(capture_into(&got, target.id, &options), FW_OK);
    assert_int_equal(machhost_calls("thread_suspend") - stops, 2); /* and once more for the rest */
    check_nothing_left();
    target_end(&target);
    assert_whole(&got.thread);
    const struct fw_stack *stack = &got.thread.stack;
    assert_int_equal(stack->count, 64);
    assert_int_equal(stack->head, 48);
    unsigned kept = FRAMES_IN(stack, descend);
    assert_in_range(kept, 50, 63);
    assert_int_equal(stack->omitted + kept, DEPTH);
}

/* What most stacks are: one stop, one read in it; another one before brings the stack in. */
static void fifty_frames(void **state)
{
    (void)state;
    struct target target = {.body = recurse_a_little};
    target_begin(&target, 0);
    const uint64_t stops = machhost_calls("thread_suspend");
    const uint64_t reads = machhost_calls("vm_read_overwrite");
    struct fw_threads_options options = {.size = sizeof options, .skip_names = true};
    assert_int_equal(capture_into(&got, target.id, &options), FW_OK);
    assert_int_equal(machhost_calls("thread_suspend") - stops, 1);
    assert_int_equal(machhost_calls("vm_read_overwrite") - reads, 2);
    check_nothing_left();
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, descend), 50);
}

static struct target *interrupted;

KNOWN(on_alternate) static void on_alternate(int signal)
{
    (void)signal;
    interrupted->ready = true;
    wait_until_leave(interrupted);
}

/* The alternate stack lies between pages that cannot be read, and is smaller from the handler on
 * than a first copy. */
KNOWN(use_alternate) static void use_alternate(struct target *target)
{
    const size_t page = (size_t)getpagesize(), size = 40960;
    char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    mprotect(memory + page, size, PROT_READ | PROT_WRITE);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    stack_t none = {.ss_flags = SS_DISABLE, .ss_size = size};
    struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
    interrupted = target;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    NOT_A_TAIL_CALL();
    sigaltstack(&none, NULL);
    munmap(memory, size + 2 * page);
}

static void alternate_stack(void **state)
{
    (void)state;
    struct target target = {.body = use_alternate};
    target_begin_asleep(&target);
    capture_once(&target);
    target_end(&target);
    assert_whole(&got.thread);
    assert_int_equal(FRAMES_IN(&got.thread.stack, on_alternate), 1);
    assert_int_equal(FRAMES_IN(&got.thread.stack, use_alternate), 1);
    unsigned signals = 0;
    for (uint32_t i = 0; i < got.thread.stack.count; i++)
        signals += got.frames[i].flags & FW_FRAME_SIGNAL;
    assert_int_equal(signals, 1);
}

/* --- all threads --------------------------------------------------------------------------- */

enum { MANY = 40 };
static struct target many[MANY];

static void begin_many(void)
{
    memset(many, 0, sizeof many);
    for (int i = 0; i < MANY; i++) {
        many[i].body = i % 2 ? spin : recurse_a_little;
        if (i % 2 && i > 6) /* spinning ones are dear */
            many[i].body = wait_until_leave;
        many[i].ready = many[i].body == wait_until_leave;
        target_begin(&many[i], 256 << 10);
    }
}

static void end_many(void)
{
    for (int i = 0; i < MANY; i++)
        many[i].leave = true;
    for (int i = 0; i < MANY; i++)
        target_end(&many[i]);
}

static void check_many(void)
{
    for (int i = 0; i < MANY; i++) {
        struct fw_thread *thread = captured_thread(many[i].id);
        assert_non_null(thread);
        assert_whole(thread);
        assert_int_equal(FRAMES_IN(&thread->stack, descend),
                         many[i].body == recurse_a_little ? 50 : 0);
        assert_true(thread->held_ns > 0);
    }
}

static void all_threads(void **state)
{
    (void)state;
    begin_many();
    for (int at_once = 0; at_once < 2; at_once++) {
        struct fw_threads_options options = {.size = sizeof options, .at_once = at_once};
        assert_int_equal(capture_all(&options), FW_OK);
        check_nothing_left();
        assert_int_equal(thread_count, MANY + 1);
        check_many();
        const struct fw_thread *self = captured_thread(fw_thread_self());
        assert_non_null(self);
        assert_true(self->is_self);
        assert_true(self->is_main);
        assert_int_equal(self->held_ns, 0);
        assert_int_equal(self->stack.end, FW_END_ROOT);
        assert_int_equal(FRAMES_IN(&self->stack, all_threads), 1);

        options.skip_self = true;
        assert_int_equal(capture_all(&options), FW_OK);
        check_nothing_left();
        assert_int_equal(thread_count, MANY);
        assert_null(captured_thread(fw_thread_self()));
        check_many();
    }
    end_many();
}

/* All are stopped before the first is copied, and none goes on before the last was. */
static void at_one_moment(void **state)
{
    (void)state;
    struct fw_threads_options options = {.size = sizeof options, .at_once = true};
    options.skip_self = true;
    begin_many();
    struct machhost_times times;
    machhost_stopped_reset();
    const uint64_t stops = machhost_calls("thread_suspend");
    assert_int_equal(capture_all(&options), FW_OK);
    machhost_stopped(&times);
    assert_int_equal(times.windows, MANY);
    assert_int_equal(machhost_calls("thread_suspend") - stops, MANY);
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (size_t i = 0; i < thread_count; i++) {
        shortest = threads[i].held_ns < shortest ? threads[i].held_ns : shortest;
        longest = threads[i].held_ns > longest ? threads[i].held_ns : longest;
    }
    end_many();
    check_nothing_left();
    assert_true(shortest > 0 && longest > 0);
}

static void room_for_some(void **state)
{
    (void)state;
    fw_thread_id ids[THREADS];
    size_t count;
    begin_many();
    assert_int_equal(fw_threads_list(ids, THREADS, &count), FW_OK);
    assert_int_equal(count, MANY + 1);
    assert_int_equal(fw_threads_list(ids, 3, &count), FW_ERR_MEMORY);
    assert_int_equal(count, MANY + 1);
    assert_int_equal(fw_threads_capture(threads, 3, &count, frames, THREADS, NULL), FW_ERR_MEMORY);
    assert_int_equal(count, MANY + 1);
    for (int at_once = 0; at_once < 2; at_once++) {
        struct fw_threads_options options = {.size = sizeof options, .at_once = at_once};
        assert_int_equal(fw_threads_capture(threads, THREADS, &count, frames, 100, &options),
                         FW_OK);
        check_nothing_left();
        unsigned full = 0, without = 0;
        for (size_t i = 0; i < count; i++) {
            full += threads[i].stack.unavailable == FW_AVAILABLE;
            without += threads[i].stack.unavailable == FW_UNAVAILABLE_NO_ROOM;
        }
        assert_true(full > 0 && without > 0);
        assert_int_equal(full + without, count);
    }
    end_many();
}

/* --- who they are -------------------------------------------------------------------------- */

KNOWN(named_body) static void named_body(struct target *target)
{
    pthread_setname_np("a worker");
    target->ready = true;
    wait_until_leave(target);
}

static void names_and_ids(void **state)
{
    (void)state;
    struct target target = {.body = named_body};
    uint64_t system_id = 0;
    target_begin(&target, 0);
    assert_int_equal(fw_thread_of_pthread(target.thread), target.id);
    capture_once(&target);
    assert_string_equal(got.thread.name, "a worker");
    assert_int_equal(pthread_threadid_np(target.thread, &system_id), 0);
    assert_int_equal(got.thread.system_id, system_id);
    assert_int_equal(capture_into(&got, fw_thread_self(), NULL), FW_OK);
    assert_true(got.thread.is_self && got.thread.is_main);
    assert_int_equal(fw_thread_main(), fw_thread_self());
    assert_true(got.thread.name[0] != 0); /* the program's */

    struct fw_threads_options options = {.size = sizeof options, .skip_names = true};
    assert_int_equal(capture_into(&got, target.id, &options), FW_OK);
    assert_string_equal(got.thread.name, "");
    assert_int_equal(got.thread.system_id, system_id);
    assert_int_equal(got.thread.state, '?');
    check_nothing_left();
    target_end(&target);
}

static void nobody(void **state)
{
    (void)state;
    struct target target = {.body = named_body};
    target_begin(&target, 0);
    const fw_thread_id id = target.id;
    target_end(&target);
    assert_int_equal(capture_into(&got, id, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(capture_into(&got, 0, NULL), FW_ERR_ARGUMENT);
    assert_int_equal(capture_into(&got, 0x7fffff03, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(capture_into(&got, mach_task_self(), NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(fw_threads_signal(), 0);
    assert_int_equal(fw_threads_set_signal(0), FW_ERR_UNSUPPORTED);
    check_nothing_left();
}

/* --- queues -------------------------------------------------------------------------------- */

KNOWN(serve_queue) static void serve_queue(struct target *target)
{
    machhost_set_queue(target->context);
    target->ready = true;
    wait_until_leave(target);
    machhost_set_queue(NULL);
}

static const char *label_of(void *queue)
{
    static char label[FW_QUEUE_LABEL_SIZE];
    struct target target = {.body = serve_queue, .context = queue};
    target_begin(&target, 0);
    capture_once(&target);
    target_end(&target);
    memcpy(label, got.thread.queue, sizeof label);
    return label;
}

static void queue_labels(void **state)
{
    (void)state;
    const size_t page = (size_t)getpagesize();
    char long_label[100];
    memset(long_label, 'q', sizeof long_label);
    long_label[99] = 0;
    assert_string_equal(label_of(NULL), "");
    assert_string_equal(label_of(machhost_queue("com.example.work")), "com.example.work");
    assert_string_equal(label_of(machhost_queue("")), "");
    const char *label = label_of(machhost_queue(long_label));
    assert_int_equal(strlen(label), FW_QUEUE_LABEL_SIZE - 1);

    /* A label that ends with its page, a queue and a label that are no longer there. */
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    mprotect(memory + page, page, PROT_NONE);
    memcpy(memory + page - 5, "last", 5);
    assert_string_equal(label_of(machhost_queue(memory + page - 5)), "last");
    assert_string_equal(label_of(machhost_queue(memory + page)), "");
    assert_string_equal(label_of(memory + page), "");
    assert_string_equal(label_of(memory + 1), "");
    munmap(memory, 2 * page);
}

/* --- Swift async functions ------------------------------------------------------------------- */

/* Enters the frame of an async function with this context, and spins in it. */
void spin_in_async(_Atomic bool *leave, const void *context, _Atomic bool *ready);
__asm__(".text\n.p2align 4\n.globl _spin_in_async\n_spin_in_async:\n.cfi_startproc\n"
#if defined(__aarch64__)
        "orr x29, x29, #0x1000000000000000\n"
        "sub sp, sp, #32\n.cfi_def_cfa_offset 32\n"
        "stp x29, x30, [sp, #16]\n.cfi_offset w30, -8\n.cfi_offset w29, -16\n"
        "str x1, [sp, #8]\n"
        "add x29, sp, #16\n.cfi_def_cfa w29, 16\n"
        "mov w8, #1\n"
        "strb w8, [x2]\n"
        "1: ldrb w9, [x0]\n"
        "cbz w9, 1b\n"
        "ldp x29, x30, [sp, #16]\n"
        "and x29, x29, #0xefffffffffffffff\n"
        "add sp, sp, #32\n.cfi_def_cfa wsp, 0\n"
        "ret\n"
#else
        "btsq $60, %rbp\n"
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "pushq %rsi\n"
        "leaq 8(%rsp), %rbp\n.cfi_def_cfa_register %rbp\n"
        "movb $1, (%rdx)\n"
        "1: cmpb $0, (%rdi)\n"
        "je 1b\n"
        "addq $8, %rsp\n"
        "popq %rbp\n"
        "btrq $60, %rbp\n.cfi_def_cfa %rsp, 8\n"
        "retq\n"
#endif
        ".cfi_endproc\n");

struct context {
    const struct context *parent;
    void (*resume)(void);
};

KNOWN(first_async) static void first_async(void)
{
    NOT_A_TAIL_CALL();
}

KNOWN(second_async) static void second_async(void)
{
    __asm__ volatile("nop");
}

KNOWN(run_async) static void run_async(struct target *target)
{
    spin_in_async(&target->leave, target->context, &target->ready);
    NOT_A_TAIL_CALL();
}

static void async_chain(void **state)
{
    (void)state;
    /* On the heap, and gone when the copy is walked. */
    struct context *second = malloc(sizeof *second), *first = malloc(sizeof *first);
    *second = (struct context){NULL, second_async};
    *first = (struct context){second, first_async};
    struct target target = {.body = run_async, .context = first};
    target_begin(&target, 0);
    machhost_before("thread_resume", 0, free, second);
    capture_once(&target);
    const struct fw_stack *stack = &got.thread.stack;
    target_end(&target);
    free(first);
    if (stack->count != 3)
        print_stack(&got.thread);
    assert_int_equal(stack->count, 3);
    assert_int_equal(FRAMES_IN(stack, spin_in_async), 1);
    assert_int_equal(stack->frames[1].address, (uintptr_t)first_async);
    assert_int_equal(stack->frames[2].address, (uintptr_t)second_async);
    assert_int_equal(stack->frames[1].flags, FW_FRAME_ASYNC);
    assert_int_equal(stack->frames[2].flags, FW_FRAME_ASYNC);
    assert_int_equal(stack->end, FW_END_ROOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asleep_in_read),
        cmocka_unit_test(asleep_in_mutex),
        cmocka_unit_test(running),
        cmocka_unit_test(running_in_a_leaf),
        cmocka_unit_test(frameless_in_between),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(fifty_frames),
        cmocka_unit_test(alternate_stack),
        cmocka_unit_test(all_threads),
        cmocka_unit_test(at_one_moment),
        cmocka_unit_test(room_for_some),
        cmocka_unit_test(names_and_ids),
        cmocka_unit_test(nobody),
        cmocka_unit_test(queue_labels),
        cmocka_unit_test(async_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
