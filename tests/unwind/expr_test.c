/* DWARF expressions: every operation, wrapping at the address size, and what must be refused.
 * Vectors are made by hand from DWARF 5 section 2.5.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unwind/sources.h"

static const uint8_t words[16] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xf0, 0xde};
static const struct memory memory = {.range = {{0x7000, sizeof words, words}}};
static struct regs regs;

static enum unwind_status eval(const struct arch *arch, bool push, const uint8_t *bytes,
                               size_t size, uint64_t *result)
{
    *result = 0xdead;
    return expr_eval(arch, (struct span){bytes, size}, push, 0x1000, &regs, &memory, result);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

#define GIVES_ON(arch, expected, ...)                                                              \
    do {                                                                                           \
        uint64_t given;                                                                            \
        assert_int_equal(eval(&arch, true, BYTES(__VA_ARGS__), &given), UNWIND_OK);                \
        assert_int_equal(given, expected);                                                         \
    } while (0)
#define GIVES(expected, ...) GIVES_ON(arch_x86_64, expected, __VA_ARGS__)
#define REFUSES_WITH(status, ...)                                                                  \
    do {                                                                                           \
        uint64_t given;                                                                            \
        assert_int_equal(eval(&arch_x86_64, true, BYTES(__VA_ARGS__), &given), status);            \
        assert_int_equal(given, 0xdead);                                                           \
    } while (0)
#define REFUSES(...) REFUSES_WITH(UNWIND_BAD_INFO, __VA_ARGS__)

static void constants(void **state)
{
    (void)state;
    GIVES(0, 0x30);
    GIVES(31, 0x4f);
    GIVES(0x1122334455667788, 0x03, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11);
    GIVES_ON(arch_i386, 0x55667788, 0x03, 0x88, 0x77, 0x66, 0x55);
    GIVES(0xff, 0x08, 0xff);
    GIVES(UINT64_MAX, 0x09, 0xff);
    GIVES(0xfffe, 0x0a, 0xfe, 0xff);
    GIVES((uint64_t)-2, 0x0b, 0xfe, 0xff);
    GIVES(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff);
    GIVES((uint64_t)-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
    GIVES((uint64_t)-2, 0x0e, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    GIVES((uint64_t)-2, 0x0f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    GIVES(128, 0x10, 0x80, 0x01);
    GIVES((uint64_t)-128, 0x11, 0x80, 0x7f);
    GIVES_ON(arch_arm, 0xffffff80, 0x11, 0x80, 0x7f);
    GIVES_ON(arch_arm, 0xfffffffe, 0x0e, 0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4);
}

static void registers(void **state)
{
    (void)state;
    GIVES(0x7ff8, 0x77, 0x78);                /* breg7 -8 */
    GIVES(0x8080, 0x92, 7, 0x80, 0x01);       /* bregx 7 +128 */
    GIVES(0x1111, 0x80, 0);                   /* breg16 */
    GIVES_ON(arch_i386, 0xfffffff8, 0x70, 0); /* cut to 32 bits */
    REFUSES_WITH(UNWIND_NEEDS_REGS, 0x71, 0); /* not known */
    REFUSES_WITH(UNWIND_NEEDS_REGS, 0x8f, 0);
    REFUSES_WITH(UNWIND_NEEDS_REGS, 0x92, 0xff, 0xff, 0x03, 0);
    uint64_t result;
    regs_set(&regs, ARCH_AARCH64_SIGN_STATE, 1);
    assert_int_equal(eval(&arch_aarch64, false, BYTES(0x92, 34, 0), &result), UNWIND_OK);
    assert_int_equal(result, 1);
    assert_int_equal(eval(&arch_aarch64, false, BYTES(0x92, 33, 0), &result), UNWIND_NEEDS_REGS);
    regs_forget(&regs, ARCH_AARCH64_SIGN_STATE);
}

static void stack_operations(void **state)
{
    (void)state;
    uint64_t result;
    assert_int_equal(eval(&arch_x86_64, true, NULL, 0, &result), UNWIND_OK);
    assert_int_equal(result, 0x1000);             /* the initial value */
    GIVES(0x2000, 0x12, 0x22);                    /* dup plus */
    GIVES(0x1000, 0x31, 0x13);                    /* drop */
    GIVES(5, 0x35, 0x36, 0x14);                   /* over */
    GIVES(5, 0x35, 0x36, 0x37, 0x15, 2);          /* pick 2 */
    GIVES(7, 0x35, 0x36, 0x37, 0x15, 0);          /* pick 0 */
    GIVES(1, 0x35, 0x36, 0x16, 0x1c);             /* swap: 5 6 -> 6 - 5 */
    GIVES(6, 0x35, 0x36, 0x37, 0x17);             /* rot: 5 6 7 -> 7 5 6 */
    GIVES(5, 0x35, 0x36, 0x37, 0x17, 0x13);       /* under it 5 */
    GIVES(7, 0x35, 0x36, 0x37, 0x17, 0x13, 0x13); /* under that 7 */
    GIVES(0x1000, 0x96);                          /* nop */
    REFUSES(0x13, 0x13);                          /* drop of nothing */
    REFUSES(0x13, 0x12);
    REFUSES(0x14);
    REFUSES(0x15, 1);
    REFUSES(0x16);
    REFUSES(0x31, 0x17);
    REFUSES(0x13); /* nothing left */
    assert_int_equal(eval(&arch_x86_64, false, NULL, 0, &result), UNWIND_BAD_INFO);
}

