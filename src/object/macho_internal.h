/*
 * What the Mach-O files of this folder share. Nobody else includes this.
 *
 * Formats: <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/stab.h>, <mach-o/reloc.h> and the headers
 * of the architectures beside it, <mach/machine.h>. Numbers only; the names are Apple's.
 */
#ifndef OBJECT_MACHO_INTERNAL_H
#define OBJECT_MACHO_INTERNAL_H

#include "object/object_internal.h"

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

struct macho_file {
    uint32_t file_type, cpu_type, cpu_subtype;
    struct span symbols; /* LC_SYMTAB: the part of the table that is at hand */
    size_t symbol_count;
    struct span strings;         /* ends with a NUL */
    struct span indirect;        /* LC_DYSYMTAB: numbers of symbols, 4 bytes each */
    struct span function_starts; /* LC_FUNCTION_STARTS */
    bool entry_is_called;        /* the entry is LC_MAIN's: a function that the loader calls */
    const char *install_name;    /* LC_ID_DYLIB; NULL when none */
    char *names;                 /* owned: the sections' */
};

struct macho_symbol { /* as stored */
    uint64_t value;
    const char *name; /* never NULL */
    uint8_t type, section;
    uint16_t desc;
};
bool macho_symbol_read(const struct object *object, size_t i, struct macho_symbol *symbol);
/* Without the one underscore that compilers put before every name of C. */
static inline const char *macho_source_name(const char *name)
{
    return name[0] == '_' ? name + 1 : name;
}

/* macho.c: LC_UUID of a file that is not opened; size 0 when there is none. */
struct span macho_uuid(struct span file);
/* macho_arch.c: never NULL. */
const char *macho_arch_name(uint32_t cpu_type, uint32_t cpu_subtype);
/* The table of the unwinder for a CPU type; NULL when Framewalk does not unwind it. */
const struct arch *macho_arch(uint32_t cpu_type);
/* Both are names of Mach-O architectures of one CPU type. */
bool macho_arch_family(const char *a, const char *b);
/* e_machine of the same architecture, or EM_NONE. */
uint16_t macho_elf_machine(uint32_t cpu_type);

/* macho_symbols.c: see struct object_format. */
fw_error macho_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context);
bool macho_stubs(struct object *object, object_stub_call each, void *context);
bool macho_starts(const struct object *object, object_start_call each, void *context);

/* macho_unwind_image.c: the same. */
void macho_unwind_image(struct object *object, struct object *debug, struct unwind_image *image);

/* macho_debug.c: the same. */
fw_error macho_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                             struct fw_failure *why);
size_t macho_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                        struct object_inflation *list, size_t room);
void macho_function_starts(struct object *object, object_start_call each, void *context);

#endif
