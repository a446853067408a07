/*
 * What the files of this folder share about an opened ELF object. Nobody else includes this.
 *
 * Invariant: every span in here lies inside bytes that the object owns or borrows for its whole
 * life, whatever the headers of the file claim: offsets and sizes were cut to what is there when
 * the span was made. The numbers beside them (vaddr, size, offset) are the file's claims.
 *
 * Formats: System V gABI chapters 4 and 5, the processor supplements of x86-64, i386, AArch64 and
 * Arm, and the Linux Extensions (GNU hash, build id).
 */
#ifndef OBJECT_ELF_INTERNAL_H
#define OBJECT_ELF_INTERNAL_H

#include "object/object.h"

#include <elf.h>
#include <sys/types.h>

struct elf_segment { /* one program header of any type */
    uint32_t type, flags;
    uint64_t offset, vaddr, file_size, memory_size, align;
    struct span bytes; /* the part of file_size that is at hand */
};

struct elf_load_place {
    uint64_t vaddr;
    uint32_t load;
};

struct elf_section {
    struct object_section view;
    uint32_t link, info;
    uint64_t entry_size, alignment;
    bool inside;       /* its bytes lie inside the file; always false for SHT_NOBITS */
    uint8_t *inflated; /* owned; NULL until a compressed section is asked for */
    size_t inflated_size;
};

/* The entries of PT_DYNAMIC that matter here. Addresses are link-time, 0 when absent. */
struct elf_dynamic {
    uint64_t symtab, strtab, strtab_size, symbol_size, hash, gnu_hash, pltgot;
    bool pie, soname;
};

enum object_bytes { OBJECT_BYTES_BORROWED = 0, OBJECT_BYTES_MAPPED, OBJECT_BYTES_ALLOCATED };

struct object {
    char *label;
    struct span file;        /* the whole file, or the packed segments of an image */
    enum object_bytes owned; /* how to give `file` back */
    bool has_inode;          /* device and inode are known: it came from a file */
    dev_t device;
    ino_t inode;

    bool is_64, big_endian, swap;
    bool is_image;  /* read out of memory: no sections, pointers in PT_DYNAMIC may be relocated */
    bool is_debug;  /* a separate debug file: code sections are SHT_NOBITS, segments hold nothing */
    bool truncated; /* something that the headers describe lies beyond the end */
    uint16_t e_type; /* ET_* */
    uint16_t machine;
    uint64_t entry;
    uint64_t bias; /* of an image: runtime - link-time */

    struct elf_segment *segments; /* all program headers */
    size_t segment_count;
    struct object_segment *loads;  /* those of type PT_LOAD whose address range makes sense */
    uint32_t *load_index;          /* loads[i] is segments[load_index[i]] */
    struct elf_load_place *places; /* the same, ascending by address */
    size_t load_count;
    struct elf_section *sections; /* [0] is the null section */
    size_t section_count;
    struct elf_dynamic dynamic;
    struct span build_id;

    struct elf_debug *debug; /* debug_sections_elf.h; owned, NULL until first used */

    struct object *minidebug; /* owned */
    bool minidebug_tried;
    bool no_memory;                      /* what is missing may be there: see object_lacks_memory */
    struct fw_failure minidebug_failure; /* code FW_OK when there simply is none */
};

/* The file header's numbers, with the extensions of section 0 not yet applied. */
struct elf_header {
    uint64_t phoff, shoff;
    uint32_t phnum, shnum, shstrndx;
    uint16_t phentsize, shentsize;
};

/* object.c: fills *why (when not NULL) and returns `code`. The message begins with the label. */
__attribute__((format(printf, 6, 7))) fw_error object_fail(struct fw_failure *why, fw_error code,
                                                           int os_error, uint64_t place,
                                                           const char *label, const char *format,
                                                           ...);
/* object.c: an empty object with its label; NULL when out of memory. */
struct object *object_new(const char *label);

/* A reader over `bytes` in the object's byte order. */
static inline struct reader elf_reader(const struct object *object, struct span bytes)
{
    struct reader r = reader_over(bytes.data ? bytes.data : (const uint8_t *)"", bytes.size);
    r.swap = object->swap;
    return r;
}

