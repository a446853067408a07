/*
 * What is a program's own although it lies where the system's files lie, and what is not its own
 * although it is a script. By names and places alone, so that a machine on which nothing of it is
 * installed answers the same. docs/grouping.md has the rules.
 */
#ifndef REPORT_OWN_IMAGE_H
#define REPORT_OWN_IMAGE_H

#include <stdbool.h>

/* Is the image at path `image` the program itself, or did it come with the program at path
 * `program`? Either may be NULL: unknown, which is no. */
bool own_image(const char *program, const char *image);

/* Is this source file of a script the program's own? Not what the interpreter brings, nor installed
 * packages. NULL: yes, as nothing speaks against it. */
bool own_script(const char *file);

#endif
