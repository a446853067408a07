/*
 * Rows for x86_64 and i386 code that no unwind table describes: C runtime glue, PLT stubs, system
 * call wrappers, assembler.
 *
 * Invariant: a row is given only when the instructions prove it. Evidence, in this order:
 *   1. the address lies between the process entry point and the calls made there: outermost frame;
 *   2. it lies in a PLT stub, whose few shapes fix the stack at each instruction;
 *   3. the way from here to the function's return (x86_trace_to_return), and the way from the
 *      function's first instruction to here, where its bounds are known (x86_trace_to). Each alone
 *      is enough; when both come to a result and differ, there is no answer.
 *
 * System V ABI, AMD64 and Intel386 supplements: process initialisation, PLT, register usage.
 */
#include "unwind/analysis.h"
#include "unwind/x86_trace.h"

#include <string.h>

enum { MAX_START = 64 /* instructions from the entry point on */ };

static const uint8_t dwarf_64[X86_REGS] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* What is known of a frame before it becomes a row. `cfa` counts from a register at the address
 * asked for; a register's place is X86_RELATIVE 0 (not touched), a word at cfa + offset
 * (`at_cfa`), or unknown. */
struct frame {
    uint8_t cfa_reg;
    int64_t cfa_offset;
    struct place {
        bool same, at_cfa;
        int64_t offset; /* from the CFA */
    } saved[X86_REGS];
};

static bool is_64(const struct unwind_image *image)
{
    return image->arch->id == ARCH_X86_64;
}

static uint8_t dwarf_number(const struct unwind_image *image, unsigned reg)
{
    return is_64(image) ? dwarf_64[reg] : (uint8_t)reg;
}

static bool callee_saved(const struct unwind_image *image, unsigned reg)
{
    return image->arch->callee_saved >> dwarf_number(image, reg) & 1;
}

static unsigned reg_count(const struct unwind_image *image)
{
    return is_64(image) ? 16 : 8;
}

static bool decode(const struct unwind_image *image, uint64_t at, struct x86_insn *insn)
{
    struct reader code = x86_code_at(image, at);
    return !code.failed && x86_decode(code, is_64(image), insn);
}

/* ------------------------------------------------------------------ the entry point */

/* Whether the code at `next` goes on with the result of the call before it, or puts sp back: what a
 * process entry does after a call that returns, and no function does at its beginning. */
static bool continues_after_call(const struct unwind_image *image, uint64_t next)
{
    struct x86_insn insn;
    for (unsigned i = 0; i < 3 && decode(image, next, &insn); i++) {
        if (insn.kind == X86_MOV && (insn.source == X86_AX || insn.reg == X86_SP))
            return true;
        if (insn.kind == X86_LOAD && insn.reg == X86_SP)
            return true;
        if (insn.kind != X86_OTHER && insn.kind != X86_LEA && insn.kind != X86_ADD)
            return false;
        next += insn.length;
    }
    return false;
}

static bool is_process_entry(const struct unwind_image *image, uint64_t vaddr, bool exact)
{
    uint64_t at = image->entry;
    struct x86_insn insn;
    for (unsigned i = 0; at && i < MAX_START && decode(image, at, &insn); i++) {
        uint64_t next = at + insn.length;
        if (exact ? vaddr == at : vaddr - at < insn.length)
            return true;
        switch (insn.kind) {
        case X86_TRAP:
        case X86_RET:
        case X86_JUMP_INDIRECT:
        case X86_JUMP: return false;
        case X86_CALL:
        case X86_CALL_INDIRECT:
            if (insn.target != 0 && !continues_after_call(image, next))
                return false;
            break;
        default: break;
        }
        at = next;
    }
    return false;
}

/* Whether the code at `next`, behind a call, ends the thread with what the call returned: the
 * outermost function of a thread, as C libraries write it in assembler.
 *
 *     mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall        x86_64
 *     mov %eax, %ebx; xor %eax, %eax; inc %eax; int $0x80          i386 */
