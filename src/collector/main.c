/* framewalk-collector: the server behind `framewalk serve`. */
#include "collector/serve_options.h"
#include "collector/server.h"

enum { EXIT_USAGE = 2 };

int main(int argc, char **argv)
{
    struct collector_options options;
    switch (serve_options_parse(argc, argv, &options)) {
    case SERVE_RUN: return server_run(&options);
    case SERVE_NEW_TOKEN: return server_new_token(&options);
    default: return EXIT_USAGE;
    }
}
