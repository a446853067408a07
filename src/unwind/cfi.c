/*
 * Finding the row for an address: the binary search table of .eh_frame_hdr (LSB 4.1 Core section
 * 10.6.2) first, the index that was built, and a linear scan as the last resort.
 *
 * Invariant: a header is a hint. What it leads to is only used when the FDE itself says that it
 * covers the address, and "nothing covers it" is only believed of a table that is in order.
 * Async-signal-safe; no allocation.
 */
#include "unwind/cfi.h"
#include "unwind/sources.h"

/* The search table: `count` pairs of (start of function, address of its FDE). */
struct header {
    const uint8_t *entries; /* inside the section, whole */
    uint64_t count;
    unsigned width;   /* bytes of one value: 2, 4 or 8 */
    uint8_t encoding; /* of fixed size */
    bool swap;
    uint64_t vaddr; /* of the header: the base of PE_DATAREL */
    uint64_t entries_vaddr;
    uint64_t text_base;
    uint64_t mask;
};

static unsigned fixed_width(uint8_t encoding, const struct arch *arch)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_SIGNED: return arch->pointer_size;
    case PE_UDATA2:
    case PE_SDATA2: return 2;
    case PE_UDATA4:
    case PE_SDATA4: return 4;
    case PE_UDATA8:
    case PE_SDATA8: return 8;
    default: return 0;
    }
}

static bool read_header(const struct unwind_image *image, struct header *h)
{
    const struct unwind_section *section = &image->eh_frame_hdr;
    if (!section->data)
        return false;
    struct cfi_table table = {.arch = image->arch,
                              .section = section,
                              .bases = {.text = image->text_vaddr, .data = section->vaddr}};
    unsigned address_size = image->arch->pointer_size;
    struct reader r = reader_over(section->data, section->size);
    r.swap = image->big_endian;
    uint8_t version = reader_u8(&r), frame_encoding = reader_u8(&r);
    uint8_t count_encoding = reader_u8(&r);
    h->encoding = reader_u8(&r);
    uint64_t eh_frame;
    if (version != 1 || count_encoding == PE_OMIT || h->encoding == PE_OMIT ||
        !cfi_pointer(&table, &r, frame_encoding, address_size, &eh_frame) ||
        !cfi_pointer(&table, &r, count_encoding, address_size, &h->count))
        return false;
    h->width = fixed_width(h->encoding, image->arch);
    if (h->width == 0 || h->encoding & PE_INDIRECT || (h->encoding & PE_RELATIVE) > PE_DATAREL ||
        h->count == 0 || h->count > reader_left(&r) / (2 * h->width))
        return false;
    h->entries = r.pos;
    h->swap = r.swap;
    h->vaddr = section->vaddr;
    h->entries_vaddr = section->vaddr + reader_offset(&r);
    h->text_base = image->text_vaddr;
    h->mask = cfi_address_mask(address_size);
    return true;
}

/* Value number i of the table (two for each entry), as it stands there. i is within bounds. */
static int64_t raw_value(const struct header *h, uint64_t i)
{
    struct reader r = reader_over(h->entries + i * h->width, h->width);
    r.swap = h->swap;
    uint64_t value = reader_uint(&r, h->width);
    if (!(h->encoding & PE_SIGNED) || h->width == 8)
        return (int64_t)value;
    return h->width == 4 ? (int32_t)value : (int16_t)value;
}

static uint64_t table_value(const struct header *h, uint64_t i)
{
    uint64_t base = 0;
    switch (h->encoding & PE_RELATIVE) {
    case PE_PCREL: base = h->entries_vaddr + i * h->width; break;
    case PE_TEXTREL: base = h->text_base; break;
    case PE_DATAREL: base = h->vaddr; break;
    default: break;
    }
    return (base + (uint64_t)raw_value(h, i)) & h->mask;
}

/* The encoding of every linker: 4-byte signed offsets from the header, in this byte order. */
static bool is_common(const struct header *h)
{
    return h->encoding == (PE_DATAREL | PE_SDATA4) && !h->swap;
}

static int32_t common_value(const struct header *h, uint64_t entry)
{
    int32_t value;
    memcpy(&value, h->entries + entry * 8, sizeof value);
    return value;
}

/* Last entry that starts at or before vaddr; count when there is none. */
static uint64_t search_common(const struct header *h, uint64_t vaddr)
{
    uint64_t distance = vaddr - h->vaddr;
    int64_t key = h->mask == UINT64_MAX ? (int64_t)distance : (int32_t)(uint32_t)distance;
    uint64_t base = 0;
    /* Halves [base, base + n) without a branch that could be mispredicted. */
    for (uint64_t n = h->count; n > 1;) {
        uint64_t half = n / 2;
        base = common_value(h, base + half) <= key ? base + half : base;
        n -= half;
    }
    return common_value(h, base) <= key ? base : h->count;
}

