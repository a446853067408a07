/*
 * Archives of object files (libNAME.a).
 */
#ifndef OBJECT_ARCHIVE_H
#define OBJECT_ARCHIVE_H

#include "object/object_internal.h"

bool archive_is(struct span file);
/* Narrows object->file, which is an archive, to the first member of that name; NULL for none, which
 * is an error. */
fw_error archive_narrow(struct object *object, const char *member, struct fw_failure *why);

#endif
