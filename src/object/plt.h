/*
 * PLT stubs with the names of the functions that they lead to.
 */
#ifndef OBJECT_PLT_H
#define OBJECT_PLT_H

#include "object/object.h"

/* Calls `each` with the link-time range [lo, hi) of every stub whose target is known by name, and
 * the end of the section around it. The names live as long as the object. False when out of
 * memory. */
bool plt_stubs(struct object *object,
               void (*each)(void *context, uint64_t lo, uint64_t hi, uint64_t limit,
                            const char *name),
               void *context);

#endif
