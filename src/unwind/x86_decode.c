/*
 * Reading the bytes of an x86 instruction: prefixes, opcode, ModRM, displacement, immediate.
 *
 * A table of 256 letters for each of the two main opcode maps says what follows the opcode.
 * Invariant: see x86_decode.h. Specification: Intel SDM volume 2, chapter 2 and appendix A; AMD64
 * Architecture Programmer's Manual volume 6 for XOP.
 */
#include "unwind/x86_decoding.h"

enum { MAX_LENGTH = 15 };

/* What follows the opcode:
 *   .  nothing              m  ModRM               1  8-bit immediate    4  16/32-bit immediate
 *   n  ModRM, 8-bit imm.    N  ModRM, 16/32-bit    v  full immediate     o  memory offset
 *   w  16-bit immediate     W  enter               j  8-bit branch       J  32-bit branch
 *   f  far pointer          t  group 3, 8 bit      T  group 3            x  ModRM, 32-bit imm.
 *   -  no such instruction
 */
static const char layout_one[] = "mmmm14..mmmm14.-"
                                 "mmmm14..mmmm14.."
                                 "mmmm14-.mmmm14-."
                                 "mmmm14-.mmmm14-."
                                 "................"
                                 "................"
                                 "..mm----4N1n...."
                                 "jjjjjjjjjjjjjjjj"
                                 "nNnnmmmmmmmmmmmm"
                                 "..........f....."
                                 "oooo....14......"
                                 "11111111vvvvvvvv"
                                 "nnw.mmnNW.w..1.."
                                 "mmmm11-.mmmmmmmm"
                                 "jjjj1111JJfj...."
                                 "-.--..tT......mm";

static const char layout_two[] = "mmmm-.....-.-m.n"
                                 "mmmmmmmmmmmmmmmm"
                                 "mmmm----mmmmmmmm"
                                 "......-.--------"
                                 "mmmmmmmmmmmmmmmm"
                                 "mmmmmmmmmmmmmmmm"
                                 "mmmmmmmmmmmmmmmm"
                                 "nnnnmmm.mm--mmmm"
                                 "JJJJJJJJJJJJJJJJ"
                                 "mmmmmmmmmmmmmmmm"
                                 "...mnmmm...mnmmm"
                                 "mmmmmmmmmmnmmmmm"
                                 "mmnmnnnm........"
                                 "mmmmmmmmmmmmmmmm"
                                 "mmmmmmmmmmmmmmmm"
                                 "mmmmmmmmmmmmmmmm";
static void read_prefixes(struct x86_decoding *d)
{
    for (;;) {
        uint8_t byte = reader_u8(&d->code);
        if (d->code.failed)
            return;
        switch (byte) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e: break; /* es, cs, ss, ds: flat, or branch hints */
        case 0x64:
        case 0x65: d->segment = true; break;
        case 0x66: d->operand_16 = true; break;
        case 0x67: d->address_short = true; break;
        case 0xf0: break;
        case 0xf2: d->repne = true; break;
        case 0xf3: d->rep = true; break;
        default:
            if (d->is_64 && (byte & 0xf0) == 0x40) {
                /* Only the REX directly before the opcode counts. */
                d->rex = byte & 0xf;
                d->has_rex = true;
                continue;
            }
            d->opcode = byte;
            return;
        }
        d->rex = 0;
        d->has_rex = false;
    }
}

/* After opcode byte c4, c5, 62 or 8f: the payload of a VEX, EVEX or XOP prefix and the opcode. */
static void read_vex(struct x86_decoding *d, uint8_t lead)
{
    uint8_t p = reader_u8(&d->code);
    uint8_t inverted = (uint8_t)~p;
    d->vex = true;
    d->rex = (uint8_t)(inverted >> 5 & 4); /* R */
    if (lead == 0xc5) {
        d->map = MAP_0F;
    } else {
        d->rex |= inverted >> 5 & 3; /* X B */
        d->evex = lead == 0x62;
        d->map = d->evex ? p & 7 : p & 0x1f;
        p = reader_u8(&d->code);
        d->rex |= p >> 4 & 8; /* W */
    }
    if (!d->is_64)
        d->rex &= 8;
    d->vvvv = (uint8_t)~p >> 3 & 0xf;
    d->operand_16 = (p & 3) == 1;
    d->rep = (p & 3) == 2;
    d->repne = (p & 3) == 3;
    if (d->evex)
        reader_u8(&d->code);
    d->opcode = reader_u8(&d->code);
}

