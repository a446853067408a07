/* ARM exception index: every frame unwinding instruction, every table form, and broken tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/sources.h"

enum { INDEX = 0x8000, TABLE = 0x9000, CODE = 0x1000, CODE_END = 0x4000 };

/* A little-endian index and table, written word by word. */
struct tables {
    uint8_t index[256], table[2048];
    size_t index_size, table_size;
};

static void put(uint8_t *to, size_t *size, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        to[(*size)++] = (uint8_t)(word >> (8 * i));
}

static uint32_t prel31(uint32_t to, uint32_t place)
{
    return (to - place) & 0x7fffffff;
}

static void add_entry(struct tables *t, uint32_t function, uint32_t word)
{
    put(t->index, &t->index_size, prel31(function, INDEX + (uint32_t)t->index_size));
    put(t->index, &t->index_size, word);
}

static void add_extab_entry(struct tables *t, uint32_t function, uint32_t table)
{
    put(t->index, &t->index_size, prel31(function, INDEX + (uint32_t)t->index_size));
    put(t->index, &t->index_size, prel31(table, INDEX + (uint32_t)t->index_size));
}

static struct unwind_image image_of(const struct tables *t)
{
    return (struct unwind_image){
        .arch = &arch_arm,
        .lo = CODE,
        .hi = CODE_END,
        .exidx = {t->index, t->index_size, INDEX},
        .extab = {t->table, t->table_size, TABLE},
    };
}

/* Decodes `ops` as personality routine 1 would find them, padded with `finish`. */
static enum unwind_status decode(const uint8_t *ops, size_t count, struct unwind_row *row)
{
    struct tables t = {.index_size = 0};
    size_t words = count <= 2 ? 0 : (count - 2 + 3) / 4;
    uint8_t bytes[1024];

    memset(bytes, 0xb0, sizeof bytes);
    memcpy(bytes, ops, count);
    put(t.table, &t.table_size,
        0x81000000 | (uint32_t)words << 16 | (uint32_t)bytes[0] << 8 | bytes[1]);
    for (size_t i = 2; i < 2 + 4 * words; i += 4)
        put(t.table, &t.table_size,
            (uint32_t)bytes[i] << 24 | (uint32_t)bytes[i + 1] << 16 | (uint32_t)bytes[i + 2] << 8 |
                bytes[i + 3]);
    add_extab_entry(&t, CODE, TABLE);
    struct unwind_image image = image_of(&t);
    return exidx_find(&image, CODE, row);
}

#define DECODE(row, ...)                                                                           \
    decode((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), row)

static void expect_cfa(const struct unwind_row *row, unsigned reg, int64_t offset)
{
    assert_int_equal(row->cfa_how, CFA_REG);
    assert_int_equal(row->cfa_reg, reg);
    assert_int_equal(row->cfa_offset, offset);
    assert_int_equal(row->method, FW_METHOD_EXIDX);
}

static void expect_slot(const struct unwind_row *row, unsigned reg, int64_t offset)
{
    assert_int_equal(row->reg[reg].how, REG_AT_CFA);
    assert_int_equal(row->reg[reg].offset, offset);
}

static void vsp_arithmetic(void **state)
{
    (void)state;
    struct unwind_row row;
    assert_int_equal(DECODE(&row, 0x00), UNWIND_OK);
    expect_cfa(&row, 13, 4);
    assert_int_equal(row.ra_reg, 14);
    assert_int_equal(row.reg[14].how, REG_SAME);
    assert_int_equal(DECODE(&row, 0x3f), UNWIND_OK);
    expect_cfa(&row, 13, 0x100);
    assert_int_equal(DECODE(&row, 0x40), UNWIND_OK);
    expect_cfa(&row, 13, -4);
    assert_int_equal(DECODE(&row, 0x7f), UNWIND_OK);
    expect_cfa(&row, 13, -0x100);
    assert_int_equal(DECODE(&row, 0xb2, 0x00), UNWIND_OK);
    expect_cfa(&row, 13, 0x204);
    assert_int_equal(DECODE(&row, 0xb2, 0x81, 0x02), UNWIND_OK);
    expect_cfa(&row, 13, 0x204 + (0x101 << 2));
    assert_int_equal(DECODE(&row, 0xb2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), UNWIND_BAD_INFO);
    assert_int_equal(DECODE(&row, 0x97), UNWIND_OK);
    expect_cfa(&row, 7, 0);
    assert_int_equal(DECODE(&row, 0x9b, 0x41, 0x84, 0x80), UNWIND_OK);
    expect_cfa(&row, 11, 0);
    expect_slot(&row, 11, -8);
    expect_slot(&row, 14, -4);
}

