/* watch.find in a libuv loop: see watch_find.h. Half of the turns in timers, half in callbacks of a
 * pipe, which libuv calls from inside its own wait. */
#include "watch_find.h"

#include <framewalk/hang_uv.h>

static struct fw_hang_uv watched;
static uv_timer_t timer;
static uv_poll_t pipe_end;
static int ends[2];
static unsigned turns;

static void plan(void);

static void turn(void)
{
    if (find_turn()) {
        plan();
        return;
    }
    fw_hang_uv_end(&watched);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_close((uv_handle_t *)&pipe_end, NULL);
}

static void readable(uv_poll_t *handle, int status, int events)
{
    char byte;
    (void)handle;
    (void)events;
    if (status == 0 && read(ends[0], &byte, 1) == 1)
        turn();
}

static void on_timer(uv_timer_t *handle)
{
    (void)handle;
    if (turns++ % 2)
        turn();
    else if (write(ends[1], "x", 1) != 1)
        exit(1);
}

static void plan(void)
{
    uv_update_time(
        timer.loop); /* after the hang: else the timer is due at once, in the same turn */
    uv_timer_start(&timer, on_timer, find_pause_ms(), 0);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    find_start(argc, argv);
    if (pipe(ends) != 0 || fw_hang_uv_begin(&watched, find_monitor, loop, "main") != FW_OK)
        return 1;
    uv_timer_init(loop, &timer);
    uv_poll_init(loop, &pipe_end, ends[0]);
    uv_poll_start(&pipe_end, UV_READABLE, readable);
    plan();
    uv_run(loop, UV_RUN_DEFAULT);
    return find_finish();
}
