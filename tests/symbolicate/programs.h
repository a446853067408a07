/* Functions of a program, by its symbol table. */
#ifndef TESTS_SYMBOLICATE_PROGRAMS_H
#define TESTS_SYMBOLICATE_PROGRAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "framewalk/symbolicate.h"
#include "object/object.h"

static const char *const programs[] = {TAIL_UNIT_PROGRAMS};

enum { PROGRAM_COUNT = sizeof programs / sizeof *programs, FUNCTIONS = 64 };

struct functions {
    struct {
        uint64_t vaddr, size;
        char name[64];
    } item[FUNCTIONS];
    size_t count;
};

static inline bool add_function(void *context, const struct object_symbol *symbol)
{
    struct functions *f = context;
    if (symbol->type == 2 && symbol->size && f->count < FUNCTIONS) {
        f->item[f->count].vaddr = symbol->vaddr;
        f->item[f->count].size = symbol->size;
        snprintf(f->item[f->count++].name, 64, "%s", symbol->name);
    }
    return true;
}

static inline void read_functions(const char *path, struct functions *functions)
{
    struct object *object;
    functions->count = 0;
    assert_int_equal(object_open(path, &object, NULL), FW_OK);
    assert_int_equal(object_symbols(object, false, add_function, functions), FW_OK);
    object_close(object);
    assert_true(functions->count > 10);
}

static inline struct fw_source *open_source(struct fw_symbolicator *symbolicator, const char *path)
{
    struct fw_source_request request = {.size = sizeof request, .path = path};
    struct fw_source *source;
    struct fw_failure why = {0};
    if (fw_source_open(symbolicator, &request, &source, &why) != FW_OK)
        fail_msg("%s", why.message);
    return source;
}

/* So many that the whole file is converted. */
enum { MANY = 300 };

/* Every function again and again, at different places in it. */
static inline void many_addresses(const struct functions *functions,
                                  struct fw_address addresses[MANY])
{
    for (size_t i = 0; i < MANY; i++) {
        size_t k = i % functions->count;
        addresses[i] = (struct fw_address){functions->item[k].vaddr +
                                               i / functions->count % functions->item[k].size,
                                           FW_ADDRESS_LINK};
    }
}

static inline bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static inline bool same_answer(const struct fw_resolved *a, const struct fw_resolved *b)
{
    if (a->frame_count != b->frame_count || a->reason != b->reason)
        return false;
    for (size_t i = 0; i < a->frame_count; i++) {
        const struct fw_symbol_frame *x = &a->frames[i], *y = &b->frames[i];
        if (!same_text(x->function, y->function) || !same_text(x->mangled, y->mangled) ||
            !same_text(x->file, y->file) || x->line != y->line || x->column != y->column ||
            x->start != y->start || x->offset != y->offset || x->flags != y->flags)
            return false;
    }
    return true;
}

#endif
