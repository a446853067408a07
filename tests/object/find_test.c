/* Separate debug files: every place that is looked at, and every wrong file that is refused. */
#include "object/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A folder tree: usr/bin/prog (stripped), its debug file prog.debug, and other.debug of a program
 * that differs. Each test puts them where it wants them. */
static void make_tree(const char *id)
{
    fixture_need("gcc objcopy strip");
    fixture_text("prog.c", "static __attribute__((noinline)) int hidden(int x) { return x * 7; }\n"
                           "int main(int n, char **v) { (void)v; return hidden(n); }\n");
    fixture_run("rm -rf usr debug other && mkdir -p usr/bin usr/lib/debug && rm -f *.debug &&"
                "gcc -g -O1 %s prog.c -o prog && gcc -g -O1 %s -DX prog.c -o other &&"
                "objcopy --only-keep-debug prog prog.debug &&"
                "objcopy --only-keep-debug other other.debug && printf x >>other.debug &&"
                "strip prog -o usr/bin/prog &&"
                "objcopy --add-gnu-debuglink=prog.debug usr/bin/prog",
                id, id);
}

static fw_error find(const char *path, const char *root, struct object **debug,
                     struct fw_failure *why)
{
    char whole[512], prefix[512], dir[512];
    snprintf(whole, sizeof whole, "%s", fixture_path(path));
    snprintf(prefix, sizeof prefix, "%s", fixture_path(root ? root : "."));
    snprintf(dir, sizeof dir, "%s", fixture_path("usr/lib/debug"));
    const char *own[] = {dir, NULL};
    struct object *object;
    assert_int_equal(object_open(whole, &object, NULL), FW_OK);
    fw_error error =
        root ? object_find_debug(object, strstr(whole, path) - 1, prefix, NULL, debug, why)
             : object_find_debug(object, whole, NULL, own, debug, why);
    object_close(object);
    return error;
}

static void expect_found(const char *path, const char *root)
{
    struct object *debug;
    struct fw_failure why = {0};
    if (find(path, root, &debug, &why) != FW_OK)
        fail_msg("%s", why.message);
    struct object *object;
    assert_int_equal(object_open(fixture_path(path), &object, NULL), FW_OK);
    struct symbols *symbols = symbols_build(object, debug);
    struct symbol_match match;
    assert_true(symbols_lookup(symbols, fixture_nm("", "prog", "hidden"), &match));
    assert_string_equal(match.name, "hidden");
    symbols_destroy(symbols);
    object_close(object);
    object_close(debug);
}

static void expect_refused(const char *path, const char *reason)
{
    struct object *debug;
    struct fw_failure why = {0};
    assert_int_equal(find(path, NULL, &debug, &why), FW_ERR_NOT_FOUND);
    assert_null(debug);
    if (!strstr(why.message, reason))
        fail_msg("\"%s\" does not say: %s", why.message, reason);
}

#define ID "-Wl,--build-id=0x00aabbccdd"
#define PLACED                                                                                     \
    "mkdir -p usr/lib/debug/.build-id/00 && cp %s usr/lib/debug/.build-id/00/aabbccdd.debug"

static void by_build_id(void **state)
{
    (void)state;
    make_tree(ID);
    fixture_run(PLACED, "prog.debug");
    expect_found("usr/bin/prog", NULL);
    expect_found("usr/bin/prog", "."); /* /usr/lib/debug below the root */
}

static void by_debug_link(void **state)
{
    (void)state;
    static const char *const places[] = {"usr/bin", "usr/bin/.debug"};
    for (size_t i = 0; i < 2; i++) {
        make_tree("-Wl,--build-id=none");
        fixture_run("mkdir -p %s && cp prog.debug %s/", places[i], places[i]);
        expect_found("usr/bin/prog", NULL);
        expect_found("usr/bin/prog", ".");
    }
    make_tree("-Wl,--build-id=none");
    fixture_run("mkdir -p usr/lib/debug/usr/bin && cp prog.debug usr/lib/debug/usr/bin/");
    expect_found("usr/bin/prog", ".");
    fixture_run("rm -r usr/lib/debug/usr && mkdir -p \"usr/lib/debug/$PWD/usr/bin\" &&"
                "cp prog.debug \"usr/lib/debug/$PWD/usr/bin/\"");
    expect_found("usr/bin/prog", NULL);
    fixture_run("ln -s usr/bin/prog link"); /* by the real path */
    expect_found("link", NULL);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    make_tree("-Wl,--build-id=none");
    fixture_run("cp other.debug usr/bin/prog.debug");
    expect_refused("usr/bin/prog", "usr/bin/prog.debug (other CRC)");

    make_tree("-Wl,--build-id=sha1");
    fixture_run("gcc -g -O2 -Wl,--build-id=sha1 prog.c -o other &&"
                "objcopy --only-keep-debug other usr/bin/prog.debug");
    expect_refused("usr/bin/prog", "(other build id)");

    make_tree(ID);
    fixture_run("gcc -g -Wl,--build-id=0x1122 prog.c -o other");
    fixture_run(PLACED, "other");
    expect_refused("usr/bin/prog", "(other build id)");

    fixture_run("gcc -g -Wl,--build-id=none prog.c -o other");
    fixture_run(PLACED, "other");
    expect_refused("usr/bin/prog", "(no build id)");

    fixture_run("rm usr/lib/debug/.build-id/00/* &&"
                "ln usr/bin/prog usr/lib/debug/.build-id/00/aabbccdd.debug");
    expect_refused("usr/bin/prog", "(is the file itself)");

    fixture_run("rm usr/lib/debug/.build-id/00/* &&"
                "head -c 3000 prog.debug >usr/lib/debug/.build-id/00/aabbccdd.debug");
    expect_refused("usr/bin/prog", "(truncated)");

    fixture_run("printf nonsense >usr/lib/debug/.build-id/00/aabbccdd.debug");
    expect_refused("usr/bin/prog", "(unknown file format)");

    fixture_run(
        "rm usr/lib/debug/.build-id/00/*; mkfifo usr/lib/debug/.build-id/00/aabbccdd.debug");
    expect_refused("usr/bin/prog", "(unknown file format)");

    if (fixture_try("gcc -m32 -g " ID " prog.c -o other")) {
        fixture_run("rm usr/lib/debug/.build-id/00/*");
        fixture_run(PLACED, "other");
        expect_refused("usr/bin/prog", "(other architecture)");
    }
}

static void says_where_it_looked(void **state)
{
    (void)state;
    make_tree(ID);
    expect_refused("usr/bin/prog", "/.build-id/00/aabbccdd.debug");
    make_tree("-Wl,--build-id=none");
    fixture_run("strip prog -o usr/bin/prog");
    expect_refused("usr/bin/prog", "neither a build id nor a debug link");
}

static void links_that_lead_elsewhere_are_not_followed(void **state)
{
    (void)state;
    make_tree("-Wl,--build-id=none");
    fixture_run("cp prog.debug prg.debug && cp prog.debug usr/bin/");
    size_t size;
    uint8_t *bytes = fixture_read("usr/bin/prog", &size);
    uint8_t *name = memmem(bytes, size, "prog.debug", 11);
    assert_non_null(name);
    memcpy(name, "../g.debug", 10);
    fixture_write("usr/bin/prog", bytes, size);
    fixture_run("cp prog.debug usr/g.debug");
    expect_refused("usr/bin/prog", "neither");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_build_id),
        cmocka_unit_test(by_debug_link),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(says_where_it_looked),
        cmocka_unit_test(links_that_lead_elsewhere_are_not_followed),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
