/*
 * Walks over stacks made by hand, through a Mach-O image whose table and code are made by hand,
 * too: for what compact unwind says and does not say of a frame, signal handlers, code that
 * functions share, and damaged tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/function_starts.h"
#include "unwind/compact_table.h"
#include "unwind/one_image.h"
#include "unwind/rule.h"
#include "unwind/sources.h"

enum { BASE = 0x100000, STACK = 0x700000, WORDS = 128 };

/* An image whose code is nothing but calls, so that it proves nothing: one function in
 * each 0x100 bytes. */
struct world {
    struct unwind_image image;
    struct table table;
    uint8_t code[0x2000];
    uint8_t starts[64];
    uint64_t stack[WORDS];
    struct rule_cache *cache;
    uint64_t sigtramp;
};

static struct world *make_world(const struct arch *arch, const uint32_t (*entries)[2],
                                unsigned count)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct starts_list starts = {.bytes = w->starts};
    for (unsigned i = 0; i < 16; i++)
        starts_add(&starts, 0x1000 + 0x100 * i);
    table_begin(&w->table, 0, 0);
    table_regular(&w->table, entries, count);
    for (unsigned i = 0; i < 3; i++)
        table_index(&w->table, 0x2000, 0);
    for (size_t at = 0; at < sizeof w->code; at += 4) {
        uint32_t insn = arch->id == ARCH_AARCH64 ? 0x94000000 : 0xebfffffe; /* bl */
        memcpy(w->code + at, &insn, 4);
    }
    w->cache = calloc(1, RULE_CACHE_SIZE(6));
    assert_non_null(w->cache);
    rule_cache_init(w->cache, 6);
    w->image = (struct unwind_image){
        .arch = arch,
        .macho = true,
        .bias = 0x4000,
        .lo = BASE,
        .hi = BASE + sizeof w->code,
        .header = BASE,
        .text = {w->code, sizeof w->code, BASE},
        .unwind_info = {w->table.bytes, w->table.size, BASE + 0x8000},
        .function_starts = {w->starts, starts.size, 0},
    };
    return w;
}

static void free_world(struct world *w)
{
    free(w->cache);
    free(w);
}

/* A runtime address in function number `i`. */
static uint64_t in_function(const struct world *w, unsigned i)
{
    return w->image.bias + BASE + 0x1000 + 0x100 * i + 0x40;
}

static void put_code(struct world *w, unsigned function, const uint32_t *insns, unsigned count)
{
    memcpy(w->code + 0x1000 + 0x100 * function, insns, 4 * count);
}

static void walk_world(struct world *w, const struct regs *regs, struct fw_stack *stack)
{
    const struct walk_space space = {.arch = w->image.arch,
                                     .find_image = find_image,
                                     .context = &w->image,
                                     .cache = w->cache,
                                     .sigtramp = w->sigtramp};
    const struct memory memory = {.range = {{STACK, sizeof w->stack, (const uint8_t *)w->stack}}};
    const struct walk_options options = {.exact_first = true};
    walk_stack(&space, &memory, regs, &options, stack);
}

static void check_walk(struct world *w, const struct regs *regs, const uint64_t *expected,
                       unsigned count, uint8_t end)
{
    struct fw_frame frames[16];
    struct fw_stack stack = {.frames = frames, .capacity = 16};
    for (unsigned again = 0; again < 2; again++) { /* the second time by rules from the cache */
        walk_world(w, regs, &stack);
        assert_int_equal(stack.count, count);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(frames[i].address, expected[i]);
        assert_int_equal(stack.end, end);
    }
}

static struct regs registers(const struct arch *arch, uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct regs regs = {{0}, 0};
    regs_set(&regs, arch->pc, pc);
    regs_set(&regs, arch->sp, sp);
    regs_set(&regs, arch->fp, fp);
    return regs;
}

enum { NONE = 0, FRAME = 0x04000000, FRAMELESS_32 = 0x02002000 };
static const uint32_t functions[][2] = {
    {0x1000, NONE}, {0x1100, FRAME}, {0x1200, FRAMELESS_32}, {0x1300, FRAME}, {0x1400, NONE}};

/* The innermost function has no information, and code that proves its frame: the return address is
 * in the link register. Frames further out are found through frame records. */
