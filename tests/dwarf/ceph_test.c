/*
 * A large real program (Debian's ceph-osd with its debug file, where installed): what the walk
 * finds against a plain reader that goes through every DIE and skips nothing. Not one function may
 * be lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwarf/constants.h"
#include "dwarf/dwarf.h"
#include "object/codecs.h"

/* The debug file of the package's main program: version 5, 32-bit format. */
static const char debug_file[] =
    "/usr/lib/debug/.build-id/fb/66b3cec5f264a2f863d96fa875eb4ae39bb0bf.debug";

struct plain_abbrev {
    uint64_t tag;
    bool children;
    struct {
        uint64_t attribute, form;
    } attributes[40];
    size_t count;
};

struct counts {
    uint64_t functions, inlines, calls;
    uint64_t places; /* sum over the functions of what their DIE's offset hashes to */
};

static uint64_t mixed(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

static void skip_form(struct reader *r, uint64_t form, uint64_t *value)
{
    *value = 0;
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_data8: *value = reader_u64(r); break;
    case DW_FORM_ref_sig8: reader_skip(r, 8); break;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1: *value = reader_u8(r); break;
    case DW_FORM_data2: *value = reader_u16(r); break;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_ref_addr:
    case DW_FORM_sec_offset: *value = reader_u32(r); break;
    case DW_FORM_data16: reader_skip(r, 16); break;
    case DW_FORM_string: (void)reader_string(r); break;
    case DW_FORM_block1: reader_skip(r, reader_u8(r)); break;
    case DW_FORM_block2: reader_skip(r, reader_u16(r)); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: reader_skip(r, reader_uleb(r)); break;
    case DW_FORM_udata:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx: *value = reader_uleb(r); break;
    case DW_FORM_sdata: (void)reader_sleb(r); break;
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: break;
    default: fail_msg("form 0x%llx", (unsigned long long)form);
    }
}

static void read_abbrevs(struct span data, uint64_t offset, struct plain_abbrev *table, size_t size)
{
    struct reader r = reader_at(data.data, data.size, offset);
    for (uint64_t code; (code = reader_uleb(&r)) != 0;) {
        assert_true(code < size && !r.failed);
        struct plain_abbrev *a = &table[code];
        *a = (struct plain_abbrev){.tag = reader_uleb(&r)};
        a->children = reader_u8(&r);
        for (;;) {
            uint64_t attribute = reader_uleb(&r), form = reader_uleb(&r);
            if (form == DW_FORM_implicit_const)
                (void)reader_sleb(&r);
            if (!attribute && !form)
                break;
            assert_true(a->count < 40);
            a->attributes[a->count].attribute = attribute;
            a->attributes[a->count++].form = form;
        }
    }
}

/* A list of .debug_rnglists that holds code (what the linker threw away begins at 0). */
static bool list_is_live(struct span rnglists, uint64_t offset, uint64_t base)
{
    struct reader r = reader_at(rnglists.data, rnglists.size, offset);
    for (;;) {
        uint64_t lo = 0, size = 0;
        switch (reader_u8(&r)) {
        case DW_RLE_end_of_list: return false;
        case DW_RLE_base_address: base = reader_u64(&r); break;
        case DW_RLE_offset_pair:
            lo = base + reader_uleb(&r);
            size = base + reader_uleb(&r) - lo;
            break;
        case DW_RLE_start_length:
            lo = reader_u64(&r);
            size = reader_uleb(&r);
            break;
        default: fail_msg("range list at 0x%llx", (unsigned long long)offset);
        }
        assert_false(r.failed);
        if (size && lo > 0x1000)
            return true;
    }
}

struct level {
    bool live; /* inside of a function with code */
};

