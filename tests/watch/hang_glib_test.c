/* A real GLib main loop under watch: hangs in every kind of source are found, waits are not. */
#include "watch/hang_loops.h"

#include <framewalk/hang_glib.h>

/* One after the other, each in a turn of its own: after a hang the next kind is provoked from a
 * timeout. */
static GMainLoop *loop;
static unsigned found, stage;
static int ends[2];

static gboolean provoke(gpointer data);

static gboolean hang(bool asleep)
{
    found += hang_until_told(asleep);
    g_timeout_add(2 * LOOPS_THRESHOLD_MS, provoke, NULL); /* waits are no hangs */
    return G_SOURCE_REMOVE;
}

static gboolean hang_in_idle(gpointer data)
{
    (void)data;
    return hang(true);
}

static gboolean hang_in_io(GIOChannel *channel, GIOCondition condition, gpointer data)
{
    char byte;
    (void)condition;
    (void)data;
    assert_int_equal(read(g_io_channel_unix_get_fd(channel), &byte, 1), 1);
    return hang(false);
}

static gboolean hang_in_dialog(gpointer dialog)
{
    found += hang_until_told(false);
    g_main_loop_quit(dialog);
    return G_SOURCE_REMOVE;
}

/* A loop within a callback, which waits for longer than the threshold and then hangs. */
static void run_dialog(void)
{
    GMainLoop *dialog = g_main_loop_new(NULL, FALSE);
    g_timeout_add(3 * LOOPS_THRESHOLD_MS, hang_in_dialog, dialog);
    g_main_loop_run(dialog);
    g_main_loop_unref(dialog);
    g_timeout_add(2 * LOOPS_THRESHOLD_MS, provoke, NULL);
}

static gboolean provoke(gpointer data)
{
    GIOChannel *channel;
    (void)data;
    switch (stage++) {
    case 0: return hang(false);
    case 1: g_idle_add(hang_in_idle, NULL); break;
    case 2:
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "x", 1), 1);
        channel = g_io_channel_unix_new(ends[0]);
        g_io_add_watch(channel, G_IO_IN, hang_in_io, NULL);
        g_io_channel_unref(channel);
        break;
    case 3: run_dialog(); break;
    default: g_main_loop_quit(loop);
    }
    return G_SOURCE_REMOVE;
}

static void hangs_are_found(void **state)
{
    (void)state;
    struct fw_hang_monitor *monitor = start_monitor();
    struct fw_hang_watch *watch;
    const GPollFunc before = g_main_context_get_poll_func(NULL);
    assert_int_equal(fw_hang_glib_begin(monitor, NULL, "gtk", &watch), FW_OK);
    assert_int_equal(fw_hang_glib_begin(monitor, NULL, "again", &watch), FW_ERR_FULL);
    loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(1, provoke, NULL);
    g_main_loop_run(loop);
    fw_hang_glib_end(NULL);
    assert_ptr_equal(g_main_context_get_poll_func(NULL), before);
    const struct fw_hang_totals totals = totals_of(monitor);
    fw_hang_stop(monitor);
    assert_int_equal(found, 4);
    assert_int_equal(totals.hangs, times_told());
    assert_string_equal(told_watch, "gtk");
    assert_int_equal(ended, told);
    g_main_loop_unref(loop);
    close(ends[0]);
    close(ends[1]);
}

static gpointer iterate_once(gpointer context)
{
    while (g_main_context_iteration(context, FALSE))
        ;
    return NULL;
}

/* A context that another thread runs for once: nothing is marked there. */
static void another_thread(void **state)
{
    (void)state;
    struct fw_hang_monitor *monitor = start_monitor();
    struct fw_hang_watch *watch;
    GMainContext *context = g_main_context_new();
    assert_int_equal(fw_hang_glib_begin(monitor, context, "own", &watch), FW_OK);
    g_thread_join(g_thread_new("other", iterate_once, context));
    fw_hang_glib_end(context);
    iterate_once(context);
    g_main_context_unref(context);
    fw_hang_stop(monitor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_are_found),
        cmocka_unit_test(another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
