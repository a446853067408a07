/* The stack of this thread, against call chains that the source fixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "framewalk/capture.h"
#include "framewalk/names.h"
#include "support/platform.h"
#include "support/sanitizers.h"

#ifdef __clang__
#define NOINLINE   __attribute__((noinline))
#define TAIL_CALLS /* at -O2 and above, as the build says */
#else
#define NOINLINE   __attribute__((noinline, noclone))
#define TAIL_CALLS __attribute__((optimize("O2", "optimize-sibling-calls")))
#endif
/* Keeps a call from becoming a tail call. */
#define STAY() __asm__ volatile("" ::: "memory")

static struct fw_frame frames[256];
static struct fw_stack stack;
static struct fw_names *names;

static void reset(uint32_t capacity, uint32_t tail)
{
    memset(frames, 0xee, sizeof frames);
    stack = (struct fw_stack){.frames = frames, .capacity = capacity, .tail = tail};
}

static const char *function_of(uint32_t i)
{
    struct fw_name name;
    assert_true(i < stack.count);
    return fw_names_lookup(names, &frames[i], &name) == FW_OK && name.function ? name.function
                                                                               : "?";
}

static int find_function(const char *function, uint32_t from)
{
    for (uint32_t i = from; i < stack.count; i++)
        if (strcmp(function_of(i), function) == 0)
            return (int)i;
    return -1;
}

static int setup(void **state)
{
    (void)state;
    return fw_names_create(&names) != FW_OK;
}

static int teardown(void **state)
{
    (void)state;
    fw_names_destroy(names);
    return 0;
}

NOINLINE void self_third(uint32_t skip)
{
    fw_capture(&stack, skip);
    STAY();
}

NOINLINE void self_second(uint32_t skip)
{
    self_third(skip);
    STAY();
}

NOINLINE void self_first(uint32_t skip)
{
    self_second(skip);
    STAY();
}

static void names_the_call_chain(void **state)
{
    (void)state;
    reset(256, 0);
    errno = 1234;
    self_first(0);
    assert_int_equal(errno, 1234);
    assert_string_equal(function_of(0), "self_third");
    assert_string_equal(function_of(1), "self_second");
    assert_string_equal(function_of(2), "self_first");
    assert_string_equal(function_of(3), "names_the_call_chain");
    assert_true(find_function("main", 4) > 0);
    assert_int_equal(stack.end, FW_END_ROOT);
    for (uint32_t i = 0; i < stack.count; i++)
        assert_int_equal(frames[i].kind, FW_FRAME_RETURN);
    assert_int_equal(frames[0].method, FW_METHOD_REGISTERS);
    assert_int_equal(stack.head, stack.count);
    assert_int_equal(stack.omitted, 0);
}

static void skips(void **state)
{
    (void)state;
    reset(256, 0);
    self_first(2);
    assert_string_equal(function_of(0), "self_first");
    uint32_t all = stack.count;
    self_first(100000);
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, FW_END_ROOT);
    self_first(0);
    assert_int_equal(stack.count, all + 2);
}

static void same_stack_same_id(void **state)
{
    (void)state;
    uint64_t id[2];
    reset(256, 0);
    for (volatile int i = 0; i < 2; i++) { /* volatile: one call site */
        self_first(0);
        id[i] = stack.id;
    }
    assert_true(id[0] == id[1]);
    self_first(1);
    assert_true(stack.id != id[0]);
}

static void ends_at_the_limit(void **state)
{
    (void)state;
    reset(256, 0);
    self_first(0);
    uint32_t all = stack.count;
    reset(2, 0);
    self_first(0);
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.end, FW_END_LIMIT);
    assert_string_equal(function_of(1), "self_second");
    assert_int_equal(frames[2].kind, 0xee); /* not written beyond the capacity */
    reset(all, 0);
    self_first(0);
    assert_int_equal(stack.end, FW_END_ROOT); /* exactly as many as there are */
}

NOINLINE int self_recurse(int depth)
{
    if (depth == 0) {
        fw_capture(&stack, 0);
        return 0;
    }
    int below = self_recurse(depth - 1);
    STAY();
    return below + 1;
}

