/*
 * Verification: a right map has no differences, and a map that a defect of the encoder could have
 * written has. Defects are seeded by changing single bytes and making the checksums right.
 */
#include "symmap/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "object/codecs.h"
#include "symbolicate/find.h"
#include "symmap/checksum.h"
#include "symmap/format.h"
#include "symmap/rows.h"

struct subject {
    struct object *object;
    struct debug_files *files;
    uint8_t *bytes;
    size_t size;
};

static bool open_subject(struct subject *s, const char *path)
{
    struct fw_failure why = {0};
    if (object_open(path, &s->object, &why) != FW_OK)
        return false;
    assert_int_equal(
        debug_files_find(s->object, path, &(struct debug_find_options){0}, &s->files, &why), FW_OK);
    const struct convert_options options = {.threads = 2, .calls = true};
    assert_int_equal(symmap_convert(s->object, s->files->debug, &s->files->companions, &options,
                                    &s->bytes, &s->size, NULL, &why),
                     FW_OK);
    return true;
}

static void close_subject(struct subject *s)
{
    free(s->bytes);
    debug_files_close(s->files);
    object_close(s->object);
}

static fw_error verify(const struct subject *s, const struct symmap *map, unsigned threads,
                       struct verify_report *report)
{
    struct fw_failure why = {0};
    const struct convert_options options = {.threads = threads};
    return symmap_verify(map, s->object, s->files->debug, &s->files->companions, &options, report,
                         &why);
}

static void print_differences(const struct verify_report *report)
{
    for (int kind = 0; kind < VERIFY_KINDS; kind++)
        for (size_t i = 0; i < VERIFY_EXAMPLES && i < report->count[kind]; i++)
            print_error("%s: 0x%llx %s\n", verify_kind_text((enum verify_kind)kind),
                        (unsigned long long)report->example[kind][i].address,
                        report->example[kind][i].text);
}

/* `foreign`: whose debug file may be missing. */
static void check_right(const char *path, bool foreign)
{
    struct subject s = {0};
    struct symmap *map;
    struct verify_report report;
    if (!open_subject(&s, path))
        skip();
    assert_int_equal(
        symmap_open_bytes((struct span){s.bytes, s.size}, true, "made here", &map, NULL), FW_OK);
    assert_int_equal(verify(&s, map, 2, &report), FW_OK);
    print_differences(&report);
    assert_int_equal(verify_differences(&report), 0);
    bool whole = report.rows > 0 && report.functions > 0 && report.lookups > report.rows;
    bool stripped = foreign && !report.functions;
    symmap_close(map);
    close_subject(&s);
    if (stripped)
        skip();
    assert_true(whole);
}

static void this_program_is_right(void **state)
{
    (void)state;
    check_right("/proc/self/exe", false);
}

static void libc_is_right(void **state)
{
    (void)state;
    check_right("/lib/x86_64-linux-gnu/libc.so.6", true);
}

static void mach_o_is_right(void **state)
{
    (void)state;
    check_right(FW_SHARED_DATA
                "/debug/samply/other/simple-example/out/mac-dsym/main.dSYM/Contents/Resources/"
                "DWARF/main",
                false);
}

/* ---- seeded defects ---- */

static uint8_t *entry_of(uint8_t *bytes, uint32_t id)
{
    for (uint32_t i = 0; i < get_u32(bytes + HEADER_SECTIONS); i++) {
        uint8_t *entry = bytes + HEADER_SIZE + (size_t)i * ENTRY_SIZE;
        if (get_u32(entry + ENTRY_ID) == id)
            return entry;
    }
    return NULL;
}

/* Changes one bit of a section, as if the writer had written it so. */
static void seed(uint8_t *bytes, uint32_t id, uint64_t place, unsigned bit)
{
    uint8_t *entry = entry_of(bytes, id);
    uint8_t *section = bytes + get_u64(entry + ENTRY_OFFSET);
    uint64_t size = get_u64(entry + ENTRY_LENGTH);
    section[place % size] ^= (uint8_t)(1u << bit);
    uint32_t sections = get_u32(bytes + HEADER_SECTIONS);
    put_u32(entry + ENTRY_SUM, checksum_of(section, (size_t)size));
    put_u32(bytes + HEADER_DIRECTORY_SUM, crc32c(bytes + HEADER_SIZE, sections * ENTRY_SIZE));
    put_u32(bytes + HEADER_SUM, crc32c(bytes, HEADER_SUM));
}

