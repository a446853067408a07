/* Reading lines and flattening while memory runs out: an error, nothing lost, nothing half done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarf/line_bytes.h"
#include "support/alloc_fail.h"
#include "symmap/code.h"

enum { ROWS = 1000, CALLS = 3000 };

/* Sequences enough that their array grows, and one that goes back. */
static void write_table(struct table *t)
{
    table_begin(t, (struct shape)SHAPE_5);
    table_names(t);
    for (unsigned i = 0; i < 40; i++) {
        op_set_address(t, 0x10000 - i * 0x100, 8);
        op_row(t, 0, i);
        op_uleb(t, L_ADVANCE_PC, 0x80);
        op_end_sequence(t);
    }
    op_set_address(t, 0x20000, 8);
    for (unsigned i = 0; i < ROWS; i++)
        op_row(t, 2, 1);
    op_set_address(t, 0x20000, 8);
    op_row(t, 0, 1);
    op_uleb(t, L_ADVANCE_PC, 4 * ROWS);
    op_end_sequence(t);
    table_end(t);
}

static bool flatten_once(struct dwarf_lines *lines, struct arena *scratch)
{
    static struct object_range ranges[CALLS + 1];
    static struct dwarf_inline inlines[CALLS];
    static struct dwarf_subject subject = {.name = "f", .die = 1};
    struct dwarf_function function = {.range_count = 1, .inline_count = CALLS, .entry = 0x20000};
    struct dwarf_unit unit = {.ranges = ranges,
                              .range_count = CALLS + 1,
                              .functions = &function,
                              .function_count = 1,
                              .inlines = inlines,
                              .inline_count = CALLS,
                              .subjects = &subject,
                              .subject_count = 1};
    ranges[0] = (struct object_range){0x20000, 0x20000 + 2 * ROWS};
    for (uint32_t i = 0; i < CALLS; i++) { /* each overlaps its neighbours */
        ranges[i + 1] = (struct object_range){0x20000 + i % 2000, 0x20000 + i % 2000 + 3};
        inlines[i] = (struct dwarf_inline){
            .parent = DWARF_NONE, .first_range = i + 1, .range_count = 1, .call_line = i};
    }
    struct code_unit code;
    struct flatten_options options = {.columns = true};
    fw_error error = code_flatten(&unit, lines, &options, scratch, &code);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error == FW_OK) {
        assert_int_equal(code.function_count, 42); /* one of them behind the function */
        assert_true(code.row_count > 2000);
    } else {
        assert_null(code.arena.blocks);
        assert_null(code.functions);
    }
    code_unit_free(&code);
    return error == FW_OK;
}

static bool attempt(void *context)
{
    const struct table *t = context;
    struct dwarf_line_input input = {
        .line = {t->bytes.data, t->bytes.size}, .comp_dir = "/work", .address_size = 8};
    struct arena arena = {0};
    struct dwarf_lines lines;
    struct fw_failure why;
    fw_error error = dwarf_lines_read(&input, &arena, &lines, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    assert_int_equal(why.code, error);
    if (error == FW_OK)
        assert_int_equal(lines.sequence_count, 41);
    else
        assert_int_equal(lines.row_count + lines.sequence_count + lines.file_count, 0);
    bool whole = error == FW_OK && flatten_once(&lines, &arena);
    arena_free(&arena);
    return whole;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static struct table t;
    write_table(&t);
    assert_true(alloc_fail_each(attempt, &t) > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
