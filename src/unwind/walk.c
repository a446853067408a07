/*
 * The walker. It runs in one of two modes over the same frames:
 *
 *   quick  carries pc, sp, fp and lr only, and takes rules from the cache; a rule that is not
 *          there, or is RULE_SLOW, costs one decoded row. This is nearly every walk.
 *
 *   whole  carries all registers and decodes every row. A walk starts again in this mode when a row
 *          needs a register that quick mode does not carry (a frame addressed by rbx, ARM Thumb
 *          code by r7).
 *
 * Invariant: every step but one over a signal frame moves sp outwards (or takes the return address
 * of the innermost frame from a register, or that of one which called shared code,
 * simulate_parts.c, from a register that it does not keep), so a walk ends; signal frames and
 * frames are counted besides.
 *
 * Where the space has Swift async functions, the walk leaves the stack at the first one for the
 * chain of its contexts (async.h). Tags are taken off frame pointers after each step, so both modes
 * see addresses only.
 */
#include "unwind/walk.h"

#include "unwind/rule.h"
#include "unwind/stack_id.h"
#include "unwind/step.h"

enum {
    MAX_WALK = 1 << 20,
    MAX_SIGNAL_FRAMES = 256,
};

/* Frames on their way into the caller's buffer. */
struct output {
    struct fw_stack *stack;
    struct fw_frame *last; /* the frame stored last, NULL when it was skipped */
    void **addresses;      /* instead of frames, when set */
    uint64_t id;
    uint64_t count; /* frames given out, stored or omitted */
    uint32_t head;  /* capacity - tail */
    uint32_t skip;
};

static struct output output_begin(struct fw_stack *stack, const struct walk_options *options)
{
    return (struct output){.stack = stack,
                           .addresses = options->addresses,
                           .id = STACK_ID_START,
                           .head = stack->capacity - stack->tail,
                           .skip = options->skip};
}

/* Where the next frame goes; NULL when the buffer is full and no tail is kept. */
static inline struct fw_frame *output_slot(struct output *out)
{
    if (__builtin_expect(out->count < out->head, 1))
        return &out->stack->frames[out->count];
    if (out->stack->tail == 0)
        return NULL;
    return &out->stack->frames[out->head + (out->count - out->head) % out->stack->tail];
}

/* False when there is no room: the walk ends. */
static inline bool output_frame(struct output *out, uint64_t address, bool exact, uint8_t method)
{
    if (__builtin_expect(out->skip > 0, 0)) {
        out->skip--;
        out->last = NULL;
        return true;
    }
    if (out->addresses) {
        if (out->count == out->head)
            return false;
        out->addresses[out->count++] = (void *)(uintptr_t)address;
        return true;
    }
    struct fw_frame *frame = output_slot(out);
    if (__builtin_expect(!frame, 0))
        return false;
    *frame = (struct fw_frame){
        .address = address, .kind = exact ? FW_FRAME_EXACT : FW_FRAME_RETURN, .method = method};
    out->last = frame;
    out->id = stack_id_step(out->id, address);
    out->count++;
    return true;
}

/* A suspended async function, which will go on at `address`. */
static bool output_async(struct output *out, uint64_t address)
{
    uint64_t id = out->id;
    if (!output_frame(out, address + (out->addresses != NULL), true, FW_METHOD_ASYNC))
        return false;
    if (out->last) {
        out->last->flags = FW_FRAME_ASYNC;
        out->id = stack_id_async_step(id, address);
    }
    return true;
}

/* The frame stored last turned out to be a signal trampoline: its address is where it begins, no
 * call. */
static void output_mark_signal(struct output *out)
{
    if (out->last) {
        out->last->flags |= FW_FRAME_SIGNAL;
        out->last->kind = FW_FRAME_EXACT;
    }
}

static void reverse(struct fw_frame *frames, uint64_t from, uint64_t to)
{
    for (; from + 1 < to; from++, to--) {
        struct fw_frame swap = frames[from];
        frames[from] = frames[to - 1];
        frames[to - 1] = swap;
    }
}

static void output_end(struct output *out, uint8_t end)
{
    struct fw_stack *stack = out->stack;
    stack->id = out->id;
    stack->end = end;
    stack->unavailable = FW_AVAILABLE;
    stack->omitted = out->count > stack->capacity ? out->count - stack->capacity : 0;
    stack->count = (uint32_t)(out->count - stack->omitted);
    stack->head = stack->omitted ? out->head : stack->count;
    if (stack->omitted) { /* the tail is a ring: rotate its oldest frame to the front */
        struct fw_frame *tail = stack->frames + out->head;
        uint64_t oldest = (out->count - out->head) % stack->tail;
        reverse(tail, 0, oldest);
        reverse(tail, oldest, stack->tail);
        reverse(tail, 0, stack->tail);
    }
}

