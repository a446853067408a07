/*
 * The Mach-O format: its numbers, and reading what files and loaded images have in common (header,
 * load commands, entries of the symbol table, stubs, function starts). Nothing here allocates,
 * takes locks or knows where the bytes came from: async-signal-safe.
 *
 * Formats: <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/stab.h>, <mach-o/reloc.h> and the headers
 * of the architectures beside it, <mach/machine.h>. Numbers only; the names are Apple's, so this
 * must not meet Apple's own headers in one file.
 */
#ifndef OBJECT_MACHO_FORMAT_H
#define OBJECT_MACHO_FORMAT_H

#include "object/object.h"

enum { /* file types */
       MH_OBJECT = 1,
       MH_EXECUTE = 2,
       MH_CORE = 4,
       MH_PRELOAD = 5,
       MH_DYLIB = 6,
       MH_DYLINKER = 7,
       MH_BUNDLE = 8,
       MH_DYLIB_STUB = 9,
       MH_DSYM = 10,
       MH_KEXT_BUNDLE = 11,
       MH_FILESET = 12,
};
#define MH_DYLIB_IN_CACHE 0x80000000u /* flags of the header */

enum { /* architectures; CPU_64 and CPU_64_32 are bits */
       CPU_64 = 0x01000000,
       CPU_64_32 = 0x02000000,
       CPU_I386 = 7,
       CPU_ARM = 12,
       CPU_PPC = 18,
       CPU_X86_64 = CPU_I386 | CPU_64,
       CPU_ARM64 = CPU_ARM | CPU_64,
       CPU_ARM64_32 = CPU_ARM | CPU_64_32,
       CPU_PPC64 = CPU_PPC | CPU_64,
       CPU_SUBTYPE_MASK = 0x00ffffff, /* the high byte has capabilities: arm64e's ABI version */
};

enum { /* load commands */
       LC_SEGMENT = 0x1,
       LC_SYMTAB = 0x2,
       LC_UNIXTHREAD = 0x5,
       LC_DYSYMTAB = 0xb,
       LC_ID_DYLIB = 0xd,
       LC_SEGMENT_64 = 0x19,
       LC_UUID = 0x1b,
       LC_DYLD_INFO = 0x22,
       LC_FUNCTION_STARTS = 0x26,
};
#define LC_DYLD_INFO_ONLY    0x80000022u
#define LC_MAIN              0x80000028u
#define LC_DYLD_EXPORTS_TRIE 0x80000033u

enum { MACHO_NAME_SIZE = 16, MACHO_UUID_SIZE = 16, VM_READ = 1, VM_WRITE = 2, VM_EXECUTE = 4 };

enum { /* section types and attributes */
       S_TYPE_MASK = 0xff,
       S_ZEROFILL = 0x1,
       S_SYMBOL_STUBS = 0x8,
       S_GB_ZEROFILL = 0xc,
       S_THREAD_LOCAL_ZEROFILL = 0x12,
       S_ATTR_SOME_INSTRUCTIONS = 0x400,
};
#define S_ATTR_PURE_INSTRUCTIONS 0x80000000u

enum { /* symbols: n_type, n_desc */
       N_STAB = 0xe0,
       N_PEXT = 0x10,
       N_TYPE = 0x0e,
       N_EXT = 0x01,
       N_UNDF = 0x0,
       N_SECT = 0xe,
       N_ARM_THUMB_DEF = 0x0008,
       N_WEAK_DEF = 0x0080,
       N_ALT_ENTRY = 0x0200,
       N_FUN = 0x24,
       N_OSO = 0x66,
};

struct macho_header {
    bool is_64, swap; /* swap: of the other byte order than this machine */
    uint32_t cpu_type, cpu_subtype, file_type;
    uint32_t command_count, commands_size; /* the commands follow the header */
    uint32_t flags;
};
enum { MACHO_HEADER_SIZE_32 = 28, MACHO_HEADER_SIZE_64 = 32 };
/* macho_commands.c. Leaves `r` behind the header, in its byte order; false when it is none or cut
 * short (then `r` has failed, and what could be read of it is there). */
bool macho_read_header(struct reader *r, struct macho_header *header);

/* The next load command as a reader that stands behind its size; false at the end or when the
 * command does not fit, in which case `r` has failed. */
bool macho_next_command(struct reader *r, uint32_t *command, struct reader *body);

