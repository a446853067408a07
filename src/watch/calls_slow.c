/*
 * A call that the hot path could not count: its stack is new, its entry's time is old, its thread
 * is seen for the first time, or the stack is one that is walked each time (calls_table.h).
 *
 * Async-signal-safe. A watched function that is called in here is counted without its stack. So is
 * a call on a stack with too little room for a walk, and one in a thread that is in here already.
 */
#include "watch/calls_internal.h"

#include <errno.h>
#include <time.h>

#include "capture/self.h"
#include "framewalk/capture.h"
#include "framewalk/stack_table.h"
#include "framewalk/threads.h"
#include "os/self_context.h"
#include "os/self_stack.h"
#include "watch/calls_busy.h"
#include "watch/calls_recipe.h"

/* A walk takes up to 10 KB of stack, frames and recipe 5 KB. */
enum { ROOM = 20 * 1024 };

_Atomic uint32_t calls_inside;

struct call {
    struct calls_saved *saved;
    struct fw_stack stack;
    struct fw_frame frame[CALLS_FRAMES_MAX];
    struct call_place at;
    bool own; /* the thread's own stack */
};

static void place_call(struct call *call, struct self_stack *memory)
{
    struct regs regs;
    calls_saved_regs(call->saved, &regs);
    call->at.sp = (uintptr_t)regs.r[ARCH_NATIVE.sp];
    call->at.fp = (uintptr_t)regs.r[ARCH_NATIVE.fp];
    self_stack_begin(memory, call->at.sp);
    call->own = memory->own;
    call->at.hi = memory->own ? self_stack_end(memory) : call->at.sp;
}

/* The stack, and its recipe when it has one. */
static bool walk_exactly(struct call *call, const struct self_stack *memory,
                         struct recipe_draft *draft)
{
    struct self_images images;
    struct walk_space space;
    struct regs regs;
    const struct walk_options options = {0};
    calls_saved_regs(call->saved, &regs);
    self_space(&images, &space);
    walk_stack(&space, &memory->memory, &regs, &options, &call->stack);
    const bool has_recipe =
        call->own && recipe_of_walk(&space, &memory->memory, &call->stack, &call->at, draft);
    self_images_end(&images);
    return has_recipe;
}

static bool walk_records(struct call *call, struct recipe_draft *draft)
{
    struct fw_stack outer = {.frames = call->frame + 1, .capacity = call->stack.capacity - 1};
    const uintptr_t mask = ~(uintptr_t)self_pac_mask();
    fw_capture_from_frame_pointer(&outer, (const void *)call->at.fp);
    call->frame[0] = (struct fw_frame){.address = call->saved->return_address & mask,
                                       .kind = FW_FRAME_RETURN,
                                       .method = FW_METHOD_REGISTERS};
    call->stack.count = call->stack.head = outer.count + 1;
    call->stack.end = outer.end;
    call->stack.id = fw_stack_id(call->frame, call->stack.count);
    return call->own && recipe_of_records(&call->stack, &call->at, mask, draft);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static __attribute__((noinline)) void count_stack(struct fw_calls *calls, uint32_t name,
                                                  struct calls_saved *saved)
{
    struct call call = {.saved = saved};
    struct recipe_draft draft;
    struct self_stack memory;
    place_call(&call, &memory);
    call.stack.frames = call.frame;
    call.stack.capacity = calls->frames;
    const bool has_recipe = calls->walk == FW_CALLS_EXACT ? walk_exactly(&call, &memory, &draft)
                                                          : walk_records(&call, &draft);
    const uint32_t beat = atomic_load_explicit(&calls->beat, memory_order_relaxed);
    const uint64_t now = now_ms();
    bool is_new;
    struct noted *noted =
        calls_table_add(&calls->table, name, &call.stack, (uint32_t)fw_thread_self(), now, &is_new);
    if (!noted) {
        atomic_fetch_add_explicit(&calls->name[name].dropped, 1, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&noted->last_ms, now, memory_order_relaxed);
    atomic_store_explicit(&noted->tick, calls_ticks(), memory_order_relaxed);
    atomic_store_explicit(&noted->beat, beat, memory_order_relaxed);
    atomic_fetch_add_explicit(&noted->count, 1, memory_order_relaxed);
    if (call.own && CALLS_HOT) {
        calls_note_thread(calls, call.at.sp, call.at.hi);
        if (has_recipe)
            calls_table_add_recipe(&calls->table, noted, &draft, call.at.hi - call.at.sp);
    }
}

/* Whether the direct caller is one of those asked for. */
static bool is_wanted(struct fw_calls *calls, uintptr_t return_address)
{
    const size_t site = calls_site(return_address);
    if (!calls->callers ||
        atomic_load_explicit(&calls->wanted[site], memory_order_relaxed) == return_address)
        return true;
    if (atomic_load_explicit(&calls->unwanted[site], memory_order_relaxed) == return_address)
        return false;
    const bool wanted = calls_caller_wanted(calls, return_address);
    atomic_store_explicit(wanted ? &calls->wanted[site] : &calls->unwanted[site], return_address,
                          memory_order_relaxed);
    return wanted;
}

void calls_count(struct fw_calls *calls, uint32_t name, struct calls_saved *saved)
{
    if (!calls_busy_enter()) {
        atomic_fetch_add_explicit(&calls->name[name].nested, 1, memory_order_relaxed);
        return;
    }
    const int error = errno; /* behind the gate: it is a function's to give, too */
    if (!calls_has_room(ROOM))
        atomic_fetch_add_explicit(&calls->name[name].nested, 1, memory_order_relaxed);
    else if (!is_wanted(calls, (uintptr_t)saved->return_address))
        atomic_fetch_add_explicit(&calls->name[name].others, 1, memory_order_relaxed);
    else
        count_stack(calls, name, saved);
    errno = error;
    calls_busy_leave();
}

uintptr_t calls_slow(struct calls_saved *saved)
{
    struct calls_thunk *thunk = &calls_thunks[(uint32_t)saved->thunk];
    const uint32_t name = atomic_load_explicit(&thunk->name, memory_order_relaxed);
    const uint32_t loader = atomic_load_explicit(&thunk->loader, memory_order_relaxed);
    if (name != CALLS_NO_NAME) {
        atomic_fetch_add(&calls_inside, 1);
        struct fw_calls *calls = atomic_load(&calls_current);
        if (calls)
            calls_count(calls, name, saved);
        atomic_fetch_sub(&calls_inside, 1);
    }
    const uintptr_t target = atomic_load_explicit(&thunk->target, memory_order_relaxed);
    return loader ? calls_loader_call(loader, saved, target) : target;
}

bool calls_slow_drain(unsigned ms)
{
    const struct timespec nap = {0, 1000000};
    for (; atomic_load(&calls_inside); ms--) {
        if (ms == 0)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}
