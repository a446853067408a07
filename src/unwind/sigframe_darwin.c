/*
 * What a signal interrupted, on Apple's 64-bit platforms.
 *
 * The kernel puts a siginfo, a ucontext and a machine context on the stack and enters _sigtramp of
 * libsystem_platform with sp right below them; _sigtramp calls the handler. Its tables say on some
 * systems that it is a signal frame, on others (where it is compiled C) they describe it like any
 * function: its caller is then whoever the interrupted registers seem to tell, and the interrupted
 * function itself is left out. So the registers are looked for where the kernel put them, above
 * _sigtramp's CFA.
 *
 *     ucontext, 56 bytes   0 onstack flag (4)   32 link   40 size of the machine context
 *                          48 address of the machine context
 *     machine context      0 exception state (16)   16 thread state: the registers
 *
 * Invariant: the order of the three is not relied on. A ucontext is believed when it is consistent:
 * the flag is 0 or 1, there is no link, the size is that of a machine context, and its address lies
 * in the same frame. Without one the tables' answer stands.
 *
 * <sys/_types/_ucontext.h>, <mach/i386/_structs.h>, <mach/arm/_structs.h>. Async-signal-safe.
 */
#include "unwind/analysis.h"

enum {
    SEARCHED = 1024, /* bytes above the CFA in which a ucontext may begin */
    FRAME = 8192,    /* and all of the frame */
    LARGEST_CONTEXT = 4096,
    ON_STACK = 0,
    LINK = 32,
    CONTEXT_SIZE = 40,
    CONTEXT = 48,
    UCONTEXT = 56,
    STATE = 16, /* in the machine context */
};

/* Offset of each register, by DWARF number, in the thread state of x86_64; on arm64 they follow
 * each other as they are numbered. */
static const uint8_t saved_x86_64[17] = {0,  24, 16, 8,  40,  32,  48,  56, 64,
                                         72, 80, 88, 96, 104, 112, 120, 128};

struct layout {
    uint8_t registers;
    uint16_t smallest; /* machine context */
};

static struct layout layout_of(const struct arch *arch)
{
    if (arch->id == ARCH_X86_64)
        return (struct layout){17, STATE + 21 * 8};
    return (struct layout){33, STATE + 34 * 8};
}

static bool read_ucontext(const struct memory *memory, uint64_t at, uint64_t cfa, uint16_t smallest,
                          uint64_t *context)
{
    uint32_t on_stack;
    uint64_t link, size;
    return memory_read(memory, at + ON_STACK, &on_stack, sizeof on_stack) && on_stack <= 1 &&
           memory_read(memory, at + LINK, &link, sizeof link) && link == 0 &&
           memory_read(memory, at + CONTEXT_SIZE, &size, sizeof size) && size >= smallest &&
           size <= LARGEST_CONTEXT && size % 4 == 0 &&
           memory_read(memory, at + CONTEXT, context, sizeof *context) && *context % 8 == 0 &&
           *context >= cfa && *context - cfa <= FRAME &&
           (*context >= at + UCONTEXT || *context + size <= at);
}

bool sigframe_darwin(const struct arch *arch, const struct memory *memory, uint64_t cfa,
                     struct unwind_row *row)
{
    if ((arch->id != ARCH_X86_64 && arch->id != ARCH_AARCH64) || arch->pointer_size != 8)
        return false;
    const struct layout layout = layout_of(arch);
    uint64_t context = 0, at = cfa;
    while (!read_ucontext(memory, at, cfa, layout.smallest, &context))
        if ((at += 8) > cfa + SEARCHED)
            return false;
    for (unsigned n = 0; n < layout.registers; n++) {
        uint64_t offset = arch->id == ARCH_X86_64 ? saved_x86_64[n] : 8 * n;
        row->reg[n] = (struct reg_row){.how = REG_AT_CFA,
                                       .offset = (int64_t)(context + STATE + offset - cfa)};
    }
    row->ra_reg = arch->pc;
    row->method = FW_METHOD_SIGNAL;
    row->signal_frame = true;
    return true;
}