/* Whether `byte` is such a prefix. In 32-bit mode c4, c5 and 62 are les, lds and bound when the
 * next byte names a memory operand; 8f is pop when the next byte's reg field is 0. */
static bool starts_vex(const struct x86_decoding *d, uint8_t byte)
{
    struct reader ahead = d->code;
    uint8_t next = reader_u8(&ahead);
    if (byte == 0x8f)
        return (next & 0x1f) >= MAP_XOP_8;
    return (byte == 0xc4 || byte == 0xc5 || byte == 0x62) && (d->is_64 || next >= 0xc0);
}

static bool is_vex_map(const struct x86_decoding *d, uint8_t lead)
{
    if (lead == 0x8f)
        return d->map >= MAP_XOP_8 && d->map <= MAP_XOP_10;
    if (d->map == MAP_FP16_5 || d->map == MAP_FP16_6)
        return d->evex;
    return d->map >= MAP_0F && d->map <= MAP_0F3A;
}

static bool read_opcode(struct x86_decoding *d)
{
    uint8_t byte = d->opcode;
    if (starts_vex(d, byte)) {
        read_vex(d, byte);
        return !d->code.failed && is_vex_map(d, byte);
    }
    if (byte != 0x0f)
        return !d->code.failed;
    d->map = MAP_0F;
    d->opcode = reader_u8(&d->code);
    if (d->opcode == 0x38 || d->opcode == 0x3a) {
        d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
        d->opcode = reader_u8(&d->code);
    }
    return !d->code.failed;
}

static bool invalid_in_64(uint8_t opcode)
{
    switch (opcode) {
    case 0x06:
    case 0x07:
    case 0x0e:
    case 0x16:
    case 0x17:
    case 0x1e:
    case 0x1f:
    case 0x27:
    case 0x2f:
    case 0x37:
    case 0x3f:
    case 0x60:
    case 0x61:
    case 0x82:
    case 0x9a:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xea: return true;
    default: return false;
    }
}

static char operand_layout(const struct x86_decoding *d)
{
    switch (d->map) {
    case MAP_ONE: return d->is_64 && invalid_in_64(d->opcode) ? '-' : layout_one[d->opcode];
    case MAP_0F:
        if (d->vex && d->opcode == 0x77)
            return '.';
        if (d->vex)
            return layout_two[d->opcode] == 'n' ? 'n' : 'm';
        return layout_two[d->opcode];
    case MAP_0F3A:
    case MAP_XOP_8: return 'n';
    case MAP_XOP_10: return 'x';
    default: return 'm';
    }
}

/* Displacement and base of a 16-bit memory operand; never one that unwinding can use. */
static void read_memory_16(struct x86_decoding *d)
{
    if (d->mod == 1)
        reader_skip(&d->code, 1);
    else if (d->mod == 2 || d->rm == 6)
        reader_skip(&d->code, 2);
}

static void read_memory(struct x86_decoding *d, uint8_t rm)
{
    struct x86_insn *insn = d->insn;
    uint8_t base = rm, index = X86_NO_REG, scale = 0;
    if (rm == 4) {
        uint8_t sib = reader_u8(&d->code);
        base = sib & 7;
        index = (uint8_t)((sib >> 3 & 7) | (d->rex & 2) << 2);
        scale = sib >> 6;
        if (index == X86_SP)
            index = X86_NO_REG;
    }
    int64_t displacement = 0;
    if (d->mod == 0 && base == 5) {
        displacement = (int32_t)reader_u32(&d->code);
        base = X86_NO_REG;
        insn->fixed = index == X86_NO_REG && !d->segment;
    } else {
        base |= (uint8_t)((d->rex & 1) << 3);
        if (d->mod == 1)
            displacement = (int8_t)reader_u8(&d->code);
        else if (d->mod == 2)
            displacement = (int32_t)reader_u32(&d->code);
    }
    insn->value = displacement;
    insn->segment = d->segment || d->address_short;
    if (insn->segment)
        return;
    insn->base = base;
    insn->index = index;
    insn->scale = scale;
}

