/*
 * Finding and applying rows (row.h). The order of the sources: signal trampolines known by their
 * instructions, compact unwind, .eh_frame, .debug_frame, ARM EXIDX, instruction analysis. A
 * trampoline comes first because it is never called: the address on the stack is its first
 * instruction, and one byte earlier lies another function. Compact unwind comes before .eh_frame,
 * which it points into: Mach-O images have no other search table. DWARF comes before EXIDX because
 * an EXIDX entry covers everything up to the next one and would claim functions that have no entry
 * of their own.
 *
 * Two things are not sources of their own: instruction analysis also corrects what a table says
 * (analysis_correct), and in Apple's _sigtramp the kernel's saved registers come before the tables'
 * answer (step_row).
 *
 * Invariant: a source that is broken at the place (UNWIND_BAD_INFO) ends the walk, and no other one
 * is asked. Damaged information does not tell what it would have said; a frame record or another
 * table may leave the caller out, and such a stack would look whole.
 */
#include "unwind/step.h"

#include "unwind/analysis.h"
#include "unwind/sources.h"

enum {
    RED_ZONE = 128, /* bytes below sp that x86_64 code may use */
};

/* Outside of all images: perhaps a trampoline that the kernel or an emulator mapped by itself, else
 * generated code. Where a thread stands in that, its instructions may prove that it has no frame
 * record of its own, and the chain would leave its caller out. */
static enum unwind_status find_outside(const struct walk_space *space, const struct memory *memory,
                                       uint64_t address, bool exact, struct unwind_row *row)
{
    enum { BEFORE = 8, AFTER = 256, LEAST = 16 };
    uint8_t code[BEFORE + AFTER] = {0};
    size_t after = AFTER;
    while (!memory_read(memory, address, code + BEFORE, after)) {
        if (after == LEAST)
            return UNWIND_NO_INFO;
        after /= 4;
    }
    memory_read(memory, address - BEFORE, code, BEFORE);
    const struct unwind_image image = {.arch = space->arch,
                                       .lo = address - BEFORE,
                                       .hi = address + after,
                                       .text = {code, BEFORE + after, address - BEFORE}};
    enum unwind_status status = sigframe_find(&image, address, row);
    if (status == UNWIND_NO_INFO && exact && step_is_code(space, address))
        status = analysis_find(&image, address, true, row);
    row->fleeting = status == UNWIND_OK;
    return status;
}

/* "Cannot unwind" marks the outermost functions, which are short, and also everything that was
 * compiled without tables: it is believed next to the start of the entry and where instructions
 * prove nothing else. */
static enum unwind_status cannot_unwind(const struct unwind_image *image, uint64_t vaddr,
                                        bool exact, struct unwind_row *row)
{
    enum { OUTERMOST_SIZE = 64 };
    bool outermost = vaddr - row->lo < OUTERMOST_SIZE;
    enum unwind_status status = analysis_find(image, vaddr, exact, row);
    return status == UNWIND_NO_INFO && outermost ? UNWIND_ROOT : status;
}

enum unwind_status step_find_row(const struct walk_space *space, const struct memory *memory,
                                 uint64_t address, bool exact, struct unwind_row *row)
{
    uint64_t lookup = exact ? address : address - 1;
    const struct unwind_image *image = space->find_image(space->context, lookup);
    if (!image)
        return find_outside(space, memory, address, exact, row);
    uint64_t vaddr = lookup - image->bias;
    enum unwind_status status = sigframe_find(image, address - image->bias, row);
    if (status == UNWIND_NO_INFO)
        status = compact_find(image, vaddr, row);
    if (status == UNWIND_NO_INFO)
        status = cfi_find_eh(image, vaddr, row);
    if (status == UNWIND_NO_INFO)
        status = cfi_find_debug(image, vaddr, row);
    if (status == UNWIND_OK)
        analysis_correct(image, vaddr, exact, row);
    if (status != UNWIND_NO_INFO)
        return status;
    /* EXIDX is right in the body of a function only. */
    if (exact && image->exidx.data && analysis_find(image, vaddr, exact, row) == UNWIND_OK)
        return UNWIND_OK;
    status = exidx_find(image, vaddr, row);
    if (status == UNWIND_ROOT)
        return cannot_unwind(image, vaddr, exact, row);
    return status == UNWIND_NO_INFO ? analysis_find(image, vaddr, exact, row) : status;
}

struct applying {
    const struct walk_space *space;
    const struct memory *memory;
    const struct unwind_row *row;
    const struct regs *from;
    uint64_t cfa;
};

