/* The text of /proc/PID/maps, with what other processes can put into it. */
#include "os/linux/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct maps parsed(const char *text)
{
    struct maps maps;
    assert_true(maps_parse(&maps, strdup(text)));
    return maps;
}

static void fields(void **state)
{
    (void)state;
    struct maps maps = parsed(
        "55d5efb10000-55d5efb14000 r--p 00002000 fd:01 131090                     /bin/a b\n"
        "7ffd1fcaf000-7ffd1fcd0000 rw-p 00000000 00:00 0                          [stack]\n"
        "7ffd1fd50000-7ffd1fd52000 r-xp 00000000 00:00 0                          [vdso]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
    assert_int_equal(maps.count, 4);
    const struct mapping *m = &maps.list[0];
    assert_true(m->lo == 0x55d5efb10000 && m->hi == 0x55d5efb14000 && m->offset == 0x2000);
    assert_true(m->device == ((uint64_t)0xfd << 32 | 1));
    assert_int_equal(m->inode, 131090);
    assert_string_equal(m->path, "/bin/a b");
    assert_true(m->readable && !m->writable && !m->executable && !m->deleted && !m->guessed);
    assert_true(maps.list[1].writable);
    assert_string_equal(maps.list[2].path, "[vdso]");
    assert_true(maps.list[3].executable && !maps.list[3].readable);
    maps_free(&maps);
}

static void strange_paths(void **state)
{
    (void)state;
    struct maps maps = parsed("1000-2000 r-xp 00000000 08:01 5 /tmp/a (deleted)\n"
                              "2000-3000 r-xp 00000000 08:01 6 /tmp/new\\012line (deleted)\n"
                              "3000-4000 r-xp 00000000 08:01 7  (deleted)\n"
                              "4000-5000 r-xp 00000000 00:00 0\n"
                              "5000-6000 r-xp 00000000 00:00 0 ");
    assert_int_equal(maps.count, 5);
    assert_string_equal(maps.list[0].path, "/tmp/a");
    assert_true(maps.list[0].deleted);
    assert_string_equal(maps.list[1].path, "/tmp/new\nline");
    assert_true(maps.list[1].deleted);
    assert_string_equal(maps.list[3].path, "");
    assert_string_equal(maps.list[4].path, "");
    maps_free(&maps);
}

static void nonsense(void **state)
{
    (void)state;
    struct maps maps = parsed("\n\nhello\n1000\n1000-\n1000-2000\n1000-2000 r\n1000-2000 r-xp\n"
                              "2000-1000 r-xp 0 0:0 0\n"
                              "fffffffffffffffff-1 r-xp 0 0:0 0\n"
                              "8000-9000 r-xp 0 0:0 0 fine\n");
    assert_int_equal(maps.count, 1);
    assert_string_equal(maps.list[0].path, "fine");
    maps_free(&maps);
    maps = parsed("");
    assert_int_equal(maps.count, 0);
    assert_null(maps_find(&maps, 0));
    maps_free(&maps);
}

static void lookup(void **state)
{
    (void)state;
    struct maps maps = parsed("1000-2000 r-xp 0 0:0 0 a\n2000-3000 r-xp 0 0:0 0 b\n"
                              "5000-6000 r-xp 0 0:0 0 c\n");
    assert_null(maps_find(&maps, 0xfff));
    assert_string_equal(maps_find(&maps, 0x1000)->path, "a");
    assert_string_equal(maps_find(&maps, 0x1fff)->path, "a");
    assert_string_equal(maps_find(&maps, 0x2000)->path, "b");
    assert_null(maps_find(&maps, 0x3000));
    assert_string_equal(maps_above(&maps, 0x3000)->path, "c");
    assert_null(maps_above(&maps, 0x6000));
    assert_null(maps_find(&maps, UINT64_MAX));
    maps_free(&maps);
}

/* A listing that changed while it was read may repeat and overlap. */
static void overlaps_and_order(void **state)
{
    (void)state;
    struct maps maps = parsed("5000-8000 r-xp 0 0:0 0 c\n1000-3000 r-xp 0 0:0 0 a\n"
                              "2000-6000 r-xp 10000 0:0 0 b\n2000-2800 r-xp 0 0:0 0 d\n");
    for (size_t i = 1; i < maps.count; i++)
        assert_true(maps.list[i - 1].hi <= maps.list[i].lo);
    assert_string_equal(maps_find(&maps, 0x2900)->path, "a");
    assert_string_equal(maps_find(&maps, 0x3000)->path, "b");
    assert_true(maps_find(&maps, 0x3000)->offset == 0x11000);
    assert_string_equal(maps_find(&maps, 0x7fff)->path, "c");
    assert_true(maps_find(&maps, 0x7fff)->offset == 0x1000);
    maps_free(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields), cmocka_unit_test(strange_paths),      cmocka_unit_test(nonsense),
        cmocka_unit_test(lookup), cmocka_unit_test(overlaps_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
