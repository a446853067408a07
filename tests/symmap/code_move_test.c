/* Code moved by hand-made moves, and programs linked at test time whose source tells every answer.
 */
#include "symmap/code_move.h"

#include "object/fixture.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct code_unit *unit, const struct code_function *functions, size_t count,
                 const struct code_row *rows, size_t row_count)
{
    *unit = (struct code_unit){.function_count = count, .row_count = row_count};
    unit->functions = arena_take_many(&unit->arena, count, sizeof *functions);
    unit->rows = arena_take_many(&unit->arena, row_count, sizeof *rows);
    memcpy(unit->functions, functions, count * sizeof *functions);
    memcpy(unit->rows, rows, row_count * sizeof *rows);
}

static void moves_functions_and_drops_the_rest(void **state)
{
    (void)state;
    static const struct code_function functions[] = {
        {.lo = 0x10, .hi = 0x20, .entry = 0x10, .first_row = 0, .row_count = 2},
        {.lo = 0x20, .hi = 0x30, .entry = 0x20, .first_row = 2, .row_count = 1},
        {.lo = 0x30, .hi = 0x50, .entry = 0x30, .first_row = 3, .row_count = 2},
    };
    static const struct code_row rows[] = {
        {0, 0, 0, 1}, {8, 0, 0, 2}, {0, 0, 0, 3}, {0, 0, 0, 4}, {0x18, 0, 0, 5}};
    static const struct code_move moves[] = {{0x10, 0x20, 0x2000}, {0x30, 0x40, 0x1000}};
    struct code_unit unit;
    fill(&unit, functions, 3, rows, 5);
    assert_int_equal(code_move(&unit, moves, 2), FW_OK);
    assert_int_equal(unit.function_count, 2);
    const struct code_function *f = unit.functions;
    assert_int_equal(f[0].lo, 0x1000); /* ascending again, and cut where its move ends */
    assert_int_equal(f[0].hi, 0x1010);
    assert_int_equal(f[0].entry, 0x1000);
    assert_int_equal(f[0].row_count, 1);
    assert_int_equal(unit.rows[f[0].first_row].line, 4);
    assert_int_equal(f[1].lo, 0x2000);
    assert_int_equal(f[1].hi, 0x2010);
    assert_int_equal(f[1].row_count, 2);
    assert_int_equal(unit.rows[f[1].first_row + 1].offset, 8);
    assert_int_equal(unit.rows[f[1].first_row + 1].line, 2);
    code_unit_free(&unit);
}

static void cuts_rows_without_function_where_moves_end(void **state)
{
    (void)state;
    static const struct code_function functions[] = {
        {.lo = 0, .hi = 0x30, .row_count = 3, .flags = CODE_FUNCTION_LINES_ONLY}};
    static const struct code_row rows[] = {{0, 0, 0, 1}, {0x8, 0, 0, 2}, {0x20, 0, 0, 3}};
    static const struct code_move moves[] = {{0x4, 0x10, 0x100}, {0x18, 0x40, 0x200}};
    struct code_unit unit;
    fill(&unit, functions, 1, rows, 3);
    assert_int_equal(code_move(&unit, moves, 2), FW_OK);
    assert_int_equal(unit.function_count, 2);
    const struct code_function *f = unit.functions;
    assert_int_equal(f[0].lo, 0x100);
    assert_int_equal(f[0].hi, 0x10c);
    assert_int_equal(f[0].row_count, 2);
    assert_int_equal(unit.rows[f[0].first_row].line, 1); /* the row that held at the cut */
    assert_int_equal(unit.rows[f[0].first_row + 1].offset, 4);
    assert_int_equal(f[1].lo, 0x200);
    assert_int_equal(f[1].hi, 0x218);
    assert_int_equal(f[1].row_count, 2);
    assert_int_equal(unit.rows[f[1].first_row].offset, 0);
    assert_int_equal(unit.rows[f[1].first_row].line, 2);
    assert_int_equal(unit.rows[f[1].first_row + 1].offset, 8);
    assert_int_equal(unit.rows[f[1].first_row + 1].line, 3);
    code_unit_free(&unit);
}

