/*
 * Arbitrary bytes as aarch64, ARM and Thumb code, with and without function bounds: the analyses
 * and the search for signal trampolines end, and what they answer is a row that the walker can use.
 *
 * Input: byte 0 architecture and whether bounds are known, bytes 1..2 where the function lies; then
 * the code.
 */

#include "../tests/support/function_starts.h"
#include "unwind.h"
#include "unwind/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 0x10000 };

static void check_row(const struct unwind_image *image, const struct unwind_row *row,
                      uint64_t vaddr, bool exact)
{
    expect(row->lo <= vaddr && vaddr < row->hi);
    expect(row->cfa_reg < image->arch->reg_count && row->ra_reg < image->arch->reg_count);
    const struct reg_row *ra = &row->reg[row->ra_reg];
    bool put_aside = image->arch->id == ARCH_AARCH64 && ra->how == REG_IN_REG && ra->offset == 0 &&
                     ra->reg != row->ra_reg && ra->reg < image->arch->reg_count;
    expect(ra->how == REG_AT_CFA || (exact && ra->how == REG_SAME) || put_aside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_over(data, size);
    uint8_t kind = reader_u8(&r), from = reader_u8(&r), length = reader_u8(&r);
    if (r.failed)
        return 0;
    uint8_t list[20];
    struct starts_list starts = {.bytes = list};
    starts_add(&starts, TEXT + 2ull * from + (kind >> 2 & 1)); /* the lowest bit says Thumb */
    starts_add(&starts, TEXT + 2ull * from + 4ull * length);
    struct unwind_image image = {
        .arch = kind & 1 ? &arch_arm : &arch_aarch64,
        .lo = TEXT,
        .hi = TEXT + reader_left(&r),
        .text = {r.pos, reader_left(&r), TEXT},
        .function_starts = {list, kind & 2 ? starts.size : 0, 0},
    };
    uint64_t hi = image.hi < TEXT + 256 ? image.hi : TEXT + 256;
    for (uint64_t at = TEXT - 4; at < hi + 4; at += 2) {
        struct unwind_row row;
        if (analysis_find(&image, at, true, &row) == UNWIND_OK)
            check_row(&image, &row, at, true);
        if (analysis_find(&image, at + 1, false, &row) == UNWIND_OK)
            check_row(&image, &row, at + 1, false);
        if (sigframe_find(&image, at, &row) == UNWIND_OK)
            expect(row.signal_frame && row.lo <= at && at < row.hi);
    }
    return 0;
}