static void keeps_head_and_tail(void **state)
{
    (void)state;
    for (int depth = 0; depth < 400; depth += 7) {
        reset(64, 16);
        self_recurse(depth);
        assert_int_equal(stack.end, FW_END_ROOT);
        assert_true(stack.count <= 64);
        if (!stack.omitted)
            continue;
        assert_int_equal(stack.count, 64);
        assert_int_equal(stack.head, 48);
        assert_string_equal(function_of(0), "self_recurse");
        assert_string_equal(function_of(47), "self_recurse");
        int at = find_function("keeps_head_and_tail", 48);
        assert_true(at > 0);
        /* every frame is there or counted: depth + 1 of the recursion and the caller's before it */
        assert_int_equal((int)stack.omitted + at, depth + 1);
        assert_true(find_function("main", (uint32_t)at) > 0);
    }
}

static void walks_a_very_deep_stack(void **state)
{
    (void)state;
    reset(64, 16);
    self_recurse(60000);
    assert_int_equal(stack.end, FW_END_ROOT);
    assert_true(stack.omitted > 59000);
    assert_true(find_function("main", 48) > 0);
}

NOINLINE void self_tail_callee(void)
{
    fw_capture(&stack, 0);
    STAY();
}

NOINLINE TAIL_CALLS void self_tail_caller(int twice)
{
    if (twice)
        self_tail_callee();
    self_tail_callee();
}

static void callers_that_tail_call(void **state)
{
    (void)state;
    reset(256, 0);
    self_tail_caller(0);
    STAY();
    assert_string_equal(function_of(0), "self_tail_callee");
    /* The caller gave its frame away, or not, as the compiler chose; nobody else comes in between.
     */
    uint32_t next = strcmp(function_of(1), "self_tail_caller") == 0 ? 2 : 1;
    assert_string_equal(function_of(next), "callers_that_tail_call");
}

static void *handler_context;
static uint32_t handler_count;

NOINLINE void self_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    handler_context = context;
    handler_count = fw_capture_context(&stack, context, 0);
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

NOINLINE void self_interrupted(void)
{
    raise(SIGUSR1);
    STAY();
}

static void from_a_signal_context(void **state)
{
    (void)state;
    install(SIGUSR1, self_handler, 0);
    reset(256, 0);
    self_interrupted();
    assert_int_equal(stack.end, FW_END_ROOT);
    assert_int_equal(frames[0].kind, FW_FRAME_EXACT);
    assert_int_equal(frames[0].method, FW_METHOD_REGISTERS);
    int at = find_function("self_interrupted", 0);
    assert_true(at > 0);
    assert_string_equal(function_of((uint32_t)at + 1), "from_a_signal_context");
}

NOINLINE void self_handler_walks_out(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    fw_capture(&stack, 0);
    STAY();
}

static void expect_walk_through_signal_frame(void)
{
    assert_true(reached_the_root(&stack));
    assert_string_equal(function_of(0), "self_handler_walks_out");
    assert_int_equal(frames[1].flags & FW_FRAME_SIGNAL, FW_FRAME_SIGNAL);
    assert_int_equal(frames[1].kind, FW_FRAME_EXACT);
    assert_int_equal(frames[2].kind, FW_FRAME_EXACT); /* the interrupted instruction */
#if defined(__APPLE__)                                /* libsystem describes its trampoline */
    assert_int_equal(frames[2].method, FW_METHOD_CFI);
#else
    assert_int_equal(frames[2].method, FW_METHOD_SIGNAL);
#endif
    assert_int_equal(frames[3].kind, FW_FRAME_RETURN);
    assert_true(find_function("self_interrupted", 2) > 0);
}

static void through_a_signal_frame(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        skip(); /* it calls the handler from its own code, so there is no signal frame */
    install(SIGUSR1, self_handler_walks_out, 0);
    reset(256, 0);
    self_interrupted();
    expect_walk_through_signal_frame();
}

