/* What images.c and dyld.c share: the list, and how the commands of an image are read. */
#ifndef MACHHOST_IMAGES_H
#define MACHHOST_IMAGES_H

#include "internal.h"

extern struct image *images[]; /* those that the program sees */
extern uint32_t image_count;

/* images.c: notes an error for dlerror(); NULL. */
void *fail_text(const char *format, const char *a, const char *b);
/* dyld.c: tells those who asked that the image goes. */
void image_announce_end(const struct image *image);

static inline const struct load_command *first_command(const struct mach_header_64 *header)
{
    return (const void *)(header + 1);
}

static inline const struct load_command *next_command(const struct load_command *command)
{
    return (const void *)((const char *)command + command->cmdsize);
}

#define EACH_COMMAND(header, command)                                                              \
    const struct load_command *command = first_command(header),                                    \
                              *const end_##command =                                               \
                                  (const void *)((const char *)command + (header)->sizeofcmds);    \
    command < end_##command;                                                                       \
    command = next_command(command)

static inline void *in_linkedit(const struct image *image, uint32_t offset)
{
    return (void *)(uintptr_t)(image->linkedit->vmaddr + (uint64_t)image->slide + offset -
                               image->linkedit->fileoff);
}

static inline const struct section_64 *sections_of(const struct segment_command_64 *segment)
{
    return (const void *)(segment + 1);
}

#endif