static void moves_calls_with_their_functions(void **state)
{
    (void)state;
    static const struct code_function functions[] = {{.lo = 0x10,
                                                      .hi = 0x20,
                                                      .entry = 0x10,
                                                      .row_count = 1,
                                                      .call_count = 3,
                                                      .flags = CODE_FUNCTION_ALL_TAIL_CALLS}};
    static const struct code_row rows[] = {{0, 0, 0, 1}};
    static const struct code_move moves[] = {{0x10, 0x20, 0x500}};
    struct code_call calls[] = {{0x20, 1, false}, {0x30, 2, false}, {0x1c, 3, true}};
    struct code_unit unit;
    fill(&unit, functions, 1, rows, 1);
    unit.calls = calls;
    unit.call_count = 3;
    assert_int_equal(code_move(&unit, moves, 1), FW_OK);
    assert_int_equal(unit.functions[0].call_count, 2);
    assert_int_equal(calls[0].pc, 0x510); /* returns behind the function's end */
    assert_int_equal(calls[1].pc, 0x50c);
    assert_int_equal(calls[1].subject, 3);
    assert_false(unit.functions[0].flags & CODE_FUNCTION_ALL_TAIL_CALLS);
    code_unit_free(&unit);
}

/* ---- whole programs: three object files, of which one is in an archive ---- */

struct program {
    struct object *object;
    struct debug_files *files;
    struct convert_report report;
    uint8_t *bytes;
    struct symmap *map;
};

static void link_program(const char *arch)
{
    fixture_need("clang-19 ld64.lld-19 llvm-ar-19");
    fixture_text("main.c", "int middle(int x);\n"
                           "static inline int twice(int x)\n"
                           "{\n"
                           "    return middle(x) * 2;\n"
                           "}\n"
                           "__attribute__((noinline)) static int same_name(int x)\n"
                           "{\n"
                           "    return middle(x) + 40;\n"
                           "}\n"
                           "int unused(int x) { return x * 3; }\n"
                           "int entry(int x)\n"
                           "{\n"
                           "    return twice(x) + same_name(x);\n"
                           "}\n");
    fixture_text("middle.c", "int last(int x);\n"
                             "__attribute__((noinline)) static int same_name(int x)\n"
                             "{\n"
                             "    return last(x) - 7;\n"
                             "}\n"
                             "int middle(int x)\n"
                             "{\n"
                             "    return same_name(x) ^ 5;\n"
                             "}\n");
    fixture_text("last.c", "int last(int x)\n"
                           "{\n"
                           "    return x << 3;\n"
                           "}\n");
    fixture_run("rm -rf objects program lib.a *.o && mkdir objects &&"
                "for f in main middle last; do clang-19 -target %s-apple-macos12 -g -O1 -c $f.c "
                "-o $f.o; done && llvm-ar-19 rcU --format=darwin lib.a last.o && rm last.o &&"
                "ld64.lld-19 -arch %s -dylib -platform_version macos 12 12 -dead_strip "
                "-exported_symbol _entry main.o middle.o lib.a -o program",
                arch, arch);
}

