/*
 * Other tools' formats: what is written says at every address what the map says, to our own reader
 * and to theirs, and what others write is read.
 */
#include "symmap/rows.h"

#include "object/codecs.h"
#include "symmap/export.h"
#include "symmap/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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

/* "NAME[ + OFFSET][ @ PATH:LINE][ [inlined]]", after an address or blanks, as rows_of has it. */
static void add_gsymutil_frame(char *line, FILE *to)
{
    char *text = strchr(line, ' '), *inlined = strstr(line, " [inlined]"), *path, *plus;
    assert_non_null(text);
    text += strspn(text, " ");
    if (inlined)
        *inlined = '\0';
    text[strcspn(text, "\n")] = '\0';
    path = strstr(text, " @ ");
    if (path)
        *path = '\0';
    plus = strstr(text, " + ");
    if (plus)
        *plus = '\0';
    fprintf(to, "%s|%s;", strcmp(text, EXPORT_UNKNOWN) == 0 ? "" : text, path ? path + 3 : ":0");
}

/* What llvm-gsymutil says of an address, frame by frame until an empty line. */
static char *gsymutil_answer(FILE *from)
{
    char *text = NULL, line[65536];
    size_t size;
    FILE *to = open_memstream(&text, &size);
    while (fgets(line, sizeof line, from) && line[0] != '\n')
        add_gsymutil_frame(line, to);
    fclose(to);
    return text;
}

/* Its line of an address without file is that of no file. */
static void compare_with_gsymutil(const struct rows_list *rows, const char *gsym)
{
    char questions[] = "/tmp/framewalk-questions-XXXXXX", command[512];
    int fd = mkstemp(questions);
    FILE *to = fdopen(fd, "w");
    for (size_t i = 0; i < rows->count; i++)
        fprintf(to, "0x%llx %s\n0x%llx %s\n", (unsigned long long)rows->items[i].lo, gsym,
                (unsigned long long)rows->items[i].hi - 1, gsym);
    fclose(to);
    snprintf(command, sizeof command, "llvm-gsymutil-19 --addresses-from-stdin < %s", questions);
    FILE *from = popen(command, "r");
    unsigned different = 0;
    for (size_t i = 0; i < 2 * rows->count; i++) {
        char *answer = gsymutil_answer(from);
        if (strcmp(answer, rows->items[i / 2].text) != 0 && different++ < 5)
            print_error("0x%llx\n  ours   %s\n  theirs %s\n",
                        (unsigned long long)rows->items[i / 2].lo, rows->items[i / 2].text, answer);
        free(answer);
    }
    pclose(from);
    unlink(questions);
    assert_int_equal(different, 0);
}

static void gsymutil_says_the_same(void **state)
{
    (void)state;
    uint8_t *bytes, *file;
    size_t size;
    struct fw_failure why = {0};
    char path[] = "/tmp/framewalk-gsym-XXXXXX", command[512];
    if (system("command -v llvm-gsymutil-19 >/dev/null") != 0)
        skip();
    struct symmap *map = map_of_file("/proc/self/exe", &bytes);
    assert_non_null(map);
    assert_int_equal(export_gsym(map, &file, &size, &why), FW_OK);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, file, size), size);
    close(fd);
    snprintf(command, sizeof command,
             "! llvm-gsymutil-19 %s 2>&1 | grep -q '^error\\|^FunctionInfo:\\|unable'", path);
    assert_int_equal(system(command), 0);
    struct rows_list rows;
    rows_of(map, &rows);
    compare_with_gsymutil(&rows, path);
    unlink(path);
    rows_free(&rows);
    symmap_close(map);
    free(bytes);
    free(file);
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
    check_file(
        FW_SHARED_DATA
        "/debug/samply/other/simple-example/out/mac-dsym/main.dSYM/Contents/Resources/DWARF/main");
}

/* ---- files made by hand ---- */

struct file { /* bytes in one order or the other */
    uint8_t bytes[1024];
    size_t size;
    bool big;
};

static void put(struct file *f, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        f->bytes[f->size++] = (uint8_t)(value >> 8 * (f->big ? size - 1 - i : i));
}

