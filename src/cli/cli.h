/*
 * What the commands share: exit codes and the form of messages.
 *
 * Results go to standard output, messages to standard error: one line each, "framewalk: " before.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "framewalk/error.h"

#include <getopt.h>
#include <stdbool.h>

/* framewalk(1) documents these; scripts depend on them. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* anything that has no code of its own */
    CLI_USAGE = 2,       /* the command line is wrong */
    CLI_NO_PROCESS = 3,  /* no such process or thread */
    CLI_PERMISSION = 4,  /* the system refused */
    CLI_FORMAT = 5,      /* the file is not an executable or core file, or cannot be opened */
    CLI_TRUNCATED = 6,   /* the core file is truncated; what could be read was printed */
    CLI_VANISHED = 7,    /* the process ended meanwhile; what was captured before was printed */
    CLI_INCOMPLETE = 8,  /* printed, but a thread or a part of a stack is missing from it */
    CLI_NOT_ALLOWED = 9, /* push --check-calls: there are new calls that nothing allows */
};

/* Prints "framewalk: MESSAGE" to standard error, control characters made visible. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line on standard output that may hold foreign text: what acts on terminals is shown as \xNN. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The exit code that belongs to an error of the library. */
enum cli_exit cli_exit_for(fw_error code);

/* The command among `names` (NULL-terminated) that `word` was probably meant to be; NULL when none
 * is near. */
const char *cli_nearest(const char *word, const char *const *names);

/* What getopt_long has just refused with `letter` (':' or '?'), and what was probably meant. */
void cli_complain(const char *command, const struct option *options, char **argv, int letter);

/* Hang monitor or call watch has written reports there, which may have gone meanwhile. */
bool cli_is_report_folder(const char *path);

#endif