static void no_information_innermost(void **state)
{
    static const uint32_t wrapper[] = {0xd2800090, 0xd4001001, 0xd65f03c0}; /* mov; svc; ret */
    struct world *w = make_world(&arch_aarch64, functions, 5);
    struct regs regs = registers(&arch_aarch64, in_function(w, 0) - 0x40 + 8, STACK, STACK + 16);
    const uint64_t expected[] = {regs.r[32], in_function(w, 1), in_function(w, 3)};
    (void)state;
    put_code(w, 0, wrapper, 3);
    regs_set(&regs, 30, in_function(w, 1));
    w->stack[2] = STACK + 48; /* the record of function 1 */
    w->stack[3] = in_function(w, 3);
    w->stack[6] = 0; /* of function 3: the outermost */
    w->stack[7] = 0;
    check_walk(w, &regs, expected, 3, FW_END_ROOT);
    free_world(w);
}

/* System calls of libsystem_kernel, which has no information for them: at every instruction. */
static void system_calls(void **state)
{
    static const uint32_t arm64[] = {
        0xd2800090, 0xd4001001,             /* mov x16, #4; svc #0x80 */
        0x54000103,                         /* b.lo: to the last ret */
        0xd503237f, 0xa9bf7bfd, 0x910003fd, /* pacibsp; stp x29, x30, [sp, #-16]!; mov x29, sp */
        0x94000100, 0x910003bf,             /* bl cerror; mov sp, x29 */
        0xa8c17bfd, 0xd65f0fff, 0xd65f03c0, /* ldp x29, x30, [sp], #16; retab; ret */
    };
    static const uint8_t x86_64[] = {
        0xb8, 0x04, 0x00, 0x00, 0x02, 0x49, 0x89, 0xca, 0x0f, 0x05, /* mov; mov; syscall */
        0x73, 0x08, 0x48, 0x89, 0xc7, 0xe9, 0x00, 0x10, 0x00, 0x00, /* jae; mov; jmp cerror */
        0xc3,                                                       /* ret */
    };
    static const uint8_t x86_places[] = {0, 5, 8, 10, 12, 15, 20};
    struct world *w = make_world(&arch_aarch64, functions, 5);
    struct unwind_row row;
    (void)state;
    put_code(w, 0, arm64, 11);
    for (unsigned i = 0; i < 11; i++) {
        bool saved = i >= 5 && i <= 8;
        assert_true(row_at(&w->image, w->image.bias + BASE + 0x1000 + 4 * i, true, &row));
        assert_int_equal(row.reg[30].how, saved ? REG_AT_CFA : REG_SAME);
        assert_int_equal(row.cfa_offset, saved ? 16 : 0);
    }
    free_world(w);
    w = make_world(&arch_x86_64, functions, 5);
    memcpy(w->code + 0x1000, x86_64, sizeof x86_64);
    for (unsigned i = 0; i < sizeof x86_places; i++) {
        assert_true(row_at(&w->image, w->image.bias + BASE + 0x1000 + x86_places[i], true, &row));
        assert_true(row.cfa_reg == 7 && row.cfa_offset == 8);
    }
    free_world(w);
}

/* The same function behind a call: its link register is not asked. The chain of records goes on,
 * and where there is none the stack ends, saying so. */
static void no_information_further_out(void **state)
{
    struct world *w = make_world(&arch_aarch64, functions, 5);
    struct regs regs = registers(&arch_aarch64, in_function(w, 1), STACK, STACK);
    uint64_t expected[] = {in_function(w, 1), in_function(w, 4), in_function(w, 3)};
    (void)state;
    regs_set(&regs, 30, in_function(w, 2));
    w->stack[0] = STACK + 32;
    w->stack[1] = in_function(w, 4);
    w->stack[4] = STACK + 64;
    w->stack[5] = in_function(w, 3);
    check_walk(w, &regs, expected, 3, FW_END_ROOT);
    w->stack[0] = STACK + 33; /* no chain */
    check_walk(w, &regs, expected, 2, FW_END_NO_INFO);
    w->stack[0] = 0; /* a thread begins here */
    check_walk(w, &regs, expected, 2, FW_END_ROOT);
    free_world(w);
}

/* A frameless function behind a call, whose link register the callee restores (an assembler
 * function with DWARF that says so); and one whose callee says nothing of it. */