static bool exits_thread(const struct unwind_image *image, uint64_t next)
{
    enum role { PREPARES, SETS_NUMBER, ENTERS };
    static const struct insn {
        uint8_t bytes[5], size, role;
    } known[2][7] = {{{{0x89, 0xc3}, 2, PREPARES},
                      {{0x31, 0xdb}, 2, PREPARES},
                      {{0x31, 0xc0}, 2, PREPARES},
                      {{0x40}, 1, SETS_NUMBER},
                      {{0xb0, 1}, 2, SETS_NUMBER},
                      {{0xb8, 1, 0, 0, 0}, 5, SETS_NUMBER},
                      {{0xcd, 0x80}, 2, ENTERS}},
                     {{{0x89, 0xc7}, 2, PREPARES},
                      {{0x48, 0x89, 0xc7}, 3, PREPARES},
                      {{0x31, 0xff}, 2, PREPARES},
                      {{0x31, 0xc0}, 2, PREPARES},
                      {{0xb0, 60}, 2, SETS_NUMBER},
                      {{0xb8, 60, 0, 0, 0}, 5, SETS_NUMBER},
                      {{0x0f, 0x05}, 2, ENTERS}}};
    enum { KNOWN = sizeof known[0] / sizeof known[0][0], MOST = 5 /* instructions */ };
    bool number = false;
    for (unsigned i = 0; i < MOST; i++) {
        const struct insn *insn = known[is_64(image)];
        const struct insn *end = insn + KNOWN;
        const uint8_t *bytes;
        for (; insn < end; insn++) {
            struct reader code = x86_code_at(image, next);
            if (reader_take(&code, insn->size, &bytes) && !memcmp(bytes, insn->bytes, insn->size))
                break;
        }
        if (insn == end)
            return false;
        if (insn->role == ENTERS)
            return number;
        number = number || insn->role == SETS_NUMBER;
        next += insn->size;
    }
    return false;
}

/* ------------------------------------------------------------------ PLT stubs */

/* Through a word at a fixed place, or counted from the GOT pointer of i386 (ebx). */
static bool through_got(const struct unwind_image *image, const struct x86_insn *insn)
{
    return insn->reg == X86_NO_REG && insn->memory &&
           (insn->fixed || (!is_64(image) && insn->base == X86_BX && insn->index == X86_NO_REG));
}

/* The instructions of a stub, its `count` first ones without endbr, and where they stand. */
struct stub {
    struct x86_insn insn[3];
    uint64_t at[4];
};

static bool read_stub(const struct unwind_image *image, uint64_t start, unsigned count,
                      struct stub *stub)
{
    for (unsigned i = 0; i < count; i++) {
        stub->at[i] = start;
        if (!decode(image, start, &stub->insn[i]))
            return false;
        start += stub->insn[i].length;
    }
    stub->at[count] = start;
    return true;
}

/* push $n; jmp PLT0 */
static bool is_lazy_pair(const struct x86_insn *push)
{
    return push[0].kind == X86_PUSH && push[0].reg == X86_NO_REG && !push[0].memory &&
           push[1].kind == X86_JUMP;
}

/* The stub that begins at `start`, when it is one of these:
 *   PLT entry    [endbr] [jmp *slot] push $n; jmp PLT0
 *   .plt.sec     [endbr] jmp *slot
 *   PLT0         push link map; jmp *resolver        (entered with one word pushed)
 * True when `at` is one of its instructions; then *words is how many words lie between sp and the
 * return address. */
static bool plt_depth(const struct unwind_image *image, uint64_t start, uint64_t at,
                      unsigned *words)
{
    struct stub stub;
    uint64_t first = start;
    *words = 0;
    if (!read_stub(image, start, 1, &stub))
        return false;
    if (stub.insn[0].kind == X86_ENDBR)
        first = stub.at[1];
    bool at_entry = at == start || at == first;
    bool two = read_stub(image, first, 2, &stub);
    if (two && is_lazy_pair(stub.insn)) {
        *words = at == stub.at[1];
        return at_entry || at == stub.at[1];
    }
    if (two && first == start && stub.insn[0].kind == X86_PUSH &&
        through_got(image, &stub.insn[0]) && stub.insn[1].kind == X86_JUMP_INDIRECT &&
        through_got(image, &stub.insn[1])) {
        *words = at == stub.at[1] ? 2 : 1;
        return at == stub.at[0] || at == stub.at[1];
    }
    if (!read_stub(image, first, 1, &stub) || stub.insn[0].kind != X86_JUMP_INDIRECT ||
        !through_got(image, &stub.insn[0]))
        return false;
    if (at_entry)
        return true;
    if (!read_stub(image, first, 3, &stub) || !is_lazy_pair(&stub.insn[1]))
        return false;
    *words = at == stub.at[2];
    return at == stub.at[1] || at == stub.at[2];
}