static void through_an_alternate_stack(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        skip();
    size_t size = 1 << 16;
    stack_t alternate = {.ss_sp = malloc(size), .ss_size = size}, before;
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    install(SIGUSR1, self_handler_walks_out, SA_ONSTACK);
    for (int i = 0; i < 2; i++) { /* also when the own stack is not known yet, and when it is */
        reset(256, 0);
        self_interrupted();
        expect_walk_through_signal_frame();
    }
    sigaltstack(&before, NULL);
    free(alternate.ss_sp);
}

static void *capture_on_thread(void *unused)
{
    (void)unused;
    if (!UNDER_TSAN)
        through_an_alternate_stack(
            NULL); /* the first capture of this thread is on the other stack */
    reset(256, 0);
    self_first(0);
    return NULL;
}

#if !defined(__APPLE__) /* the Mach-O host has no cancellation */

/* A thread that is to be cancelled lives on until it comes to a cancellation point of its own. */
static void *capture_when_cancelled(void *survived)
{
    pthread_cancel(pthread_self());
    self_first(0);
    *(bool *)survived = true;
    return NULL;
}

static void is_no_cancellation_point(void **state)
{
    (void)state;
    pthread_t thread;
    bool survived = false;
    reset(256, 0);
    assert_int_equal(pthread_create(&thread, NULL, capture_when_cancelled, &survived), 0);
    pthread_join(thread, NULL);
    assert_true(survived);
    assert_true(reached_the_root(&stack));
}

#endif

static void on_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, capture_on_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(function_of(0), "self_third");
    assert_true(find_function("capture_on_thread", 0) > 0);
    assert_true(reached_the_root(&stack));
}

#if !defined(__APPLE__) /* which has no makecontext any more */

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
    self_first(0);
    swapcontext(&coroutine_context, &main_context);
}

static void on_a_coroutine_stack(void **state)
{
    (void)state;
#if defined(__arm__)
    skip(); /* glibc's makecontext leaves no unwind information on arm */
#endif
    size_t size = 1 << 16;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = memory;
    coroutine_context.uc_stack.ss_size = size;
    coroutine_context.uc_link = NULL;
    makecontext(&coroutine_context, coroutine, 0);
    reset(256, 0);
    swapcontext(&main_context, &coroutine_context);
    munmap(memory, size);
    assert_string_equal(function_of(0), "self_third");
    int at = find_function("coroutine", 0);
    assert_true(at > 0);
    /* glibc enters the coroutine by a return to __start_context, which no call precedes: the walk
     * says that it knows no more there, it invents nothing behind. */
    assert_true((uint32_t)at + 2 >= stack.count);
    assert_true(stack.end == FW_END_NO_INFO || stack.end == FW_END_ROOT);
}

#endif

static void drop_in_for_backtrace(void **state)
{
    (void)state;
    void *buffer[64];
    reset(64, 0);
    fw_capture(&stack, 0);
    int count = fw_backtrace(buffer, 64);
    assert_int_equal(count, stack.count);
    for (int i = 1; i < count; i++)
        assert_ptr_equal(buffer[i], (void *)(uintptr_t)frames[i].address);
    assert_int_equal(fw_backtrace(buffer, 3), 3);
    assert_int_equal(fw_backtrace(buffer, 0), 0);
    assert_int_equal(fw_backtrace(buffer, -5), 0);
}

/* Frame records made by hand: what a chain of them says, and what is wrong with it. */
struct record {
    struct record *next;
    void *return_address;
};

static void expect_chain(struct record *first, int count, fw_end end)
{
    reset(256, 0);
    assert_int_equal(fw_capture_from_frame_pointer(&stack, first), count);
    assert_int_equal(stack.end, end);
    for (int i = 0; i < count; i++)
        assert_int_equal(frames[i].address, 0x1000 + i);
}