static bool count_row(void *context, const struct symmap_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return true;
}

/* Whether the changed map still says the same everywhere. */
static bool says_the_same(const struct symmap *map, const struct rows_list *right)
{
    struct rows_list rows;
    size_t count = 0;
    if (symmap_each_row(map, count_row, &count) != FW_OK)
        return false;
    rows_of(map, &rows);
    bool same = rows.count == right->count;
    for (size_t i = 0; same && i < rows.count; i++)
        same = rows.items[i].lo == right->items[i].lo && rows.items[i].hi == right->items[i].hi &&
               strcmp(rows.items[i].text, right->items[i].text) == 0;
    rows_free(&rows);
    return same;
}

static void seeded_defects_are_caught(void **state)
{
    (void)state;
    static const uint32_t sections[] = {SECTION_CODE,         SECTION_CODE,  SECTION_CODE,
                                        SECTION_BLOCK_PLACES, SECTION_FILES, SECTION_SUBJECTS,
                                        SECTION_BLOCK_STARTS, SECTION_CODE};
    enum { DEFECTS = 64 };
    struct subject s = {0};
    struct symmap *map;
    struct rows_list right;
    struct verify_report *report = malloc(sizeof *report);
    uint64_t random = 20240601;
    unsigned harmless = 0, caught = 0;
    assert_true(open_subject(&s, "/proc/self/exe"));
    uint8_t *copy = malloc(s.size);
    assert_int_equal(
        symmap_open_bytes((struct span){s.bytes, s.size}, true, "made here", &map, NULL), FW_OK);
    rows_of(map, &right);
    symmap_close(map);
    for (unsigned i = 0; i < DEFECTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        memcpy(copy, s.bytes, s.size);
        seed(copy, sections[i % 8], random >> 20, (unsigned)(random >> 16 & 7));
        assert_int_equal(
            symmap_open_bytes((struct span){copy, s.size}, false, "seeded", &map, NULL), FW_OK);
        bool same = says_the_same(map, &right);
        fw_error error = verify(&s, map, 2, report);
        bool found = error == FW_ERR_CORRUPT || (error == FW_OK && verify_differences(report));
        if (!same && !found) {
            struct rows_list wrong;
            print_error("defect %u in section %u was not found\n", i, sections[i % 8]);
            rows_of(map, &wrong);
            assert_same_rows(&right, &wrong);
        }
        assert_true(same || found);
        harmless += same;
        caught += found;
        symmap_close(map);
    }
    assert_true(caught > DEFECTS / 2);
    assert_true(harmless < DEFECTS / 2);
    rows_free(&right);
    free(report);
    free(copy);
    close_subject(&s);
}

/* Many defects at once. */
static void report_does_not_depend_on_threads(void **state)
{
    (void)state;
    struct subject s = {0};
    struct symmap *map;
    struct verify_report *one = malloc(sizeof *one), *four = malloc(sizeof *four);
    assert_true(open_subject(&s, "/proc/self/exe"));
    for (unsigned i = 0; i < 200; i++)
        seed(s.bytes, SECTION_SUBJECTS, i * 997u, i & 3);
    assert_int_equal(symmap_open_bytes((struct span){s.bytes, s.size}, false, "seeded", &map, NULL),
                     FW_OK);
    assert_int_equal(verify(&s, map, 1, one), FW_OK);
    assert_int_equal(verify(&s, map, 4, four), FW_OK);
    assert_true(verify_differences(one) > 0);
    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        assert_int_equal(one->count[kind], four->count[kind]);
        for (size_t i = 0; i < VERIFY_EXAMPLES && i < one->count[kind]; i++)
            assert_string_equal(one->example[kind][i].text, four->example[kind][i].text);
    }
    symmap_close(map);
    free(one);
    free(four);
    close_subject(&s);
}

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_program_is_right),
        cmocka_unit_test(libc_is_right),
        cmocka_unit_test(mach_o_is_right),
        cmocka_unit_test(seeded_defects_are_caught),
        cmocka_unit_test(report_does_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
