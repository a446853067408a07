/*
 * The x86 instruction decoder: prefixes, opcode, ModRM, immediate, then what the instruction does.
 *
 * Two tables of 256 letters for each of the two main opcode maps say what follows the opcode and
 * which general registers are written; the few instructions that matter to unwinding are told apart
 * afterwards. Invariant: see x86_decode.h. Specification: Intel SDM volume 2, appendix A.
 */
#include "unwind/x86_decode.h"

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

/* General registers written:
 *   .  none      E  the r/m operand   G  the reg operand   X  both          A  ax
 *   D  dx        P  ax, dx            C  cx                Q  ax to dx      B  the opcode's
 * register Y  ax and the opcode's register   S  si, di, cx        L  ax, si, cx    K  r/m and ax
 */
static const char writes_one[] = "EEGGAA..EEGGAA.."
                                 "EEGGAA..EEGGAA.."
                                 "EEGGAA.AEEGGAA.A"
                                 "EEGGAA.A.......A"
                                 "BBBBBBBBBBBBBBBB"
                                 "................"
                                 "...X.....G.GSSSS"
                                 "................"
                                 "EEEE..XXEEGGEG.."
                                 ".YYYYYYYAD.....A"
                                 "AA..SSSS..SSLLSS"
                                 "BBBBBBBBBBBBBBBB"
                                 "EE..GGEE........"
                                 "EEEEAA.A........"
                                 "CCC.AA......AA.."
                                 "..............EE";

static const char writes_two[] = "EQGG............"
                                 "................"
                                 "EE..........GG.."
                                 ".PPP............"
                                 "GGGGGGGGGGGGGGGG"
                                 "G..............."
                                 "................"
                                 "........E.....E."
                                 "................"
                                 "EEEEEEEEEEEEEEEE"
                                 "..Q.EESS...EEE.G"
                                 "KKGEGGGGG.EEGGGG"
                                 "XX...G..BBBBBBBB"
                                 ".......G........"
                                 "................"
                                 "................";

