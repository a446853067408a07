/*
 * The monitor's thread: look, sleep until the next look is due or the bell rings.
 *
 * It blocks all signals, so no handler of the program runs in it, and from its first look on it
 * allocates nothing. The only locks it takes are those of the folder of reports (session.h).
 *
 * It does not keep the program alive (own_threads.h): when a watched thread has ended unsaid, and
 * it was the process's first, it also looks for the others, and leaves behind the last of them.
 */
#include "watch/hang_thread.h"

#include "watch/own_threads.h"

#include <signal.h>

enum { THREAD_STACK = 256 * 1024 };

/* No thread of the program's is left. If some are, brings the next look forward. */
static bool program_has_left(const struct fw_hang_monitor *m, struct own_threads_end *end,
                             uint64_t *deadline)
{
    unsigned again_ms = 0;
    if (!m->lost || own_threads_alone(end, &again_ms))
        return m->lost;
    const uint64_t next = hang_now(m) + again_ms * UINT64_C(1000000);
    if (again_ms && next < *deadline)
        *deadline = next;
    return false;
}

/* A look, unless there are none for now: then, once, what is known goes to disk. Returns when to
 * look again. */
static uint64_t work(struct fw_hang_monitor *m)
{
    if (!__atomic_load_n(&m->hold, __ATOMIC_SEQ_CST))
        return hang_step(m);
    if (!__atomic_load_n(&m->held, __ATOMIC_SEQ_CST)) {
        hang_flush(m);
        __atomic_store_n(&m->held, 1, __ATOMIC_SEQ_CST);
        m->clock->wake(m->clock->context, &m->held);
    }
    return UINT64_MAX;
}

static void *run(void *argument)
{
    struct fw_hang_monitor *m = argument;
    struct own_threads_end end = {0};
    bool alone = false;
    if (!own_thread_begin()) {
        __atomic_store_n(&m->closed, 1, __ATOMIC_RELEASE);
        return NULL;
    }
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
        uint64_t deadline = work(m);
        alone = program_has_left(m, &end, &deadline);
        if (alone)
            break;
        clock->sleep(clock->context, &m->bell, seen, deadline);
        hang_count(&m->totals.wakeups, 1);
    }
    hang_close(m);
    __atomic_store_n(&m->closed, 1, __ATOMIC_RELEASE);
    clock->wake(clock->context, &m->closed);
    if (alone)
        own_thread_leave(&end);
    else
        own_thread_end();
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
    own_thread_announce(1);
    const int failed = pthread_create(&m->own->thread, &attributes, run, m);
    if (failed)
        own_thread_announce(-1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed == 0;
}

static void ring(struct fw_hang_monitor *m)
{
    __atomic_fetch_add(&m->bell, 1, __ATOMIC_RELEASE);
    m->clock->wake(m->clock->context, &m->bell);
}

void hang_hold(struct fw_hang_monitor *m, unsigned ms)
{
    const uint64_t end = hang_now(m) + ms * UINT64_C(1000000);
    __atomic_store_n(&m->held, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&m->hold, 1, __ATOMIC_SEQ_CST);
    ring(m);
    while (!__atomic_load_n(&m->held, __ATOMIC_SEQ_CST) && hang_now(m) < end)
        m->clock->sleep(m->clock->context, &m->held, 0, end);
}

void hang_go_on(struct fw_hang_monitor *m)
{
    __atomic_store_n(&m->hold, 0, __ATOMIC_SEQ_CST);
    ring(m);
}

static void ask_to_stop(struct fw_hang_monitor *m)
{
    __atomic_store_n(&m->stop, 1, __ATOMIC_RELEASE);
    ring(m);
}

void hang_thread_finish(struct fw_hang_monitor *m, unsigned ms)
{
    ask_to_stop(m);
    if (pthread_equal(pthread_self(), m->own->thread)) { /* called by on_hang, which is not over */
        m->set.on_hang = NULL;
        hang_close(m);
        return;
    }
    const uint64_t end = hang_now(m) + ms * UINT64_C(1000000);
    while (!__atomic_load_n(&m->closed, __ATOMIC_ACQUIRE) && hang_now(m) < end)
        m->clock->sleep(m->clock->context, &m->closed, 0, end);
}

void hang_thread_stop(struct fw_hang_monitor *m)
{
    ask_to_stop(m);
    pthread_join(m->own->thread, NULL);
}
