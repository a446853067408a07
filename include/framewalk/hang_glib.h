/*
 * Hang monitor: a GLib main loop (GTK and all that runs on GMainContext).
 *
 *     #include <glib.h>
 *     #include <framewalk/hang_glib.h>
 *
 *     struct fw_hang_watch *watch;
 *     fw_hang_glib_begin(monitor, NULL, "main", &watch);
 *     g_main_loop_run(loop);
 *
 * The context's poll function is put between two marks: waiting is idle, and everything from the
 * end of one wait to the begin of the next is a turn. Loops within a callback (dialogs) are as
 * good: they wait through the same function. There is no source, no timer and no wake-up of ours.
 *
 * This header is code that your program compiles: Framewalk itself does not link GLib. Include it
 * in one source file. One context a thread.
 */
#ifndef FRAMEWALK_HANG_GLIB_H
#define FRAMEWALK_HANG_GLIB_H

#include "hang.h"

#include <glib.h>

struct fw_hang_glib {
    struct fw_hang_watch *watch;
    GPollFunc poll; /* the context's own */
};

/* Of the thread that said fw_hang_glib_begin. A poll function is not told for whom it polls, but a
 * context is run by one thread at a time; on any other thread this is empty and nothing is marked.
 */
static __thread struct fw_hang_glib fw_hang_glib_of_thread;

static inline gint fw_hang_glib_poll(GPollFD *fds, guint count, gint timeout_ms)
{
    const struct fw_hang_glib *glib = &fw_hang_glib_of_thread;
    const GPollFunc poll = glib->poll ? glib->poll : g_poll;
    fw_hang_idle(glib->watch);
    const gint ready = poll(fds, count, timeout_ms);
    fw_hang_busy(glib->watch);
    return ready;
}

/* Watches the calling thread, which is the one that runs `context` (NULL: the default one). What it
 * does until it first waits counts as a turn. Errors as fw_hang_watch_thread, and FW_ERR_FULL when
 * this thread watches a context already. */
static inline fw_error fw_hang_glib_begin(struct fw_hang_monitor *monitor, GMainContext *context,
                                          const char *name, struct fw_hang_watch **watch)
{
    struct fw_hang_glib *glib = &fw_hang_glib_of_thread;
    if (glib->watch)
        return FW_ERR_FULL;
    const fw_error error = fw_hang_watch_thread(monitor, fw_thread_self(), name, watch);
    if (error != FW_OK)
        return error;
    glib->watch = *watch;
    glib->poll = g_main_context_get_poll_func(context);
    g_main_context_set_poll_func(context, fw_hang_glib_poll);
    fw_hang_busy(glib->watch);
    return FW_OK;
}

/* Puts the context's own poll function back, unless somebody replaced ours meanwhile, and
 * unwatches. On the same thread. */
static inline void fw_hang_glib_end(GMainContext *context)
{
    struct fw_hang_glib *glib = &fw_hang_glib_of_thread;
    if (g_main_context_get_poll_func(context) == fw_hang_glib_poll)
        g_main_context_set_poll_func(context, glib->poll);
    fw_hang_unwatch(glib->watch);
    glib->watch = NULL; /* poll stays: ours may still be called */
}

#endif
