/*
 * What the two halves of the x86 decoder share: x86_decode.c reads the bytes of an instruction,
 * x86_effects.c says what it does. See x86_decode.h.
 */
#ifndef UNWIND_X86_DECODING_H
#define UNWIND_X86_DECODING_H

#include "unwind/x86_decode.h"

enum x86_opcode_map {
    MAP_ONE,
    MAP_0F,
    MAP_0F38,
    MAP_0F3A,
    MAP_FP16_5 = 5,
    MAP_FP16_6 = 6,
    MAP_XOP_8 = 8, /* AMD XOP: as VEX, after opcode byte 8f */
    MAP_XOP_9 = 9,
    MAP_XOP_10 = 10,
};

/* One instruction while it is read. */
struct x86_decoding {
    struct reader code;
    bool is_64;
    bool operand_16, address_short, repne, rep, segment; /* prefixes */
    bool has_rex, vex, evex;
    uint8_t rex;  /* W R X B in bits 3 .. 0 */
    uint8_t vvvv; /* VEX second source or destination */
    uint8_t map;
    uint8_t opcode;
    bool has_modrm;
    uint8_t mod, reg, rm; /* reg and rm with their REX bits */
    struct x86_insn *insn;
};

static inline bool x86_wide(const struct x86_decoding *d)
{
    return d->rex >> 3 & 1;
}

/* The operand fills a whole register. */
static inline bool x86_full_width(const struct x86_decoding *d)
{
    return d->is_64 ? x86_wide(d) : !d->operand_16;
}

/* Fills in kind, registers and written registers of d->insn, whose bytes have been read. */
void x86_effects(struct x86_decoding *d, int64_t immediate);

#endif
