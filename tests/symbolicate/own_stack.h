/* The stack of a loaded program of ours, as fw_symbolicate_stack shows it. */
#ifndef TESTS_SYMBOLICATE_OWN_STACK_H
#define TESTS_SYMBOLICATE_OWN_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "framewalk/symbolicate.h"

struct own_program {
    struct fw_symbolicator *symbolicator;
    struct fw_source *source;
    void *handle;
    void (*run)(int which, int choice, void (*callback)(void)); /* its tail_run */
    const void *map;
};

/* Loads the shared object at `path` and opens it as a source. */
void own_program_open(const char *path, struct own_program *program);
void own_program_close(struct own_program *program);

/* Runs a case and describes the program's functions on the stack, innermost first, as
 * "bottom two! one! one_way": "!" marks inferred ones, "~" inlined ones, "*" parts, "?" a place
 * where several ways are possible. Parameters of C++ names are left out. */
void own_program_describe(struct own_program *program, int which, int choice, char *text,
                          size_t size);

#endif
