/*
 * The search behind x86_trace.h. Works on the C stack of its caller, under 4 KB; allocates nothing.
 *
 * Invariant: a path that cannot be followed (unknown instruction, computed jump, end of the bytes)
 * proves nothing and is dropped; one that contradicts another ends the search without an outcome.
 *
 * Calling conventions: System V AMD64 ABI section 3.2, System V i386 ABI section 2.2.
 */
#include "unwind/x86_trace.h"

#include "unwind/compact.h"

enum {
    MAX_PENDING = 6,  /* branches not yet followed */
    MAX_VISITED = 64, /* jumps and branches already passed */
    MAX_STEPS = 2000, /* instructions decoded in one search */
    MAX_CALLEE = 200, /* instructions looked at in a called function */
    MAX_OFFSET = 1 << 28,
};

struct pending {
    uint64_t at;
    struct x86_state state;
};

struct visit {
    uint64_t at;
    struct x86_value sp, bp;
};

struct search {
    const struct unwind_image *image;
    bool is_64;
    int32_t word;
    uint64_t lo, hi; /* bounds of the function; hi 0: unknown */
    bool has_goal;   /* looking for `goal`, else for the return */
    bool tail_call;  /* the first jump that leaves is one */
    bool comes_back; /* the call in front of the goal is known to return, or assumed to */
    uint64_t goal;
    unsigned steps;
    unsigned pending_count, visited_count;
    bool found, contradiction;
    struct x86_state *outcome;
    struct pending pending[MAX_PENDING];
    struct visit visited[MAX_VISITED];
};

/* ------------------------------------------------------------------ code */

static bool section_has(const struct unwind_section *section, uint64_t vaddr)
{
    return section->data && vaddr - section->vaddr < section->size;
}

static struct reader section_at(const struct unwind_section *section, uint64_t vaddr)
{
    return reader_at(section->data, section->size, vaddr - section->vaddr);
}

struct reader x86_code_at(const struct unwind_image *image, uint64_t vaddr)
{
    if (section_has(&image->text, vaddr))
        return section_at(&image->text, vaddr);
    for (unsigned i = 0; i < UNWIND_STUB_AREAS; i++)
        if (section_has(&image->plt[i], vaddr))
            return section_at(&image->plt[i], vaddr);
    struct reader none = reader_over("", 0);
    none.failed = true;
    return none;
}

bool x86_in_plt(const struct unwind_image *image, uint64_t vaddr)
{
    for (unsigned i = 0; i < UNWIND_STUB_AREAS; i++)
        if (vaddr - image->plt[i].vaddr < image->plt[i].size)
            return true;
    return false;
}

static bool decode_at(const struct unwind_image *image, uint64_t at, struct x86_insn *insn)
{
    struct reader code = x86_code_at(image, at);
    return !code.failed && x86_decode(code, image->arch->id == ARCH_X86_64, insn);
}

static uint64_t target_of(const struct unwind_image *image, uint64_t at,
                          const struct x86_insn *insn)
{
    uint64_t target = at + insn->length + (uint64_t)insn->target;
    return image->arch->id == ARCH_X86_64 ? target : (uint32_t)target;
}

bool x86_may_be_function_end(const struct unwind_image *image, uint64_t next)
{
    struct x86_insn insn;
    while (next % 16) {
        if (!decode_at(image, next, &insn))
            return true;
        if (insn.kind == X86_TRAP)
            return true;
        if (insn.kind != X86_NOP)
            return false;
        next += insn.length;
    }
    return true;
}

bool x86_only_padding(const struct unwind_image *image, uint64_t next, uint64_t hi)
{
    struct x86_insn insn;
    while (next < hi) {
        if (!decode_at(image, next, &insn) || (insn.kind != X86_NOP && insn.kind != X86_TRAP))
            return false;
        next += insn.length;
    }
    return true;
}

/* ------------------------------------------------------------------ values */

static const struct x86_value unknown = {X86_UNKNOWN, 0, 0};

static bool same_value(struct x86_value a, struct x86_value b)
{
    return a.how == b.how && (a.how == X86_UNKNOWN || (a.reg == b.reg && a.offset == b.offset));
}

