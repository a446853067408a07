/*
 * Linux signal trampolines and signal frames of aarch64 and arm.
 *
 * A handler returns to two instructions that load the number of (rt_)sigreturn and enter the
 * kernel; sp then points at the frame that the kernel built. Its layout is kernel ABI: struct
 * rt_sigframe and struct sigframe of arch/arm64 and arch/arm, struct sigcontext of their
 * asm/sigcontext.h. Extension records (FP, SVE, SME) follow the general registers and do not move
 * them.
 *
 * Invariant: only the exact instruction pair is a trampoline. sp is the frame before either of the
 * two instructions has run, so both places are recognised.
 */
#include "unwind/analysis.h"
#include "unwind/simulate.h"

static void start_row(struct unwind_row *row, uint64_t lo, uint64_t hi)
{
    *row = (struct unwind_row){
        .method = FW_METHOD_SIGNAL,
        .signal_frame = true,
        .lo = lo,
        .hi = hi,
    };
}

static void saved_at(struct unwind_row *row, unsigned reg, int64_t offset)
{
    row->reg[reg] = (struct reg_row){.how = REG_AT_CFA, .offset = offset};
}

/* aarch64: siginfo (128 bytes), then ucontext, whose registers start at byte 184. */
static enum unwind_status find_aarch64(const struct unwind_image *image, uint64_t vaddr,
                                       struct unwind_row *row)
{
    enum {
        MOV_X8_RT_SIGRETURN = (int)0xd2801168, /* mov x8, #139 */
        SVC = (int)0xd4000001,
        X0 = 128 + 184,
        SP = 31,
        PC = 32,
    };
    uint64_t start = simulate_word(image, vaddr) == (uint32_t)SVC ? vaddr - 4 : vaddr;

    if (simulate_word(image, start) != (uint32_t)MOV_X8_RT_SIGRETURN ||
        simulate_word(image, start + 4) != (uint32_t)SVC)
        return UNWIND_NO_INFO;
    start_row(row, start, start + 8);
    row->cfa_reg = SP;
    row->ra_reg = PC;
    for (unsigned i = 0; i <= PC; i++)
        saved_at(row, i, X0 + 8 * (int64_t)i);
    return UNWIND_OK;
}

/*
 * arm: the address of the saved r0, as an expression because two layouts of each frame exist.
 *
 * sigreturn: ucontext (r0 at byte 32), which the kernel marks with 0x5ac3c35a in its first word;
 * before Linux 2.6.18 a bare sigcontext (r0 at byte 12).
 */
static const uint8_t arm_sigframe[] = {
    0x7d, 0,                            /* DW_OP_breg13 0 */
    0x06,                               /* DW_OP_deref */
    0x10, 0xda, 0x86, 0x8f, 0xd6, 0x05, /* DW_OP_constu 0x5ac3c35a */
    0x29,                               /* DW_OP_eq */
    0x44,                               /* DW_OP_lit20 */
    0x1e,                               /* DW_OP_mul */
    0x7d, 12,                           /* DW_OP_breg13 12 */
    0x22,                               /* DW_OP_plus */
};

/* rt_sigreturn: siginfo (128 bytes), then ucontext; before 2.6.18 two pointers to these came first,
 * of which the first points 8 bytes on. */
static const uint8_t arm_rt_sigframe[] = {
    0x7d, 0,          /* DW_OP_breg13 0 */
    0x06,             /* DW_OP_deref */
    0x7d, 8,          /* DW_OP_breg13 8 */
    0x29,             /* DW_OP_eq */
    0x38,             /* DW_OP_lit8 */
    0x1e,             /* DW_OP_mul */
    0x7d, 0xa0, 0x01, /* DW_OP_breg13 160 */
    0x22,             /* DW_OP_plus */
};

enum { ARM_SIGRETURN = 119, ARM_RT_SIGRETURN = 173 };

/* The number of a trampoline of one ARM or Thumb form that starts at `start`, or 0, with the
 * offset of its `svc` and its size. EABI takes the number from r7, the old ABI from the
 * instruction. */
static unsigned arm_number(const struct unwind_image *image, uint64_t start, unsigned *svc,
                           unsigned *size)
{
    static const uint8_t numbers[] = {ARM_SIGRETURN, ARM_RT_SIGRETURN};
    struct reader r = simulate_code(image, start);
    uint16_t half[3] = {reader_u16(&r), reader_u16(&r), reader_u16(&r)};
    uint32_t first = simulate_word(image, start), second = simulate_word(image, start + 4);

    for (unsigned i = 0; i < sizeof numbers; i++) {
        unsigned n = numbers[i];
        if (first == (0xe3a07000 | n) && (second == 0xef000000 || second == (0xef900000 | n))) {
            *svc = 4, *size = 8; /* mov r7, #n; svc */
            return n;
        }
        if (first == (0xef900000 | n)) {
            *svc = 0, *size = 4; /* swi 0x900000 + n */
            return n;
        }
        if (half[0] == (0x2700 | n) && half[1] == 0xdf00) {
            *svc = 2, *size = 4; /* Thumb: movs r7, #n; svc 0 */
            return n;
        }
        if (half[0] == 0xf04f && half[1] == (0x0700 | n) && half[2] == 0xdf00) {
            *svc = 4, *size = 6; /* Thumb-2: mov.w r7, #n; svc 0 */
            return n;
        }
    }
    return 0;
}

static enum unwind_status find_arm(const struct unwind_image *image, uint64_t vaddr,
                                   struct unwind_row *row)
{
    enum { SP = 13, PC = 15 };

    for (unsigned form = 0; form <= 2; form++) {
        unsigned back = 4 - 2 * form; /* the longer form first: the bare old swi may be its end */
        unsigned svc = 0, size = 0;
        unsigned number = arm_number(image, vaddr - back, &svc, &size);
        if (number == 0 || (back != 0 && back != svc))
            continue;
        start_row(row, vaddr - back, vaddr - back + size);
        row->cfa_how = CFA_EXPR;
        row->cfa_expr = number == ARM_SIGRETURN
                            ? (struct span){arm_sigframe, sizeof arm_sigframe}
                            : (struct span){arm_rt_sigframe, sizeof arm_rt_sigframe};
        row->ra_reg = PC;
        for (unsigned i = 0; i <= PC; i++)
            saved_at(row, i, 4 * (int64_t)i);
        return UNWIND_OK;
    }
    return UNWIND_NO_INFO;
}

enum unwind_status sigframe_find_arm(const struct unwind_image *image, uint64_t vaddr,
                                     struct unwind_row *row)
{
    return image->arch->id == ARCH_AARCH64 ? find_aarch64(image, vaddr, row)
                                           : find_arm(image, vaddr, row);
}