/* The caller's value of register `n`. UNWIND_NEEDS_REGS and UNWIND_BAD_MEMORY leave it unknown. */
static enum unwind_status caller_value(const struct applying *a, unsigned n, uint64_t *value)
{
    const struct arch *arch = a->space->arch;
    const struct reg_row *rule = &a->row->reg[n];
    enum unwind_status status;
    uint64_t address;

    switch (rule->how) {
    case REG_UNSPECIFIED:
        if (!(arch->callee_saved >> n & 1) && n != arch->lr)
            return UNWIND_NEEDS_REGS;
        /* fallthrough */
    case REG_SAME:
        *value = a->from->r[n];
        return regs_has(a->from, n) ? UNWIND_OK : UNWIND_NEEDS_REGS;
    case REG_AT_CFA: address = a->cfa + (uint64_t)rule->offset; break;
    case REG_CFA_PLUS:
        *value = (a->cfa + (uint64_t)rule->offset) & arch->pointer_mask;
        return UNWIND_OK;
    case REG_IN_REG:
        *value =
            (a->from->r[rule->reg % ARCH_MAX_REGS] + (uint64_t)rule->offset) & arch->pointer_mask;
        return regs_has(a->from, rule->reg) ? UNWIND_OK : UNWIND_NEEDS_REGS;
    case REG_AT_EXPR:
        status = expr_eval(arch, rule->expr, true, a->cfa, a->from, a->memory, &address);
        if (status != UNWIND_OK)
            return status;
        break;
    case REG_VAL_EXPR: return expr_eval(arch, rule->expr, true, a->cfa, a->from, a->memory, value);
    default: return UNWIND_NEEDS_REGS;
    }
    address &= arch->pointer_mask;
    return memory_word(a->memory, address, arch->register_size, value) ? UNWIND_OK
                                                                       : UNWIND_BAD_MEMORY;
}

static enum unwind_status find_cfa(const struct walk_space *space, const struct memory *memory,
                                   const struct unwind_row *row, const struct regs *regs,
                                   uint64_t *cfa)
{
    if (row->cfa_how == CFA_EXPR)
        return expr_eval(space->arch, row->cfa_expr, false, 0, regs, memory, cfa);
    if (!regs_has(regs, row->cfa_reg))
        return UNWIND_NEEDS_REGS;
    *cfa = (regs->r[row->cfa_reg] + (uint64_t)row->cfa_offset) & space->arch->pointer_mask;
    return UNWIND_OK;
}

static bool counts_from_fp(const struct walk_space *space, const struct unwind_row *row)
{
    return row->cfa_how == CFA_REG && row->cfa_reg == space->arch->fp;
}

/* Fills in an unknown frame pointer that the row needs, where code proves it: since the first of
 * the rows that count from it. */
static __attribute__((noinline)) bool find_frame_pointer(const struct walk_space *space,
                                                         const struct unwind_row *row, bool exact,
                                                         struct regs *regs)
{
    enum { MAX_ROWS = 16 };
    const struct arch *arch = space->arch;
    const uint64_t lookup = regs->r[arch->pc] - !exact;
    const struct unwind_image *image = space->find_image(space->context, lookup);
    if (!image || !counts_from_fp(space, row) || regs_has(regs, arch->fp))
        return false;
    uint64_t since = row->lo;
    struct unwind_row before;
    for (unsigned i = 0; i < MAX_ROWS; i++) {
        if (cfi_find_eh(image, since - 1, &before) != UNWIND_OK || before.lo >= since ||
            !counts_from_fp(space, &before) || before.cfa_offset != row->cfa_offset)
            break;
        since = before.lo;
    }
    int64_t above_sp;
    if (!analysis_frame_pointer(image, lookup - image->bias, exact, since, row->hi, &above_sp))
        return false;
    regs_set(regs, arch->fp, (regs->r[arch->sp] + (uint64_t)above_sp) & arch->pointer_mask);
    return true;
}

