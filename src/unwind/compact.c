/*
 * Apple's compact unwind: finding the entry of an address in __TEXT,__unwind_info.
 *
 *     header         version (1); place and count of: common encodings, personalities, index
 *     index          (first function, page, LSDAs) by address; the last one only ends the others
 *     regular page   kind 2; (function, encoding) by address
 *     compressed     kind 3; 24 bits distance from the index entry's function and 8 bits number of
 *                    an encoding: the common ones first, then the page's own
 *
 * Functions are distances from the mach header; places of pages from the section, those inside a
 * page from the page. A function ends where the next entry begins.
 *
 * Invariant: every offset and count is checked against the section before it is used. Tables that
 * are not in order give a wrong entry, whose range still covers the address, or none.
 * Async-signal-safe; no allocation.
 *
 * <mach-o/compact_unwind_encoding.h>.
 */
#include "unwind/compact.h"

#include "unwind/sources.h"

enum {
    VERSION = 1,
    PAGE_REGULAR = 2,
    PAGE_COMPRESSED = 3,
    INDEX_ENTRY = 12, /* bytes */
    PAGE_ENTRY = 8,   /* of a regular page */
    DWARF_OFFSET = 0x00ffffff,
};

/* A table of 32-bit words inside the section: `count` entries, `stride` bytes each. */
struct words {
    const uint8_t *data;
    size_t count;
    unsigned stride;
    bool swap;
};

struct header {
    struct words common; /* encodings */
    struct words index;
};

/* `base` + `offset` is where the table begins in the section. */
static bool place_words(const struct unwind_image *image, uint64_t base, uint64_t offset,
                        uint64_t count, unsigned stride, struct words *words)
{
    const struct unwind_section *section = &image->unwind_info;
    uint64_t start = base + offset;
    if (start > section->size || count > (section->size - start) / stride)
        return false;
    *words = (struct words){section->data + start, (size_t)count, stride, image->big_endian};
    return true;
}

/* The first word of entry `i`, or a later one at `skip` bytes; inside bounds by i < count. */
static uint32_t word_at(const struct words *words, size_t i, unsigned skip)
{
    struct reader r = reader_over(words->data + i * words->stride + skip, 4);
    r.swap = words->swap;
    return reader_u32(&r);
}

