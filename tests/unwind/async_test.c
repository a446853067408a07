/*
 * Swift async frames in the walker (unwind/async.h): made-up stacks whose frames are known, in both
 * modes of the walk, whole or with a gap, as bare addresses, with rules in the cache and without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "async_world.h"
#include "framewalk/stack_table.h"

static const struct arch *const archs[] = {&arch_x86_64, &arch_aarch64, &arch_arm64_32};
enum { ARCHS = sizeof archs / sizeof *archs };
static struct world world;
static struct fw_frame expected[WORLD_FOUND], found[WORLD_FOUND];
static void *addresses[WORLD_FOUND];

/* Everything but the method of frames on the stack, which the tables tell. */
static bool same(const struct fw_frame *a, const struct fw_frame *b)
{
    bool is_async = b->flags & FW_FRAME_ASYNC;
    return a->address == b->address && a->kind == b->kind && a->flags == b->flags &&
           (!is_async || a->method == b->method);
}

static void expect_frames(const struct fw_frame *frames, const struct fw_frame *as, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same(&frames[i], &as[i]))
            fail_msg("frame %zu of %zu: %#llx kind %u flags %u instead of %#llx kind %u flags %u",
                     i, count, (unsigned long long)frames[i].address, frames[i].kind,
                     frames[i].flags, (unsigned long long)as[i].address, as[i].kind, as[i].flags);
}

/* A walk with this room finds the frames that are expected of it. */
static void expect_walk(const struct world *w, size_t count, uint8_t end, uint32_t capacity,
                        uint32_t tail, uint32_t skip, uint32_t max_walk)
{
    const size_t walked = max_walk && max_walk < count ? max_walk : count;
    const size_t shown = walked > skip ? walked - skip : 0;
    const struct fw_frame *as = expected + (walked - shown);
    const struct walk_options options = {.exact_first = true, .skip = skip, .max_walk = max_walk};
    struct fw_stack stack = {.frames = found, .capacity = capacity, .tail = tail};
    world_walk(w, &options, &stack);

    if (shown <= capacity) {
        assert_int_equal(stack.count, shown);
        assert_int_equal(stack.end, walked < count ? FW_END_LIMIT : end);
        assert_int_equal(stack.omitted, 0);
        expect_frames(found, as, shown);
    } else {
        assert_int_equal(stack.count, capacity);
        expect_frames(found, as, tail ? capacity - tail : capacity);
        if (tail) {
            assert_int_equal(stack.omitted, shown - capacity);
            expect_frames(found + capacity - tail, as + shown - tail, tail);
        } else {
            assert_int_equal(stack.end, FW_END_LIMIT);
        }
    }
    assert_int_equal(stack.id, fw_stack_id(as, tail || shown < capacity ? shown : stack.count));
}

static void expect_addresses(const struct world *w, size_t count, uint32_t capacity)
{
    const struct walk_options options = {.exact_first = true, .addresses = addresses};
    struct fw_stack stack = {.capacity = capacity};
    world_walk(w, &options, &stack);
    assert_int_equal(stack.count, count < capacity ? count : capacity);
    for (uint32_t i = 0; i < stack.count; i++)
        assert_int_equal((uintptr_t)addresses[i],
                         expected[i].address + (expected[i].flags & FW_FRAME_ASYNC ? 1 : 0));
}

/* All walks of the stack agree with the known answer. */
static void expect_all(struct world *w)
{
    uint8_t end;
    const size_t count = world_expect(w, expected, &end);
    rule_cache_clear(w->space.cache);
    for (unsigned warm = 0; warm < 2; warm++) {
        expect_walk(w, count, end, WORLD_FOUND, 0, 0, 0);
        expect_addresses(w, count, WORLD_FOUND);
    }
    const uint32_t small = 1 + (uint32_t)world_random(w, count + 2);
    expect_walk(w, count, end, small, 0, 0, 0);
    expect_walk(w, count, end, small, (uint32_t)world_random(w, small), 0, 0);
    expect_walk(w, count, end, small, (uint32_t)world_random(w, small),
                (uint32_t)world_random(w, count + 2), (uint32_t)world_random(w, count + 2));
    expect_addresses(w, count, small);
}

