/* Opening what people name, and finding what belongs to an image: dSYM bundles, applications,
 * frameworks, archives of either format, the debug map. */
#include "object/debug_map.h"
#include "object/debug_sections.h"
#include "object/dsym.h"
#include "object/fixture.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA   FW_SHARED_DATA "/debug/"
#define EXE    DATA "llvm-symbolizer/Inputs/dsym-test-exe"
#define SAMPLY DATA "samply/other/simple-example/out/mac-dsym/main"

static void need_data(void)
{
    if (access(EXE, R_OK) != 0) {
        print_message("skipped: there is no " DATA "\n");
        skip();
    }
}

static struct object *open_path(const char *path, const char *arch)
{
    struct object *object = NULL;
    struct fw_failure why = {0};
    struct object_choice choice = {.arch = arch};
    if (object_open_path(path, arch ? &choice : NULL, &object, &why) != FW_OK)
        fail_msg("%s", why.message);
    return object;
}

static void refuses(const char *path, const char *arch, fw_error error, const char *says)
{
    struct object *object;
    struct fw_failure why = {0};
    struct object_choice choice = {.arch = arch};
    assert_int_equal(object_open_path(path, arch ? &choice : NULL, &object, &why), error);
    assert_null(object);
    assert_int_equal(why.code, error);
    if (!strstr(why.message, says))
        fail_msg("'%s' does not say '%s'", why.message, says);
}

/* The dSYM of `image`, which has to be found; its identity is checked again. */
static void finds(const char *image, const char *const *folders)
{
    struct object *object = open_path(image, NULL), *dsym = NULL;
    struct fw_failure why = {0};
    if (object_find_dsym(object, image, folders, &dsym, &why) != FW_OK)
        fail_msg("%s", why.message);
    struct span a = object_build_id(object), b = object_build_id(dsym), info;
    assert_int_equal(a.size, 16);
    assert_int_equal(b.size, 16);
    assert_memory_equal(a.data, b.data, 16);
    assert_int_equal(object_type(dsym), OBJECT_DSYM);
    assert_int_equal(object_base(dsym), object_base(object));
    assert_int_equal(object_debug_section(dsym, "info", false, &info, NULL), FW_OK);
    assert_true(info.size > 0);
    object_close(dsym);
    object_close(object);
}

static void misses(const char *image, const char *const *folders, const char *const *says)
{
    struct object *object = open_path(image, NULL), *dsym = NULL;
    struct fw_failure why = {0};
    assert_int_equal(object_find_dsym(object, image, folders, &dsym, &why), FW_ERR_NOT_FOUND);
    assert_null(dsym);
    for (; *says; says++)
        if (!strstr(why.message, *says))
            fail_msg("'%s' does not say '%s'", why.message, *says);
    object_close(object);
}

static void dsym_beside_the_image(void **state)
{
    (void)state;
    need_data();
    finds(EXE, NULL);
    finds(EXE "-second", NULL); /* the bundle has another name */
    finds(SAMPLY, NULL);
}

static void dsym_of_a_bundle_around(void **state)
{
    (void)state;
    need_data();
    fixture_run("mkdir -p 'My App.app/Contents/MacOS' && cp " EXE
                " 'My App.app/Contents/MacOS/Starter' && cp -r " EXE ".dSYM 'My App.app.dSYM'");
    fixture_text("My App.app/Contents/Info.plist",
                 "<plist><dict><key>CFBundleName</key><string>x</string>\n"
                 "<key>CFBundleExecutable</key>\n\t<string>Starter</string></dict></plist>");
    struct object *object = open_path(fixture_path("My App.app"), NULL);
    assert_non_null(strstr(object_label(object), "MacOS/Starter"));
    object_close(object);
    finds(fixture_path("My App.app/Contents/MacOS/Starter"), NULL);

    fixture_run("mkdir -p Foo.framework/Versions/A && cp " EXE " Foo.framework/Versions/A/Foo && "
                "ln -s A Foo.framework/Versions/Current && "
                "ln -s Versions/Current/Foo Foo.framework/Foo && cp -r " EXE
                ".dSYM Foo.framework.dSYM");
    object = open_path(fixture_path("Foo.framework"), NULL);
    assert_int_equal(object_type(object), OBJECT_EXECUTABLE);
    object_close(object);
    finds(fixture_path("Foo.framework/Foo"), NULL);

    fixture_run("mkdir -p a.xcarchive/dSYMs a.xcarchive/Products/X.app && cp " EXE
                " a.xcarchive/Products/X.app/X && cp -r " EXE ".dSYM a.xcarchive/dSYMs/Y.dSYM");
    finds(fixture_path("a.xcarchive/Products/X.app/X"), NULL);
}

