/*
 * What a search tells when it found nothing: places and files, in a text of limited length.
 */
#ifndef OBJECT_LOOKED_H
#define OBJECT_LOOKED_H

#include <stddef.h>

/* Adds "entry" or "entry (reason)" to a list; what no longer fits shows as "...". */
void looked_add(char *list, size_t size, const char *entry, const char *reason);

#endif
