/*
 * Apple's bundles: folders that people handle like files (Foo.dSYM, Foo.app, Foo.framework).
 */
#ifndef OBJECT_BUNDLE_H
#define OBJECT_BUNDLE_H

#include "object/object_internal.h"

struct bundle_files { /* by name; at most BUNDLE_FILES */
    char **paths;
    size_t count;
};
enum { BUNDLE_FILES = 256 };

/* Has it the folder that debug information is in? */
bool bundle_is_dsym(const char *path);
/* The files in that folder; at least one when FW_OK. To be freed then. */
fw_error bundle_dsym_files(const char *path, struct bundle_files *files, struct fw_failure *why);
void bundle_files_free(struct bundle_files *files);
/* The program of an application, framework or other bundle; false when none is found. */
bool bundle_program(const char *path, char *program, size_t size);
/* What follows the last slash; slashes at the end are not understood. */
const char *bundle_base(const char *path);
/* The last part of a path without slashes at its end and without its extension. */
void bundle_name(const char *path, char *name, size_t size);

#endif
