/*
 * A GTK 3 window that hangs in known places: a button's handler computes, a timer's sleeps. After
 * them a dialog runs its own loop for
 * longer than any of these, which is no hang.
 */

#include <gtk/gtk.h>
#include <stdio.h>

enum { TURNS = 15 }; /* of the loop, before anything happens: 10 ms each */

static volatile double sum;

__attribute__((noinline)) static void compute_layout(void)
{
    gint64 end = g_get_monotonic_time() + 500000;
    while (g_get_monotonic_time() < end) /* line: compute */
        for (int i = 1; i < 2000; i++)
            sum += 1.0 / i;
}

static void on_clicked(GtkButton *button, gpointer data)
{
    (void)button, (void)data;
    compute_layout();
    sum += 1;
}

__attribute__((noinline)) static void read_theme(void)
{
    FILE *file = fopen("/etc/hostname", "r"); /* line: fopen */
    if (file)
        fclose(file);
    g_usleep(400000); /* line: sleep */
    sum += 1;
}

static gboolean close_dialog(gpointer dialog)
{
    gtk_dialog_response(dialog, GTK_RESPONSE_OK);
    return G_SOURCE_REMOVE;
}

static gboolean ask(gpointer window)
{
    GtkWidget *dialog = gtk_message_dialog_new(window, GTK_DIALOG_MODAL, GTK_MESSAGE_QUESTION,
                                               GTK_BUTTONS_OK, "Well?");
    g_timeout_add(900, close_dialog, dialog);
    gtk_dialog_run(GTK_DIALOG(dialog));
    gtk_widget_destroy(dialog);
    g_timeout_add(50, (GSourceFunc)gtk_main_quit, NULL);
    return G_SOURCE_REMOVE;
}

static gboolean on_timer(gpointer button)
{
    static int turns;
    turns++;
    if (turns == TURNS)
        gtk_button_clicked(button);
    if (turns == 2 * TURNS)
        read_theme();
    if (turns == 3 * TURNS) {
        g_timeout_add(10, ask, gtk_widget_get_toplevel(button));
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    gtk_init(&argc, &argv);
    GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    GtkWidget *button = gtk_button_new_with_label("Press");
    gtk_container_add(GTK_CONTAINER(window), button);
    g_signal_connect(button, "clicked", G_CALLBACK(on_clicked), NULL);
    gtk_widget_show_all(window);
    g_timeout_add(10, on_timer, button);
    gtk_main();
    return 0;
}
