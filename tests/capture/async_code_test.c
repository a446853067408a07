/*
 * Async functions as compilers make them, on this thread: a walk from a function that one called,
 * and (x86_64) from a signal at each of its instructions, prologue and epilogue too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

#include "capture/self.h"
#include "os/self_context.h"
#include "os/self_stack.h"

enum { CONTEXTS = 5, ROOM = 64, PLACES = 256 };

struct context {
    const struct context *parent;
    void (*resume)(void);
};

void run_async(void (*callback)(void), const void *context);
extern const char async_function[], async_begins[], async_ends[], async_function_end[];

/* Functions that wait. */
#define WAITING(n)                                                                                 \
    static void waiting_##n(void)                                                                  \
    {                                                                                              \
        __asm__ volatile("" ::"i"(n));                                                             \
    }                                                                                              \
    struct waiting_##n

WAITING(0);
WAITING(1);
WAITING(2);
WAITING(3);
WAITING(4);

static void (*const waiting[CONTEXTS])(void) = {waiting_0, waiting_1, waiting_2, waiting_3,
                                                waiting_4};
static struct context contexts[CONTEXTS];

static void make_contexts(void)
{
    for (unsigned i = 0; i < CONTEXTS; i++)
        contexts[i] = (struct context){i + 1 < CONTEXTS ? &contexts[i + 1] : NULL, waiting[i]};
}

/* A walk as Apple's build does it. */
static void walk(const struct regs *regs, bool exact, struct fw_stack *stack)
{
    struct self_images images;
    struct walk_space space;
    struct self_stack memory;
    self_space(&images, &space);
    space.swift_async = true;
    self_stack_begin(&memory, (uintptr_t)regs->r[ARCH_NATIVE.sp]);
    const struct walk_options options = {.exact_first = exact};
    walk_stack(&space, &memory.memory, regs, &options, stack);
}

static bool in_async(uint64_t address)
{
    return address >= (uintptr_t)async_function && address < (uintptr_t)async_function_end;
}

/* What a walk that came through async_function found. */
struct found {
    struct fw_frame frames[ROOM];
    struct fw_stack stack;
};

/* The frames of the contexts, and nothing else, stand behind frame `at`. */
static bool is_followed_by_contexts(const struct found *found, uint32_t at)
{
    if (found->stack.count != at + 1 + CONTEXTS || found->stack.end != FW_END_ROOT)
        return false;
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        const struct fw_frame as = {.address = (uintptr_t)waiting[i],
                                    .kind = FW_FRAME_EXACT,
                                    .method = FW_METHOD_ASYNC,
                                    .flags = FW_FRAME_ASYNC};
        if (memcmp(&found->frames[at + 1 + i], &as, sizeof as) != 0)
            return false;
    }
    return true;
}

static uint32_t async_frame(const struct found *found)
{
    uint32_t at = 0;
    while (at < found->stack.count && !in_async(found->frames[at].address))
        at++;
    return at;
}

static struct found from_callee;

static void walk_by_signal(int signal, siginfo_t *info, void *ucontext)
{
    (void)signal;
    (void)info;
    struct regs regs;
    self_context_regs(ucontext, &regs);
    from_callee.stack = (struct fw_stack){.frames = from_callee.frames, .capacity = ROOM};
    walk(&regs, true, &from_callee.stack);
}

static void raise_signal(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

static void from_a_function_it_calls(void **state)
{
    (void)state;
    make_contexts();
    struct sigaction action = {.sa_flags = SA_SIGINFO}, before;
    action.sa_sigaction = walk_by_signal;
    sigaction(SIGUSR1, &action, &before);
    run_async(raise_signal, contexts);
    assert_true(is_followed_by_contexts(&from_callee, async_frame(&from_callee)));

    run_async(raise_signal, NULL);
    const uint32_t at = async_frame(&from_callee);
    assert_true(at + 2 < from_callee.stack.count);
    assert_int_equal(from_callee.frames[at + 1].flags, 0);
    sigaction(SIGUSR1, &before, NULL);
}

#if defined(__x86_64__) && defined(__linux__)

/* Each place of the function where the thread was stopped. */
static struct place {
    uint64_t pc;
    bool followed; /* by the contexts */
    bool physical; /* by the frames of the executor up to this test */
} places[PLACES];
static size_t place_count;
static bool through_handler;

static void do_nothing(void)
{
}

static bool is_physical(const struct found *found, uint32_t at)
{
    const uintptr_t run = (uintptr_t)run_async, end = (uintptr_t)async_function;
    const struct fw_frame *next = &found->frames[at + 1];
    return at + 3 < found->stack.count && found->stack.end == FW_END_ROOT && next->address > run &&
           next->address < end && next->flags == 0;
}

static struct found stepped;

static void on_step(int signal, siginfo_t *info, void *ucontext)
{
    (void)signal;
    (void)info;
    struct regs regs;
    self_context_regs(ucontext, &regs);
    const uint64_t pc = regs.r[ARCH_NATIVE.pc];
    if (!in_async(pc) || place_count == PLACES)
        return;
    stepped.stack = (struct fw_stack){.frames = stepped.frames, .capacity = ROOM};
    if (through_handler) { /* from here, over the frame of the signal */
        struct regs here = {{0}, 0};
        uint64_t sp, fp;
        __asm__ volatile("movq %%rsp, %0\n\tmovq %%rbp, %1" : "=r"(sp), "=r"(fp));
        regs_set(&here, ARCH_NATIVE.sp, sp);
        regs_set(&here, ARCH_NATIVE.fp, fp);
        uint64_t rip;
        __asm__ volatile("leaq (%%rip), %0" : "=r"(rip));
        regs_set(&here, ARCH_NATIVE.pc, rip);
        walk(&here, true, &stepped.stack);
    } else {
        walk(&regs, true, &stepped.stack);
    }
    const uint32_t at = async_frame(&stepped);
    places[place_count++] =
        (struct place){pc, is_followed_by_contexts(&stepped, at), is_physical(&stepped, at)};
}

static void at_each_instruction(void **state)
{
    (void)state;
    make_contexts();
    struct sigaction action = {.sa_flags = SA_SIGINFO}, before;
    action.sa_sigaction = on_step;
    sigaction(SIGTRAP, &action, &before);
    for (unsigned turn = 0; turn < 2; turn++) {
        through_handler = turn == 1;
        place_count = 0;
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        run_async(do_nothing, contexts);
        __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        assert_int_equal(place_count, 11);
        for (size_t i = 0; i < place_count; i++) {
            const bool inside =
                places[i].pc >= (uintptr_t)async_begins && places[i].pc <= (uintptr_t)async_ends;
            if (inside ? !places[i].followed : !places[i].physical)
                fail_msg("turn %u: wrong at +%#llx", turn,
                         (unsigned long long)(places[i].pc - (uintptr_t)async_function));
        }
    }
    sigaction(SIGTRAP, &before, NULL);
}

#endif

int main(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    return 77;
#else
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_a_function_it_calls),
#if defined(__x86_64__) && defined(__linux__)
        cmocka_unit_test(at_each_instruction),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
