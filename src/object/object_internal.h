/*
 * What the files of this folder share about an opened object of either format. Nobody else includes
 * this.
 *
 * Invariant: every span in here lies inside bytes that the object owns or borrows for its whole
 * life, whatever the headers of the file claim: offsets and sizes were cut to what is there when
 * the span was made. The numbers beside them (vaddr, size, offset) are the file's claims.
 *
 * What the formats have in common (loaded segments, sections, identity) stands in struct object and
 * is filled in by the format when it opens; the rest is in struct elf_file or struct macho_file.
 * Whatever the formats do differently goes through struct object_format: nobody asks which one it
 * is.
 */
#ifndef OBJECT_OBJECT_INTERNAL_H
#define OBJECT_OBJECT_INTERNAL_H

#include "object/object.h"

#include <sys/types.h>

struct load_place {
    uint64_t vaddr;
    uint32_t load;
};

struct section {
    struct object_section view;
    bool empty;        /* it has no bytes in the file by design: zero-filled, or of a debug file */
    bool inside;       /* its bytes lie inside the file; never of an empty one */
    bool compressed;   /* begins with a compression header of ELF */
    uint8_t *inflated; /* owned; NULL until a compressed section is asked for */
    size_t inflated_size;
    union { /* what only its format knows */
        struct {
            uint32_t link, info;
            uint64_t entry_size, alignment;
        } elf;
        struct {
            bool dwarf;      /* of the segment __DWARF */
            uint32_t relocs; /* file offset of the relocations */
            uint32_t reloc_count;
            uint32_t indirect;  /* of stubs: first entry in the table of indirect symbols */
            uint32_t stub_size; /* of stubs: bytes of one, else 0 */
            uint8_t *relocated; /* owned; NULL until a section with relocations is asked for */
            uint64_t misfit;    /* file offset of the first one that could not be applied, or 0 */
        } macho;
    };
};

enum object_bytes { OBJECT_BYTES_BORROWED = 0, OBJECT_BYTES_MAPPED, OBJECT_BYTES_ALLOCATED };

struct object_inflation;
struct object_range;

typedef bool (*object_symbol_call)(void *context, const struct object_symbol *symbol);
typedef void (*object_stub_call)(void *context, uint64_t lo, uint64_t hi, uint64_t limit,
                                 const char *name);
typedef bool (*object_start_call)(void *context, uint64_t vaddr);

/* What the formats do differently, beside opening. */
struct object_format {
    bool versioned_names; /* symbols may be called name@VERSION */
    void (*close)(struct object *object);
    fw_error (*symbols)(struct object *object, bool dynamic, object_symbol_call each,
                        void *context);
    /* Calls `each` with the link-time range [lo, hi) of every stub whose target is known by name,
     * and the end of the section around it. The names live as long as the object. False when out
     * of memory. */
    bool (*stubs)(struct object *object, object_stub_call each, void *context);
    /* Function starts that the file lists by itself; false when it has no such list. */
    bool (*starts)(const struct object *object, object_start_call each, void *context);
    void (*unwind_image)(struct object *object, struct object *debug, struct unwind_image *image);
    const struct arch *(*arch)(const struct object *object);
    const char *(*arch_name)(const struct object *object);
    /* debug_sections.h */
    fw_error (*debug_section)(struct object *object, const char *name, bool dwo, struct span *data,
                              struct fw_failure *why);
    size_t (*inflations)(struct object *object, const char *const *names, size_t count, bool dwo,
                         struct object_inflation *list, size_t room);
    void (*function_starts)(struct object *object, object_start_call each, void *context);
};
extern const struct object_format elf_format, macho_format;

struct object {
    const struct object_format *format;
    char *label;
    struct span file;        /* what the headers' offsets count in: the whole file, a slice of a
                                fat file, a member of an archive, the packed segments of an image */
    struct span whole;       /* the bytes around `file` that are given back */
    enum object_bytes owned; /* how */
    bool has_inode;          /* device and inode are known: it came from a file */
    dev_t device;
    ino_t inode;
    uint64_t modified; /* seconds since 1970, of the file or the archive's member; 0 unknown */

