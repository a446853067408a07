/*
 * The shared index of names. A read-write lock keeps a refresh apart from those who look up.
 * Whether images came or went is asked each time that the index is held, which costs a call into
 * the loader on Linux and the read of a number on Apple; refreshing costs what reading the symbols
 * of new images takes.
 */
#include "capture/shared_names.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct fw_names *_Atomic shared;

/* Under the lock for writing. Another thread may have been first. */
static bool bring_up_to_date(void)
{
    struct fw_names *names = atomic_load_explicit(&shared, memory_order_relaxed);
    if (names)
        return !fw_names_outdated(names) || fw_names_refresh(names) == FW_OK;
    if (fw_names_create(&names) != FW_OK)
        return false;
    atomic_store_explicit(&shared, names, memory_order_release);
    return true;
}

const struct fw_names *shared_names_hold(uint64_t *generation)
{
    /* Twice at the most: an image that comes while this one waits is the next caller's. */
    for (bool refreshed = false;; refreshed = true) {
        pthread_rwlock_rdlock(&lock);
        struct fw_names *names = atomic_load_explicit(&shared, memory_order_relaxed);
        if (names && (refreshed || !fw_names_outdated(names))) {
            *generation = fw_names_generation(names);
            return names;
        }
        pthread_rwlock_unlock(&lock);
        pthread_rwlock_wrlock(&lock);
        bool whole = bring_up_to_date();
        pthread_rwlock_unlock(&lock);
        if (!whole)
            return NULL;
    }
}

void shared_names_release(void)
{
    pthread_rwlock_unlock(&lock);
}

uint64_t shared_names_generation(void)
{
    const struct fw_names *names = atomic_load_explicit(&shared, memory_order_acquire);
    return names ? fw_names_generation(names) : 0;
}
