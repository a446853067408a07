/*
 * Other tools' formats: what is written says at every address what the map says, to our own reader
 * and to theirs, and what others write is read.
 */
#include "symmap/rows.h"

#include "support/cmocka.h"
#include "symmap/export.h"
#include "symmap/import.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef fw_error (*exporter)(const struct symmap *, uint8_t **, size_t *, struct fw_failure *);

static void check_round_trip(const struct symmap *map, exporter export)
{
    uint8_t *file, *bytes;
    size_t file_size, size;
    struct fw_failure why = {0};
    assert_int_equal(export(map, &file, &file_size, &why), FW_OK);
    if (import_map((struct span){file, file_size}, "written", &bytes, &size, &why) != FW_OK)
        fail_msg("%s", why.message);
    struct symmap *again;
    assert_int_equal(symmap_open_bytes((struct span){bytes, size}, false, "read", &again, &why),
                     FW_OK);
    struct rows_list before, after;
    rows_of(map, &before);
    rows_of(again, &after);
    if (export == export_breakpad) /* offsets are all that it knows */
        for (size_t i = 0; i < before.count; i++) {
            before.items[i].lo -= before.base;
            before.items[i].hi -= before.base;
        }
    assert_true(before.count > 0);
    assert_same_rows(&before, &after);
    const struct symmap_identity *id = symmap_identity(map), *id_again = symmap_identity(again);
    size_t kept = id->id_size < 20 ? id->id_size : 20;
    assert_int_equal(id_again->id_size, kept);
    assert_memory_equal(id_again->id, id->id, kept);
    rows_free(&before);
    rows_free(&after);
    symmap_close(again);
    free(bytes);
    free(file);
}

static void check_file(const char *path)
{
    uint8_t *bytes;
    struct symmap *map = map_of_file(path, &bytes);
    if (!map)
        skip();
    check_round_trip(map, export_gsym);
    check_round_trip(map, export_breakpad);
    symmap_close(map);
    free(bytes);
}

static void round_trip_of_this_program(void **state)
{
    (void)state;
    check_file("/proc/self/exe");
}

static void round_trip_of_libc(void **state)
{
    (void)state;
    check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void round_trip_of_mach_o(void **state)
{
    (void)state;
    check_file(FW_SHARED_DATA "/debug/samply/macos-ci/xul.dSYM/Contents/Resources/DWARF/xul");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip_of_this_program),
        cmocka_unit_test(round_trip_of_libc),
        cmocka_unit_test(round_trip_of_mach_o),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