static struct x86_value plus(struct x86_value value, int64_t amount)
{
    int64_t sum = value.offset + amount;
    if (value.how != X86_RELATIVE || sum > MAX_OFFSET || sum < -MAX_OFFSET)
        return unknown;
    value.offset = (int32_t)sum;
    return value;
}

static void begin(struct x86_state *state)
{
    *state = (struct x86_state){0};
    for (uint8_t i = 0; i < X86_REGS; i++)
        state->reg[i] = (struct x86_value){X86_RELATIVE, i, 0};
}

static bool overlaps(const struct x86_slot *slot, struct x86_value address, int32_t word)
{
    int32_t distance = slot->offset - address.offset;
    return slot->reg == address.reg && distance < word && distance > -word;
}

static void store(struct x86_state *state, struct x86_value address, struct x86_value value,
                  int32_t word)
{
    if (address.how != X86_RELATIVE)
        return; /* a place that no register is saved in */
    unsigned kept = 0;
    for (unsigned i = 0; i < state->slots; i++)
        if (!overlaps(&state->slot[i], address, word))
            state->slot[kept++] = state->slot[i];
    state->slots = (uint8_t)kept;
    if (kept == X86_TRACE_SLOTS) {
        state->slots_lost = true;
        return;
    }
    state->slot[state->slots++] = (struct x86_slot){address.reg, address.offset, value};
}

/* The word at `address`, which goes to register `to`. When the run stored what `to` held at the
 * beginning at a place counted from another register, the two may be one place. */
static struct x86_value load(const struct x86_state *state, struct x86_value address, unsigned to,
                             int32_t word)
{
    if (address.how != X86_RELATIVE)
        return unknown;
    for (unsigned i = 0; i < state->slots; i++) {
        const struct x86_slot *slot = &state->slot[i];
        if (overlaps(slot, address, word))
            return slot->offset == address.offset ? slot->value : unknown;
        if (slot->reg != address.reg && slot->value.how == X86_RELATIVE && slot->value.reg == to)
            return unknown;
    }
    if (state->slots_lost)
        return unknown;
    return (struct x86_value){X86_WORD, address.reg, address.offset};
}

/* ------------------------------------------------------------------ one instruction */

static void push(struct search *s, struct x86_state *state, struct x86_value value, unsigned width)
{
    struct x86_value *sp = &state->reg[X86_SP];
    *sp = plus(*sp, -(int64_t)width);
    store(state, *sp, width == (unsigned)s->word ? value : unknown, s->word);
}

static struct x86_value pop(struct search *s, struct x86_state *state, unsigned to, unsigned width)
{
    struct x86_value *sp = &state->reg[X86_SP];
    struct x86_value value = width == (unsigned)s->word ? load(state, *sp, to, s->word) : unknown;
    *sp = plus(*sp, width);
    return value;
}

static struct x86_value value_of(const struct x86_state *state, uint8_t reg)
{
    return reg < X86_REGS ? state->reg[reg] : unknown;
}

static struct x86_value address_of(const struct x86_state *state, const struct x86_insn *insn)
{
    return plus(value_of(state, insn->base), insn->value);
}

static void push_all(struct search *s, struct x86_state *state)
{
    struct x86_value sp = state->reg[X86_SP];
    for (uint8_t reg = X86_AX; reg <= X86_DI; reg++)
        push(s, state, reg == X86_SP ? sp : state->reg[reg], (unsigned)s->word);
}

static void pop_all(struct search *s, struct x86_state *state)
{
    for (uint8_t reg = X86_DI + 1; reg-- > X86_AX;) {
        struct x86_value value = pop(s, state, reg, (unsigned)s->word);
        if (reg != X86_SP)
            state->reg[reg] = value;
    }
}