static void memory_access(void **state)
{
    (void)state;
    GIVES(0x1122334455667788, 0x0a, 0x00, 0x70, 0x06);
    GIVES_ON(arch_arm, 0x55667788, 0x0a, 0x00, 0x70, 0x06);
    GIVES(0x88, 0x0a, 0x00, 0x70, 0x94, 1);
    GIVES(0xdef0, 0x0a, 0x08, 0x70, 0x94, 2);
    GIVES(0x55667788, 0x0a, 0x00, 0x70, 0x94, 4);
    GIVES(0x1122334455667788, 0x0a, 0x00, 0x70, 0x94, 8);
    REFUSES(0x0a, 0x00, 0x70, 0x94, 3);
    REFUSES(0x0a, 0x00, 0x70, 0x94, 16);
    REFUSES_WITH(UNWIND_BAD_MEMORY, 0x0a, 0x09, 0x70, 0x06);
    REFUSES_WITH(UNWIND_BAD_MEMORY, 0x30, 0x94, 1);
    uint64_t result;
    assert_int_equal(eval(&arch_i386, true, BYTES(0x0a, 0x00, 0x70, 0x94, 8), &result),
                     UNWIND_BAD_INFO);
}

static void arithmetic(void **state)
{
    (void)state;
    GIVES(5, 0x09, 0xfb, 0x19);                  /* abs -5 */
    GIVES(0x8, 0x3c, 0x3a, 0x1a);                /* 12 and 10 */
    GIVES(0xe, 0x3c, 0x3a, 0x21);                /* or */
    GIVES(0x6, 0x3c, 0x3a, 0x27);                /* xor */
    GIVES((uint64_t)-3, 0x09, 0xf9, 0x32, 0x1b); /* -7 / 2: signed, towards zero */
    GIVES_ON(arch_arm, 0xfffffffd, 0x09, 0xf9, 0x32, 0x1b);
    GIVES(1ull << 63, 0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b); /* smallest / -1 wraps */
    GIVES_ON(arch_i386, 0x80000000, 0x31, 0x08, 31, 0x24, 0x09, 0xff, 0x1b);
    GIVES((uint64_t)-1, 0x35, 0x36, 0x1c); /* minus wraps */
    GIVES_ON(arch_i386, 0xffffffff, 0x35, 0x36, 0x1c);
    GIVES(3, 0x09, 0xff, 0x34, 0x1d);               /* (2^64 - 1) mod 4: unsigned */
    GIVES_ON(arch_i386, 0, 0x09, 0xff, 0x35, 0x1d); /* (2^32 - 1) mod 5 */
    GIVES(42, 0x36, 0x37, 0x1e);                    /* mul */
    GIVES_ON(arch_i386, 0xfffe0001, 0x0a, 0xff, 0xff, 0x0a, 0xff, 0xff, 0x1e);
    GIVES((uint64_t)-5, 0x35, 0x1f); /* neg */
    GIVES((uint64_t)-6, 0x35, 0x20); /* not */
    GIVES_ON(arch_arm, 0xfffffffa, 0x35, 0x20);
    GIVES(0x1081, 0x23, 0x81, 0x01); /* plus_uconst */
    GIVES_ON(arch_arm, 0, 0x09, 0xff, 0x23, 1);
    REFUSES(0x35, 0x30, 0x1b);
    REFUSES(0x35, 0x30, 0x1d);
    REFUSES(0x13, 0x35, 0x22); /* one operand missing */
    REFUSES(0x13, 0x1f);
}

