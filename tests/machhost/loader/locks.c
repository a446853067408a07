/*
 * Locks of Darwin over Linux's. A mutex or rwlock holds Linux's own object in place behind its
 * signature (both begin as zeroes); a condition is a counter that is waited on.
 */
#include "internal.h"
#include "shims.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNATURE_RECURSIVE = 0x32AAABA2, SIGNATURE_MUTEX = 0x32AAABA7 };

static pthread_mutex_t *linux_mutex(struct darwin_opaque *mutex)
{
    _Static_assert(sizeof(pthread_mutex_t) <= 56, "Darwin's mutex has no room for Linux's");
    pthread_mutex_t *own = (void *)mutex->opaque;
    if (__atomic_load_n(&mutex->signature, __ATOMIC_ACQUIRE) == SIGNATURE_RECURSIVE) {
        lock();
        if (mutex->signature == SIGNATURE_RECURSIVE) {
            pthread_mutexattr_t attr;
            pthread_mutexattr_init(&attr);
            pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
            pthread_mutex_init(own, &attr);
            __atomic_store_n(&mutex->signature, SIGNATURE_MUTEX, __ATOMIC_RELEASE);
        }
        unlock();
    }
    return own;
}

int shim_pthread_mutexattr_init(struct darwin_opaque *attr)
{
    memset(attr->opaque, 0, 8);
    return 0;
}

int shim_pthread_mutexattr_destroy(struct darwin_opaque *attr)
{
    (void)attr;
    return 0;
}

int shim_pthread_mutexattr_settype(struct darwin_opaque *attr, int type)
{
    attr->opaque[0] = (char)type;
    return 0;
}

int shim_pthread_mutex_init(struct darwin_opaque *mutex, const struct darwin_opaque *attr)
{
    memset(mutex->opaque, 0, 56);
    mutex->signature = attr && attr->opaque[0] == 2 ? SIGNATURE_RECURSIVE : SIGNATURE_MUTEX;
    return 0;
}

int shim_pthread_mutex_destroy(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_destroy(linux_mutex(mutex)));
}

int shim_pthread_mutex_lock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_lock(linux_mutex(mutex)));
}

int shim_pthread_mutex_trylock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_trylock(linux_mutex(mutex)));
}

int shim_pthread_mutex_unlock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_unlock(linux_mutex(mutex)));
}

static _Atomic uint32_t *cond_word(struct darwin_opaque *cond)
{
    return (void *)cond->opaque;
}

int shim_pthread_cond_init(struct darwin_opaque *cond, const void *attr)
{
    (void)attr;
    atomic_store(cond_word(cond), 0);
    return 0;
}

int shim_pthread_condattr_init(struct darwin_opaque *attr)
{
    memset(attr->opaque, 0, 8);
    return 0;
}

int shim_pthread_condattr_destroy(struct darwin_opaque *attr)
{
    (void)attr;
    return 0;
}

int shim_pthread_cond_destroy(struct darwin_opaque *cond)
{
    (void)cond;
    return 0;
}

static int cond_wait(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                     const struct timespec *span)
{
    const uint32_t seen = atomic_load(cond_word(cond));
    shim_pthread_mutex_unlock(mutex);
    const long status =
        syscall(SYS_futex, cond_word(cond), FUTEX_WAIT_PRIVATE, seen, span, NULL, 0);
    const bool late = status != 0 && errno == ETIMEDOUT;
    shim_pthread_mutex_lock(mutex);
    return late ? darwin_errno(ETIMEDOUT) : 0;
}

int shim_pthread_cond_wait(struct darwin_opaque *cond, struct darwin_opaque *mutex)
{
    return cond_wait(cond, mutex, NULL);
}

int shim_pthread_cond_timedwait_relative_np(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                                            const struct timespec *span)
{
    return cond_wait(cond, mutex, span);
}

int shim_pthread_cond_timedwait(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                                const struct timespec *until)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct timespec span = {until->tv_sec - now.tv_sec, until->tv_nsec - now.tv_nsec};
    if (span.tv_nsec < 0) {
        span.tv_sec--;
        span.tv_nsec += 1000000000;
    }
    if (span.tv_sec < 0)
        return darwin_errno(ETIMEDOUT);
    return cond_wait(cond, mutex, &span);
}

int shim_pthread_cond_signal(struct darwin_opaque *cond)
{
    atomic_fetch_add(cond_word(cond), 1);
    futex_wake(cond_word(cond), 1);
    return 0;
}

int shim_pthread_cond_broadcast(struct darwin_opaque *cond)
{
    atomic_fetch_add(cond_word(cond), 1);
    futex_wake(cond_word(cond), 1 << 30);
    return 0;
}

/* 0 not run, 1 running, 2 done. */
int shim_pthread_once(struct darwin_opaque *once, void *routine)
{
    _Atomic uint32_t *state = (void *)once->opaque;
    uint32_t fresh = 0;
    if (atomic_compare_exchange_strong(state, &fresh, 1)) {
        callback(routine, 0, 0, 0);
        atomic_store(state, 2);
        futex_wake(state, 1 << 30);
    }
    while (atomic_load(state) != 2)
        futex_wait(state, 1, NULL);
    return 0;
}

static pthread_rwlock_t *linux_rwlock(struct darwin_opaque *rwlock)
{
    return (void *)rwlock->opaque;
}

int shim_pthread_rwlock_init(struct darwin_opaque *rwlock, const void *attr)
{
    (void)attr;
    memset(rwlock->opaque, 0, sizeof(pthread_rwlock_t));
    return 0;
}

int shim_pthread_rwlock_destroy(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_destroy(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_rdlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_rdlock(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_wrlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_wrlock(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_unlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_unlock(linux_rwlock(rwlock)));
}

/* 0 free, 1 held, 2 held and waited for. */
void shim_os_unfair_lock_lock(_Atomic uint32_t *word)
{
    uint32_t seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1))
        return;
    while (atomic_exchange(word, 2) != 0)
        futex_wait(word, 2, NULL);
}

bool shim_os_unfair_lock_trylock(_Atomic uint32_t *word)
{
    uint32_t seen = 0;
    return atomic_compare_exchange_strong(word, &seen, 1);
}

void shim_os_unfair_lock_unlock(_Atomic uint32_t *word)
{
    if (atomic_exchange(word, 0) == 2)
        futex_wake(word, 1);
}
