/*
 * Reading CIEs and FDEs of .eh_frame (LSB 4.1 Core section 10.6.1) and .debug_frame (DWARF 5
 * section 6.4.1).
 *
 * Invariant: an entry is read inside the bytes that its own length allows, which lie inside the
 * section. Nothing here allocates or calls anything: async-signal-safe.
 */
#include "unwind/cfi.h"

struct cfi_table cfi_table_of(const struct unwind_image *image, bool debug_frame)
{
    return (struct cfi_table){
        .arch = image->arch,
        .section = debug_frame ? &image->debug_frame : &image->eh_frame,
        .bases = {.text = image->text_vaddr, .data = image->got_vaddr},
        .debug_frame = debug_frame,
        .swap = image->big_endian,
        .swapped_numbers = image->macho && !debug_frame && image->arch->id == ARCH_I386,
    };
}

static uint64_t read_format(struct reader *r, uint8_t encoding, unsigned address_size)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR: return reader_uint(r, address_size);
    case PE_SIGNED: {
        uint64_t value = reader_uint(r, address_size);
        return address_size == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
    }
    case PE_ULEB128: return reader_uleb(r);
    case PE_SLEB128: return (uint64_t)reader_sleb(r);
    case PE_UDATA2: return reader_u16(r);
    case PE_SDATA2: return (uint64_t)(int64_t)(int16_t)reader_u16(r);
    case PE_UDATA4: return reader_u32(r);
    case PE_SDATA4: return (uint64_t)(int64_t)(int32_t)reader_u32(r);
    case PE_UDATA8:
    case PE_SDATA8: return reader_u64(r);
    default: r->failed = true; return 0;
    }
}

/* Moves to the next address that is a multiple of `size`. */
static void align_to(const struct cfi_table *table, struct reader *r, unsigned size)
{
    uint64_t here = table->section->vaddr + reader_offset(r);
    reader_skip(r, (uint64_t)-here & (size - 1));
}

bool cfi_pointer(const struct cfi_table *table, struct reader *r, uint8_t encoding,
                 unsigned address_size, uint64_t *value)
{
    uint64_t base = 0;
    bool known = true;
    switch (encoding & PE_RELATIVE) {
    case PE_ABSPTR: break;
    case PE_PCREL: base = table->section->vaddr + reader_offset(r); break;
    case PE_TEXTREL: known = (base = table->bases.text) != 0; break;
    case PE_DATAREL: known = (base = table->bases.data) != 0; break;
    case PE_ALIGNED: align_to(table, r, address_size); break;
    default: known = false; break;
    }
    if (!known || encoding & PE_INDIRECT || encoding == PE_OMIT) {
        r->failed = true;
        return false;
    }
    *value = (base + read_format(r, encoding, address_size)) & cfi_address_mask(address_size);
    return !r->failed;
}

/* A pointer whose value is of no interest, so its base and indirection are not either. */
static void skip_pointer(const struct cfi_table *table, struct reader *r, uint8_t encoding,
                         unsigned address_size)
{
    if (encoding == PE_OMIT)
        return;
    if ((encoding & PE_RELATIVE) == PE_ALIGNED)
        align_to(table, r, address_size);
    read_format(r, encoding, address_size);
}

/* The augmentation: what the string announces and the data that follow it. A letter that is not
 * known makes the CIE unusable, as it may change the meaning of all that follows. */
static void read_augmentation(const struct cfi_table *table, struct cfi_cie *cie, const char *text,
                              struct reader *r)
{
    struct reader data = *r;
    if (*text == 'z') {
        text++;
        cie->augmented = true;
        uint64_t size = reader_uleb(r);
        data = *r;
        reader_skip(r, size);
        data.end = r->pos;
        data.failed = r->failed;
    } else {
        data.end = data.pos;
    }
    for (; *text; text++) {
        switch (*text) {
        case 'L': reader_u8(&data); break;
        case 'P': skip_pointer(table, &data, reader_u8(&data), cie->address_size); break;
        case 'R': cie->fde_encoding = reader_u8(&data); break;
        case 'S': cie->signal_frame = true; break;
        case 'B': break; /* aarch64: return addresses are signed with the B key */
        case 'G': break; /* aarch64: the frame is tagged (MTE) */
        default: data.failed = true; break;
        }
    }
    r->failed |= data.failed;
}

