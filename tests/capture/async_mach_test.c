/*
 * Swift async functions on Apple platforms: this thread and another one, each inside an async
 * function that the compiler made, with contexts on the heap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "async_mach_code.h"
#include "framewalk/capture.h"
#include "framewalk/threads.h"

enum { CONTEXTS = 6, MANY = 2000, ROOM = 200 };

struct context {
    const struct context *parent;
    uintptr_t resume; /* not signed: this is no arm64e program */
};

static void waiting_0(void)
{
    __asm__ volatile("nop");
}

static void waiting_1(void)
{
    __asm__ volatile("nop; nop");
}

static uintptr_t resume_of(unsigned i)
{
    return (uintptr_t)(i % 2 ? waiting_1 : waiting_0);
}

static struct context *make_contexts(unsigned count)
{
    struct context *contexts = calloc(count, sizeof *contexts);
    assert_non_null(contexts);
    for (unsigned i = 0; i < count; i++)
        contexts[i] = (struct context){i + 1 < count ? &contexts[i + 1] : NULL, resume_of(i)};
    return contexts;
}

/* What was found from a function that async_function() called. */
struct found {
    struct fw_frame frames[ROOM];
    struct fw_stack stack;
    void *addresses[ROOM];
    int address_count;
};

static void expect_contexts(const struct found *found, unsigned count, fw_end end)
{
    const struct fw_stack *stack = &found->stack;
    assert_true(stack->count > count);
    const uint32_t first = stack->count - count;
    assert_true(is_in_async_function(found->frames[first - 1].address));
    for (uint32_t i = 0; i < first; i++)
        assert_int_equal(found->frames[i].flags & FW_FRAME_ASYNC, 0);
    for (unsigned i = 0; i < count; i++) {
        const struct fw_frame *frame = &found->frames[first + i];
        assert_int_equal(frame->address, resume_of(i));
        assert_int_equal(frame->kind, FW_FRAME_EXACT);
        assert_int_equal(frame->method, FW_METHOD_ASYNC);
        assert_int_equal(frame->flags, FW_FRAME_ASYNC);
    }
    assert_int_equal(stack->end, end);
}

static void expect_addresses(const struct found *found, int count)
{
    assert_true(found->address_count > count);
    const int first = found->address_count - count;
    assert_true(is_in_async_function((uintptr_t)found->addresses[first - 1]));
    for (int i = 0; i < count; i++)
        assert_int_equal((uintptr_t)found->addresses[first + i], resume_of((unsigned)i) + 1);
}

static void begin(struct found *found)
{
    found->stack = (struct fw_stack){.frames = found->frames, .capacity = ROOM};
}

static void capture(void *argument)
{
    struct found *found = argument;
    begin(found);
    fw_capture(&found->stack, 0);
    found->address_count = fw_backtrace(found->addresses, ROOM);
}

static void capture_frame_pointers(void *argument)
{
    struct found *found = argument;
    begin(found);
    fw_capture_from_frame_pointer(&found->stack, __builtin_frame_address(0));
    found->address_count = fw_backtrace_from_fp(__builtin_frame_address(0), found->addresses, ROOM);
}

static void this_thread(void **state)
{
    (void)state;
    static struct found found;
    struct context *contexts = make_contexts(CONTEXTS);
    run_async(capture, &found, contexts);
    expect_contexts(&found, CONTEXTS, FW_END_ROOT);
    expect_addresses(&found, CONTEXTS);
    run_async(capture_frame_pointers, &found, contexts);
    expect_contexts(&found, CONTEXTS, FW_END_ROOT);
    expect_addresses(&found, CONTEXTS);

    contexts[2].parent = (const struct context *)64; /* not mapped */
    run_async(capture, &found, contexts);
    expect_contexts(&found, 3, FW_END_BAD_MEMORY);
    contexts[2].parent = &contexts[3];
    contexts[2].resume = 64;
    run_async(capture, &found, contexts);
    expect_contexts(&found, 2, FW_END_NOT_CODE);
    free(contexts);
}

/* The executor is shown where there is no chain. */
static void without_context(void **state)
{
    (void)state;
    static struct found found;
    run_async(capture, &found, NULL);
    uint32_t at = 0;
    while (at < found.stack.count && !is_in_async_function(found.frames[at].address))
        at++;
    assert_true(at + 3 < found.stack.count);
    for (uint32_t i = 0; i < found.stack.count; i++)
        assert_int_equal(found.frames[i].flags & FW_FRAME_ASYNC, 0);
}

/* Another thread, which waits inside an async function. */
struct waiter {
    pthread_t thread;
    const struct context *contexts;
    _Atomic fw_thread_id id;
    atomic_bool done;
};

static void wait_in(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->id, fw_thread_self());
    while (!atomic_load(&waiter->done))
        sched_yield();
}

static void *run_waiter(void *argument)
{
    struct waiter *waiter = argument;
    run_async(wait_in, waiter, waiter->contexts);
    return NULL;
}

static void capture_waiter(const struct context *contexts, struct found *found)
{
    struct waiter waiter = {.contexts = contexts};
    assert_int_equal(pthread_create(&waiter.thread, NULL, run_waiter, &waiter), 0);
    while (atomic_load(&waiter.id) == 0)
        sched_yield();
    struct fw_thread thread = {0};
    begin(found);
    thread.stack = found->stack;
    assert_int_equal(fw_thread_capture(atomic_load(&waiter.id), &thread, NULL), FW_OK);
    found->stack = thread.stack;
    atomic_store(&waiter.done, true);
    pthread_join(waiter.thread, NULL);
}

static void another_thread(void **state)
{
    (void)state;
    static struct found found;
    struct context *contexts = make_contexts(CONTEXTS);
    capture_waiter(contexts, &found);
    expect_contexts(&found, CONTEXTS, FW_END_ROOT);

    contexts[2].parent = (const struct context *)64;
    capture_waiter(contexts, &found);
    expect_contexts(&found, 3, FW_END_BAD_MEMORY);

    contexts[2].parent = &contexts[2];
    capture_waiter(contexts, &found);
    assert_int_equal(found.stack.end, FW_END_LOOP);
    free(contexts);
}

/* More than are looked at while the thread is stopped. */
static void another_thread_with_many(void **state)
{
    (void)state;
    static struct found found;
    struct context *contexts = make_contexts(MANY);
    capture_waiter(contexts, &found);
    assert_int_equal(found.stack.end, FW_END_LIMIT);
    uint32_t count = 0;
    for (uint32_t i = 0; i < found.stack.count; i++)
        count += (found.frames[i].flags & FW_FRAME_ASYNC) != 0;
    assert_true(count > CONTEXTS);
    free(contexts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_thread),
        cmocka_unit_test(without_context),
        cmocka_unit_test(another_thread),
        cmocka_unit_test(another_thread_with_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