static uint64_t search_any(const struct header *h, uint64_t vaddr)
{
    uint64_t lo = 0, hi = h->count;
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (table_value(h, 2 * middle) <= vaddr)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo ? lo - 1 : h->count;
}

static bool in_order(const struct header *h)
{
    if (is_common(h)) {
        unsigned disorder = 0;
        for (uint64_t i = 1; i < h->count; i++)
            disorder |= common_value(h, i - 1) > common_value(h, i);
        return !disorder;
    }
    for (uint64_t i = 1; i < h->count; i++)
        if (table_value(h, 2 * (i - 1)) > table_value(h, 2 * i))
            return false;
    return true;
}

enum answer { FOUND, NOT_COVERED, NOT_TRUSTED };

/* Entries with the same start stand side by side when one of them is empty; this many are tried. */
enum { SAME_START_MAX = 8 };

static enum answer find_by_header(const struct unwind_image *image, const struct cfi_table *table,
                                  uint64_t vaddr, struct cfi_fde *fde)
{
    struct header h;
    if (!read_header(image, &h))
        return NOT_TRUSTED;
    uint64_t i = is_common(&h) ? search_common(&h, vaddr) : search_any(&h, vaddr);
    if (i == h.count)
        return in_order(&h) ? NOT_COVERED : NOT_TRUSTED;
    uint64_t start = table_value(&h, 2 * i);
    for (unsigned tries = 0; tries < SAME_START_MAX; tries++) {
        uint64_t offset = (table_value(&h, 2 * i + 1) - table->section->vaddr) & h.mask;
        if (cfi_entry_next(table, &offset, fde) != CFI_ENTRY_FDE)
            return NOT_TRUSTED;
        if (cfi_fde_covers(fde, vaddr))
            return FOUND;
        if (fde->lo != (table->arch->id == ARCH_ARM ? start & ~(uint64_t)1 : start))
            return NOT_TRUSTED;
        if (i == 0 || table_value(&h, 2 * (i - 1)) != start)
            break;
        i--;
    }
    return in_order(&h) ? NOT_COVERED : NOT_TRUSTED;
}

/* All entries in file order; of those that cover the address the one that starts last, as the
 * search tables find it. */
static bool find_linear(const struct cfi_table *table, uint64_t vaddr, struct cfi_fde *best)
{
    struct cfi_fde fde = {0};
    bool found = false;
    uint64_t offset = 0;
    for (;;) {
        enum cfi_entry_kind kind = cfi_entry_next(table, &offset, &fde);
        if (kind == CFI_ENTRY_END)
            return found;
        if (kind == CFI_ENTRY_FDE && cfi_fde_covers(&fde, vaddr) && cfi_fde_alive(table, &fde) &&
            (!found || fde.lo > best->lo)) {
            found = true;
            *best = fde;
        }
    }
}

enum unwind_status cfi_find_eh(const struct unwind_image *image, uint64_t vaddr,
                               struct unwind_row *row)
{
    if (!image->eh_frame.data)
        return UNWIND_NO_INFO;
    struct cfi_table table = cfi_table_of(image, false);
    struct cfi_fde fde;
    fde.cie.program.begin = NULL; /* no CIE yet */
    enum answer answer = find_by_header(image, &table, vaddr, &fde);
    if (answer != FOUND && image->eh_index)
        answer = cfi_index_find(image->eh_index, &table, vaddr, &fde) ? FOUND : NOT_COVERED;
    else if (answer == NOT_TRUSTED)
        answer = find_linear(&table, vaddr, &fde) ? FOUND : NOT_COVERED;
    return answer == FOUND ? cfi_row_at(&table, &fde, vaddr, row) : UNWIND_NO_INFO;
}

enum unwind_status cfi_find_eh_at(const struct unwind_image *image, uint64_t offset, uint64_t vaddr,
                                  struct unwind_row *row)
{
    struct cfi_table table = cfi_table_of(image, false);
    struct cfi_fde fde;
    fde.cie.program.begin = NULL;
    if (!image->eh_frame.data || cfi_entry_next(&table, &offset, &fde) != CFI_ENTRY_FDE ||
        !cfi_fde_covers(&fde, vaddr))
        return UNWIND_NO_INFO;
    return cfi_row_at(&table, &fde, vaddr, row);
}

enum unwind_status cfi_find_debug(const struct unwind_image *image, uint64_t vaddr,
                                  struct unwind_row *row)
{
    if (!image->debug_frame.data)
        return UNWIND_NO_INFO;
    struct cfi_table table = cfi_table_of(image, true);
    struct cfi_fde fde;
    fde.cie.program.begin = NULL;
    bool found = image->debug_index ? cfi_index_find(image->debug_index, &table, vaddr, &fde)
                                    : find_linear(&table, vaddr, &fde);
    return found ? cfi_row_at(&table, &fde, vaddr, row) : UNWIND_NO_INFO;
}