static void create(const struct arch *arch, uint64_t seed)
{
    world_create(&world, arch, false, seed);
    world_begin(&world);
}

/* swift_job_run and what called it. */
static void enter_executor(void)
{
    world_enter(&world, RECORD);
    world_enter(&world, FRAMELESS);
    world_enter(&world, RECORD);
}

static void expect_end(uint8_t end, size_t count)
{
    const struct walk_options options = {.exact_first = true};
    struct fw_stack stack = {.frames = found, .capacity = WORLD_FOUND};
    world_walk(&world, &options, &stack);
    assert_int_equal(stack.end, end);
    assert_int_equal(stack.count, count);
}

static void innermost_frame_is_async(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        create(archs[a], a);
        enter_executor();
        world_enter_async(&world, RECORD, world_chain(&world, 3));
        expect_all(&world);
        expect_end(FW_END_ROOT, 1 + 3);
        world_destroy(&world);
    }
}

static void callees_without_frame_pointers(void **state)
{
    (void)state;
    static const enum kind callees[] = {FRAMELESS, BY_REGISTER, RECORD_SP, TRAMPOLINE};
    for (unsigned a = 0; a < ARCHS; a++) {
        for (unsigned k = 0; k < 4; k++) {
            create(archs[a], k);
            enter_executor();
            world_enter_async(&world, RECORD, world_chain(&world, 4));
            world_enter(&world, callees[k]);
            world_enter(&world, FRAMELESS);
            expect_all(&world);
            expect_end(FW_END_ROOT, 3 + 4);
            world_destroy(&world);
        }
    }
}

/* Where an async function runs inside a synchronous one that an async one called. */
static void only_the_first_async_frame_counts(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        create(archs[a], a);
        enter_executor();
        world_enter_async(&world, RECORD, world_chain(&world, 5));
        world_enter(&world, RECORD);
        world_enter_async(&world, RECORD_SP, world_chain(&world, 2));
        world_enter(&world, RECORD);
        expect_all(&world);
        expect_end(FW_END_ROOT, 2 + 2);
        world_destroy(&world);
    }
}

/* A function that has no context yet: the executor's frames are shown. */
static void record_without_context(void **state)
{
    (void)state;
    static const uint64_t no_context[] = {0, 1, 0x60000002};
    for (unsigned a = 0; a < ARCHS; a++) {
        for (unsigned i = 0; i < 3; i++) {
            create(archs[a], a);
            world_chain(&world, 3);
            enter_executor();
            world_enter_async(&world, RECORD, no_context[i]);
            world_enter(&world, FRAMELESS);
            expect_end(FW_END_ROOT, 5);
            assert_int_equal(found[1].address, world.frame[3].pc);
            assert_int_equal(found[4].address, world.frame[0].pc);
            world_destroy(&world);
        }
    }
}

/* In the prologue, and behind the epilogue's load, the register holds the tagged value of the
 * caller. Whatever lies below the record is no context then. */
static void stop_with_tagged_register(const struct arch *arch, enum kind kind, unsigned interrupted,
                                      bool whole)
{
    create(arch, kind);
    const uint64_t stale = world_chain(&world, 3);
    enter_executor();
    if (whole) {
        world_enter(&world, BY_REGISTER);
        world_enter(&world, RECORD);
    }
    const size_t at = world.frame_count;
    const uint64_t fp = world.regs.r[arch->fp];
    if (kind == RECORD_SP)
        world_enter_async(&world, kind, stale);
    else
        world_enter(&world, kind);
    world.regs.r[arch->fp] = fp | WORLD_TAG;
    if (interrupted) {
        world_enter(&world, interrupted == 1 ? TRAMPOLINE : SIGTRAMP);
        if (interrupted == 2)
            world_poke(&world, world.regs.r[arch->fp] - 8, stale);
        world_enter(&world, RECORD);
        world_poke(&world, world.regs.r[arch->fp] - 8, stale);
    }
    world.frame[at].context = 0;
    expect_all(&world);
    expect_end(FW_END_ROOT, at + (interrupted ? 3 : 1));
    world_destroy(&world);
}

