/*
 * What a search tells when it found nothing: the places without a file, and the files that were not
 * taken with the reason, in texts of limited length.
 */
#ifndef OBJECT_LOOKED_H
#define OBJECT_LOOKED_H

#include "object/object.h"

struct looked {
    char places[160];  /* without a file */
    char refused[160]; /* files that were not taken, and why */
};

/* An object_place_call, whose context is a struct looked. */
void looked_place(void *context, const char *path, const char *outcome);
/* FW_ERR_NOT_FOUND with a message that begins with `what`. */
fw_error looked_fail(const struct looked *looked, const char *what, struct fw_failure *why);

#endif
