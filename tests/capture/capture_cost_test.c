/*
 * What a capture costs besides time: how deep it uses the stack, and that it allocates nothing,
 * both also for the very first one. (Other threads: threads_locks_test.c.)
 */
#include "capture/targets.h"
#include "support/platform.h"

#include <sys/mman.h>
#include <ucontext.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !UNDER_TSAN
#define PLAIN_BUILD 1
#else
#define PLAIN_BUILD 0
#endif

static _Atomic unsigned allocations;

#if PLAIN_BUILD
/* Every allocation of the program, libc's own included, goes through here. */
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *memory);
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *sbrk(intptr_t change);
int brk(void *end);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}

void free(void *memory)
{
    allocations++;
    __libc_free(memory);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    allocations++;
#ifdef SYS_mmap2
    return (void *)syscall(SYS_mmap2, at, size, protection, flags, file, offset >> 12);
#else
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
#endif
}

void *sbrk(intptr_t change)
{
    (void)change;
    allocations++;
    errno = ENOMEM;
    return (void *)-1; /* malloc has other ways */
}

int brk(void *end)
{
    (void)end;
    allocations++;
    errno = ENOMEM;
    return -1;
}
#pragma GCC visibility pop
#endif

static struct fw_frame frames[FRAMES];
static struct fw_stack stack;

static void reset(void)
{
    stack = (struct fw_stack){.frames = frames, .capacity = FRAMES};
}

/* Measuring: the stack below this frame is painted, and what is no longer painted was used. */
enum {
    STACK_SIZE = 1 << 20,
    PAINTED = 1 << 16,
    PAINT = 0xa5,
#if defined(__OPTIMIZE__) /* in framewalk/capture.h */
    DOCUMENTED = 10 * 1024,
    DOCUMENTED_WARM = 4096,
#else
    DOCUMENTED = 11 * 1024,
    DOCUMENTED_WARM = 5120,
#endif
};

static size_t deepest;

__attribute__((noinline, no_sanitize("address"))) static volatile uint8_t *paint(void)
{
    enum { OWN = 512 }; /* this frame and what the loop keeps */
    volatile uint8_t *here = __builtin_frame_address(0);
    for (size_t i = OWN; i < PAINTED; i++)
        here[-(ptrdiff_t)i] = PAINT;
    return here;
}

__attribute__((noinline, no_sanitize("address"))) static size_t
measure(const volatile uint8_t *here, const char *what)
{
    size_t depth = PAINTED - 1;
    while (depth && here[-(ptrdiff_t)depth] == PAINT)
        depth--;
    print_message("%s: %zu bytes\n", what, depth);
    assert_true(depth < PAINTED - 1);
    deepest = depth > deepest ? depth : deepest;
    return depth;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    volatile uint8_t *here = paint();
    fw_capture_context(&stack, context, 0);
    measure(here, "context");
    here = paint();
    fw_capture(&stack, 0);
    measure(here, "through a signal frame");
}

/* A function whose only unwind information is its instructions. */
#if defined(__x86_64__)
__asm__(".text\n.type without_tables,@function\nwithout_tables:\n"
        "pushq %rbx\nsubq $48, %rsp\nmovq %rdi, %rbx\ncall *%rdi\n"
        "testl %ebx, %ebx\nje 1f\nnop\n1: addq $48, %rsp\npopq %rbx\nret\n"
        ".size without_tables,.-without_tables\n");
void without_tables(void (*function)(void)) __attribute__((visibility("hidden")));
#else
__attribute__((noinline)) static void without_tables(void (*function)(void))
{
    function();
    NOT_A_TAIL_CALL();
}
#endif

__attribute__((noinline)) static void capture_here(void)
{
    volatile uint8_t *here = paint();
    fw_capture(&stack, 0);
    measure(here, "through code without tables");
}

static int compare_by_capture(const void *a, const void *b)
{
    (void)a, (void)b;
    void *addresses[64];
    volatile uint8_t *here = paint();
    fw_backtrace(addresses, 64);
    measure(here, "addresses, through libc");
    return 0;
}

static void *measures(void *unused)
{
    (void)unused;
    volatile uint8_t *here = NULL;
    reset();
    for (volatile int i = 0; i < 2; i++) { /* one call site: the second one finds its rules */
        here = paint();
        fw_capture(&stack, 0);
        size_t depth = measure(here, i ? "again" : "first");
        /* Without tables nothing is remembered: the second time is like the first. */
        assert_true(i == 0 || depth <= DOCUMENTED_WARM || !LIBC_HAS_TABLES);
    }
    without_tables(capture_here);
    int list[2] = {1, 2};
    qsort(list, 2, sizeof *list, compare_by_capture);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    here = paint();
    fw_capture_frame_pointers(&stack, 0);
    measure(here, "frame pointers");
    return NULL;
}

static void uses_little_stack(void **state)
{
    (void)state;
    if (!PLAIN_BUILD)
        skip();
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    assert_int_equal(pthread_create(&thread, &attr, measures, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_true(deepest > 256);
    assert_true(deepest <= DOCUMENTED);
}

static volatile unsigned in_handler;

static void counts_in_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    unsigned before = allocations;
    fw_capture_context(&stack, context, 0);
    fw_capture(&stack, 0);
    in_handler = allocations - before;
}

static void *captures_on_thread(void *unused)
{
    (void)unused;
    void *addresses[32];
    unsigned before = allocations;
    fw_capture(&stack, 0);
    fw_capture_frame_pointers(&stack, 0);
    fw_capture_from_frame_pointer(&stack, __builtin_frame_address(0));
    fw_backtrace(addresses, 32);
    fw_backtrace_from_fp(__builtin_frame_address(0), addresses, 32);
    return (void *)(uintptr_t)(allocations - before);
}

static void allocates_nothing(void **state)
{
    (void)state;
    if (!PLAIN_BUILD)
        skip();
    pthread_t thread;
    void *on_thread;
    reset();
    struct sigaction action = {.sa_sigaction = counts_in_handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal((uintptr_t)captures_on_thread(NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, captures_on_thread, NULL), 0);
    pthread_join(thread, &on_thread);
    assert_int_equal((uintptr_t)on_thread, 0);
    in_handler = 1;
    raise(SIGUSR1);
    assert_int_equal(in_handler, 0);

    struct fw_names *names;
    unsigned before = allocations;
    assert_int_equal(fw_names_create(&names), FW_OK);
    assert_true(allocations > before); /* they are counted */
    reset();
    fw_capture(&stack, 0);
    before = allocations;
    for (uint32_t i = 0; i < stack.count; i++) {
        char text[128];
        struct fw_name name;
        fw_names_lookup(names, &frames[i], &name);
        fw_names_format(names, &frames[i], text, sizeof text);
    }
    assert_int_equal(allocations, before);
    fw_names_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_little_stack), /* first: nothing is known yet */
        cmocka_unit_test(allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
