/*
 * Capture when things have gone wrong: a call through a bad pointer, a stack that overflowed, a
 * stack that was overwritten; and code that is in no image at all.
 */
#include "capture/targets.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__APPLE__)
#include <libkern/OSCacheControl.h>
#endif

#include "capture/self.h"
#include "os/self_context.h"
#include "support/platform.h"
#include "unwind/rule.h"
#include "unwind/walk.h"

static struct fw_frame frames[FRAMES];
static struct fw_stack stack;

static void reset(uint32_t capacity, uint32_t tail)
{
    stack = (struct fw_stack){.frames = frames, .capacity = capacity, .tail = tail};
}

#define IN(i, name) ADDRESS_IN(frames[i].address - 1, name)

/* Code that a just-in-time compiler could have written: keeps a frame record, calls its argument.
 */
#if defined(__x86_64__)
static const uint8_t jit_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10,
                                   0xff, 0xd7, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
#elif defined(__i386__)
static const uint8_t jit_code[] = {0x55, 0x89, 0xe5, 0x83, 0xec, 0x08,
                                   0xff, 0x55, 0x08, 0xc9, 0xc3};
#elif defined(__aarch64__)
static const uint32_t jit_code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

#if !defined(__arm__) /* whose code keeps no frame records */
static void code_was_written(uint8_t *code, size_t size)
{
#if defined(__APPLE__)
    sys_icache_invalidate(code, size);
#else
    __builtin___clear_cache((char *)code, (char *)code + size);
#endif
}
#endif

KNOWN(called_by_jit) static void called_by_jit(void)
{
    fw_capture(&stack, 0);
    NOT_A_TAIL_CALL();
}

KNOWN(calls_jit) static void calls_jit(void (*jit)(void (*)(void)))
{
    jit(called_by_jit);
    NOT_A_TAIL_CALL();
}

static void jit_code_by_frame_pointer(void **state)
{
    (void)state;
#if defined(__arm__)
    skip(); /* no frame records that could be trusted */
#else
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *code =
        mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        skip(); /* a system that forbids such pages */
    memcpy(code, jit_code, sizeof jit_code);
    code_was_written(code, sizeof jit_code);
    for (int i = 0; i < 2; i++) {
        reset(FRAMES, 0);
        calls_jit((void (*)(void (*)(void)))(uintptr_t)code);
        assert_true(stack.count > 3);
        assert_true(IN(0, called_by_jit));
        assert_true(frames[1].address > (uintptr_t)code);
        assert_true(frames[1].address < (uintptr_t)code + sizeof jit_code);
        assert_true(IN(2, calls_jit));
        assert_int_equal(frames[2].method, FW_METHOD_FRAME_POINTER);
        assert_int_equal(stack.end, FW_END_ROOT);
    }
    munmap(code, page);
#endif
}

static sigjmp_buf back;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    fw_capture_context(&stack, context, 0);
    siglongjmp(back, 1);
}

static void catch_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
}

/* Generated functions without a frame record, which fault by reading address 0: the record of their
 * caller says nothing of the caller itself. The first word is the offset of that instruction. */
#if defined(__x86_64__)
static const uint8_t leaves[][12] = {
    {0, 0x8b, 0x07, 0xc3}, /* mov (%rdi), %eax; ret */
    {5, 0x53, 0x48, 0x83, 0xec, 0x20, 0x8b, 0x07, 0x48, 0x83, 0xc4, 0x20},
    {1, 0x55, 0x8b, 0x07, 0x5d, 0xc3}, /* record not yet begun */
};
static const uint8_t leaf_ends[] = {0x5b, 0xc3}; /* pop %rbx; ret */
#elif defined(__i386__)
static const uint8_t leaves[][12] = {
    {4, 0x8b, 0x44, 0x24, 0x04, 0x8b, 0x00, 0xc3},
    {5, 0x53, 0x8b, 0x44, 0x24, 0x08, 0x8b, 0x00, 0x5b, 0xc3},
};
#elif defined(__aarch64__)
static const uint8_t leaves[][12] = {
    {0, 0x00, 0x00, 0x40, 0xb9, 0xc0, 0x03, 0x5f, 0xd6}, /* ldr w0, [x0]; ret */
};
#endif

