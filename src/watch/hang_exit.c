/*
 * The program's own end: exit(), main's return, quick_exit(), and dlclose() of the object that
 * holds this library. A hang that lasts then is ended as it stands, and nothing that comes later is
 * one. Else its report would stay open, and whoever finds it would take the process for killed.
 *
 * The handler is registered by the first monitor. So it runs before what was constructed earlier is
 * destroyed, which on_hang may use, and after handlers that were registered later, which are
 * watched like everything else.
 *
 * Not seen: _exit() and exec, for which no handler is called.
 */
#include "watch/hang_exit.h"

#include "watch/hang_thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MONITORS = 16,
    LONGEST_MS = 1000, /* for a monitor that waits for a disk */
};

static struct fw_hang_monitor *_Atomic monitors[MONITORS];
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void close_all(void)
{
    for (int i = 0; i < MONITORS; i++) {
        struct fw_hang_monitor *m = atomic_load(&monitors[i]);
        if (m && m->pid == (int32_t)getpid()) /* else its thread is the parent's */
            hang_thread_finish(m, LONGEST_MS);
    }
}

static void tell_of_exits(void)
{
    atexit(close_all);
#if !defined(__APPLE__)
    at_quick_exit(close_all);
#endif
}

void hang_exit_remember(struct fw_hang_monitor *m)
{
    pthread_once(&registered, tell_of_exits);
    for (int i = 0; i < MONITORS; i++) {
        struct fw_hang_monitor *none = NULL;
        if (atomic_compare_exchange_strong(&monitors[i], &none, m))
            return;
    }
}

void hang_exit_forget(struct fw_hang_monitor *m)
{
    for (int i = 0; i < MONITORS; i++) {
        struct fw_hang_monitor *own = m;
        if (atomic_compare_exchange_strong(&monitors[i], &own, NULL))
            return;
    }
}
