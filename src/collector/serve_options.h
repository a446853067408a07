/* The command line of framewalk-collector, which is that of `framewalk serve`. */
#ifndef COLLECTOR_SERVE_OPTIONS_H
#define COLLECTOR_SERVE_OPTIONS_H

#include "collector/collector.h"

enum serve_action {
    SERVE_RUN,
    SERVE_NEW_TOKEN,
    SERVE_ROUTES,
    SERVE_BACKUP,
    SERVE_RESTORE,
    SERVE_CHECK,
    SERVE_WRONG
};

/* Texts of `options` are those of argv, or live as long as the process. SERVE_WRONG: said on
 * standard error. */
enum serve_action serve_options_parse(int argc, char **argv, struct collector_options *options);

#endif