/* Everything but control flow. */
static void apply(struct search *s, struct x86_state *state, const struct x86_insn *insn)
{
    struct x86_value *reg = state->reg;
    unsigned word = (unsigned)s->word;
    struct x86_value value;
    switch (insn->kind) {
    case X86_PUSH: push(s, state, value_of(state, insn->reg), insn->width); break;
    case X86_POP:
        value = pop(s, state, insn->reg, insn->width);
        if (insn->reg < X86_REGS)
            reg[insn->reg] = value;
        break;
    case X86_PUSHA: push_all(s, state); break;
    case X86_POPA: pop_all(s, state); break;
    case X86_ENTER:
        push(s, state, reg[X86_BP], word);
        reg[X86_BP] = reg[X86_SP];
        reg[X86_SP] = plus(reg[X86_SP], -insn->value);
        break;
    case X86_LEAVE:
        reg[X86_SP] = reg[X86_BP];
        reg[X86_BP] = pop(s, state, X86_BP, insn->width);
        break;
    case X86_MOV: reg[insn->reg] = reg[insn->source]; break;
    case X86_LOAD: reg[insn->reg] = load(state, address_of(state, insn), insn->reg, s->word); break;
    case X86_STORE:
        store(state, address_of(state, insn), value_of(state, insn->source), s->word);
        break;
    case X86_LEA: reg[insn->reg] = address_of(state, insn); break;
    case X86_ADD: reg[insn->reg] = plus(reg[insn->reg], insn->value); break;
    default: break;
    }
    for (unsigned i = 0; i < X86_REGS; i++)
        if (insn->writes >> i & 1)
            reg[i] = unknown;
}

/* How many bytes of arguments the function at `target` pops, by its first return; -1: not known. */
static int64_t popped_by_callee(const struct unwind_image *image, uint64_t target)
{
    struct x86_insn insn;
    for (unsigned i = 0; i < MAX_CALLEE && decode_at(image, target, &insn); i++) {
        if (insn.kind == X86_RET)
            return insn.value;
        if (insn.kind == X86_JUMP_INDIRECT)
            return -1; /* a PLT stub */
        target += insn.length;
    }
    return -1;
}

int64_t x86_popped_by_call(const struct unwind_image *image, uint64_t next)
{
    struct x86_insn call;
    int64_t popped = -1;
    if (image->arch->id == ARCH_X86_64)
        return 0;
    if (decode_at(image, next - 5, &call) && call.kind == X86_CALL && call.length == 5)
        popped = popped_by_callee(image, target_of(image, next - 5, &call));
    return popped;
}

/* i386: the register that `call __x86.get_pc_thunk.*` fills, or X86_NO_REG. */
static uint8_t filled_by_thunk(const struct search *s, uint64_t target)
{
    struct x86_insn first, second;
    if (!decode_at(s->image, target, &first) || first.kind != X86_LOAD || first.base != X86_SP ||
        first.value != 0)
        return X86_NO_REG;
    if (!decode_at(s->image, target + first.length, &second) || second.kind != X86_RET)
        return X86_NO_REG;
    return first.reg;
}

/* A call that comes back: the callee keeps what the ABI says, and may use all stack below sp. */
static void apply_call(struct search *s, struct x86_state *state, uint64_t next, uint64_t target,
                       bool direct)
{
    static const uint16_t scratch_64 = 0x0fc7, scratch_32 = 0x0007;
    uint16_t scratch = s->is_64 ? scratch_64 : scratch_32;
    for (unsigned i = 0; i < X86_REGS; i++)
        if (scratch >> i & 1)
            state->reg[i] = unknown;
    struct x86_value sp = state->reg[X86_SP];
    unsigned kept = 0;
    for (unsigned i = 0; i < state->slots; i++)
        if (state->slot[i].reg != sp.reg || state->slot[i].offset >= sp.offset)
            state->slot[kept++] = state->slot[i];
    state->slots = (uint8_t)kept;
    if (s->is_64)
        return;
    uint8_t filled = direct ? filled_by_thunk(s, target) : X86_NO_REG;
    if (filled != X86_NO_REG)
        state->reg[filled] = unknown;
    int64_t popped = x86_popped_by_call(s->image, next);
    state->reg[X86_SP] = popped < 0 ? unknown : plus(sp, popped);
}

/* ------------------------------------------------------------------ the search */

/* Loops that make room on the stack move sp at each turn; the frame is then counted from bp. */
static bool same_frame(struct x86_value bp, struct x86_value other)
{
    return bp.how == X86_RELATIVE && bp.reg == X86_SP && same_value(bp, other);
}

