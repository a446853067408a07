/* capture/collect.c: dealing frames out of memory that may not suffice. */
#include "capture/collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 20 };

static struct fw_frame source[MAX], room_memory[MAX];

/* `count` frames numbered from 1; where some are left out, the numbers go on after the gap. */
static struct fw_stack numbered(uint32_t count, uint32_t head, uint64_t omitted)
{
    for (uint32_t i = 0; i < count; i++)
        source[i] = (struct fw_frame){.address = i + 1 + (i >= head ? omitted : 0)};
    return (struct fw_stack){.frames = source,
                             .capacity = MAX,
                             .count = count,
                             .head = head,
                             .omitted = omitted,
                             .end = FW_END_ROOT,
                             .id = 77};
}

static void deal(size_t left, const struct fw_stack *from, struct fw_stack *to)
{
    memset(room_memory, 0xa5, sizeof room_memory);
    struct collect_room room = {room_memory, left};
    collect_deal(&room, from, to);
    assert_int_equal(room.left, left - to->count);
    assert_ptr_equal(room.frames, room_memory + to->count);
    if (to->count < MAX) /* nothing beyond */
        assert_int_equal(room_memory[to->count].address, 0xa5a5a5a5a5a5a5a5u);
    assert_int_equal(to->id, to->count ? 77 : 0);
}

static void check(const struct fw_stack *to, uint32_t count, uint32_t head, uint64_t omitted)
{
    assert_int_equal(to->count, count);
    assert_int_equal(to->head, head);
    assert_int_equal(to->omitted, omitted);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(to->frames[i].address, i + 1 + (i >= head ? omitted : 0));
}

static void fits(void **state)
{
    (void)state;
    struct fw_stack to, from = numbered(10, 10, 0);
    deal(10, &from, &to);
    check(&to, 10, 10, 0);
    assert_int_equal(to.end, FW_END_ROOT);
    from = numbered(10, 6, 1000);
    deal(15, &from, &to);
    check(&to, 10, 6, 1000);
}

static void shortened(void **state)
{
    (void)state;
    struct fw_stack to, from = numbered(10, 10, 0);
    deal(8, &from, &to);
    check(&to, 8, 6, 2);
    assert_int_equal(to.end, FW_END_ROOT);
    from = numbered(10, 6, 1000);
    deal(8, &from, &to);
    check(&to, 8, 6, 1002);
    from = numbered(16, 4, 1000); /* a short head stays whole */
    deal(12, &from, &to);
    check(&to, 12, 4, 1004);
    from = numbered(10, 9, 1000); /* and a short tail */
    deal(8, &from, &to);
    check(&to, 8, 7, 1002);
}

static void no_tail(void **state)
{
    (void)state;
    struct fw_stack to, from = numbered(10, 10, 0);
    deal(3, &from, &to);
    check(&to, 3, 3, 0);
    assert_int_equal(to.end, FW_END_LIMIT);
}

static void no_room(void **state)
{
    (void)state;
    struct fw_stack to, from = numbered(10, 10, 0);
    deal(0, &from, &to);
    assert_int_equal(to.end, FW_END_UNAVAILABLE);
    assert_int_equal(to.unavailable, FW_UNAVAILABLE_NO_ROOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits), cmocka_unit_test(shortened),
                                       cmocka_unit_test(no_tail), cmocka_unit_test(no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