KNOWN(calls_leaf) static void calls_leaf(void (*leaf)(void *))
{
    leaf(NULL);
    NOT_A_TAIL_CALL();
}

KNOWN(calls_calls_leaf) static void calls_calls_leaf(void (*leaf)(void *))
{
    calls_leaf(leaf);
    NOT_A_TAIL_CALL();
}

static void jit_code_without_a_record(void **state)
{
    (void)state;
#if defined(__arm__)
    skip(); /* no frame records that could be trusted */
#else
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *code =
        mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        skip(); /* a system that forbids such pages */
    catch_faults();
    for (size_t i = 0; i < 2 * sizeof leaves / sizeof leaves[0]; i++) { /* one replaces the other */
        const uint8_t *leaf = leaves[i % (sizeof leaves / sizeof leaves[0])];
        memcpy(code, leaf + 1, sizeof leaves[0] - 1);
#if defined(__x86_64__)
        memcpy(code + sizeof leaves[0] - 1, leaf_ends, sizeof leaf_ends);
#endif
        code_was_written(code, page);
        reset(FRAMES, 0);
        if (sigsetjmp(back, 1) == 0) {
            calls_calls_leaf((void (*)(void *))(uintptr_t)code);
            fail();
        }
        assert_int_equal(frames[0].address, (uintptr_t)code + leaf[0]);
        assert_true(IN(1, calls_leaf));
        assert_true(IN(2, calls_calls_leaf));
        assert_int_equal(stack.end, FW_END_ROOT);
    }
    munmap(code, page);
#endif
}

KNOWN(calls_badly) static void calls_badly(void (*volatile function)(void))
{
    function();
    NOT_A_TAIL_CALL();
}

static void expect_bad_call(uintptr_t address)
{
    reset(FRAMES, 0);
    if (sigsetjmp(back, 1) == 0) {
        void (*volatile function)(void) = (void (*)(void))address;
        calls_badly(function);
        fail();
    }
    assert_true(stack.count > 2);
    assert_int_equal(frames[0].address, address);
    assert_int_equal(frames[0].kind, FW_FRAME_EXACT);
    assert_true(IN(1, calls_badly));
    assert_int_equal(frames[1].kind, FW_FRAME_RETURN);
    assert_int_equal(frames[1].method, FW_METHOD_LINK_REGISTER);
    assert_int_equal(stack.end, FW_END_ROOT);
}

static void calls_through_bad_pointers(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *none = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *data = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(data, 0x90, page);
    catch_faults();
    for (int i = 0; i < 2; i++) {
        expect_bad_call(0);
        expect_bad_call((uintptr_t)none + 64);
        expect_bad_call((uintptr_t)data + 64);
    }
    munmap(none, page);
    munmap(data, page);
}

static volatile int never;

KNOWN(overflows) static int overflows(int depth)
{
    volatile char bytes[64];
    bytes[depth % 64] = 1;
    int below = never ? 0 : overflows(depth + 1);
    NOT_A_TAIL_CALL();
    return below + bytes[never];
}

KNOWN(overflow_thread) static void *overflow_thread(void *alternate)
{
    stack_t on = {.ss_sp = alternate, .ss_size = 1 << 16};
    sigaltstack(&on, NULL);
    if (sigsetjmp(back, 1) == 0)
        overflows(0);
    on.ss_flags = SS_DISABLE;
    sigaltstack(&on, NULL);
    return NULL;
}