static uint8_t end_of(enum unwind_status status)
{
    switch (status) {
    case UNWIND_ROOT: return FW_END_ROOT;
    case UNWIND_BAD_MEMORY: return FW_END_BAD_MEMORY;
    case UNWIND_LOOP: return FW_END_LOOP;
    case UNWIND_BAD_INFO: return FW_END_BAD_INFO;
    case UNWIND_NOT_CODE: return FW_END_NOT_CODE;
    default: return FW_END_NO_INFO;
    }
}

/* A return address outside of code is no frame: it is what a damaged stack or wrong information
 * looks like. An interrupted instruction may lie anywhere, that is what a jump through a bad
 * pointer looks like. */
static bool is_frame(const struct walk_space *space, const struct memory *memory, uint64_t address,
                     bool exact)
{
    struct unwind_row row;
    return exact || rule_cache_get(space->cache, address, false) != RULE_NONE ||
           step_is_code(space, address - 1) ||
           step_find_row(space, memory, address, false, &row) == UNWIND_OK;
}

/* After a step from a frame with the frame pointer `fp`, which was no signal's: whether its record
 * is that of an async function. It is while fp points to it; in the prologue and epilogue it does
 * not. A signal handler that interrupted those saves the tagged register, too, but nothing calls an
 * async function from a trampoline. */
static __attribute__((noinline)) bool left_async(const struct walk_space *space,
                                                 const struct memory *memory, uint64_t fp,
                                                 uint64_t caller_fp, uint64_t caller_pc,
                                                 struct async_chain *chain)
{
    const struct arch *arch = space->arch;
    struct unwind_row row;
    uint64_t saved;
    return memory_word(memory, fp, arch->register_size, &saved) && async_is_tagged(saved) &&
           async_untag(saved) == caller_fp && caller_fp != fp &&
           async_begin(chain, memory, fp, arch->pointer_size,
                       arch->pointer_mask & ~space->pac_mask) &&
           !(step_find_row(space, memory, caller_pc, false, &row) == UNWIND_OK && row.signal_frame);
}

/* The rest of a walk, at the most `most` frames. */
static __attribute__((noinline)) enum unwind_status async_walk(const struct walk_space *space,
                                                               const struct memory *memory,
                                                               struct async_chain *chain,
                                                               uint64_t most, struct output *out)
{
    for (uint64_t walked = 0;; walked++) {
        uint64_t resume;
        enum unwind_status status = async_next(chain, memory, &resume);
        if (status != UNWIND_OK)
            return status;
        if (!step_is_code(space, resume))
            return UNWIND_NOT_CODE;
        if (walked == most || !output_async(out, resume))
            return UNWIND_OK;
    }
}

/* A walk under way in quick mode. */
struct quick {
    uint64_t pc, sp, fp, lr;
    bool exact, fp_known, lr_known;
    uint8_t method;
    uint32_t signal_frames;
};

static void quick_to_regs(const struct arch *arch, const struct quick *at, struct regs *regs)
{
    *regs = (struct regs){{0}, 0};
    regs_set(regs, arch->pc, at->pc);
    regs_set(regs, arch->sp, at->sp);
    if (at->fp_known)
        regs_set(regs, arch->fp, at->fp);
    if (at->lr_known && arch->lr != ARCH_NO_REG)
        regs_set(regs, arch->lr, at->lr);
}

static void quick_from_regs(const struct arch *arch, const struct regs *regs, struct quick *at)
{
    at->pc = regs->r[arch->pc];
    at->sp = regs->r[arch->sp];
    at->fp = regs->r[arch->fp];
    at->fp_known = regs_has(regs, arch->fp);
    at->lr_known = arch->lr != ARCH_NO_REG && regs_has(regs, arch->lr);
    at->lr = at->lr_known ? regs->r[arch->lr] : 0;
}

