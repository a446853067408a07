/*
 * The pool of slots (state machine: slot.h). Lock-free: a thread that dies, sleeps or is stopped
 * anywhere in here costs at most its own slot.
 */
#include "capture/slot.h"

#include "framewalk/capture.h"
#include "os/linux/other_stack.h"
#include "os/linux/sys.h"

#include <sched.h>

enum { STATE_BITS = 3, STATE_MASK = 7 };

static struct slot slots[SLOT_COUNT];

/* On which a handler walks: what the kernel left of the thread's stack, or of its alternate one,
 * may be a few hundred bytes (CPython's faulthandler and Rust have alternate stacks of 8 KB). Of
 * memory that nobody touches before. */
static _Alignas(64) char stacks[SLOT_COUNT][SLOT_STACK];
static struct slot_collector collectors[SLOT_COLLECTORS];

static struct {
    _Atomic int32_t process;     /* whose pool this is; -pid while that one makes it afresh */
    _Atomic uint32_t slots_used; /* bit i: slot i is not FREE */
    _Atomic uint32_t collectors_used;
    _Atomic uint32_t freed; /* counts slots and collectors given back, while somebody waits */
    _Atomic uint32_t waiting;
} pool;

static uint32_t with_state(uint32_t word, enum slot_state state)
{
    return (word & ~(uint32_t)STATE_MASK) | (uint32_t)state;
}

static int take_bit(_Atomic uint32_t *used)
{
    uint32_t now = atomic_load_explicit(used, memory_order_relaxed);
    while (now != UINT32_MAX) {
        int bit = __builtin_ctz(~now);
        if (atomic_compare_exchange_weak(used, &now, now | UINT32_C(1) << bit))
            return bit;
    }
    return -1;
}

static void give_bit(_Atomic uint32_t *used, int bit)
{
    atomic_fetch_and(used, ~(UINT32_C(1) << bit));
    if (atomic_load(&pool.waiting)) {
        atomic_fetch_add(&pool.freed, 1);
        sys_futex_wake(&pool.freed, INT32_MAX);
    }
}

/* Sleeps until something was given back after `freed` was read, or `deadline`. */
static bool wait_freed(uint32_t freed, uint64_t deadline)
{
    uint64_t now = sys_monotonic_ns();
    if (now >= deadline)
        return false;
    sys_futex_wait(&pool.freed, freed, deadline - now);
    return true;
}

/* After fork() the handlers that the pool speaks of are in another process. False when the thread
 * that makes it afresh does not come to an end of it: it may be stopped. */
static bool own_pool(int32_t pid, uint64_t deadline)
{
    int32_t owner;
    while ((owner = atomic_load(&pool.process)) != pid) {
        if (owner == -pid || !atomic_compare_exchange_strong(&pool.process, &owner, -pid)) {
            if (sys_monotonic_ns() >= deadline)
                return false;
            sched_yield();
            continue;
        }
        for (int i = 0; i < SLOT_COUNT; i++) {
            uint32_t word = atomic_load(&slots[i].state);
            atomic_store(&slots[i].state, with_state(word + STATE_MASK + 1, SLOT_FREE));
        }
        atomic_store(&pool.slots_used, 0);
        atomic_store(&pool.collectors_used, 0);
        atomic_store(&pool.waiting, 0);
        atomic_store(&pool.process, pid);
    }
    return true;
}

int slot_enter(int32_t pid, uint64_t deadline)
{
    if (!own_pool(pid, deadline))
        return -1;
    int collector = take_bit(&pool.collectors_used);
    if (collector >= 0)
        return collector;
    atomic_fetch_add(&pool.waiting, 1);
    for (bool again = true; again;) {
        uint32_t freed = atomic_load(&pool.freed);
        if ((collector = take_bit(&pool.collectors_used)) >= 0)
            break;
        again = wait_freed(freed, deadline);
    }
    atomic_fetch_sub(&pool.waiting, 1);
    return collector;
}

void slot_leave(int collector)
{
    give_bit(&pool.collectors_used, collector);
}

unsigned slot_share(void)
{
    unsigned sharing = (unsigned)__builtin_popcount(atomic_load(&pool.collectors_used));
    return sharing > 1 ? SLOT_COUNT / sharing : SLOT_COUNT;
}

struct slot *slot_at(int slot)
{
    return &slots[slot];
}

enum slot_state slot_state(int slot)
{
    uint32_t word = atomic_load_explicit(&slots[slot].state, memory_order_acquire);
    return (enum slot_state)(word & STATE_MASK);
}

int slot_take(int collector)
{
    int i = take_bit(&pool.slots_used);
    if (i < 0)
        return -1;
    uint32_t word = atomic_load_explicit(&slots[i].state, memory_order_relaxed);
    slots[i].collector = (uint32_t)collector;
    atomic_store(&slots[i].state, with_state(word + STATE_MASK + 1, SLOT_TAKEN));
    return i;
}