/* Whether stubs may be at `at`: other code has their bytes inside its instructions. */
static bool may_be_plt(const struct unwind_image *image, uint64_t at)
{
    if (image->macho)
        return false; /* it has stubs of other shapes, see stubs_macho.c */
    bool known = false;
    for (unsigned i = 0; i < UNWIND_STUB_AREAS; i++)
        known = known || image->plt[i].size;
    return !known || x86_in_plt(image, at);
}

/* Nothing was saved; `words` words lie between sp and the return address. */
static void frame_of_nothing(const struct unwind_image *image, unsigned words, struct frame *frame)
{
    *frame = (struct frame){.cfa_reg = X86_SP,
                            .cfa_offset = (int64_t)(words + 1) * image->arch->pointer_size};
    for (unsigned i = 0; i < X86_REGS; i++)
        frame->saved[i].same = true;
}

/* Stubs begin at multiples of 16 bytes, those of .plt.got at multiples of 8. */
static bool plt_frame(const struct unwind_image *image, uint64_t at, struct frame *frame)
{
    unsigned words = 0;
    if (!may_be_plt(image, at))
        return false;
    if (!plt_depth(image, at & ~(uint64_t)15, at, &words) &&
        !plt_depth(image, at & ~(uint64_t)7, at, &words))
        return false;
    frame_of_nothing(image, words, frame);
    return true;
}

/* ------------------------------------------------------------------ traces to frames */

static struct place place_of(struct x86_value value, unsigned reg, uint8_t cfa_reg,
                             int64_t cfa_offset)
{
    struct place place = {false, false, 0};
    if (value.how == X86_RELATIVE && value.reg == reg && value.offset == 0) {
        place.same = true;
    } else if (value.how == X86_WORD && value.reg == cfa_reg) {
        place.at_cfa = true;
        place.offset = value.offset - cfa_offset;
    }
    return place;
}

/* The state before the return: the return address is at its stack pointer. */
static bool frame_from_return(const struct unwind_image *image, const struct x86_state *state,
                              struct frame *frame)
{
    struct x86_value sp = state->reg[X86_SP];
    int64_t word = image->arch->pointer_size;
    if (sp.how != X86_RELATIVE || sp.offset % word)
        return false;
    if (sp.reg == X86_SP ? sp.offset < 0 : !callee_saved(image, sp.reg))
        return false;
    *frame = (struct frame){.cfa_reg = sp.reg, .cfa_offset = sp.offset + word};
    for (unsigned i = 0; i < X86_REGS; i++)
        frame->saved[i] = place_of(state->reg[i], i, frame->cfa_reg, frame->cfa_offset);
    return true;
}

static bool holds_own(struct x86_value value, unsigned reg)
{
    return value.how == X86_RELATIVE && value.reg == reg && value.offset == 0;
}

/* Not yet taken off the stack again. */
static bool is_live(const struct x86_state *state, const struct x86_slot *slot)
{
    struct x86_value sp = state->reg[X86_SP];
    return sp.how != X86_RELATIVE || sp.reg != X86_SP || slot->offset >= sp.offset;
}

/* The state here, counted from the function's first instruction, where the return address is at
 * the stack pointer. `prefer` is the register to count the CFA from, when it is possible. A
 * register that has been saved lies where it was saved: what is still in it may have been
 * overwritten by code further on that jumped back to here. */
