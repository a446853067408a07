/*
 * Compact unwind by hand: every encoding of each architecture against rows computed from what its
 * bits mean, tables of both kinds of page, and tables broken in every field and cut at every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unwind/compact.h"
#include "unwind/compact_table.h"
#include "unwind/sources.h"

enum { BASE = 0x100000, FUNCTION = 0x1000 };

static struct compact_entry entry_of(uint32_t encoding)
{
    return (struct compact_entry){BASE + FUNCTION, BASE + FUNCTION + 64, encoding};
}

static void check_saved(const struct arch *arch, const struct unwind_row *row, uint64_t saved)
{
    for (unsigned i = 0; i < arch->reg_count; i++)
        assert_int_equal(row->reg[i].how == REG_AT_CFA, saved >> i & 1);
}

/* ---- x86 ---- */

static const uint8_t numbers_64[] = {0, 3, 12, 13, 14, 15, 6}, numbers_32[] = {0, 3, 1, 2, 7, 6, 5};

/* The number of an order of registers: each digit counts the registers with lower numbers that were
 * not used before it. Its weight is the count of orders of what may follow. */
static unsigned number_of_order(const unsigned *order, unsigned count)
{
    unsigned code = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned lower = order[i] - 1;
        for (unsigned k = 0; k < i; k++)
            lower -= order[k] < order[i];
        code *= 6 - i;
        code += lower;
    }
    return code;
}

static unsigned checked_orders;

static void check_order(const struct arch *arch, const unsigned *order, unsigned count)
{
    const uint8_t *numbers = arch == &arch_x86_64 ? numbers_64 : numbers_32;
    const int word = arch->pointer_size;
    const unsigned size = count + 1 + count % 3;
    const struct unwind_image image = {.arch = arch};
    const struct compact_entry entry =
        entry_of(0x02000000u | size << 16 | count << 10 | number_of_order(order, count));
    struct unwind_row row;
    assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_OK);
    assert_int_equal(row.cfa_reg, arch->sp);
    assert_int_equal(row.cfa_offset, (int)size * word);
    assert_int_equal(row.reg[arch->pc].offset, -word);
    uint64_t saved = (uint64_t)1 << arch->pc;
    for (unsigned i = 0; i < count; i++) {
        saved |= (uint64_t)1 << numbers[order[i]];
        assert_int_equal(row.reg[numbers[order[i]]].offset, -word * (int)(count + 1 - i));
    }
    check_saved(arch, &row, saved);
    checked_orders++;
}

/* All orders that begin with the `done` registers in `order`. */
static void all_orders(const struct arch *arch, unsigned *order, unsigned done)
{
    check_order(arch, order, done);
    for (unsigned next = 1; next <= 6 && done < 6; next++) {
        bool used = false;
        for (unsigned i = 0; i < done; i++)
            used = used || order[i] == next;
        if (used)
            continue;
        order[done] = next;
        all_orders(arch, order, done + 1);
    }
}

static void x86_orders(void **state)
{
    unsigned order[6] = {0};
    (void)state;
    all_orders(&arch_x86_64, order, 0);
    all_orders(&arch_i386, order, 0);
    assert_int_equal(checked_orders, 2 * (1 + 6 + 30 + 120 + 360 + 720 + 720));
}

/* Numbers that are no order, sizes too small for what they hold, too many registers. */
static void x86_impossible(void **state)
{
    static const uint32_t list[] = {
        0x02081800 + 720, 0x02081400 + 720, 0x02081000 + 360, 0x02080c00 + 120,
        0x02080800 + 30,  0x02080400 + 6,   0x02061800,       0x02000000,
        0x02001c00,       0x02ff1c00,       0x05000000,       0x0f000000,
    };
    (void)state;
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        const struct unwind_image image = {.arch = i % 2 ? &arch_i386 : &arch_x86_64};
        const struct compact_entry entry = entry_of(list[i]);
        struct unwind_row row;
        assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_BAD_INFO);
    }
}

