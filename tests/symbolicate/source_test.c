/* Opening sources: slices, identities, what is said when something is not there. */
#include "framewalk/symbolicate.h"

#include "object/fixture.h"
#include "symmap/symmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_DATA FW_SHARED_DATA "/debug/"
static const char fat_file[] = DEBUG_DATA "samply/macos-ci/firefox";
static const char simple[] = DEBUG_DATA "samply/other/simple-example/out/mac-dsym";
static const uint8_t wanted[] = {0x00, 0xaa, 0xbb, 0xcc, 0xdd};

static void need_data(void)
{
    struct stat status;
    if (stat(fat_file, &status) != 0) {
        print_message("skipped: no shared test data\n");
        skip();
    }
}

static struct fw_symbolicator *make(const char *folder, const char *cache)
{
    const char *folders[] = {folder, NULL};
    struct fw_symbolicator_options options = {.size = sizeof options,
                                              .debug_folders = folder ? folders : NULL,
                                              .cache_folder = cache ? cache : "",
                                              .no_debuginfod = true};
    struct fw_symbolicator *symbolicator;
    assert_int_equal(fw_symbolicator_create(&options, &symbolicator), FW_OK);
    return symbolicator;
}

static struct fw_source_request request_of(const char *path, const char *arch, const uint8_t *id,
                                           size_t id_size)
{
    return (struct fw_source_request){.size = sizeof(struct fw_source_request),
                                      .path = path,
                                      .arch = arch,
                                      .id = id,
                                      .id_size = id_size};
}

/* Opens and describes; `info` lives as long as the source. */
static struct fw_source *open_it(struct fw_symbolicator *symbolicator,
                                 struct fw_source_request request, struct fw_source_info *info)
{
    struct fw_source *source;
    struct fw_failure why = {0};
    if (fw_source_open(symbolicator, &request, &source, &why) != FW_OK)
        fail_msg("%s", why.message);
    *info = (struct fw_source_info){.size = sizeof *info};
    assert_int_equal(fw_source_info(source, info), FW_OK);
    return source;
}

