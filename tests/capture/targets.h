/*
 * Threads to be captured, for the tests of capture/: each runs a body below `known_caller`, so a
 * right stack is known from the source: it holds the body, then known_caller, then target_main.
 */
#ifndef TESTS_CAPTURE_TARGETS_H
#define TESTS_CAPTURE_TARGETS_H

#include "framewalk/framewalk.h"
#include "support/sanitizers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include "os/threads.h"

#include <dlfcn.h>
#else
#include <sys/syscall.h>
#include <sys/wait.h>
#endif

/* The thread sanitizer keeps signals back until its runtime is called, and then shows registers
 * that are no longer true: stacks taken then are not looked at, and a test of nothing but stacks
 * leaves. */
#define LEAVE_UNDER_TSAN()                                                                         \
    do {                                                                                           \
        if (UNDER_TSAN) {                                                                          \
            print_message("skipped: the thread sanitizer delivers signals late\n");                \
            return 77;                                                                             \
        }                                                                                          \
    } while (0)

/* Is this run by qemu-user? Then /proc shows the emulator's signal masks and registers, and one
 * thread of its own that never answers. */
static inline bool emulated(void)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getpid());
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(name, 1, sizeof name - 1, file) : 0;
    if (file)
        fclose(file);
    return got > 5 && memcmp(name, "qemu-", 5) == 0;
}

/* A timeout that a loaded machine does not exceed; short where one thread is known to use it up. */
static inline uint32_t patience_ms(void)
{
    return emulated() ? 1000 : 10000;
}

/* Keeps the call before it from being the last thing that its function does. */
#define NOT_A_TAIL_CALL() __asm__ volatile("" ::: "memory")

#if defined(__APPLE__)

/* A function that can be found by its symbol: section names are too short here. */
#define KNOWN(name) __attribute__((noinline, unused))

/* Whether an address lies in a KNOWN function, and how many frames do. */
#define ADDRESS_IN(address, name) is_in_function(address, (const void *)(uintptr_t)(name))
#define FRAMES_IN(stack, name)    frames_of(stack, (const void *)(uintptr_t)(name))

static inline bool is_in_function(uint64_t address, const void *function)
{
    Dl_info info;
    return dladdr((const void *)(uintptr_t)address, &info) && info.dli_saddr == function;
}

static inline unsigned frames_of(const struct fw_stack *stack, const void *function)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < stack->count; i++)
        n += is_in_function(stack->frames[i].address - (stack->frames[i].kind == FW_FRAME_RETURN),
                            function);
    return n;
}

#else

