/*
 * What an x86 instruction does, once its bytes are read: which general registers it writes, and
 * whether it is one of those that unwinding follows.
 *
 * A table of 256 letters for each of the two main opcode maps names the written registers.
 * Invariant: a register that may be written is named, or described by the kind. Specification:
 * Intel SDM volume 2, appendix A.
 */
#include "unwind/x86_decoding.h"

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
static uint16_t bit(unsigned reg)
{
    return (uint16_t)(1u << reg);
}

/* The register of an 8-bit operand: without REX, 4 .. 7 are ah, ch, dh, bh. */
static unsigned byte_register(const struct x86_decoding *d, unsigned reg)
{
    return !d->has_rex && reg >= 4 && reg < 8 ? reg - 4 : reg;
}

/* Instructions of the first two maps whose operands are 8 bits wide. */
static bool has_byte_operands(const struct x86_decoding *d)
{
    uint8_t op = d->opcode;
    if (d->map == MAP_0F)
        return (op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xc0;
    if (op < 0x40)
        return (op & 1) == 0;
    return op == 0x80 || op == 0x82 || op == 0x84 || op == 0x86 || op == 0x88 || op == 0x8a ||
           op == 0xc0 || op == 0xc6 || op == 0xd0 || op == 0xd2 || op == 0xf6 || op == 0xfe;
}

static uint16_t written_by_letter(const struct x86_decoding *d, char letter)
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
static uint16_t written_by_vex(const struct x86_decoding *d)
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

static uint16_t written_by_0f(const struct x86_decoding *d)
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

static uint16_t written_by_one(const struct x86_decoding *d)
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

static uint16_t written(const struct x86_decoding *d)
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

static void set_stack(struct x86_decoding *d, enum x86_kind kind, uint8_t reg)
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

/* The memory operand is a register plus a displacement. */
static bool is_plain(const struct x86_insn *insn)
{
    return insn->base != X86_NO_REG && insn->index == X86_NO_REG;
}

/* mov between whole registers, or a whole register and memory. */
static void classify_mov(struct x86_decoding *d)
{
    struct x86_insn *insn = d->insn;
    bool load = d->opcode == 0x8b;
    if (!x86_full_width(d)) {
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
static void classify_arithmetic(struct x86_decoding *d, int64_t immediate)
{
    unsigned group = d->reg & 7;
    if (d->opcode == 0x80 || d->opcode == 0x82 || d->mod != 3 || !x86_full_width(d))
        return;
    if (group != 0 && group != 5)
        return;
    set(d->insn, X86_ADD, d->rm);
    d->insn->value = group == 0 ? immediate : -immediate;
}

static void classify_ff(struct x86_decoding *d)
{
    switch (d->reg & 7) {
    case 0:
    case 1:
        if (d->mod == 3 && x86_full_width(d)) {
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

static void classify_low(struct x86_decoding *d)
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
static void classify_high(struct x86_decoding *d, int64_t immediate)
{
    struct x86_insn *insn = d->insn;
    switch (d->opcode) {
    case 0x8d:
        if (d->mod == 3)
            set(insn, X86_TRAP, X86_NO_REG);
        else if (is_plain(insn) && x86_full_width(d))
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

/* Swift async functions set a bit of their caller's rbp before they push it and clear it after they
 * popped it (async.h): the register stands for the same value all the time. The bit is a constant,
 * or where the function may run on systems without such frames, a symbol's. */
static bool tags_frame_pointer(const struct x86_decoding *d, int64_t immediate)
{
    enum { TAG_BIT = 60 };
    if (!d->is_64 || !x86_wide(d))
        return false;
    if (d->map == MAP_0F) /* bts, btr $60, %rbp */
        return d->opcode == 0xba && d->mod == 3 && d->rm == X86_BP && immediate == TAG_BIT &&
               ((d->reg & 7) == 5 || (d->reg & 7) == 6);
    return d->opcode == 0x0b && d->reg == X86_BP && d->insn->fixed; /* or symbol(%rip), %rbp */
}

static void classify_0f(struct x86_decoding *d, int64_t immediate)
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

static void classify(struct x86_decoding *d, int64_t immediate)
{
    if (d->vex)
        return;
    if ((d->map == MAP_ONE || d->map == MAP_0F) && tags_frame_pointer(d, immediate)) {
        set(d->insn, X86_ADD, X86_BP);
        d->insn->value = 0;
        return;
    }
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

void x86_effects(struct x86_decoding *d, int64_t immediate)
{
    d->insn->writes = written(d);
    classify(d, immediate);
}

_Static_assert(sizeof writes_one == 257 && sizeof writes_two == 257, "one letter an opcode");
