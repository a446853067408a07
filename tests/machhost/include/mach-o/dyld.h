#ifndef MACHHOST_MACHO_DYLD_H
#define MACHHOST_MACHO_DYLD_H
#include <mach-o/loader.h>
#include <stdbool.h>
#include <stdint.h>
uint32_t _dyld_image_count(void);
const struct mach_header *_dyld_get_image_header(uint32_t index);
intptr_t _dyld_get_image_vmaddr_slide(uint32_t index);
const char *_dyld_get_image_name(uint32_t index);
void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *mh, intptr_t slide));
void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *mh,
                                                       intptr_t slide));
int _NSGetExecutablePath(char *buffer, uint32_t *size);
#endif