static struct fw_failure refused(struct fw_symbolicator *symbolicator,
                                 struct fw_source_request request, fw_error code)
{
    struct fw_source *source;
    struct fw_failure why = {0};
    assert_int_equal(fw_source_open(symbolicator, &request, &source, &why), code);
    assert_null(source);
    assert_int_equal(why.code, code);
    return why;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static void opens_the_slice_that_is_wanted(void **state)
{
    (void)state;
    need_data();
    struct fw_symbolicator *symbolicator = make(NULL, NULL);
    struct fw_source_info info;
    struct fw_failure why =
        refused(symbolicator, request_of(fat_file, NULL, NULL, 0), FW_ERR_ARGUMENT);
    expect_text(why.message, "x86_64");
    expect_text(why.message, "arm64");
    why = refused(symbolicator, request_of(fat_file, "armv7", NULL, 0), FW_ERR_NOT_FOUND);
    expect_text(why.message, "arm64");
    struct fw_source *arm = open_it(symbolicator, request_of(fat_file, "arm64", NULL, 0), &info);
    assert_string_equal(info.arch, "arm64");
    assert_int_equal(info.base, 0x100000000);
    assert_int_equal(info.id_size, 16);
    struct fw_source_info other;
    struct fw_source *intel =
        open_it(symbolicator, request_of(fat_file, "x86_64", NULL, 0), &other);
    assert_memory_not_equal(info.id, other.id, 16);
    fw_source_close(intel);
    /* The identity decides alone. */
    struct fw_source *by_id =
        open_it(symbolicator, request_of(fat_file, NULL, info.id, info.id_size), &other);
    assert_string_equal(other.arch, "arm64");
    fw_source_close(by_id);
    fw_source_close(arm);
    fw_symbolicator_destroy(symbolicator);
}

static void finds_a_slice_and_a_dsym_by_uuid(void **state)
{
    (void)state;
    need_data();
    struct fw_symbolicator *symbolicator = make(DEBUG_DATA "samply", NULL);
    struct fw_source_info info, again;
    struct fw_source *given = open_it(symbolicator, request_of(fat_file, "x86_64", NULL, 0), &info);
    struct fw_source *found =
        open_it(symbolicator, request_of(NULL, NULL, info.id, info.id_size), &again);
    assert_true(ends_with(again.path, "macos-ci/firefox"));
    assert_string_equal(again.arch, "x86_64");
    fw_source_close(found);
    fw_source_close(given);
    /* The image is found with its dSYM. */
    static const uint8_t uuid[] = {0xCF, 0x44, 0x1A, 0xF5, 0xBB, 0x7E, 0x35, 0x67,
                                   0x8D, 0x44, 0x45, 0x1D, 0x69, 0x21, 0x4D, 0x92};
    found = open_it(symbolicator, request_of(NULL, NULL, uuid, sizeof uuid), &info);
    assert_int_equal(info.kind, FW_SOURCE_DWARF);
    assert_true(ends_with(info.path, "mac-dsym/main"));
    assert_true(ends_with(info.debug_path, "main.dSYM/Contents/Resources/DWARF/main"));
    fw_source_close(found);
    fw_symbolicator_destroy(symbolicator);
}

static void a_dsym_alone_knows_its_image(void **state)
{
    (void)state;
    need_data();
    char path[512];
    snprintf(path, sizeof path, "%s/main.dSYM", simple);
    struct fw_symbolicator *symbolicator = make(NULL, NULL);
    struct fw_source_info info;
    struct fw_source *source = open_it(symbolicator, request_of(path, NULL, NULL, 0), &info);
    assert_int_equal(info.kind, FW_SOURCE_DWARF);
    assert_int_equal(info.base, 0x100000000);
    assert_string_equal(info.arch, "arm64");
    struct fw_symbols *symbols;
    const struct fw_address address = {0x3a7c, FW_ADDRESS_IMAGE};
    assert_int_equal(fw_symbolicate(source, &address, 1, &symbols, NULL), FW_OK);
    assert_string_equal(symbols->items[0].frames[0].function, "file1_func1(int)");
    fw_symbols_free(symbols);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
}

/* tree has a stripped program and its debug file; other is another program. */
static void make_tree(void)
{
    fixture_need("gcc objcopy strip");
    fixture_text("prog.c", "int twice(int x) { return x * 7; }\n"
                           "int main(int n, char **v) { (void)v; return twice(n); }\n");
    fixture_run("rm -rf tree cache && mkdir -p tree/a tree/b &&"
                "gcc -g -O1 -Wl,--build-id=0x00aabbccdd prog.c -o prog &&"
                "gcc -g -O2 -Wl,--build-id=0x1122334455 prog.c -o other &&"
                "objcopy --only-keep-debug prog tree/a/whatever &&"
                "strip prog -o tree/b/prog && cp other tree/b/");
}

static void finds_by_build_id_alone(void **state)
{
    (void)state;
    make_tree();
    struct fw_source_info info;
    struct fw_symbolicator *symbolicator = make(fixture_path("tree"), NULL);
    struct fw_source_request request = request_of(NULL, NULL, wanted, sizeof wanted);
    struct fw_source *source = open_it(symbolicator, request, &info);
    assert_true(ends_with(info.path, "tree/b/prog"));
    assert_true(ends_with(info.debug_path, "tree/a/whatever"));
    assert_int_equal(info.kind, FW_SOURCE_DWARF);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);

    /* The debug file alone is enough, in the usual place too. */
    fixture_run("rm tree/b/prog && mkdir -p tree/.build-id/00 &&"
                "mv tree/a/whatever tree/.build-id/00/aabbccdd.debug");
    symbolicator = make(fixture_path("tree"), NULL);
    source = open_it(symbolicator, request, &info);
    assert_true(ends_with(info.path, "tree/.build-id/00/aabbccdd.debug"));
    assert_int_equal(info.kind, FW_SOURCE_DWARF);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
}

static void says_what_was_looked_for(void **state)
{
    (void)state;
    make_tree();
    static const uint8_t unknown[] = {0xde, 0xad, 0xbe, 0xef};
    struct fw_symbolicator *symbolicator = make(fixture_path("tree"), NULL);
    struct fw_failure why =
        refused(symbolicator, request_of(NULL, NULL, unknown, sizeof unknown), FW_ERR_NOT_FOUND);
    expect_text(why.message, "deadbeef");
    expect_text(why.message, "tree/.build-id/de/adbeef.debug");
    why = refused(symbolicator, request_of(NULL, NULL, NULL, 0), FW_ERR_ARGUMENT);
    expect_text(why.message, "neither");
    fw_symbolicator_destroy(symbolicator);
    /* The folder is told of; a short path leaves room for it. */
    assert_int_equal(chdir(fixture_path(".")), 0);
    symbolicator = make("tree", NULL);
    why = refused(symbolicator, request_of(NULL, NULL, unknown, sizeof unknown), FW_ERR_NOT_FOUND);
    expect_text(why.message, "tree (none of 3 object files: ");
    fw_symbolicator_destroy(symbolicator);
}

