/* Hand-made sections: one corner of DWARF each, and what is wrong in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "dwarf/constants.h"
#include "dwarf/dwarf.h"
#include "dwarf/elf_bytes.h"

enum { TEXT = 0x1000, TEXT_SIZE = 0x10000 };

struct made {
    struct bytes abbrev, info, str, ranges, rnglists, addr, aranges;
    bool is_64;
    size_t unit; /* where the open unit's length stands */
    uint8_t *file;
    struct object *object;
    struct dwarf *dwarf;
    struct arena arena;
    struct dwarf_problems problems;
    struct dwarf_unit u;
};

static struct made *make(bool is_64, bool big)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->is_64 = is_64;
    m->abbrev.big = m->info.big = m->str.big = m->ranges.big = m->rnglists.big = m->addr.big =
        m->aranges.big = big;
    return m;
}

/* code, tag, children, then attribute and form pairs up to 0. */
static void declare(struct made *m, uint64_t code, unsigned tag, int children, ...)
{
    va_list pairs;
    put_uleb(&m->abbrev, code);
    put_uleb(&m->abbrev, tag);
    put_u8(&m->abbrev, (unsigned)children);
    va_start(pairs, children);
    for (unsigned attribute; (attribute = va_arg(pairs, unsigned)) != 0;) {
        unsigned form = va_arg(pairs, unsigned);
        put_uleb(&m->abbrev, attribute);
        put_uleb(&m->abbrev, form);
        if (form == DW_FORM_implicit_const)
            put_uleb(&m->abbrev, va_arg(pairs, unsigned));
    }
    va_end(pairs);
    put_uint(&m->abbrev, 0, 2);
}

static void begin_unit(struct made *m, unsigned version)
{
    m->unit = m->info.size;
    put_uint(&m->info, 0, 4);
    put_uint(&m->info, version, 2);
    if (version >= 5) {
        put_u8(&m->info, DW_UT_compile);
        put_u8(&m->info, m->is_64 ? 8 : 4);
    }
    put_uint(&m->info, 0, 4);
    if (version < 5)
        put_u8(&m->info, m->is_64 ? 8 : 4);
}

static void end_unit(struct made *m)
{
    patch_uint(&m->info, m->unit, m->info.size - m->unit - 4, 4);
}

static void address(struct made *m, struct bytes *to, uint64_t value)
{
    put_uint(to, value, m->is_64 ? 8 : 4);
}

/* Reads unit 0; the file's own code ranges are used unless options are given. */
static void read_first(struct made *m, const struct dwarf_options *given)
{
    put_u8(&m->abbrev, 0);
    const struct elf_part parts[] = {{".debug_abbrev", m->abbrev.data, m->abbrev.size},
                                     {".debug_info", m->info.data, m->info.size},
                                     {".debug_str", m->str.data, m->str.size},
                                     {".debug_ranges", m->ranges.data, m->ranges.size},
                                     {".debug_rnglists", m->rnglists.data, m->rnglists.size},
                                     {".debug_addr", m->addr.data, m->addr.size},
                                     {".debug_aranges", m->aranges.data, m->aranges.size}};
    size_t size;
    m->file = elf_of(parts, sizeof parts / sizeof parts[0], m->is_64, m->info.big, TEXT, TEXT_SIZE,
                     &size);
    struct fw_failure why = {0};
    if (object_open_bytes(m->file, size, false, "made", &m->object, &why) != FW_OK ||
        dwarf_open(m->object, NULL, &m->dwarf, &why) != FW_OK)
        fail_msg("%s", why.message);
    struct dwarf_options options = {.calls = true};
    if (given)
        options = *given;
    else
        assert_int_equal(object_code_ranges(m->object, &options.code, &options.code_count), FW_OK);
    assert_int_equal(dwarf_unit_read(m->dwarf, 0, &options, &m->arena, &m->u, &m->problems), FW_OK);
}

static void drop(struct made *m)
{
    arena_free(&m->arena);
    dwarf_close(m->dwarf);
    object_close(m->object);
    free(m->file);
    free(m);
}

static void expect_ranges(const struct made *m, size_t function, size_t count,
                          const uint64_t *pairs)
{
    assert_true(function < m->u.function_count);
    const struct dwarf_function *f = &m->u.functions[function];
    assert_int_equal(f->range_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(m->u.ranges[f->first_range + i].lo, pairs[2 * i]);
        assert_int_equal(m->u.ranges[f->first_range + i].hi, pairs[2 * i + 1]);
    }
}

static const struct {
    bool is_64, big;
} machines[] = {{true, false}, {true, true}, {false, false}, {false, true}};

