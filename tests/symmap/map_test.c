/* Symbol maps of random code: every answer is the one that the model finds the slow way, the bytes
 * do not depend on threads, and damage is refused. */
#include "symmap/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct model_shape shapes[] = {
    {.units = 1, .functions = 3, .symbols = 0, .span = 256, .step = 1, .longest = 100, .depth = 6},
    {.units = 5,
     .functions = 12,
     .symbols = 20,
     .span = 2000,
     .step = 1,
     .longest = 300,
     .depth = 9},
    {.units = 4,
     .functions = 10,
     .symbols = 30,
     .span = 2000,
     .step = 4,
     .longest = 400,
     .depth = 20,
     .columns = true,
     .calls = true},
    {.units = 2,
     .functions = 6,
     .symbols = 4,
     .span = 4000,
     .step = 1,
     .longest = 1500,
     .depth = 30,
     .calls = true},
    {.units = 6,
     .functions = 30,
     .symbols = 60,
     .span = 600,
     .step = 2,
     .longest = 200,
     .depth = 3},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], SEEDS = 60 };

static struct span build(const struct symmap_source *source, unsigned threads)
{
    uint8_t *bytes;
    size_t size;
    struct fw_failure why = {0};
    assert_int_equal(symmap_build(source, threads, &bytes, &size, NULL, &why), FW_OK);
    return (struct span){bytes, size};
}

static void discard(struct span bytes)
{
    free((void *)(uintptr_t)bytes.data);
}

static struct symmap *open_map(struct span bytes)
{
    struct symmap *map = NULL;
    struct fw_failure why = {0};
    fw_error error = symmap_open_bytes(bytes, false, "test", &map, &why);
    if (error != FW_OK)
        fail_msg("%s", why.message);
    return map;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_frame(const struct symmap_frame *is, const struct symmap_frame *wanted,
                        uint64_t offset, size_t depth)
{
    if (!same_text(is->name, wanted->name) || !same_text(is->source_name, wanted->source_name) ||
        !same_text(is->directory, wanted->directory) || !same_text(is->file, wanted->file) ||
        is->line != wanted->line || is->column != wanted->column || is->start != wanted->start ||
        is->size != wanted->size || is->flags != wanted->flags)
        fail_msg("at 0x%llx frame %zu: %s (%s) %s/%s:%u:%u 0x%llx+0x%llx flags %u, wanted "
                 "%s (%s) %s/%s:%u:%u 0x%llx+0x%llx flags %u",
                 (unsigned long long)offset, depth, is->name, is->source_name, is->directory,
                 is->file, is->line, is->column, (unsigned long long)is->start,
                 (unsigned long long)is->size, is->flags, wanted->name, wanted->source_name,
                 wanted->directory, wanted->file, wanted->line, wanted->column,
                 (unsigned long long)wanted->start, (unsigned long long)wanted->size,
                 wanted->flags);
}

static void check_all(const struct model *model, const struct symmap *map, unsigned end)
{
    for (uint64_t offset = 0; offset < end; offset++) {
        struct symmap_frame wanted[MODEL_FRAMES] = {0}, is[MODEL_FRAMES];
        size_t count, depth = model_frames(model, offset, wanted);
        fw_error error = symmap_lookup(map, offset, is, MODEL_FRAMES, &count);
        assert_int_equal(error, depth ? FW_OK : FW_ERR_NOT_FOUND);
        assert_int_equal(count, depth);
        for (size_t i = 0; i < depth; i++)
            check_frame(&is[i], &wanted[i], offset, i);
    }
}

static void test_every_offset(void **state)
{
    (void)state;
    for (unsigned s = 0; s < SHAPES; s++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct model *model = model_make(seed * 100 + s, &shapes[s]);
            struct span bytes = build(&model->source, 1);
            struct symmap *map = open_map(bytes);
            check_all(model, map, shapes[s].span + shapes[s].longest + 2);
            symmap_close(map);
            discard(bytes);
            model_free(model);
        }
}

struct rows_seen {
    const struct symmap *map;
    uint64_t end;
    size_t rows;
};

static bool see_row(void *context, const struct symmap_row *row)
{
    struct rows_seen *seen = context;
    assert_true(row->lo < row->hi);
    assert_true(!seen->rows || row->lo == seen->end);
    seen->end = row->hi;
    seen->rows++;
    const uint64_t at[] = {row->lo, row->hi - 1};
    for (size_t k = 0; k < 2; k++) {
        struct symmap_frame frames[MODEL_FRAMES];
        size_t count;
        symmap_lookup(seen->map, at[k], frames, MODEL_FRAMES, &count);
        assert_int_equal(count, row->frame_count);
        for (size_t i = 0; i < count; i++)
            check_frame(&frames[i], &row->frames[i], at[k], i);
    }
    return true;
}

static void test_each_row(void **state)
{
    (void)state;
    for (unsigned s = 0; s < SHAPES; s++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct model *model = model_make(seed, &shapes[s]);
            struct span bytes = build(&model->source, 2);
            struct rows_seen seen = {.map = open_map(bytes)};
            assert_int_equal(symmap_each_row(seen.map, see_row, &seen), FW_OK);
            symmap_close((struct symmap *)(uintptr_t)seen.map);
            discard(bytes);
            model_free(model);
        }
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    struct model_shape large = {.units = 40,
                                .functions = 400,
                                .symbols = 5000,
                                .span = 4000000,
                                .step = 1,
                                .longest = 900,
                                .depth = 12,
                                .calls = true};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct model *model = model_make(seed, seed > 1 ? &large : &shapes[1]);
        struct span one = build(&model->source, 1);
        const unsigned threads[] = {2, 3, 8};
        for (size_t i = 0; i < 3; i++) {
            struct span other = build(&model->source, threads[i]);
            assert_int_equal(one.size, other.size);
            assert_memory_equal(one.data, other.data, one.size);
            discard(other);
        }
        discard(one);
        model_free(model);
    }
}

static void test_damage_is_refused(void **state)
{
    (void)state;
    struct model *model = model_make(7, &shapes[1]);
    struct span bytes = build(&model->source, 1);
    uint8_t *copy = malloc(bytes.size);
    memcpy(copy, bytes.data, bytes.size);
    size_t accepted = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        struct symmap *map;
        copy[i] ^= 0x10;
        if (symmap_open_bytes((struct span){copy, bytes.size}, false, "x", &map, NULL) == FW_OK) {
            accepted++; /* filling between sections */
            check_all(model, map, shapes[1].span);
            symmap_close(map);
        }
        copy[i] ^= 0x10;
    }
    assert_true(accepted < 7 * 16);
    for (size_t size = 0; size < bytes.size; size++) {
        struct symmap *map;
        assert_int_not_equal(symmap_open_bytes((struct span){copy, size}, false, "x", &map, NULL),
                             FW_OK);
    }
    free(copy);
    discard(bytes);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_offset),
        cmocka_unit_test(test_each_row),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
