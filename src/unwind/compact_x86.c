/*
 * Compact unwind encodings of x86_64 and i386, which have the same shape.
 *
 *     mode 1  frame pointer: CFA = bp + 2 words. Bits 16..23: how many words below bp the lowest
 *             saved register lies; bits 0..14: five times three bits, the registers upwards from
 *             there, 0 for a word that holds none.
 *     mode 2  no frame pointer: CFA = sp + (bits 16..23) words. Bits 10..12: how many registers
 * were pushed, bits 0..9: which, as the number of their permutation; the first one lies lowest, the
 * last one right below the return address. mode 3  the same for larger frames: bits 16..23 are the
 * distance from the function's start to the 32-bit operand of `sub $n, %sp`; the CFA is sp + n +
 * (bits 13..15) words.
 *
 * <mach-o/compact_unwind_encoding.h>, UNWIND_X86_64_* and UNWIND_X86_*.
 */
#include "unwind/compact.h"
#include "unwind/x86_trace.h"

enum { MODE_NONE = 0, MODE_FRAME = 1, MODE_STACK = 2, MODE_STACK_INDIRECT = 3 };
enum { REGISTERS = 6, BY_BP = 6 /* what both architectures number 6 */ };

/* DWARF numbers of the registers that encodings number from 1 on: bx, then r12 to r15 or cx, dx,
 * di, si, then bp. */
static uint8_t dwarf_number(const struct arch *arch, unsigned number)
{
    static const uint8_t in_64[REGISTERS] = {3, 12, 13, 14, 15, 6};
    static const uint8_t in_32[REGISTERS] = {3, 1, 2, 7, 6, 5};
    return (arch->id == ARCH_X86_64 ? in_64 : in_32)[number - 1];
}

static enum unwind_status with_frame(const struct arch *arch, const struct compact_entry *entry,
                                     struct unwind_row *row)
{
    enum { FIELDS = 5 };
    const int64_t word = arch->pointer_size;
    int64_t at = -(int64_t)compact_bits(entry->encoding, 16, 8) * word - 2 * word;

    *row = compact_row(entry, arch->fp, 2 * word, arch->pc);
    row->reg[arch->pc] = compact_saved(-word);
    row->reg[arch->fp] = compact_saved(-2 * word);
    for (unsigned i = 0; i < FIELDS; i++, at += word) {
        unsigned number = compact_bits(entry->encoding, 3 * i, 3);
        if (number == 0)
            continue;
        if (number >= BY_BP || at >= -2 * word)
            return UNWIND_BAD_INFO;
        row->reg[dwarf_number(arch, number)] = compact_saved(at);
    }
    return UNWIND_OK;
}

/* The `count` registers of permutation `code`: each digit says which of those still unused comes
 * next. A digit's weight is how many ways there are to go on behind it. */
static bool permutation(unsigned code, unsigned count, uint8_t numbers[REGISTERS])
{
    bool used[REGISTERS + 1] = {false};
    unsigned weight = 1;
    for (unsigned i = 1; i < count; i++)
        weight *= REGISTERS - i;
    for (unsigned i = 0; i < count; i++) {
        unsigned digit = code / weight, left = REGISTERS - 1 - i, number = 0;
        code %= weight;
        if (digit > left)
            return false;
        for (unsigned skip = digit + 1; skip > 0; skip -= !used[number])
            number++;
        used[number] = true;
        numbers[i] = (uint8_t)number;
        if (left)
            weight /= left;
    }
    return true;
}

/* mov $n, %eax; call probe; sub %rax, %rsp: how frames of many pages are made, so that each is
 * touched. The compiler counts the bytes to the operand as if a plain subtraction stood there. */
static bool probed_frame(const struct unwind_image *image, uint64_t at, uint32_t *size)
{
    enum { MOV_EAX = 0xb8, CALL = 0xe8, REX_W = 0x48 };
    const bool is_64 = image->arch->id == ARCH_X86_64;
    struct reader code = x86_code_at(image, at - (is_64 ? 3 : 2));
    bool right = reader_u8(&code) == MOV_EAX;
    *size = reader_u32(&code);
    right = right && reader_u8(&code) == CALL;
    reader_skip(&code, 4);
    if (is_64)
        right = right && reader_u8(&code) == REX_W;
    return right && reader_u8(&code) == 0x29 && reader_u8(&code) == 0xc4 && !code.failed;
}

/* The operand of `sub $n, %sp`, so many bytes into the function. */
static bool frame_size_in_code(const struct unwind_image *image, uint64_t at, uint32_t *size)
{
    enum { SUB_IMM32 = 0x81, OF_SP = 0xec };
    struct reader code = x86_code_at(image, at - 2);
    bool subtraction = reader_u8(&code) == SUB_IMM32 && reader_u8(&code) == OF_SP;
    *size = reader_u32(&code);
    return ((subtraction && !code.failed) || probed_frame(image, at, size)) && *size <= INT32_MAX;
}

static enum unwind_status without_frame(const struct unwind_image *image,
                                        const struct compact_entry *entry, struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    const int64_t word = arch->pointer_size;
    const unsigned count = compact_bits(entry->encoding, 10, 3);
    int64_t cfa = compact_bits(entry->encoding, 16, 8);
    uint8_t numbers[REGISTERS];
    uint32_t size;

    if (compact_mode(entry->encoding) == MODE_STACK) {
        cfa *= word;
    } else {
        if (!frame_size_in_code(image, entry->lo + (uint64_t)cfa, &size))
            return UNWIND_NO_INFO;
        cfa = (int64_t)size + compact_bits(entry->encoding, 13, 3) * word;
    }
    if (count > REGISTERS || cfa < (count + 1) * word ||
        !permutation(compact_bits(entry->encoding, 0, 10), count, numbers))
        return UNWIND_BAD_INFO;
    *row = compact_row(entry, arch->sp, cfa, arch->pc);
    row->reg[arch->pc] = compact_saved(-word);
    for (unsigned i = 0; i < count; i++)
        row->reg[dwarf_number(arch, numbers[i])] = compact_saved((i - (int64_t)count - 1) * word);
    return UNWIND_OK;
}

enum unwind_status compact_row_x86(const struct unwind_image *image,
                                   const struct compact_entry *entry, struct unwind_row *row)
{
    switch (compact_mode(entry->encoding)) {
    case MODE_NONE: return UNWIND_NO_INFO;
    case MODE_FRAME: return with_frame(image->arch, entry, row);
    case MODE_STACK:
    case MODE_STACK_INDIRECT: return without_frame(image, entry, row);
    default: return UNWIND_BAD_INFO;
    }
}
