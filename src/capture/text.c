/*
 * Stacks as text (framewalk/text.h): captures into memory of its own, then names the frames from
 * the shared index. Nothing is named, and nothing allocated, while a thread is stopped: the
 * captures are whole calls of threads.h.
 */
#include "framewalk/text.h"

#include "capture/shared_names.h"
#include "capture/stack_text.h"
#include "framewalk/capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ONE_FRAMES = 256, /* of a thread asked for alone */
    ALL_FRAMES = 128, /* of each of all */
    MORE_THREADS = 8, /* that may start between counting and capturing */
    OWN_FRAMES = 8,   /* frames of Framewalk itself before the caller, at the most */
};

char **fw_backtrace_symbols(void *const *addresses, int count)
{
    uint64_t generation;
    const size_t n = count >= 0 ? (size_t)count : 0;
    struct fw_frame *frames = count >= 0 ? calloc(n + 1, sizeof *frames) : NULL;
    for (size_t i = 0; frames && i < n; i++)
        frames[i] = (struct fw_frame){.address = (uintptr_t)addresses[i], .kind = FW_FRAME_RETURN};
    const struct fw_names *names = frames ? shared_names_hold(frames, n, &generation) : NULL;
    if (!names) {
        free(frames);
        return NULL;
    }
    size_t size = 0, left = 0;
    char **lines = NULL, *to = NULL;
    for (int pass = 0; pass < 2; pass++) { /* what they need, then the lines themselves */
        for (size_t i = 0; i < n; i++) {
            struct fw_name name;
            fw_names_lookup(names, &frames[i], &name);
            size_t length = stack_text_line(to, left, i, &frames[i], &name) + 1;
            size += length;
            if (pass == 0)
                continue;
            lines[i] = to;
            to += length;
            left -= length;
        }
        if (pass == 0) {
            lines = malloc(n * sizeof *lines + size + 1); /* also of no line at all */
            if (!lines)
                break;
            to = (char *)(lines + n);
            left = size;
        }
    }
    shared_names_release();
    free(frames);
    return lines;
}

static void add_stack(struct stack_text *text, const struct fw_names *names,
                      const struct fw_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        struct fw_name name;
        if (i == stack->head)
            stack_text_gap(text, stack->omitted, STACK_TEXT_OMITTED);
        fw_names_lookup(names, &stack->frames[i], &name);
        stack_text_frame(text, stack_text_index(stack, i), &stack->frames[i], &name);
    }
    if (stack->head == stack->count)
        stack_text_gap(text, stack->omitted, STACK_TEXT_OMITTED);
    stack_text_end(text, stack);
}

static const char *state_text(char state)
{
    switch (state) {
    case 'R': return " R (running)";
    case 'S': return " S (sleeping)";
    case 'D': return " D (uninterruptible sleep)";
    case 'T': return " T (stopped)";
    case 't': return " t (stopped by a debugger)";
    case 'Z':
    case 'X': return " Z (dead)";
    case 'I': return " I (idle)";
    default: return "";
    }
}

static void add_thread(struct stack_text *text, const struct fw_names *names,
                       const struct fw_thread *thread)
{
    stack_text_add(text, "Thread %" PRIu64, thread->system_id);
    if (thread->name[0])
        stack_text_add(text, " \"%s\"", thread->name);
    if (thread->is_main || thread->is_self)
        stack_text_add(text, " (%s%s%s)", thread->is_main ? "main" : "",
                       thread->is_main && thread->is_self ? ", " : "",
                       thread->is_self ? "this thread" : "");
    stack_text_add(text, "%s", state_text(thread->state));
    if (thread->queue[0])
        stack_text_add(text, ", queue \"%s\"", thread->queue);
    stack_text_add(text, "\n");
    add_stack(text, names, &thread->stack);
}

/* A whole text, or NULL and nothing left of it. */
static char *text_end(struct stack_text *text)
{
    if (!text->failed && !text->at)
        stack_text_add(text, "%s", "");
    if (!text->failed)
        return text->at;
    free(text->at);
    return NULL;
}

/* The calling thread's stack begins inside Framewalk; people want it to begin with their call. The
 * id stays that of the stack as it was walked. */
