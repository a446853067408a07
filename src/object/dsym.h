/*
 * Finding the dSYM of a Mach-O image: the companion file that holds its debug information.
 */
#ifndef OBJECT_DSYM_H
#define OBJECT_DSYM_H

#include "object/object.h"

/*
 * Looks beside `path`, where the image lies (NULL: nowhere): NAME.dSYM, the dSYM of any bundle
 * around it (My.app.dSYM, Foo.framework.dSYM), the dSYMs folder of an archive of Xcode, then any
 * other dSYM in the same folder; then in each of `folders` (NULL-terminated, or NULL): a folder
 * tree, a dSYM bundle, or a companion file.
 *
 * Only a file of the same UUID is taken, whatever its name. FW_ERR_NOT_FOUND: *why names the
 * places looked at, and the files of that name that have another UUID. An image without a UUID has
 * no dSYM.
 */
fw_error object_find_dsym(const struct object *object, const char *path, const char *const *folders,
                          struct object **dsym, struct fw_failure *why);
/* The same, telling of every place as object_find_debug_told does. FW_OK, FW_ERR_NOT_FOUND or
 * FW_ERR_MEMORY. */
fw_error object_find_dsym_told(const struct object *object, const char *path,
                               const char *const *folders, object_place_call place, void *context,
                               struct object **dsym);

#endif