static void dsym_in_a_tree(void **state)
{
    (void)state;
    need_data();
    fixture_run("mkdir -p alone 'tree/a b/outer.dSYM' tree/empty && cp " EXE " alone/x && cp " EXE
                " tree/x && cp -r " EXE
                ".dSYM 'tree/a b/outer.dSYM/inner.dSYM' && ln -s .. tree/up");
    char tree[256], bundle[256], file[512];
    snprintf(tree, sizeof tree, "%s", fixture_path("tree"));
    snprintf(bundle, sizeof bundle, "%s", fixture_path("tree/a b/outer.dSYM/inner.dSYM"));
    snprintf(file, sizeof file, "%s/Contents/Resources/DWARF/dsym-test-exe", bundle);
    const char *const in_tree[] = {"/nonexistent", tree, NULL};
    const char *const as_bundle[] = {bundle, NULL}, *const as_file[] = {file, NULL};
    finds(fixture_path("alone/x"), in_tree);
    finds(fixture_path("alone/x"), as_bundle);
    finds(fixture_path("alone/x"), as_file);

    struct object *dsym = open_path(bundle, "x86_64");
    assert_int_equal(object_type(dsym), OBJECT_DSYM);
    object_close(dsym);
    refuses(bundle, "arm64", FW_ERR_NOT_FOUND, "is x86_64, not arm64");
}

static void wrong_dsym_is_named(void **state)
{
    (void)state;
    need_data();
    fixture_run("mkdir -p wrong empty && cp " EXE " wrong/x && cp -r " SAMPLY ".dSYM wrong/x.dSYM");
    struct object *other = open_path(SAMPLY ".dSYM", NULL);
    char uuid[64] = "UUID ";
    struct span id = object_build_id(other);
    for (size_t i = 0; i < id.size; i++)
        snprintf(uuid + 5 + 2 * i, 3, "%02x", id.data[i]);
    object_close(other);
    const char *const says[] = {"x.dSYM", uuid, NULL};
    misses(fixture_path("wrong/x"), NULL, says);
    char empty[256];
    snprintf(empty, sizeof empty, "%s", fixture_path("empty"));
    const char *const folders[] = {empty, "/nonexistent", NULL};
    const char *const places[] = {"empty (no file of this UUID)", "none at ", "/nonexistent", NULL};
    fixture_run("mkdir -p bare && cp " EXE " bare/x");
    misses(fixture_path("bare/x"), folders, places);
}

static void archives(void **state)
{
    (void)state;
    fixture_need("gcc ar llvm-ar-19 clang-19");
    fixture_text("a.c", "int a(void) { return 1; }\n");
    fixture_text("b.c", "int b(void) { return 2; }\n");
    fixture_run(
        "gcc -g -c a.c -o a.o && gcc -g -c b.c -o a_member_with_a_long_name.o && "
        "ar rc libgnu.a a.o a_member_with_a_long_name.o && ar rcT libthin.a a.o && "
        "clang-19 -target arm64-apple-macos11 -g -c a.c -o ma.o && "
        "clang-19 -target arm64-apple-macos11 -g -c b.c -o 'a member with a long name.o' && "
        "llvm-ar-19 --format=darwin rc libmac.a ma.o 'a member with a long name.o'");
    static const struct {
        const char *path, *arch;
    } members[] = {{"libgnu.a(a.o)", NULL},
                   {"libgnu.a(a_member_with_a_long_name.o)", NULL},
                   {"libmac.a(ma.o)", "arm64"},
                   {"libmac.a(a member with a long name.o)", "arm64"}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        struct object *object = open_path(fixture_path(members[i].path), members[i].arch);
        assert_int_equal(object_type(object), OBJECT_RELOCATABLE);
        assert_string_equal(object_label(object), fixture_path(members[i].path));
        struct span info;
        struct fw_failure why = {0};
        assert_int_equal(object_debug_section(object, "info", false, &info, &why), FW_OK);
        assert_int_equal(why.code, FW_OK);
        struct symbols *symbols = symbols_build(object, NULL);
        struct symbol_match match;
        assert_true(symbols_lookup(symbols, 0, &match));
        assert_string_equal(match.name, i % 2 ? "b" : "a");
        symbols_destroy(symbols);
        object_close(object);
    }
    refuses(fixture_path("libgnu.a"), NULL, FW_ERR_ARGUMENT, "a_member_with_a_long_name.o");
    refuses(fixture_path("libgnu.a(c.o)"), NULL, FW_ERR_NOT_FOUND, "has no member c.o");
    refuses(fixture_path("libthin.a(a.o)"), NULL, FW_ERR_UNSUPPORTED, "thin archive");
    refuses(fixture_path("a.o(b.o)"), NULL, FW_ERR_FORMAT, "is no archive");
    refuses(fixture_path("libmac.a(ma.o)"), "x86_64", FW_ERR_NOT_FOUND, "is arm64, not x86_64");
}

