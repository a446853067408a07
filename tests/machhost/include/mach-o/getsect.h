#ifndef MACHHOST_MACHO_GETSECT_H
#define MACHHOST_MACHO_GETSECT_H
#include <mach-o/loader.h>
#if defined(__LP64__)
uint8_t *getsectiondata(const struct mach_header_64 *header, const char *segment,
                        const char *section, unsigned long *size);
uint8_t *getsegmentdata(const struct mach_header_64 *header, const char *segment,
                        unsigned long *size);
#else
uint8_t *getsectiondata(const struct mach_header *header, const char *segment, const char *section,
                        unsigned long *size);
uint8_t *getsegmentdata(const struct mach_header *header, const char *segment, unsigned long *size);
#endif
#endif
