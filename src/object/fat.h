/*
 * Fat (universal) files: several Mach-O files, or archives of them, one behind the other.
 */
#ifndef OBJECT_FAT_H
#define OBJECT_FAT_H

#include "object/object_internal.h"

enum { FAT_SLICES = 42 }; /* as many can be; a larger number is the version of a Java class file */

struct fat_slice {
    uint32_t cpu_type, cpu_subtype;
    uint64_t offset, size; /* as the header says */
};

/* The slices that the header lists, up to where it is cut off; 0 when the file is not fat. */
size_t fat_read(struct span file, struct fat_slice slices[FAT_SLICES]);
/* Narrows object->file to the slice that is wanted; leaves a file alone that is not fat. */
fw_error fat_narrow(struct object *object, const struct object_choice *choice,
                    struct fw_failure *why);
/* Whether what was opened is what was asked for. */
fw_error fat_check(const struct object *object, const struct object_choice *choice,
                   struct fw_failure *why);

/* object_slices of one file. */
fw_error fat_slices(const char *path, bool (*each)(void *context, const struct object_slice *),
                    void *context, struct fw_failure *why);

#endif