static void begin_with_caller(struct fw_stack *stack, uint64_t caller)
{
#if defined(__arm__)
    caller &= ~(uint64_t)1; /* frames carry no Thumb bit */
#endif
    uint32_t most = stack->head < OWN_FRAMES ? stack->head : OWN_FRAMES;
    for (uint32_t own = 0; own < most; own++) {
        if (stack->frames[own].address != caller)
            continue;
        stack->count -= own;
        stack->head -= own;
        stack->capacity -= own;
        stack->frames += own;
        return;
    }
}

static char *text_of_threads(struct fw_thread *threads, size_t count, uint64_t caller)
{
    struct stack_text text = {0};
    for (size_t i = 0; i < count; i++) {
        const struct fw_stack *stack = &threads[i].stack;
        uint64_t generation;
        if (threads[i].is_self)
            begin_with_caller(&threads[i].stack, caller);
        const struct fw_names *names = shared_names_hold(stack->frames, stack->count, &generation);
        if (!names) {
            text.failed = true;
            break;
        }
        if (i)
            stack_text_add(&text, "\n");
        add_thread(&text, names, &threads[i]);
        shared_names_release();
    }
    return text_end(&text);
}

static char *text_of_one(fw_thread_id id, uint64_t caller)
{
    struct fw_threads_options options = {
        .size = sizeof options, .frames = ONE_FRAMES, .tail = ONE_FRAMES / 4};
    struct fw_frame frames[ONE_FRAMES];
    struct fw_thread thread = {.stack = {.frames = frames, .capacity = ONE_FRAMES}};
    fw_error error = fw_thread_capture(id, &thread, &options);
    if (error == FW_OK)
        return text_of_threads(&thread, 1, caller);
    struct stack_text text = {0};
    stack_text_add(&text, "Thread %" PRIu64 "\nno stack: %s\n", (uint64_t)id,
                   error == FW_ERR_NOT_FOUND ? "there is no such thread" : fw_error_text(error));
    return text_end(&text);
}

/* A return address in the function that called the one of ours in which this stands. */
#define CALLER ((uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))

__attribute__((noinline)) char *fw_text_this_thread(void)
{
    return text_of_one(fw_thread_self(), CALLER);
}

__attribute__((noinline)) char *fw_text_main_thread(void)
{
    return text_of_one(fw_thread_main(), CALLER);
}

__attribute__((noinline)) char *fw_text_thread(fw_thread_id id)
{
    return text_of_one(id, CALLER);
}

/* All threads into one block of memory that holds them and their frames; more room when there are
 * more by then. NULL when there is none, and then *error is FW_ERR_MEMORY. */
static struct fw_thread *capture_all(size_t *count, fw_error *error)
{
    const size_t each = sizeof(struct fw_thread) + ALL_FRAMES * sizeof(struct fw_frame);
    struct fw_threads_options options = {
        .size = sizeof options, .frames = ALL_FRAMES, .tail = ALL_FRAMES / 4};
    for (size_t capacity = 0;;) {
        capacity += capacity / 4 + MORE_THREADS;
        struct fw_thread *threads = capacity <= SIZE_MAX / each ? malloc(capacity * each) : NULL;
        *error = FW_ERR_MEMORY;
        if (!threads)
            return NULL;
        struct fw_frame *frames = (struct fw_frame *)(threads + capacity);
        *error = fw_threads_list(NULL, 0, count);
        if (*error == FW_OK || *count <= capacity)
            *error = fw_threads_capture(threads, capacity, count, frames, capacity * ALL_FRAMES,
                                        &options);
        if (*error != FW_ERR_MEMORY || *count <= capacity)
            return threads;
        free(threads);
        capacity = *count;
    }
}

__attribute__((noinline)) char *fw_text_all_threads(void)
{
    size_t count = 0;
    fw_error error;
    struct fw_thread *threads = capture_all(&count, &error);
    struct stack_text text = {0};
    char *whole = NULL;
    if (error == FW_OK) {
        whole = text_of_threads(threads, count, CALLER);
    } else if (error != FW_ERR_MEMORY) {
        stack_text_add(&text, "no threads: %s\n", fw_error_text(error));
        whole = text_end(&text);
    }
    free(threads);
    return whole;
}

char *fw_text_stack(const struct fw_stack *stack)
{
    struct stack_text text = {0};
    uint64_t generation;
    const struct fw_names *names = shared_names_hold(stack->frames, stack->count, &generation);
    if (!names)
        return NULL;
    add_stack(&text, names, stack);
    shared_names_release();
    return text_end(&text);
}