static void walk_plainly(struct span info, struct span abbrevs, struct span rnglists,
                         struct counts *counts)
{
    enum { CODES = 20000, LEVELS = 1000 };
    struct plain_abbrev *table = calloc(CODES, sizeof *table);
    struct level *stack = calloc(LEVELS, sizeof *stack);
    struct reader all = reader_over(info.data, info.size);
    assert_true(table && stack);
    while (reader_left(&all)) {
        struct reader r = reader_sub(&all, reader_u32(&all));
        assert_int_equal(reader_u16(&r), 5);
        reader_skip(&r, 2);
        read_abbrevs(abbrevs, reader_u32(&r), table, CODES);
        size_t depth = 0;
        do {
            uint64_t offset = (uint64_t)(r.pos - all.begin), code = reader_uleb(&r);
            assert_false(r.failed);
            if (!code) {
                depth--;
                continue;
            }
            const struct plain_abbrev *a = &table[code];
            uint64_t lo = 0, hi = 0, value;
            bool has_list = false, list_live = false, live = depth && stack[depth - 1].live;
            for (size_t i = 0; i < a->count; i++) {
                skip_form(&r, a->attributes[i].form, &value);
                if (a->attributes[i].attribute == DW_AT_low_pc)
                    lo = value;
                else if (a->attributes[i].attribute == DW_AT_high_pc)
                    hi = value;
                else if (a->attributes[i].attribute == DW_AT_ranges && depth) {
                    has_list = true;
                    list_live = list_is_live(rnglists, value, 0);
                }
            }
            if (a->tag == DW_TAG_subprogram) {
                live = has_list ? list_live : lo > 0x1000 && hi;
                counts->functions += live;
                counts->places += live ? mixed(offset) : 0;
            }
            counts->inlines += a->tag == DW_TAG_inlined_subroutine && live;
            counts->calls += a->tag == DW_TAG_call_site && live;
            if (a->children) {
                assert_true(depth < LEVELS);
                stack[depth++].live = live;
            }
        } while (depth);
    }
    free(table);
    free(stack);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    struct object *object;
    struct fw_failure why;
    if (object_open(debug_file, &object, &why) != FW_OK) {
        print_message("skip: ceph-osd-dbg is not installed\n");
        skip();
    }
    struct dwarf *dwarf;
    struct dwarf_options options = {.calls = true};
    struct arena arena = {0};
    struct dwarf_problems problems = {0};
    struct counts ours = {0}, theirs = {0};
    assert_int_equal(dwarf_open(object, NULL, &dwarf, &why), FW_OK);
    assert_int_equal(object_code_ranges(object, &options.code, &options.code_count), FW_OK);
    for (size_t i = 0; i < dwarf_unit_count(dwarf); i++) {
        struct dwarf_unit u;
        arena_reset(&arena);
        assert_int_equal(dwarf_unit_read(dwarf, i, &options, &arena, &u, &problems), FW_OK);
        ours.functions += u.function_count;
        ours.inlines += u.inline_count;
        ours.calls += u.call_count;
        for (size_t k = 0; k < u.function_count; k++) {
            ours.places += mixed(u.functions[k].die);
            assert_non_null(u.subjects[u.functions[k].subject].name);
        }
    }
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        assert_int_equal(problems.count[i], 0);
    struct span info, abbrevs, rnglists;
    assert_int_equal(object_debug_section(object, "info", false, &info, &why), FW_OK);
    assert_int_equal(object_debug_section(object, "abbrev", false, &abbrevs, &why), FW_OK);
    assert_int_equal(object_debug_section(object, "rnglists", false, &rnglists, &why), FW_OK);
    walk_plainly(info, abbrevs, rnglists, &theirs);
    assert_true(theirs.functions > 40000);
    assert_int_equal(ours.functions, theirs.functions);
    assert_int_equal(ours.places, theirs.places);
    assert_int_equal(ours.inlines, theirs.inlines);
    assert_int_equal(ours.calls, theirs.calls);
    print_message("%llu functions, %llu inlined calls, %llu call sites\n",
                  (unsigned long long)ours.functions, (unsigned long long)ours.inlines,
                  (unsigned long long)ours.calls);
    arena_free(&arena);
    dwarf_close(dwarf);
    object_close(object);
}

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