static void x86_frames(void **state)
{
    (void)state;
    for (uint32_t fields = 0; fields < 1 << 15; fields++) {
        const struct arch *arch = fields % 2 ? &arch_i386 : &arch_x86_64;
        const uint8_t *numbers = arch == &arch_x86_64 ? numbers_64 : numbers_32;
        const struct unwind_image image = {.arch = arch};
        const struct compact_entry entry = entry_of(0x01000000 | 7u << 16 | fields);
        const int word = arch->pointer_size;
        struct unwind_row row;
        int place[ARCH_MAX_REGS] = {0};
        bool possible = true;
        place[arch->pc] = -word;
        place[arch->fp] = -2 * word;
        for (unsigned i = 0; i < 5; i++) {
            unsigned number = fields >> 3 * i & 7;
            possible = possible && number < 6;
            if (number && number < 6)
                place[numbers[number]] = word * ((int)i - 9);
        }
        assert_int_equal(compact_row_x86(&image, &entry, &row),
                         possible ? UNWIND_OK : UNWIND_BAD_INFO);
        for (unsigned i = 0; possible && i < arch->reg_count; i++)
            assert_int_equal(row.reg[i].offset, place[i]);
        assert_true(!possible || (row.cfa_reg == arch->fp && row.cfa_offset == 2 * word));
    }
}

/* The size of the frame stands in the code; any other instruction there proves nothing. */
static void x86_indirect(void **state)
{
    static const uint8_t code_64[] = {0x55, 0x53, 0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00};
    static const uint8_t code_32[] = {0x55, 0x53, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00};
    struct unwind_image image = {.arch = &arch_x86_64,
                                 .text = {code_64, sizeof code_64, BASE + FUNCTION}};
    const unsigned order[] = {1, 6};
    const uint32_t rest = 3 << 13 | 2 << 10 | number_of_order(order, 2);
    struct compact_entry entry = entry_of(0x03000000 | 5 << 16 | rest);
    struct unwind_row row;
    (void)state;
    assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset, 0x1000 + 24);
    assert_int_equal(row.reg[6].offset, -16);
    assert_int_equal(row.reg[3].offset, -24);
    for (unsigned cut = 0; cut < sizeof code_64; cut++) {
        image.text.size = cut;
        assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_NO_INFO);
    }
    image.text.size = sizeof code_64;
    entry.encoding = 0x03000000 | 4 << 16 | rest;
    assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_NO_INFO);

    /* behind a stack probe; LLVM 19 gives this encoding for it */
    static const uint8_t probed[] = {0x41, 0x57, 0x41, 0x56, 0x53, 0xb8, 0xf0, 0x93, 0x04,
                                     0x00, 0xe8, 1,    2,    3,    4,    0x48, 0x29, 0xc4};
    entry.encoding = 0x03088c0a;
    image.text = (struct unwind_section){probed, sizeof probed, BASE + FUNCTION};
    assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset, 300048);
    assert_true(row.reg[3].offset == -32 && row.reg[14].offset == -24 && row.reg[15].offset == -16);
    for (unsigned cut = 0; cut < sizeof probed; cut++) {
        image.text.size = cut;
        assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_NO_INFO);
    }
    entry.encoding = 0x03000000 | 4 << 16 | rest;

    image = (struct unwind_image){.arch = &arch_i386,
                                  .text = {code_32, sizeof code_32, BASE + FUNCTION}};
    assert_int_equal(compact_row_x86(&image, &entry, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset, 0x1000 + 12);
    assert_int_equal(row.reg[5].offset, -8);
}

/* ---- arm64 ---- */