/* The CIE behind its id; `r` ends where the entry does. */
static bool read_cie(const struct cfi_table *table, uint64_t offset, struct reader *r,
                     struct cfi_cie *cie)
{
    unsigned version = reader_u8(r);
    if (version != 1 && version != 3 && version != 4 && version != 5)
        return false;
    const char *augmentation = reader_string(r);
    if (!augmentation)
        return false;
    cie->offset = offset;
    cie->fde_encoding = PE_ABSPTR;
    cie->address_size = table->arch->pointer_size;
    cie->segment_size = 0;
    cie->augmented = cie->signal_frame = false;
    if (version >= 4) {
        cie->address_size = reader_u8(r);
        cie->segment_size = reader_u8(r);
        if ((cie->address_size != 4 && cie->address_size != 8) || cie->segment_size > 8)
            return false;
    }
    if (augmentation[0] == 'e' && augmentation[1] == 'h') { /* GCC 2: a pointer follows */
        reader_skip(r, cie->address_size);
        augmentation += 2;
    }
    cie->code_align = reader_uleb(r);
    cie->data_align = reader_sleb(r);
    cie->return_column = version == 1 ? reader_u8(r) : reader_uleb(r);
    if (*augmentation)
        read_augmentation(table, cie, augmentation, r);
    cie->program = *r;
    return !r->failed;
}

/* What every entry begins with. */
struct entry_head {
    struct reader body; /* behind the id */
    uint64_t id_offset;
    uint64_t id;
    bool is_cie;
};

/* False when there is no entry: the end, or a length that the section cannot hold. */
static bool read_head(const struct cfi_table *table, struct reader *r, struct entry_head *head)
{
    bool wide = false;
    uint64_t length = reader_u32(r);
    if (length == 0xffffffff) {
        wide = true;
        length = reader_u64(r);
    } else if (length >= 0xfffffff0) {
        return false;
    }
    if (r->failed || length > reader_left(r))
        return false;
    head->body = *r;
    head->body.end = r->pos + length;
    r->pos += length;
    head->id_offset = reader_offset(&head->body);
    /* The id of .eh_frame stays 4 bytes wide also after an extended length. */
    if (wide && table->debug_frame) {
        head->id = reader_u64(&head->body);
        head->is_cie = head->id == UINT64_MAX;
    } else {
        head->id = reader_u32(&head->body);
        head->is_cie = table->debug_frame ? head->id == UINT32_MAX : head->id == 0;
    }
    return true;
}

static struct reader table_reader(const struct cfi_table *table, uint64_t offset)
{
    struct reader r = reader_at(table->section->data, table->section->size, offset);
    r.swap = table->swap;
    return r;
}

/* The CIE that an FDE belongs to; kept when it is the one that `cie` holds. */
static bool find_cie(const struct cfi_table *table, const struct entry_head *fde_head,
                     struct cfi_cie *cie)
{
    if (!table->debug_frame && fde_head->id > fde_head->id_offset)
        return false;
    uint64_t offset = table->debug_frame ? fde_head->id : fde_head->id_offset - fde_head->id;
    if (cie->program.begin && cie->offset == offset)
        return true;
    struct reader r = table_reader(table, offset);
    struct entry_head head;
    if (read_head(table, &r, &head) && head.is_cie && !head.body.failed &&
        read_cie(table, offset, &head.body, cie))
        return true;
    cie->program.begin = NULL;
    return false;
}

/* The range and the start of the program. */
static bool read_fde(const struct cfi_table *table, struct reader *r, struct cfi_fde *fde)
{
    const struct cfi_cie *cie = &fde->cie;
    uint64_t size;
    reader_skip(r, cie->segment_size);
    if (!cfi_pointer(table, r, cie->fde_encoding, cie->address_size, &fde->lo))
        return false;
    size = read_format(r, cie->fde_encoding, cie->address_size);
    if (cie->augmented)
        reader_skip(r, reader_uleb(r));
    if (table->arch->id == ARCH_ARM)
        fde->lo &= ~(uint64_t)1; /* Thumb */
    if (r->failed || size > INT32_MAX || __builtin_add_overflow(fde->lo, size, &fde->hi))
        return false; /* no function has 2 GB */
    fde->program = *r;
    return true;
}

enum cfi_entry_kind cfi_entry_next(const struct cfi_table *table, uint64_t *offset,
                                   struct cfi_fde *fde)
{
    struct reader r = table_reader(table, *offset);
    struct entry_head head;
    if (r.failed || reader_left(&r) == 0 || !read_head(table, &r, &head))
        return CFI_ENTRY_END;
    *offset = reader_offset(&r);
    if (head.body.end == head.body.begin + head.id_offset) /* no length: a terminator, or padding */
        return table->debug_frame ? CFI_ENTRY_BROKEN : CFI_ENTRY_END;
    if (head.body.failed)
        return CFI_ENTRY_BROKEN;
    if (head.is_cie)
        return CFI_ENTRY_CIE;
    if (!find_cie(table, &head, &fde->cie) || !read_fde(table, &head.body, fde))
        return CFI_ENTRY_BROKEN;
    return CFI_ENTRY_FDE;
}

bool cfi_fde_alive(const struct cfi_table *table, const struct cfi_fde *fde)
{
    if (!table->debug_frame)
        return fde->hi > fde->lo;
    /* Linkers set the start of what they discarded to 0, -1 or -2. */
    uint64_t last = cfi_address_mask(fde->cie.address_size);
    return fde->hi > fde->lo && fde->lo != 0 && fde->lo < last - 1;
}
