/*
 * The real clock and sleep of the hang monitor on Apple platforms (clock.h).
 *
 * Time is mach_absolute_time(), which stands still while the machine sleeps, beside
 * mach_continuous_time(), which does not. The cheap one is the kernel's last look at the clock
 * (CLOCK_UPTIME_RAW_APPROX): two loads from the page that the kernel shares with all processes.
 *
 * Sleep is a Mach semaphore: semaphore_signal() is a trap without a lock in user space, so it may
 * be called in a signal handler and by a thread that is in the midst of anything, which no pthread
 * condition and no dispatch semaphore promises; the calls that wait on an address are private
 * before iOS 17.4. A sleeper has a seat, found by the word that it sleeps on.
 *
 * Why no wake is lost: the sleeper takes its seat and then looks at the word; who wakes has changed
 * the word and then looks at the seats; all of it is sequentially consistent. A signal that comes
 * after its sleeper has left wakes the next one on that seat early, which sleep() may do.
 *
 * fork(): semaphores are not inherited. A seat belongs to a process, and is made anew in another.
 */
#include "watch/clock.h"

#include "os/darwin/nap.h"

#include <mach/mach.h>
#include <mach/semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    SEATS = 64,
    NO_SEAT_NAP_NS = 10 * 1000 * 1000, /* then the word is looked at this often */
    NS_PER_S = 1000 * 1000 * 1000,
    LONGEST_S = 24 * 60 * 60, /* of one wait, well below the range of mach_timespec.tv_sec */
};

static struct seat {
    _Atomic pid_t taken_by;         /* the process of the sleeper; 0: free */
    _Atomic(const uint32_t *) word; /* what the sleeper sleeps on */
    _Atomic pid_t made_by;          /* whose semaphore that is; 0: none */
    _Atomic semaphore_t semaphore;
} seats[SEATS];

static uint64_t to_ns(uint64_t ticks)
{
    const mach_timebase_info_data_t base = nap_timebase();
    /* In two parts: a product of ticks and 125 overflows after some centuries, of other timebases
     * sooner. */
    return ticks / base.denom * base.numer + ticks % base.denom * base.numer / base.denom;
}

static uint64_t now(void *context)
{
    (void)context;
    return to_ns(mach_absolute_time());
}

static uint64_t coarse(void *context)
{
    (void)context;
    if (__builtin_available(macOS 10.12, iOS 10, tvOS 10, watchOS 3, *))
        return clock_gettime_nsec_np(CLOCK_UPTIME_RAW_APPROX);
    return now(NULL);
}

/* Before it could be asked, sleep is not noticed by the clocks, only by coming late. */
static uint64_t continuous(void *context)
{
    (void)context;
    if (__builtin_available(macOS 10.12, iOS 10, tvOS 10, watchOS 3, *))
        return to_ns(mach_continuous_time());
    return now(NULL);
}

static uint64_t wall_ms(void *context)
{
    struct timeval time;
    (void)context;
    gettimeofday(&time, NULL);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

/* NULL when all are taken, or the system has no semaphore. */
static struct seat *take_seat(const uint32_t *word)
{
    const pid_t own = getpid();
    for (struct seat *seat = seats; seat < seats + SEATS; seat++) {
        pid_t by = atomic_load(&seat->taken_by);
        if (by == own || !atomic_compare_exchange_strong(&seat->taken_by, &by, own))
            continue;
        semaphore_t semaphore;
        if (atomic_load(&seat->made_by) != own) {
            if (semaphore_create(mach_task_self(), &semaphore, SYNC_POLICY_FIFO, 0) !=
                KERN_SUCCESS) {
                atomic_store(&seat->taken_by, 0);
                return NULL;
            }
            atomic_store(&seat->semaphore, semaphore);
            atomic_store(&seat->made_by, own);
        }
        atomic_store(&seat->word, word);
        return seat;
    }
    return NULL;
}

static void leave_seat(struct seat *seat)
{
    atomic_store(&seat->word, NULL);
    atomic_store(&seat->taken_by, 0);
}

static void wait_until(semaphore_t semaphore, uint64_t deadline)
{
    const uint64_t at = now(NULL);
    const uint64_t span = at < deadline ? deadline - at : 0;
    if (deadline == UINT64_MAX) {
        semaphore_wait(semaphore);
    } else if (span / NS_PER_S >= LONGEST_S) {
        semaphore_timedwait(semaphore, (mach_timespec_t){LONGEST_S, 0});
    } else if (span > 0) {
        const mach_timespec_t time = {(unsigned)(span / NS_PER_S), (clock_res_t)(span % NS_PER_S)};
        semaphore_timedwait(semaphore, time);
    }
}

static void sleep_on(void *context, uint32_t *word, uint32_t seen, uint64_t deadline)
{
    (void)context;
    struct seat *seat = take_seat(word);
    if (!seat) {
        nap_ns(NO_SEAT_NAP_NS);
        return;
    }
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == seen)
        wait_until(atomic_load(&seat->semaphore), deadline);
    leave_seat(seat);
}

static void wake(void *context, uint32_t *word)
{
    (void)context;
    const pid_t own = getpid();
    for (struct seat *seat = seats; seat < seats + SEATS; seat++) {
        if (atomic_load(&seat->word) == word && atomic_load(&seat->made_by) == own)
            semaphore_signal(atomic_load(&seat->semaphore));
    }
}

const struct watch_clock *watch_clock_system(void)
{
    static const struct watch_clock clock = {
        .now = now,
        .coarse = coarse,
        .continuous = continuous,
        .wall_ms = wall_ms,
        .sleep = sleep_on,
        .wake = wake,
    };
    return &clock;
}