enum opcode_map {
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
struct decoding {
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

static bool wide(const struct decoding *d)
{
    return d->rex >> 3 & 1;
}

/* The operand fills a whole register. */
static bool full_width(const struct decoding *d)
{
    return d->is_64 ? wide(d) : !d->operand_16;
}

static void read_prefixes(struct decoding *d)
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
static void read_vex(struct decoding *d, uint8_t lead)
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
static bool starts_vex(const struct decoding *d, uint8_t byte)
{
    struct reader ahead = d->code;
    uint8_t next = reader_u8(&ahead);
    if (byte == 0x8f)
        return (next & 0x1f) >= MAP_XOP_8;
    return (byte == 0xc4 || byte == 0xc5 || byte == 0x62) && (d->is_64 || next >= 0xc0);
}

static bool is_vex_map(const struct decoding *d, uint8_t lead)
{
    if (lead == 0x8f)
        return d->map >= MAP_XOP_8 && d->map <= MAP_XOP_10;
    if (d->map == MAP_FP16_5 || d->map == MAP_FP16_6)
        return d->evex;
    return d->map >= MAP_0F && d->map <= MAP_0F3A;
}

static bool read_opcode(struct decoding *d)
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

static char operand_layout(const struct decoding *d)
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
static void read_memory_16(struct decoding *d)
{
    if (d->mod == 1)
        reader_skip(&d->code, 1);
    else if (d->mod == 2 || d->rm == 6)
        reader_skip(&d->code, 2);
}

static void read_memory(struct decoding *d, uint8_t rm)
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

/* The memory operand is a register plus a displacement. */
static bool is_plain(const struct x86_insn *insn)
{
    return insn->base != X86_NO_REG && insn->index == X86_NO_REG;
}

static void read_modrm(struct decoding *d)
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

static int64_t read_signed(struct decoding *d, unsigned size)
{
    uint64_t value = reader_uint(&d->code, size);
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

/* The size of a 16/32-bit immediate. */
static unsigned immediate_size(const struct decoding *d)
{
    return d->operand_16 && !wide(d) ? 2 : 4;
}

/* Reads what the layout letter says; an immediate goes to *immediate. */
static bool read_operands(struct decoding *d, int64_t *immediate)
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
    case 'v': *immediate = read_signed(d, wide(d) ? 8 : immediate_size(d)); break;
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

static uint16_t bit(unsigned reg)
{
    return (uint16_t)(1u << reg);
}

/* The register of an 8-bit operand: without REX, 4 .. 7 are ah, ch, dh, bh. */
static unsigned byte_register(const struct decoding *d, unsigned reg)
{
    return !d->has_rex && reg >= 4 && reg < 8 ? reg - 4 : reg;
}

/* Instructions of the first two maps whose operands are 8 bits wide. */
static bool has_byte_operands(const struct decoding *d)
{
    uint8_t op = d->opcode;
    if (d->map == MAP_0F)
        return (op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xc0;
    if (op < 0x40)
        return (op & 1) == 0;
    return op == 0x80 || op == 0x82 || op == 0x84 || op == 0x86 || op == 0x88 || op == 0x8a ||
           op == 0xc0 || op == 0xc6 || op == 0xd0 || op == 0xd2 || op == 0xf6 || op == 0xfe;
}

static uint16_t written_by_letter(const struct decoding *d, char letter)
{
    bool narrow = has_byte_operands(d);
    unsigned rm = narrow ? byte_register(d, d->rm) : d->rm;
    unsigned reg = narrow ? byte_register(d, d->reg) : d->reg;
    uint16_t e = d->has_modrm && d->mod == 3 ? bit(rm) : 0;
    unsigned low = (unsigned)(d->opcode & 7) | (unsigned)(d->rex & 1) << 3;
    if (d->map == MAP_ONE && d->opcode >= 0xb0 && d->opcode < 0xb8)
        low = byte_register(d, low);
    switch (letter) {
    case 'E': return e;
    case 'G': return bit(reg);
    case 'X': return (uint16_t)(e | bit(reg));
    case 'K': return (uint16_t)(e | bit(X86_AX));
    case 'A': return bit(X86_AX);
    case 'D': return bit(X86_DX);
    case 'C': return bit(X86_CX);
    case 'P': return (uint16_t)(bit(X86_AX) | bit(X86_DX));
    case 'Q': return (uint16_t)(bit(X86_AX) | bit(X86_CX) | bit(X86_DX) | bit(X86_BX));
    case 'B': return bit(low);
    case 'Y': return (uint16_t)(bit(low) | bit(X86_AX));
    case 'S': return (uint16_t)(bit(X86_SI) | bit(X86_DI) | bit(X86_CX));
    case 'L': return (uint16_t)(bit(X86_AX) | bit(X86_SI) | bit(X86_CX));
    default: return 0;
    }
}

/* General registers written by VEX and EVEX instructions. */
static uint16_t written_by_vex(const struct decoding *d)
{
    uint16_t e = d->mod == 3 ? bit(d->rm) : 0;
    uint16_t g = bit(d->reg);
    if (d->map == MAP_0F || d->map == MAP_FP16_5) {
        switch (d->opcode) {
        case 0x2c:
        case 0x2d: return g; /* vcvt(t)s[sdh]2si */
        case 0x50:
        case 0xd7:
        case 0xc5: return d->map == MAP_0F ? g : 0; /* vmovmsk, vpmovmskb, vpextrw */
        case 0x78:
        case 0x79: return d->evex && (d->rep || d->repne) ? g : 0; /* vcvt(t)s[sdh]2usi */
        case 0x7e: return d->rep ? 0 : e;                          /* vmovd, vmovq, vmovw */
        case 0x93: return d->evex ? 0 : g;                         /* kmov */
        default: return 0;
        }
    }
    if (d->map == MAP_0F38 && !d->evex) {
        switch (d->opcode) {
        case 0xf2:
        case 0xf5:
        case 0xf7: return g;                            /* andn, bzhi, pdep, pext, shifts */
        case 0xf3: return bit(d->vvvv);                 /* blsr, blsmsk, blsi */
        case 0xf6: return (uint16_t)(g | bit(d->vvvv)); /* mulx */
        default: return d->opcode >= 0xe0 && d->opcode <= 0xef ? (uint16_t)(g | bit(d->vvvv)) : 0;
        }
    }
    if (d->map == MAP_0F3A) {
        if (d->opcode >= 0x14 && d->opcode <= 0x17)
            return e; /* vpextr, vextractps */
        if (d->opcode == 0xf0 && !d->evex)
            return g; /* rorx */
        if (d->opcode >= 0x60 && d->opcode <= 0x63)
            return bit(X86_CX); /* vpcmp(e|i)str(i|m) */
    }
    if (d->map == MAP_XOP_9 && d->opcode <= 0x02)
        return bit(d->vvvv); /* TBM: blcfill and others */
    if ((d->map == MAP_XOP_9 && d->opcode == 0x12) || (d->map == MAP_XOP_10 && d->opcode == 0x10))
        return (uint16_t)(e | g); /* llwpcb, slwpcb, bextr */
    return 0;
}

static uint16_t written_by_0f(const struct decoding *d)
{
    uint16_t e = d->mod == 3 ? bit(d->rm) : 0;
    switch (d->opcode) {
    case 0x01: return d->mod == 3 ? (uint16_t)(e | written_by_letter(d, 'Q')) : 0;
    case 0x05:
    case 0x34:
        return (uint16_t)(bit(X86_AX) | bit(X86_CX) | bit(X86_DX) | (d->is_64 ? bit(11) : 0));
    case 0x1e: return d->rep && (d->reg & 7) == 1 ? e : 0; /* rdssp */
    case 0x7e: return d->rep ? 0 : e;
    case 0xae: return d->rep && (d->reg & 7) < 2 ? e : 0; /* rdfsbase, rdgsbase */
    case 0xba: return (d->reg & 7) == 4 ? 0 : e;
    case 0xc7: return (d->reg & 7) == 1 ? written_by_letter(d, 'P') : e;
    default: return written_by_letter(d, writes_two[d->opcode]);
    }
}

static uint16_t written_by_one(const struct decoding *d)
{
    unsigned group = d->reg & 7;
    switch (d->opcode) {
    case 0x80:
    case 0x81:
    case 0x82:
    case 0x83: return group == 7 ? 0 : written_by_letter(d, 'E'); /* cmp */
    case 0x90: return d->rex & 1 ? written_by_letter(d, 'Y') : 0;
    case 0x9b: return 0;
    case 0xcd: return bit(X86_AX);
    case 0xdf: return d->mod == 3 && group == 4 ? bit(X86_AX) : 0; /* fnstsw */
    case 0xf6:
    case 0xf7:
        if (group < 2)
            return 0;
        return written_by_letter(d, group < 4 ? 'E' : 'P');
    case 0xff: return group < 2 ? written_by_letter(d, 'E') : 0;
    default: return written_by_letter(d, writes_one[d->opcode]);
    }
}

static uint16_t written(const struct decoding *d)
{
    if (d->vex)
        return written_by_vex(d);
    switch (d->map) {
    case MAP_ONE: return written_by_one(d);
    case MAP_0F: return written_by_0f(d);
    case MAP_0F38:
        if (d->opcode == 0xf0 || d->opcode == 0xf6 || d->opcode == 0xf8)
            return bit(d->reg); /* movbe, crc32, adcx, adox */
        if (d->opcode == 0xf1)
            return d->repne ? bit(d->reg) : 0;
        return 0;
    default: /* 0F 3A */
        if (d->opcode >= 0x14 && d->opcode <= 0x17)
            return d->mod == 3 ? bit(d->rm) : 0;
        return d->opcode >= 0x60 && d->opcode <= 0x63 ? bit(X86_CX) : 0;
    }
}

static void set(struct x86_insn *insn, enum x86_kind kind, uint8_t reg)
{
    insn->kind = (uint8_t)kind;
    insn->reg = reg;
    insn->writes = 0;
}

static void set_stack(struct decoding *d, enum x86_kind kind, uint8_t reg)
{
    set(d->insn, kind, reg);
    d->insn->width = d->operand_16 ? 2 : d->is_64 ? 8 : 4;
}

static void set_branch(struct x86_insn *insn, enum x86_kind kind, int64_t target)
{
    uint16_t writes = insn->writes;
    set(insn, kind, X86_NO_REG);
    insn->writes = writes;
    insn->target = target;
}

/* mov between whole registers, or a whole register and memory. */
static void classify_mov(struct decoding *d)
{
    struct x86_insn *insn = d->insn;
    bool load = d->opcode == 0x8b;
    if (!full_width(d)) {
        if (d->mod != 3 && !load && is_plain(insn)) {
            set(insn, X86_STORE, X86_NO_REG);
            insn->source = X86_NO_REG;
        }
    } else if (d->mod == 3) {
        set(insn, X86_MOV, load ? d->reg : d->rm);
        insn->source = load ? d->rm : d->reg;
    } else if (!is_plain(insn)) {
        return;
    } else if (load) {
        set(insn, X86_LOAD, d->reg);
    } else {
        set(insn, X86_STORE, X86_NO_REG);
        insn->source = d->reg;
    }
}

/* add, sub and others with an immediate. */
static void classify_arithmetic(struct decoding *d, int64_t immediate)
{
    unsigned group = d->reg & 7;
    if (d->opcode == 0x80 || d->opcode == 0x82 || d->mod != 3 || !full_width(d))
        return;
    if (group != 0 && group != 5)
        return;
    set(d->insn, X86_ADD, d->rm);
    d->insn->value = group == 0 ? immediate : -immediate;
}

static void classify_ff(struct decoding *d)
{
    switch (d->reg & 7) {
    case 0:
    case 1:
        if (d->mod == 3 && full_width(d)) {
            set(d->insn, X86_ADD, d->rm);
            d->insn->value = (d->reg & 7) == 0 ? 1 : -1;
        }
        break;
    case 2: set(d->insn, X86_CALL_INDIRECT, d->mod == 3 ? d->rm : X86_NO_REG); break;
    case 4: set(d->insn, X86_JUMP_INDIRECT, d->mod == 3 ? d->rm : X86_NO_REG); break;
    case 6: set_stack(d, X86_PUSH, d->mod == 3 ? d->rm : X86_NO_REG); break;
    default: set(d->insn, X86_TRAP, X86_NO_REG); break;
    }
}

static void classify_low(struct decoding *d)
{
    uint8_t op = d->opcode;
    uint8_t low = (uint8_t)((op & 7) | (d->rex & 1) << 3);
    if (op < 0x40) { /* push and pop of segment registers, i386 */
        if ((op & 7) == 6)
            set_stack(d, X86_PUSH, X86_NO_REG);
        else if ((op & 7) == 7 && op < 0x20)
            set_stack(d, X86_POP, X86_NO_REG);
    } else if (op < 0x50) {
        if (!d->operand_16) {
            set(d->insn, X86_ADD, op & 7);
            d->insn->value = op < 0x48 ? 1 : -1;
        }
    } else if (op < 0x58) {
        set_stack(d, X86_PUSH, low);
    } else if (op < 0x60) {
        set_stack(d, X86_POP, low);
    } else if (op == 0x60 || op == 0x61) {
        set_stack(d, op == 0x60 ? X86_PUSHA : X86_POPA, X86_NO_REG);
    } else if (op == 0x68 || op == 0x6a) {
        set_stack(d, X86_PUSH, X86_NO_REG);
    }
}

/* Opcodes from 0x70 on, except those of the groups above. */
static void classify_high(struct decoding *d, int64_t immediate)
{
    struct x86_insn *insn = d->insn;
    switch (d->opcode) {
    case 0x8d:
        if (d->mod == 3)
            set(insn, X86_TRAP, X86_NO_REG);
        else if (is_plain(insn) && full_width(d))
            set(insn, X86_LEA, d->reg);
        break;
    case 0x8f:
        if ((d->reg & 7) == 0)
            set_stack(d, X86_POP, d->mod == 3 ? d->rm : X86_NO_REG);
        else
            set(insn, X86_TRAP, X86_NO_REG);
        break;
    case 0x90:
        if (!(d->rex & 1))
            set(insn, X86_NOP, X86_NO_REG);
        break;
    case 0x9c: set_stack(d, X86_PUSH, X86_NO_REG); break;
    case 0x9d: set_stack(d, X86_POP, X86_NO_REG); break;
    case 0xc2:
    case 0xc3:
        set(insn, X86_RET, X86_NO_REG);
        insn->value = d->opcode == 0xc2 ? immediate : 0;
        break;
    case 0xc6:
    case 0xc7:
        if (d->mod != 3 && is_plain(insn)) {
            set(insn, X86_STORE, X86_NO_REG);
            insn->source = X86_NO_REG;
        } else if (d->mod == 3 && d->opcode == 0xc7 && (d->reg & 7) == 7) {
            set_branch(insn, X86_BRANCH, immediate); /* xbegin */
            insn->writes = bit(X86_AX);
        }
        break;
    case 0xc8:
        if (immediate >> 16)
            set(insn, X86_TRAP, X86_NO_REG); /* nested frames: nobody uses them */
        else
            set_stack(d, X86_ENTER, X86_BP);
        insn->value = immediate & 0xffff;
        break;
    case 0xc9: set_stack(d, X86_LEAVE, X86_BP); break;
    case 0xcd:
        if ((immediate & 0xff) == 0x80)
            insn->kind = X86_SYSCALL;
        else
            set(insn, X86_TRAP, X86_NO_REG);
        break;
    case 0x9a:
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xea:
    case 0xf4: set(insn, X86_TRAP, X86_NO_REG); break;
    case 0xe8: set_branch(insn, X86_CALL, immediate); break;
    case 0xe9:
    case 0xeb: set_branch(insn, X86_JUMP, immediate); break;
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3: set_branch(insn, X86_BRANCH, immediate); break;
    default:
        if (d->opcode >= 0x70 && d->opcode < 0x80)
            set_branch(insn, X86_BRANCH, immediate);
        break;
    }
}

static void classify_0f(struct decoding *d, int64_t immediate)
{
    struct x86_insn *insn = d->insn;
    switch (d->opcode) {
    case 0x05:
    case 0x34: insn->kind = X86_SYSCALL; break;
    case 0x07:
    case 0x0b:
    case 0x35:
    case 0xaa:
    case 0xb9:
    case 0xff: set(insn, X86_TRAP, X86_NO_REG); break;
    case 0x1e:
        if (d->rep && d->mod == 3 && (d->rm == 2 || d->rm == 3) && d->reg == 7)
            set(insn, X86_ENDBR, X86_NO_REG);
        break;
    case 0x1f: set(insn, X86_NOP, X86_NO_REG); break;
    case 0xa0:
    case 0xa8: set_stack(d, X86_PUSH, X86_NO_REG); break;
    case 0xa1:
    case 0xa9: set_stack(d, X86_POP, X86_NO_REG); break;
    default:
        if (d->opcode >= 0x80 && d->opcode < 0x90)
            set_branch(insn, X86_BRANCH, immediate);
        break;
    }
}

static void classify(struct decoding *d, int64_t immediate)
{
    if (d->vex)
        return;
    if (d->map == MAP_0F) {
        classify_0f(d, immediate);
        return;
    }
    if (d->map != MAP_ONE)
        return;
    switch (d->opcode) {
    case 0x89:
    case 0x8b: classify_mov(d); break;
    case 0x80:
    case 0x81:
    case 0x82:
    case 0x83: classify_arithmetic(d, immediate); break;
    case 0xff: classify_ff(d); break;
    default:
        if (d->opcode < 0x70)
            classify_low(d);
        else
            classify_high(d, immediate);
        break;
    }
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
    struct decoding d = {.code = code, .is_64 = is_64, .insn = insn};
    read_prefixes(&d);
    if (d.code.failed || !read_opcode(&d))
        return false;
    int64_t immediate = 0;
    if (!read_operands(&d, &immediate))
        return false;
    insn->writes = written(&d);
    if (insn->kind == X86_OTHER)
        classify(&d, immediate);
    insn->length = (uint8_t)(d.code.pos - start);
    return true;
}

_Static_assert(sizeof layout_one == 257 && sizeof layout_two == 257, "one letter an opcode");
_Static_assert(sizeof writes_one == 257 && sizeof writes_two == 257, "one letter an opcode");