/* Keeps in *into what both say. The stack pointers must agree, or else, on the way to a goal, what
 * the frame is counted from. */
static bool merge(const struct search *s, struct x86_state *into, const struct x86_state *from)
{
    if (!same_value(into->reg[X86_SP], from->reg[X86_SP]) &&
        !(s->has_goal && same_frame(into->reg[X86_BP], from->reg[X86_BP])))
        return false;
    for (unsigned i = 0; i < X86_REGS; i++)
        if (!same_value(into->reg[i], from->reg[i]))
            into->reg[i] = unknown;
    unsigned kept = 0;
    for (unsigned i = 0; i < into->slots; i++)
        for (unsigned j = 0; j < from->slots; j++)
            if (into->slot[i].reg == from->slot[j].reg &&
                into->slot[i].offset == from->slot[j].offset &&
                same_value(into->slot[i].value, from->slot[j].value)) {
                into->slot[kept++] = into->slot[i];
                break;
            }
    into->slots = (uint8_t)kept;
    into->slots_lost = true;
    return true;
}

static void arrive(struct search *s, const struct x86_state *state)
{
    if (!s->found) {
        *s->outcome = *state;
        s->found = true;
    } else if (!merge(s, s->outcome, state)) {
        s->contradiction = true;
    }
}

/* The function ends here: the return address must lie where the stack pointer is, unwritten. */
static void arrive_at_return(struct search *s, const struct x86_state *state)
{
    struct x86_value sp = state->reg[X86_SP];
    struct x86_value address = load(state, sp, X86_NO_REG, s->word);
    if (s->has_goal)
        return;
    if (address.how != X86_WORD || address.reg != sp.reg || address.offset != sp.offset)
        s->contradiction = true;
    else
        arrive(s, state);
}

/* True when the jump or branch at `at` was passed before, so that this path adds nothing. */
static bool visited_before(struct search *s, uint64_t at, const struct x86_state *state)
{
    struct x86_value sp = state->reg[X86_SP];
    for (unsigned i = 0; i < s->visited_count; i++)
        if (s->visited[i].at == at) {
            if (!same_value(s->visited[i].sp, sp) &&
                !(s->has_goal && same_frame(s->visited[i].bp, state->reg[X86_BP])))
                s->contradiction = true;
            return true;
        }
    if (s->visited_count == MAX_VISITED)
        return true;
    s->visited[s->visited_count++] = (struct visit){at, sp, state->reg[X86_BP]};
    return false;
}

static bool outside(const struct search *s, uint64_t at)
{
    return s->hi && (at < s->lo || at >= s->hi);
}

/* A call at `at` ends its function, as far as that can be told, so it may never come back. That it
 * does is given when the goal is the place behind it. */
static bool may_not_return(const struct search *s, uint64_t at, uint64_t next)
{
    if (s->has_goal && next == s->goal)
        return !s->comes_back;
    if (s->hi && !outside(s, at))
        return x86_only_padding(s->image, next, s->hi);
    return x86_may_be_function_end(s->image, next);
}

/* Whether the system call at `at` ends the thread or the process: exit or exit_group, whose number
 * the instruction before, at `previous`, loads (mov eax, number). */
static bool is_exit(const struct search *s, uint64_t previous, uint64_t at)
{
    enum { MOV_EAX = 0xb8, MOV_EAX_SIZE = 5 };
    struct reader code = x86_code_at(s->image, previous);
    if (at - previous != MOV_EAX_SIZE || reader_u8(&code) != MOV_EAX)
        return false;
    uint32_t number = reader_u32(&code);
    return !code.failed &&
           (s->word == 8 ? number == 60 || number == 231 : number == 1 || number == 252);
}

/* A jump out of the function's known bounds, with the frame already taken down. */
static bool is_tail_call(const struct search *s, uint64_t at, uint64_t target,
                         const struct x86_state *state)
{
    struct x86_value sp = state->reg[X86_SP];
    if (!s->hi || !outside(s, target) || sp.how != X86_RELATIVE)
        return false;
    return sp.reg != X86_SP || sp.offset > 0 || compact_is_tail_call(s->image, at, target);
}