/* One step whose rule the cache does not hold: decodes the row, remembers its rule, applies it. */
static __attribute__((noinline)) enum unwind_status quick_step_slow(const struct walk_space *space,
                                                                    const struct memory *memory,
                                                                    struct quick *at,
                                                                    struct output *out)
{
    struct unwind_row row;
    struct regs regs;
    quick_to_regs(space->arch, at, &regs);
    const uint64_t key = rule_key(space->cache, at->pc, at->exact);
    enum unwind_status status = step_row(space, memory, &regs, at->exact, &row);
    bool signal_frame = false;
    if (status == UNWIND_OK) {
        signal_frame = row.signal_frame;
        at->method = row.method;
        if (!row.fleeting)
            rule_cache_put_key(space->cache, at->pc, key, rule_pack(space->arch, &row));
        status = step_apply(space, memory, &row, at->exact, &regs);
    } else if (status == UNWIND_NO_INFO) {
        status = step_without_info(space, memory, at->exact, &regs, &at->method);
    }
    if (signal_frame)
        output_mark_signal(out);
    if (status != UNWIND_OK)
        return status;
    if (signal_frame && ++at->signal_frames > MAX_SIGNAL_FRAMES)
        return UNWIND_LOOP;
    quick_from_regs(space->arch, &regs, at);
    at->fp = step_frame_pointer(space, at->fp);
    at->exact = signal_frame;
    return UNWIND_OK;
}

/* One step by a rule of kind RULE_SP or RULE_FP. */
static enum unwind_status quick_step_rule(const struct walk_space *space,
                                          const struct memory *memory, struct quick *at,
                                          rule_t rule)
{
    const unsigned word = space->arch->register_size;
    const bool has_lr = space->arch->lr != ARCH_NO_REG;
    uint64_t base = rule_kind(rule) == RULE_SP ? at->sp : at->fp;
    const uint64_t mask = space->arch->pointer_mask; /* fp may be wider, on arm64_32 */
    uint64_t cfa = (base + rule_cfa_words(rule) * word) & mask;
    int64_t ra_words = rule_ra_words(rule), fp_words = rule_fp_words(rule);
    uint64_t ra = at->lr;
    if (ra_words == 0 && !at->lr_known)
        return UNWIND_NEEDS_REGS;
    if (ra_words != 0 && !memory_word(memory, (cfa + (uint64_t)ra_words * word) & mask, word, &ra))
        return UNWIND_BAD_MEMORY;
    ra = step_code_address(space, ra);
    if (ra_words == 0 && ra == at->pc)
        return UNWIND_BAD_INFO;
    if (cfa < at->sp || (cfa == at->sp && !(ra_words == 0 && at->exact)))
        return UNWIND_LOOP;
    if (fp_words) {
        const uint64_t fp_at = (cfa + (uint64_t)fp_words * word) & mask;
        at->fp_known = memory_word(memory, fp_at, word, &at->fp);
        at->fp = step_frame_pointer(space, at->fp);
    }
    at->sp = cfa;
    at->pc = ra;
    at->lr = ra;
    at->lr_known = has_lr;
    at->method = rule_method(rule);
    at->exact = false;
    return UNWIND_OK;
}

/* One step of any kind. */
static __attribute__((noinline)) enum unwind_status quick_step(const struct walk_space *space,
                                                               const struct memory *memory,
                                                               struct quick *at, struct output *out)
{
    rule_t rule = rule_cache_get(space->cache, at->pc, at->exact);
    unsigned kind = rule_kind(rule);
    if (kind == RULE_SP || (kind == RULE_FP && at->fp_known))
        return quick_step_rule(space, memory, at, rule);
    return kind == RULE_ROOT ? UNWIND_ROOT : quick_step_slow(space, memory, at, out);
}

/* What a run knows beforehand: constants where the walk is of this process. */
struct quick_terms {
    unsigned word; /* bytes */
    bool has_lr;
    bool direct;        /* the near range lies at its own addresses */
    bool addresses;     /* bare addresses are asked for */
    bool swift_async;   /* a saved frame pointer may be tagged */
    uint64_t code_mask; /* bits that a code address keeps */
};

static inline uint64_t near_word(const struct memory_range *near, uint64_t address,
                                 struct quick_terms terms)
{
    const uint8_t *at =
        terms.direct ? (const uint8_t *)(uintptr_t)address : near->bytes + (address - near->lo);
    uint64_t wide;
    uint32_t half;
    if (terms.word == 8) {
        memcpy(&wide, at, 8);
        return wide;
    }
    memcpy(&half, at, 4);
    return half;
}

/* A frame from its address and its other fields as they lie in memory. */
static inline struct fw_frame frame_of(uint64_t address, uint64_t fields)
{
    struct fw_frame frame = {.address = address};
    memcpy((uint8_t *)&frame + offsetof(struct fw_frame, kind), &fields, sizeof fields);
    return frame;
}