static void tagged_frame_pointer_register(void **state)
{
    (void)state;
    static const enum kind kinds[] = {ENTRY, RECORD_SP, FRAMELESS};
    for (unsigned a = 0; a < ARCHS; a++) {
        for (unsigned k = 0; k < 3; k++) {
            for (unsigned interrupted = 0; interrupted < 3; interrupted++) {
                /* The made-up trampolines save no link register. */
                if (interrupted && kinds[k] == ENTRY && archs[a]->lr != ARCH_NO_REG)
                    continue;
                stop_with_tagged_register(archs[a], kinds[k], interrupted, false);
                stop_with_tagged_register(archs[a], kinds[k], interrupted, true);
            }
        }
    }
}

/* The chain of frame records goes outwards, whatever the tag does to the comparison. */
static void record_that_leads_back(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        create(archs[a], a);
        enter_executor();
        world_enter_async(&world, NO_TABLE, 0);
        const uint64_t fp = world.regs.r[archs[a]->fp];
        world_enter(&world, FRAMELESS);
        expect_all(&world);
        world_poke(&world, fp, WORLD_TAG | (fp - 64));
        expect_end(FW_END_NO_INFO, 2);
        world_destroy(&world);
    }
}

/* What an instruction of an async function does. */
enum effect {
    TAGS,
    PUSHES_FP,      /* x86_64 */
    PUSHES_CONTEXT, /* x86_64 */
    LOWERS_SP,
    SAVES_PAIR,    /* arm64: fp and lr, to sp + 16 */
    SAVES_CONTEXT, /* arm64: to sp + 8 */
    SETS_FP,       /* to the record */
    WORKS,
    RAISES_SP,
    POPS_FP,    /* x86_64 */
    LOADS_PAIR, /* arm64 */
    UNTAGS,
    LEAVES,
};

/* As clang compiles it; the first instruction also as for systems that may not know such frames. */
static const struct instruction {
    uint8_t effect, size, bytes[7];
} code_x86_64[] =
    {
        {TAGS, 5, {0x48, 0x0f, 0xba, 0xed, 0x3c}},    /* btsq $60, %rbp */
        {PUSHES_FP, 1, {0x55}},                       /* pushq %rbp */
        {PUSHES_CONTEXT, 2, {0x41, 0x56}},            /* pushq %r14 */
        {SETS_FP, 5, {0x48, 0x8d, 0x6c, 0x24, 0x08}}, /* leaq 8(%rsp), %rbp */
        {LOWERS_SP, 4, {0x48, 0x83, 0xec, 0x18}},     /* subq $24, %rsp */
        {WORKS, 2, {0x31, 0xff}},                     /* xorl %edi, %edi */
        {WORKS, 5, {0xe8, 0x00, 0x01, 0x00, 0x00}},   /* callq */
        {WORKS, 3, {0x4c, 0x89, 0xf0}},               /* movq %r14, %rax */
        {WORKS, 3, {0x4d, 0x8b, 0x36}},               /* movq (%r14), %r14 */
        {RAISES_SP, 4, {0x48, 0x83, 0xc4, 0x10}},     /* addq $16, %rsp */
        {RAISES_SP, 4, {0x48, 0x83, 0xc4, 0x10}},     /* addq $16, %rsp */
        {POPS_FP, 1, {0x5d}},                         /* popq %rbp */
        {UNTAGS, 5, {0x48, 0x0f, 0xba, 0xf5, 0x3c}},  /* btrq $60, %rbp */
        {LEAVES, 3, {0xff, 0x60, 0x08}},              /* jmpq *8(%rax) */
        {0},
},
  code_arm64[] = {
      {TAGS, 4, {0xbd, 0x03, 0x44, 0xb2}},          /* orr x29, x29, #1 << 60 */
      {LOWERS_SP, 4, {0xff, 0x83, 0x00, 0xd1}},     /* sub sp, sp, #32 */
      {SAVES_PAIR, 4, {0xfd, 0x7b, 0x01, 0xa9}},    /* stp x29, x30, [sp, #16] */
      {SAVES_CONTEXT, 4, {0xf6, 0x07, 0x00, 0xf9}}, /* str x22, [sp, #8] */
      {SETS_FP, 4, {0xfd, 0x43, 0x00, 0x91}},       /* add x29, sp, #16 */
      {WORKS, 4, {0x00, 0x00, 0x80, 0xd2}},         /* mov x0, #0 */
      {WORKS, 4, {0x40, 0x00, 0x00, 0x94}},         /* bl */
      {WORKS, 4, {0xd6, 0x02, 0x40, 0xa9}},         /* ldp x22, x0, [x22] */
      {LOADS_PAIR, 4, {0xfd, 0x7b, 0x41, 0xa9}},    /* ldp x29, x30, [sp, #16] */
      {UNTAGS, 4, {0xbd, 0xfb, 0x43, 0x92}},        /* and x29, x29, #~(1 << 60) */
      {RAISES_SP, 4, {0xff, 0x83, 0x00, 0x91}},     /* add sp, sp, #32 */
      {LEAVES, 4, {0x00, 0x00, 0x1f, 0xd6}},        /* br x0 */
      {0},
};
static const struct instruction dynamic_tag[] = {
    {TAGS, 7, {0x48, 0x0b, 0x2d, 0x00, 0x10, 0x00, 0x00}}, /* orq flags@GOTPCREL(%rip), %rbp */
    {TAGS, 4, {0xbd, 0x03, 0x10, 0xaa}},                   /* orr x29, x29, x16 */
    {TAGS, 4, {0xbd, 0x83, 0x10, 0xaa}},                   /* orr x29, x29, x16, lsl #32 */
};

