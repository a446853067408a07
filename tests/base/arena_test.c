/* The arena: pieces keep their contents, grow in place where they can, and exact blocks are exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

#include <string.h>

static void pieces_keep_their_contents(void **state)
{
    (void)state;
    struct arena arena = {0};
    unsigned char *pieces[300];
    assert_non_null(arena_take(&arena, 0));
    for (size_t i = 0; i < 300; i++) {
        pieces[i] = arena_take(&arena, i * 20);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % ARENA_ALIGN, 0);
        memset(pieces[i], (int)i & 0xff, i * 20);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t k = 0; k < i * 20; k++)
            assert_int_equal(pieces[i][k], i & 0xff);
    assert_null(arena_take(&arena, SIZE_MAX));
    assert_null(arena_take_many(&arena, SIZE_MAX / 2, 3));
    arena_free(&arena);
    assert_int_equal(arena.total, 0);
}

static void the_last_piece_changes_size_where_it_is(void **state)
{
    (void)state;
    struct arena arena = {0};
    unsigned char *piece = arena_resize(&arena, NULL, 0, 100);
    memset(piece, 7, 100);
    assert_ptr_equal(arena_resize(&arena, piece, 100, 5000), piece);
    assert_ptr_equal(arena_resize(&arena, piece, 5000, 50), piece);
    unsigned char *next = arena_take(&arena, 10);
    assert_ptr_equal(next, piece + 64); /* what it gave back */
    assert_ptr_equal(arena_resize(&arena, piece, 50, 20), piece);
    unsigned char *moved = arena_resize(&arena, piece, 50, 200); /* not the last any more */
    assert_ptr_not_equal(moved, piece);
    for (int i = 0; i < 50; i++)
        assert_int_equal(moved[i], 7);
    unsigned char *large = arena_resize(&arena, moved, 200, 1 << 20); /* no room in its block */
    assert_int_equal(large[49], 7);
    assert_null(arena_resize(&arena, large, 1 << 20, SIZE_MAX));
    arena_free(&arena);
}

static void a_reserved_block_is_exact(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_true(arena_reserve(&arena, 3 * ARENA_ALIGN));
    assert_int_equal(arena.total, 3 * ARENA_ALIGN);
    assert_non_null(arena_take(&arena, 1));
    assert_non_null(arena_take(&arena, 2 * ARENA_ALIGN));
    assert_ptr_equal(arena.pos, arena.end);
    assert_false(arena_reserve(&arena, SIZE_MAX));
    assert_int_equal(arena.total, 3 * ARENA_ALIGN);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_keep_their_contents),
        cmocka_unit_test(the_last_piece_changes_size_where_it_is),
        cmocka_unit_test(a_reserved_block_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
