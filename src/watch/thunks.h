/*
 * The thunks: small pieces of code, CALLS_THUNKS of them, that stand in replaced pointers. Thunk
 * `i` keeps every argument register, calls calls_note or calls_slow, and jumps to what that
 * returned. It leaves no frame: the function finds registers, stack and return address as its
 * caller left them.
 *
 * thunk_ARCH.S assembles for ELF and Mach-O. What happens in it, one after the other:
 *
 *     thunk i   puts i where no argument lives (x86_64 r11d, aarch64 w17, arm ip, i386 the stack)
 *     common    saves the integer argument registers and, where CALLS_HOT, calls calls_note, which
 *               is compiled to use no vector register. Most calls end here: it returns where to go
 *               on, or 0
 *     slow      saves what else may hold arguments (vector registers whole, x87, mask registers),
 *               and the registers that a function keeps, for the walk; calls calls_slow
 *     leave     restores, jumps to the result
 *
 * All of it has unwind information, so that stacks taken inside are whole.
 */
#ifndef WATCH_THUNKS_H
#define WATCH_THUNKS_H

/* Whether there is a calls_note: where thread-local words can be read without a call, and code can
 * be compiled to leave vector registers alone. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define CALLS_HOT 1
#else
#define CALLS_HOT 0
#endif

#define CALLS_THUNKS      1024 /* pairs of a function's name and an address that it has */
#define CALLS_THUNK_BYTES 16

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#include "unwind/row.h"

/* The registers of a call, as the thunk put them down. The stack pointer of the caller is behind
 * `above`. */
#if defined(__x86_64__)
struct calls_saved {
    uintptr_t rbx, r12, r13, r14, r15, rbp;
    uintptr_t rax, rcx;
    uintptr_t rdx, rsi, rdi;
    uintptr_t r8, r9, r10;
    uintptr_t thunk; /* its number in the lower half */
    uintptr_t return_address;
    uintptr_t above[];
};
#elif defined(__aarch64__)
struct calls_saved {   /* registers have 64 bits where pointers have 32, too */
    uint64_t kept[10]; /* x19 .. x28 */
    uint64_t fp, return_address;
    uint64_t argument[8]; /* x0 .. x7 */
    uint64_t x8, thunk;
    uintptr_t above[];
};
#elif defined(__i386__)
struct calls_saved {
    uintptr_t ebx, esi, edi, ebp;
    uintptr_t eax, ecx, edx;
    uintptr_t thunk; /* then the target */
    uintptr_t return_address;
    uintptr_t above[];
};
#elif defined(__arm__)
struct calls_saved {
    uintptr_t argument[4];
    uintptr_t kept[8]; /* r4 .. r11 */
    uintptr_t thunk, return_address;
    uintptr_t above[];
};
#else
#error "Framewalk has no thunks for this architecture"
#endif

extern const char calls_thunk_first[] __attribute__((visibility("hidden")));

static inline uintptr_t calls_thunk_address(uint32_t thunk)
{
    return (uintptr_t)calls_thunk_first + (uintptr_t)thunk * CALLS_THUNK_BYTES;
}

/* Where a thunk goes when calls_slow has done the function's work: returns to the caller what
 * calls_return set. */
extern const char calls_thunk_return[] __attribute__((visibility("hidden")));

/* What walks begin with: the caller's registers at the return address. */
void calls_saved_regs(const struct calls_saved *saved, struct regs *regs);

/* Arguments of functions that take pointers and integers only. */
uintptr_t calls_argument(const struct calls_saved *saved, unsigned index);
void calls_return(struct calls_saved *saved, uintptr_t result);

#if defined(__x86_64__) || defined(__i386__)
/* How much the slow half saves, and what: set once, before the first thunk is in a pointer. */
extern uint32_t calls_vector_bytes __attribute__((visibility("hidden")));
extern uint32_t calls_vector_mask __attribute__((visibility("hidden"))); /* 0: by fxsave */
#endif
/* Finds these out. */
void calls_thunks_prepare(void);

/* Called by the thunks. Return where to go on. */
uintptr_t calls_note(uint32_t thunk, uintptr_t sp, uintptr_t fp, uintptr_t return_address)
    __attribute__((visibility("hidden")));
uintptr_t calls_slow(struct calls_saved *saved) __attribute__((visibility("hidden")));

#endif
#endif
