/*
 * x86 instructions, as far as unwinding needs them: how long one is, where it leads, and what it
 * does to the stack pointer and the other general registers. analysis_x86.c runs code with it.
 *
 * Invariant: what the decoder does not know it refuses; a register that an instruction may write is
 * always in `writes` or described by `kind`.
 *
 * Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 (formats,
 * VEX, EVEX) and appendix A (opcode maps).
 */
#ifndef UNWIND_X86_DECODE_H
#define UNWIND_X86_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

/* Registers by their number in instructions (not the DWARF number). */
enum { X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_NO_REG = 255 };

enum x86_kind {
    X86_OTHER,         /* `writes` says it all */
    X86_NOP,           /* nop of any length */
    X86_ENDBR,         /* endbr32, endbr64 */
    X86_PUSH,          /* push: register `reg`, or X86_NO_REG for anything else */
    X86_POP,           /* pop to register `reg`, or X86_NO_REG */
    X86_PUSHA,         /* i386: eight registers, from eax down to edi */
    X86_POPA,          /* i386 */
    X86_ENTER,         /* enter $value, $0 */
    X86_LEAVE,         /* sp = bp; pop bp */
    X86_MOV,           /* reg = source, whole registers */
    X86_LOAD,          /* reg = word at [base + value] */
    X86_STORE,         /* word at [base + value] = source (X86_NO_REG: something else) */
    X86_LEA,           /* reg = base + value */
    X86_ADD,           /* reg += value */
    X86_CALL,          /* call of `target` */
    X86_CALL_INDIRECT, /* call through a register or memory */
    X86_RET,           /* ret; pops `value` more bytes */
    X86_JUMP,          /* jmp to `target` */
    X86_BRANCH,        /* may go to `target` */
    X86_JUMP_INDIRECT, /* jmp through a register or memory */
    X86_SYSCALL,       /* syscall, sysenter, int 0x80 */
    X86_TRAP,          /* never goes on: hlt, ud2, int3, far jumps and returns */
};

struct x86_insn {
    uint8_t length; /* bytes, 1 .. 15 */
    uint8_t kind;   /* enum x86_kind */
    uint8_t reg;    /* destination, or what is pushed */
    uint8_t source; /* X86_MOV, X86_STORE */
    uint8_t base;   /* memory operand: base register; X86_NO_REG when there is none. The address is
                       base + (index << scale) + value */
    uint8_t index;  /* memory operand: index register or X86_NO_REG */
    uint8_t scale;
    uint8_t width;   /* bytes that push and pop move */
    bool memory;     /* has a memory operand */
    bool segment;    /* the memory operand counts from fs or gs; base and index are not given */
    bool fixed;      /* the memory operand is at a fixed or pc-relative address */
    uint16_t writes; /* general registers that get a value not described by `kind` */
    int64_t value;   /* displacement or immediate, see `kind` */
    int64_t target;  /* X86_CALL, X86_JUMP, X86_BRANCH: relative to the end of this instruction */
};

/* Decodes the instruction at the front of `code`. False: not an instruction, or cut off.
 * Async-signal-safe. */
bool x86_decode(struct reader code, bool is_64, struct x86_insn *insn);

#endif
