/*
 * A program that counts its own calls of getaddrinfo and getenv: watch_calls FOLDER. Prints who
 * called, and leaves a report in FOLDER.
 */
#include <framewalk/framewalk.h>

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const watched[] = {"getaddrinfo", "getenv"};
enum { WATCHED = sizeof watched / sizeof watched[0] };

__attribute__((noinline)) static void ask_for_address(void)
{
    struct addrinfo *found = NULL;
    if (getaddrinfo("127.0.0.1", "80", NULL, &found) == 0)
        freeaddrinfo(found);
}

__attribute__((noinline)) static int read_settings(void)
{
    return (getenv("HOME") != NULL) + (getenv("LANG") != NULL);
}

static void print_callers(struct fw_calls *calls)
{
    struct fw_names *names;
    struct fw_calls_entry entry;
    char caller[256];
    if (fw_names_create(&names) != FW_OK)
        return;
    for (uint32_t i = 0; fw_calls_entry(calls, i, &entry) == FW_OK; i++) {
        if (entry.stack.count == 0)
            continue;
        fw_names_format(names, &entry.stack.frames[0], caller, sizeof caller);
        printf("%" PRIu64 "  %s  from %s\n", entry.count, watched[entry.api], caller);
    }
    fw_names_destroy(names);
}

int main(int argc, char **argv)
{
    struct fw_reports_options where = {.size = sizeof where, .folder = argc > 1 ? argv[1] : "."};
    struct fw_reports *reports;
    struct fw_failure why;
    if (fw_reports_open(&where, &reports, &why) != FW_OK) {
        fprintf(stderr, "watch_calls: %s\n", why.message);
        return 1;
    }

    struct fw_calls_options options = {
        .size = sizeof options, .names = watched, .count = WATCHED, .reports = reports};
    struct fw_calls *calls;
    const fw_error error = fw_calls_start(&options, &calls);
    if (error != FW_OK) {
        fprintf(stderr, "watch_calls: %s\n", fw_error_text(error));
        return 1;
    }

    ask_for_address();
    const int found = read_settings();

    print_callers(calls);
    fw_calls_stop(calls); /* writes the report */
    fw_reports_close(reports);
    return found > WATCHED;
}
