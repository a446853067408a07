/* `framewalk groups`: what a collector makes of the reports that it has. */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include "cli/style.h"

#include <jansson.h>

struct groups_command { /* groups_options.c: the command line */
    const char *url, *key_file, *ca_file;
    const char *project; /* NULL: "default" */
    const char *version; /* NULL: all */
    unsigned days, limit;
    unsigned wait_s; /* 0: does not wait */
    bool plain_http, calls, json, full_paths, help;
    enum style_when color;
};

int groups_main(int argc, char **argv);
void groups_usage(FILE *to);
/* False when the command line is wrong, which was said. */
bool groups_parse(int argc, char **argv, struct groups_command *command);

/* groups_text.c: the collector's answers (docs/openapi.yaml: Groups, Calls) as tables. */
void groups_print(struct style *style, const struct groups_command *command, const json_t *groups);
void groups_print_calls(struct style *style, const struct groups_command *command,
                        const json_t *calls);

#endif
