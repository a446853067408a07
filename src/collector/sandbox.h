/*
 * Runs framewalk-converter on one upload, and says in plain words how that ended.
 *
 * The child is not believed either: its lines are bounded in length and number, and files that it
 * names are opened below its folder without following links (sandbox_open).
 */
#ifndef COLLECTOR_SANDBOX_H
#define COLLECTOR_SANDBOX_H

#include "collector/lockdown.h"

#include <jansson.h>

struct sandbox_limits {
    struct lockdown_limits child;
    uint64_t wall_seconds; /* until the child is killed */
    uint64_t unpacked;     /* bytes that an archive may hold */
};

/*
 * `input` is read from its start; `folder` is open and empty, of this run alone. `line` gets each
 * object that the child writes (converter.c), and NULL about every second; false ends the child,
 * and FW_ERR_TIMEOUT is returned. FW_ERR_FULL: a limit; FW_ERR_CORRUPT: the child ended by a fault
 * of its own; else what the child said.
 */
fw_error sandbox_run(const char *program, int input, int folder, const char *name,
                     const struct sandbox_limits *limits,
                     bool (*line)(void *context, const json_t *object), void *context,
                     struct fw_failure *why);

/* A regular file in the folder, for reading; -1: there is none. */
int sandbox_open(int folder, char kind, unsigned number);

#endif