static void pops(void **state)
{
    (void)state;
    struct unwind_row row;
    assert_int_equal(DECODE(&row, 0xa8), UNWIND_OK); /* r4, lr */
    expect_cfa(&row, 13, 8);
    expect_slot(&row, 4, -8);
    expect_slot(&row, 14, -4);
    assert_int_equal(row.reg[5].how, REG_UNSPECIFIED);
    assert_int_equal(DECODE(&row, 0xa7), UNWIND_OK); /* r4-r11 */
    expect_cfa(&row, 13, 32);
    expect_slot(&row, 4, -32);
    expect_slot(&row, 11, -4);
    assert_int_equal(row.reg[14].how, REG_SAME);
    assert_int_equal(DECODE(&row, 0x88, 0x09), UNWIND_OK); /* r4, r7, pc */
    expect_cfa(&row, 13, 12);
    expect_slot(&row, 4, -12);
    expect_slot(&row, 7, -8);
    expect_slot(&row, 15, -4);
    assert_int_equal(row.ra_reg, 15);
    assert_int_equal(DECODE(&row, 0xb1, 0x0f, 0x84, 0x00), UNWIND_OK); /* r0-r3, lr */
    expect_cfa(&row, 13, 20);
    expect_slot(&row, 0, -20);
    expect_slot(&row, 3, -8);
    expect_slot(&row, 14, -4);
    /* sp itself, as in a signal trampoline: r4-r15 after r0-r3 */
    assert_int_equal(DECODE(&row, 0x07, 0xb1, 0x0f, 0x8f, 0xff), UNWIND_OK);
    expect_cfa(&row, 13, 32 + 64);
    expect_slot(&row, 0, -64);
    expect_slot(&row, 13, -12);
    expect_slot(&row, 15, -4);
    assert_int_equal(DECODE(&row, 0x82, 0x00, 0x00), UNWIND_BAD_INFO); /* goes on after pop {sp} */
    assert_int_equal(DECODE(&row, 0xa8, 0x9b), UNWIND_BAD_INFO); /* base changes after a pop */
}

