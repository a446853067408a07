/* What the writer decides, case by case: who owns an address, what a function is called, which
 * calls are kept; and the worked example of docs/symbol-map.md, byte by byte. */
#include "symmap/symmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One unit whose functions are called f0, f1, ... (linkage names) with one row each, line 10 + i.
 */
enum { MOST = 8, BASE = 0x1000 };
struct fixture {
    struct code_unit unit;
    struct code_function functions[MOST];
    struct code_row rows[MOST];
    struct code_subject subjects[MOST];
    struct code_file file;
    struct code_call calls[MOST];
    struct symmap_source source;
    struct symmap *map;
    uint8_t *bytes;
};

static const char *const names[MOST] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"};

static void add(struct fixture *f, uint64_t lo, uint64_t hi, uint8_t flags)
{
    uint32_t i = (uint32_t)f->unit.function_count++;
    f->functions[i] = (struct code_function){.lo = BASE + lo,
                                             .hi = BASE + hi,
                                             .entry = BASE + lo,
                                             .die = i,
                                             .subject = i,
                                             .first_row = i,
                                             .row_count = 1,
                                             .flags = flags};
    if (flags & CODE_FUNCTION_LINES_ONLY)
        f->functions[i].subject = CODE_NONE;
    f->rows[i] = (struct code_row){.line = 10 + i};
    f->subjects[i] = (struct code_subject){
        .name = names[i], .identity = 100 + i, .decl_line = 1, .linkage = true};
    f->unit.row_count = f->unit.subject_count = f->unit.function_count;
}

static void build(struct fixture *f, struct symmap_problems *problems)
{
    size_t size;
    f->file = (struct code_file){"/src", "", "a.c"};
    f->unit.functions = f->functions;
    f->unit.rows = f->rows;
    f->unit.subjects = f->subjects;
    f->unit.files = &f->file;
    f->unit.file_count = 1;
    f->unit.calls = f->calls;
    f->source.units = &f->unit;
    f->source.unit_count = 1;
    f->source.identity.base = BASE;
    assert_int_equal(symmap_build(&f->source, 1, &f->bytes, &size, problems, NULL), FW_OK);
    assert_int_equal(symmap_open_bytes((struct span){f->bytes, size}, false, "map", &f->map, NULL),
                     FW_OK);
}

static void done(struct fixture *f)
{
    symmap_close(f->map);
    free(f->bytes);
}

/* "name:line" of the outer frame, "-" when nothing is known. */
static const char *at(const struct fixture *f, uint64_t offset)
{
    static char text[8][64];
    static unsigned turn;
    struct symmap_frame frames[4];
    size_t count;
    if (symmap_lookup(f->map, offset, frames, 4, &count) != FW_OK)
        return "-";
    char *to = text[turn++ % 8];
    snprintf(to, sizeof text[0], "%s:%u", frames[count - 1].name ? frames[count - 1].name : "?",
             frames[count - 1].line);
    return to;
}

static void test_inner_function_wins_its_part(void **state)
{
    (void)state;
    struct fixture f = {0};
    add(&f, 0, 100, 0);
    add(&f, 40, 60, 0);
    build(&f, NULL);
    assert_string_equal(at(&f, 39), "f0:10");
    assert_string_equal(at(&f, 40), "f1:11");
    assert_string_equal(at(&f, 59), "f1:11");
    assert_string_equal(at(&f, 60), "f0:10");
    assert_string_equal(at(&f, 100), "-");
    struct symmap_frame frame;
    size_t count;
    symmap_lookup(f.map, 70, &frame, 1, &count);
    assert_int_equal(frame.start, 0); /* the whole range, on both sides of the inner one */
    assert_int_equal(frame.size, 100);
    done(&f);
}

static void test_later_of_overlapping_keeps_its_rest(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct symmap_problems problems;
    add(&f, 0, 100, 0);
    add(&f, 50, 150, 0);
    build(&f, &problems);
    assert_string_equal(at(&f, 99), "f0:10");
    assert_string_equal(at(&f, 100), "f1:11");
    assert_string_equal(at(&f, 149), "f1:11");
    assert_int_equal(problems.overlaps, 1);
    done(&f);
}

/* A linker keeps the first copy of a function: what other units say of it, even if it is more, may
 * not be true. */
