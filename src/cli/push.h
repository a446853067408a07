/* `framewalk push`: sends reports and debug files to a collector. */
#ifndef CLI_PUSH_H
#define CLI_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

int push_main(int argc, char **argv);
void push_usage(FILE *to);

enum { PUSH_SOURCE_MAPS = 32 };

struct push_command { /* push_options.c: the command line */
    const char *url, *key_file, *ca_file;
    bool plain_http, keep, dry_run, quiet, verbose, help;
    bool stripped_too;   /* executables without names as well */
    bool wait;           /* for the conversion of debug files */
    unsigned wait_limit; /* seconds without news after which that ends */
    bool json;
    bool sources, system_sources; /* source files of debug files as well; the system's too */
    const char *source_maps[PUSH_SOURCE_MAPS]; /* OLD=NEW: where folders lie now */
    size_t source_map_count;
    const char *check_calls;  /* FROM..TO or VERSION; NULL: send something */
    const char *compare_with; /* FROM; NULL: the release before */
    const char *project;      /* NULL: the key's, or "default" */
    int first_path;           /* in argv */
};
/* False when the command line is wrong, which was said. */
bool push_parse(int argc, char **argv, struct push_command *command);

#endif
