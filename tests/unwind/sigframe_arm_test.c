/* Signal trampolines of arm and aarch64, and where their rows find the interrupted registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/sources.h"

enum { TEXT = 0x2000 };

static enum unwind_status find(const struct arch *arch, const void *code, size_t size,
                               unsigned offset, struct unwind_row *row)
{
    struct unwind_image image = {
        .arch = arch, .lo = TEXT, .hi = TEXT + size, .text = {code, size, TEXT}};
    return sigframe_find(&image, TEXT + offset, row);
}

static void aarch64_trampoline(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x1f, 0x20, 0x03, 0xd5, /* nop */
        0x68, 0x11, 0x80, 0xd2, /* mov x8, #139 */
        0x01, 0x00, 0x00, 0xd4, /* svc #0 */
    };
    struct unwind_row row;
    for (unsigned at = 4; at <= 8; at += 4) {
        assert_int_equal(find(&arch_aarch64, code, sizeof code, at, &row), UNWIND_OK);
        assert_true(row.signal_frame);
        assert_int_equal(row.method, FW_METHOD_SIGNAL);
        assert_int_equal(row.cfa_how, CFA_REG);
        assert_int_equal(row.cfa_reg, 31);
        assert_int_equal(row.cfa_offset, 0);
        assert_int_equal(row.ra_reg, 32);
        assert_int_equal(row.reg[0].offset, 312);
        assert_int_equal(row.reg[30].offset, 552);
        assert_int_equal(row.reg[31].offset, 560);
        assert_int_equal(row.reg[32].offset, 568);
        assert_int_equal(row.reg[32].how, REG_AT_CFA);
        assert_int_equal(row.reg[33].how, REG_UNSPECIFIED);
        assert_int_equal(row.lo, TEXT + 4);
        assert_int_equal(row.hi, TEXT + 12);
    }
    assert_int_equal(find(&arch_aarch64, code, sizeof code, 0, &row), UNWIND_NO_INFO);
    assert_int_equal(find(&arch_aarch64, code, 8, 4, &row), UNWIND_NO_INFO);
    assert_int_equal(find(&arch_aarch64, code, sizeof code, 12, &row), UNWIND_NO_INFO);
    assert_int_equal(find(&arch_aarch64, code, sizeof code, 0x1000, &row), UNWIND_NO_INFO);
}

/* The address of the saved r0, by way of the row's expression and a synthetic frame at `sp`. */
static uint64_t saved_r0(const struct unwind_row *row, uint32_t sp, uint32_t first_word)
{
    uint8_t frame[512] = {0};
    memcpy(frame, &first_word, 4);
    struct memory memory = {.range = {{sp, sizeof frame, frame}}};
    struct regs regs = {.known = 0};
    uint64_t cfa = 0;
    regs_set(&regs, 13, sp);
    assert_int_equal(row->cfa_how, CFA_EXPR);
    assert_int_equal(expr_eval(&arch_arm, row->cfa_expr, false, 0, &regs, &memory, &cfa),
                     UNWIND_OK);
    return cfa;
}

static void arm_trampolines(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[8];
        unsigned size, svc;
        bool rt;
    } forms[] = {
        {{0x77, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}, 8, 4, false},
        {{0xad, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}, 8, 4, true},
        {{0x77, 0x70, 0xa0, 0xe3, 0x77, 0x00, 0x90, 0xef}, 8, 4, false},
        {{0xad, 0x70, 0xa0, 0xe3, 0xad, 0x00, 0x90, 0xef}, 8, 4, true},
        {{0x77, 0x00, 0x90, 0xef}, 4, 0, false},
        {{0xad, 0x00, 0x90, 0xef}, 4, 0, true},
        {{0x77, 0x27, 0x00, 0xdf}, 4, 2, false},
        {{0xad, 0x27, 0x00, 0xdf}, 4, 2, true},
        {{0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf}, 6, 4, false},
        {{0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf}, 6, 4, true},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct unwind_row row;
        unsigned places[] = {0, forms[i].svc};
        for (size_t p = 0; p < 2; p++) {
            assert_int_equal(find(&arch_arm, forms[i].code, forms[i].size, places[p], &row),
                             UNWIND_OK);
            assert_true(row.signal_frame);
            assert_int_equal(row.ra_reg, 15);
            assert_int_equal(row.reg[0].offset, 0);
            assert_int_equal(row.reg[15].offset, 60);
            assert_int_equal(row.lo, TEXT);
            assert_int_equal(row.hi, TEXT + forms[i].size);
            if (forms[i].rt) {
                assert_int_equal(saved_r0(&row, 0x7000, 11), 0x7000 + 160);
                assert_int_equal(saved_r0(&row, 0x7000, 0x7008), 0x7000 + 168);
            } else {
                assert_int_equal(saved_r0(&row, 0x7000, 0x5ac3c35a), 0x7000 + 32);
                assert_int_equal(saved_r0(&row, 0x7000, 14), 0x7000 + 12);
            }
        }
        assert_int_equal(find(&arch_arm, forms[i].code, forms[i].size - 1, 0, &row),
                         UNWIND_NO_INFO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aarch64_trampoline),
        cmocka_unit_test(arm_trampolines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
