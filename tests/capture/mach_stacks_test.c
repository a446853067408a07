/* capture/collect_mach.c, os/darwin: stacks whose bounds nobody tells, or that a thread has left.
 */
#include "capture/mach_targets.h"

#include <dlfcn.h>
#include <sys/mman.h>

static struct captured got;

static void capture_once(struct target *target)
{
    assert_int_equal(capture_into(&got, target->id, NULL), FW_OK);
    check_nothing_left();
}

/* --- other stacks than the thread's -------------------------------------------------------- */

/* Calls function(argument) on another stack, whose outermost frame this is. */
void run_on_stack(void *top, void (*function)(struct target *), struct target *argument);
__asm__(".text\n.p2align 4\n.globl _run_on_stack\n_run_on_stack:\n.cfi_startproc\n"
#if defined(__aarch64__)
        ".cfi_undefined w30\n"
        "stp x29, x30, [sp, #-32]!\n"
        "str x19, [sp, #16]\n"
        "mov x19, sp\n"
        "mov sp, x0\n"
        "mov x29, #0\n"
        "mov x0, x2\n"
        "blr x1\n"
        "mov sp, x19\n"
        "ldr x19, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
#else
        ".cfi_undefined %rip\n"
        "pushq %rbp\n"
        "pushq %rbx\n"
        "movq %rsp, %rbx\n"
        "movq %rdi, %rsp\n"
        "xorl %ebp, %ebp\n"
        "movq %rdx, %rdi\n"
        "callq *%rsi\n"
        "movq %rbx, %rsp\n"
        "popq %rbx\n"
        "popq %rbp\n"
        "retq\n"
#endif
        ".cfi_endproc\n");

enum { DEPTH = 6000 };

KNOWN(fiber) static void fiber(struct target *target)
{
    descend(target, *(const unsigned *)target->context);
    NOT_A_TAIL_CALL();
}

/* Between pages that cannot be read. */
static void run_fiber(struct target *target)
{
    const size_t page = (size_t)getpagesize(), size = 1 << 20;
    char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    mprotect(memory + page, size, PROT_READ | PROT_WRITE);
    run_on_stack(memory + page + size, fiber, target);
    munmap(memory, size + 2 * page);
}

static void on_a_fiber(void **state)
{
    (void)state;
    static const unsigned depths[] = {0, 20, 300, DEPTH};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct target target = {
            .body = run_fiber, .context = (void *)(uintptr_t)&depths[i], .innermost = spin};
        target_begin(&target, 0);
        capture_once(&target);
        target_end(&target);
        const struct fw_stack *stack = &got.thread.stack;
        if (stack->end != FW_END_ROOT)
            print_stack(&got.thread);
        assert_int_equal(stack->end, FW_END_ROOT);
        assert_int_equal(FRAMES_IN(stack, spin), 1);
        assert_int_equal(FRAMES_IN(stack, descend) + stack->omitted, depths[i] + 1);
        assert_int_equal(FRAMES_IN(stack, fiber), 1);
        assert_int_equal(FRAMES_IN(stack, run_on_stack), 1);
        assert_int_equal(FRAMES_IN(stack, known_caller), 0);
    }
}

/* --- beyond the end ------------------------------------------------------------------------ */

/* Spins with this stack pointer, and a frame record where it was called. */
void spin_at(_Atomic bool *leave, _Atomic bool *ready, uintptr_t sp);
__asm__(".text\n.p2align 4\n.globl _spin_at\n_spin_at:\n.cfi_startproc\n"
#if defined(__aarch64__)
        "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n"
        ".cfi_offset w30, -8\n.cfi_offset w29, -16\n"
        "mov x29, sp\n.cfi_def_cfa w29, 16\n"
        "mov sp, x2\n"
        "mov w8, #1\n"
        "strb w8, [x1]\n"
        "1: ldrb w9, [x0]\n"
        "cbz w9, 1b\n"
        "mov sp, x29\n"
        "ldp x29, x30, [sp], #16\n.cfi_def_cfa wsp, 0\n"
        "ret\n"
#else
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "movq %rdx, %rsp\n"
        "movb $1, (%rsi)\n"
        "1: cmpb $0, (%rdi)\n"
        "je 1b\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n.cfi_def_cfa %rsp, 8\n"
        "retq\n"
#endif
        ".cfi_endproc\n");

KNOWN(overflow) static void overflow(struct target *target)
{
    const size_t beyond = *(const size_t *)target->context;
    const uintptr_t top = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    const uintptr_t lo = top - pthread_get_stacksize_np(pthread_self());
    spin_at(&target->leave, &target->ready, (lo - beyond) & ~(uintptr_t)15);
    NOT_A_TAIL_CALL();
}

static void below_the_own_stack(void **state)
{
    (void)state;
    static const size_t beyond[] = {16, 1024, 20000};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        struct target target = {.body = overflow, .context = (void *)(uintptr_t)&beyond[i]};
        target_begin(&target, 256 << 10);
        capture_once(&target);
        target_end(&target);
        assert_whole(&got.thread);
        assert_int_equal(FRAMES_IN(&got.thread.stack, spin_at), 1);
        assert_int_equal(FRAMES_IN(&got.thread.stack, overflow), 1);
    }
}

/* A stack pointer that points nowhere: the innermost frame, and that nothing can be read. */
static const uintptr_t nowhere[] = {0, 16, 4096, (uintptr_t)1 << 46, UINTPTR_MAX - 15};

KNOWN(lose_stack) static void lose_stack(struct target *target)
{
    spin_at(&target->leave, &target->ready, *(const uintptr_t *)target->context);
    NOT_A_TAIL_CALL();
}

static void nowhere_at_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        struct target target = {.body = lose_stack, .context = (void *)(uintptr_t)&nowhere[i]};
        target_begin(&target, 0);
        capture_once(&target);
        target_end(&target);
        const struct fw_stack *stack = &got.thread.stack;
        assert_int_equal(stack->unavailable, FW_AVAILABLE);
        assert_true(stack->count >= 1);
        assert_int_equal(FRAMES_IN(stack, spin_at), 1);
    }
}

/* --- loaded late --------------------------------------------------------------------------- */

/* The library's own copy, loaded by another thread than the main one. */
static void *load_library(void *unused)
{
    (void)unused;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        print_message("%s\n", dlerror());
    return library ? dlsym(library, "fw_thread_main") : NULL;
}

static void *call_id(void *function)
{
    fw_thread_id (*ask)(void) = (fw_thread_id(*)(void))(uintptr_t)function;
    return (void *)(uintptr_t)ask();
}

static void main_thread_is_known_later(void **state)
{
    (void)state;
    pthread_t thread;
    void *function, *id;
    assert_int_equal(pthread_create(&thread, NULL, load_library, NULL), 0);
    pthread_join(thread, &function);
    assert_non_null(function);
    assert_int_equal(pthread_create(&thread, NULL, call_id, function), 0);
    pthread_join(thread, &id);
    assert_int_equal((uintptr_t)id, fw_thread_self());
    assert_int_equal((uintptr_t)call_id(function), fw_thread_self());
    check_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_fiber),
        cmocka_unit_test(below_the_own_stack),
        cmocka_unit_test(nowhere_at_all),
        cmocka_unit_test(main_thread_is_known_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
