#ifndef MACHHOST_MACHO_NLIST_H
#define MACHHOST_MACHO_NLIST_H
#include <stdint.h>
struct nlist {
    union {
        uint32_t n_strx;
    } n_un;
    uint8_t n_type;
    uint8_t n_sect;
    int16_t n_desc;
    uint32_t n_value;
};
struct nlist_64 {
    union {
        uint32_t n_strx;
    } n_un;
    uint8_t n_type;
    uint8_t n_sect;
    uint16_t n_desc;
    uint64_t n_value;
};
#define N_STAB                 0xe0
#define N_PEXT                 0x10
#define N_TYPE                 0x0e
#define N_EXT                  0x01
#define N_UNDF                 0x0
#define N_ABS                  0x2
#define N_SECT                 0xe
#define N_PBUD                 0xc
#define N_INDR                 0xa
#define N_ARM_THUMB_DEF        0x0008
#define N_WEAK_REF             0x0040
#define N_WEAK_DEF             0x0080
#define N_ALT_ENTRY            0x0200
#define REFERENCED_DYNAMICALLY 0x0010
#endif
