/* What the files of this folder share about an opened Mach-O file. Nobody else includes this. */
#ifndef OBJECT_MACHO_INTERNAL_H
#define OBJECT_MACHO_INTERNAL_H

#include "object/macho_format.h"
#include "object/object_internal.h"

struct macho_file {
    uint32_t file_type, cpu_type, cpu_subtype;
    struct macho_symbol_table table; /* LC_SYMTAB */
    struct span indirect;            /* LC_DYSYMTAB: numbers of symbols, 4 bytes each */
    struct span function_starts;     /* LC_FUNCTION_STARTS */
    const char *install_name;        /* LC_ID_DYLIB; NULL when none */
    bool called_by_dyld;             /* the entry is LC_MAIN's, a function like any other */
    char *names;                     /* owned: the sections' */
};

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
