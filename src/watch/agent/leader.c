/*
 * See leader.h. The word: the thread's id; FUTEX_WAITERS, without which the kernel wakes nobody;
 * and FUTEX_OWNER_DIED, which the kernel sets when the id goes. While the owner lives that bit is
 * ours: leader_wake() turns it over, so that who is about to sleep on the old word does not.
 *
 * The mutex is never unlocked, and nobody else locks it, so libc does not look at the word again.
 */
#include "watch/agent/leader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t held;
static bool is_held;

static _Atomic uint32_t *word(void)
{
    return (_Atomic uint32_t *)&held.__data.__lock;
}

void leader_hold(void)
{
    pthread_mutexattr_t attributes;
    is_held = false;
    if (pthread_mutexattr_init(&attributes) != 0)
        return;
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    is_held = pthread_mutex_init(&held, &attributes) == 0 && pthread_mutex_lock(&held) == 0;
    pthread_mutexattr_destroy(&attributes);
    atomic_fetch_or(word(), FUTEX_WAITERS);
}

bool leader_has_ended(void)
{
    return is_held && (atomic_load(word()) & FUTEX_TID_MASK) == 0;
}

/* The kernel's own wake is one across processes: so are these. */
static long futex(int what, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word(), what, value, timeout, NULL, 0);
}

void leader_wake(void)
{
    uint32_t now = atomic_load(word());
    while ((now & FUTEX_TID_MASK || !is_held) &&
           !atomic_compare_exchange_weak(word(), &now, now ^ FUTEX_OWNER_DIED))
        continue;
    futex(FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t leader_look(void)
{
    return atomic_load(word());
}

bool leader_wait(uint32_t seen, long ms)
{
    const struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return futex(FUTEX_WAIT, seen, ms < 0 ? NULL : &timeout) == 0 || errno != ETIMEDOUT;
}
