/*
 * What the ELF files of this folder share. Nobody else includes this.
 *
 * Formats: System V gABI chapters 4 and 5, the processor supplements of x86-64, i386, AArch64 and
 * Arm, and the Linux Extensions (GNU hash, build id).
 */
#ifndef OBJECT_ELF_INTERNAL_H
#define OBJECT_ELF_INTERNAL_H

#include "object/object_internal.h"

#include <elf.h>

struct elf_segment { /* one program header of any type */
    uint32_t type, flags;
    uint64_t offset, vaddr, file_size, memory_size, align;
    struct span bytes; /* the part of file_size that is at hand */
};

/* The entries of PT_DYNAMIC that matter here. Addresses are link-time, 0 when absent. */
struct elf_dynamic {
    uint64_t symtab, strtab, strtab_size, symbol_size, hash, gnu_hash, pltgot;
    bool pie, soname;
};

struct elf_file {
    bool is_image; /* read out of memory: no sections, pointers in PT_DYNAMIC may be relocated */
    uint16_t type; /* ET_* */
    uint64_t bias; /* of an image: runtime - link-time */
    struct elf_segment *segments; /* all program headers */
    size_t segment_count;
    struct elf_dynamic dynamic;
    struct elf_debug *debug; /* debug_sections_elf.h; owned, NULL until first used */
};

/* The file header's numbers, with the extensions of section 0 not yet applied. */
struct elf_header {
    uint64_t phoff, shoff;
    uint32_t phnum, shnum, shstrndx;
    uint16_t phentsize, shentsize;
    uint32_t flags;
};

/* elf.c: makes `object` an ELF object without contents. False when out of memory. */
bool elf_begin(struct object *object);
fw_error elf_parse_header(struct object *object, struct span bytes, struct elf_header *header,
                          struct fw_failure *why);
/* Program headers out of `table`; their `bytes` stay empty. */
fw_error elf_parse_segments(struct object *object, const struct elf_header *header,
                            struct span table, struct fw_failure *why);
/* The loads are the segments of type PT_LOAD. */
fw_error elf_collect_loads(struct object *object, struct fw_failure *why);
/* What is known only when segments and sections have their bytes. */
void elf_finish(struct object *object);
const struct elf_segment *elf_segment_of_type(const struct object *object, uint32_t type);

/* elf_dynamic.c */
void elf_read_dynamic(struct object *object);

/* elf_notes.c: finds object->build_id. */
void elf_find_build_id(struct object *object);

/* elf_layout.c: gives the sections of a relocatable file addresses of their own. */
void elf_layout(struct object *object);

/* debug_sections_elf.c, code_places_elf.c: debug_sections.h for ELF. */
struct elf_debug *elf_debug_of(struct object *object); /* NULL when memory ran out */
void elf_debug_free(struct elf_debug *debug);
fw_error elf_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                           struct fw_failure *why);
size_t elf_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                      struct object_inflation *list, size_t room);
/* .eh_frame with its relocations applied. */
fw_error elf_eh_frame(struct object *object, struct unwind_section *section);
void elf_function_starts(struct object *object, object_start_call each, void *context);

/* elf_unwind_image.c */
void elf_unwind_image(struct object *object, struct object *debug, struct unwind_image *image);

/* elf_plt.c */
bool elf_plt_stubs(struct object *object, object_stub_call each, void *context);

/* elf_symbols.c */
fw_error elf_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context);

/* elf_arch.c: by machine, class and byte order. */
const struct arch *elf_arch(const struct object *object);
const char *elf_arch_name(const struct object *object);

/* One symbol table with its strings. */
struct elf_symtab {
    struct span symbols, strings, extended; /* `extended`: SHT_SYMTAB_SHNDX, or empty */
    size_t count, entry_size;
};

struct elf_symbol { /* as stored */
    uint64_t value, size;
    const char *name; /* never NULL */
    uint8_t info;
    uint32_t section; /* SHN_XINDEX resolved */
    bool reserved;    /* `section` is one of SHN_ABS, SHN_COMMON ... and no header index */
};
fw_error elf_symtab_find(const struct object *object, bool dynamic, struct elf_symtab *table);
bool elf_symtab_read(const struct object *object, const struct elf_symtab *table, size_t i,
                     struct elf_symbol *symbol);

#endif
