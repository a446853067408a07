/*
 * Call frame information, the parts shared by cfi_entry.c (reading CIEs and FDEs), cfi_program.c
 * (running their instructions), cfi.c (searching) and cfi_index.c. Outside of these, use sources.h.
 *
 * Invariant: every reader here begins at the first byte of its section, so reader_offset() is a
 * section offset and a position has a link-time address.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "unwind/image.h"
#include "unwind/row.h"

/* Pointer encodings, LSB 4.1 Core section 10.5.1: format in the low four bits, what it is relative
 * to in the next three, indirection on top. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SIGNED = 0x08, /* a signed value of the size of an address */
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,

    PE_PCREL = 0x10,
    PE_TEXTREL = 0x20,
    PE_DATAREL = 0x30,
    PE_FUNCREL = 0x40, /* to the function: cannot say where the function itself starts */
    PE_ALIGNED = 0x50,
    PE_RELATIVE = 0x70,

    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

/* What encoded pointers can be relative to. 0: not known, such a pointer cannot be read. */
struct cfi_bases {
    uint64_t text, data;
};

/* One .eh_frame or .debug_frame. */
struct cfi_table {
    const struct arch *arch;
    const struct unwind_section *section;
    struct cfi_bases bases;
    bool debug_frame;
    bool swap;
    bool
        swapped_numbers; /* i386 of Apple: .eh_frame calls ebp 4 and esp 5, the rest of DWARF not */
};

/* A common information entry. */
struct cfi_cie {
    uint64_t offset; /* of its length field in the section */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    uint8_t fde_encoding;
    uint8_t address_size; /* 4 or 8 */
    uint8_t segment_size;
    bool augmented; /* FDEs carry augmentation data, its length first */
    bool signal_frame;
    struct reader program; /* initial instructions */
};

/* A frame description entry: a function, or a part of one. */
struct cfi_fde {
    struct cfi_cie cie;
    uint64_t lo, hi; /* link-time range [lo, hi); equal for one that describes nothing */
    struct reader program;
};

enum cfi_entry_kind { CFI_ENTRY_FDE, CFI_ENTRY_CIE, CFI_ENTRY_BROKEN, CFI_ENTRY_END };

struct cfi_table cfi_table_of(const struct unwind_image *image, bool debug_frame);

/* Reads a pointer. `address_size` is that of PE_ABSPTR. False: cannot be read, or is indirect. */
bool cfi_pointer(const struct cfi_table *table, struct reader *r, uint8_t encoding,
                 unsigned address_size, uint64_t *value);

/* Reads the entry at *offset and moves *offset behind it. `fde->cie` must come from an earlier call
 * for the same table, or be zero: entries of one CIE often stand together, so it is kept. BROKEN:
 * the entry cannot be used, but the next can be looked at. */
enum cfi_entry_kind cfi_entry_next(const struct cfi_table *table, uint64_t *offset,
                                   struct cfi_fde *fde);

/* Whether the range can be a function's: dead functions that a linker left behind are not. */
bool cfi_fde_alive(const struct cfi_table *table, const struct cfi_fde *fde);

/* Runs the programs of CIE and FDE up to the row in force at `vaddr`, which the FDE covers. */
enum unwind_status cfi_row_at(const struct cfi_table *table, const struct cfi_fde *fde,
                              uint64_t vaddr, struct unwind_row *row);

/* Finds the FDE that covers `vaddr`. */
bool cfi_index_find(const struct cfi_index *index, const struct cfi_table *table, uint64_t vaddr,
                    struct cfi_fde *fde);

/* Addresses of that many bytes. */
static inline uint64_t cfi_address_mask(unsigned size)
{
    return size >= 8 ? UINT64_MAX : ((uint64_t)1 << size * 8) - 1;
}

static inline bool cfi_fde_covers(const struct cfi_fde *fde, uint64_t vaddr)
{
    return vaddr >= fde->lo && vaddr < fde->hi;
}

#endif