static uint64_t function_lo, function_hi;

static void execute(struct world *w, const struct instruction *insn, uint64_t record,
                    uint64_t context)
{
    const unsigned fp = w->arch->fp, sp = w->arch->sp;
    uint64_t *r = w->regs.r;
    const uint8_t amount = insn->bytes[w->arch == &arch_x86_64 ? 3 : 1];
    switch ((enum effect)insn->effect) {
    case TAGS: r[fp] |= WORLD_TAG; break;
    case PUSHES_FP: world_poke(w, r[sp] -= 8, r[fp]); break;
    case PUSHES_CONTEXT: world_poke(w, r[sp] -= 8, context); break;
    case LOWERS_SP: r[sp] -= w->arch == &arch_x86_64 ? amount : 32; break;
    case SAVES_PAIR:
        world_poke(w, r[sp] + 16, r[fp]);
        world_poke(w, r[sp] + 24, r[w->arch->lr]);
        break;
    case SAVES_CONTEXT: world_poke(w, r[sp] + 8, world_sign(w, context)); break;
    case SETS_FP: r[fp] = record; break;
    case WORKS: break;
    case RAISES_SP: r[sp] += w->arch == &arch_x86_64 ? amount : 32; break;
    case POPS_FP: r[sp] += 8; /* fallthrough */
    case LOADS_PAIR: r[fp] = w->stack[(record - w->stack_lo) / 8]; break;
    case UNTAGS: r[fp] &= ~WORLD_TAG; break;
    case LEAVES: break;
    }
}

/* Stopped in front of instruction `at`. */
static void stop_at(struct world *w, const struct instruction *code, unsigned at)
{
    const bool pushes = w->arch->lr == ARCH_NO_REG;
    world_begin(w);
    const uint64_t context = world_chain(w, 3);
    world_enter(w, RECORD);
    world_enter(w, FRAMELESS);
    world_enter(w, RECORD);
    const uint64_t caller = w->regs.r[w->arch->pc], cfa = w->regs.r[w->arch->sp];
    if (pushes)
        world_poke(w, w->regs.r[w->arch->sp] -= 8, caller);
    else
        regs_set(&w->regs, w->arch->lr, caller);
    uint64_t pc = function_lo;
    for (unsigned i = 0; i < at; pc += code[i].size, i++)
        execute(w, &code[i], cfa - 16, context);
    w->regs.r[w->arch->pc] = pc;
    const bool begun = w->regs.r[w->arch->fp] == cfa - 16;
    w->frame[w->frame_count].pc = pc;
    w->frame[w->frame_count].is_async = begun;
    w->frame[w->frame_count].is_signal = w->frame[w->frame_count].exact = false;
    w->frame[w->frame_count++].context = context;
}