static void function_with_pc(struct made *m, const char *name, uint64_t lo, uint64_t size)
{
    put_uleb(&m->info, 2);
    put_text(&m->info, name);
    address(m, &m->info, lo);
    put_uint(&m->info, size, 4);
}

/* Dead functions begin at 0, 1, -1, -2, with or without something added. */
static void tombstones(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int ranges_known = 0; ranges_known < 2; ranges_known++) {
            struct made *m = make(machines[i].is_64, machines[i].big);
            const struct dwarf_options blind = {.calls = true};
            uint64_t all = m->is_64 ? UINT64_MAX : UINT32_MAX;
            declare(m, 1, DW_TAG_compile_unit, true, DW_AT_low_pc, DW_FORM_addr, 0);
            declare(m, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
                    DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
            begin_unit(m, 4);
            put_uleb(&m->info, 1);
            address(m, &m->info, 0);
            function_with_pc(m, "at_0", 0, 16);
            function_with_pc(m, "at_1", 1, 16);
            function_with_pc(m, "at_end", all, 1);
            function_with_pc(m, "at_end_1", all - 1, 1);
            if (ranges_known)
                function_with_pc(m, "added", 0x20, 16);
            function_with_pc(m, "empty", TEXT, 0);
            function_with_pc(m, "live", TEXT + 16, 32);
            put_u8(&m->info, 0);
            end_unit(m);
            read_first(m, ranges_known ? NULL : &blind);
            assert_int_equal(m->u.function_count, 1);
            expect_ranges(m, 0, 1, (const uint64_t[]){TEXT + 16, TEXT + 48});
            assert_string_equal(m->u.subjects[m->u.functions[0].subject].name, "live");
            drop(m);
        }
}

/* Version 4 lists: pairs from a base, a new base, an inverted pair, a dead one. */
static void old_range_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct made *m = make(machines[i].is_64, machines[i].big);
        uint64_t all = m->is_64 ? UINT64_MAX : UINT32_MAX;
        declare(m, 1, DW_TAG_compile_unit, true, DW_AT_low_pc, DW_FORM_addr, 0);
        declare(m, 2, DW_TAG_subprogram, false, DW_AT_ranges, DW_FORM_sec_offset, 0);
        begin_unit(m, 4);
        put_uleb(&m->info, 1);
        address(m, &m->info, TEXT);
        put_uleb(&m->info, 2);
        put_uint(&m->info, 0, 4);
        put_u8(&m->info, 0);
        end_unit(m);
        const uint64_t list[] = {0x10, 0x20, 0x50, 0x40, 1, 1,    all, TEXT + 0x100,
                                 0,    0x30, all,  all,  0, 0x10, 0,   0};
        for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
            address(m, &m->ranges, list[k]);
        read_first(m, NULL);
        expect_ranges(m, 0, 2,
                      (const uint64_t[]){TEXT + 0x10, TEXT + 0x20, TEXT + 0x100, TEXT + 0x130});
        assert_int_equal(m->problems.count[DWARF_PROBLEM_RANGE], 1); /* the inverted one */
        drop(m);
    }
}

/* Every entry of version 5, through DW_FORM_rnglistx with the default base; index 0 counts. */
static void new_range_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct made *m = make(machines[i].is_64, machines[i].big);
        struct bytes *b = &m->rnglists;
        declare(m, 1, DW_TAG_compile_unit, true, DW_AT_low_pc, DW_FORM_addr, 0);
        declare(m, 2, DW_TAG_subprogram, false, DW_AT_ranges, DW_FORM_rnglistx, 0);
        begin_unit(m, 5);
        put_uleb(&m->info, 1);
        address(m, &m->info, TEXT);
        put_uleb(&m->info, 2);
        put_uleb(&m->info, 0);
        put_u8(&m->info, 0);
        end_unit(m);
        put_uint(&m->addr, 0, 8); /* the header, which nobody looks at */
        address(m, &m->addr, TEXT + 0x200);
        address(m, &m->addr, TEXT + 0x240);
        put_uint(b, 0, 4);
        put_uint(b, 5, 2);
        put_u8(b, m->is_64 ? 8 : 4);
        put_u8(b, 0);
        put_uint(b, 1, 4);
        put_uint(b, 4, 4); /* list 0 begins behind the one offset */
        put_u8(b, DW_RLE_offset_pair), put_uleb(b, 0), put_uleb(b, 8);
        put_u8(b, DW_RLE_base_addressx), put_uleb(b, 1);
        put_u8(b, DW_RLE_offset_pair), put_uleb(b, 0x300), put_uleb(b, 0x310);
        put_u8(b, DW_RLE_startx_endx), put_uleb(b, 0), put_uleb(b, 1);
        put_u8(b, DW_RLE_startx_length), put_uleb(b, 1), put_uleb(b, 4);
        put_u8(b, DW_RLE_base_address), address(m, b, TEXT + 0x1000);
        put_u8(b, DW_RLE_offset_pair), put_uleb(b, 1), put_uleb(b, 2);
        put_u8(b, DW_RLE_start_end), address(m, b, TEXT + 0x2000), address(m, b, TEXT + 0x2001);
        put_u8(b, DW_RLE_start_length), address(m, b, TEXT + 0x3000), put_uleb(b, 0x7f0);
        put_u8(b, DW_RLE_end_of_list);
        read_first(m, NULL);
        expect_ranges(m, 0, 7,
                      (const uint64_t[]){TEXT, TEXT + 8, TEXT + 0x540, TEXT + 0x550, TEXT + 0x200,
                                         TEXT + 0x240, TEXT + 0x240, TEXT + 0x244, TEXT + 0x1001,
                                         TEXT + 0x1002, TEXT + 0x2000, TEXT + 0x2001, TEXT + 0x3000,
                                         TEXT + 0x37f0});
        for (int k = 0; k < DWARF_PROBLEM_COUNT; k++)
            assert_int_equal(m->problems.count[k], 0);
        drop(m);
    }
}