    bool is_64, big_endian, swap;
    bool is_debug;  /* a separate debug file: code sections and segments hold nothing */
    bool unplaced;  /* addresses are offsets in sections (ET_REL) or of a process (core) */
    bool truncated; /* something that the headers describe lies beyond the end */
    bool no_memory; /* what is missing may be there: see object_lacks_memory */
    enum object_type type;
    uint16_t machine; /* EM_* */
    uint64_t entry, base;

    struct object_segment *loads; /* what is mapped, where the address range makes sense */
    struct span *load_bytes;      /* the part of each that is at hand */
    struct load_place *places;    /* the same, ascending by address */
    size_t load_count;
    struct section *sections; /* [0] is a null section */
    size_t section_count;
    struct span build_id;

    struct elf_file *elf;     /* owned; NULL in a Mach-O object */
    struct macho_file *macho; /* owned; NULL in an ELF object */

    struct object *minidebug; /* owned */
    bool minidebug_tried;
    struct fw_failure minidebug_failure; /* code FW_OK when there simply is none */

    struct object_range *code; /* code_ranges.c; owned, NULL until asked for */
    size_t code_count;
};

/* object.c: fills *why (when not NULL) and returns `code`. The message begins with the label. */
__attribute__((format(printf, 6, 7))) fw_error object_fail(struct fw_failure *why, fw_error code,
                                                           int os_error, uint64_t place,
                                                           const char *label, const char *format,
                                                           ...);
/* The same for a failed system call: its errno `number` chooses the code. */
fw_error object_fail_system(struct fw_failure *why, const char *label, const char *what,
                            int number);
/* object.c: an empty object with its label; NULL when out of memory. */
struct object *object_new(const char *label);
/* object.c: an object without contents over a whole file, whatever that holds. */
fw_error object_map_path(const char *path, struct object **object, struct fw_failure *why);
/* Reads the headers of object->file; closes the object when that fails. */
fw_error object_finish_open(struct object *built, struct object **object, struct fw_failure *why);
/* The same for what may have been narrowed to a slice, which has to be the one that was chosen. */
fw_error object_finish_choice(struct object *built, const struct object_choice *choice,
                              struct object **object, struct fw_failure *why);
/* Room for so many loads. */
bool object_reserve_loads(struct object *object, size_t count);
/* Takes a load, whose bytes are cut to its size in memory. */
void object_add_load(struct object *object, const struct object_segment *load, struct span bytes);
/* To be called when all loads are there: makes them searchable. */
void object_sort_loads(struct object *object);
/* The load around a link-time address; -1 when none. */
ptrdiff_t object_load_at(const struct object *object, uint64_t vaddr);
/* lo and hi span all executable segments; `text` is the one with the most bytes. */
void object_find_code(const struct object *object, struct unwind_image *image);

static inline bool host_is_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* A reader over `bytes` in the object's byte order. */
static inline struct reader object_reader(const struct object *object, struct span bytes)
{
    struct reader r = reader_over(bytes.data ? bytes.data : (const uint8_t *)"", bytes.size);
    r.swap = object->swap;
    return r;
}

/* An address or offset of the object's class. */
static inline uint64_t object_word(const struct object *object, struct reader *r)
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

/* elf.c and macho.c: whether the bytes are such a file, and opening them. */
bool elf_is(struct span bytes);
fw_error elf_open_file(struct object *object, struct fw_failure *why);
bool macho_is(struct span bytes);
fw_error macho_open_file(struct object *object, struct fw_failure *why);

/* sections.c */
/* What a section holds and how to unpack it. */
struct section_packed {
    object_inflate codec; /* NULL: it is not compressed */
    uint64_t size;        /* inflated */
    struct span data;
};
/* FW_ERR_CORRUPT when its header is none or claims what cannot be; FW_ERR_UNSUPPORTED. */
fw_error object_section_packed(const struct object *object, const struct section *section,
                               struct section_packed *packed, struct fw_failure *why);
struct section *object_section_named(const struct object *object, const char *name);
/* The stored bytes of a section; empty when there are none or they lie beyond the end. */
struct span object_section_bytes(const struct object *object, const struct section *section);
/* Inflated when compressed. */
fw_error object_section_contents(struct object *object, struct section *section, struct span *data,
                                 struct fw_failure *why);
const struct object_codecs *object_codecs(void); /* never NULL; its members may be */

/* debug_sections.c: fills *entry in when the section is compressed and not yet unpacked. */
bool object_inflation_of(const struct object *object, size_t section,
                         struct object_inflation *entry);

#endif