static bool frame_from_entry(const struct unwind_image *image, const struct x86_state *state,
                             uint8_t prefer, struct frame *frame)
{
    int64_t word = image->arch->pointer_size;
    const uint8_t candidates[] = {prefer, X86_SP, X86_BP};
    unsigned i = 0;
    while (i < 3 && (state->reg[candidates[i]].how != X86_RELATIVE ||
                     state->reg[candidates[i]].reg != X86_SP))
        i++;
    if (i == 3)
        return false;
    uint8_t base = candidates[i];
    int64_t offset = word - state->reg[base].offset;
    if (base == X86_SP && (offset < word || offset % word))
        return false;
    *frame = (struct frame){.cfa_reg = base, .cfa_offset = offset};
    for (unsigned reg = 0; reg < X86_REGS; reg++) {
        frame->saved[reg].same = holds_own(state->reg[reg], reg);
        for (unsigned j = 0; j < state->slots; j++) {
            const struct x86_slot *slot = &state->slot[j];
            if (slot->reg == X86_SP && holds_own(slot->value, reg) && is_live(state, slot))
                frame->saved[reg] = (struct place){false, true, slot->offset - word};
        }
    }
    return true;
}

/* Adds to `frame` what `other` knows. False when they contradict each other. */
static bool combine(struct frame *frame, const struct frame *other)
{
    if (frame->cfa_reg == other->cfa_reg && frame->cfa_offset != other->cfa_offset)
        return false;
    for (unsigned i = 0; i < X86_REGS; i++) {
        struct place *mine = &frame->saved[i];
        const struct place *theirs = &other->saved[i];
        if (mine->at_cfa && theirs->at_cfa && mine->offset != theirs->offset)
            return false;
        if (!mine->same && !mine->at_cfa)
            *mine = *theirs;
    }
    return true;
}

static bool takes_down(const struct x86_insn *insn)
{
    return insn->kind == X86_POP || insn->kind == X86_LEAVE ||
           (insn->kind == X86_ADD && insn->reg == X86_SP);
}

/* Whether the instruction in front of `at` takes the frame down, read from the function's start on.
 */
static bool behind_take_down(const struct unwind_image *image, uint64_t lo, uint64_t at)
{
    enum { MAX_FUNCTION = 1 << 16 };
    struct x86_insn insn = {.kind = X86_OTHER};
    if (at - lo > MAX_FUNCTION)
        return false;
    while (lo < at && decode(image, lo, &insn))
        lo += insn.length;
    return lo == at && takes_down(&insn);
}

/* What stands at `at` when the frame is taken down from there on, and left in one go: whatever
 * leads here, and through however many ways that only seem to, the frame is what these instructions
 * say. A jump that leaves is a tail call when something was taken down before it. */
enum leaving { STAYS, RETURNS, TAIL_CALLS };

static enum leaving leaves(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                           uint64_t start)
{
    enum { EPILOGUE = 16 /* instructions */ };
    struct x86_insn insn;
    uint64_t at = start;
    for (unsigned i = 0; i < EPILOGUE && decode(image, at, &insn); i++) {
        uint64_t next = at + insn.length, target = next + (uint64_t)insn.target;
        if (insn.kind == X86_RET)
            return RETURNS;
        if (insn.kind == X86_JUMP_INDIRECT ||
            (insn.kind == X86_JUMP && hi && (target < lo || target >= hi)))
            return i || behind_take_down(image, lo, at) ? TAIL_CALLS : STAYS;
        if (!takes_down(&insn))
            return STAYS;
        at = next;
    }
    return STAYS;
}

/* Whether nothing but straight code leads from the function's first instruction to `at`: a
 * prologue, where the way from the start says all. */
static bool straight_from(const struct unwind_image *image, uint64_t lo, uint64_t at)
{
    enum { PROLOGUE = 32 /* instructions */ };
    struct x86_insn insn;
    for (unsigned i = 0; i < PROLOGUE && lo < at && decode(image, lo, &insn); i++) {
        switch (insn.kind) {
        case X86_CALL:
        case X86_CALL_INDIRECT:
        case X86_JUMP:
        case X86_JUMP_INDIRECT:
        case X86_BRANCH:
        case X86_RET:
        case X86_TRAP: return false;
        default: lo += insn.length;
        }
    }
    return lo == at;
}