static void frameless_further_out(void **state)
{
    static const uint32_t with_dwarf[][2] = {
        {0x1000, 0x03000018}, {0x1100, FRAME}, {0x1200, FRAMELESS_32}, {0x1300, FRAME}};
    static const uint8_t frames[] = {/* CIE: returns through x9, CFA = sp + 32 */
                                     20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 9, 1, 0x00,
                                     0x0c, 31, 32, 0, 0, 0, 0,
                                     /* FDE: x9 at CFA - 24, x30 at CFA - 32 */
                                     28, 0, 0, 0, 28, 0, 0, 0, 0x00, 0x10, 0x10, 0, 0, 0, 0, 0,
                                     0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0x89, 3, 0x9e, 4, 0, 0, 0};
    struct world *w = make_world(&arch_aarch64, with_dwarf, 4);
    struct regs regs = registers(&arch_aarch64, in_function(w, 0), STACK, STACK + 80);
    const uint64_t expected[] = {in_function(w, 0), in_function(w, 2), in_function(w, 3)};
    (void)state;
    memset(w->code + 0x1000, 0, 0x100); /* nothing is proved here */
    w->image.eh_frame = (struct unwind_section){frames, sizeof frames, BASE + 0x9000};
    w->stack[0] = in_function(w, 3); /* x30, put back by the innermost function */
    w->stack[1] = in_function(w, 2); /* x9: where that returns to */
    check_walk(w, &regs, expected, 3, FW_END_ROOT);
    free_world(w);

    w = make_world(&arch_aarch64, functions, 5);
    regs = registers(&arch_aarch64, in_function(w, 1), STACK, STACK);
    regs_set(&regs, 30, in_function(w, 3));
    w->stack[0] = STACK + 80;
    w->stack[1] = in_function(w, 2);
    const uint64_t short_of[] = {in_function(w, 1), in_function(w, 2)};
    check_walk(w, &regs, short_of, 2, FW_END_BAD_INFO);
    free_world(w);
}

/* A handler called by _sigtramp, which the tables describe like any function, has interrupted
 * function 3. `place` tells where in the frame the siginfo (104 bytes), the ucontext and the
 * machine context lie. */
struct sigframe {
    unsigned ucontext, context; /* bytes above the CFA of _sigtramp */
    uint32_t on_stack;
    uint64_t link, size;
    bool found;
};

static void put_word(struct world *w, uint64_t address, uint64_t value)
{
    w->stack[(address - STACK) / 8] = value;
}

static void walk_through_handler(const struct arch *arch, uint32_t frame, const struct sigframe *s)
{
    const uint32_t entries[][2] = {
        {0x1000, NONE}, {0x1100, frame}, {0x1200, frame}, {0x1300, frame}, {0x1400, NONE}};
    struct world *w = make_world(arch, entries, 5);
    const bool is_x86 = arch == &arch_x86_64;
    const uint64_t handler = STACK + 16, tramp = STACK + 48, cfa = tramp + 16;
    const uint64_t outer = STACK + 8 * (WORDS - 4), wrong = in_function(w, 2);
    w->sigtramp = in_function(w, 1) - 0x40;
    put_word(w, handler, tramp);
    put_word(w, handler + 8, in_function(w, 1));
    put_word(w, tramp, outer);
    put_word(w, tramp + 8, wrong); /* what the link register held, or whatever lay there */
    const uint64_t ucontext = cfa + s->ucontext, state = cfa + s->context + 16;
    put_word(w, ucontext, s->on_stack);
    put_word(w, ucontext + 32, s->link);
    put_word(w, ucontext + 40, s->size);
    put_word(w, ucontext + 48, cfa + s->context);
    put_word(w, state + (is_x86 ? 48 : 8 * 29), outer);
    put_word(w, state + (is_x86 ? 56 : 8 * 31), outer - 8);
    put_word(w, state + (is_x86 ? 128 : 8 * 32), in_function(w, 3));
    put_word(w, outer, 0);
    put_word(w, outer + 8, in_function(w, 4));

    struct regs regs = registers(arch, in_function(w, 3) + 16, STACK, handler);
    const uint64_t found[] = {regs.r[arch->pc], in_function(w, 1), in_function(w, 3),
                              in_function(w, 4)};
    const uint64_t by_tables[] = {regs.r[arch->pc], in_function(w, 1), wrong, in_function(w, 4)};
    check_walk(w, &regs, s->found ? found : by_tables, 4, FW_END_ROOT);
    if (s->found) {
        struct fw_frame frames[4];
        struct fw_stack stack = {.frames = frames, .capacity = 4};
        walk_world(w, &regs, &stack);
        assert_int_equal(frames[1].flags, FW_FRAME_SIGNAL);
        assert_int_equal(frames[2].kind, FW_FRAME_EXACT);
        assert_int_equal(frames[2].method, FW_METHOD_SIGNAL);
        assert_int_equal(frames[3].kind, FW_FRAME_RETURN);
    }
    free_world(w);
}

