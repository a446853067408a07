/* watch.find in a GLib main loop: see watch_find.h. Timeouts and idle sources in turn. */
#include "watch_find.h"

#include <framewalk/hang_glib.h>

static GMainLoop *loop;

static gboolean turn(gpointer data)
{
    (void)data;
    if (!find_turn())
        g_main_loop_quit(loop);
    else
        g_timeout_add(find_pause_ms(), turn, NULL);
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    struct fw_hang_watch *watch;
    find_start(argc, argv);
    if (fw_hang_glib_begin(find_monitor, NULL, "main", &watch) != FW_OK)
        return 1;
    loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(10, turn, NULL);
    g_main_loop_run(loop);
    fw_hang_glib_end(NULL);
    return find_finish();
}