enum unwind_status step_apply(const struct walk_space *space, const struct memory *memory,
                              const struct unwind_row *row, bool exact, struct regs *regs)
{
    const struct arch *arch = space->arch;
    unsigned ra_reg = row->ra_reg < ARCH_MAX_REGS ? row->ra_reg : arch->pc;
    if (row->reg[ra_reg].how == REG_UNDEFINED)
        return UNWIND_ROOT;

    struct applying a = {space, memory, row, regs, 0};
    enum unwind_status status = find_cfa(space, memory, row, regs, &a.cfa);
    if (status == UNWIND_NEEDS_REGS && find_frame_pointer(space, row, exact, regs))
        status = find_cfa(space, memory, row, regs, &a.cfa);
    if (status != UNWIND_OK)
        return status;

    struct regs caller = {{0}, 0};
    uint64_t value;
    for (unsigned n = 0; n < arch->reg_count; n++)
        if (n != arch->pc && n != arch->sp && caller_value(&a, n, &value) == UNWIND_OK)
            regs_set(&caller, n, value);
    /* The call that led here overwrote it; only what says that it was put back brings it back. */
    if (arch->lr != ARCH_NO_REG && ra_reg == arch->pc && row->reg[arch->lr].how == REG_UNSPECIFIED)
        regs_forget(&caller, arch->lr);

    value = a.cfa;
    if (row->reg[arch->sp].how != REG_UNSPECIFIED)
        status = caller_value(&a, arch->sp, &value);
    if (status != UNWIND_OK)
        return status;
    regs_set(&caller, arch->sp, value);

    /* A row may name the pc itself (signal frames do); else it is what the return address column
     * gives. */
    if (row->reg[arch->pc].how != REG_UNSPECIFIED)
        ra_reg = arch->pc;
    status = caller_value(&a, ra_reg, &value);
    if (status != UNWIND_OK)
        return status;
    uint8_t ra_how = row->reg[ra_reg].how;
    bool in_register = ra_how == REG_UNSPECIFIED || ra_how == REG_SAME || ra_how == REG_IN_REG;
    value = step_code_address(space, value);
    /* A function that stands behind a call has overwritten its link register: information that
     * looks for its return address there is wrong. */
    if (in_register && value == regs->r[arch->pc])
        return UNWIND_BAD_INFO;
    regs_set(&caller, arch->pc, value);

    if (!row->signal_frame) {
        uint64_t old = regs->r[arch->sp], sp = caller.r[arch->sp];
        /* A piece of a function that was moved away, and describes the rest as its caller (lock
         * stubs of glibc before 2.20): its return address is computed, and sp where the two meet
         * may be lower by the red zone. */
        bool moved = exact && ra_how == REG_VAL_EXPR && old - sp <= RED_ZONE;
        /* A leaf function that called code which it shares with others. The register is not kept,
         * so this does not go on for ever. */
        bool put_aside = ra_how == REG_IN_REG && row->method == FW_METHOD_ANALYSIS;
        if ((sp < old && !moved) || (sp == old && !(in_register && (exact || put_aside)) && !moved))
            return UNWIND_LOOP;
    }
    *regs = caller;
    return UNWIND_OK;
}

bool step_is_code(const struct walk_space *space, uint64_t address)
{
    const struct unwind_image *image = space->find_image(space->context, address);
    if (image)
        return address - image->bias >= image->lo && address - image->bias < image->hi;
    return space->is_code && space->is_code(space->context, address);
}

const struct unwind_image *step_macho_at(const struct walk_space *space, uint64_t address)
{
    const struct unwind_image *image = space->find_image(space->context, address);
    return image && image->macho ? image : NULL;
}

/* Whether the runtime address lies in _sigtramp. */
static bool in_sigtramp(const struct walk_space *space, uint64_t address)
{
    enum { USUAL_SIZE = 256 };
    struct function_range function;
    const struct unwind_image *image =
        address >= space->sigtramp ? step_macho_at(space, address) : NULL;
    if (!image)
        return false;
    if (unwind_function_at(image, address - image->bias, &function))
        return function.lo == space->sigtramp - image->bias;
    return address - space->sigtramp < USUAL_SIZE;
}

enum unwind_status step_row(const struct walk_space *space, const struct memory *memory,
                            const struct regs *regs, bool exact, struct unwind_row *row)
{
    const uint64_t pc = regs->r[space->arch->pc];
    uint64_t cfa;
    enum unwind_status status = step_find_row(space, memory, pc, exact, row);
    if (status == UNWIND_OK && space->sigtramp && !row->signal_frame &&
        in_sigtramp(space, pc - !exact)) {
        row->fleeting = true; /* where the registers lie is read from memory each time */
        if (find_cfa(space, memory, row, regs, &cfa) == UNWIND_OK)
            sigframe_darwin(space->arch, memory, cfa, row);
    }
    return status;
}

enum unwind_status walk_step(const struct walk_space *space, const struct memory *memory,
                             bool exact, struct regs *regs, uint8_t *method, bool *signal_frame)
{
    struct unwind_row row;
    *signal_frame = false;
    enum unwind_status status = step_row(space, memory, regs, exact, &row);
    if (status == UNWIND_OK) {
        *method = row.method;
        *signal_frame = row.signal_frame;
        status = step_apply(space, memory, &row, exact, regs);
    } else if (status == UNWIND_NO_INFO) {
        status = step_without_info(space, memory, exact, regs, method);
    }
    const unsigned fp = space->arch->fp;
    regs->r[fp] = step_frame_pointer(space, regs->r[fp]);
    return status;
}