static void slices_of_archives(void **state)
{
    (void)state;
    need_data();
    static const char *const archs[] = {"x86_64", "i386", "x86_64h"};
    for (size_t i = 0; i < 3; i++) {
        struct object *object = open_path(DATA "llvm-dsymutil/libfat-test.a(fat-test.o)", archs[i]);
        assert_string_equal(object_arch_name(object), archs[i]);
        object_close(object);
    }
    refuses(DATA "llvm-dsymutil/libfat-test.a(fat-test.o)", NULL, FW_ERR_ARGUMENT,
            "x86_64, i386, x86_64h");
    refuses(DATA "llvm-dsymutil/libfat-test.a(fat-test.o)", "arm64", FW_ERR_NOT_FOUND, "arm64");
}

/* Lines as `nm -a` shows the map. */
struct map_text {
    char text[1 << 20];
    size_t used, objects, functions;
};

static bool take_object(void *context, const struct debug_map_object *entry)
{
    struct map_text *map = context;
    map->objects++;
    map->used +=
        (size_t)snprintf(map->text + map->used, sizeof map->text - map->used, "OSO %016llx %s\n",
                         (unsigned long long)entry->modified, entry->path);
    for (size_t i = 0; i < entry->function_count; i++, map->functions++)
        map->used += (size_t)snprintf(
            map->text + map->used, sizeof map->text - map->used, "FUN %016llx %016llx %s\n",
            (unsigned long long)entry->functions[i].vaddr,
            (unsigned long long)entry->functions[i].size, entry->functions[i].name);
    return true;
}

static void debug_map_as_nm_has_it(void **state)
{
    (void)state;
    need_data();
    fixture_need("llvm-nm-19 awk");
    static const char *const files[] = {
        DATA "samply/other/simple-example/out/mac-oso/main",
        DATA "samply/other/abstract-linkage-names/out/mac-oso/main",
        DATA "llvm-dsymutil/basic-archive.macho.x86_64",
        DATA "llvm-dsymutil/private/tmp/templated_operators/template_operators",
        DATA "llvm-dsymutil/private/tmp/collision/main.out",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct map_text *map = calloc(1, sizeof *map);
        assert_non_null(map);
        struct object *object = open_path(files[i], NULL);
        assert_int_equal(object_debug_map(object, take_object, map, NULL), FW_OK);
        char *theirs = fixture_output(
            "llvm-nm-19 -ap '%s' | awk '$5 == \"OSO\" { print \"OSO\", $1, substr($0, index($0, "
            "\"OSO\") + 4) } $5 == \"FUN\" && NF > 5 { a = $1; n = $6; sub(/^_/, \"\", n) } "
            "$5 == \"FUN\" && NF == 5 { print \"FUN\", a, $1, n }'",
            files[i]);
        assert_string_equal(map->text, theirs);
        print_message("%s: %zu objects, %zu functions\n", files[i], map->objects, map->functions);
        assert_true(map->objects && map->functions);
        free(theirs);
        free(map);
        object_close(object);
    }
    struct object *dsym = open_path(EXE ".dSYM", NULL);
    assert_int_equal(object_debug_map(dsym, take_object, NULL, NULL), FW_ERR_NOT_FOUND);
    object_close(dsym);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dsym_beside_the_image),
        cmocka_unit_test(dsym_of_a_bundle_around),
        cmocka_unit_test(dsym_in_a_tree),
        cmocka_unit_test(wrong_dsym_is_named),
        cmocka_unit_test(archives),
        cmocka_unit_test(slices_of_archives),
        cmocka_unit_test(debug_map_as_nm_has_it),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
