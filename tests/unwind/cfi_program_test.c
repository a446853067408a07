/* The row program: every call frame instruction, row boundaries, and programs that must be refused.
 * Vectors are made by hand from DWARF 5 section 6.4.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unwind/cfi_bytes.h"
#include "unwind/sources.h"

enum { START = 0x10000, LENGTH = 0x1000, RA = 16 };

static struct bytes table; /* rows point into it */

static const struct arch *arch = &arch_x86_64;

/* code alignment 2, data alignment -8, absolute addresses */
static struct cie_form form(void)
{
    return (struct cie_form){.version = 1,
                             .augmentation = "",
                             .code_align = 2,
                             .data_align = -8,
                             .return_column = arch->ra_column,
                             .address_size = arch->pointer_size};
}

static enum unwind_status run(struct program cie, struct program fde, uint64_t offset,
                              struct unwind_row *row)
{
    struct cie_form f = form();
    table.size = 0;
    put_cie(&table, &f, cie);
    put_fde(&table, &f, 0, START, LENGTH, fde);
    struct unwind_image image = {.arch = arch};
    image.eh_frame = (struct unwind_section){table.data, table.size, 0x2000};
    return cfi_find_eh(&image, START + offset, row);
}

/* def_cfa r7+8; offset ra at cfa-8 */
#define USUAL PROGRAM(0x0c, 7, 8, 0x90, 1)

static struct unwind_row good(struct program fde, uint64_t offset)
{
    struct unwind_row row;
    assert_int_equal(run(USUAL, fde, offset, &row), UNWIND_OK);
    return row;
}

static void bad(struct program fde)
{
    struct unwind_row row;
    assert_int_equal(run(USUAL, fde, 0, &row), UNWIND_BAD_INFO);
}

static void expect_rule(const struct unwind_row *row, unsigned n, enum reg_how how, int64_t offset)
{
    assert_int_equal(row->reg[n].how, how);
    assert_int_equal(row->reg[n].offset, offset);
}

static void the_initial_row(void **state)
{
    (void)state;
    struct unwind_row row = good(PROGRAM(0), 0);
    assert_int_equal(row.cfa_how, CFA_REG);
    assert_int_equal(row.cfa_reg, 7);
    assert_int_equal(row.cfa_offset, 8);
    assert_int_equal(row.ra_reg, RA);
    assert_int_equal(row.method, FW_METHOD_CFI);
    assert_false(row.signal_frame);
    assert_false(row.ra_signed);
    expect_rule(&row, RA, REG_AT_CFA, -8);
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++)
        if (i != RA)
            assert_int_equal(row.reg[i].how, REG_UNSPECIFIED);
    assert_int_equal(row.lo, START);
    assert_int_equal(row.hi, START + LENGTH);
}

static void cfa_instructions(void **state)
{
    (void)state;
    struct unwind_row row = good(PROGRAM(0x0c, 6, 0x90, 1), 0); /* def_cfa */
    assert_int_equal(row.cfa_reg, 6);
    assert_int_equal(row.cfa_offset, 0x90);
    row = good(PROGRAM(0x0d, 6), 0); /* def_cfa_register */
    assert_int_equal(row.cfa_reg, 6);
    assert_int_equal(row.cfa_offset, 8);
    row = good(PROGRAM(0x0e, 0x18), 0); /* def_cfa_offset */
    assert_int_equal(row.cfa_reg, 7);
    assert_int_equal(row.cfa_offset, 0x18);
    row = good(PROGRAM(0x12, 3, 0x7e), 0); /* def_cfa_sf: factored -2 */
    assert_int_equal(row.cfa_reg, 3);
    assert_int_equal(row.cfa_offset, 16);
    row = good(PROGRAM(0x13, 3), 0); /* def_cfa_offset_sf */
    assert_int_equal(row.cfa_reg, 7);
    assert_int_equal(row.cfa_offset, -24);
    row = good(PROGRAM(0x0f, 2, 0x77, 0x08), 0); /* def_cfa_expression */
    assert_int_equal(row.cfa_how, CFA_EXPR);
    assert_int_equal(row.cfa_expr.size, 2);
    assert_memory_equal(row.cfa_expr.data, "\x77\x08", 2);
    row = good(PROGRAM(0x0f, 1, 0x50, 0x0c, 6, 16), 0); /* an expression replaced by def_cfa */
    assert_int_equal(row.cfa_how, CFA_REG);
    assert_int_equal(row.cfa_reg, 6);
    assert_int_equal(row.cfa_offset, 16);
}