static void looks_on_when_the_path_is_another_program(void **state)
{
    (void)state;
    make_tree();
    char other[512];
    snprintf(other, sizeof other, "%s", fixture_path("other"));
    struct fw_source_request request = request_of(other, NULL, wanted, sizeof wanted);
    struct fw_source_info info;
    struct fw_symbolicator *symbolicator = make(fixture_path("tree"), NULL);
    struct fw_source *source = open_it(symbolicator, request, &info);
    assert_true(ends_with(info.path, "tree/b/prog"));
    expect_text(info.searched, "1122334455");
    expect_text(info.searched, "00aabbccdd");
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
    symbolicator = make(NULL, NULL);
    struct fw_failure why = refused(symbolicator, request, FW_ERR_NOT_FOUND);
    expect_text(why.message, "1122334455");
    expect_text(why.message, "00aabbccdd");
    fw_symbolicator_destroy(symbolicator);
}

/* A whole conversion leaves a map in the cache, which is found by its identity like any file. */
static void finds_a_symbol_map_by_identity(void **state)
{
    (void)state;
    make_tree();
    enum { MANY = 1000 };
    struct fw_address addresses[MANY] = {0};
    char cache[512], program[512];
    snprintf(cache, sizeof cache, "%s", fixture_path("cache"));
    snprintf(program, sizeof program, "%s", fixture_path("prog"));
    uint64_t twice = fixture_nm("", "prog", "twice");
    for (size_t i = 0; i < MANY; i++)
        addresses[i].value = twice + i;
    struct fw_symbolicator *symbolicator = make(NULL, cache);
    struct fw_source_info info;
    struct fw_source *source = open_it(symbolicator, request_of(program, NULL, NULL, 0), &info);
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, addresses, MANY, &symbols, NULL), FW_OK);
    assert_string_equal(symbols->items[0].frames[0].function, "twice");
    fw_symbols_free(symbols);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);

    fixture_run("rm -rf tree/a && mv cache/*.symmap tree/kept");
    symbolicator = make(fixture_path("tree"), NULL);
    source = open_it(symbolicator, request_of(NULL, NULL, wanted, sizeof wanted), &info);
    assert_true(ends_with(info.path, "tree/kept"));
    assert_int_equal(info.kind, FW_SOURCE_MAP);
    struct object *object = fixture_open("prog");
    assert_string_equal(info.arch, object_arch_name(object));
    object_close(object);
    struct symmap *map;
    assert_int_equal(symmap_open(info.path, &map, NULL), FW_OK);
    const struct symmap_identity *identity = symmap_identity(map);
    assert_int_equal(identity->id_kind, SYMMAP_ID_BUILD_ID);
    expect_text(identity->producer, "GNU C");
    expect_text(identity->converter, "framewalk ");
    symmap_close(map);
    fw_source_close(source);
    /* A map that is named is checked as well. */
    snprintf(program, sizeof program, "%s", fixture_path("tree/kept"));
    static const uint8_t unknown[] = {0xde, 0xad, 0xbe, 0xef};
    struct fw_failure why =
        refused(symbolicator, request_of(program, NULL, unknown, sizeof unknown), FW_ERR_NOT_FOUND);
    expect_text(why.message, "00aabbccdd, not deadbeef");
    fw_symbolicator_destroy(symbolicator);
}