/* An address or offset of the object's class. */
static inline uint64_t elf_word(const struct object *object, struct reader *r)
{
    return object->is_64 ? reader_u64(r) : reader_u32(r);
}

/* The part of `whole` that [offset, offset + size) covers: less than asked for, down to nothing,
 * when `whole` ends before. */
static inline struct span span_cut(struct span whole, uint64_t offset, uint64_t size)
{
    if (offset >= whole.size)
        return (struct span){NULL, 0};
    uint64_t left = whole.size - offset;
    return (struct span){whole.data + offset, (size_t)(size < left ? size : left)};
}

/* A string table cut behind its last NUL: every offset inside then begins a terminated string. */
static inline struct span span_strings(struct span strings)
{
    while (strings.size && strings.data[strings.size - 1] != 0)
        strings.size--;
    return strings;
}

/* elf.c */
fw_error elf_parse_header(struct object *object, struct span bytes, struct elf_header *header,
                          struct fw_failure *why);
/* Program headers out of `table`; their `bytes` stay empty. */
fw_error elf_parse_segments(struct object *object, const struct elf_header *header,
                            struct span table, struct fw_failure *why);
/* Derives object->loads from the segments. */
fw_error elf_collect_loads(struct object *object, struct fw_failure *why);
fw_error elf_open_file(struct object *object, struct fw_failure *why);
const struct elf_segment *elf_segment_of_type(const struct object *object, uint32_t type);
/* The PT_LOAD around a link-time address; -1 when none. */
ptrdiff_t elf_load_at(const struct object *object, uint64_t vaddr);
/* Bytes from a link-time address to the end of what its segment has; empty when there are none. */
struct span elf_at(const struct object *object, uint64_t vaddr);

/* elf_dynamic.c */
void elf_read_dynamic(struct object *object);

/* elf_notes.c: finds object->build_id. */
void elf_find_build_id(struct object *object);

/* elf_layout.c: gives the sections of a relocatable file addresses of their own. */
void elf_layout(struct object *object);

/* debug_sections_elf.c, code_places_elf.c: debug_sections.h for ELF. */
struct elf_debug;
struct object_inflation;
struct object_range;
struct elf_debug *elf_debug_of(struct object *object); /* NULL when memory ran out */
void elf_debug_free(struct elf_debug *debug);
fw_error elf_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                           struct fw_failure *why);
size_t elf_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                      struct object_inflation *list, size_t room);
void elf_inflations_take(struct object *object, struct object_inflation *list, size_t count);
/* .eh_frame with its relocations applied. */
fw_error elf_eh_frame(struct object *object, struct unwind_section *section);
fw_error elf_code_ranges(struct object *object, const struct object_range **ranges, size_t *count);
void elf_function_starts(struct object *object, bool (*each)(void *context, uint64_t vaddr),
                         void *context);
bool elf_debugaltlink(struct object *object, const char **path, struct span *build_id);
struct span elf_supplementary_id(struct object *object);

/* sections.c */
/* What a section holds and how to unpack it. */
struct elf_packed {
    object_inflate codec; /* NULL: it is not compressed */
    uint64_t size;        /* inflated */
    struct span data;
};
/* FW_ERR_CORRUPT when its header is none or claims what cannot be; FW_ERR_UNSUPPORTED. */
fw_error elf_section_packed(const struct object *object, const struct elf_section *section,
                            struct elf_packed *packed, struct fw_failure *why);
struct elf_section *elf_section_named(const struct object *object, const char *name);
/* The stored bytes of a section; empty for SHT_NOBITS and when they lie beyond the end. */
struct span elf_section_bytes(const struct object *object, const struct elf_section *section);
/* Inflated when compressed. */
fw_error elf_section_contents(struct object *object, struct elf_section *section, struct span *data,
                              struct fw_failure *why);
const struct object_codecs *object_codecs(void); /* never NULL; its members may be */

/* elf_symbols.c: one symbol table with its strings. */
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
