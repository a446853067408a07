/*
 * Hostile ARM exception index tables. Besides memory safety it checks what a row promises: its
 * range covers the address, its rules are ones that EXIDX can express, and its slots lie below the
 * CFA unless sp was moved down.
 *
 * Input: byte 0 byte order, byte 1 entries of the index, bytes 2..5 its address, bytes 6..9 the
 * address of the exception table; then the sections.
 */

#include "unwind.h"
#include "unwind/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct unwind_row *row, uint64_t vaddr)
{
    expect(row->lo <= vaddr && vaddr < row->hi);
    expect(row->cfa_how == CFA_REG && row->cfa_reg < 16);
    expect(row->ra_reg == 14 || row->ra_reg == 15);
    expect(row->reg[row->ra_reg].how == REG_AT_CFA || row->reg[row->ra_reg].how == REG_SAME);
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++) {
        unsigned how = row->reg[i].how;
        expect(how == REG_UNSPECIFIED || how == REG_AT_CFA || (how == REG_SAME && i == 14));
        expect(how != REG_AT_CFA || (i < 16 && row->reg[i].offset % 4 == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_over(data, size);
    uint8_t order = reader_u8(&r), entries = reader_u8(&r);
    uint32_t index = reader_u32(&r), table = reader_u32(&r);
    struct reader index_bytes = reader_sub(&r, 8 * (uint64_t)entries);
    if (r.failed)
        return 0;
    struct unwind_image image = {
        .arch = &arch_arm,
        .big_endian = order & 1,
        .lo = 0,
        .hi = 1ull << 32,
        .exidx = {index_bytes.begin, (size_t)(index_bytes.end - index_bytes.begin), index},
        .extab = {r.pos, reader_left(&r), table},
    };
    for (uint64_t vaddr = index - 64; vaddr < (uint64_t)index + 64; vaddr += 2) {
        struct unwind_row row;
        if (exidx_find(&image, vaddr, &row) == UNWIND_OK)
            check_row(&row, vaddr);
    }
    for (unsigned i = 0; i < 32; i++) {
        struct unwind_row row;
        uint64_t vaddr = (uint64_t)i << 27 | order;
        if (exidx_find(&image, vaddr, &row) == UNWIND_OK)
            check_row(&row, vaddr);
    }
    return 0;
}