/* Frames as long as they are of the common kind: found by a return address, their rule in the
 * cache, their words in the near range. Stops in front of the first one that is not. This loop is
 * what a capture costs; it keeps its state in registers and calls nothing. Returns how many frames
 * it walked. */
static inline __attribute__((always_inline)) uint64_t
quick_run(const struct rule_cache *cache, const struct memory *memory, struct quick *quick,
          struct output *output, uint64_t most, struct quick_terms terms)
{
    const struct memory_range near = memory->range[0];
    const uint64_t span = near.size < terms.word ? 0 : near.size - terms.word + 1;
    const struct rule_cache local = {.generation =
                                         __atomic_load_n(&cache->generation, __ATOMIC_RELAXED),
                                     .mask = cache->mask,
                                     .slot = cache->slot};
    uint64_t pc = quick->pc, sp = quick->sp, fp = quick->fp, id = output->id;
    uint64_t info = FW_FRAME_RETURN | (uint64_t)quick->method << 8;
    struct fw_frame *frame = terms.addresses ? NULL : output->stack->frames + output->count;
    void **address = terms.addresses ? output->addresses + output->count : NULL;
    uint64_t left = most;

    struct rule_slot *slot = rule_slot_of(&local, pc), nobody, *callee = &nobody;
    for (; left; left--) {
        rule_t rule;
        if (__builtin_expect(!rule_slot_holds(slot, pc ^ local.generation, &rule), 0))
            rule = rule_guess_again(&local, pc, pc ^ local.generation, callee, &slot);
        unsigned kind = rule_kind(rule);
        if (__builtin_expect(kind != RULE_SP && kind != RULE_FP, 0))
            break;
        int64_t ra_words = terms.has_lr ? rule_ra_words(rule) : -1;
        int64_t fp_words = rule_fp_words(rule);
        uint64_t cfa = sp;
        if (kind == RULE_FP) {
            __asm__("" : "+r"(fp)); /* a branch: sp shall not wait for fp to come from memory */
            cfa = fp;
        }
        cfa += rule_cfa_words(rule) * terms.word;
        uint64_t ra_at = cfa + (uint64_t)ra_words * terms.word;
        uint64_t fp_at = cfa + (uint64_t)fp_words * terms.word;
        if (__builtin_expect(cfa <= sp || ra_at - near.lo >= span || ra_words == 0, 0))
            break;
        if (__builtin_expect(fp_words && fp_at - near.lo >= span, 0))
            break;
        if (terms.swift_async && fp_words && async_is_tagged(near_word(&near, fp_at, terms)))
            break;
        uint64_t ra = near_word(&near, ra_at, terms) & terms.code_mask;
        if (terms.addresses) {
            *address++ = (void *)(uintptr_t)pc;
        } else {
            id = stack_id_step(id, pc);
            *frame++ = frame_of(pc, info);
        }
        if (fp_words)
            fp = near_word(&near, fp_at, terms);
        sp = cfa;
        pc = ra;
        callee = slot;
        slot = rule_guess(&local, callee);
        info = FW_FRAME_RETURN | (uint64_t)rule_method(rule) << 8;
    } /* the root's address, 0, has no rule either */
    if (left < most) {
        output->count += most - left;
        output->id = id;
        output->last = terms.addresses ? NULL : frame - 1;
        *quick = (struct quick){.pc = pc,
                                .sp = sp,
                                .fp = fp,
                                .lr = pc,
                                .fp_known = true,
                                .lr_known = terms.has_lr,
                                .method = (uint8_t)(info >> 8),
                                .signal_frames = quick->signal_frames};
    }
    return most - left;
}

static inline __attribute__((always_inline)) enum unwind_status
quick_walk(const struct walk_space *space, const struct memory *memory, struct quick *at,
           uint64_t max_walk, struct output *out, struct quick_terms terms)
{
    for (uint64_t walked = 0; walked < max_walk; walked++) {
        if (!at->exact && at->fp_known && !out->skip && out->count < out->head) {
            uint64_t room = out->head - out->count, most = max_walk - walked;
            walked += quick_run(space->cache, memory, at, out, room < most ? room : most, terms);
            if (at->pc == 0)
                return UNWIND_ROOT;
        }
        if (!is_frame(space, memory, at->pc, at->exact))
            return UNWIND_NOT_CODE;
        if (walked >= max_walk || !output_frame(out, at->pc, at->exact, at->method))
            break;
        const uint64_t fp = at->fp;
        const bool fp_known = at->fp_known;
        enum unwind_status status = quick_step(space, memory, at, out);
        if (status != UNWIND_OK)
            return status;
        struct async_chain chain;
        if (terms.swift_async && fp_known && !at->exact &&
            left_async(space, memory, fp, at->fp, at->pc, &chain))
            return async_walk(space, memory, &chain, max_walk - walked - 1, out);
        if (at->pc == 0 && !at->exact)
            return UNWIND_ROOT;
    }
    return UNWIND_OK;
}