static void put_bytes(struct file *f, const void *bytes, size_t size)
{
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

static const char hand_strings[] = "\0main\0twice\0/src\0a.c";
enum { HAND_MAIN = 1, HAND_TWICE = 6, HAND_DIRECTORY = 12, HAND_NAME = 17 };

/* main at 0x1000 + 0x40, 0x20 bytes; line 10, from 0x48 on line 12; there twice is inlined at line
 * 11, 8 bytes. String offsets take `wide` bytes. */
static void put_function(struct file *f, unsigned wide)
{
    static const uint8_t lines[] = {0x00, 0x02, 10, 0x04, 0x03, 0x02, 0x02, 0x08, 0x00};
    put(f, 4, 0x20);
    put(f, wide, HAND_MAIN);
    put(f, 4, 1);
    put(f, 4, sizeof lines);
    put_bytes(f, lines, sizeof lines);
    put(f, 4, 2);
    put(f, 4, 3 + 1 + wide + 2 + 3 + 1 + wide + 2 + 1);
    put_bytes(f, (const uint8_t[]){1, 0, 0x20, 1}, 4);
    put(f, wide, HAND_MAIN);
    put_bytes(f, (const uint8_t[]){0, 0, 1, 8, 8, 0}, 6);
    put(f, wide, HAND_TWICE);
    put_bytes(f, (const uint8_t[]){1, 11, 0}, 3);
    put(f, 8, 0);
}

static void put_files(struct file *f, unsigned wide)
{
    put(f, 4, 2);
    put(f, wide, 0);
    put(f, wide, 0);
    put(f, wide, HAND_DIRECTORY);
    put(f, wide, HAND_NAME);
}

static void make_version_1(struct file *f)
{
    put(f, 4, 0x4753594d);
    put(f, 2, 1);
    put(f, 1, 1);
    put(f, 1, 4);
    put(f, 8, 0x1000);
    put(f, 4, 1);
    put(f, 4, 48 + 4 + 4 + 20);
    put(f, 4, sizeof hand_strings);
    put_bytes(f, "\xab\xcd\xef\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    put(f, 1, 0x40);
    put(f, 3, 0);
    put(f, 4, 48 + 4 + 4 + 20 + sizeof hand_strings);
    put_files(f, 4);
    put_bytes(f, hand_strings, sizeof hand_strings);
    put_function(f, 4);
}

static void make_version_2(struct file *f)
{
    enum { FILES = 4 + 4 * 8, START = 20 + 7 * 20 };
    const struct {
        uint32_t kind, size;
    } sections[] = {{6, 4}, {1, 1}, {2, 8}, {4, FILES}, {3, sizeof hand_strings}, {5, 100}};
    put(f, 4, 0x4753594d);
    put(f, 2, 2);
    put(f, 1, 1);
    put(f, 1, 0);
    put(f, 8, 0x1000);
    put(f, 4, 1);
    uint64_t place = START;
    for (size_t i = 0; i < 6; i++) {
        put(f, 4, sections[i].kind);
        put(f, 8, place);
        put(f, 8, sections[i].size);
        place += sections[i].size;
    }
    put(f, 4, 0);
    put(f, 8, 0);
    put(f, 8, 0);
    put_bytes(f, "\xab\xcd\xef\x01", 4);
    put(f, 1, 0x40);
    put(f, 8, 0);
    put_files(f, 8);
    put_bytes(f, hand_strings, sizeof hand_strings);
    put_function(f, 8);
    while (f->size < place)
        put(f, 1, 0);
}

static struct symmap *map_of_bytes(const void *data, size_t size, uint8_t **bytes)
{
    struct symmap *map;
    struct fw_failure why = {0};
    size_t map_size;
    if (import_map((struct span){data, size}, "by hand", bytes, &map_size, &why) != FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(
        symmap_open_bytes((struct span){*bytes, map_size}, false, "by hand", &map, &why), FW_OK);
    return map;
}

static void check_rows(const struct symmap *map, const struct rows_entry *wanted, size_t count)
{
    struct rows_list rows;
    rows_of(map, &rows);
    for (size_t i = 0; i < count && i < rows.count; i++) {
        assert_int_equal(rows.items[i].lo, wanted[i].lo);
        assert_int_equal(rows.items[i].hi, wanted[i].hi);
        assert_string_equal(rows.items[i].text, wanted[i].text);
    }
    assert_int_equal(rows.count, count);
    rows_free(&rows);
}

static void gsym_of_both_versions_and_orders(void **state)
{
    (void)state;
    struct rows_entry wanted[] = {
        {0x1040, 0x1048, "main|/src/a.c:10;"},
        {0x1048, 0x1050, "twice|/src/a.c:12;main|/src/a.c:11;"},
        {0x1050, 0x1060, "main|/src/a.c:12;"},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct file f = {.big = i & 1};
        uint8_t *bytes;
        if (i & 2)
            make_version_2(&f);
        else
            make_version_1(&f);
        struct symmap *map = map_of_bytes(f.bytes, f.size, &bytes);
        check_rows(map, wanted, 3);
        assert_int_equal(symmap_identity(map)->id_size, 4);
        assert_memory_equal(symmap_identity(map)->id, "\xab\xcd\xef\x01", 4);
        assert_int_equal(symmap_identity(map)->base, 0x1000);
        symmap_close(map);
        free(bytes);
        for (size_t cut = 0; cut + 60 < f.size; cut++) { /* never a map, never a crash */
            struct fw_failure why = {0};
            size_t size;
            assert_int_not_equal(
                import_map((struct span){f.bytes, cut}, "cut", &bytes, &size, &why), FW_OK);
            assert_true(why.message[0]);
        }
    }
}

/* Records in an odd order, as other tools write them. */
static void breakpad_of_other_tools(void **state)
{
    (void)state;
    static const char text[] = "MODULE Linux x86_64 B3F79A08C2D1E54F0102030405060708A some name\r\n"
                               "INFO CODE_ID 089AF7B3D1C24FE5010203040506070811223344\n"
                               "FILE 7 /src/a.c\n"
                               "FILE 3 b.h\n"
                               "FUNC m 1000 20 0 outer(int, char const*)\n"
                               "INLINE 1 21 3 5 1008 4\n" /* before its parent */
                               "INLINE 0 11 7 2 1004 8 1014 4\n"
                               "1000 4 10 7\n"
                               "1004 8 20 3\n"
                               "100c 8 12 7\n"
                               "1014 4 22 3\n" /* then 8 bytes without line */
                               "INLINE_ORIGIN 2 middle\n"
                               "INLINE_ORIGIN 5 inner\n"
                               "FUNC 1040 10 0\n"
                               "1040 10 5 7\n"
                               "PUBLIC m 1000 0 another\n"
                               "PUBLIC 1030 0 short_one\n"
                               "PUBLIC 1050 0 with_frame\n"
                               "PUBLIC 2000 0 last\n"
                               "STACK CFI INIT 1050 8 .cfa: $rsp 8 +\n";
    struct rows_entry wanted[] = {
        {0x1000, 0x1004, "outer(int, char const*)|/src/a.c:10;"},
        {0x1004, 0x1008, "middle|b.h:20;outer(int, char const*)|/src/a.c:11;"},
        {0x1008, 0x100c, "inner|b.h:20;middle|b.h:21;outer(int, char const*)|/src/a.c:11;"},
        {0x100c, 0x1014, "outer(int, char const*)|/src/a.c:12;"},
        {0x1014, 0x1018, "middle|b.h:22;outer(int, char const*)|/src/a.c:11;"},
        {0x1018, 0x1020, "outer(int, char const*)|:0;"},
        {0x1030, 0x1040, "short_one|:0;"},
        {0x1040, 0x1050, "|/src/a.c:5;"},
        {0x1050, 0x1058, "with_frame|:0;"},
        {0x2000, 0x3000, "last|:0;"},
    };
    static const uint8_t id[] = {0x08, 0x9a, 0xf7, 0xb3, 0xd1, 0xc2, 0x4f, 0xe5, 0x01, 0x02,
                                 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x22, 0x33, 0x44};
    uint8_t *bytes;
    struct symmap *map = map_of_bytes(text, sizeof text - 1, &bytes);
    check_rows(map, wanted, sizeof wanted / sizeof wanted[0]);
    const struct symmap_identity *identity = symmap_identity(map);
    assert_int_equal(identity->id_size, sizeof id);
    assert_memory_equal(identity->id, id, sizeof id);
    assert_string_equal(identity->object, "some name");
    assert_int_equal(symmap_alias_count(map, 0), 1);
    assert_string_equal(symmap_alias(map, 0, 0), "another");
    symmap_close(map);
    free(bytes);
}

/* Numbers may be larger than the file is long; memory goes by the records. */
static void breakpad_of_large_numbers(void **state)
{
    (void)state;
    static const char text[] = "MODULE Linux x86_64 000000000000000000000000000000001 x\n"
                               "FILE 4000000000 /a.c\n"
                               "FILE 1 /old.c\n"
                               "FILE 4294967295 /last.c\n"
                               "FILE 1 /b.c\n"
                               "INLINE_ORIGIN 3999999999 inner\n"
                               "FUNC 1000 10 0 outer\n"
                               "INLINE 0 7 4294967295 3999999999 1008 4\n"
                               "1000 8 1 4000000000\n"
                               "1008 4 2 1\n"
                               "100c 4 3 2\n"; /* of no record: no file */
    struct rows_entry wanted[] = {
        {0x1000, 0x1008, "outer|/a.c:1;"},
        {0x1008, 0x100c, "inner|/b.c:2;outer|/last.c:7;"},
        {0x100c, 0x1010, "outer|:0;"},
    };
    uint8_t *bytes;
    struct symmap *map = map_of_bytes(text, sizeof text - 1, &bytes);
    check_rows(map, wanted, sizeof wanted / sizeof wanted[0]);
    symmap_close(map);
    free(bytes);
}

static void breakpad_refuses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "MODULE Linux x86_64 12 short\n",
        "MODULE Linux x86_64 000000000000000000000000000000000 x\nFUNC xyz 10 0 f\n",
        "MODULE Linux x86_64 000000000000000000000000000000000 x\nFUNC ffffffffffffffff 10 0 f\n",
        "MODULE Linux x86_64 000000000000000000000000000000000 x\nFILE 5000000000 f\n",
        ("MODULE Linux x86_64 000000000000000000000000000000000 x\nFUNC 0 10 0 f\n"
         "INLINE 300 1 1 1 0 10\n"),
        "MODULE Linux x86_64 000000000000000000000000000000000 x\nFUNC 0 10 0 f\n0 10 -1 0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct fw_failure why = {0};
        uint8_t *bytes;
        size_t size;
        const struct span text = {(const uint8_t *)texts[i], strlen(texts[i])};
        assert_int_equal(import_map(text, "bad", &bytes, &size, &why), FW_ERR_CORRUPT);
        assert_non_null(strstr(why.message, "offset"));
    }
}

static void debug_ids(void **state)
{
    (void)state;
    static const uint8_t id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    char text[BREAKPAD_ID_SIZE];
    breakpad_id(id, sizeof id, false, text);
    assert_string_equal(text, "0403020106050807090A0B0C0D0E0F100");
    breakpad_id(id, 16, true, text);
    assert_string_equal(text, "0102030405060708090A0B0C0D0E0F100");
    breakpad_id(id, 2, false, text);
    assert_string_equal(text, "000002010000000000000000000000000");
}

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gsym_of_both_versions_and_orders),
        cmocka_unit_test(breakpad_of_other_tools),
        cmocka_unit_test(breakpad_of_large_numbers),
        cmocka_unit_test(breakpad_refuses),
        cmocka_unit_test(debug_ids),
        cmocka_unit_test(gsymutil_says_the_same),
        cmocka_unit_test(round_trip_of_this_program),
        cmocka_unit_test(round_trip_of_libc),
        cmocka_unit_test(round_trip_of_mach_o),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