/* Tables of Mach-O images hold in the body alone, so the instructions tell where the record is. */
static void each_instruction_of_a_function(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        for (unsigned dynamic = 0; dynamic < 2; dynamic++) {
            struct instruction code[16];
            memcpy(code, a == 0 ? code_x86_64 : code_arm64,
                   a == 0 ? sizeof code_x86_64 : sizeof code_arm64);
            if (dynamic)
                code[0] = dynamic_tag[a];
            world_create(&world, archs[a], false, a);
            function_lo = function_hi = WORLD_CODE + RECORD * WORLD_KIND_CODE + 2048;
            uint8_t *bytes = (uint8_t *)(uintptr_t)world.image.text.data;
            for (unsigned i = 0; code[i].size; function_hi += code[i].size, i++)
                memcpy(bytes + (function_hi - WORLD_CODE), code[i].bytes, code[i].size);
            world.image.macho = true;
            const uint8_t starts[] = {0x80, 0x10, (uint8_t)(function_hi - function_lo), 0};
            world.image.header = WORLD_CODE;
            world.image.function_starts = (struct unwind_section){starts, sizeof starts, 0};
            for (unsigned i = 0; code[i].size; i++) {
                stop_at(&world, code, i);
                world.memory.range[1] =
                    (struct memory_range){world.heap_lo, sizeof world.heap, world.heap};
                /* Where the stack pointer is above it, the context lies in the red zone. */
                expect_all(&world);
            }
            world_destroy(&world);
        }
    }
}

/* Off, a tagged record is what a damaged stack looks like, as it always was. */
static void only_in_spaces_that_say_so(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        if (archs[a]->pointer_size == 4)
            continue; /* the tag is in the half of the word that is no pointer */
        create(archs[a], a);
        enter_executor();
        world_enter_async(&world, RECORD, world_chain(&world, 3));
        world_enter(&world, RECORD);
        world.space.swift_async = false;
        expect_end(FW_END_BAD_MEMORY, 3);
        world_destroy(&world);
    }
}

static void broken_chains_say_why(void **state)
{
    (void)state;
    for (unsigned a = 0; a < ARCHS; a++) {
        create(archs[a], a);
        const uint64_t code = WORLD_CODE + 16, nowhere = 0x44444440;
        const struct {
            uint64_t parent, resume; /* of the outermost one */
            uint8_t end;
            unsigned frames;
        } cases[] = {
            {0, code, FW_END_ROOT, 1},
            {0, 0, FW_END_ROOT, 0},
            {nowhere, code, FW_END_BAD_MEMORY, 1},
            {world.heap_lo + 2, code, FW_END_BAD_MEMORY, 1}, /* not aligned */
            {0, nowhere, FW_END_NOT_CODE, 0},
        };
        for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
            for (unsigned inner = 0; inner < 3; inner++) {
                world_begin(&world);
                uint64_t context = world_context(&world, cases[i].parent, cases[i].resume);
                for (unsigned n = 0; n < inner; n++)
                    context = world_context(&world, context, code);
                enter_executor();
                world_enter_async(&world, RECORD, context);
                world_enter(&world, FRAMELESS);
                expect_all(&world);
                expect_end(cases[i].end, 2 + inner + cases[i].frames);
            }
        }
        world_begin(&world);
        enter_executor();
        world_enter_async(&world, RECORD, nowhere);
        expect_all(&world);
        expect_end(FW_END_BAD_MEMORY, 1);
        world_destroy(&world);
    }
}

/* Each loop ends, its frames are shown, and none of them very often. */
static void loops_of_contexts(void **state)
{
    (void)state;
    for (size_t before = 0; before < 20; before++) {
        for (size_t loop = 1; loop < 20; loop++) {
            create(archs[loop % ARCHS], before);
            uint64_t context = world_chain(&world, 1);
            for (size_t i = 1; i < loop; i++)
                context = world_context(&world, context, world_code(&world, RECORD));
            world_reparent(&world, world.heap_lo, context);
            for (size_t i = 0; i < before; i++)
                context = world_context(&world, context, world_code(&world, RECORD));
            enter_executor();
            world_enter_async(&world, RECORD, context);

            uint8_t end;
            world_expect(&world, expected, &end);
            const struct walk_options options = {.exact_first = true};
            struct fw_stack stack = {.frames = found, .capacity = WORLD_FOUND};
            world_walk(&world, &options, &stack);
            assert_int_equal(stack.end, FW_END_LOOP);
            assert_in_range(stack.count, 1 + before + loop, 1 + 3 * (before + loop));
            expect_frames(found, expected, stack.count);
            world_destroy(&world);
        }
    }
}