static void a_stack_that_overflowed(void **state)
{
    (void)state;
    pthread_t thread;
    pthread_attr_t attr;
    char *alternate = malloc(1 << 16);
    catch_faults();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 20);
    reset(64, 16);
    assert_int_equal(pthread_create(&thread, &attr, overflow_thread, alternate), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    free(alternate);
    assert_true(reached_the_root(&stack));
    assert_true(stack.omitted > 1000);
    assert_int_equal(stack.count, 64);
    assert_int_equal(frames[0].kind, FW_FRAME_EXACT);
    for (uint32_t i = 1; i < stack.head; i++)
        assert_true(IN(i, overflows));
    assert_int_equal(FRAMES_IN(&stack, overflow_thread), 1);
}

/* A stack to be damaged: its bytes, what they say while they are whole, and up to which address
 * each frame depends on them. */
enum { COPY = 1 << 14, TRUE_FRAMES = 64 };

struct victim {
    struct regs regs;
    uint64_t sp;
    size_t size;
    uint64_t address[TRUE_FRAMES], below[TRUE_FRAMES]; /* found from bytes below that address */
    uint32_t count;
    uint8_t whole[COPY], copy[COPY];
};
static struct victim victim;

/* memcpy as sanitizers leave it: over the borders of variables. */
__attribute__((noinline, no_sanitize("address"))) static void
copy_words(uint8_t *to, const volatile void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = ((const volatile uint8_t *)from)[i];
}

static char *victim_base;

static void copy_from_context(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    self_context_regs(context, &victim.regs);
    victim.sp = victim.regs.r[ARCH_NATIVE.sp];
    victim.size = (size_t)((uintptr_t)victim_base - victim.sp);
    assert_true(victim.size < COPY);
    copy_words(victim.whole, (const void *)(uintptr_t)victim.sp, victim.size);
}

