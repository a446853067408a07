/* The small pieces of the tool: UTF-8, cleaning of foreign text, guesses, common names. */
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/fold.h"
#include "cli/style.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe1\x83\xa1", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\x80", 0},
        {"\xc0\xaf", 0},
        {"\xc3", 0},
        {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xf0\x80\x80\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xe1\x83", 0},
        {"\xc3z", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(utf8_length(cases[i].text), cases[i].length);
    char fixed[32];
    utf8_repair("a\xff\xc3\xa9\xe1\x83", fixed, sizeof(fixed));
    assert_string_equal(fixed, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
    utf8_repair("\xff\xff\xff", fixed, 8); /* a character is not cut in two */
    assert_string_equal(fixed, "\xef\xbf\xbd\xef\xbf\xbd");
}

static void expect_clean(const char *text, const char *wanted, size_t columns)
{
    char clean[64];
    assert_int_equal(style_clean(text, clean, sizeof(clean)), columns);
    assert_string_equal(clean, wanted);
}

static void test_nothing_acts_on_the_terminal(void **state)
{
    (void)state;
    expect_clean("worker", "worker", 6);
    expect_clean("\033[2Jx", "\\x1b[2Jx", 8);
    expect_clean("a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f", 15);
    expect_clean("\xc2\x9b"
                 "31m",
                 "\\xc2\\x9b31m", 11);                   /* C1: also a control sequence */
    expect_clean("\xe2\x80\xae", "\\xe2\\x80\\xae", 12); /* right to left */
    expect_clean("caf\xc3\xa9 \xff", "caf\xc3\xa9 \\xff", 9);
    char tiny[6];
    style_clean("ab\033c", tiny, sizeof(tiny)); /* an escape is not cut in two */
    assert_string_equal(tiny, "ab");
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"dump", "help", "symbolicate", NULL};
    assert_string_equal(cli_nearest("dmup", names), "dump");
    assert_string_equal(cli_nearest("dumps", names), "dump");
    assert_string_equal(cli_nearest("hepl", names), "help");
    assert_string_equal(cli_nearest("symbolize", names), "symbolicate");
    assert_null(cli_nearest("run", names));
    assert_null(cli_nearest("", names));
    assert_null(cli_nearest("a-word-much-longer-than-any-command-there-is", names));
}

static void expect_name(const char *a, const char *b, const char *wanted)
{
    const struct dump_thread threads[2] = {{.name = a}, {.name = b}};
    const struct dump_thread *order[2] = {&threads[0], &threads[1]};
    char name[64];
    fold_name(&(struct fold_group){.threads = order, .count = 2}, name, sizeof(name));
    assert_string_equal(name, wanted);
}

static void test_group_names(void **state)
{
    (void)state;
    expect_name("worker", "worker", "worker");
    expect_name("worker1", "worker1", "worker1");
    expect_name("worker-1", "worker-12", "worker-*");
    expect_name("io", "net", "");
    expect_name("", "net", "");
    expect_name("caf\xc3\xa9", "caf\xc3\xa8", "caf*"); /* half a character in common */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_nothing_acts_on_the_terminal),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_group_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
