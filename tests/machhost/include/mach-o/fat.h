#ifndef MACHHOST_MACHO_FAT_H
#define MACHHOST_MACHO_FAT_H
#include <mach/machine.h>
#include <stdint.h>
#define FAT_MAGIC    0xcafebabe
#define FAT_MAGIC_64 0xcafebabf
struct fat_header {
    uint32_t magic;
    uint32_t nfat_arch;
};
struct fat_arch {
    cpu_type_t cputype;
    cpu_subtype_t cpusubtype;
    uint32_t offset;
    uint32_t size;
    uint32_t align;
};
#endif
