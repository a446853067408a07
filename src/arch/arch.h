/*
 * What the unwinder has to know of an architecture: register numbers, widths, where frame records
 * and return addresses stand. One table per architecture, one file each (x86_64.c, aarch64.c,
 * arm.c, i386.c).
 *
 * Registers are numbered as in the DWARF register mapping of the platform's ABI document. `pc` is
 * stored as one more register, so a register set is a whole thread state as far as unwinding goes.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stdint.h>

enum arch_id {
    ARCH_NONE = 0,
    ARCH_X86_64,  /* System V AMD64: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8..15, 16 = pc
                   */
    ARCH_AARCH64, /* AAPCS64: 0..30 x0..x30, 31 sp, 32 pc, 34 RA_SIGN_STATE (kept at 33 here) */
    ARCH_ARM,     /* AAPCS32: 0..15, 11 fp (ARM), 7 fp (Thumb, Apple), 13 sp, 14 lr, 15 pc */
    ARCH_I386,    /* System V i386: 0 eax 1 ecx 2 edx 3 ebx 4 esp 5 ebp 6 esi 7 edi, 8 = pc */
};

enum {
    ARCH_MAX_REGS = 34,
    ARCH_NO_REG = 255,
    ARCH_AARCH64_SIGN_STATE = 33, /* index in a register set; DWARF number 34 */
};

struct arch {
    enum arch_id id;
    const char *name;      /* "x86_64", "aarch64", "arm", "i386", "arm64_32" */
    uint8_t pointer_size;  /* bytes of an address in tables and in memory: 4 or 8 */
    uint8_t register_size; /* bytes of a saved register; more than those of a pointer on arm64_32 */
    uint8_t reg_count;     /* registers 0 .. reg_count - 1 are tracked, at most ARCH_MAX_REGS */
    uint8_t pc, sp, fp;    /* their numbers */
    uint8_t lr;            /* link register, or ARCH_NO_REG where calls push the return address */
    uint8_t ra_column;     /* usual DWARF return address column */
    uint16_t elf_machine;  /* e_machine */
    uint64_t callee_saved; /* bit per register that calls preserve (sp is not among them) */
    uint64_t pointer_mask; /* bits that an address can have before pointer authentication is
                              considered */
    bool frame_records;    /* code that keeps a frame pointer keeps the chain at it, on the whole
                              platform: saved frame pointer, return address */
    const char *const *reg_names; /* reg_count names */
};

extern const struct arch arch_x86_64, arch_aarch64, arch_arm, arch_i386;
/* Apple's armv7 and armv7k, whose frame pointer is r7, and watchOS' arm64 with pointers of 32 bits.
 * No ELF file is of these. */
extern const struct arch arch_arm_apple, arch_arm64_32;

/* The table for an ELF e_machine, or NULL when Framewalk does not unwind it. Async-signal-safe. */
const struct arch *arch_of_elf(uint16_t e_machine);

/* Whether code of an architecture of this name may be Thumb: 32-bit ARM as reports, files and uname
 * spell it ("arm", "armv7k", "armv8l", "armeabi-v7a", "ARM (Native)"), never arm64. NULL: false.
 * Return addresses of such code have their lowest bit set where they lead back to Thumb; the
 * instruction is at the address without it. */
bool arch_has_thumb(const char *name);

/* The architecture that this code was compiled for. */
#if defined(__x86_64__)
#define ARCH_NATIVE        arch_x86_64
#define ARCH_NATIVE_HAS_LR false
#elif defined(__aarch64__) && defined(__APPLE__) && defined(__ILP32__)
#define ARCH_NATIVE        arch_arm64_32
#define ARCH_NATIVE_HAS_LR true
#elif defined(__aarch64__)
#define ARCH_NATIVE        arch_aarch64
#define ARCH_NATIVE_HAS_LR true
#elif defined(__arm__) && defined(__APPLE__)
#define ARCH_NATIVE        arch_arm_apple
#define ARCH_NATIVE_HAS_LR true
#elif defined(__arm__)
#define ARCH_NATIVE        arch_arm
#define ARCH_NATIVE_HAS_LR true
#elif defined(__i386__)
#define ARCH_NATIVE        arch_i386
#define ARCH_NATIVE_HAS_LR false
#else
#error "Framewalk does not know this architecture"
#endif

/* A saved register of this code: wider than a pointer on arm64_32. */
#if defined(__aarch64__) || defined(__x86_64__)
#define ARCH_NATIVE_WORD uint64_t
#else
#define ARCH_NATIVE_WORD uint32_t
#endif

/* A thread state. Bit i of `known` says that r[i] holds a value; other r[i] are zero. */
struct regs {
    uint64_t r[ARCH_MAX_REGS];
    uint64_t known;
};

static inline bool regs_has(const struct regs *regs, unsigned n)
{
    return n < ARCH_MAX_REGS && (regs->known >> n & 1);
}

static inline void regs_set(struct regs *regs, unsigned n, uint64_t value)
{
    regs->r[n] = value;
    regs->known |= (uint64_t)1 << n;
}

static inline void regs_forget(struct regs *regs, unsigned n)
{
    regs->r[n] = 0;
    regs->known &= ~((uint64_t)1 << n);
}

#endif
