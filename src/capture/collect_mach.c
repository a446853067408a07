/*
 * Collecting stacks on Apple (collect.h): stop, copy, resume, then walk the copy.
 *
 * A round stops one thread, or with `at_once` all of them, and walks what was copied. A walk that
 * runs off its copy names the address that it missed; another round then copies more of that stack,
 * or the thread's own when it is on another one (a signal handler's) or out of stack. With
 * `at_once` it copies all threads again, so that all stacks are of one moment.
 *
 * Invariant: a walk reads copies only. The stack itself has changed by then, so what was not copied
 * is not there.
 */
#include "capture/collect.h"

#include "capture/self.h"
#include "os/darwin/prepared.h"
#include "os/darwin/stop.h"

fw_error collect_check(const struct collect_settings *settings)
{
    (void)settings;
    return FW_OK;
}

static void set_unavailable(struct fw_thread *thread, fw_unavailable reason)
{
    thread->stack = (struct fw_stack){
        .frames = thread->stack.frames, .end = FW_END_UNAVAILABLE, .unavailable = (uint8_t)reason};
}

/* The next thread to ask, from *next on; NULL when there is none. */
static struct fw_thread *next_thread(struct fw_thread *threads, size_t count, size_t *next)
{
    while (*next < count && threads[*next].is_self)
        (*next)++;
    return *next < count ? &threads[(*next)++] : NULL;
}

#if WINDOW_FORBIDDEN

fw_error collect_threads(struct fw_thread *threads, size_t count,
                         const struct collect_settings *settings, struct collect_room *room)
{
    struct fw_thread *thread;
    (void)settings;
    (void)room;
    for (size_t next = 0; (thread = next_thread(threads, count, &next));)
        set_unavailable(thread, FW_UNAVAILABLE_FORBIDDEN);
    return FW_OK;
}

#else

enum {
    ROUNDS = 4, /* a stack, the one under it, more of both, and one that grew meanwhile */
    /* Enough for 50 frames and more; the kernel copies up to 32 KB directly, and shares the pages
     * of what is larger, so that the thread would fault on each of them. */
    FIRST_BYTES = 24 << 10,
    SLACK = 16 << 10,    /* for what a stack grows until it is copied again */
    LARGEST = 64 << 20,  /* of all copies of a round */
    UNKNOWN_GROWTH = 16, /* times as much of a stack whose end is not known */
};

/* Threads that are stopped together. */
struct batch {
    struct fw_thread *threads; /* those with is_self are left out */
    size_t count;
    struct stopped_thread *stopped; /* of the others, in their order */
    size_t stopped_count;
    const struct collect_settings *settings;
};

static void set_all_unavailable(const struct batch *batch, fw_unavailable reason)
{
    struct fw_thread *thread;
    for (size_t next = 0; (thread = next_thread(batch->threads, batch->count, &next));)
        set_unavailable(thread, reason);
}

/* The memory of a walk. */
struct copied {
    struct memory memory;
    const struct stopped_thread *thread;
    uint64_t missed; /* the last address that was not copied; 0 for none */
};

static bool read_context(void *context, uint64_t address, void *to, size_t size)
{
    struct copied *copied = context;
    const struct stopped_thread *thread = copied->thread;
    for (uint32_t i = 0; i < thread->context_count; i++) {
        const struct window_context *from = &thread->contexts[i];
        uint64_t offset = address - from->address;
        if (offset < sizeof from->word && size <= sizeof from->word - offset) {
            memcpy(to, (const uint8_t *)from->word + offset, size);
            return true;
        }
    }
    copied->missed = address;
    return false;
}

static bool is_inside(uint64_t address, uint64_t lo, uint64_t hi)
{
    return address >= lo && address < hi;
}

/* Contexts behind the last that was read are missing because that many were enough. */
static bool is_limit(const struct copied *copied, const struct fw_stack *stack)
{
    return stack->end == FW_END_BAD_MEMORY && copied->thread->context_count == WINDOW_CONTEXTS &&
           stack->count && stack->frames[stack->count - 1].flags & FW_FRAME_ASYNC;
}

/* Sets what to copy in the next round, after a walk that missed something. False when more would
 * not help. */
static bool want_more(struct stopped_thread *thread, const struct fw_stack *stack, uint64_t missed)
{
    const uint64_t sp = native_state_sp(&thread->state);
    const struct memory_range *near = &thread->range[0];
    if (!missed || stack->end == FW_END_ROOT || stack->end == FW_END_LIMIT)
        return false;
    const bool on_own = is_inside(near->lo, thread->stack_lo, thread->stack_hi);
    const size_t want = thread->want;
    const uintptr_t second = thread->second;
    if (is_inside(missed, thread->stack_lo, thread->stack_hi)) {
        if (on_own && missed < near->lo)
            return false;
        if (!on_own && (!second || missed < second)) { /* and a little below, for what may move */
            uint64_t room = missed - thread->stack_lo;
            thread->second = (uintptr_t)(missed - (room < SLACK ? room : SLACK));
        }
        uint64_t rest = thread->stack_hi - (on_own ? near->lo : thread->second) + SLACK;
        thread->want = rest > want ? (size_t)rest : want;
        return thread->want != want || thread->second != second;
    }
    if (on_own || !is_inside(missed, sp, sp + LARGEST) || near->size < want)
        return false;
    thread->want = want * UNKNOWN_GROWTH;
    return true;
}

