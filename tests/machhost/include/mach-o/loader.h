/* The Mach-O file format as structures: what a loaded image looks like in memory. */
#ifndef MACHHOST_MACHO_LOADER_H
#define MACHHOST_MACHO_LOADER_H
#include <mach/machine.h>
#include <mach/vm_prot.h>
#include <stdint.h>

struct mach_header {
    uint32_t magic;
    cpu_type_t cputype;
    cpu_subtype_t cpusubtype;
    uint32_t filetype;
    uint32_t ncmds;
    uint32_t sizeofcmds;
    uint32_t flags;
};
struct mach_header_64 {
    uint32_t magic;
    cpu_type_t cputype;
    cpu_subtype_t cpusubtype;
    uint32_t filetype;
    uint32_t ncmds;
    uint32_t sizeofcmds;
    uint32_t flags;
    uint32_t reserved;
};
#define MH_MAGIC               0xfeedface
#define MH_CIGAM               0xcefaedfe
#define MH_MAGIC_64            0xfeedfacf
#define MH_CIGAM_64            0xcffaedfe
#define MH_OBJECT              0x1
#define MH_EXECUTE             0x2
#define MH_DYLIB               0x6
#define MH_DYLINKER            0x7
#define MH_BUNDLE              0x8
#define MH_DSYM                0xa
#define MH_KEXT_BUNDLE         0xb
#define MH_NOUNDEFS            0x1
#define MH_DYLDLINK            0x4
#define MH_TWOLEVEL            0x80
#define MH_PIE                 0x200000
#define MH_HAS_TLV_DESCRIPTORS 0x800000
#define MH_DYLIB_IN_CACHE      0x80000000

struct load_command {
    uint32_t cmd;
    uint32_t cmdsize;
};
#define LC_REQ_DYLD            0x80000000u
#define LC_SEGMENT             0x1
#define LC_SYMTAB              0x2
#define LC_UNIXTHREAD          0x5
#define LC_DYSYMTAB            0xb
#define LC_LOAD_DYLIB          0xc
#define LC_ID_DYLIB            0xd
#define LC_LOAD_DYLINKER       0xe
#define LC_ID_DYLINKER         0xf
#define LC_LOAD_WEAK_DYLIB     (0x18 | LC_REQ_DYLD)
#define LC_SEGMENT_64          0x19
#define LC_UUID                0x1b
#define LC_RPATH               (0x1c | LC_REQ_DYLD)
#define LC_CODE_SIGNATURE      0x1d
#define LC_REEXPORT_DYLIB      (0x1f | LC_REQ_DYLD)
#define LC_ENCRYPTION_INFO     0x21
#define LC_DYLD_INFO           0x22
#define LC_DYLD_INFO_ONLY      (0x22 | LC_REQ_DYLD)
#define LC_FUNCTION_STARTS     0x26
#define LC_MAIN                (0x28 | LC_REQ_DYLD)
#define LC_DATA_IN_CODE        0x29
#define LC_SOURCE_VERSION      0x2A
#define LC_ENCRYPTION_INFO_64  0x2C
#define LC_BUILD_VERSION       0x32
#define LC_DYLD_EXPORTS_TRIE   (0x33 | LC_REQ_DYLD)
#define LC_DYLD_CHAINED_FIXUPS (0x34 | LC_REQ_DYLD)

union lc_str {
    uint32_t offset;
};
struct segment_command {
    uint32_t cmd;
    uint32_t cmdsize;
    char segname[16];
    uint32_t vmaddr;
    uint32_t vmsize;
    uint32_t fileoff;
    uint32_t filesize;
    vm_prot_t maxprot;
    vm_prot_t initprot;
    uint32_t nsects;
    uint32_t flags;
};
struct segment_command_64 {
    uint32_t cmd;
    uint32_t cmdsize;
    char segname[16];
    uint64_t vmaddr;
    uint64_t vmsize;
    uint64_t fileoff;
    uint64_t filesize;
    vm_prot_t maxprot;
    vm_prot_t initprot;
    uint32_t nsects;
    uint32_t flags;
};
#define SG_READ_ONLY 0x10
struct section {
    char sectname[16];
    char segname[16];
    uint32_t addr;
    uint32_t size;
    uint32_t offset;
    uint32_t align;
    uint32_t reloff;
    uint32_t nreloc;
    uint32_t flags;
    uint32_t reserved1;
    uint32_t reserved2;
};
struct section_64 {
    char sectname[16];
    char segname[16];
    uint64_t addr;
    uint64_t size;
    uint32_t offset;
    uint32_t align;
    uint32_t reloff;
    uint32_t nreloc;
    uint32_t flags;
    uint32_t reserved1;
    uint32_t reserved2;
    uint32_t reserved3;
};
#define SECTION_TYPE               0x000000ff
#define SECTION_ATTRIBUTES         0xffffff00
#define S_REGULAR                  0x0
#define S_ZEROFILL                 0x1
#define S_CSTRING_LITERALS         0x2
#define S_NON_LAZY_SYMBOL_POINTERS 0x6
#define S_LAZY_SYMBOL_POINTERS     0x7
#define S_SYMBOL_STUBS             0x8
#define S_MOD_INIT_FUNC_POINTERS   0x9
#define S_MOD_TERM_FUNC_POINTERS   0xa
#define S_GB_ZEROFILL              0xc
#define S_THREAD_LOCAL_REGULAR     0x11
#define S_THREAD_LOCAL_ZEROFILL    0x12
#define S_THREAD_LOCAL_VARIABLES   0x13
#define S_INIT_FUNC_OFFSETS        0x16
#define S_ATTR_PURE_INSTRUCTIONS   0x80000000u
#define S_ATTR_SOME_INSTRUCTIONS   0x00000400u

