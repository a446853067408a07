/*
 * Trampolines of Linux on x86, which are returned to and never called.
 *
 * Signal trampolines, the code that a signal handler returns to, ask the kernel to put the
 * interrupted registers back from the frame it made on the stack:
 *
 *   x86_64      mov $15, %rax; syscall                   (__restore_rt)
 *   i386        mov $173, %eax; int $0x80                (rt_sigreturn)
 *               pop %eax; mov $119, %eax; int $0x80      (sigreturn, handlers without SA_SIGINFO)
 *
 * The end of a context made by makecontext (glibc) takes its stack pointer from rbx first of all:
 * no function that has a caller can do so, and the tables describe it wrongly. It is outermost:
 *
 *   x86_64      mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi; je; call setcontext; ...
 *
 * Invariant: the whole instruction sequence has to match. Layouts: Linux kernel ABI, struct
 * rt_sigframe, ucontext and sigcontext of arch/x86 (uapi/asm/sigcontext.h, ucontext.h).
 */
#include "unwind/analysis.h"
#include "unwind/x86_trace.h"

/* A trampoline, and where the kernel's saved registers lie at its first instruction. */
struct trampoline {
    const uint8_t *code;
    uint8_t size;
    uint8_t stop[7]; /* offsets of its instructions */
    uint8_t stops;
    uint16_t context;    /* sp + this = saved registers */
    uint8_t popped_from; /* instructions at or after this offset run with one word popped */
};

static const uint8_t rt_64[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t rt_32[] = {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80};
static const uint8_t old_32[] = {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80};

static const uint8_t end_of_context[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c,
                                         0x24, 0x48, 0x85, 0xff, 0x74};

enum {
    RT_64_CONTEXT = 40, /* ucontext at sp: flags, link, stack (8 + 8 + 24) before the registers */
    /* signal number, two pointers, siginfo (128), then flags, link, stack (4 + 4 + 12) */
    RT_32_CONTEXT = 12 + 128 + 20,
    OLD_32_CONTEXT = 4, /* the signal number */
    NEVER = 255,
};

static const struct trampoline trampolines_64[] = {
    {rt_64, sizeof rt_64, {0, 7}, 2, RT_64_CONTEXT, NEVER},
};
static const struct trampoline context_64 = {
    end_of_context, sizeof end_of_context, {0, 3, 7, 10, 12, 17, 25}, 7, 0, NEVER};
static const struct trampoline trampolines_32[] = {
    {rt_32, sizeof rt_32, {0, 5}, 2, RT_32_CONTEXT, NEVER},
    {old_32, sizeof old_32, {0, 1, 6}, 3, OLD_32_CONTEXT, 1},
};

/* Offset of each register, by DWARF number, in the saved registers. */
static const uint8_t saved_64[17] = {
    [0] = 104, [1] = 96,  [2] = 112, [3] = 88,  [4] = 72,   [5] = 64,
    [6] = 80,  [7] = 120, [8] = 0,   [9] = 8,   [10] = 16,  [11] = 24,
    [12] = 32, [13] = 40, [14] = 48, [15] = 56, [16] = 128,
};
static const uint8_t saved_32[9] = {
    [0] = 44, [1] = 40, [2] = 36, [3] = 32, [4] = 28, [5] = 24, [6] = 20, [7] = 16, [8] = 56,
};

static bool code_is(const struct unwind_image *image, uint64_t vaddr, const struct trampoline *t)
{
    struct reader code = x86_code_at(image, vaddr);
    const uint8_t *bytes;
    return reader_take(&code, t->size, &bytes) && memcmp(bytes, t->code, t->size) == 0;
}

/* The offset of `vaddr` inside the trampoline; false when it is not one of its instructions. */
static bool inside(const struct unwind_image *image, uint64_t vaddr, const struct trampoline *t,
                   uint8_t *offset)
{
    for (unsigned i = 0; i < t->stops; i++)
        if (code_is(image, vaddr - t->stop[i], t)) {
            *offset = t->stop[i];
            return true;
        }
    return false;
}

enum unwind_status sigframe_find_x86(const struct unwind_image *image, uint64_t vaddr,
                                     struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    bool is_64 = arch->id == ARCH_X86_64;
    const struct trampoline *t = is_64 ? trampolines_64 : trampolines_32;
    unsigned count = is_64 ? 1 : 2;
    const uint8_t *saved = is_64 ? saved_64 : saved_32;
    uint8_t offset = 0;
    while (count && !inside(image, vaddr, t, &offset)) {
        count--;
        t++;
    }
    if (!count)
        return is_64 && inside(image, vaddr, &context_64, &offset) ? UNWIND_ROOT : UNWIND_NO_INFO;
    *row = (struct unwind_row){.cfa_how = CFA_REG,
                               .cfa_reg = arch->sp,
                               .cfa_offset = t->context,
                               .ra_reg = arch->pc,
                               .method = FW_METHOD_SIGNAL,
                               .signal_frame = true,
                               .lo = vaddr,
                               .hi = vaddr + 1};
    if (offset >= t->popped_from)
        row->cfa_offset -= arch->pointer_size;
    for (unsigned i = 0; i < arch->reg_count; i++)
        row->reg[i] = (struct reg_row){.how = REG_AT_CFA, .offset = saved[i]};
    return UNWIND_OK;
}