KNOWN(copies) static void copies(char *base)
{
    victim_base = base;
#if defined(__APPLE__) /* which has no getcontext any more */
    struct sigaction action = {.sa_sigaction = copy_from_context, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_kill(pthread_self(), SIGUSR1);
#else
    ucontext_t context;
    getcontext(&context);
    copy_from_context(0, NULL, &context);
#endif
    NOT_A_TAIL_CALL();
}

KNOWN(recurse) static int recurse(int depth, char *base)
{
    volatile char bytes[48];
    bytes[depth] = 1;
    if (depth == 0)
        copies(base);
    else
        recurse(depth - 1, base);
    NOT_A_TAIL_CALL();
    return bytes[depth];
}

static int compare_by_recursion(const void *a, const void *b)
{
    (void)b;
    return recurse(12, *(char *const *)a);
}

static struct memory over(const uint8_t *bytes)
{
    return (struct memory){.range[0] = {victim.sp, victim.size, bytes}};
}

/* The truth, step by step. */
static void learn_the_truth(const struct walk_space *space)
{
    const struct memory memory = over(victim.whole);
    struct regs regs = victim.regs;
    bool exact = true, signal_frame;
    uint8_t method;
    victim.count = 0;
    do {
        assert_true(victim.count < TRUE_FRAMES);
        victim.address[victim.count] = regs.r[ARCH_NATIVE.pc];
        victim.below[victim.count++] = regs.r[ARCH_NATIVE.sp];
    } while (walk_step(space, &memory, exact, &regs, &method, &signal_frame) == UNWIND_OK &&
             (exact = false, true));
    assert_true(victim.count > 16);
}

static uint64_t seed = 88172645463325252u;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* What stands on overwritten stacks. */
static uintptr_t damage(uintptr_t was, const void *heap)
{
    switch (chance() % 8) {
    case 0: return (uintptr_t)0x4141414141414141u;
    case 1: return (uintptr_t)(victim.sp + chance() % victim.size);
    case 2: return (uintptr_t)heap + chance() % 64;
    case 3: return (uintptr_t)victim.address[chance() % victim.count] + (uintptr_t)(chance() % 3);
    case 4: return was + sizeof(void *) * (uintptr_t)(chance() % 16 - 8);
    case 5: return 0;
    case 6: return was ^ (uintptr_t)1 << chance() % (8 * sizeof was);
    default: return (uintptr_t)chance();
    }
}

static void walk_damaged(const struct walk_space *space, const void *heap)
{
    uint64_t lowest = UINT64_MAX;
    memcpy(victim.copy, victim.whole, victim.size);
    for (uint64_t n = chance() % 6 + 1; n; n--) {
        size_t at = (size_t)(chance() % (victim.size / sizeof(uintptr_t))) * sizeof(uintptr_t);
        uintptr_t word;
        memcpy(&word, victim.copy + at, sizeof word);
        word = damage(word, heap);
        memcpy(victim.copy + at, &word, sizeof word);
        lowest = victim.sp + at < lowest ? victim.sp + at : lowest;
    }
    const struct memory memory = over(victim.copy);
    const struct walk_options options = {.exact_first = true};
    reset(chance() % 4 ? FRAMES : 8, chance() % 2 ? 4 : 0);
    walk_stack(space, &memory, &victim.regs, &options, &stack);
    assert_true(stack.count <= stack.capacity && stack.head <= stack.count);
    assert_true(stack.end > FW_END_NONE && stack.end <= FW_END_NOT_CODE);
    assert_true(stack.count > 0);
    /* What lies below the damage is not touched by it. */
    for (uint32_t i = 0; i < victim.count && victim.below[i] <= lowest; i++) {
        if (i >= stack.head)
            break;
        assert_int_equal(frames[i].address, victim.address[i]);
    }
}

static void stacks_that_were_overwritten(void **state)
{
    (void)state;
#if defined(__arm__)
    skip(); /* glibc's getcontext is no signal context there */
#endif
    const char *times = getenv("FW_DAMAGED_STACKS"); /* more of them than a test has time for */
    unsigned long count = times ? strtoul(times, NULL, 10) : 20000;
    struct self_images images;
    struct walk_space space;
    char base[64];
    char *list[2] = {base + sizeof base, base + sizeof base};
    void *heap = malloc(64);
    qsort(list, 2, sizeof *list, compare_by_recursion);
    self_space(&images, &space);
    learn_the_truth(&space);
    for (unsigned long i = 0; i < count; i++) {
        if (i % 8 == 0) /* some walks decode everything, most run from rule to rule */
            rule_cache_clear(space.cache);
        walk_damaged(&space, heap);
    }
    free(heap);
}

/* All return addresses of the stack replaced by one value. */
static void expect_end(uintptr_t value, fw_end end)
{
    struct self_images images;
    struct walk_space space;
    memcpy(victim.copy, victim.whole, victim.size);
    for (size_t at = 0; at + sizeof value <= victim.size; at += sizeof value)
        memcpy(victim.copy + at, &value, sizeof value);
    const struct memory memory = over(victim.copy);
    const struct walk_options options = {.exact_first = true};
    reset(FRAMES, 0);
    self_space(&images, &space);
    walk_stack(&space, &memory, &victim.regs, &options, &stack);
#if defined(__APPLE__) &&                                                                          \
    defined(__aarch64__) /* interrupted in a leaf: registers tell its caller */
    assert_int_equal(stack.count, 2);
#else
    assert_int_equal(stack.count, 1);
#endif
    assert_int_equal(stack.end, end);
}

static void stacks_full_of_one_value(void **state)
{
    (void)state;
#if defined(__arm__)
    skip();
#endif
    void *heap = malloc(64);
    expect_end((uintptr_t)0x4141414141414141u, FW_END_NOT_CODE);
    expect_end((uintptr_t)victim.sp + 64, FW_END_NOT_CODE);
    expect_end((uintptr_t)heap, FW_END_NOT_CODE);
    free(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jit_code_by_frame_pointer),    cmocka_unit_test(jit_code_without_a_record),
        cmocka_unit_test(calls_through_bad_pointers),   cmocka_unit_test(a_stack_that_overflowed),
        cmocka_unit_test(stacks_that_were_overwritten), cmocka_unit_test(stacks_full_of_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