static void signal_handlers(void **state)
{
    enum { FRAME_X86 = 0x01000000 };
    static const struct sigframe frames[] = {
        {104, 160, 0, 0, 816, true},      {104, 160, 1, 0, 816, true},  {0, 160, 0, 0, 816, true},
        {104, 160, 2, 0, 816, false},     {104, 160, 0, 8, 816, false}, {104, 160, 0, 0, 64, false},
        {104, 160, 0, 0, 1 << 20, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        walk_through_handler(&arch_aarch64, FRAME, &frames[i]);
        walk_through_handler(&arch_x86_64, FRAME_X86, &frames[i]);
    }
}

/* Saved registers of arm64_32 take eight bytes, its addresses four. */
static void walk_arm64_32(void **state)
{
    struct world *w = make_world(&arch_arm64_32, functions, 5);
    struct regs regs = registers(&arch_arm64_32, in_function(w, 1), STACK, STACK);
    const uint64_t expected[] = {in_function(w, 1), in_function(w, 3), in_function(w, 4),
                                 in_function(w, 1)};
    (void)state;
    w->stack[0] = STACK + 32;
    w->stack[1] = in_function(w, 3) | 0xdeadbeef00000000; /* the upper half is no address */
    w->stack[4] = STACK + 64;
    w->stack[5] = in_function(w, 4);
    w->stack[8] = STACK + 96; /* function 4 has no information: its record is followed */
    w->stack[9] = in_function(w, 1);
    w->stack[12] = 0;
    w->stack[13] = 0;
    check_walk(w, &regs, expected, 4, FW_END_ROOT);
    free_world(w);
}

/* armv7k: r7 with compact unwind, and the chain of records where that says nothing; saved registers
 * of r7's frame come back. armv7 of iOS has no compact unwind at all. */
static void walk_armv7(void **state)
{
    static const uint32_t entries[][2] = {{0x1000, 0x01000007}, {0x1100, 0x01400000}, {0x1200, 0}};
    struct world *w = make_world(&arch_arm_apple, entries, 3);
    struct regs regs = registers(&arch_arm_apple, in_function(w, 0), STACK, STACK + 12);
    const uint64_t expected[] = {in_function(w, 0), in_function(w, 1), in_function(w, 2),
                                 in_function(w, 2) + 4};
    uint32_t *stack = (uint32_t *)w->stack;
    (void)state;
    stack[0] = 4; /* r4, r5, r6 */
    stack[1] = 5;
    stack[2] = 6;
    stack[3] = STACK + 32;                      /* r7 */
    stack[4] = (uint32_t)in_function(w, 1) | 1; /* a return to Thumb code */
    stack[8] = STACK + 64;
    stack[9] = (uint32_t)in_function(w, 2);
    stack[16] = STACK + 96;
    stack[17] = (uint32_t)in_function(w, 2) + 4;
    stack[24] = stack[25] = 0;
    check_walk(w, &regs, expected, 4, FW_END_ROOT);

    w->image.unwind_info.data = NULL;
    check_walk(w, &regs, expected, 4, FW_END_ROOT);

    struct unwind_image elf = w->image; /* elsewhere no chain is trusted */
    elf.arch = &arch_arm;
    const struct walk_space space = {
        .arch = &arch_arm, .find_image = find_image, .context = &elf, .cache = w->cache};
    const struct memory memory = {.range = {{STACK, sizeof w->stack, (const uint8_t *)w->stack}}};
    uint8_t method;
    regs = registers(&arch_arm, in_function(w, 0), STACK, STACK + 12);
    assert_int_equal(step_without_info(&space, &memory, false, &regs, &method), UNWIND_NO_INFO);
    free_world(w);
}

/* .eh_frame of Apple's i386 calls ebp 4 and esp 5; .debug_frame and other systems the reverse. */
static void numbers_of_i386(void **state)
{
    static const uint8_t frames[] = {
        16, 0, 0,  0, 0, 0, 0, 0,    1,    0, 1, 0x7c, 8, 0x0c, 5, 8, 0x84, 2, 0x88, 1, 20, 0,
        0,  0, 24, 0, 0, 0, 0, 0x10, 0x10, 0, 0, 1,    0, 0,    0, 0, 0,    0, 0,    0, 0,  0};
    struct unwind_image image = {
        .arch = &arch_i386, .macho = true, .eh_frame = {frames, sizeof frames, BASE}};
    struct unwind_row row;
    (void)state;
    assert_int_equal(cfi_find_eh(&image, BASE + 0x1010, &row), UNWIND_OK);
    assert_true(row.cfa_reg == arch_i386.sp && row.cfa_offset == 8);
    assert_true(row.reg[arch_i386.fp].how == REG_AT_CFA && row.reg[arch_i386.fp].offset == -8);
    image.macho = false;
    assert_int_equal(cfi_find_eh(&image, BASE + 0x1010, &row), UNWIND_OK);
    assert_true(row.cfa_reg == arch_i386.fp);
}

/* ---- code that functions share (simulate_parts.c) ---- */

enum { OUTLINED_1 = 5, OUTLINED_2 = 6, NO_FRAME = 0x02000000 };
static const uint32_t sharing[][2] = {
    {0x1000, NONE}, {0x1100, FRAME}, {0x1200, NO_FRAME}, {0x1300, FRAME}, {0x1400, NO_FRAME}};

static uint64_t place_in(const struct world *w, unsigned function, unsigned insn)
{
    return in_function(w, function) - 0x40 + 4 * insn;
}

static void check_row(const struct world *w, uint64_t place, int64_t sp_to_cfa, bool saved,
                      int64_t x19)
{
    struct unwind_row row;
    assert_true(row_at(&w->image, place, true, &row));
    assert_int_equal(row.cfa_reg, 31);
    assert_int_equal(row.cfa_offset, sp_to_cfa);
    assert_int_equal(row.reg[30].how, saved ? REG_AT_CFA : REG_SAME);
    assert_int_equal(row.reg[19].offset, x19);
    if (x19)
        assert_int_equal(row.reg[19].how, REG_AT_CFA);
}

/* The last instructions of an epilogue, jumped to: at each of them, and in front. */
static void outlined_epilogue(void **state)
{
    static const uint32_t code[] = {
        0xa9be4ff4, 0xa9017bfd, 0x910043fd, /* stp x20, x19, [sp, #-32]!; stp x29, x30; add x29 */
        0x94000080, 0xa9417bfd, 0x1400007b, /* bl; ldp x29, x30, [sp, #16]; b OUTLINED_1 */
    };
    static const uint32_t rest[] = {0xa8c24ff4, 0xd65f03c0}; /* ldp x20, x19, [sp], #32; ret */
    struct world *w = make_world(&arch_aarch64, sharing, 5);
    (void)state;
    put_code(w, 3, code, 6);
    put_code(w, OUTLINED_1, rest, 2);
    check_row(w, place_in(w, 3, 0), 0, false, 0);
    check_row(w, place_in(w, 3, 1), 32, false, -24);
    check_row(w, place_in(w, 3, 5), 32, false, -24);
    check_row(w, place_in(w, OUTLINED_1, 0), 32, false, -24);
    check_row(w, place_in(w, OUTLINED_1, 1), 0, false, 0);
    free_world(w);
}

/* Instructions of a leaf function, which puts its return address aside to call them. */
static void outlined_body(void **state)
{
    static const uint32_t leaf[] = {0xaa1e03e0, 0x9400007f, 0xaa0003fe, 0xd65f03c0};
    static const uint32_t body[] = {0x91000421, 0x91000421, 0xd65f03c0}; /* add x1; add x1; ret */
    struct world *w = make_world(&arch_aarch64, sharing, 5);
    struct regs regs = registers(&arch_aarch64, place_in(w, OUTLINED_2, 1), STACK, STACK);
    uint64_t expected[] = {regs.r[32], place_in(w, 4, 2), in_function(w, 1)};
    (void)state;
    put_code(w, 4, leaf, 4); /* mov x0, x30; bl OUTLINED_2; mov x30, x0; ret */
    put_code(w, OUTLINED_2, body, 3);
    memcpy(w->code + 0x1400 + 4, &(uint32_t){0x9400007f}, 4);
    regs_set(&regs, 30, place_in(w, 4, 2));
    regs_set(&regs, 0, in_function(w, 1));
    w->stack[0] = 0; /* the record of function 1 */
    w->stack[1] = 0;
    check_walk(w, &regs, expected, 3, FW_END_ROOT);

    /* Behind the call: the link register is of no use yet. */
    expected[0] = place_in(w, 4, 2);
    expected[1] = in_function(w, 1);
    regs_set(&regs, 32, expected[0]);
    check_walk(w, &regs, expected, 2, FW_END_ROOT);

    /* Where the caller's x0 is not known, nothing is made up. */
    regs.known &= ~UINT64_C(1);
    expected[1] = 0;
    check_walk(w, &regs, expected, 1, FW_END_NO_INFO);
    free_world(w);
}

/* Prologues and epilogues that are called. */
static void called_prologue(void **state)
{
    static const uint32_t code[] = {
        0xa9bf7bfd, 0x9400007f, /* stp x29, x30, [sp, #-16]!; bl OUTLINED_1 */
        0xaa0103e0, 0x1400007d, /* mov x0, x1; b OUTLINED_2 */
    };
    static const uint32_t prologue[] = {0xa9bf4ff4, 0xd65f03c0}; /* stp x20, x19, [sp, #-16]! */
    static const uint32_t epilogue[] = {0xa9417bfd, 0xa8c24ff4, 0xd65f03c0};
    struct world *w = make_world(&arch_aarch64, sharing, 5);
    (void)state;
    put_code(w, 4, code, 4);
    put_code(w, OUTLINED_1, prologue, 2);
    put_code(w, OUTLINED_2, epilogue, 3);
    memcpy(w->code + 0x1400 + 4, &(uint32_t){0x9400003f}, 4);
    memcpy(w->code + 0x1400 + 12, &(uint32_t){0x1400007d}, 4);
    check_row(w, place_in(w, 4, 1), 16, true, 0);
    check_row(w, place_in(w, 4, 2), 32, true, -24);
    check_row(w, place_in(w, 4, 3), 32, true, -24);
    check_row(w, place_in(w, OUTLINED_2, 0), 32, true, -24);
    check_row(w, place_in(w, OUTLINED_2, 1), 32, false, -24);
    check_row(w, place_in(w, OUTLINED_2, 2), 0, false, 0);
    free_world(w);
}

/* A damaged table ends the walk, though a chain of frame records is at hand: what it would leave
 * out is not known. One of another version says nothing, and the other sources are asked. */
static void damaged_table(void **state)
{
    struct world *w = make_world(&arch_aarch64, functions, 5);
    struct regs regs = registers(&arch_aarch64, in_function(w, 1), STACK, STACK);
    const uint64_t expected[] = {in_function(w, 1), in_function(w, 3)};
    (void)state;
    w->stack[0] = STACK + 32;
    w->stack[1] = in_function(w, 3);
    w->stack[4] = 0; /* the record of function 3: the outermost */
    w->stack[5] = 0;
    check_walk(w, &regs, expected, 2, FW_END_ROOT);
    rule_cache_clear(w->cache);
    w->image.unwind_info.size -= 4;
    check_walk(w, &regs, expected, 1, FW_END_BAD_INFO);
    w->table.bytes[0] = 2; /* version */
    regs_set(&regs, 30, in_function(w, 1) + 4);
    check_walk(w, &regs, expected, 2, FW_END_ROOT);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_information_innermost),
        cmocka_unit_test(system_calls),
        cmocka_unit_test(no_information_further_out),
        cmocka_unit_test(frameless_further_out),
        cmocka_unit_test(signal_handlers),
        cmocka_unit_test(outlined_epilogue),
        cmocka_unit_test(outlined_body),
        cmocka_unit_test(called_prologue),
        cmocka_unit_test(damaged_table),
        cmocka_unit_test(walk_arm64_32),
        cmocka_unit_test(walk_armv7),
        cmocka_unit_test(numbers_of_i386),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
