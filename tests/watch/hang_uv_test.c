/* A real libuv loop under watch: hangs in every kind of callback are found, waits are not. */
#include "watch/hang_loops.h"

#include <framewalk/hang_uv.h>

/* One after the other, each in a turn of its own: after a hang the next kind is provoked from a
 * timer. */
static unsigned found, stage;
static uv_timer_t next;
static uv_pipe_t reader;
static uv_async_t async;
static uv_check_t check;
static uv_work_t request;
static int ends[2];

static void provoke(uv_timer_t *timer);

static void hang(bool asleep)
{
    found += hang_until_told(asleep);
    uv_update_time(next.loop); /* else it is due at once, after a long hang, and in the same turn */
    uv_timer_start(&next, provoke, 2 * LOOPS_THRESHOLD_MS, 0); /* waits are no hangs */
}

static void hang_in_check(uv_check_t *handle)
{
    uv_close((uv_handle_t *)handle, NULL);
    hang(true);
}

static void hang_in_async(uv_async_t *handle)
{
    uv_close((uv_handle_t *)handle, NULL);
    hang(false);
}

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    static char room[16];
    (void)handle;
    (void)size;
    *buffer = uv_buf_init(room, sizeof room);
}

/* What prepare and check handles alone would miss: it runs inside libuv's own wait. */
static void hang_in_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    (void)buffer;
    assert_int_equal(size, 1);
    uv_close((uv_handle_t *)stream, NULL);
    hang(false);
}

static void work(uv_work_t *of)
{
    (void)of;
    usleep(2000 * LOOPS_THRESHOLD_MS); /* not on a watched thread: no hang */
}

static void hang_after_work(uv_work_t *of, int status)
{
    (void)of;
    assert_int_equal(status, 0);
    hang(false);
}

static void end_the_wait(uv_timer_t *timer)
{
    (void)timer;
}

static void provoke(uv_timer_t *timer)
{
    uv_loop_t *loop = timer->loop;
    switch (stage++) {
    case 0: hang(false); break;
    case 1:
        uv_check_init(loop, &check);
        uv_check_start(&check, hang_in_check);
        uv_timer_start(timer, end_the_wait, 5, 0);
        break;
    case 2:
        uv_async_init(loop, &async, hang_in_async);
        uv_async_send(&async);
        break;
    case 3: /* a descriptor that is new to the loop, and ready at once */
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "x", 1), 1);
        uv_pipe_init(loop, &reader, 0);
        uv_pipe_open(&reader, ends[0]);
        uv_read_start((uv_stream_t *)&reader, give_room, hang_in_read);
        break;
    case 4: uv_queue_work(loop, &request, work, hang_after_work); break;
    default: uv_close((uv_handle_t *)timer, NULL);
    }
}

static void hangs_are_found(void **state)
{
    (void)state;
    struct fw_hang_monitor *monitor = start_monitor();
    static struct fw_hang_uv watched;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(fw_hang_uv_begin(&watched, monitor, &loop, "node"), FW_OK);
    uv_timer_init(&loop, &next);
    uv_timer_start(&next, provoke, 5, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0); /* ours do not keep it alive */
    fw_hang_uv_end(&watched);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    const struct fw_hang_totals totals = totals_of(monitor);
    fw_hang_stop(monitor);
    assert_int_equal(found, 5);
    assert_int_equal(totals.hangs, times_told());
    assert_string_equal(told_watch, "node");
    assert_int_equal(ended, told);
    close(ends[1]);
}

static unsigned ticks;
static void tick(uv_timer_t *timer)
{
    if (++ticks == 20)
        uv_close((uv_handle_t *)timer, NULL);
}

/* Timers come neither early nor twice as late, and the loop does not spin meanwhile. */
static void timers_keep_time(void **state)
{
    (void)state;
    struct fw_hang_monitor *monitor = start_monitor();
    static struct fw_hang_uv watched;
    uv_loop_t loop;
    uv_timer_t timer;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(fw_hang_uv_begin(&watched, monitor, &loop, "node"), FW_OK);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, tick, 25, 25);
    const uint64_t began = clock_ns(), ran = (uint64_t)clock();
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(ticks, 20);
    assert_true(clock_ns() - began >= 480 * UINT64_C(1000000));
    assert_true((uint64_t)clock() - ran < CLOCKS_PER_SEC / 4); /* of half a second's wait */
    fw_hang_uv_end(&watched);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    fw_hang_stop(monitor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_are_found),
        cmocka_unit_test(timers_keep_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
