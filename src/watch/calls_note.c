/*
 * The hot path of the call watch: a call whose stack is known is counted, and nothing else. All of
 * it is compiled with -mgeneral-regs-only and without instrumentation (src/CMakeLists.txt): vector
 * registers hold arguments of the watched function and are not saved here. So it calls nothing.
 *
 * Invariants. Words of the stack are read only when the thread's own stack holds them: its bounds
 * are in thread-local words that calls_slow has set. Whoever reads the watch's memory has counted
 * itself in beforehand, by a plain store into a place of its own; calls_note_drain makes all of
 * these visible (membarrier(2)) after it took the watch away, so it misses nobody.
 *
 * A signal handler may interrupt this anywhere and be noted itself: counting in and out is
 * balanced, and nothing else is changed but by one atomic addition. One that leaves by longjmp()
 * leaves its thread counted in: then the memory of the watch stays at its end.
 */
#include "watch/calls_internal.h"

void calls_count_nested(uint32_t name)
{
    atomic_fetch_add(&calls_inside, 1);
    struct fw_calls *calls = atomic_load(&calls_current);
    if (calls)
        atomic_fetch_add_explicit(&calls->name[name].nested, 1, memory_order_relaxed);
    atomic_fetch_sub(&calls_inside, 1);
}

#if CALLS_HOT

#include <linux/membarrier.h>
#include <sys/auxv.h>

#include "arch/pac.h"
#include "os/linux/sys.h"

enum { PLACES = 1024, PROBES = 8 };

/* Where one thread counts itself in. */
static struct place {
    _Alignas(64) _Atomic int32_t thread; /* 0: nobody's */
    int32_t pid;                         /* of the process that it is, or was, a thread of */
    uint32_t inside;                     /* written by the thread alone */
} places[PLACES];

static _Thread_local struct {
    struct place *place;
    uintptr_t lo, hi; /* of the thread's own stack, as far as it was seen */
} own __attribute__((tls_model("initial-exec")));

static bool barriers; /* the kernel has membarrier */

#if defined(__x86_64__)

static bool asks_fs;  /* user code may read its fs base */
static bool no_ticks; /* the time stamp counter is forbidden (prctl(2), PR_SET_TSC) */

enum { HWCAP2_READS_FS = 2, PR_GET_TSC_ = 25, PR_TSC_ENABLED = 1 };

static void prepare_machine(void)
{
    int mode = PR_TSC_ENABLED;
    asks_fs = getauxval(AT_HWCAP2) & HWCAP2_READS_FS;
    no_ticks = sys_call4(SYS_prctl, PR_GET_TSC_, (long)&mode, 0, 0) == 0 && mode != PR_TSC_ENABLED;
}

/* Whether the thread has thread-local words at all. Where the machine cannot say, it has. */
static inline bool has_own(void)
{
    uintptr_t base;
    if (!asks_fs)
        return true;
    __asm__("rdfsbase %0" : "=r"(base));
    return base != 0;
}

/* The machine's clock. Half a second has at least TICKS of it. */
enum { TICKS = 1 << 29 };

