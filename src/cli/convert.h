/* `framewalk convert`: debug files to symbol maps. */
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include <stdio.h>

int convert_main(int argc, char **argv);
void convert_usage(FILE *to);

#endif