static void reads_symbols_of_other_tools(void **state)
{
    (void)state;
    fixture_text("prog.sym", "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 prog\n"
                             "FILE 0 /src/prog.c\n"
                             "FUNC 1000 20 0 twice(int)\n"
                             "1000 8 12 0\n"
                             "1008 18 13 0\n"
                             "PUBLIC 2000 0 _start\n");
    struct fw_symbolicator *symbolicator = make(NULL, NULL);
    struct fw_source_info info;
    struct fw_source *source =
        open_it(symbolicator, request_of(fixture_path("prog.sym"), NULL, NULL, 0), &info);
    assert_int_equal(info.kind, FW_SOURCE_MAP);
    const struct fw_address addresses[] = {{0x1009, FW_ADDRESS_IMAGE}, {0x900, FW_ADDRESS_IMAGE}};
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, addresses, 2, &symbols, NULL), FW_OK);
    assert_string_equal(symbols->items[0].frames[0].function, "twice(int)");
    assert_string_equal(symbols->items[0].frames[0].file, "/src/prog.c");
    assert_int_equal(symbols->items[0].frames[0].line, 13);
    assert_int_equal(symbols->items[1].frame_count, 0);
    fw_symbols_free(symbols);
    fw_source_close(source);
    /* What begins like GSYM and is none is an error, not a crash. */
    fixture_write("bad.gsym", "MYSG\1\0\10\24aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 48);
    struct fw_failure why = {0};
    struct fw_source_request request = request_of(fixture_path("bad.gsym"), NULL, NULL, 0);
    assert_int_not_equal(fw_source_open(symbolicator, &request, &source, &why), FW_OK);
    expect_text(why.message, "bad.gsym");
    fw_symbolicator_destroy(symbolicator);
}

static void refuses_a_core_file(void **state)
{
    (void)state;
    make_tree();
    fixture_run(
        "cp prog core && printf '\\004\\000' | dd of=core bs=1 seek=16 conv=notrunc 2>/dev/null");
    struct fw_symbolicator *symbolicator = make(NULL, NULL);
    struct fw_failure why =
        refused(symbolicator, request_of(fixture_path("core"), NULL, NULL, 0), FW_ERR_FORMAT);
    expect_text(why.message, "framewalk dump");
    fw_symbolicator_destroy(symbolicator);
}

static void reads_relocatable_objects(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("part.c", "__attribute__((section(\".text.other\"), noinline)) int far(int x)\n"
                           "{\n    return x + 3;\n}\n"
                           "int near(int x)\n{\n    return far(x) * 2;\n}\n");
    fixture_run("gcc -g -O0 -c part.c -o part.o && rm -rf tree && mkdir tree &&"
                "objcopy --only-keep-debug part.o part.debug && strip -g part.o -o bare.o &&"
                "objcopy --add-gnu-debuglink=part.debug bare.o");
    static const char *const names[] = {"part.o", "bare.o"};
    for (size_t i = 0; i < 2; i++) {
        struct object *object = fixture_open(names[i]);
        struct object_section section;
        uint64_t far = UINT64_MAX, near = UINT64_MAX;
        for (size_t k = 0; object_section_at(object, k, &section); k++) {
            if (strcmp(section.name, ".text.other") == 0)
                far = section.vaddr;
            if (strcmp(section.name, ".text") == 0)
                near = section.vaddr;
        }
        object_close(object);
        assert_int_not_equal(far, near);
        struct fw_symbolicator *symbolicator = make(NULL, NULL);
        struct fw_source_info info;
        struct fw_source *source =
            open_it(symbolicator, request_of(fixture_path(names[i]), NULL, NULL, 0), &info);
        const struct fw_address addresses[] = {{near, FW_ADDRESS_LINK}, {far, FW_ADDRESS_LINK}};
        struct fw_symbols *symbols;
        assert_int_equal(fw_symbolicate(source, addresses, 2, &symbols, NULL), FW_OK);
        assert_int_equal(info.kind, FW_SOURCE_DWARF);
        assert_string_equal(symbols->items[0].frames[0].function, "near");
        assert_int_equal(symbols->items[0].frames[0].line, 6);
        assert_string_equal(symbols->items[1].frames[0].function, "far");
        assert_int_equal(symbols->items[1].frames[0].line, 2);
        fw_symbols_free(symbols);
        fw_source_close(source);
        fw_symbolicator_destroy(symbolicator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_the_slice_that_is_wanted),
        cmocka_unit_test(finds_a_slice_and_a_dsym_by_uuid),
        cmocka_unit_test(a_dsym_alone_knows_its_image),
        cmocka_unit_test(finds_by_build_id_alone),
        cmocka_unit_test(says_what_was_looked_for),
        cmocka_unit_test(looks_on_when_the_path_is_another_program),
        cmocka_unit_test(finds_a_symbol_map_by_identity),
        cmocka_unit_test(reads_symbols_of_other_tools),
        cmocka_unit_test(refuses_a_core_file),
        cmocka_unit_test(reads_relocatable_objects),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
