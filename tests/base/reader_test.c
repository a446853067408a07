/* The bounded reader: every read at, across and beyond the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/reader.h"

static void reads_in_order(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 'h', 'i', 0};
    struct reader r = reader_over(bytes, sizeof bytes);
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_u16(&r), 2);
    assert_int_equal(reader_u32(&r), 3);
    assert_int_equal(reader_u64(&r), 4);
    assert_string_equal(reader_string(&r), "hi");
    assert_int_equal(reader_left(&r), 0);
    assert_false(r.failed);
}

/* Hides from the compiler how much is there: it would warn of the reads that are to be refused. */
static const uint8_t *opaque(const uint8_t *bytes)
{
    __asm__("" : "+r"(bytes));
    return bytes;
}

static void refuses_beyond_the_end(void **state)
{
    (void)state;
    static const uint8_t three[] = {1, 2, 3};
    const uint8_t *bytes = opaque(three);
    enum { SIZE = sizeof three };
    struct reader r = reader_over(bytes, SIZE);
    assert_int_equal(reader_u32(&r), 0);
    assert_true(r.failed);
    assert_int_equal(reader_u8(&r), 0); /* stays failed although a byte is there */
    assert_int_equal(reader_offset(&r), 0);
    r = reader_over("abc", 3);
    assert_null(reader_string(&r));
    assert_true(r.failed);
    r = reader_at(bytes, SIZE, 4);
    assert_true(r.failed);
    r = reader_over(bytes, SIZE);
    reader_skip(&r, UINT64_MAX);
    assert_true(r.failed);
    r = reader_over(bytes, SIZE);
    struct reader sub = reader_sub(&r, 4);
    assert_true(sub.failed && r.failed);
    assert_int_equal(reader_left(&sub), 0);
}

static void swaps(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct reader r = reader_over(bytes, sizeof bytes);
    r.swap = true;
    assert_true(reader_u64(&r) == 0x0102030405060708);
}

static void leb128(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 0xff, 0x00};
    struct reader r = reader_over(bytes, sizeof bytes);
    assert_int_equal(reader_uleb(&r), 624485);
    assert_int_equal(reader_sleb(&r), -1);
    assert_int_equal(reader_sleb(&r), -128);
    assert_int_equal(reader_sleb(&r), 127);
    assert_false(r.failed);

    const uint8_t max[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    r = reader_over(max, sizeof max);
    assert_true(reader_uleb(&r) == UINT64_MAX && !r.failed);
    const uint8_t over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    r = reader_over(over, sizeof over);
    reader_uleb(&r);
    assert_true(r.failed);
    const uint8_t open[] = {0x80, 0x80};
    r = reader_over(open, sizeof open);
    reader_uleb(&r);
    assert_true(r.failed);
    const uint8_t lowest[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f};
    r = reader_over(lowest, sizeof lowest);
    assert_true(reader_sleb(&r) == INT64_MIN && !r.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_order),
        cmocka_unit_test(refuses_beyond_the_end),
        cmocka_unit_test(swaps),
        cmocka_unit_test(leb128),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
