/* os/linux/self_stack.c: what of this process's memory a walk reads, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/self_maps.h"
#include "os/self_stack.h"

static bool can_read(const struct self_stack *stack, uint64_t address)
{
    uintptr_t word;
    return memory_read(&stack->memory, address, &word, sizeof word);
}

/* What lies behind the own stack may be unmapped by another thread at any time: it is read, but
 * never becomes part of what is read directly. */
static void *expect_own_stack_to_end(void *unused)
{
    struct self_stack stack;
    uintptr_t word = 1;
    self_stack_begin(&stack, (uintptr_t)&word);
    assert_true(stack.own);
    uintptr_t end = self_stack_end(&stack);
    assert_true(end > (uintptr_t)&word);
    assert_true(can_read(&stack, (uintptr_t)&word));
    assert_true(can_read(&stack, end - sizeof word));
    bool beyond = can_read(&stack, end - sizeof word / 2);
#if defined(__APPLE__) /* the thread's own record lies behind it, or nothing */
    (void)beyond;
#else
    assert_true(beyond);
#endif
    can_read(&stack, end + 64);
    assert_int_equal(self_stack_end(&stack), end);
    return unused;
}

static void own_stack_ends(void **state)
{
    pthread_t thread;
    expect_own_stack_to_end(*state);
    assert_int_equal(pthread_create(&thread, NULL, expect_own_stack_to_end, NULL), 0);
    pthread_join(thread, NULL);
}

#if defined(__linux__)
/* An alternate stack may become one mapping with the block that the first thread's pointer is in.
 * It is not that thread's own stack, and may be unmapped before the thread ends. */
static void memory_beside_the_thread_pointer(void **state)
{
    (void)state;
    struct self_mapping mapping;
    struct self_stack stack;
    const size_t size = 4 * (size_t)sysconf(_SC_PAGESIZE);
    assert_true(self_mapping_find((uintptr_t)__builtin_thread_pointer(), &mapping));
    char *memory = mmap((void *)(mapping.lo - size), size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if ((uintptr_t)memory != mapping.lo - size) {
        munmap(memory, size);
        print_message("skipped: there is no room beside it\n");
        skip();
    }
    self_stack_begin(&stack, (uintptr_t)memory + 64);
    assert_false(stack.own);
    munmap(memory, size);
    self_stack_begin(&stack, (uintptr_t)&mapping);
    assert_true(stack.own);
}
#endif

static void another_stack_is_followed_by_pages(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + 3 * page, page, PROT_NONE), 0);
    struct self_stack stack;
    self_stack_begin(&stack, (uintptr_t)memory + 64);
    assert_false(stack.own);
    assert_true(can_read(&stack, (uintptr_t)memory + 2 * page));
    assert_int_equal(self_stack_end(&stack), (uintptr_t)memory + 3 * page);
    assert_false(can_read(&stack, (uintptr_t)memory + 3 * page - 1));
    assert_false(can_read(&stack, (uintptr_t)memory + 3 * page));
    munmap(memory, 4 * page);
}

static void addresses_beyond_all_memory(void **state)
{
    (void)state;
    struct self_stack stack;
    uintptr_t word = 1;
    self_stack_begin(&stack, (uintptr_t)&word);
    assert_false(can_read(&stack, UINT64_MAX));
    assert_false(can_read(&stack, UINT64_MAX - sizeof word));
    assert_false(can_read(&stack, UINTPTR_MAX - 2));
    if (sizeof word == 4) /* as a frame pointer near the end plus an offset comes to */
        assert_false(can_read(&stack, ((uint64_t)1 << 32) + (uintptr_t)&word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__linux__) /* first: what the thread's stack is has not been learned yet */
        cmocka_unit_test(memory_beside_the_thread_pointer),
#endif
        cmocka_unit_test(own_stack_ends),
        cmocka_unit_test(another_stack_is_followed_by_pages),
        cmocka_unit_test(addresses_beyond_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
