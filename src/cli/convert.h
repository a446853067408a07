/* `framewalk convert`: debug files to symbol maps. */
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include "cli/convert_formats.h"
#include "cli/progress.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"

#include <stdio.h>

int convert_main(int argc, char **argv);
void convert_usage(FILE *to);

struct convert_command { /* convert_options.c: the command line */
    const char *output;  /* a file or a folder; NULL: the current folder */
    const char *arch;    /* of fat files; NULL: all */
    const char **debug;  /* NULL-terminated; to be freed */
    const char *sysroot;
    enum convert_format format;
    unsigned threads; /* 0: one per processor */
    bool no_debuginfod, no_separate, columns, no_calls, verify, quiet, json, help;
    int first_file; /* in argv */
};
/* False when the command line is wrong, which was said. */
bool convert_parse(int argc, char **argv, struct convert_command *command);

struct convert_outcome { /* one map that was written */
    const char *file, *map, *arch;
    struct object *object;
    const struct debug_files *files; /* NULL: not looked for */
    const struct convert_report *report;
    size_t size;
    double seconds;
};
/* convert_summary.c: what is worth knowing of a conversion, for people on standard error or as one
 * line of JSON on standard output. */
void convert_tell(const struct convert_outcome *outcome);
bool convert_tell_json(const struct convert_outcome *outcome);

#endif