static enum unwind_status whole_walk(const struct walk_space *space, const struct memory *memory,
                                     struct regs regs, bool exact, uint64_t max_walk,
                                     struct output *out)
{
    const struct arch *arch = space->arch;
    uint8_t method = FW_METHOD_REGISTERS;
    uint32_t signal_frames = 0;
    for (uint64_t walked = 0;; walked++) {
        bool signal_frame;
        if (!is_frame(space, memory, regs.r[arch->pc], exact))
            return UNWIND_NOT_CODE;
        if (walked == max_walk || !output_frame(out, regs.r[arch->pc], exact, method))
            return UNWIND_OK;
        const uint64_t fp = regs.r[arch->fp];
        const bool fp_known = regs_has(&regs, arch->fp);
        enum unwind_status status = walk_step(space, memory, exact, &regs, &method, &signal_frame);
        if (signal_frame)
            output_mark_signal(out);
        if (status != UNWIND_OK)
            return status;
        if (signal_frame && ++signal_frames > MAX_SIGNAL_FRAMES)
            return UNWIND_LOOP;
        exact = signal_frame;
        struct async_chain chain;
        if (space->swift_async && fp_known && !exact &&
            left_async(space, memory, fp, regs.r[arch->fp], regs.r[arch->pc], &chain))
            return async_walk(space, memory, &chain, max_walk - walked - 1, out);
        if (regs.r[arch->pc] == 0 && !exact)
            return UNWIND_ROOT;
    }
}

void walk_stack(const struct walk_space *space, const struct memory *memory,
                const struct regs *regs, const struct walk_options *options, struct fw_stack *stack)
{
    const struct arch *arch = space->arch;
    uint64_t max_walk = options->max_walk ? options->max_walk : MAX_WALK;
    bool exact = options->exact_first;
    if (stack->tail >= stack->capacity)
        stack->tail = 0;

    struct quick at = {.exact = exact, .method = FW_METHOD_REGISTERS};
    quick_from_regs(arch, regs, &at);
    at.pc = step_code_address(space, at.pc);
    at.fp = step_frame_pointer(space, at.fp);

    struct output out = output_begin(stack, options);
    enum unwind_status status;
    struct quick_terms terms = {.word = arch->register_size,
                                .has_lr = arch->lr != ARCH_NO_REG,
                                .addresses = out.addresses != NULL,
                                .swift_async = space->swift_async,
                                .code_mask = step_code_address(space, UINT64_MAX)};
    bool native = arch == &ARCH_NATIVE && space->swift_async == SELF_SWIFT_ASYNC &&
                  memory->range[0].bytes == (const uint8_t *)(uintptr_t)memory->range[0].lo;
    if (native) { /* make them constants */
        terms.word = sizeof(ARCH_NATIVE_WORD);
        terms.swift_async = SELF_SWIFT_ASYNC;
        terms.has_lr = ARCH_NATIVE_HAS_LR;
        terms.direct = true;
        if (!ARCH_NATIVE_HAS_LR)
            terms.code_mask = UINTPTR_MAX;
        if (terms.addresses)
            status = quick_walk(space, memory, &at, max_walk, &out, terms);
        else
            status = quick_walk(space, memory, &at, max_walk, &out, terms);
    } else {
        status = quick_walk(space, memory, &at, max_walk, &out, terms);
    }
    if (status == UNWIND_NEEDS_REGS) {
        struct regs whole = *regs;
        regs_set(&whole, arch->pc, step_code_address(space, regs->r[arch->pc]));
        whole.r[arch->fp] = step_frame_pointer(space, whole.r[arch->fp]);
        out = output_begin(stack, options);
        status = whole_walk(space, memory, whole, exact, max_walk, &out);
    }
    output_end(&out, status == UNWIND_OK ? FW_END_LIMIT : end_of(status));
}
