/*
 * A program that watches its own loop: watch_hangs FOLDER. Each line of its input is a turn that
 * takes so many milliseconds; a turn of 250 ms or more is a hang, is told, and leaves a report in
 * FOLDER. Ends with its input.
 */
#include <framewalk/framewalk.h>
#include <framewalk/hang.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Called by the monitor's thread: no malloc, no stdio. */
static void tell(void *context, const struct fw_hang_event *event)
{
    static const char text[] = "a hang\n";
    (void)context;
    if (event->ended && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return;
}

static void take_a_turn(long ms)
{
    const struct timespec length = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&length, NULL);
}

static void run_loop(struct fw_hang_watch *watch)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[32];
    while (fw_hang_poll(watch, &input, 1, -1) == 1 && fgets(line, sizeof line, stdin))
        take_a_turn(strtol(line, NULL, 10));
}

int main(int argc, char **argv)
{
    struct fw_reports_options where = {.size = sizeof where, .folder = argc > 1 ? argv[1] : "."};
    struct fw_reports *reports;
    struct fw_failure why;
    if (fw_reports_open(&where, &reports, &why) != FW_OK) {
        fprintf(stderr, "watch_hangs: %s\n", why.message);
        return 1;
    }

    struct fw_hang_options options = {.size = sizeof options, .reports = reports, .on_hang = tell};
    struct fw_hang_monitor *monitor;
    struct fw_hang_watch *watch;
    fw_error error = fw_hang_start(&options, &monitor);
    if (error == FW_OK)
        error = fw_hang_watch_thread(monitor, fw_thread_self(), "main", &watch);
    if (error != FW_OK) {
        fprintf(stderr, "watch_hangs: %s\n", fw_error_text(error));
        return 1;
    }

    setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees what stdio has not taken */
    run_loop(watch);

    struct fw_hang_totals totals = {.size = sizeof totals};
    fw_hang_unwatch(watch);
    if (fw_hang_totals(monitor, &totals) == FW_OK)
        printf("hangs: %" PRIu64 "\n", totals.hangs);
    fw_hang_stop(monitor);
    fw_reports_close(reports);
    return 0;
}