/* References in circles, to nowhere, and through DW_FORM_indirect. */
static void references(void **state)
{
    (void)state;
    struct made *m = make(true, false);
    declare(m, 1, DW_TAG_compile_unit, true, 0);
    declare(m, 2, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc,
            DW_FORM_addr, DW_AT_high_pc, DW_FORM_implicit_const, 16, 0);
    declare(m, 3, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_indirect, DW_AT_low_pc,
            DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0);
    declare(m, 4, DW_TAG_subprogram, false, DW_AT_MIPS_linkage_name, DW_FORM_string, 0);
    begin_unit(m, 4);
    put_uleb(&m->info, 1);
    uint64_t self = m->info.size;
    put_uleb(&m->info, 2), put_uint(&m->info, self, 4), address(m, &m->info, TEXT);
    put_uleb(&m->info, 2), put_uint(&m->info, 0x7000, 4), address(m, &m->info, TEXT + 16);
    uint64_t named = m->info.size;
    put_uleb(&m->info, 4), put_text(&m->info, "_Z4namev");
    put_uleb(&m->info, 3), put_uleb(&m->info, DW_FORM_ref_udata), put_uleb(&m->info, named);
    address(m, &m->info, TEXT + 32), address(m, &m->info, TEXT + 48);
    put_u8(&m->info, 0);
    end_unit(m);
    read_first(m, NULL);
    assert_int_equal(m->u.function_count, 3);
    assert_null(m->u.subjects[m->u.functions[0].subject].name);
    assert_null(m->u.subjects[m->u.functions[1].subject].name);
    const struct dwarf_subject *s = &m->u.subjects[m->u.functions[2].subject];
    assert_string_equal(s->name, "_Z4namev");
    assert_true(s->linkage);
    assert_int_equal(s->die, named);
    assert_int_equal(m->problems.count[DWARF_PROBLEM_REFERENCE], 2);
    drop(m);
}

/* What cannot be read ends the unit; what was read before stands. */
static void broken_entries(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct made *m = make(true, false);
        declare(m, 1, DW_TAG_compile_unit, true, 0);
        declare(m, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
                DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
        declare(m, 3, 0x34, false, DW_AT_name, 0x4321, 0);
        declare(m, 0x123456789, 0x34, false, 0); /* codes need not be small */
        begin_unit(m, 4);
        put_uleb(&m->info, 1);
        put_uleb(&m->info, 0x123456789);
        function_with_pc(m, "first", TEXT, 16);
        if (kind < 2)
            put_uleb(&m->info, kind ? 99 : 3);
        if (kind < 2)
            function_with_pc(m, "never", TEXT + 16, 16);
        end_unit(m);
        read_first(m, NULL);
        assert_int_equal(m->u.function_count, 1);
        assert_int_equal(m->problems.count[kind < 2 ? DWARF_PROBLEM_ABBREV : DWARF_PROBLEM_UNIT],
                         1);
        assert_non_null(
            strstr(m->problems.first[kind < 2 ? DWARF_PROBLEM_ABBREV : DWARF_PROBLEM_UNIT].message,
                   ".debug_info+0x"));
        drop(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tombstones),      cmocka_unit_test(old_range_lists),
        cmocka_unit_test(new_range_lists), cmocka_unit_test(references),
        cmocka_unit_test(broken_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