/* A function of a section of its own: the linker knows where it begins and ends. */
#define KNOWN(name)                                                                                \
    extern const char __start_known_##name[] __attribute__((visibility("hidden")));                \
    extern const char __stop_known_##name[] __attribute__((visibility("hidden")));                 \
    __attribute__((noinline, unused, section("known_" #name)))

/* Whether an address lies in a KNOWN function, and how many frames do. */
#define ADDRESS_IN(address, name)                                                                  \
    ((address) >= (uintptr_t)__start_known_##name && (address) < (uintptr_t)__stop_known_##name)
#define FRAMES_IN(stack, name)                                                                     \
    frames_between(stack, (uintptr_t)__start_known_##name, (uintptr_t)__stop_known_##name)

static inline unsigned frames_between(const struct fw_stack *stack, uintptr_t lo, uintptr_t hi)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t at = stack->frames[i].address - (stack->frames[i].kind == FW_FRAME_RETURN);
        n += at >= lo && at < hi;
    }
    return n;
}

#endif

struct target {
    pthread_t thread;
    void (*body)(struct target *);
    void *context;
    void (*innermost)(struct target *); /* of descend(); NULL: sleep_well() */
    bool block_signals;
    _Atomic fw_thread_id id; /* set when it runs */
    _Atomic bool ready;      /* set by the body when it is about to do its thing */
    _Atomic bool leave;
};

KNOWN(known_caller) static void known_caller(struct target *target)
{
    target->body(target);
    NOT_A_TAIL_CALL();
}

KNOWN(target_main) static void *target_main(void *context)
{
    struct target *target = context;
    if (target->block_signals) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    target->id = fw_thread_self();
    known_caller(target);
    NOT_A_TAIL_CALL();
    return NULL;
}

static inline void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* Runs until `leave`. */
static inline void target_begin(struct target *target, size_t stack_size)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (stack_size)
        pthread_attr_setstacksize(&attr, stack_size);
    assert_int_equal(pthread_create(&target->thread, &attr, target_main, target), 0);
    pthread_attr_destroy(&attr);
    while (!target->id || !target->ready)
        pause_ms(1);
}

static inline char state_of(fw_thread_id id)
{
#if defined(__APPLE__)
    struct fw_thread thread = {.id = id};
    os_thread_describe(&thread, true);
    return thread.state;
#else
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] ? end[2] : 0;
#endif
}

/* Waits until the kernel shows the thread in `state`. */
static inline bool reaches_state(fw_thread_id id, char state)
{
    for (int i = 0; i < 5000; i++) {
        if (state_of(id) == state)
            return true;
        pause_ms(1);
    }
    return false;
}

static inline void target_begin_asleep(struct target *target)
{
    target_begin(target, 0);
    assert_true(reaches_state(target->id, 'S'));
}

static inline void target_end(struct target *target)
{
    target->leave = true;
    pthread_join(target->thread, NULL);
}

enum { FRAMES = 256 };

/* A thread to capture into. */
struct captured {
    struct fw_thread thread;
    struct fw_frame frames[FRAMES];
};

static inline fw_error capture_into(struct captured *to, fw_thread_id id,
                                    const struct fw_threads_options *options)
{
    memset(to, 0xa5, sizeof *to);
    to->thread.stack = (struct fw_stack){.frames = to->frames, .capacity = FRAMES};
    return fw_thread_capture(id, &to->thread, options);
}

static inline void print_stack(const struct fw_thread *thread)
{
    const struct fw_stack *stack = &thread->stack;
    print_message("thread %d \"%s\" %c: %u frames, %s, %s\n", (int)thread->id, thread->name,
                  thread->state, (unsigned)stack->count, fw_end_text((fw_end)stack->end),
                  fw_unavailable_text((fw_unavailable)stack->unavailable));
    for (uint32_t i = 0; i < stack->count && i < 40; i++)
        print_message("    %#llx %s\n", (unsigned long long)stack->frames[i].address,
                      fw_method_text((fw_method)stack->frames[i].method));
}

/* EXIDX marks libc's clone() and _start as "cannot unwind", which does not prove a root. */
static inline bool ends_as_whole(const struct fw_stack *stack)
{
#if defined(__arm__)
    if (stack->end == FW_END_NO_INFO)
        return true;
#endif
    return stack->end == FW_END_ROOT;
}

/* The whole stack of a target, with everything that the source says of it. */
#define assert_whole(thread_)                                                                      \
    do {                                                                                           \
        const struct fw_thread *whole_ = (thread_);                                                \
        if (!ends_as_whole(&whole_->stack) || !FRAMES_IN(&whole_->stack, known_caller) ||          \
            !FRAMES_IN(&whole_->stack, target_main))                                               \
            print_stack(whole_);                                                                   \
        assert_true(ends_as_whole(&whole_->stack));                                                \
        assert_int_equal(whole_->stack.unavailable, FW_AVAILABLE);                                 \
        assert_int_equal(FRAMES_IN(&whole_->stack, known_caller), 1);                              \
        assert_int_equal(FRAMES_IN(&whole_->stack, target_main), 1);                               \
        assert_int_equal(whole_->stack.frames[0].kind, FW_FRAME_EXACT);                            \
    } while (0)

/* Bodies that several tests use. */

static inline void wait_until_leave(struct target *target)
{
    while (!target->leave)
        pause_ms(20);
}

static inline void sleep_well(struct target *target)
{
    target->ready = true;
    wait_until_leave(target);
}

/* `depth` + 1 frames, and target->innermost called by the last. */
KNOWN(descend) static unsigned descend(struct target *target, unsigned depth)
{
    unsigned below = 0;
    if (depth)
        below = descend(target, depth - 1);
    else if (target->innermost)
        target->innermost(target);
    else
        sleep_well(target);
    NOT_A_TAIL_CALL();
    return below + 1;
}

KNOWN(spin) static void spin(struct target *target)
{
    target->ready = true;
    while (!target->leave)
        NOT_A_TAIL_CALL();
}

/* Sleeps in read() on a pipe, `context` is its two ends. */
KNOWN(read_pipe) static void read_pipe(struct target *target)
{
    int *pipe_ends = target->context;
    char byte;
    target->ready = true;
    while (read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
}

#endif