/* How many entries begin at or before `value`, by the bits of `mask` of their first word. */
static size_t entries_up_to(const struct words *words, uint32_t mask, uint32_t value)
{
    size_t lo = 0, hi = words->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if ((word_at(words, middle, 0) & mask) <= value)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static enum unwind_status read_header(const struct unwind_image *image, struct header *header)
{
    struct reader r = reader_over(image->unwind_info.data, image->unwind_info.size);
    r.swap = image->big_endian;
    uint32_t version = reader_u32(&r);
    uint32_t common = reader_u32(&r), common_count = reader_u32(&r);
    reader_skip(&r, 8); /* personalities: of no interest here */
    uint32_t index = reader_u32(&r), index_count = reader_u32(&r);
    if (r.failed)
        return UNWIND_BAD_INFO;
    if (version != VERSION)
        return UNWIND_NO_INFO;
    if (!place_words(image, 0, common, common_count, 4, &header->common) ||
        !place_words(image, 0, index, index_count, INDEX_ENTRY, &header->index))
        return UNWIND_BAD_INFO;
    return UNWIND_OK;
}

/* A page, as far as the search needs it. */
struct page {
    uint64_t offset;         /* in the section */
    uint32_t first, end;     /* functions [first, end), as the index says */
    uint16_t entries, count; /* place in the page, and how many */
};

/* Addresses of Thumb functions are even here whatever their linker thought. */
static uint32_t address_mask(const struct unwind_image *image, uint32_t mask)
{
    return image->arch->id == ARCH_ARM ? mask & ~1u : mask;
}

static enum unwind_status in_regular(const struct unwind_image *image, const struct page *page,
                                     uint32_t function, struct compact_entry *entry)
{
    struct words entries;
    const uint32_t mask = address_mask(image, UINT32_MAX);
    if (!place_words(image, page->offset, page->entries, page->count, PAGE_ENTRY, &entries))
        return UNWIND_BAD_INFO;
    size_t next = entries_up_to(&entries, mask, function);
    if (next == 0)
        return UNWIND_NO_INFO;
    entry->lo = word_at(&entries, next - 1, 0) & mask;
    entry->hi = next < entries.count ? word_at(&entries, next, 0) & mask : page->end;
    entry->encoding = word_at(&entries, next - 1, 4);
    return UNWIND_OK;
}

static enum unwind_status in_compressed(const struct unwind_image *image,
                                        const struct header *header, const struct page *page,
                                        struct reader *r, uint32_t function,
                                        struct compact_entry *entry)
{
    struct words entries, own;
    const uint32_t mask = address_mask(image, 0xffffff);
    uint16_t encodings = reader_u16(r), encoding_count = reader_u16(r);
    if (r->failed || !place_words(image, page->offset, page->entries, page->count, 4, &entries) ||
        !place_words(image, page->offset, encodings, encoding_count, 4, &own))
        return UNWIND_BAD_INFO;
    size_t next = entries_up_to(&entries, mask, function - page->first);
    if (next == 0)
        return UNWIND_NO_INFO;
    uint32_t found = word_at(&entries, next - 1, 0);
    size_t number = found >> 24;
    if (number >= header->common.count + own.count)
        return UNWIND_BAD_INFO;
    entry->lo = (uint64_t)page->first + (found & mask);
    entry->hi = page->end;
    if (next < entries.count)
        entry->hi = (uint64_t)page->first + (word_at(&entries, next, 0) & mask);
    entry->encoding = number < header->common.count
                          ? word_at(&header->common, number, 0)
                          : word_at(&own, number - header->common.count, 0);
    return UNWIND_OK;
}

static enum unwind_status in_page(const struct unwind_image *image, const struct header *header,
                                  struct page *page, uint32_t function, struct compact_entry *entry)
{
    struct reader r = reader_at(image->unwind_info.data, image->unwind_info.size, page->offset);
    r.swap = image->big_endian;
    uint32_t kind = reader_u32(&r);
    page->entries = reader_u16(&r);
    page->count = reader_u16(&r);
    if (r.failed)
        return UNWIND_BAD_INFO;
    switch (kind) {
    case PAGE_REGULAR: return in_regular(image, page, function, entry);
    case PAGE_COMPRESSED: return in_compressed(image, header, page, &r, function, entry);
    default: return UNWIND_BAD_INFO;
    }
}

enum unwind_status compact_lookup(const struct unwind_image *image, uint64_t vaddr,
                                  struct compact_entry *entry)
{
    const uint32_t mask = address_mask(image, UINT32_MAX);
    uint64_t function = vaddr - image->header;
    struct header header;
    if (!image->unwind_info.data || function > UINT32_MAX)
        return UNWIND_NO_INFO;
    enum unwind_status status = read_header(image, &header);
    if (status != UNWIND_OK)
        return status;
    size_t next = entries_up_to(&header.index, mask, (uint32_t)function);
    if (next == 0 || next == header.index.count)
        return UNWIND_NO_INFO; /* in front of the first function, or behind the last */
    struct page page = {
        .first = word_at(&header.index, next - 1, 0) & mask,
        .end = word_at(&header.index, next, 0) & mask,
        .offset = word_at(&header.index, next - 1, 4),
    };
    if (page.offset == 0)
        return UNWIND_NO_INFO;
    status = in_page(image, &header, &page, (uint32_t)function, entry);
    if (status != UNWIND_OK)
        return status;
    if (entry->hi > page.end)
        entry->hi = page.end;
    if (function < entry->lo || function >= entry->hi)
        return UNWIND_BAD_INFO;
    entry->lo += image->header;
    entry->hi += image->header;
    return UNWIND_OK;
}

bool compact_is_tail_call(const struct unwind_image *image, uint64_t at, uint64_t target)
{
    struct compact_entry entry;
    return compact_lookup(image, at, &entry) == UNWIND_OK && compact_mode(entry.encoding) != 0 &&
           unwind_leads_to_function(image, at, target);
}

/* The function has no compact form: the low bits say where its FDE lies, or 0 when the section is
 * larger than they can say. */
static bool refers_to_dwarf(const struct unwind_image *image, uint32_t encoding)
{
    enum { ARM64_DWARF = 3, OTHER_DWARF = 4 };
    return compact_mode(encoding) == (image->arch->id == ARCH_AARCH64 ? ARM64_DWARF : OTHER_DWARF);
}

enum unwind_status compact_find(const struct unwind_image *image, uint64_t vaddr,
                                struct unwind_row *row)
{
    struct compact_entry entry;
    enum unwind_status status = compact_lookup(image, vaddr, &entry);
    if (status != UNWIND_OK)
        return status;
    if (refers_to_dwarf(image, entry.encoding)) {
        status = cfi_find_eh_at(image, entry.encoding & DWARF_OFFSET, vaddr, row);
        return status == UNWIND_NO_INFO ? cfi_find_eh(image, vaddr, row) : status;
    }
    switch (image->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: return compact_row_x86(image, &entry, row);
    case ARCH_AARCH64: return compact_row_aarch64(&entry, row);
    case ARCH_ARM: return compact_row_arm(&entry, row);
    case ARCH_NONE: break;
    }
    return UNWIND_NO_INFO;
}
