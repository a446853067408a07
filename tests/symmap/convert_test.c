/*
 * The conversion of a real program: the same bytes whatever the number of threads, the same answers
 * from a map of a few addresses as from the whole one, and what a broken unit takes with it.
 */
#include "object/codecs.h"
#include "object/fixture.h"
#include "symmap/convert.h"
#include "symmap/programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 64 };

struct converted {
    uint8_t *bytes;
    size_t size;
    struct symmap *map;
    struct convert_report report;
};

static void convert(struct object *object, const uint64_t *only, size_t count, unsigned threads,
                    struct converted *c)
{
    struct convert_options options = {
        .threads = threads, .columns = true, .calls = true, .only = only, .only_count = count};
    struct fw_failure why = {0};
    if (symmap_convert(object, NULL, NULL, &options, &c->bytes, &c->size, &c->report, &why) !=
        FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(
        symmap_open_bytes((struct span){c->bytes, c->size}, false, "map", &c->map, &why), FW_OK);
}

static void discard(struct converted *c)
{
    symmap_close(c->map);
    free(c->bytes);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void expect_same_answer(const struct symmap *is, const struct symmap *wanted, uint64_t at)
{
    struct symmap_frame a[FRAMES], b[FRAMES];
    size_t n, m;
    fw_error error = symmap_lookup(is, at, a, FRAMES, &n);
    if (error != symmap_lookup(wanted, at, b, FRAMES, &m) || n != m)
        fail_msg("at 0x%" PRIx64 ": %zu frames, not %zu", at, n, m);
    for (size_t i = 0; i < n; i++)
        if (!same_text(a[i].name, b[i].name) || !same_text(a[i].source_name, b[i].source_name) ||
            !same_text(a[i].directory, b[i].directory) || !same_text(a[i].file, b[i].file) ||
            a[i].line != b[i].line || a[i].column != b[i].column || a[i].start != b[i].start ||
            a[i].size != b[i].size || a[i].flags != b[i].flags)
            fail_msg("at 0x%" PRIx64 " frame %zu: %s %s:%u, not %s %s:%u", at, i, a[i].name,
                     a[i].file, a[i].line, b[i].name, b[i].file, b[i].line);
}

/* Offsets of the starts, middles and last bytes of all functions, and one behind each. */
static uint64_t *places(const struct symmap *map, size_t *count)
{
    size_t functions = symmap_function_count(map);
    uint64_t *list = malloc((functions * 4 + 1) * sizeof *list);
    assert_non_null(list);
    *count = 0;
    for (size_t i = 0; i < functions; i++) {
        struct symmap_function f;
        assert_true(symmap_function(map, (uint32_t)i, &f));
        list[(*count)++] = f.start;
        list[(*count)++] = f.start + f.size / 2;
        list[(*count)++] = f.start + f.size - 1;
        list[(*count)++] = f.start + f.size;
    }
    return list;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void make_program(const char *flags)
{
    fixture_need("gcc g++");
    fixture_text("part.c", part_source);
    fixture_text("main.c", main_source);
    fixture_text("items.cc", items_source);
    fixture_run("for p in a b c d; do gcc %s -DPART=$p -c part.c -o part_$p.o || exit 1; done\n"
                "gcc %s -c main.c && g++ %s -c items.cc && g++ part_?.o main.o items.o -o program",
                flags, flags, flags);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    make_program("-g -O2");
    struct object *object = fixture_open("program");
    struct converted one, more;
    convert(object, NULL, 0, 1, &one);
    assert_int_equal(one.report.units, 6);
    assert_true(one.report.rows > 500);
    for (unsigned threads = 2; threads <= 8; threads += threads == 2 ? 1 : 5) { /* 2, 3, 8 */
        convert(object, NULL, 0, threads, &more);
        assert_int_equal(more.size, one.size);
        assert_memory_equal(more.bytes, one.bytes, one.size);
        assert_memory_equal(&more.report, &one.report, sizeof one.report);
        discard(&more);
    }
    discard(&one);
    object_close(object);
}

static void a_few_addresses_get_the_same_answers(void **state)
{
    (void)state;
    static const char *const flags[] = {"-g -O2", "-g -O2 -gdwarf-4 -ffunction-sections",
                                        "-g -O0 -gdwarf-5"};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        make_program(flags[f]);
        struct object *object = fixture_open("program");
        struct converted whole, few;
        size_t count;
        convert(object, NULL, 0, 2, &whole);
        uint64_t *list = places(whole.map, &count), base = symmap_identity(whole.map)->base;
        assert_true(count > 100);
        for (size_t i = 0; i < count; i++) {
            uint64_t vaddr = list[i] + base;
            convert(object, &vaddr, 1, 1, &few);
            expect_same_answer(few.map, whole.map, list[i]);
            assert_true(few.report.units <= whole.report.units);
            discard(&few);
        }
        /* All at once. */
        uint64_t *all = malloc(count * sizeof *all);
        assert_non_null(all);
        for (size_t i = 0; i < count; i++)
            all[i] = list[i] + base;
        qsort(all, count, sizeof *all, by_value);
        convert(object, all, count, 3, &few);
        for (size_t i = 0; i < count; i++)
            expect_same_answer(few.map, whole.map, list[i]);
        discard(&few);
        free(all);
        free(list);
        discard(&whole);
        object_close(object);
    }
}

/* The bytes of the program with the first DIE of a unit made nonsense. */
static uint8_t *break_unit(struct object *object, size_t unit, size_t *size)
{
    struct dwarf *dwarf;
    assert_int_equal(dwarf_open(object, NULL, &dwarf, NULL), FW_OK);
    assert_true(unit < dwarf_unit_count(dwarf));
    uint64_t offset = dwarf_unit_header(dwarf, unit)->offset;
    dwarf_close(dwarf);
    struct object_section section = {0};
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        if (strcmp(section.name, ".debug_info") == 0)
            break;
    assert_string_equal(section.name, ".debug_info");
    uint8_t *bytes = fixture_read("program", size);
    memset(bytes + section.offset + offset + 12, 0x7f, 40); /* behind a header of 12 bytes */
    return bytes;
}

static uint64_t problems_of(const struct convert_report *report)
{
    uint64_t count = 0;
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        count += report->dwarf.count[i];
    return count;
}

static void a_broken_unit_takes_nothing_with_it(void **state)
{
    (void)state;
    make_program("-g -O2 -gdwarf-5");
    struct object *object = fixture_open("program");
    uint64_t good = fixture_nm("", "program", "outer_a");
    uint64_t bad = fixture_nm("", "program", "outer_b");
    struct converted whole, broken;
    convert(object, NULL, 0, 2, &whole);
    size_t size;
    uint8_t *bytes = break_unit(object, 1, &size); /* part_b.o is linked second */
    struct object *damaged;
    assert_int_equal(object_open_bytes(bytes, size, false, "damaged", &damaged, NULL), FW_OK);
    convert(damaged, NULL, 0, 2, &broken);
    assert_int_equal(problems_of(&whole.report), 0);
    assert_int_equal(problems_of(&broken.report), 1);
    assert_int_equal(broken.report.units, whole.report.units);
    assert_true(broken.report.functions < whole.report.functions);

    uint64_t base = symmap_identity(whole.map)->base;
    struct symmap_frame frame;
    size_t count;
    assert_int_equal(symmap_lookup(broken.map, bad - base, &frame, 1, &count), FW_OK);
    assert_string_equal(frame.name, "outer_b"); /* from the symbol table alone */
    assert_true(frame.flags & SYMMAP_FRAME_FROM_SYMBOL);
    assert_int_equal(frame.line, 0);
    assert_int_equal(symmap_lookup(broken.map, good - base, &frame, 1, &count), FW_OK);
    assert_int_not_equal(frame.line, 0);
    size_t same = 0, places_count; /* what nobody names is the padding behind functions */
    uint64_t *list = places(whole.map, &places_count);
    for (size_t i = 0; i < places_count; i++) {
        size_t n;
        struct symmap_frame frames[FRAMES];
        if (symmap_lookup(whole.map, list[i], frames, FRAMES, &n) == FW_OK && n &&
            (!frames[n - 1].name || strstr(frames[n - 1].name, "_b")))
            continue;
        expect_same_answer(broken.map, whole.map, list[i]);
        same++;
    }
    assert_true(same > 100);
    free(list);
    discard(&whole);
    discard(&broken);
    object_close(damaged);
    object_close(object);
    free(bytes);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(a_few_addresses_get_the_same_answers),
        cmocka_unit_test(a_broken_unit_takes_nothing_with_it),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
