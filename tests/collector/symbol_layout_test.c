/* Paths of symbol servers: those of the formats' own examples, and what must not be taken. */
#include "collector/symbol_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define UUID "cf441af5bb7e35678d44451d69214d92"

struct known {
    const char *path, *id;
    enum symbol_wanted wanted;
    bool breakpad;
};

static void test_known(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"cf/441af5bb7e35678d44451d69214d92/debuginfo", UUID, SYMBOL_DEBUGINFO, false},
        {"cf/441af5bb7e35678d44451d69214d92/executable", UUID, SYMBOL_EXECUTABLE, false},
        {"cf/441af5bb7e35678d44451d69214d92/breakpad", UUID, SYMBOL_BREAKPAD, false},
        {"51/0d0a5c19", "510d0a5c19", SYMBOL_EXECUTABLE, false},
        {"51/0d0a5c19.debug", "510d0a5c19", SYMBOL_DEBUGINFO, false},
        {".build-id/51/0d0a5c19.debug", "510d0a5c19", SYMBOL_DEBUGINFO, false},
        {"_.dwarf/mach-uuid-sym-" UUID "/_.dwarf", UUID, SYMBOL_DEBUGINFO, false},
        {"main/mach-uuid-" UUID "/main", UUID, SYMBOL_EXECUTABLE, false},
        {"_.debug/elf-buildid-sym-510d0a5c19/_.debug", "510d0a5c19", SYMBOL_DEBUGINFO, false},
        {"libc.so.6/elf-buildid-510d0a5c19/libc.so.6", "510d0a5c19", SYMBOL_EXECUTABLE, false},
        {"li/libc.so.6/elf-buildid-510d0a5c19/libc.so.6", "510d0a5c19", SYMBOL_EXECUTABLE, false},
        {"_./_.debug/elf-buildid-sym-510d0a5c19/_.debug", "510d0a5c19", SYMBOL_DEBUGINFO, false},
        {"CF44/1AF5/BB7E/3567/8D44/451D69214D92", UUID, SYMBOL_DEBUGINFO, false},
        {"CF44/1AF5/BB7E/3567/8D44/451D69214D92.app", UUID, SYMBOL_EXECUTABLE, false},
        {"main/CF441AF5BB7E35678D44451D69214D920/main.sym", UUID, SYMBOL_BREAKPAD, true},
        {"main/CF441AF5BB7E35678D44451D69214D92a/main.sym", UUID, SYMBOL_BREAKPAD, true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct symbol_wish wish;
        char id[129] = "";
        if (!symbol_layout_read(known[i].path, &wish))
            fail_msg("%s is not understood", known[i].path);
        for (size_t k = 0; k < wish.id_size; k++)
            sprintf(id + 2 * k, "%02x", wish.id[k]);
        assert_string_equal(id, known[i].id);
        assert_int_equal(wish.wanted, known[i].wanted);
        assert_int_equal(wish.breakpad, known[i].breakpad);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "/",
        "ab",
        "ab/",
        "/ab/cdef",
        "ab/cdef/",
        "ab//cdef",
        "ab/cd/ef/gh/ij/kl/mn",
        "CF/441AF5BB7E35678D44451D69214D92/debuginfo", /* unified is lower case */
        "cf/441af5bb7e35678d44451d69214d9/debuginfo",  /* half a byte */
        "cf/441af5bb7e35678d44451d69214d92/sourcebundle",
        "cf/441af5bb7e3../debuginfo",
        "51/",
        "51/0d0a5c19.DEBUG",
        "51/.debug",
        "510d/0a5c19",
        "main/mach-uuid-CF441AF5BB7E35678D44451D69214D92/main",
        "main/mach-uuid-" UUID "/other",
        "main/mach-uuid-sym-" UUID "/main",
        "xx/main/mach-uuid-" UUID "/main",
        "main/elf-buildid-/main",
        "main/elf-buildid-5/main",
        "main/elf-buildid-51/main",
        "cf44/1af5/bb7e/3567/8d44/451d69214d92",
        "CF44/1AF5/BB7E/3567/8D44/451D69214D9",
        "CF44/1AF5/BB7E/3567/8D44451D/69214D92",
        "main/CF441AF5BB7E35678D44451D69214D92/main.sym",  /* no age */
        "main/CF441AF5BB7E35678D44451D69214D92A/main.sym", /* an age is lower case */
        "main/cf441af5bb7e35678d44451d69214d920/main.sym",
        "main/CF441AF5BB7E35678D44451D69214D920/main.pdb",
        "../../etc/passwd",
        "..",
        ".build-id",
    };
    struct symbol_wish wish;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (symbol_layout_read(refused[i], &wish))
            fail_msg("%s is taken", refused[i]);
    char longest[200];
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "ab/", 3);
    longest[3 + 126] = 0; /* 64 bytes, the most */
    assert_true(symbol_layout_read(longest, &wish));
    assert_int_equal(wish.id_size, 64);
    longest[3 + 126] = 'a';
    longest[3 + 128] = 0;
    assert_false(symbol_layout_read(longest, &wish));
}

static void test_ids(void **state)
{
    (void)state;
    uint8_t id[64];
    size_t size;
    assert_true(symbol_id_read("00ff", 4, id, &size));
    assert_int_equal(size, 2);
    assert_int_equal(id[1], 0xff);
    assert_false(symbol_id_read("00FF", 4, id, &size));
    assert_false(symbol_id_read("00", 2, id, &size));
    assert_false(symbol_id_read("", 0, id, &size));
    assert_false(symbol_id_read("0x00", 4, id, &size));
    assert_false(symbol_id_read("00f", 3, id, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
