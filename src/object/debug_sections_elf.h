/*
 * What the ELF side of debug_sections.h keeps for an object, and what it shares with its
 * relocations. Nobody outside of src/object includes this.
 */
#ifndef OBJECT_DEBUG_SECTIONS_ELF_H
#define OBJECT_DEBUG_SECTIONS_ELF_H

#include "object/debug_sections.h"
#include "object/elf_internal.h"

/* All sections of one canonical name ("info", "info.dwo", ".eh_frame"), in file order. */
struct elf_debug_group {
    const char *name;    /* in the object's string table */
    size_t first, count; /* in elf_debug.parts */
    bool loaded;
    fw_error error; /* of loading it */
    struct span data;
    uint8_t *owned;        /* `data`, where it is a copy of ours */
    struct fw_failure why; /* code FW_OK, or what is wrong; also when `error` is FW_OK */
};

struct elf_debug_part {
    const char *name; /* canonical */
    uint32_t section;
    uint64_t size; /* inflated, as claimed */
};

struct elf_debug {
    struct elf_debug_part *parts; /* by name, then in file order */
    size_t part_count;
    struct elf_debug_group *groups; /* by name */
    size_t group_count;

    /* Relocatable files only, one entry a section header: */
    uint64_t *addresses;   /* where a section lies: elf_layout's address or, for a part of a debug
                              section, its offset in the group */
    uint32_t *first_table; /* index of its first relocation section; 0: none */
    uint32_t *next_table;  /* of a relocation section: the next one for the same section */
    uint64_t budget;       /* bytes of relocations that may still be read: a sane file's tables do
                              not overlap, so together they are no larger than the file */
    uint64_t *symbols;     /* values; NULL until the first relocation */
    size_t symbol_count;
};

/* A section's bytes to be relocated in place. */
struct elf_piece {
    uint32_t section;
    uint64_t address; /* of data[0] */
    uint8_t *data;
    uint64_t size;
};

/* relocate_elf.c: FW_ERR_MEMORY or FW_OK; *why then names the first relocation that could not be
 * applied (its code is left alone when all could). */
fw_error elf_relocate(struct object *object, const struct elf_piece *piece, struct fw_failure *why);

#endif
