/* framewalk-collector: the server behind `framewalk serve`. */
#include "collector/backup.h"
#include "collector/routes.h"
#include "collector/serve_check.h"
#include "collector/serve_options.h"
#include "collector/server.h"

#include <stdio.h>

enum { EXIT_USAGE = 2, TABLES = 64 };

/* "METHOD PATTERN", one a line: what docs/openapi.yaml must document. */
static int print_routes(void)
{
    struct http_routes tables[TABLES];
    size_t count = routes_all(tables, TABLES);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tables[i].count; j++)
            printf("%s %s\n", tables[i].routes[j].method, tables[i].routes[j].pattern);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct collector_options options;
    switch (serve_options_parse(argc, argv, &options)) {
    case SERVE_RUN: return server_run(&options);
    case SERVE_NEW_TOKEN: return server_new_token(&options);
    case SERVE_ROUTES: return print_routes();
    case SERVE_BACKUP: return backup_make(&options, options.archive);
    case SERVE_CHECK: return serve_check(&options);
    case SERVE_RESTORE: return backup_restore(&options, options.archive);
    default: return EXIT_USAGE;
    }
}