static void convert_program(struct program *p, const char *folder)
{
    char path[512], folder_path[512];
    const char *folders[] = {folder ? folder_path : NULL, NULL};
    snprintf(path, sizeof path, "%s", fixture_path("program"));
    if (folder)
        snprintf(folder_path, sizeof folder_path, "%s", fixture_path(folder));
    *p = (struct program){.object = fixture_open("program")};
    const struct debug_find_options find = {.folders = folders};
    struct fw_failure why = {0};
    size_t size;
    assert_int_equal(debug_files_find(p->object, path, &find, &p->files, &why), FW_OK);
    const struct convert_options options = {.threads = 2,
                                            .calls = true,
                                            .open_part = p->files->parts ? debug_files_part : NULL,
                                            .part_context = p->files};
    if (symmap_convert(p->object, NULL, NULL, &options, &p->bytes, &size, &p->report, &why) !=
        FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(
        symmap_open_bytes((struct span){p->bytes, size}, false, "program", &p->map, &why), FW_OK);
}

static void close_program(struct program *p)
{
    symmap_close(p->map);
    free(p->bytes);
    debug_files_close(p->files);
    object_close(p->object);
}

struct named {
    const char *name;
    uint64_t vaddr;
    unsigned skip;
};

static bool find_named(void *context, const struct object_symbol *symbol)
{
    struct named *named = context;
    if (strcmp(symbol->name, named->name) == 0 && named->skip-- == 0)
        named->vaddr = symbol->vaddr;
    return true;
}

/* The frames at the function's first instruction. */
static size_t frames_of(const struct program *p, const char *name, unsigned skip,
                        struct symmap_frame frames[8])
{
    struct named named = {.name = name, .vaddr = UINT64_MAX, .skip = skip};
    object_symbols(p->object, false, find_named, &named);
    assert_int_not_equal(named.vaddr, UINT64_MAX);
    size_t count;
    assert_int_equal(symmap_lookup(p->map, named.vaddr - object_base(p->object), frames, 8, &count),
                     FW_OK);
    return count;
}

static bool see_row(void *context, const struct symmap_row *row)
{
    bool *inlined = context;
    for (size_t i = 0; i + 1 < row->frame_count; i++)
        *inlined |= strcmp(row->frames[i].name, "twice") == 0 && row->frames[i].line == 4 &&
                    strcmp(row->frames[i + 1].name, "entry") == 0 && row->frames[i + 1].line == 13;
    for (size_t i = 0; i < row->frame_count; i++)
        assert_string_not_equal(row->frames[i].name ? row->frames[i].name : "", "unused");
    return true;
}

static void answers_through_the_debug_map(void **state)
{
    (void)state;
    static const char *const archs[] = {"arm64", "x86_64"};
    for (size_t i = 0; i < 2; i++) {
        link_program(archs[i]);
        struct program p;
        convert_program(&p, NULL);
        assert_true(p.files->parts);
        assert_int_equal(p.report.parts, 3);
        assert_int_equal(p.report.parts_missing, 0);
        struct symmap_frame frames[8];
        assert_int_equal(frames_of(&p, "entry", 0, frames), 1);
        assert_int_equal(frames[0].line, 12);
        assert_int_equal(frames_of(&p, "last", 0, frames), 1);
        assert_in_range(frames[0].line, 2, 3); /* it may have no prologue */
        assert_string_equal(frames[0].file, "last.c");
        /* Local functions of one name, in two files. */
        frames_of(&p, "same_name", 0, frames);
        const char *first = frames[0].file;
        frames_of(&p, "same_name", 1, frames);
        assert_string_not_equal(first, frames[0].file);
        bool inlined = false;
        assert_int_equal(symmap_each_row(p.map, see_row, &inlined), FW_OK);
        assert_true(inlined);
        assert_non_null(strstr(symmap_identity(p.map)->producer, "clang"));
        assert_int_equal(symmap_identity(p.map)->id_kind, SYMMAP_ID_UUID);
        close_program(&p);
    }
}

static void says_which_object_files_are_missing(void **state)
{
    (void)state;
    link_program("arm64");
    /* Where the linker found it, there is none any more; beneath a folder there is. */
    fixture_run("mv middle.o objects/ && rm lib.a");
    struct program p;
    convert_program(&p, NULL);
    assert_int_equal(p.report.parts_missing, 2);
    struct symmap_frame frames[8];
    frames_of(&p, "middle", 0, frames);
    assert_string_equal(frames[0].name, "middle"); /* its symbol still serves */
    assert_null(frames[0].file);
    char *story = debug_files_story(p.files);
    assert_non_null(strstr(story, "middle.o"));
    assert_non_null(strstr(story, "lib.a(last.o)"));
    free(story);
    close_program(&p);
    convert_program(&p, "objects");
    assert_int_equal(p.report.parts_missing, 1);
    frames_of(&p, "middle", 0, frames);
    assert_int_equal(frames[0].line, 7);
    close_program(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_functions_and_drops_the_rest),
        cmocka_unit_test(cuts_rows_without_function_where_moves_end),
        cmocka_unit_test(moves_calls_with_their_functions),
        cmocka_unit_test(answers_through_the_debug_map),
        cmocka_unit_test(says_which_object_files_are_missing),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