bool slot_wait_free(uint64_t deadline)
{
    atomic_fetch_add(&pool.waiting, 1);
    uint32_t freed = atomic_load(&pool.freed);
    bool again = true;
    if (atomic_load(&pool.slots_used) == UINT32_MAX)
        again = wait_freed(freed, deadline);
    atomic_fetch_sub(&pool.waiting, 1);
    return again;
}

void slot_free(int slot)
{
    uint32_t word = atomic_load_explicit(&slots[slot].state, memory_order_relaxed);
    atomic_store(&slots[slot].state, with_state(word, SLOT_FREE));
    give_bit(&pool.slots_used, slot);
}

void slot_post(int slot, fw_thread_id id, uint32_t capacity, uint32_t tail)
{
    struct slot *s = &slots[slot];
    uint32_t word = atomic_load_explicit(&s->state, memory_order_relaxed);
    s->held_ns = 0;
    s->stack = (struct fw_stack){.frames = s->frames, .capacity = capacity, .tail = tail};
    atomic_store_explicit(&s->thread, id, memory_order_relaxed);
    atomic_store(&s->state, with_state(word + STATE_MASK + 1, SLOT_PENDING));
}

/* Moves `from` to `to`; false, and *word as it is now, when the slot is in another state. */
static bool move(struct slot *s, uint32_t *word, enum slot_state from, enum slot_state to)
{
    while ((*word & STATE_MASK) == from)
        if (atomic_compare_exchange_weak(&s->state, word, with_state(*word, to)))
            return true;
    return false;
}

bool slot_withdraw(int slot)
{
    uint32_t word = atomic_load(&slots[slot].state);
    return move(&slots[slot], &word, SLOT_PENDING, SLOT_TAKEN);
}

enum slot_state slot_abandon(int slot)
{
    struct slot *s = &slots[slot];
    uint32_t word = atomic_load(&s->state);
    if (move(s, &word, SLOT_PENDING, SLOT_TAKEN))
        return SLOT_TAKEN;
    if (move(s, &word, SLOT_RUNNING, SLOT_ORPHANED))
        return SLOT_ORPHANED;
    return (enum slot_state)(word & STATE_MASK);
}

uint32_t slot_answers(int collector)
{
    return atomic_load(&collectors[collector].answers);
}

void slot_wait_answers(int collector, uint32_t seen, uint32_t count, uint64_t deadline)
{
    struct slot_collector *c = &collectors[collector];
    atomic_store(&c->wake_at, seen + count);
    for (;;) {
        atomic_store(&c->sleeping, 1);
        uint32_t answers = atomic_load(&c->answers);
        uint64_t now = sys_monotonic_ns();
        if (answers - seen >= count || now >= deadline)
            break;
        sys_futex_wait(&c->answers, answers, deadline - now);
    }
    atomic_store(&c->sleeping, 0);
}

static void count_answer(struct slot_collector *c)
{
    uint32_t answers = atomic_fetch_add(&c->answers, 1) + 1;
    if ((int32_t)(answers - atomic_load(&c->wake_at)) >= 0 && atomic_load(&c->sleeping) &&
        atomic_exchange(&c->sleeping, 0))
        sys_futex_wake(&c->answers, 1);
}

struct walk {
    struct fw_stack *stack;
    void *ucontext;
};

static void walk(void *context)
{
    const struct walk *w = context;
    fw_capture_context(w->stack, w->ucontext, 0);
}

/* Answers in slot `i` if it waits for thread `self`. */
static bool answer_in(int i, fw_thread_id self, uint64_t start, void *ucontext)
{
    struct slot *s = &slots[i];
    uint32_t word = atomic_load_explicit(&s->state, memory_order_acquire);
    if ((word & STATE_MASK) != SLOT_PENDING ||
        atomic_load_explicit(&s->thread, memory_order_relaxed) != self ||
        !atomic_compare_exchange_strong(&s->state, &word, with_state(word, SLOT_RUNNING)))
        return false;

    struct slot_collector *collector = &collectors[s->collector];
    struct walk w = {&s->stack, ucontext};
    other_stack_run(stacks[i], SLOT_STACK, walk, &w);
    s->held_ns = sys_monotonic_ns() - start;

    word = with_state(word, SLOT_RUNNING);
    if (move(s, &word, SLOT_RUNNING, SLOT_DONE))
        count_answer(collector);
    else
        slot_free(i);
    return true;
}

void slot_answer(uint32_t hint, void *ucontext)
{
    uint64_t start = sys_monotonic_ns();
    fw_thread_id self = sys_gettid();
    if (answer_in((int)(hint % SLOT_COUNT), self, start, ucontext))
        return;
    for (int i = 0; i < SLOT_COUNT; i++)
        answer_in(i, self, start, ucontext);
}