static void arm64_encodings(void **state)
{
    (void)state;
    for (uint32_t pairs = 0; pairs < 1 << 9; pairs++) {
        const uint32_t bits = (pairs & 31) | (pairs >> 5) << 8;
        const unsigned count = (unsigned)__builtin_popcount(pairs & 31);
        struct unwind_row frame, frameless;
        struct compact_entry entry = entry_of(0x04000000 | bits);
        assert_int_equal(compact_row_aarch64(&entry, &frame), UNWIND_OK);
        entry.encoding = 0x02000000 | count << 12 | bits;
        assert_int_equal(compact_row_aarch64(&entry, &frameless), UNWIND_OK);
        assert_true(frame.cfa_reg == 29 && frame.cfa_offset == 16 && frame.ra_reg == 30);
        assert_true(frame.reg[30].offset == -8 && frame.reg[29].offset == -16);
        assert_true(frameless.cfa_reg == 31 && frameless.cfa_offset == 16 * (int)count);
        assert_true(frameless.ra_reg == 30 && frameless.reg[30].how == REG_SAME);
        int at = 0;
        uint64_t saved = 0;
        for (unsigned i = 0; i < 5; i++)
            for (unsigned reg = 19 + 2 * i; reg <= 20 + 2 * i && pairs >> i & 1; reg++) {
                at -= 8;
                saved |= (uint64_t)1 << reg;
                assert_int_equal(frame.reg[reg].offset, -16 + at);
                assert_int_equal(frameless.reg[reg].offset, at);
            }
        check_saved(&arch_aarch64, &frame, saved | 3ull << 29);
        check_saved(&arch_aarch64, &frameless, saved);
        if (count) { /* no room for all of them */
            entry.encoding = 0x02000000 | (count - 1) << 12 | bits;
            assert_int_equal(compact_row_aarch64(&entry, &frameless), UNWIND_BAD_INFO);
        }
    }
    struct compact_entry entry = entry_of(0x02fff000);
    struct unwind_row row;
    assert_int_equal(compact_row_aarch64(&entry, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset, 0xfff0);
    for (uint32_t mode = 0; mode < 16; mode++) {
        entry.encoding = mode << 24;
        enum unwind_status expected = mode == 0                ? UNWIND_NO_INFO
                                      : mode == 2 || mode == 4 ? UNWIND_OK
                                                               : UNWIND_BAD_INFO;
        assert_int_equal(compact_row_aarch64(&entry, &row), expected);
    }
}

/* ---- armv7k ---- */

static void armv7k_encodings(void **state)
{
    static const struct {
        uint32_t bit;
        unsigned reg;
    } downwards[] = {{0x04, 6},  {0x02, 5},  {0x01, 4}, {0x80, 12},
                     {0x40, 11}, {0x20, 10}, {0x10, 9}, {0x08, 8}};
    (void)state;
    for (uint32_t bits = 0; bits < 1 << 11; bits++)
        for (uint32_t adjust = 0; adjust < 4; adjust++) {
            const uint32_t mode = bits >> 8 ? 0x02000000 : 0x01000000;
            const struct compact_entry entry = entry_of(mode | adjust << 22 | bits);
            struct unwind_row row;
            int at = -8 - 4 * (int)adjust;
            uint64_t saved = 1 << 7 | 1 << 14;
            assert_int_equal(compact_row_arm(&entry, &row), UNWIND_OK);
            assert_true(row.cfa_reg == 7 && row.cfa_offset == 8 + 4 * (int)adjust);
            assert_true(row.reg[7].offset == at && row.reg[14].offset == at + 4);
            for (unsigned i = 0; i < 8; i++)
                if (bits & downwards[i].bit) {
                    at -= 4;
                    saved |= (uint64_t)1 << downwards[i].reg;
                    assert_int_equal(row.reg[downwards[i].reg].offset, at);
                }
            check_saved(&arch_arm_apple, &row, saved);
        }
    for (uint32_t mode = 3; mode < 16; mode++) {
        const struct compact_entry entry = entry_of(mode << 24);
        struct unwind_row row;
        assert_int_equal(compact_row_arm(&entry, &row), UNWIND_BAD_INFO);
    }
}

/* ---- tables ---- */

static struct table example(void)
{
    static const uint32_t first[][2] = {{0x1000, 0}, {0x1040, 1}, {0x1080, 2}, {0x1100, 3}};
    static const uint32_t own[] = {0x04000003, 0xc4000007}; /* with LSDA and personality */
    static const uint32_t second[][2] = {
        {0x2000, 0x04000001}, {0x2010, 0}, {0x2020, 0x02001000}, {0x2100, 0x04000000}};
    struct table t;
    table_begin(&t, 0x02000000, 0x04000001);
    table_compressed(&t, first, 4, own, 2);
    table_regular(&t, second, 4);
    table_index(&t, 0x3000, 0); /* nothing is known of what stands here */
    table_index(&t, 0x4000, 0);
    return t;
}

static struct unwind_image image_over(const uint8_t *bytes, size_t size)
{
    return (struct unwind_image){.arch = &arch_aarch64,
                                 .macho = true,
                                 .lo = BASE,
                                 .hi = BASE + 0x10000,
                                 .header = BASE,
                                 .unwind_info = {bytes, size, BASE + 0x8000}};
}

static void lookups(void **state)
{
    static const struct {
        uint32_t at;
        enum unwind_status status;
        uint32_t lo, hi, encoding;
    } list[] = {
        {0x0fff, UNWIND_NO_INFO, 0, 0, 0},
        {0x1000, UNWIND_OK, 0x1000, 0x1040, 0x02000000},
        {0x103f, UNWIND_OK, 0x1000, 0x1040, 0x02000000},
        {0x1040, UNWIND_OK, 0x1040, 0x1080, 0x04000001},
        {0x10ff, UNWIND_OK, 0x1080, 0x1100, 0x04000003},
        {0x1100, UNWIND_OK, 0x1100, 0x2000, 0xc4000007},
        {0x1fff, UNWIND_OK, 0x1100, 0x2000, 0xc4000007},
        {0x2000, UNWIND_OK, 0x2000, 0x2010, 0x04000001},
        {0x2010, UNWIND_OK, 0x2010, 0x2020, 0},
        {0x20ff, UNWIND_OK, 0x2020, 0x2100, 0x02001000},
        {0x2fff, UNWIND_OK, 0x2100, 0x3000, 0x04000000},
        {0x3000, UNWIND_NO_INFO, 0, 0, 0},
        {0x3fff, UNWIND_NO_INFO, 0, 0, 0},
        {0x4000, UNWIND_NO_INFO, 0, 0, 0},
        {UINT32_MAX, UNWIND_NO_INFO, 0, 0, 0},
    };
    struct table t = example();
    struct unwind_image image = image_over(t.bytes, t.size);
    struct compact_entry entry;
    struct unwind_row row;
    (void)state;
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        assert_int_equal(compact_lookup(&image, BASE + list[i].at, &entry), list[i].status);
        if (list[i].status != UNWIND_OK)
            continue;
        assert_int_equal(entry.lo, BASE + list[i].lo);
        assert_int_equal(entry.hi, BASE + list[i].hi);
        assert_int_equal(entry.encoding, list[i].encoding);
    }
    assert_int_equal(compact_lookup(&image, BASE - 1, &entry), UNWIND_NO_INFO);
    assert_int_equal(compact_lookup(&image, BASE + (1ull << 32), &entry), UNWIND_NO_INFO);
    assert_int_equal(compact_find(&image, BASE + 0x2015, &row), UNWIND_NO_INFO);
    assert_int_equal(compact_find(&image, BASE + 0x1100, &row), UNWIND_OK);
    assert_int_equal(row.reg[23].offset, -56);
    assert_true(row.lo == BASE + 0x1100 && row.hi == BASE + 0x2000);

    image.unwind_info.data = NULL;
    assert_int_equal(compact_find(&image, BASE + 0x1100, &row), UNWIND_NO_INFO);
    table_put(&t, 0, 2, 4); /* a version that is not known */
    image = image_over(t.bytes, t.size);
    assert_int_equal(compact_find(&image, BASE + 0x1100, &row), UNWIND_NO_INFO);
}