/* Follows one path to its end. */
static void follow(struct search *s, uint64_t at, struct x86_state *state)
{
    uint64_t previous = at;
    while (!s->contradiction && s->steps++ < MAX_STEPS) {
        if (s->has_goal && at == s->goal) {
            arrive(s, state);
            return;
        }
        struct x86_insn insn;
        if ((s->has_goal && outside(s, at)) || !decode_at(s->image, at, &insn))
            return;
        uint64_t next = at + insn.length;
        uint64_t target = target_of(s->image, at, &insn);
        switch (insn.kind) {
        case X86_TRAP: return;
        case X86_SYSCALL:
            if (is_exit(s, previous, at))
                return;
            apply(s, state, &insn);
            break;
        case X86_RET: arrive_at_return(s, state); return;
        case X86_CALL:
            if (target == next) {
                push(s, state, unknown, (unsigned)s->word);
                break;
            }
            apply_call(s, state, next, target, true);
            if (may_not_return(s, at, next))
                return;
            break;
        case X86_CALL_INDIRECT:
            apply_call(s, state, next, 0, false);
            if (may_not_return(s, at, next))
                return;
            break;
        case X86_JUMP_INDIRECT:
            /* Through one fixed place (a PLT stub, a function pointer) another function goes on; a
             * jump table has an index. */
            if (insn.fixed || s->tail_call || x86_in_plt(s->image, at))
                arrive_at_return(s, state);
            return;
        case X86_JUMP:
        case X86_BRANCH:
            if (s->tail_call && insn.kind == X86_JUMP && outside(s, target)) {
                arrive_at_return(s, state);
                return;
            }
            if (visited_before(s, at, state))
                return;
            if (insn.kind == X86_JUMP && is_tail_call(s, at, target, state)) {
                arrive_at_return(s, state);
                return;
            }
            apply(s, state, &insn);
            if (insn.kind == X86_JUMP) {
                next = target;
            } else if (s->pending_count < MAX_PENDING) {
                s->pending[s->pending_count].at = target;
                s->pending[s->pending_count++].state = *state;
            }
            break;
        default: apply(s, state, &insn); break;
        }
        previous = at;
        at = next;
    }
}

static enum x86_trace run(struct search *s, uint64_t start)
{
    struct x86_state state;
    begin(&state);
    follow(s, start, &state);
    while (s->pending_count && !s->contradiction) {
        struct pending *last = &s->pending[--s->pending_count];
        state = last->state;
        follow(s, last->at, &state);
    }
    if (s->contradiction)
        return X86_TRACE_CONTRADICTION;
    return s->found ? X86_TRACE_FOUND : X86_TRACE_NOTHING;
}

static void prepare(struct search *s, const struct unwind_image *image, uint64_t lo, uint64_t hi,
                    struct x86_state *outcome)
{
    s->image = image;
    s->is_64 = image->arch->id == ARCH_X86_64;
    s->word = image->arch->pointer_size;
    s->lo = lo;
    s->hi = hi;
    s->has_goal = s->comes_back = s->tail_call = false;
    s->goal = 0;
    s->steps = s->pending_count = s->visited_count = 0;
    s->found = s->contradiction = false;
    s->outcome = outcome;
}

enum x86_trace x86_trace_to_return(const struct unwind_image *image, uint64_t start, uint64_t lo,
                                   uint64_t hi, bool tail_call, struct x86_state *state)
{
    struct search s;
    prepare(&s, image, lo, hi, state);
    s.tail_call = tail_call;
    return run(&s, start);
}

/* A thread that stands behind a call may have come there by a branch alone, past a call that does
 * not come back: that call counts only when no other way leads there. */
enum x86_trace x86_trace_to(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                            uint64_t goal, bool exact, struct x86_state *state)
{
    struct search s;
    enum x86_trace way = X86_TRACE_NOTHING;
    for (unsigned pass = !exact; pass < 2 && way == X86_TRACE_NOTHING; pass++) {
        prepare(&s, image, lo, hi, state);
        s.has_goal = true;
        s.goal = goal;
        s.comes_back = pass == 1;
        way = run(&s, lo);
    }
    return way;
}
