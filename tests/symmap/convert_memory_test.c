/* The conversion while memory runs out: an error or the whole map, never a part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object/fixture.h"
#include "support/alloc_fail.h"
#include "symmap/convert.h"
#include "symmap/programs.h"

#include <stdlib.h>
#include <string.h>

struct expected {
    uint8_t *bytes;
    size_t size;
    uint64_t only;
    bool few;
};

static fw_error convert_once(const struct expected *e, uint8_t **bytes, size_t *size)
{
    struct object *object;
    *bytes = NULL;
    fw_error error = object_open(fixture_path("part_a.so"), &object, NULL);
    if (error != FW_OK)
        return error;
    struct convert_options options = {.threads = 1,
                                      .columns = true,
                                      .calls = true,
                                      .only = e->few ? &e->only : NULL,
                                      .only_count = e->few};
    error = symmap_convert(object, NULL, NULL, &options, bytes, size, NULL, NULL);
    object_close(object);
    return error;
}

static bool attempt(void *context)
{
    const struct expected *e = context;
    uint8_t *bytes;
    size_t size;
    fw_error error = convert_once(e, &bytes, &size);
    if (error != FW_OK) {
        assert_int_equal(error, FW_ERR_MEMORY);
        assert_null(bytes);
        return false;
    }
    assert_int_equal(size, e->size);
    assert_memory_equal(bytes, e->bytes, size);
    free(bytes);
    return true;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("part.c", part_source);
    fixture_run("gcc -g -O2 -fPIC -shared -DPART=a part.c -o part_a.so");
    struct expected e = {.only = fixture_nm("", "part_a.so", "outer_a")};
    for (int few = 0; few < 2; few++) {
        e.few = few;
        assert_int_equal(convert_once(&e, &e.bytes, &e.size), FW_OK);
        assert_true(alloc_fail_each(attempt, &e) > 30);
        free(e.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