/* Whatever a broken table makes of an address: one of three answers, and a range around it. */
static void ask_everywhere(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* reading behind its end is noticed */
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    struct unwind_image image = image_over(copy, size);
    for (uint32_t at = 0xff0; at < 0x4010; at += 16) {
        struct compact_entry entry;
        struct unwind_row row;
        enum unwind_status status = compact_lookup(&image, BASE + at, &entry);
        assert_true(status == UNWIND_OK || status == UNWIND_NO_INFO || status == UNWIND_BAD_INFO);
        if (status == UNWIND_OK)
            assert_true(entry.lo <= BASE + at && BASE + at < entry.hi);
        status = compact_find(&image, BASE + at, &row);
        assert_true(status == UNWIND_OK || status == UNWIND_NO_INFO || status == UNWIND_BAD_INFO);
    }
    free(copy);
}

static void cut_tables(void **state)
{
    struct table t = example();
    struct compact_entry entry;
    (void)state;
    for (size_t size = 0; size <= t.size; size++)
        ask_everywhere(t.bytes, size);
    struct unwind_image image = image_over(t.bytes, t.size - 1);
    assert_int_equal(compact_lookup(&image, BASE + 0x2000, &entry), UNWIND_BAD_INFO);
    assert_int_equal(compact_lookup(&image, BASE + 0x1000, &entry), UNWIND_OK);
}

