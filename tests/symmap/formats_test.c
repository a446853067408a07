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

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gsymutil_says_the_same),
        cmocka_unit_test(round_trip_of_this_program),
        cmocka_unit_test(round_trip_of_libc),
        cmocka_unit_test(round_trip_of_mach_o),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
