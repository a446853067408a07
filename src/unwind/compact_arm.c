/*
 * Compact unwind encodings of armv7k (watchOS).
 *
 *     mode 1  frame pointer: r7 points at its own saved value, the return address above it; the CFA
 *             is r7 + 8 + (bits 22..23) words, where variadic arguments were spilled between.
 *     mode 2  the same, with (bits 8..10) + 1 of the registers d8, d10, d12, d14 saved as well.
 *     bits    downwards from the saved r7: r6 (2), r5 (1), r4 (0), then r12 (7), r11 (6), r10 (5),
 * r9 (4), r8 (3).
 *
 * The d registers are not followed; they come last, so they move nothing else.
 *
 * <mach-o/compact_unwind_encoding.h>, UNWIND_ARM_*.
 */
#include "unwind/compact.h"

enum { MODE_NONE = 0, MODE_FRAME = 1, MODE_FRAME_D = 2 };
enum { FP = 7, LR = 14, WORD = 4 };

enum unwind_status compact_row_arm(const struct compact_entry *entry, struct unwind_row *row)
{
    static const struct {
        uint8_t bit, reg;
    } saved[] = {{2, 6}, {1, 5}, {0, 4}, {7, 12}, {6, 11}, {5, 10}, {4, 9}, {3, 8}};
    const uint32_t encoding = entry->encoding;
    const int64_t adjust = (int64_t)compact_bits(encoding, 22, 2) * WORD;
    int64_t at = -2 * WORD - adjust;

    switch (compact_mode(encoding)) {
    case MODE_NONE: return UNWIND_NO_INFO;
    case MODE_FRAME:
    case MODE_FRAME_D: break;
    default: return UNWIND_BAD_INFO;
    }
    *row = compact_row(entry, FP, 2 * WORD + adjust, LR);
    row->reg[LR] = compact_saved(at + WORD);
    row->reg[FP] = compact_saved(at);
    for (unsigned i = 0; i < sizeof saved / sizeof saved[0]; i++)
        if (encoding >> saved[i].bit & 1)
            row->reg[saved[i].reg] = compact_saved(at -= WORD);
    return UNWIND_OK;
}
