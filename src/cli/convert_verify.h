/* `framewalk convert --verify`: what a symbol map says beside what the debug file says. */
#ifndef CLI_CONVERT_VERIFY_H
#define CLI_CONVERT_VERIFY_H

#include "cli/convert.h"

struct verify_files {
    struct object *object;
    const struct debug_files *files; /* NULL: the object alone */
    struct progress *progress;       /* ended before anything is said */
};

/* Of a map just made. CLI_OK, or CLI_FAILED when it differs, which standard error then explains. An
 * error that keeps it from being compared is in *error. */
int convert_verify(const struct verify_files *files, struct span map,
                   const struct convert_options *options, bool quiet, fw_error *error,
                   struct fw_failure *why);
/* Of a map that stands, with the file that it was made of. */
int convert_verify_map(const char *map, const char *path, const struct convert_command *command);

#endif