static bool traced_frame(const struct unwind_image *image, uint64_t vaddr, bool exact,
                         struct frame *frame)
{
    uint64_t lo = 0, hi = 0, start = exact ? vaddr : vaddr + 1;
    struct function_range function;
    bool bounded = unwind_function_at(image, vaddr, &function);
    if (bounded) {
        lo = function.lo;
        hi = function.hi;
    }
    struct x86_state state;
    struct frame forward, backward;
    bool ends_here = !exact && (bounded ? x86_only_padding(image, start, hi)
                                        : x86_may_be_function_end(image, start));
    enum leaving leaving = exact && image->macho && bounded ? leaves(image, lo, hi, start) : STAYS;
    bool has_forward = !ends_here &&
                       x86_trace_to_return(image, start, lo, hi, leaving == TAIL_CALLS, &state) ==
                           X86_TRACE_FOUND &&
                       frame_from_return(image, &state, &forward);
    enum x86_trace way = X86_TRACE_NOTHING;
    if (bounded)
        way = x86_trace_to(image, lo, hi, start, exact, &state);
    /* Where bp counts the frame, loops may move sp. */
    uint8_t prefer = has_forward ? forward.cfa_reg : X86_BP;
    bool has_backward =
        way == X86_TRACE_FOUND && frame_from_entry(image, &state, prefer, &backward);
    if (way == X86_TRACE_CONTRADICTION && !(has_forward && leaving != STAYS))
        return false;
    if (!has_forward && !has_backward)
        return false;
    *frame = has_forward ? forward : backward;
    if (has_forward && has_backward && !combine(frame, &backward)) {
        if (leaving != STAYS)
            *frame = forward;
        else if (image->macho && straight_from(image, lo, start))
            *frame = backward;
        else
            return false;
    }
    /* sp of a frame that called is where the call left it, before the callee pops arguments. */
    int64_t popped = exact || frame->cfa_reg != X86_SP ? 0 : x86_popped_by_call(image, start);
    frame->cfa_offset += popped;
    return popped >= 0;
}

/* `test reg, reg; je past; jmp *reg`: the branch and the jump leave with the same stack, so what
 * holds at the branch's target holds here (weak functions that crtstuff.c may tail-call). */
static uint64_t twin_of_jump(const struct unwind_image *image, uint64_t vaddr)
{
    struct x86_insn jump, branch;
    uint64_t je = vaddr - 2;
    if (!decode(image, vaddr, &jump) || jump.kind != X86_JUMP_INDIRECT || jump.reg == X86_NO_REG)
        return vaddr;
    if (!decode(image, je, &branch) || branch.kind != X86_BRANCH || branch.length != 2)
        return vaddr;
    struct reader test = x86_code_at(image, is_64(image) ? vaddr - 5 : vaddr - 4);
    if (is_64(image) && (reader_u8(&test) & 0xfe) != 0x48 && !test.failed)
        return vaddr;
    uint8_t opcode = reader_u8(&test), modrm = reader_u8(&test), je_opcode = reader_u8(&test);
    if (test.failed || opcode != 0x85 || modrm != (0xc0 | (jump.reg & 7) * 9) || je_opcode != 0x74)
        return vaddr;
    return vaddr + (uint64_t)branch.target;
}

/* A jump to the beginning of another function of a Mach-O image: this function's frame has been
 * taken down. Asked last, when that function is not understood: assembler may jump between labels
 * that look like functions. */
static bool is_tail_call(const struct unwind_image *image, uint64_t vaddr)
{
    struct x86_insn insn;
    return image->macho && decode(image, vaddr, &insn) && insn.kind == X86_JUMP &&
           unwind_leads_to_function(image, vaddr, vaddr + insn.length + (uint64_t)insn.target);
}

/* ------------------------------------------------------------------ the row */

static void fill_row(const struct unwind_image *image, uint64_t vaddr, const struct frame *frame,
                     struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    *row = (struct unwind_row){.cfa_how = CFA_REG,
                               .cfa_reg = dwarf_number(image, frame->cfa_reg),
                               .cfa_offset = frame->cfa_offset,
                               .ra_reg = arch->pc,
                               .method = FW_METHOD_LINK_REGISTER,
                               .lo = vaddr,
                               .hi = vaddr + 1};
    row->reg[arch->pc] = (struct reg_row){.how = REG_AT_CFA, .offset = -arch->pointer_size};
    if (frame->cfa_reg != X86_SP || frame->cfa_offset != arch->pointer_size)
        row->method = FW_METHOD_ANALYSIS;
    for (unsigned i = 0; i < reg_count(image); i++) {
        struct reg_row *reg = &row->reg[dwarf_number(image, i)];
        if (!callee_saved(image, i))
            continue;
        if (frame->saved[i].same) {
            reg->how = REG_SAME;
        } else if (frame->saved[i].at_cfa) {
            reg->how = REG_AT_CFA;
            reg->offset = frame->saved[i].offset;
        } else {
            reg->how = REG_UNDEFINED;
        }
    }
}

