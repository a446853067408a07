/*
 * Rows for threads that stand in a stub of a Mach-O image: the code between a call and a function
 * of another image, or objc_msgSend. No table describes it. A stub touches neither sp nor the link
 * register; only the way to the binder of lazy symbols pushes:
 *
 *     __stubs, __auth_stubs, __objc_stubs    load a slot, jump through it
 *     __stub_helper, at its beginning        push what the binder needs, jump to it
 *     __stub_helper, for each symbol         x86: push its number, jump to the beginning
 *                                            ARM: its number to a register, branch there
 *
 * Invariant: an answer is given inside the stub areas of a Mach-O image only, and for instructions
 * of these shapes only.
 *
 * The sequences are those of Apple's linkers and of LLVM's.
 */
#include "unwind/analysis.h"

enum { BEFORE = 16, AFTER = 16 };

/* The bytes around a place, zero where the area does not reach. */
struct around {
    uint8_t bytes[BEFORE + AFTER];
    const uint8_t *here; /* inside `bytes` */
};

static const struct unwind_section *area_of(const struct unwind_image *image, uint64_t vaddr)
{
    for (unsigned i = 0; i < UNWIND_STUB_AREAS; i++)
        if (image->plt[i].data && vaddr - image->plt[i].vaddr < image->plt[i].size)
            return &image->plt[i];
    return NULL;
}

static void look_around(const struct unwind_section *area, uint64_t vaddr, struct around *around)
{
    *around = (struct around){.here = around->bytes + BEFORE};
    uint64_t offset = vaddr - area->vaddr;
    for (unsigned i = 0; i < sizeof around->bytes; i++)
        if (offset + i >= BEFORE && offset + i - BEFORE < area->size)
            around->bytes[i] = area->data[offset + i - BEFORE];
}

static bool starts(const uint8_t *code, const char *bytes, unsigned count)
{
    return memcmp(code, bytes, count) == 0;
}

/* Words between sp and the CFA, the return address among them; 0 when this is no stub's
 * instruction. */
static unsigned words_x86_64(const uint8_t *here)
{
    const char *lea_r11 = "\x4c\x8d\x1d", *push_r11 = "\x41\x53", *jump_slot = "\xff\x25";
    if (starts(here, lea_r11, 3) || (starts(here, push_r11, 2) && starts(here - 7, lea_r11, 3)))
        return 2; /* the beginning of __stub_helper, entered with the symbol's number pushed */
    if (starts(here, jump_slot, 2))
        return starts(here - 9, lea_r11, 3) && starts(here - 2, push_r11, 2) ? 3 : 1;
    if (here[0] == 0xe9)
        return here[-5] == 0x68 ? 2 : 1; /* behind push $number */
    bool first = here[0] == 0x68 || starts(here, "\x48\x8b", 2);
    return first ? 1 : 0;
}

static unsigned words_i386(const uint8_t *here)
{
    const char *jump_slot = "\xff\x25";
    const bool pushed = here[-5] == 0x68;
    if (starts(here, jump_slot, 2))
        return pushed ? 3 : 1;
    if (here[0] == 0xe9)
        return pushed ? 2 : 1;
    if (here[0] == 0x68)
        return starts(here + 5, jump_slot, 2) ? 2 : 1;
    return 0;
}

static uint32_t word_at(const uint8_t *code)
{
    return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
           (uint32_t)code[3] << 24;
}

/* Bytes that the beginning of __stub_helper pushed before it came here. */
static int64_t pushed_aarch64(const uint8_t *here)
{
    const uint32_t stp_x16_x17 = 0xa9bf47f0;
    for (unsigned back = 4; back <= BEFORE; back += 4) {
        uint32_t insn = word_at(here - back);
        if (insn == stp_x16_x17)
            return 16;
        if ((insn & 0x7c000000) == 0x14000000 || (insn & 0xfe000000) == 0xd6000000)
            return 0; /* a branch: another stub */
    }
    return 0;
}

static int64_t pushed_arm(const struct unwind_section *area, uint64_t vaddr)
{
    enum { BEGINNING = 28 };
    const uint32_t push_ip = 0xe52dc004;
    int64_t bytes = 0;
    if (area->size < BEGINNING || word_at(area->data) != push_ip ||
        vaddr - area->vaddr >= BEGINNING)
        return 0;
    for (uint64_t at = 0; at < vaddr - area->vaddr; at += 4)
        bytes += word_at(area->data + at) == push_ip ? 4 : 0;
    return bytes;
}

bool stub_contains(const struct unwind_image *image, uint64_t vaddr)
{
    return image->macho && area_of(image, vaddr);
}

enum unwind_status stub_find(const struct unwind_image *image, uint64_t vaddr,
                             struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    const struct unwind_section *area = image->macho ? area_of(image, vaddr) : NULL;
    const int64_t word = arch->pointer_size;
    struct around around;
    unsigned words = 0;
    if (!area)
        return UNWIND_NO_INFO;
    look_around(area, vaddr, &around);
    *row = (struct unwind_row){.cfa_how = CFA_REG,
                               .cfa_reg = arch->sp,
                               .method = FW_METHOD_LINK_REGISTER,
                               .lo = vaddr,
                               .hi = vaddr + 1};
    switch (arch->id) {
    case ARCH_X86_64:
    case ARCH_I386:
        words = arch->id == ARCH_X86_64 ? words_x86_64(around.here) : words_i386(around.here);
        row->ra_reg = arch->pc;
        row->cfa_offset = words * word;
        row->reg[arch->pc] = (struct reg_row){.how = REG_AT_CFA, .offset = -word};
        return words ? UNWIND_OK : UNWIND_NO_INFO;
    case ARCH_AARCH64:
    case ARCH_ARM:
        row->ra_reg = arch->lr;
        row->reg[arch->lr].how = REG_SAME;
        row->cfa_offset =
            arch->id == ARCH_ARM ? pushed_arm(area, vaddr) : pushed_aarch64(around.here);
        return UNWIND_OK;
    case ARCH_NONE: break;
    }
    return UNWIND_NO_INFO;
}