static void wide_registers(void **state)
{
    (void)state;
    static const struct {
        uint8_t ops[2];
        int size;
    } cases[] = {
        {{0xb3, 0x83}, 4 * 8 + 4}, {{0xb8, 0xb0}, 8 + 4}, {{0xbf, 0xb0}, 64 + 4},
        {{0xc0, 0xb0}, 8},         {{0xc5, 0xb0}, 48},    {{0xc6, 0x31}, 16},
        {{0xc7, 0x05}, 8},         {{0xc8, 0x0f}, 128},   {{0xc9, 0x81}, 16},
        {{0xd0, 0xb0}, 8},         {{0xd7, 0xb0}, 64},    {{0xb4, 0xb0}, 4},
        {{0xb5, 0xb0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct unwind_row row;
        assert_int_equal(decode(cases[i].ops, 2, &row), UNWIND_OK);
        expect_cfa(&row, 13, cases[i].size);
    }
}

static void refused(void **state)
{
    (void)state;
    static const uint8_t spare[][2] = {
        {0x9d},       {0x9f}, {0xb1, 0x00}, {0xb1, 0x10}, {0xb6}, {0xb7}, {0xc7, 0x00},
        {0xc7, 0x10}, {0xca}, {0xcf},       {0xd8},       {0xe0}, {0xff},
    };
    struct unwind_row row;
    for (size_t i = 0; i < sizeof spare / sizeof spare[0]; i++)
        assert_int_equal(decode(spare[i], 2, &row), UNWIND_BAD_INFO);
    assert_int_equal(DECODE(&row, 0x80, 0x00), UNWIND_ROOT);
}

static void index_search(void **state)
{
    (void)state;
    struct tables t = {.index_size = 0};
    struct unwind_row row;
    add_entry(&t, 0x1000, 0x8000b0b0); /* vsp += 4 */
    add_entry(&t, 0x1010, 0x80a8b0b0); /* r4, lr */
    add_entry(&t, 0x1100, 1);          /* cannot unwind */
    add_entry(&t, 0x2000, 0x8001b0b0); /* vsp += 8 */
    add_entry(&t, 0x3000, 0x81000000); /* routine 1 does not fit inline */
    struct unwind_image image = image_of(&t);

    assert_int_equal(exidx_find(&image, 0xfff, &row), UNWIND_NO_INFO);
    assert_int_equal(exidx_find(&image, 0x1000, &row), UNWIND_OK);
    expect_cfa(&row, 13, 4);
    assert_int_equal(row.lo, 0x1000);
    assert_int_equal(row.hi, 0x1010);
    assert_int_equal(exidx_find(&image, 0x100f, &row), UNWIND_OK);
    expect_cfa(&row, 13, 4);
    assert_int_equal(exidx_find(&image, 0x1010, &row), UNWIND_OK);
    expect_cfa(&row, 13, 8);
    assert_int_equal(exidx_find(&image, 0x1100, &row), UNWIND_ROOT);
    assert_int_equal(exidx_find(&image, 0x1fff, &row), UNWIND_ROOT);
    assert_int_equal(row.lo, 0x1100);
    assert_int_equal(row.hi, 0x2000);
    assert_int_equal(exidx_find(&image, 0x2fff, &row), UNWIND_OK);
    assert_int_equal(exidx_find(&image, 0x3000, &row), UNWIND_BAD_INFO);
    assert_int_equal(exidx_find(&image, CODE_END, &row), UNWIND_NO_INFO);

    image.exidx.size = 0;
    assert_int_equal(exidx_find(&image, 0x1000, &row), UNWIND_NO_INFO);
    image.exidx.data = NULL;
    assert_int_equal(exidx_find(&image, 0x1000, &row), UNWIND_NO_INFO);
}

static void table_forms(void **state)
{
    (void)state;
    struct tables t = {.index_size = 0};
    struct unwind_row row;
    put(t.table, &t.table_size, 0x80a9b0b0);                 /* 0: r4, r5, lr */
    put(t.table, &t.table_size, 0x8201b201);                 /* 4: routine 2, one more word */
    put(t.table, &t.table_size, 0xa8b0b0b0);                 /* 8 */
    put(t.table, &t.table_size, prel31(0x1500, TABLE + 12)); /* 12: generic */
    put(t.table, &t.table_size, 0x013fabb0);                 /* 16: vsp += 256, r4-r7 lr */
    put(t.table, &t.table_size, 0xb0b0b0b0);                 /* 20 */
    put(t.table, &t.table_size, 0x83000000);                 /* 24: no such routine */
    put(t.table, &t.table_size, 0x81030101);                 /* 28: words that are not there */
    for (uint32_t i = 0; i < 5; i++)
        add_extab_entry(&t, CODE + 16 * i, TABLE + (const uint8_t[]){0, 4, 12, 24, 28}[i]);
    add_extab_entry(&t, CODE + 80, TABLE - 4);
    add_extab_entry(&t, CODE + 96, TABLE + 64);
    struct unwind_image image = image_of(&t);

    assert_int_equal(exidx_find(&image, CODE, &row), UNWIND_OK);
    expect_cfa(&row, 13, 12);
    assert_int_equal(exidx_find(&image, CODE + 16, &row), UNWIND_OK);
    expect_cfa(&row, 13, 0x204 + 4 + 8);
    assert_int_equal(exidx_find(&image, CODE + 32, &row), UNWIND_OK);
    expect_cfa(&row, 13, 256 + 20);
    expect_slot(&row, 7, -8);
    for (uint32_t i = 3; i < 7; i++)
        assert_int_equal(exidx_find(&image, CODE + 16 * i, &row), UNWIND_BAD_INFO);
}

static void big_endian(void **state)
{
    (void)state;
    uint8_t index[] = {0x7f, 0xff, 0x90, 0x00, 0x80, 0xa8, 0xb0, 0xb0};
    struct unwind_image image = {
        .arch = &arch_arm,
        .big_endian = true,
        .lo = CODE,
        .hi = CODE_END,
        .exidx = {index, sizeof index, INDEX},
    };
    struct unwind_row row;
    assert_int_equal(exidx_find(&image, 0x1004, &row), UNWIND_OK);
    expect_cfa(&row, 13, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vsp_arithmetic), cmocka_unit_test(pops),
        cmocka_unit_test(wide_registers), cmocka_unit_test(refused),
        cmocka_unit_test(index_search),   cmocka_unit_test(table_forms),
        cmocka_unit_test(big_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
