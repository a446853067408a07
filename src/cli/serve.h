/* `framewalk serve`: the collector. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <stdio.h>

int serve_main(int argc, char **argv);
void serve_usage(FILE *to);

#endif