static void long_chains(void **state)
{
    (void)state;
    create(&arch_aarch64, 1);
    enter_executor();
    world_enter_async(&world, RECORD, world_chain(&world, WORLD_CONTEXTS));
    for (unsigned i = 0; i < 20; i++)
        world_enter(&world, i % 2 ? RECORD : FRAMELESS);
    expect_all(&world);
    expect_end(FW_END_ROOT, 21 + WORLD_CONTEXTS);
    world_destroy(&world);
}

/* A record leads to the same async function from where the function before it returns to. */
static void id_tells_an_async_frame_from_a_return(void **state)
{
    (void)state;
    const struct fw_frame called = {.address = 0x1000, .kind = FW_FRAME_RETURN};
    const struct fw_frame suspended = {
        .address = 0x1000, .kind = FW_FRAME_EXACT, .flags = FW_FRAME_ASYNC};
    assert_int_not_equal(fw_stack_id(&called, 1), fw_stack_id(&suspended, 1));
}

/* Any stack. Behind code without tables nothing but fp and sp is known, so `by_register` excludes
 * them. */
static void random_stack(uint64_t seed, enum kind innermost, bool by_register)
{
    const struct arch *arch = archs[seed % ARCHS];
    const bool direct = seed / ARCHS % 2 && arch->pointer_size == sizeof(void *);
    world_create(&world, arch, direct, seed);
    world.contexts_slow = seed / ARCHS / 2 % 2;
    world_begin(&world);
    world_chain(&world, (size_t)world_random(&world, 3)); /* of other tasks */
    const size_t depth = 1 + (size_t)world_random(&world, 30);
    static const enum kind kinds[] = {RECORD,      RECORD_SP,  FRAMELESS, FRAMELESS,
                                      BY_REGISTER, TRAMPOLINE, SIGTRAMP,  NO_TABLE};
    static const enum kind async_kinds[] = {RECORD, RECORD_SP, NO_TABLE};
    enum kind kind = TRAMPOLINE; /* which calls no async function, and is called by somebody */
    world_enter(&world, RECORD);
    for (size_t i = 0; i < depth; i++) {
        if (kind != TRAMPOLINE && kind != SIGTRAMP && world_random(&world, 6) == 0) {
            world_enter_async(&world, async_kinds[world_random(&world, by_register ? 2 : 3)],
                              world_chain(&world, (size_t)world_random(&world, 12)));
            continue;
        }
        kind = kinds[world_random(&world, 8)];
        if ((kind == BY_REGISTER && !by_register) || (kind == NO_TABLE && by_register))
            kind = FRAMELESS;
        world_enter(&world, kind);
    }
    world_enter(&world, innermost);
    expect_all(&world);
    world_destroy(&world);
}

/* The same stack below a frame that makes quick mode give up, and below one that does not. */
static void random_stacks(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        random_stack(seed, FRAMELESS, false);
        random_stack(seed, RECORD, true);
        random_stack(seed, BY_REGISTER, true);
        random_stack(seed, ENTRY, seed % 3 == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(innermost_frame_is_async),
        cmocka_unit_test(callees_without_frame_pointers),
        cmocka_unit_test(only_the_first_async_frame_counts),
        cmocka_unit_test(record_without_context),
        cmocka_unit_test(tagged_frame_pointer_register),
        cmocka_unit_test(record_that_leads_back),
        cmocka_unit_test(each_instruction_of_a_function),
        cmocka_unit_test(only_in_spaces_that_say_so),
        cmocka_unit_test(broken_chains_say_why),
        cmocka_unit_test(loops_of_contexts),
        cmocka_unit_test(long_chains),
        cmocka_unit_test(id_tells_an_async_frame_from_a_return),
        cmocka_unit_test(random_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