static void shifts(void **state)
{
    (void)state;
    GIVES(0x28, 0x35, 0x33, 0x24);
    GIVES(1ull << 63, 0x31, 0x08, 63, 0x24);
    GIVES(0, 0x31, 0x08, 64, 0x24);
    GIVES(0, 0x31, 0x09, 0xff, 0x24);
    GIVES_ON(arch_i386, 0, 0x31, 0x08, 32, 0x24);
    GIVES(1, 0x09, 0xff, 0x08, 63, 0x25);
    GIVES(0, 0x09, 0xff, 0x08, 64, 0x25);
    GIVES_ON(arch_i386, 1, 0x09, 0xff, 0x08, 31, 0x25);
    GIVES_ON(arch_i386, 0, 0x09, 0xff, 0x08, 32, 0x25);
    GIVES((uint64_t)-2, 0x09, 0xf8, 0x32, 0x26);
    GIVES(UINT64_MAX, 0x09, 0xf8, 0x08, 200, 0x26);
    GIVES(0, 0x38, 0x08, 64, 0x26);
    GIVES_ON(arch_i386, 0xffffffff, 0x09, 0xf8, 0x08, 32, 0x26);
}

static void comparisons(void **state)
{
    (void)state;
    static const struct {
        uint8_t op, less, equal, greater; /* of -1 and 1; 1 and 1; 1 and -1 */
    } ops[] = {{0x29, 0, 1, 0}, {0x2a, 0, 1, 1}, {0x2b, 0, 0, 1},
               {0x2c, 1, 1, 0}, {0x2d, 1, 0, 0}, {0x2e, 1, 0, 1}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        GIVES(ops[i].less, 0x09, 0xff, 0x31, ops[i].op);
        GIVES(ops[i].equal, 0x31, 0x31, ops[i].op);
        GIVES(ops[i].greater, 0x31, 0x09, 0xff, ops[i].op);
        GIVES_ON(arch_i386, ops[i].less, 0x09, 0xff, 0x31, ops[i].op);
    }
}

static void jumps(void **state)
{
    (void)state;
    GIVES(2, 0x32, 0x2f, 1, 0, 0x13);            /* skip over a drop */
    GIVES(0x1000, 0x2f, 0, 0);                   /* to the end */
    GIVES(5, 0x31, 0x28, 1, 0, 0x30, 0x35);      /* bra taken: skips lit0 */
    GIVES(0x1005, 0x30, 0x28, 1, 0, 0x35, 0x22); /* not taken: lit5 plus */
    /* counts down from 3: dup, minus 1, dup, bra back */
    GIVES(0, 0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff);
    REFUSES(0x2f, 1, 0);       /* beyond the end */
    REFUSES(0x2f, 0xfc, 0xff); /* before the start */
    REFUSES(0x31, 0x28, 0x01, 0x70);
    REFUSES(0x2f, 0xfd, 0xff);             /* for ever */
    REFUSES(0x2f, 0);                      /* cut */
    GIVES(0x1000, 0x30, 0x28, 0xff, 0x7f); /* a jump not taken may lead anywhere */
}

static void bounds(void **state)
{
    (void)state;
    uint8_t pushes[64], nops[1001];
    uint64_t result;
    memset(pushes, 0x31, sizeof pushes);
    memset(nops, 0x96, sizeof nops);
    assert_int_equal(eval(&arch_x86_64, false, pushes, 64, &result), UNWIND_OK);
    assert_int_equal(eval(&arch_x86_64, true, pushes, 64, &result), UNWIND_BAD_INFO);
    assert_int_equal(eval(&arch_x86_64, true, nops, 1000, &result), UNWIND_OK);
    assert_int_equal(eval(&arch_x86_64, true, nops, 1001, &result), UNWIND_BAD_INFO);
}

static void operations_that_call_frames_may_not_use(void **state)
{
    (void)state;
    static const uint8_t ops[] = {
        0x00, 0x02, 0x18, 0x50, 0x57, 0x6f, 0x90, 0x91, 0x93, 0x95, 0x97,
        0x98, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2, 0xa3,
        0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xe0, 0xf1, 0xff,
    };
    for (size_t i = 0; i < sizeof ops; i++)
        REFUSES(0x31, 0x31, ops[i], 0, 0, 0, 0);
}

/* The usual expression of a procedure linkage table: rsp + 8 + ((rip & 15) >= 11) << 3. */
static void linkage_table(void **state)
{
    (void)state;
    struct regs saved = regs;
    for (unsigned at = 0; at < 16; at++) {
        regs_set(&regs, 16, 0x401020 + at);
        GIVES(0x8008u + (at >= 11 ? 8 : 0), 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
              0x22);
    }
    regs = saved;
}

int main(void)
{
    regs_set(&regs, 0, UINT64_MAX - 7);
    regs_set(&regs, 7, 0x8000);
    regs_set(&regs, 16, 0x1111);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants),
        cmocka_unit_test(registers),
        cmocka_unit_test(stack_operations),
        cmocka_unit_test(memory_access),
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(shifts),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(jumps),
        cmocka_unit_test(bounds),
        cmocka_unit_test(operations_that_call_frames_may_not_use),
        cmocka_unit_test(linkage_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
