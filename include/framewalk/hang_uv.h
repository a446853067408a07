/*
 * Hang monitor: a libuv loop that is run with uv_run(loop, UV_RUN_DEFAULT) or UV_RUN_ONCE.
 *
 *     #include <uv.h>
 *     #include <framewalk/hang_uv.h>
 *
 *     static struct fw_hang_uv watched;
 *     fw_hang_uv_begin(&watched, monitor, loop, "main");
 *     uv_run(loop, UV_RUN_DEFAULT);
 *
 * libuv calls what waits for a file descriptor from inside its own wait, before any handle of ours
 * could note that the wait is over. So the wait is done here: a prepare handle polls the loop's
 * descriptor (uv_backend_fd) for as long as libuv would (uv_backend_timeout), between two marks,
 * and an idle handle, active from then on, makes libuv's own look at its descriptors one that does
 * not wait. So every callback counts, of whatever kind. The price is one more system call a turn.
 *
 * Begin before the program starts prepare handles of its own: libuv runs those first that were
 * started last, so ours is the last one. No handle of ours keeps the loop alive.
 *
 * With UV_RUN_NOWAIT it is the program that waits: use fw_hang_poll, or fw_hang_idle and
 * fw_hang_busy, around that instead.
 *
 * This header is code that your program compiles: Framewalk itself does not link libuv.
 */
#ifndef FRAMEWALK_HANG_UV_H
#define FRAMEWALK_HANG_UV_H

#include "hang.h"

#include <poll.h>
#include <uv.h>

/* Yours to keep until both handles are closed. */
struct fw_hang_uv {
    uv_prepare_t wait;
    uv_idle_t no_wait;
    struct fw_hang_watch *watch;
};

static inline void fw_hang_uv_nothing(uv_idle_t *handle)
{
    (void)handle;
}

static inline void fw_hang_uv_wait(uv_prepare_t *handle)
{
    struct fw_hang_uv *uv = (struct fw_hang_uv *)handle->data;
    struct pollfd fd = {uv_backend_fd(handle->loop), POLLIN, 0};
    int timeout_ms;
    uv_idle_stop(&uv->no_wait);
    /* 0: work is there, or descriptors are new, of which libuv tells the kernel in its own look. */
    while ((timeout_ms = uv_backend_timeout(handle->loop)) != 0) {
        const int ready = fw_hang_poll(uv->watch, &fd, 1, timeout_ms);
        uv_update_time(handle->loop);
        if (ready > 0)
            break; /* else a timer is due, or a signal came */
    }
    uv_idle_start(&uv->no_wait, fw_hang_uv_nothing);
}

/* Watches the calling thread, which is the one that runs `loop`. What it does until it first waits
 * counts as a turn. Errors as fw_hang_watch_thread, and FW_ERR_SYSTEM when libuv refuses. */
static inline fw_error fw_hang_uv_begin(struct fw_hang_uv *uv, struct fw_hang_monitor *monitor,
                                        uv_loop_t *loop, const char *name)
{
    const fw_error error = fw_hang_watch_thread(monitor, fw_thread_self(), name, &uv->watch);
    if (error != FW_OK)
        return error;
    uv_idle_init(loop, &uv->no_wait);
    uv_prepare_init(loop, &uv->wait);
    uv_unref((uv_handle_t *)&uv->no_wait);
    uv_unref((uv_handle_t *)&uv->wait);
    uv->wait.data = uv;
    if (uv_prepare_start(&uv->wait, fw_hang_uv_wait) != 0) {
        fw_hang_unwatch(uv->watch);
        return FW_ERR_SYSTEM;
    }
    fw_hang_busy(uv->watch);
    return FW_OK;
}

/* Unwatches, and closes the handles: they are closed when the loop has run once more. On the same
 * thread. */
static inline void fw_hang_uv_end(struct fw_hang_uv *uv)
{
    fw_hang_unwatch(uv->watch);
    uv_close((uv_handle_t *)&uv->wait, NULL);
    uv_close((uv_handle_t *)&uv->no_wait, NULL);
}

#endif
