/* report/perf_map.c: lines as V8, CPython and others write them, and what is none. */
#include "report/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void line_gives(const char *from, const char *function, const char *file, uint32_t number)
{
    char text[256];
    struct perf_line line;
    struct perf_name name;
    strcpy(text, from);
    assert_true(perf_map_line(text, &line));
    assert_int_equal(line.start, 0x7f00);
    assert_int_equal(line.size, 0x1c);
    perf_map_name(line.name, &name);
    assert_string_equal(name.function, function);
    if (file)
        assert_string_equal(name.file, file);
    else
        assert_null(name.file);
    assert_int_equal(name.line, number);
}

static void test_names(void **state)
{
    (void)state;
    line_gives("7f00 1c JS:~work /srv/app.js:12:5\n", "work", "/srv/app.js", 12);
    line_gives("7f00 1c LazyCompile:*work /srv/app.js:12\n", "work", "/srv/app.js", 12);
    line_gives("7f00 1c JS:*get size /srv/my app.js:3:14", "get size", "/srv/my app.js", 3);
    line_gives("7f00 1c JS:^ file:///srv/main.mjs:1:1", "(anonymous)", "/srv/main.mjs", 1);
    line_gives("7f00 1c LazyCompile:+listOnTimeout node:internal/timers:508:25", "listOnTimeout",
               "node:internal/timers", 508);
    line_gives("7f00 1c JS:~eval", "eval", NULL, 0);
    line_gives("7f00 1c JS:~odd [eval]:x", "odd", "[eval]:x", 0);
    line_gives("7f00 1c py::handle:/srv/app.py", "handle", "/srv/app.py", 0);
    line_gives("7f00 1c Ljava/lang/String;::hashCode", "Ljava/lang/String;::hashCode", NULL, 0);
}

static void test_no_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",       "7f00",     "7f00 ",          "7f00 1c",
        "x 1c a", "7f00 x a", "7f00 0 nothing", "ffffffffffffffff 2 over"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        struct perf_line line;
        strcpy(text, texts[i]);
        assert_false(perf_map_line(text, &line));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