/* Walks a copy into the room. */
static bool walk_copy(struct stopped_thread *stopped, struct fw_thread *thread,
                      const struct collect_settings *settings, struct collect_room *room)
{
    const struct walk_options options = {.exact_first = true};
    struct copied copied = {.thread = stopped};
    struct self_images images;
    struct walk_space space;
    struct regs regs;
    thread->stack = collect_room_stack(room, settings);
    if (!thread->stack.capacity)
        return false;
    copied.memory = (struct memory){
        .range = {stopped->range[0], stopped->range[1]}, .slow = read_context, .context = &copied};
    native_state_regs(&stopped->state, &regs);
    self_space(&images, &space);
    walk_stack(&space, &copied.memory, &regs, &options, &thread->stack);
    self_images_end(&images);
    if (is_limit(&copied, &thread->stack))
        thread->stack.end = FW_END_LIMIT;
    collect_room_take(room, &thread->stack);
    return want_more(stopped, &thread->stack, copied.missed);
}

/* Bytes that one thread's copies take; `want` is shortened to its share. */
static size_t copy_size(struct stopped_thread *thread, size_t share)
{
    if (thread->want > share)
        thread->want = share;
    return thread->want * (thread->second ? 2 : 1) +
           WINDOW_CONTEXTS * sizeof(struct window_context) + 2 * PREPARED_ALIGN;
}

/* Divides prepared memory among the threads; what they copy there is gone when it is given back. */
static bool prepare(struct batch *batch, struct prepared *memory)
{
    const size_t share = LARGEST / 2 / batch->stopped_count;
    size_t size = 0;
    for (size_t i = 0; i < batch->stopped_count; i++)
        size += copy_size(&batch->stopped[i], share);
    if (!prepared_take(memory, size))
        return false;
    for (size_t i = 0; i < batch->stopped_count; i++) {
        struct stopped_thread *thread = &batch->stopped[i];
        thread->bytes = prepared_part(memory, thread->want * (thread->second ? 2 : 1));
        thread->contexts = prepared_part(memory, WINDOW_CONTEXTS * sizeof *thread->contexts);
    }
    return true;
}

/* What a round came to. */
enum outcome {
    ROUND_DONE,
    ROUND_AGAIN,  /* another one would bring more */
    ROUND_FAILED, /* nothing was written: what an earlier one brought is still there */
};

static enum outcome walk_copies(struct batch *batch, struct collect_room *room)
{
    enum outcome outcome = ROUND_DONE;
    size_t next = 0;
    for (size_t i = 0; i < batch->stopped_count; i++) {
        struct fw_thread *thread = next_thread(batch->threads, batch->count, &next);
        struct stopped_thread *stopped = &batch->stopped[i];
        fw_unavailable why = stop_reason(stopped);
        if (why)
            set_unavailable(thread, why);
        else if (walk_copy(stopped, thread, batch->settings, room))
            outcome = ROUND_AGAIN;
    }
    return outcome;
}

static enum outcome run_round(struct batch *batch, struct collect_room *room, bool first)
{
    struct prepared memory;
    enum outcome outcome = ROUND_FAILED;
    const uint64_t deadline = stop_clock_ns() + batch->settings->timeout_ns;
    if (!prepare(batch, &memory)) {
        if (first)
            set_all_unavailable(batch, FW_UNAVAILABLE_PERMISSION);
        return ROUND_FAILED;
    }
    if (stop_threads(batch->stopped, batch->stopped_count, deadline)) {
        size_t next = 0;
        for (size_t i = 0; i < batch->stopped_count; i++)
            next_thread(batch->threads, batch->count, &next)->held_ns +=
                stop_held_ns(&batch->stopped[i]);
        /* One thread that ended, or is refused now: its first stack is better than none. */
        if (first || batch->stopped_count > 1 || !stop_reason(batch->stopped))
            outcome = walk_copies(batch, room);
    } else if (first) {
        set_all_unavailable(batch, FW_UNAVAILABLE_TIMEOUT);
    }
    prepared_give(&memory);
    return outcome;
}

static void collect_batch(struct batch *batch, struct collect_room *room)
{
    const struct collect_room whole = *room;
    size_t next = 0;
    for (size_t i = 0; i < batch->stopped_count; i++) {
        struct fw_thread *thread = next_thread(batch->threads, batch->count, &next);
        batch->stopped[i] = (struct stopped_thread){.thread = thread->id, .want = FIRST_BYTES};
        stop_learn_stack(&batch->stopped[i]);
    }
    enum outcome outcome = ROUND_AGAIN;
    for (unsigned round = 0; round < ROUNDS && outcome == ROUND_AGAIN; round++) {
        struct collect_room left = whole;
        outcome = run_round(batch, &left, round == 0);
        if (outcome != ROUND_FAILED)
            *room = left;
    }
}

static void collect_together(struct batch *batch, struct collect_room *room)
{
    struct prepared memory;
    if (!prepared_take(&memory, batch->stopped_count * sizeof *batch->stopped)) {
        set_all_unavailable(batch, FW_UNAVAILABLE_PERMISSION);
        return;
    }
    batch->stopped = prepared_part(&memory, batch->stopped_count * sizeof *batch->stopped);
    collect_batch(batch, room);
    prepared_give(&memory);
}

fw_error collect_threads(struct fw_thread *threads, size_t count,
                         const struct collect_settings *settings, struct collect_room *room)
{
    struct fw_thread *thread;
    size_t others = 0;
    for (size_t next = 0; next_thread(threads, count, &next);)
        others++;
    if (settings->at_once && others > 1) {
        struct batch batch = {threads, count, NULL, others, settings};
        collect_together(&batch, room);
        return FW_OK;
    }
    for (size_t next = 0; (thread = next_thread(threads, count, &next));) {
        struct stopped_thread stopped;
        struct batch batch = {thread, 1, &stopped, 1, settings};
        collect_batch(&batch, room);
    }
    return FW_OK;
}

#endif

int fw_threads_signal(void)
{
    return 0;
}

fw_error fw_threads_set_signal(int signal)
{
    (void)signal;
    return FW_ERR_UNSUPPORTED;
}