enum unwind_status analysis_find_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                     struct unwind_row *row)
{
    struct frame frame;
    if (is_process_entry(image, vaddr, exact) || (!exact && exits_thread(image, vaddr + 1)))
        return UNWIND_ROOT;
    bool found = exact && plt_frame(image, vaddr, &frame);
    if (!found)
        found = traced_frame(image, vaddr, exact, &frame);
    if (!found && exact) {
        uint64_t twin = twin_of_jump(image, vaddr);
        found = twin != vaddr && traced_frame(image, twin, true, &frame);
    }
    if (!found && exact && is_tail_call(image, vaddr)) {
        frame_of_nothing(image, 0, &frame);
        found = true;
    }
    if (!found)
        return UNWIND_NO_INFO;
    fill_row(image, vaddr, &frame, row);
    return UNWIND_OK;
}

/* Whether the row says that nothing was pushed or saved yet. */
static bool says_untouched(const struct unwind_image *image, const struct unwind_row *row)
{
    const struct arch *arch = image->arch;
    if (row->signal_frame || row->cfa_how != CFA_REG || row->cfa_reg != arch->sp ||
        row->cfa_offset != arch->pointer_size)
        return false;
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (row->reg[i].how != REG_UNSPECIFIED && i != arch->pc)
            return false;
    return true;
}

/* The row holds for [row->lo, row->hi) and is right at row->lo; when the code between moves sp,
 * it is wrong where that leads. */
void analysis_correct_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                          struct unwind_row *row)
{
    enum { MAX_RANGE = 1 << 16 };
    uint64_t lo = row->lo, hi = row->hi, at = exact ? vaddr : vaddr + 1;
    if (vaddr == lo || hi - lo > MAX_RANGE || vaddr - lo >= hi - lo || !says_untouched(image, row))
        return;
    struct x86_state state;
    struct frame frame, forward;
    if (x86_trace_to(image, lo, hi, at, exact, &state) != X86_TRACE_FOUND ||
        !frame_from_entry(image, &state, X86_SP, &frame) ||
        (frame.cfa_reg == X86_SP && frame.cfa_offset == row->cfa_offset))
        return;
    if (x86_trace_to_return(image, at, lo, hi, false, &state) == X86_TRACE_FOUND &&
        frame_from_return(image, &state, &forward) && !combine(&frame, &forward))
        return;
    int64_t popped = exact || frame.cfa_reg != X86_SP ? 0 : x86_popped_by_call(image, at);
    if (popped < 0)
        return;
    frame.cfa_offset += popped;
    fill_row(image, vaddr, &frame, row);
}

bool analysis_frame_pointer_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                uint64_t since, uint64_t hi, int64_t *above_sp)
{
    const uint64_t size = is_64(image) ? 3 : 2, at = exact ? vaddr : vaddr + 1;
    struct x86_insn insn;
    struct x86_state state;
    if (!decode(image, since - size, &insn) || insn.length != size || insn.kind != X86_MOV ||
        insn.reg != X86_BP || insn.source != X86_SP ||
        x86_trace_to(image, since, hi, at, exact, &state) != X86_TRACE_FOUND)
        return false;
    const struct x86_value sp = state.reg[X86_SP], fp = state.reg[X86_BP];
    if (sp.how != X86_RELATIVE || sp.reg != X86_SP || fp.how != X86_RELATIVE || fp.reg != X86_BP ||
        fp.offset != 0)
        return false;
    int64_t popped = exact ? 0 : x86_popped_by_call(image, at);
    *above_sp = popped - sp.offset;
    return popped >= 0;
}