static void test_first_with_lines_of_equal_ranges(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct symmap_problems problems;
    add(&f, 0, 10, 0);
    add(&f, 0, 10, 0);
    add(&f, 0, 10, 0);
    f.rows[0].file = CODE_NONE;   /* f0 has no lines */
    f.functions[2].first_row = 1; /* f2 has most: the rows of f1 and f2 */
    f.functions[2].row_count = 2;
    f.rows[2].offset = 5;
    build(&f, &problems);
    assert_string_equal(at(&f, 0), "f1:11");
    assert_string_equal(at(&f, 5), "f1:11");
    assert_int_equal(problems.duplicates, 2);
    assert_int_equal(symmap_alias_count(f.map, 0), 2);
    assert_string_equal(symmap_alias(f.map, 0, 0), "f0");
    assert_string_equal(symmap_alias(f.map, 0, 1), "f2");
    assert_null(symmap_alias(f.map, 0, 2));
    done(&f);
}

static void test_lines_fill_what_nobody_covers(void **state)
{
    (void)state;
    struct fixture f = {0};
    const struct symmap_symbol symbol = {BASE + 50, BASE + 90, "start", 0, NULL};
    add(&f, 0, 100, CODE_FUNCTION_LINES_ONLY);
    add(&f, 20, 40, 0);
    f.source.symbols = &symbol;
    f.source.symbol_count = 1;
    build(&f, NULL);
    assert_string_equal(at(&f, 0), "?:10");
    assert_string_equal(at(&f, 20), "f1:11");
    assert_string_equal(at(&f, 40), "?:10");
    assert_string_equal(at(&f, 50), "start:10"); /* the symbol's name with the lines */
    assert_string_equal(at(&f, 90), "?:10");
    done(&f);
}

static void test_symbols_name_functions(void **state)
{
    (void)state;
    struct fixture f = {0};
    const struct symmap_symbol symbols[] = {
        {BASE, BASE + 30, "second", 0, NULL},
        {BASE, BASE + 30, "first", 0, NULL}, /* the last longest */
        {BASE, BASE + 15, "third", 0, NULL},
        {BASE + 60, BASE + 64, NULL, 0, NULL}};
    add(&f, 0, 20, 0);
    f.subjects[0].linkage = false;
    f.source.symbols = symbols;
    f.source.symbol_count = 4;
    build(&f, NULL);
    struct symmap_frame frame;
    size_t count;
    assert_int_equal(symmap_lookup(f.map, 3, &frame, 1, &count), FW_OK);
    assert_string_equal(frame.name, "first");
    assert_string_equal(frame.source_name, "f0");
    assert_int_equal(frame.size, 20);
    assert_int_equal(symmap_alias_count(f.map, frame.function), 2);
    assert_string_equal(symmap_alias(f.map, frame.function, 0), "second");
    assert_string_equal(symmap_alias(f.map, frame.function, 1), "third");
    assert_int_equal(symmap_lookup(f.map, 25, &frame, 1, &count), FW_OK); /* longer than the DIE */
    assert_string_equal(frame.name, "first");
    assert_int_equal(frame.flags, SYMMAP_FRAME_FROM_SYMBOL);
    assert_int_equal(frame.size, 30);
    assert_int_equal(symmap_lookup(f.map, 60, &frame, 1, &count), FW_OK);
    assert_null(frame.name);
    assert_int_equal(frame.flags, SYMMAP_FRAME_SYNTHESIZED);
    done(&f);
}