#define SEG_PAGEZERO "__PAGEZERO"
#define SEG_TEXT     "__TEXT"
#define SECT_TEXT    "__text"
#define SEG_DATA     "__DATA"
#define SEG_LINKEDIT "__LINKEDIT"

struct dylib {
    union lc_str name;
    uint32_t timestamp;
    uint32_t current_version;
    uint32_t compatibility_version;
};
struct dylib_command {
    uint32_t cmd;
    uint32_t cmdsize;
    struct dylib dylib;
};
struct dylinker_command {
    uint32_t cmd;
    uint32_t cmdsize;
    union lc_str name;
};
struct rpath_command {
    uint32_t cmd;
    uint32_t cmdsize;
    union lc_str path;
};
struct symtab_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t symoff;
    uint32_t nsyms;
    uint32_t stroff;
    uint32_t strsize;
};
struct dysymtab_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t ilocalsym;
    uint32_t nlocalsym;
    uint32_t iextdefsym;
    uint32_t nextdefsym;
    uint32_t iundefsym;
    uint32_t nundefsym;
    uint32_t tocoff;
    uint32_t ntoc;
    uint32_t modtaboff;
    uint32_t nmodtab;
    uint32_t extrefsymoff;
    uint32_t nextrefsyms;
    uint32_t indirectsymoff;
    uint32_t nindirectsyms;
    uint32_t extreloff;
    uint32_t nextrel;
    uint32_t locreloff;
    uint32_t nlocrel;
};
struct uuid_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint8_t uuid[16];
};
struct linkedit_data_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t dataoff;
    uint32_t datasize;
};
struct dyld_info_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t rebase_off;
    uint32_t rebase_size;
    uint32_t bind_off;
    uint32_t bind_size;
    uint32_t weak_bind_off;
    uint32_t weak_bind_size;
    uint32_t lazy_bind_off;
    uint32_t lazy_bind_size;
    uint32_t export_off;
    uint32_t export_size;
};
struct entry_point_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint64_t entryoff;
    uint64_t stacksize;
};
struct encryption_info_command_64 {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t cryptoff;
    uint32_t cryptsize;
    uint32_t cryptid;
    uint32_t pad;
};
struct build_version_command {
    uint32_t cmd;
    uint32_t cmdsize;
    uint32_t platform;
    uint32_t minos;
    uint32_t sdk;
    uint32_t ntools;
};

#define REBASE_OPCODE_MASK                               0xF0
#define REBASE_IMMEDIATE_MASK                            0x0F
#define REBASE_OPCODE_DONE                               0x00
#define REBASE_OPCODE_SET_TYPE_IMM                       0x10
#define REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB        0x20
#define REBASE_OPCODE_ADD_ADDR_ULEB                      0x30
#define REBASE_OPCODE_ADD_ADDR_IMM_SCALED                0x40
#define REBASE_OPCODE_DO_REBASE_IMM_TIMES                0x50
#define REBASE_OPCODE_DO_REBASE_ULEB_TIMES               0x60
#define REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB            0x70
#define REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB 0x80
#define BIND_TYPE_POINTER                                1
#define BIND_SPECIAL_DYLIB_SELF                          0
#define BIND_SPECIAL_DYLIB_MAIN_EXECUTABLE               (-1)
#define BIND_SPECIAL_DYLIB_FLAT_LOOKUP                   (-2)
#define BIND_SPECIAL_DYLIB_WEAK_LOOKUP                   (-3)
#define BIND_SYMBOL_FLAGS_WEAK_IMPORT                    0x1
#define BIND_OPCODE_MASK                                 0xF0
#define BIND_IMMEDIATE_MASK                              0x0F
#define BIND_OPCODE_DONE                                 0x00
#define BIND_OPCODE_SET_DYLIB_ORDINAL_IMM                0x10
#define BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB               0x20
#define BIND_OPCODE_SET_DYLIB_SPECIAL_IMM                0x30
#define BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM        0x40
#define BIND_OPCODE_SET_TYPE_IMM                         0x50
#define BIND_OPCODE_SET_ADDEND_SLEB                      0x60
#define BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB          0x70
#define BIND_OPCODE_ADD_ADDR_ULEB                        0x80
#define BIND_OPCODE_DO_BIND                              0x90
#define BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB                0xA0
#define BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED          0xB0
#define BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB     0xC0
#define EXPORT_SYMBOL_FLAGS_KIND_MASK                    0x03
#define EXPORT_SYMBOL_FLAGS_KIND_REGULAR                 0x00
#define EXPORT_SYMBOL_FLAGS_KIND_THREAD_LOCAL            0x01
#define EXPORT_SYMBOL_FLAGS_KIND_ABSOLUTE                0x02
#define EXPORT_SYMBOL_FLAGS_WEAK_DEFINITION              0x04
#define EXPORT_SYMBOL_FLAGS_REEXPORT                     0x08
#define EXPORT_SYMBOL_FLAGS_STUB_AND_RESOLVER            0x10

#endif