static void read_modrm(struct x86_decoding *d)
{
    uint8_t modrm = reader_u8(&d->code);
    uint8_t rm = modrm & 7;
    d->has_modrm = true;
    d->mod = modrm >> 6;
    d->reg = (uint8_t)((modrm >> 3 & 7) | (d->rex & 4) << 1);
    d->rm = (uint8_t)(rm | (d->rex & 1) << 3);
    /* Moves to and from control and debug registers take the r/m field as a register always. */
    if (d->map == MAP_0F && d->opcode >= 0x20 && d->opcode <= 0x23 && !d->vex)
        d->mod = 3;
    if (d->mod == 3)
        return;
    d->insn->memory = true;
    if (!d->is_64 && d->address_short)
        read_memory_16(d);
    else
        read_memory(d, rm);
}

static int64_t read_signed(struct x86_decoding *d, unsigned size)
{
    uint64_t value = reader_uint(&d->code, size);
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

/* The size of a 16/32-bit immediate. */
static unsigned immediate_size(const struct x86_decoding *d)
{
    return d->operand_16 && !x86_wide(d) ? 2 : 4;
}

/* Reads what the layout letter says; an immediate goes to *immediate. */
static bool read_operands(struct x86_decoding *d, int64_t *immediate)
{
    char layout = operand_layout(d);
    switch (layout) {
    case 'm':
    case 'n':
    case 'N':
    case 'x':
    case 't':
    case 'T': read_modrm(d); break;
    default: break;
    }
    switch (layout) {
    case '-': return false;
    case '1':
    case 'n':
    case 'j': *immediate = read_signed(d, 1); break;
    case '4':
    case 'N': *immediate = read_signed(d, immediate_size(d)); break;
    case 'x': *immediate = read_signed(d, 4); break;
    case 'w': *immediate = reader_u16(&d->code); break;
    case 'W':
        *immediate = reader_u16(&d->code);
        *immediate |= (int64_t)reader_u8(&d->code) << 16;
        break;
    case 'v': *immediate = read_signed(d, x86_wide(d) ? 8 : immediate_size(d)); break;
    case 'J':
        /* In 64-bit mode the operand size does not matter here. */
        *immediate = read_signed(d, d->operand_16 && !d->is_64 ? 2 : 4);
        break;
    case 'o':
        reader_skip(&d->code, d->is_64 ? (d->address_short ? 4 : 8) : (d->address_short ? 2 : 4));
        break;
    case 'f': reader_skip(&d->code, d->operand_16 ? 4 : 6); break;
    case 't':
        if ((d->reg & 7) < 2)
            *immediate = read_signed(d, 1);
        break;
    case 'T':
        if ((d->reg & 7) < 2)
            *immediate = read_signed(d, immediate_size(d));
        break;
    default: break;
    }
    /* SSE4a extrq and insertq have two immediates. */
    if (d->map == MAP_0F && d->opcode == 0x78 && !d->vex && (d->operand_16 || d->repne))
        reader_skip(&d->code, 2);
    return !d->code.failed;
}

bool x86_decode(struct reader code, bool is_64, struct x86_insn *insn)
{
    *insn = (struct x86_insn){.reg = X86_NO_REG,
                              .source = X86_NO_REG,
                              .base = X86_NO_REG,
                              .index = X86_NO_REG,
                              .width = is_64 ? 8 : 4};
    struct reader whole = code;
    if (reader_left(&code) > MAX_LENGTH)
        code = reader_sub(&whole, MAX_LENGTH);
    const uint8_t *start = code.pos;
    struct x86_decoding d = {.code = code, .is_64 = is_64, .insn = insn};
    read_prefixes(&d);
    if (d.code.failed || !read_opcode(&d))
        return false;
    int64_t immediate = 0;
    if (!read_operands(&d, &immediate))
        return false;
    x86_effects(&d, immediate);
    insn->length = (uint8_t)(d.code.pos - start);
    return true;
}

_Static_assert(sizeof layout_one == 257 && sizeof layout_two == 257, "one letter an opcode");
