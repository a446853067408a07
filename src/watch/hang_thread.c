/*
 * The monitor's thread: look, sleep until the next look is due or the bell rings.
 *
 * It blocks all signals, so no handler of the program runs in it, and from its first look on it
 * allocates nothing. The only locks it takes are those of the folder of reports (session.h).
 */
#include "watch/hang_thread.h"

#include <signal.h>

enum { THREAD_STACK = 256 * 1024 };

static void *run(void *argument)
{
    struct fw_hang_monitor *m = argument;
#if defined(__APPLE__)
    pthread_setname_np("framewalk-hang");
#else
    pthread_setname_np(pthread_self(), "framewalk-hang");
#endif
    const struct watch_clock *clock = m->clock;
    for (;;) {
        const uint32_t seen = __atomic_load_n(&m->bell, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE))
            break;
        const uint64_t deadline = hang_step(m);
        clock->sleep(clock->context, &m->bell, seen, deadline);
        hang_count(&m->totals.wakeups, 1);
    }
    hang_close(m);
    return NULL;
}

bool hang_thread_start(struct fw_hang_monitor *m)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&m->own->thread, &attributes, run, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed == 0;
}

void hang_thread_stop(struct fw_hang_monitor *m)
{
    __atomic_store_n(&m->stop, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&m->bell, 1, __ATOMIC_RELEASE);
    m->clock->wake(m->clock->context, &m->bell);
    pthread_join(m->own->thread, NULL);
}
