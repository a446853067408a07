/*
 * Compact unwind encodings of arm64 and arm64_32.
 *
 *     mode 4  frame pointer: CFA = x29 + 16, with the frame record right below it.
 *     mode 2  frameless: CFA = sp + 16 * (bits 12..23); the return address is in the link register.
 *     bits    0..4: the pairs x19 x20 to x27 x28; 8..11: d8 d9 to d14 d15. What is set was saved in
 *             this order, downwards from the frame record, or from the CFA where there is none.
 *
 * Registers d8 to d15 are not followed; they come last, so they move nothing else.
 *
 * <mach-o/compact_unwind_encoding.h>, UNWIND_ARM64_*.
 */
#include "unwind/compact.h"

enum { MODE_NONE = 0, MODE_FRAMELESS = 2, MODE_FRAME = 4 };
enum { FP = 29, LR = 30, SP = 31, X19 = 19, PAIRS = 5, REGISTER = 8 /* bytes */ };

/* Fills in the pairs, downwards from CFA + `at`; where they end. */
static int64_t place_pairs(uint32_t encoding, int64_t at, struct unwind_row *row)
{
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        if (!(encoding >> pair & 1))
            continue;
        row->reg[X19 + 2 * pair] = compact_saved(at - REGISTER);
        row->reg[X19 + 2 * pair + 1] = compact_saved(at - 2 * REGISTER);
        at -= 2 * REGISTER;
    }
    return at;
}

enum unwind_status compact_row_aarch64(const struct compact_entry *entry, struct unwind_row *row)
{
    int64_t size = 16 * (int64_t)compact_bits(entry->encoding, 12, 12);

    switch (compact_mode(entry->encoding)) {
    case MODE_NONE: return UNWIND_NO_INFO;
    case MODE_FRAME:
        *row = compact_row(entry, FP, 2 * REGISTER, LR);
        row->reg[LR] = compact_saved(-REGISTER);
        row->reg[FP] = compact_saved(-2 * REGISTER);
        place_pairs(entry->encoding, -2 * REGISTER, row);
        return UNWIND_OK;
    case MODE_FRAMELESS:
        *row = compact_row(entry, SP, size, LR);
        row->reg[LR].how = REG_SAME;
        return place_pairs(entry->encoding, 0, row) < -size ? UNWIND_BAD_INFO : UNWIND_OK;
    default: return UNWIND_BAD_INFO;
    }
}
