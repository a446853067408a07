/*
 * Debug files to a collector: asks what it lacks, sends that, and says what became of each.
 *
 * What is sent is packed (zstd) and known to the collector by its SHA-256: whoever repeats a push
 * that was broken off goes on where it stopped, from any machine that has the same file.
 */
#ifndef CLI_PUSH_DEBUG_H
#define CLI_PUSH_DEBUG_H

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/push.h"
#include "cli/push_find.h"

#include <jansson.h>

struct upload_settings;

struct push_debug {
    const struct push_command *command;
    const struct upload_settings *settings; /* NULL: --dry-run without a URL */
    struct progress *progress;
    struct push_found found;
};

extern const char *const push_kind_words[]; /* by enum debug_file_kind */
/* How the collector is asked for a slice. */
json_t *push_debug_id(const struct push_command *command, const struct debug_slice *slice);

/* Everything that was found; the exit code that belongs to it. */
enum cli_exit push_debug_send(struct push_debug *debug);
/* A line for each file that is worth one, and one for all. */
void push_debug_tell(const struct push_debug *debug);
json_t *push_debug_json(const struct push_debug *debug);

#endif
