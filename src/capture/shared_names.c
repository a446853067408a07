/*
 * The shared index of names. A read-write lock keeps a refresh apart from those who look up;
 * nothing that takes the loader's lock is called with it held (names_refresh.h). Whether images
 * came or went is asked each time that the index is held, which costs a call into the loader on
 * Linux and the read of a number on Apple; refreshing costs what listing the images takes, and each
 * image what reading its symbols takes, when it is met first.
 */
#include "capture/shared_names.h"

#include <pthread.h>
#include <stdatomic.h>

#include "capture/names_refresh.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct fw_names *_Atomic shared; /* made once, never destroyed */

static bool bring_up_to_date(void)
{
    struct names_list now = {0};
    if (!names_source_list(&now)) {
        names_list_free(&now);
        return false;
    }
    pthread_rwlock_wrlock(&lock);
    struct fw_names *names = atomic_load_explicit(&shared, memory_order_relaxed);
    const bool first = !names;
    if (first)
        names = names_empty(true);
    bool whole = false;
    if (names)
        whole = names_adopt(names, &now) == FW_OK;
    else
        names_list_free(&now);
    if (first && whole)
        atomic_store_explicit(&shared, names, memory_order_release);
    else if (first)
        fw_names_destroy(names);
    pthread_rwlock_unlock(&lock);
    return whole;
}

static bool learn(const struct fw_frame *frames, size_t count)
{
    pthread_rwlock_wrlock(&lock);
    struct fw_names *names = atomic_load_explicit(&shared, memory_order_relaxed);
    const bool whole = names_learn(names, frames, count);
    pthread_rwlock_unlock(&lock);
    return whole;
}

const struct fw_names *shared_names_hold(const struct fw_frame *frames, size_t count,
                                         uint64_t *generation)
{
    /* Once at the most: an image that comes while this one is at it is the next caller's. */
    for (bool refreshed = false;;) {
        const uint64_t changes = names_source_changes();
        pthread_rwlock_rdlock(&lock);
        const struct fw_names *names = atomic_load_explicit(&shared, memory_order_relaxed);
        const bool current = names && (refreshed || names_changes(names) == changes);
        if (current && names_knows(names, frames, count)) {
            *generation = fw_names_generation(names);
            return names;
        }
        pthread_rwlock_unlock(&lock);
        refreshed |= !current;
        if (!(current ? learn(frames, count) : bring_up_to_date()))
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
    if (!names)
        return 0;
#if defined(__APPLE__)
    if (fw_names_outdated(names)) /* costs nothing here, and a call into the loader elsewhere */
        return 0;
#endif
    return fw_names_generation(names);
}
