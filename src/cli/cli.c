/* Messages, and the guess at what a mistyped word was meant to be. */
#include "cli/cli.h"

#include "cli/style.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_error(const char *format, ...)
{
    char message[2048], clean[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    style_clean(message, clean, sizeof(clean));
    fprintf(stderr, "framewalk: %s\n", clean);
}

void cli_say(const char *format, ...)
{
    char *line = NULL, *clean = NULL;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&line, format, arguments);
    va_end(arguments);
    size_t room = size < 0 ? 0 : 4 * (size_t)size + 1; /* each byte may become \xNN */
    clean = room ? malloc(room) : NULL;
    if (clean) {
        style_clean(line, clean, room);
        puts(clean);
    } else {
        cli_error("out of memory");
    }
    free(clean);
    if (size >= 0)
        free(line);
}

enum cli_exit cli_exit_for(fw_error code)
{
    switch (code) {
    case FW_OK: return CLI_OK;
    case FW_ERR_NOT_FOUND: return CLI_NO_PROCESS;
    case FW_ERR_PERMISSION: return CLI_PERMISSION;
    case FW_ERR_FORMAT:
    case FW_ERR_CORRUPT: return CLI_FORMAT;
    case FW_ERR_TRUNCATED: return CLI_TRUNCATED;
    case FW_ERR_VANISHED: return CLI_VANISHED;
    default: return CLI_FAILED;
    }
}

/* Edits (insert, delete, replace, swap neighbours) from `a` to `b`; both at most 31 long. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t rows[3][MOST], length_a = strlen(a), length_b = strlen(b);
    if (length_a >= MOST || length_b >= MOST)
        return MOST;
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= length_b; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[length_b];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 2; /* further away it is another word */
    for (; *names != NULL; names++) {
        size_t edits = distance(word, *names);
        if (edits < best) {
            best = edits;
            nearest = *names;
        }
    }
    return nearest;
}

bool cli_is_report_folder(const char *path)
{
    char *state;
    if (asprintf(&state, "%s/spool.state", path) < 0)
        return false;
    bool there = access(state, F_OK) == 0;
    free(state);
    return there;
}

void cli_complain(const char *command, const struct option *options, char **argv, int letter)
{
    enum { NAMES = 64 }; /* options that are compared */
    const char *word = argv[optind - 1];
    const char *names[NAMES + 1] = {NULL};
    for (size_t i = 0; i < NAMES && options[i].name; i++)
        names[i] = options[i].name;
    const char *nearest = strncmp(word, "--", 2) == 0 ? cli_nearest(word + 2, names) : NULL;
    if (letter == ':')
        cli_error("%s wants a value (framewalk %s --help)", word, command);
    else if (nearest)
        cli_error("unknown option '%s'; did you mean '--%s'?", word, nearest);
    else
        cli_error("unknown option '%s' (framewalk %s --help lists them)", word, command);
}