static void broken_tables(void **state)
{
    static const uint32_t extremes[] = {0,      1,          0x7f,       0xff,       0x7fff,
                                        0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
    const struct table whole = example();
    (void)state;
    for (size_t at = 0; at + 4 <= whole.size; at += 2)
        for (unsigned i = 0; i < sizeof extremes / sizeof extremes[0]; i++)
            for (unsigned size = 1; size <= 4; size *= 2) {
                struct table t = whole;
                table_put(&t, at, extremes[i], size);
                ask_everywhere(t.bytes, whole.size);
            }
}

/* An entry that refers to DWARF goes to the FDE that it names, and looks for another one when that
 * is not the function's. */
static void refers_to_frame_information(void **state)
{
    static const uint32_t entries[][2] = {
        {0x1000, 0x03000018}, {0x1100, 0x03000000}, {0x1200, 0x03000018}, {0x1300, 0x03ffffff}};
    static const uint8_t cie[] = {20, 0,    0,  0, 0,    0,    0,  0, 1, 'z', 'R', 0,
                                  1,  0x78, 30, 1, 0x10, 0x0c, 31, 0, 0, 0,   0,   0};
    struct table t, frames = {.size = 0};
    struct unwind_row row;
    (void)state;
    table_begin(&t, 0, 0);
    table_regular(&t, entries, 4);
    table_index(&t, 0x1400, 0);
    table_index(&t, 0x1400, 0);
    table_index(&t, 0x1400, 0);
    for (size_t i = 0; i < sizeof cie; i++)
        table_add(&frames, cie[i], 1);
    for (uint32_t function = 0; function < 3; function++) { /* at 0x18, 0x34, 0x50 */
        uint64_t here = frames.size;
        table_add(&frames, 24, 4);
        table_add(&frames, here + 4, 4);
        table_add(&frames, 0x1000 + 0x100 * function - (0x9000 + here + 8), 8);
        table_add(&frames, 0x100, 8);
        table_add(&frames, 0, 1);
        table_add(&frames, 0x0e, 1); /* CFA = sp + 16, 32, 48 */
        table_add(&frames, 16 + 16 * function, 1);
        table_add(&frames, 0, 1);
    }
    struct unwind_image image = image_over(t.bytes, t.size);
    image.eh_frame = (struct unwind_section){frames.bytes, frames.size, BASE + 0x9000};
    for (uint32_t function = 0; function < 3; function++) {
        assert_int_equal(compact_find(&image, BASE + 0x1010 + 0x100 * function, &row), UNWIND_OK);
        assert_int_equal(row.cfa_offset, 16 + 16 * function);
        assert_int_equal(row.method, FW_METHOD_CFI);
    }
    assert_int_equal(compact_find(&image, BASE + 0x1310, &row), UNWIND_NO_INFO);
    image.eh_frame.data = NULL;
    assert_int_equal(compact_find(&image, BASE + 0x1010, &row), UNWIND_NO_INFO);
}

/* ---- function starts ---- */

static void function_starts(void **state)
{
    /* 0x1000, 0x1081 (Thumb), 0x1100, 0x5100; then an end, and what must not be read */
    static const uint8_t list[] = {0x80, 0x20, 0x81, 0x01, 0x7f, 0x80, 0x80, 0x01, 0, 0x10};
    struct unwind_image image = {.arch = &arch_arm_apple,
                                 .macho = true,
                                 .lo = BASE,
                                 .hi = BASE + 0x9000,
                                 .header = BASE,
                                 .plt = {{list, 16, BASE + 0x8000}},
                                 .function_starts = {list, sizeof list, 0}};
    struct function_range f;
    (void)state;
    assert_false(unwind_function_at(&image, BASE + 0xfff, &f));
    assert_true(unwind_function_at(&image, BASE + 0x1000, &f));
    assert_true(f.lo == BASE + 0x1000 && f.hi == BASE + 0x1080 && !f.thumb);
    assert_true(unwind_function_at(&image, BASE + 0x1080, &f));
    assert_true(f.lo == BASE + 0x1080 && f.hi == BASE + 0x1100 && f.thumb);
    assert_true(unwind_function_at(&image, BASE + 0x5100, &f)); /* the last one ends at the stubs */
    assert_true(f.lo == BASE + 0x5100 && f.hi == BASE + 0x8000 && !f.thumb);
    assert_false(unwind_function_at(&image, BASE + 0x8000, &f));
    image.function_starts.size = 7; /* cut inside the last distance */
    assert_true(unwind_function_at(&image, BASE + 0x1080, &f));
    assert_false(unwind_function_at(&image, BASE + 0x1100, &f));
    image.function_starts.data = NULL;
    image.function_starts.size = 0;
    assert_false(unwind_function_at(&image, BASE + 0x1080, &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_orders),      cmocka_unit_test(x86_impossible),
        cmocka_unit_test(x86_frames),      cmocka_unit_test(x86_indirect),
        cmocka_unit_test(arm64_encodings), cmocka_unit_test(armv7k_encodings),
        cmocka_unit_test(lookups),         cmocka_unit_test(cut_tables),
        cmocka_unit_test(broken_tables),   cmocka_unit_test(refers_to_frame_information),
        cmocka_unit_test(function_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
