/* GSYM (llvm/DebugInfo/GSYM), versions 1 and 2: numbers that the writer and the reader share. */
#ifndef SYMMAP_GSYM_H
#define SYMMAP_GSYM_H

#include <stdint.h>

#define GSYM_MAGIC UINT32_C(0x4753594d)

enum {
    GSYM_HEADER_SIZE = 48,   /* of version 1: magic, u16 version, u8 address offset size, u8 UUID
                                size, u64 base, u32 addresses, u32 string offset and size, UUID */
    GSYM_HEADER_2_SIZE = 20, /* magic, u16 version, u8 address offset size, u8 string encoding, u64
                                base, u32 addresses; entries of GSYM_ENTRY_SIZE follow */
    GSYM_ENTRY_SIZE = 20,    /* u32 kind, u64 offset, u64 size */
    GSYM_UUID_SIZE = 20
};

enum gsym_section { /* kinds of entries of version 2 */
                    GSYM_ENTRIES_END = 0,
                    GSYM_ADDRESSES,
                    GSYM_INFO_OFFSETS,
                    GSYM_STRINGS,
                    GSYM_FILES,
                    GSYM_FUNCTIONS,
                    GSYM_UUID,
                    GSYM_SECTION_COUNT
};

enum { /* what a function is made of: u32 kind, u32 length, contents */
       GSYM_INFO_END = 0,
       GSYM_INFO_LINES = 1,
       GSYM_INFO_INLINES = 2,
       GSYM_INFO_MERGED = 3
};

enum { /* line table: sleb least and greatest line difference, uleb first line, then these */
       GSYM_LINE_END = 0,
       GSYM_LINE_FILE,    /* uleb */
       GSYM_LINE_ADDRESS, /* uleb; adds a row */
       GSYM_LINE_LINE,    /* sleb */
       GSYM_LINE_SPECIAL  /* and above: both differences; adds a row */
};

#endif
