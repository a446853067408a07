/*
 * Reports of other tools (Apple's .ips and .crash, MetricKit, sample, spindump and the others of
 * docs/reports.md) to a collector, one a request.
 */
#ifndef CLI_PUSH_IMPORT_H
#define CLI_PUSH_IMPORT_H

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/push.h"

struct upload_settings;

struct push_import {
    const struct push_command *command;
    const struct upload_settings *settings; /* NULL: --dry-run without a URL */
    struct progress *progress;
    char **paths;
    size_t count, capacity;
    uint64_t sent, duplicates, refused, left, listed;
};

/* Whether the file is a report of another tool; if so it is kept to be sent. */
bool push_import_take(struct push_import *import, const char *path);
/* Sends all, or lists them with --dry-run; what went wrong was said. */
enum cli_exit push_import_send(struct push_import *import);
void push_import_free(struct push_import *import);

#endif