/* A symbol's file stands where no row has one, with line 0. */
static void test_files_of_symbols(void **state)
{
    (void)state;
    struct fixture f = {0};
    const struct symmap_symbol symbols[] = {{BASE, BASE + 20, "mixed", 0, "mixed.c"},
                                            {BASE + 40, BASE + 60, "alone", 0, "alone.c"},
                                            {BASE + 80, BASE + 90, "lined", 0, "other.c"},
                                            {BASE + 90, BASE + 99, "plain", 0, NULL}};
    add(&f, 0, 10, 0);
    add(&f, 80, 90, 0);
    f.source.symbols = symbols;
    f.source.symbol_count = 4;
    build(&f, NULL);
    const struct {
        uint64_t offset;
        const char *file;
        uint32_t line;
    } expected[] = {
        {5, "a.c", 10}, {15, "mixed.c", 0}, {45, "alone.c", 0}, {85, "a.c", 11}, {95, NULL, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct symmap_frame frame;
        size_t count;
        assert_int_equal(symmap_lookup(f.map, expected[i].offset, &frame, 1, &count), FW_OK);
        if (expected[i].file)
            assert_string_equal(frame.file, expected[i].file);
        else
            assert_null(frame.file);
        assert_int_equal(frame.line, expected[i].line);
    }
    done(&f);
}

static bool keep_call(void *context, uint64_t offset, uint32_t target)
{
    uint64_t **to = context;
    *(*to)++ = offset << 32 | target;
    return true;
}

/* f0 calls f1, which jumps to f2 or to somewhere else; f0 also calls f2, f3 and a pointer. */
static void test_calls(void **state)
{
    (void)state;
    struct fixture f = {0};
    for (uint64_t i = 0; i < 4; i++)
        add(&f, i * 100, i * 100 + 50, 0);
    add(&f, 400, 450, CODE_FUNCTION_PART); /* of f1 */
    f.functions[4].die = 1;
    f.functions[4].subject = 1;
    f.subjects[5] = (struct code_subject){.name = "f1", .linkage = true, .identity = 999};
    f.subjects[6] = (struct code_subject){.name = "elsewhere", .linkage = true, .identity = 998};
    f.unit.subject_count = 7;
    const struct code_call calls[] = {
        {BASE + 10, 1, false},         {BASE + 20, 2, false},
        {BASE + 30, CODE_NONE, false}, {BASE + 40, 5, false},
        {BASE + 45, 6, false},         {BASE + 130, 2, true},
        {BASE + 140, 6, true},         {BASE + 410, (uint32_t)CODE_NONE, true}};
    memcpy(f.calls, calls, sizeof calls);
    f.unit.call_count = 8;
    f.functions[0].call_count = 5;
    f.functions[1].first_call = 5;
    f.functions[1].call_count = 3;
    f.functions[1].flags = CODE_FUNCTION_ALL_TAIL_CALLS;
    build(&f, NULL);
    uint32_t target;
    assert_int_equal(symmap_call_at(f.map, 10, &target), FW_OK);
    assert_int_equal(target, 1);
    assert_int_equal(symmap_call_at(f.map, 20, &target),
                     FW_ERR_NOT_FOUND); /* no tail calls there */
    assert_int_equal(symmap_call_at(f.map, 30, &target), FW_ERR_NOT_FOUND); /* indirect */
    assert_int_equal(symmap_call_at(f.map, 40, &target), FW_OK); /* by its linkage name */
    assert_int_equal(target, 1);
    assert_int_equal(symmap_call_at(f.map, 45, &target), FW_ERR_NOT_FOUND);
    struct symmap_function function;
    assert_true(symmap_function(f.map, 1, &function));
    assert_true(function.has_tail_calls && function.all_tail_calls);
    assert_true(symmap_function(f.map, 0, &function));
    assert_false(function.has_tail_calls || function.all_tail_calls);
    assert_true(symmap_function(f.map, 4, &function));
    assert_int_equal(function.whole, 1);
    assert_int_equal(function.flags, SYMMAP_FRAME_PART);
    assert_false(symmap_function(f.map, 5, &function));
    uint64_t seen[4], *to = seen;
    assert_int_equal(symmap_tail_calls(f.map, 1, keep_call, &to), FW_OK);
    assert_int_equal(to - seen, 3);
    assert_true(seen[0] == (UINT64_C(130) << 32 | 2));
    assert_true(seen[1] == (UINT64_C(140) << 32 | (uint32_t)SYMMAP_CALL_ELSEWHERE));
    assert_true(seen[2] == (UINT64_C(410) << 32 | (uint32_t)SYMMAP_CALL_INDIRECT));
    done(&f);
}

static void test_addresses_too_far(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct symmap_problems problems;
    add(&f, 0, 10, 0);
    add(&f, UINT64_C(0x200000000), UINT64_C(0x200000010), 0);
    build(&f, &problems);
    assert_int_equal(problems.too_far, 1);
    assert_int_equal(symmap_function_count(f.map), 1);
    done(&f);
}

static void test_empty_map(void **state)
{
    (void)state;
    struct fixture f = {0};
    build(&f, NULL);
    assert_string_equal(at(&f, 0), "-");
    assert_int_equal(symmap_function_count(f.map), 0);
    assert_int_equal(symmap_alias_count(f.map, 0), 0);
    done(&f);
}

/* Two hundred calls deep is kept whole; deeper than the limit stays at the limit. */
static void test_depth(void **state)
{
    (void)state;
    enum { DEEP = 700, LIMIT = 512 };
    struct fixture f = {0};
    struct code_context contexts[DEEP];
    add(&f, 0, 20, 0);
    for (uint32_t i = 0; i < DEEP; i++)
        contexts[i] = (struct code_context){.parent = i, .call_line = i, .call_file = CODE_NONE};
    f.unit.contexts = contexts;
    f.unit.context_count = f.functions[0].context_count = DEEP;
    f.functions[0].row_count = 2;
    f.rows[0].context = 200;
    f.rows[1] = (struct code_row){.offset = 10, .context = DEEP, .line = 7};
    f.unit.row_count = 2;
    build(&f, NULL);
    struct symmap_frame frames[4];
    size_t count;
    assert_int_equal(symmap_lookup(f.map, 5, frames, 4, &count), FW_OK);
    assert_int_equal(count, 201);
    assert_int_equal(frames[1].line, 199);
    assert_int_equal(symmap_lookup(f.map, 15, frames, 4, &count), FW_OK);
    assert_int_equal(count, LIMIT + 1);
    done(&f);
}

/* The example of the documentation: main at 0x40 with max inlined in its middle. */
static struct symmap_source example(void)
{
    static struct code_file files[] = {{"/src", "", "main.c"}, {"/src", "", "max.h"}};
    static struct code_subject subjects[] = {
        {.name = "main", .decl_file = 0, .decl_line = 10, .identity = 1},
        {.name = "_Z3maxii", .decl_file = 1, .decl_line = 3, .identity = 2, .linkage = true}};
    static struct code_context contexts[] = {{.subject = 1, .call_file = 0, .call_line = 12}};
    static struct code_row rows[] = {{0, 0, 0, 11}, {4, 1, 1, 4}, {16, 1, 1, 5}, {20, 0, 0, 13}};
    static struct code_function functions[] = {
        {.lo = 0x1040, .hi = 0x1060, .entry = 0x1040, .context_count = 1, .row_count = 4}};
    static struct code_unit unit = {.functions = functions,
                                    .function_count = 1,
                                    .contexts = contexts,
                                    .context_count = 1,
                                    .rows = rows,
                                    .row_count = 4,
                                    .subjects = subjects,
                                    .subject_count = 2,
                                    .files = files,
                                    .file_count = 2};
    return (struct symmap_source){.identity = {.id = {0xab, 0xcd},
                                               .id_size = 2,
                                               .id_kind = SYMMAP_ID_BUILD_ID,
                                               .arch = "x86_64",
                                               .base = 0x1000,
                                               .object = "example"},
                                  .units = &unit,
                                  .unit_count = 1};
}

/* Bytes of the lines "0040  12 34 ..." of the document, from its first such line on. */
static size_t read_hexdump(const char *path, uint8_t *bytes, size_t capacity)
{
    FILE *file = fopen(path, "r");
    char line[256];
    size_t size = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        unsigned place, byte;
        int used;
        if (sscanf(line, "    %4x  %n", &place, &used) != 1 || used != 10 || place != size)
            continue;
        for (const char *p = line + used; sscanf(p, "%2x%n", &byte, &used) == 1; p += used) {
            assert_true(size < capacity);
            bytes[size++] = (uint8_t)byte;
        }
    }
    fclose(file);
    return size;
}

static void test_worked_example(void **state)
{
    (void)state;
    struct symmap_source source = example();
    uint8_t *bytes, wanted[2048];
    size_t size;
    assert_int_equal(symmap_build(&source, 1, &bytes, &size, NULL, NULL), FW_OK);
    size_t wanted_size = read_hexdump(FW_SYMBOL_MAP_DOC, wanted, sizeof wanted);
    bool same = size == wanted_size && memcmp(bytes, wanted, size) == 0;
    for (size_t i = 0; !same && i < size; i++) { /* what the document should say */
        if (i % 16 == 0)
            printf("\n%04zx ", i);
        printf(" %02x", bytes[i]);
    }
    free(bytes);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inner_function_wins_its_part),
        cmocka_unit_test(test_later_of_overlapping_keeps_its_rest),
        cmocka_unit_test(test_first_with_lines_of_equal_ranges),
        cmocka_unit_test(test_lines_fill_what_nobody_covers),
        cmocka_unit_test(test_symbols_name_functions),
        cmocka_unit_test(test_files_of_symbols),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_addresses_too_far),
        cmocka_unit_test(test_empty_map),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_worked_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