static void frame_records_are_checked(void **state)
{
    (void)state;
    struct record r[8];
    for (uintptr_t i = 0; i < 8; i++)
        r[i] = (struct record){&r[i + 1], (void *)(0x1000 + i)};
    r[7].next = NULL;
    expect_chain(&r[0], 8, FW_END_ROOT);
    r[4].next = &r[2]; /* a cycle */
    expect_chain(&r[0], 5, FW_END_LOOP);
    r[4].next = &r[4]; /* points to itself */
    expect_chain(&r[0], 5, FW_END_LOOP);
    r[4].next = (struct record *)((char *)&r[5] + 1); /* not aligned */
    expect_chain(&r[0], 5, FW_END_BAD_MEMORY);
    r[4].next = (struct record *)UINTPTR_MAX;
    expect_chain(&r[0], 5, FW_END_BAD_MEMORY);
    r[4].next = (struct record *)(UINTPTR_MAX & ~(uintptr_t)15);
    expect_chain(&r[0], 5, FW_END_BAD_MEMORY);
    expect_chain((struct record *)sizeof(void *), 0, FW_END_BAD_MEMORY);
    expect_chain(NULL, 0, FW_END_ROOT);

    /* On memory that ends: two pages, the second one taken away. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(memory + page, page);
    struct record *last = (struct record *)(memory + page) - 1, *before = last - 1;
    *before = (struct record){last, (void *)0x1000};
    *last = (struct record){(struct record *)(memory + page), (void *)0x1001};
    expect_chain(before, 2, FW_END_BAD_MEMORY);
    last->next = (struct record *)(memory + page - sizeof(void *)); /* half of it is there */
    expect_chain(before, 2, FW_END_BAD_MEMORY);
    munmap(memory, page);
}

static void addresses_from_frame_records(void **state)
{
    (void)state;
    struct record r[3] = {{&r[1], (void *)1}, {&r[2], (void *)2}, {NULL, (void *)3}};
    void *buffer[3];
    assert_int_equal(fw_backtrace_from_fp(r, buffer, 3), 3);
    assert_ptr_equal(buffer[2], (void *)3);
    assert_int_equal(fw_backtrace_from_fp(r, buffer, 2), 2);
    assert_int_equal(fw_backtrace_from_fp(NULL, buffer, 3), 0);
}

static void names_unknown_addresses(void **state)
{
    (void)state;
    char text[64];
    struct fw_frame nowhere = {.address = 0x10};
    struct fw_name name;
    assert_int_equal(fw_names_lookup(names, &nowhere, &name), FW_ERR_NOT_FOUND);
    assert_int_equal(fw_names_format(names, &nowhere, text, sizeof text), 4);
    assert_string_equal(text, "0x10");

    struct fw_frame here = {.address =
                                (uintptr_t)self_first & ~(uintptr_t)!LIBC_HAS_TABLES}; /* Thumb */
    size_t length = fw_names_format(names, &here, text, sizeof text);
    assert_true(strncmp(text, "self_first+0x0 (", 16) == 0);
    char tiny[12];
    memset(tiny, 'x', sizeof tiny);
    assert_int_equal(fw_names_format(names, &here, tiny, 8), length);
    assert_string_equal(tiny, "self...");
    assert_int_equal(tiny[8], 'x');
    assert_int_equal(fw_names_format(names, &here, NULL, 0), length);
    assert_int_equal(fw_names_refresh(names), FW_OK);
    assert_string_equal((reset(4, 0), self_first(0), function_of(2)), "self_first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_call_chain),
        cmocka_unit_test(skips),
        cmocka_unit_test(same_stack_same_id),
        cmocka_unit_test(ends_at_the_limit),
        cmocka_unit_test(keeps_head_and_tail),
        cmocka_unit_test(walks_a_very_deep_stack),
        cmocka_unit_test(callers_that_tail_call),
        cmocka_unit_test(from_a_signal_context),
        cmocka_unit_test(through_a_signal_frame),
        cmocka_unit_test(through_an_alternate_stack),
        cmocka_unit_test(on_another_thread),
#if !defined(__APPLE__)
        cmocka_unit_test(is_no_cancellation_point),
        cmocka_unit_test(on_a_coroutine_stack),
#endif
        cmocka_unit_test(drop_in_for_backtrace),
        cmocka_unit_test(frame_records_are_checked),
        cmocka_unit_test(addresses_from_frame_records),
        cmocka_unit_test(names_unknown_addresses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