static inline uint64_t ticks(void)
{
    uint32_t low, high;
    if (no_ticks)
        return 0; /* calls_ticks makes that too late for every entry */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

#define TICKS_OF_HALF_A_SECOND TICKS
#define CODE_MASK              UINTPTR_MAX

#else

static uint64_t half_a_second;
static uintptr_t code_mask = UINTPTR_MAX;

static void prepare_machine(void)
{
    uint64_t hertz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
    half_a_second = hertz / 2;
    code_mask = ~(uintptr_t)arch_pac_mask();
}

static inline bool has_own(void)
{
    uintptr_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer != 0;
}

static inline uint64_t ticks(void)
{
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
}

#define TICKS_OF_HALF_A_SECOND half_a_second
#define CODE_MASK              code_mask

#endif

uint64_t calls_ticks(void)
{
    const uint64_t now = ticks();
    return now ? now : (uint64_t)1 << 63;
}

static inline uintptr_t word_at(uintptr_t address)
{
    return *(const volatile uintptr_t *)address;
}

/* 0: the word holds this address. */
static inline uintptr_t differs(uintptr_t sp, uint32_t at, uint64_t address)
{
    return (word_at(sp + at) & CODE_MASK) ^ (uintptr_t)address;
}

/* 0: the word holds this frame pointer. */
static inline uintptr_t moved(uintptr_t sp, const struct recipe_fp *saved)
{
    return (word_at(sp + saved->at) - sp) ^ saved->delta;
}

/* Whether the words of the stack at `sp` are those of the recipe. */
static inline bool matches(const struct calls_table *table, const struct recipe *recipe,
                           uintptr_t sp, uintptr_t fp)
{
    const struct fw_frame *frame = calls_table_noted(table, recipe->noted)->frame + 1;
    const uint32_t words = recipe->words;
    const uint32_t *at = recipe_at(recipe), *const end = at + words;
    for (; end - at >= 4; at += 4, frame += 4) /* one branch for four */
        if (differs(sp, at[0], frame[0].address) | differs(sp, at[1], frame[1].address) |
            differs(sp, at[2], frame[2].address) | differs(sp, at[3], frame[3].address))
            return false;
    for (; at < end; at++, frame++)
        if (differs(sp, at[0], frame->address))
            return false;
    if (recipe->has_last && (word_at(sp + *at++) & CODE_MASK) != recipe->last)
        return false;
    const struct recipe_fp *saved = (const struct recipe_fp *)(const void *)at;
    const struct recipe_fp *const saved_end = saved + recipe->fps;
    for (; saved_end - saved >= 4; saved += 4)
        if (moved(sp, &saved[0]) | moved(sp, &saved[1]) | moved(sp, &saved[2]) |
            moved(sp, &saved[3]))
            return false;
    for (; saved < saved_end; saved++)
        if (moved(sp, saved))
            return false;
    return !recipe->uses_fp || fp - sp == recipe->fp_delta;
}

/* The entry of a call, when its stack is known and its time is; NULL: to be done slowly. */
static inline struct noted *known(const struct fw_calls *calls, uint32_t name, uintptr_t sp,
                                  uintptr_t fp, uintptr_t return_address)
{
    const struct calls_table *table = &calls->table;
    const uintptr_t depth = own.hi - sp;
    uint32_t offset = atomic_load_explicit(calls_table_bucket(table, name, return_address, depth),
                                           memory_order_acquire);
    while (offset) {
        const struct recipe *recipe =
            (const struct recipe *)(const void *)(table->base + (size_t)offset * 8);
        if (recipe->return_address == return_address &&
            atomic_load_explicit(&recipe->name, memory_order_relaxed) == name &&
            recipe->span <= depth && matches(table, recipe, sp, fp))
            return calls_table_noted(table, recipe->noted);
        offset = recipe->next;
    }
    return NULL;
}

/* A call from an image that nobody asked for. */
static inline bool is_unwanted(const struct fw_calls *calls, uintptr_t return_address)
{
    return calls->callers && atomic_load_explicit(&calls->unwanted[calls_site(return_address)],
                                                  memory_order_relaxed) == return_address;
}

/* Whether the entry's last time is half a second old. */
static inline bool is_old(const struct fw_calls *calls, const struct noted *noted)
{
    const uint32_t beat = atomic_load_explicit(&calls->beat, memory_order_relaxed);
    if (beat)
        return atomic_load_explicit(&noted->beat, memory_order_relaxed) != beat;
    return ticks() - atomic_load_explicit(&noted->tick, memory_order_relaxed) >
           TICKS_OF_HALF_A_SECOND;
}

/* Counts a call by the thread of `place`. One thread has a word of its own, in which one
 * instruction counts, where a handler can be before or behind, never within: a locked addition
 * takes longer than all the rest. */
static inline void count_one(const struct fw_calls *calls, const struct place *place,
                             struct noted *noted)
{
#if defined(__x86_64__)
    if (atomic_load_explicit(&calls->counter, memory_order_relaxed) == (uintptr_t)place) {
        __asm__ volatile("incq %0" : "+m"(noted->by_one) : : "cc");
        return;
    }
#else
    (void)calls, (void)place;
#endif
    atomic_fetch_add_explicit(&noted->count, 1, memory_order_relaxed);
}

static inline bool count_known(struct fw_calls *calls, const struct place *place, uint32_t name,
                               uintptr_t sp, uintptr_t fp, uintptr_t return_address)
{
    if (is_unwanted(calls, return_address)) {
        atomic_fetch_add_explicit(&calls->name[name].others, 1, memory_order_relaxed);
        return true;
    }
    struct noted *noted = known(calls, name, sp, fp, return_address);
    if (!noted || is_old(calls, noted))
        return false;
    count_one(calls, place, noted);
    return true;
}

/* Counting in and out, of a word that only this thread, and handlers in it, write. */
static inline void count_in(struct place *place)
{
    __atomic_store_n(&place->inside, place->inside + 1, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void count_out(struct place *place)
{
    __atomic_store_n(&place->inside, place->inside - 1, __ATOMIC_RELEASE);
}

uintptr_t calls_note(uint32_t number, uintptr_t sp, uintptr_t fp, uintptr_t return_address)
{
    struct calls_thunk *thunk = &calls_thunks[number];
    const uintptr_t target = atomic_load_explicit(&thunk->target, memory_order_relaxed);
    const uint32_t name = atomic_load_explicit(&thunk->name, memory_order_relaxed);
    if (atomic_load_explicit(&thunk->loader, memory_order_relaxed) != CALLS_NO_LOADER)
        return has_own() ? 0 : target;
    if (name == CALLS_NO_NAME)
        return target;
    if (!has_own()) {
        calls_count_nested(name);
        return target;
    }
    struct place *place = own.place;
    if (!place || sp - own.lo >= own.hi - own.lo)
        return 0;
    count_in(place);
    struct fw_calls *calls = atomic_load_explicit(&calls_current, memory_order_acquire);
    const bool done = !calls || count_known(calls, place, name, sp, fp, return_address);
    count_out(place);
    return done ? target : 0;
}

/* Whether the thread that had the place has ended: it is gone, or its number is `self`'s by now. */
static bool has_ended(const struct place *place, int32_t thread, int32_t self, int32_t pid)
{
    return place->pid == pid && (thread == self || sys_tgkill(pid, thread, 0) == -3 /* ESRCH */);
}

/* A place for this thread: a free one, or that of a thread that has ended. */
static struct place *take_place(void)
{
    const int32_t thread = sys_gettid(), pid = sys_getpid();
    uint32_t at = (uint32_t)thread * 0x9E3779B1u;
    for (unsigned probe = 0; probe < PROBES; probe++, at++) {
        struct place *place = &places[at % PLACES];
        int32_t owner = atomic_load_explicit(&place->thread, memory_order_acquire);
        if (owner && !has_ended(place, owner, thread, pid))
            continue;
        if (!atomic_compare_exchange_strong(&place->thread, &owner, -1))
            continue;
        place->pid = pid;
        place->inside = 0;
        atomic_store_explicit(&place->thread, thread, memory_order_release);
        return place;
    }
    return NULL;
}

void calls_note_thread(struct fw_calls *calls, uintptr_t lo, uintptr_t hi)
{
    uintptr_t nobody = 0;
    if (!barriers)
        return;
    if (own.hi != hi) { /* in three steps, between which a handler finds no address inside */
        own.lo = hi;
        atomic_signal_fence(memory_order_seq_cst);
        own.hi = hi;
        atomic_signal_fence(memory_order_seq_cst);
    }
    if (lo < own.lo)
        own.lo = lo;
    if (!own.place) {
        struct place *place = take_place();
        atomic_signal_fence(memory_order_seq_cst);
        own.place = place;
    }
    if (atomic_load_explicit(&calls->counter, memory_order_relaxed) == 0)
        atomic_compare_exchange_strong(&calls->counter, &nobody, (uintptr_t)own.place);
}

void calls_note_prepare(void)
{
    prepare_machine();
    barriers = sys_call4(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0) == 0;
}

static bool somebody_inside(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (__atomic_load_n(&places[i].inside, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

bool calls_note_drain(unsigned ms)
{
    const struct timespec nap = {0, 1000000};
    if (!barriers)
        return true; /* nobody was ever let in */
    if (sys_call4(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0) != 0)
        return false;
    for (; somebody_inside(); ms--) {
        if (ms == 0)
            return false;
        sys_call4(SYS_nanosleep, (long)&nap, 0, 0, 0);
    }
    return true;
}

#else

uint64_t calls_ticks(void)
{
    return 0;
}

void calls_note_thread(struct fw_calls *calls, uintptr_t lo, uintptr_t hi)
{
    (void)calls, (void)lo, (void)hi;
}

void calls_note_prepare(void)
{
}

bool calls_note_drain(unsigned ms)
{
    (void)ms;
    return true;
}

#endif