static void register_instructions(void **state)
{
    (void)state;
    struct unwind_row row = good(PROGRAM(0x83, 2, 0x05, 0x06, 0x83, 0x01), 0);
    expect_rule(&row, 3, REG_AT_CFA, -16);      /* offset */
    expect_rule(&row, 6, REG_AT_CFA, -131 * 8); /* offset_extended */
    row = good(PROGRAM(0x11, 3, 0x7f, 0x2f, 6, 2), 0);
    expect_rule(&row, 3, REG_AT_CFA, 8);  /* offset_extended_sf */
    expect_rule(&row, 6, REG_AT_CFA, 16); /* GNU_negative_offset_extended */
    row = good(PROGRAM(0x14, 3, 2, 0x15, 6, 0x7e), 0);
    expect_rule(&row, 3, REG_CFA_PLUS, -16); /* val_offset */
    expect_rule(&row, 6, REG_CFA_PLUS, 16);  /* val_offset_sf */
    row = good(PROGRAM(0x07, 3, 0x08, 6, 0x09, 12, 13), 0);
    expect_rule(&row, 3, REG_UNDEFINED, 0);
    expect_rule(&row, 6, REG_SAME, 0);
    expect_rule(&row, 12, REG_IN_REG, 0);
    assert_int_equal(row.reg[12].reg, 13);
    row = good(PROGRAM(0x10, 3, 2, 0x77, 0x78, 0x16, 6, 1, 0x30), 0);
    assert_int_equal(row.reg[3].how, REG_AT_EXPR); /* expression */
    assert_int_equal(row.reg[3].expr.size, 2);
    assert_memory_equal(row.reg[3].expr.data, "\x77\x78", 2);
    assert_int_equal(row.reg[6].how, REG_VAL_EXPR); /* val_expression */
    assert_int_equal(row.reg[6].expr.size, 1);
    assert_memory_equal(row.reg[6].expr.data, "\x30", 1);
    row = good(PROGRAM(0x07, RA), 0); /* outermost frame */
    assert_int_equal(row.reg[RA].how, REG_UNDEFINED);
    row = good(PROGRAM(0x2e, 0x90, 0x01, 0x00, 0x83, 2), 0); /* GNU_args_size, nop: no effect */
    expect_rule(&row, 3, REG_AT_CFA, -16);
    assert_int_equal(row.cfa_offset, 8);
}

static void restore_goes_back_to_the_cie(void **state)
{
    (void)state;
    struct unwind_row row;
    struct program cie = PROGRAM(0x0c, 7, 8, 0x90, 1, 0x83, 2, 0x08, 6);
    struct program fde = PROGRAM(0x83, 4, 0x86, 5, 0x8c, 6, 0x90, 7, /* all differ */
                                 0x41, 0xc3, 0x06, 6, 0xcc, 0x06, RA);
    assert_int_equal(run(cie, fde, 0, &row), UNWIND_OK);
    expect_rule(&row, 3, REG_AT_CFA, -32);
    expect_rule(&row, RA, REG_AT_CFA, -56);
    assert_int_equal(run(cie, fde, 2, &row), UNWIND_OK);
    expect_rule(&row, 3, REG_AT_CFA, -16);
    expect_rule(&row, 6, REG_SAME, 0);
    expect_rule(&row, 12, REG_UNSPECIFIED, 0);
    expect_rule(&row, RA, REG_AT_CFA, -8);
}

static void remembered_rows(void **state)
{
    (void)state;
    /* remember, change everything, next row, restore, next row */
    struct program fde =
        PROGRAM(0x83, 2, 0x0a, 0x0c, 6, 0x20, 0x83, 3, 0x8c, 4, 0x41, 0x0b, 0x41, 0x0e, 0x30);
    struct unwind_row row = good(fde, 1);
    assert_int_equal(row.cfa_reg, 6);
    expect_rule(&row, 3, REG_AT_CFA, -24);
    expect_rule(&row, 12, REG_AT_CFA, -32);
    row = good(fde, 2);
    assert_int_equal(row.cfa_reg, 7);
    assert_int_equal(row.cfa_offset, 8);
    expect_rule(&row, 3, REG_AT_CFA, -16);
    expect_rule(&row, 12, REG_UNSPECIFIED, 0);
    row = good(fde, 4);
    assert_int_equal(row.cfa_offset, 0x30);
    /* the CFA's kind comes back too */
    row = good(PROGRAM(0x0a, 0x0f, 1, 0x30, 0x0b), 0);
    assert_int_equal(row.cfa_how, CFA_REG);
}