struct macho_segment {
    char name[MACHO_NAME_SIZE + 1];
    uint64_t vaddr, memory_size, offset, file_size;
    uint32_t protection;
    uint32_t section_count; /* as many as the command has room for */
};
static inline bool macho_is_segment(uint32_t command)
{
    return command == LC_SEGMENT || command == LC_SEGMENT_64;
}
/* Leaves `r` at the first section. */
void macho_read_segment(struct reader *r, bool is_64, struct macho_segment *segment);

struct macho_section {
    char name[MACHO_NAME_SIZE + 1], segment[MACHO_NAME_SIZE + 1];
    uint64_t vaddr, size;
    uint32_t offset; /* of the file, modulo 2^32 */
    uint32_t relocs, reloc_count;
    uint32_t flags;
    uint32_t indirect;  /* of stubs: first entry in the table of indirect symbols */
    uint32_t stub_size; /* of stubs: bytes of one, else 0 */
};
void macho_read_section(struct reader *r, bool is_64, struct macho_section *section);

static inline bool macho_is_zero_filled(uint32_t flags)
{
    uint32_t type = flags & S_TYPE_MASK;
    return type == S_ZEROFILL || type == S_GB_ZEROFILL || type == S_THREAD_LOCAL_ZEROFILL;
}

static inline bool macho_is_code(uint32_t flags)
{
    return flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS);
}

/* Where the thread of LC_UNIXTHREAD begins: the program counter among the registers of its state;
 * 0 when unknown. */
uint64_t macho_thread_entry(struct reader *r, uint32_t cpu_type, bool is_64);

/* LC_SYMTAB: the part of its tables that is at hand. */
struct macho_symbol_table {
    struct span entries, strings; /* strings ends with a NUL or is empty */
    size_t count;                 /* whole entries */
    bool is_64, swap;
};

struct macho_symbol { /* as stored */
    uint64_t value;
    const char *name; /* never NULL */
    uint8_t type, section;
    uint16_t desc;
};
/* macho_tables.c; false when there is no symbol `i`. */
bool macho_table_symbol(const struct macho_symbol_table *table, size_t i,
                        struct macho_symbol *symbol);

/* Without the one underscore that compilers put before every name of C. */
static inline const char *macho_source_name(const char *name)
{
    return name[0] == '_' ? name + 1 : name;
}

/* What symbols need to know of the section that they stand in. */
struct macho_home {
    bool code;  /* of instructions */
    bool stubs; /* of stubs that have symbols of their own */
};
static inline bool macho_names_stubs(const char *section_name, uint32_t stub_size)
{
    return strcmp(section_name, "__objc_stubs") == 0 || stub_size;
}
/* Whether code of such a section only leads on to other code. */
bool macho_holds_stubs(const char *section_name, uint32_t type);
/* Whether a symbol stands in a section and means something to people: no stab, no undefined one, no
 * label of a compiler, no name that was taken away (redacted, see below). */
bool macho_symbol_counts(const struct macho_symbol *stored);
/* The name that Apple gives to local symbols of the shared cache: somebody's start, nobody's name.
 */
bool macho_symbol_redacted(const struct macho_symbol *stored);
/* One that counts, in the view of both formats. */
struct object_symbol macho_symbol_view(const struct macho_symbol *stored,
                                       const struct macho_home *home, uint32_t cpu_type);

struct macho_stub_area { /* a section of stubs */
    uint64_t vaddr, size;
    uint32_t indirect, stub_size;
};
/* The stubs of one section: as many as fit, each with an entry in the table of indirect symbols;
 * entries that are no number of a symbol (local or absolute ones) exceed the table. All sections
 * together have no more stubs than that table has entries: `left` counts down. */
typedef void macho_stub_call(void *context, uint64_t lo, uint64_t hi, uint64_t limit,
                             const char *name);
void macho_each_stub(const struct macho_symbol_table *table, struct span indirect,
                     const struct macho_stub_area *area, size_t *left, macho_stub_call *each,
                     void *context);

/* LC_FUNCTION_STARTS: ULEB128 distances, the first from the address of the header, ended by a zero.
 * On Arm, the lowest bit, which says Thumb, is removed. */
void macho_each_start(struct span list, uint64_t header, uint32_t cpu_type,
                      bool (*each)(void *context, uint64_t vaddr), void *context);

#endif
