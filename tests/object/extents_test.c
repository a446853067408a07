/* Extents against the definition: of those that cover an address, the one that starts last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object/extents.h"

static uint32_t by_definition(const struct extent *list, size_t count, uint64_t address)
{
    uint32_t found = EXTENT_NONE;
    for (size_t i = 0; i < count; i++)
        if (list[i].start <= address && address < list[i].end)
            found = (uint32_t)i;
    return found;
}

static void compare(const struct extent *list, size_t count, uint64_t from, uint64_t to)
{
    struct extents extents;
    assert_true(extents_build(&extents, list, count));
    for (uint64_t address = from; address < to; address++)
        assert_int_equal(extents_find(&extents, address), by_definition(list, count, address));
    assert_int_equal(extents_find(&extents, UINT64_MAX), EXTENT_NONE);
    assert_int_equal(extents_find(&extents, 0), by_definition(list, count, 0));
    extents_free(&extents);
}

static void random_overlaps_follow_the_definition(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252;
    for (int round = 0; round < 2000; round++) {
        struct extent list[24];
        size_t count = 0;
        uint64_t at = 100;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        for (size_t n = (size_t)(random % 24); count < n; count++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            at += 1 + random % 9;
            list[count] = (struct extent){at, at + 1 + (random >> 8) % (random >> 60 ? 12 : 90)};
        }
        compare(list, count, 95, 450);
    }
}

static void far_apart_extents_need_64_bits(void **state)
{
    (void)state;
    const struct extent list[] = {
        {0x1000, 0x1010}, {0x2000, UINT64_MAX}, {0xffffffff80000000, 0xffffffff80000010}};
    compare(list, 3, 0xff0, 0x1020);
    compare(list, 3, 0x1ff0, 0x2010);
    compare(list, 3, 0xffffffff7ffffff0, 0xffffffff80000020);
    const struct extent edge[] = {{0, 1}, {0xffffffff, 0x100000001}};
    compare(edge, 2, 0xfffffff0, 0x100000010);
    const struct extent last[] = {{0, 1}, {0xfffffff0, 0xffffffff}};
    compare(last, 2, 0xffffffe0, 0x100000010);
}

/* Crowds and deserts: from one byte to a megabyte between two of them. */
static void uneven_extents_follow_the_definition(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    uint64_t random = 88172645463325252;
    for (int round = 0; round < 50; round++) {
        struct extent list[COUNT];
        uint64_t at = 0;
        for (size_t i = 0; i < COUNT; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            at += 1 + (random >> 8) % ((uint64_t)1 << random % 21);
            list[i] = (struct extent){at, at + 1 + (random >> 30) % 4096};
        }
        for (size_t i = 0; i < COUNT; i++) {
            compare(list, COUNT, list[i].start - 1, list[i].start + 1);
            compare(list, COUNT, list[i].end - 1, list[i].end + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_overlaps_follow_the_definition),
        cmocka_unit_test(far_apart_extents_need_64_bits),
        cmocka_unit_test(uneven_extents_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