static void remembered_rows_nest(void **state)
{
    (void)state;
    uint8_t code[64];
    size_t n = 0;
    for (uint8_t depth = 1; depth <= 8; depth++) {
        code[n++] = 0x0e; /* def_cfa_offset */
        code[n++] = depth;
        code[n++] = 0x0a;
    }
    for (unsigned depth = 8; depth >= 1; depth--) {
        code[n++] = 0x41;
        code[n++] = 0x0b;
    }
    for (unsigned i = 1; i <= 8; i++)
        assert_int_equal(good((struct program){code, n}, 2 * i).cfa_offset, 9 - i);
    bad(PROGRAM(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
    bad(PROGRAM(0x0b));
    bad(PROGRAM(0x0a, 0x0b, 0x0b));
}

/* Row k has CFA offset 0x10 + k. */
static void rows_begin_where_advances_lead(void **state)
{
    (void)state;
    struct program fde =
        PROGRAM(0x0e, 0x10, 0x41, 0x0e, 0x11,                /* +2, by 1 * code alignment */
                0x02, 3, 0x0e, 0x12,                         /* advance_loc1: +6 */
                0x03, 0, 1, 0x0e, 0x13,                      /* advance_loc2: +0x200 */
                0x04, 0x80, 0, 0, 0, 0x0e, 0x14,             /* advance_loc4: +0x100 */
                0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 0x15, /* by 8 bytes: +0x20 */
                0x01, 0, 9, 1, 0, 0, 0, 0, 0, 0x0e, 0x16);   /* set_loc 0x10900 */
    static const uint64_t starts[] = {0, 2, 8, 0x208, 0x308, 0x328, 0x900, LENGTH};
    for (unsigned i = 0; i < 7; i++) {
        for (unsigned end = 0; end < 2; end++) {
            struct unwind_row row = good(fde, end ? starts[i + 1] - 1 : starts[i]);
            assert_int_equal(row.cfa_offset, 0x10 + i);
            assert_int_equal(row.lo, START + starts[i]);
            assert_int_equal(row.hi, START + starts[i + 1]);
        }
    }
    /* a row may not reach beyond the function */
    struct unwind_row row = good(PROGRAM(0x04, 0, 0, 1, 0, 0x0e, 0x20), 0xfff);
    assert_int_equal(row.hi, START + LENGTH);
    assert_int_equal(row.cfa_offset, 8);
    /* an advance by nothing: the later row counts */
    assert_int_equal(good(PROGRAM(0x0e, 1, 0x40, 0x0e, 2, 0x41), 0).cfa_offset, 2);
}

static void untracked_registers_are_skipped(void **state)
{
    (void)state;
    struct unwind_row row = good(PROGRAM(0x91, 2, 0xbf, 3, 0x05, 0x80, 0x10, 1, 0x10, 40, 1, 0x30,
                                         0x09, 50, 3, 0xff, 0x83, 2),
                                 0);
    expect_rule(&row, 3, REG_AT_CFA, -16);
    expect_rule(&row, 17, REG_UNSPECIFIED, 0);
    row = good(PROGRAM(0x09, 3, 20), 0); /* kept in a vector register: lost */
    assert_int_equal(row.reg[3].how, REG_UNDEFINED);
    bad(PROGRAM(0x09, RA, 20)); /* but never an outermost frame */
    bad(PROGRAM(0x0c, 20, 8));
    bad(PROGRAM(0x0d, 20));
}

static void aarch64_return_address_signing(void **state)
{
    (void)state;
    arch = &arch_aarch64;
    struct program cie = PROGRAM(0x0c, 31, 0);
    struct program fde =
        PROGRAM(0x41, 0x2d, 0x0a, 0x41, 0x2d, 0x41, 0x0b, 0x41, 0x2c, 0x41, 0x2d, 0x41, 0x06, 34);
    static const bool is_signed[] = {false, true, false, true, false, true, false};
    struct unwind_row row;
    for (unsigned i = 0; i < sizeof is_signed; i++) {
        assert_int_equal(run(cie, fde, 2 * i, &row), UNWIND_OK);
        assert_int_equal(row.ra_signed, is_signed[i]);
    }
    /* 33 is ELR_mode and not kept; 34 is the sign state */
    assert_int_equal(run(cie, PROGRAM(0xa1, 1, 0x16, 34, 1, 0x31), 0, &row), UNWIND_OK);
    assert_int_equal(row.reg[ARCH_AARCH64_SIGN_STATE].how, REG_VAL_EXPR);
    assert_memory_equal(row.reg[ARCH_AARCH64_SIGN_STATE].expr.data, "\x31", 1);
    assert_int_equal(run(cie, PROGRAM(0xa1, 1), 0, &row), UNWIND_OK);
    assert_int_equal(row.reg[ARCH_AARCH64_SIGN_STATE].how, REG_UNSPECIFIED);
    assert_int_equal(row.reg[30].how, REG_UNSPECIFIED); /* still in the link register */
    assert_int_equal(row.ra_reg, 30);
    arch = &arch_x86_64;
    bad(PROGRAM(0x2d));
    bad(PROGRAM(0x2c));
}

static void broken_programs(void **state)
{
    (void)state;
    bad(PROGRAM(0x17));                   /* not an instruction */
    bad(PROGRAM(0x3f));                   /* DW_CFA_hi_user */
    bad(PROGRAM(0x0e));                   /* operand missing */
    bad(PROGRAM(0x04, 0, 0));             /* operand cut */
    bad(PROGRAM(0x0f, 5, 0x30));          /* expression longer than the entry */
    bad(PROGRAM(0x10, 3, 0xff, 0x7f));    /* the same */
    bad(PROGRAM(0x83, 0x80));             /* LEB128 without end */
    bad(PROGRAM(0x0f, 1, 0x30, 0x0e, 8)); /* offset of an expression */
    bad(PROGRAM(0x0f, 1, 0x30, 0x0d, 7));
    bad(PROGRAM(0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)); /* 2^52 bytes below the CFA */
    bad(PROGRAM(0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
    bad(PROGRAM(0x01, 0xff, 0xff, 0, 0, 0, 0, 0, 0));                   /* set_loc backwards */
    bad(PROGRAM(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)); /* overflow */
    bad(PROGRAM(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f));

    struct unwind_row row;
    assert_int_equal(run(PROGRAM(0), PROGRAM(0x0e, 8), 0, &row), UNWIND_BAD_INFO);
    assert_int_equal(run(PROGRAM(0), PROGRAM(0), 0, &row), UNWIND_BAD_INFO); /* no CFA */
    assert_int_equal(run(PROGRAM(0x0c, 7, 8, 0x41), PROGRAM(0), 0, &row), UNWIND_BAD_INFO);
    assert_int_equal(run(PROGRAM(0x0c, 7, 8, 0x0a), PROGRAM(0x0b), 0, &row), UNWIND_BAD_INFO);
    /* what is broken behind the wanted row does not matter */
    assert_int_equal(run(USUAL, PROGRAM(0x41, 0x17), 1, &row), UNWIND_OK);
    assert_int_equal(run(USUAL, PROGRAM(0x41, 0x17), 2, &row), UNWIND_BAD_INFO);
}

static void expression_stays_in_its_entry(void **state)
{
    (void)state;
    struct unwind_row row = good(PROGRAM(0x0f, 0), 0);
    assert_int_equal(row.cfa_how, CFA_EXPR);
    assert_int_equal(row.cfa_expr.size, 0);
    row = good(PROGRAM(0x16, 3, 0x81, 0x00, 0x30), 0); /* length with a padded LEB128 */
    assert_int_equal(row.reg[3].expr.size, 1);
    assert_memory_equal(row.reg[3].expr.data, "\x30", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_initial_row),
        cmocka_unit_test(cfa_instructions),
        cmocka_unit_test(register_instructions),
        cmocka_unit_test(restore_goes_back_to_the_cie),
        cmocka_unit_test(remembered_rows),
        cmocka_unit_test(remembered_rows_nest),
        cmocka_unit_test(rows_begin_where_advances_lead),
        cmocka_unit_test(untracked_registers_are_skipped),
        cmocka_unit_test(aarch64_return_address_signing),
        cmocka_unit_test(broken_programs),
        cmocka_unit_test(expression_stays_in_its_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
