/*
 * Threads whose alternate signal stack has room for little more than the kernel's own frame, as
 * those of CPython's faulthandler and of Rust's runtime: they are captured whole, and nothing is
 * written beyond that stack.
 */
#include "capture/targets.h"
#include "support/platform.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* Linux 5.14, and before on some processors */
#endif

enum {
    AREA = 128 << 10,
    /* Beside the kernel's frame; what is instrumented needs more. */
    HANDLER = UNDER_ASAN || UNDER_TSAN ? 8 << 10 : 1 << 10,
    TIMES = 50,
    PATTERN = 0x5a
};

/* An older kernel does not say; the largest frame of one that does not is about that. */
static size_t kernels_frame(void)
{
    const size_t told = getauxval(AT_MINSIGSTKSZ);
    return told && !emulated() ? told : 6 << 10;
}

/* What is written below the alternate stack is seen afterwards. */
static void spin_beside_small_stack(struct target *target)
{
    const size_t size = kernels_frame() + HANDLER;
    char *area = target->context;
    const stack_t stack = {.ss_sp = area + AREA - size, .ss_size = size},
                  none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    spin(target);
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

static void little_is_taken_of_an_alternate_stack(void **state)
{
    (void)state;
    char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    memset(area, PATTERN, AREA);
    struct target target = {.body = spin_beside_small_stack, .context = area};
    target_begin(&target, 0);
    for (unsigned i = 0; i < TIMES; i++) {
        static struct fw_frame frames[64];
        struct fw_thread thread = {.stack = {.frames = frames, .capacity = 64}};
        const struct fw_threads_options options = {.size = sizeof options,
                                                   .timeout_ms = patience_ms()};
        assert_int_equal(fw_thread_capture(target.id, &thread, &options), FW_OK);
        assert_int_equal(thread.stack.unavailable, FW_AVAILABLE);
        assert_int_equal(FRAMES_IN(&thread.stack, known_caller), 1);
    }
    target_end(&target);
    size_t untouched = 0;
    while (untouched < AREA && area[untouched] == PATTERN)
        untouched++;
    print_message("%zu bytes of the alternate stack were used, %zu by the kernel\n",
                  AREA - untouched, kernels_frame());
    assert_true(untouched < AREA);
    assert_true(AREA - untouched <= kernels_frame() + HANDLER);
    munmap(area, AREA);
}

int main(void)
{
    LEAVE_UNDER_TSAN();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_is_taken_of_an_alternate_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
