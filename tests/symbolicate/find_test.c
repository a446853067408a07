/* Debug files and their companions: every place, every wrong file refused and said. */
#include "symbolicate/find.h"

#include "object/codecs.h"
#include "object/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct result {
    struct object *object;
    struct debug_files *files;
};

/* `folders`: names in the fixture's folder, separated by spaces; `sysroot` likewise or NULL. */
static struct result find_at(const char *path, const char *folders, const char *sysroot)
{
    char list[4][512], root[512], copy[256];
    const char *names[5] = {NULL};
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", folders ? folders : "");
    for (char *word = strtok(copy, " "); word && count < 4; word = strtok(NULL, " ")) {
        snprintf(list[count], sizeof list[count], "%s", fixture_path(word));
        names[count] = list[count];
        count++;
    }
    if (sysroot)
        snprintf(root, sizeof root, "%s", fixture_path(sysroot));
    struct debug_find_options options = {.folders = names, .sysroot = sysroot ? root : NULL};
    struct result r;
    struct fw_failure why = {0};
    if (object_open(path, &r.object, &why) != FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(debug_files_find(r.object, path, &options, &r.files, &why), FW_OK);
    return r;
}

static struct result find(const char *name, const char *folders, const char *sysroot)
{
    char path[512];
    snprintf(path, sizeof path, "%s", fixture_path(name));
    return find_at(path, folders, sysroot);
}

static void done(struct result *r)
{
    debug_files_close(r->files);
    object_close(r->object);
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static void expect_object(const struct result *r, const struct object *object, const char *end)
{
    char *story = debug_files_story(r->files);
    if (!object)
        fail_msg("%s was not found: %s", end, story);
    if (!ends_with(object_label(object), end))
        fail_msg("found %s instead of %s", object_label(object), end);
    free(story);
}

/* A place whose path ends so has this outcome. */
static void expect_place(const struct result *r, const char *end, const char *outcome)
{
    for (size_t i = 0; i < r->files->place_count; i++)
        if (ends_with(r->files->places[i].path, end) &&
            strcmp(r->files->places[i].outcome, outcome) == 0)
            return;
    for (size_t i = 0; i < r->files->place_count; i++)
        print_message("%s: %s\n", r->files->places[i].path, r->files->places[i].outcome);
    fail_msg("no place .../%s with the outcome \"%s\"", end, outcome);
}

static const char source[] =
    "static __attribute__((noinline)) int hidden(int x) { return x * 7; }\n"
    "int main(int n, char **v) { (void)v; return hidden(n); }\n";
#define ID "-Wl,--build-id=0x00aabbccdd"

/* bin/prog is stripped, prog.debug its debug file, other.debug that of a program that differs. */
static void make_tree(const char *id)
{
    fixture_need("gcc objcopy strip");
    fixture_text("prog.c", source);
    fixture_run(
        "rm -rf bin tree root *.debug && mkdir -p bin tree && gcc -g -O1 %s prog.c -o prog &&"
        "gcc -g -O2 -Wl,--build-id=0x1122334455 prog.c -o other &&"
        "objcopy --only-keep-debug prog prog.debug &&"
        "objcopy --only-keep-debug other other.debug &&"
        "strip prog -o bin/prog && objcopy --add-gnu-debuglink=prog.debug bin/prog",
        id);
}

static void needs_none_when_it_has_its_own(void **state)
{
    (void)state;
    make_tree(ID);
    struct result r = find("prog", "tree", NULL);
    assert_null(r.files->debug);
    assert_int_equal(r.files->place_count, 0);
    assert_true(debug_files_has_dwarf(r.object));
    done(&r);
    r = find("bin/prog", NULL, NULL);
    assert_false(debug_files_has_dwarf(r.object));
    done(&r);
}

static void finds_the_debug_file(void **state)
{
    (void)state;
    static const char *const places[] = {
        "bin/prog.debug",
        "bin/.debug/prog.debug",
        "tree/.build-id/00/aabbccdd.debug",
        "tree/deep/er/any name at all",
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        make_tree(ID);
        fixture_run("mkdir -p \"$(dirname '%s')\" && cp prog.debug '%s' &&"
                    "cp bin/prog tree/stripped && cp other.debug tree/ && echo text >tree/text",
                    places[i], places[i]);
        struct result r = find("bin/prog", "tree", NULL);
        expect_object(&r, r.files->debug, places[i]);
        expect_place(&r, places[i], "found");
        done(&r);
    }
    /* Without a build id: by the link's name and CRC, anywhere in a tree. */
    make_tree("-Wl,--build-id=none");
    fixture_run("mkdir -p tree/a tree/b && cp other.debug tree/a/prog.debug &&"
                "cp prog.debug tree/b/prog.debug");
    struct result r = find("bin/prog", "tree", NULL);
    expect_object(&r, r.files->debug, "tree/b/prog.debug");
    done(&r);
}

static void looks_below_the_sysroot(void **state)
{
    (void)state;
    make_tree(ID);
    fixture_run(
        "mkdir -p root/usr/lib/debug/.build-id/00 root/usr/bin && cp bin/prog root/usr/bin/ &&"
        "cp prog.debug root/usr/lib/debug/.build-id/00/aabbccdd.debug");
    struct result r = find("bin/prog", NULL, "root/");
    expect_object(&r, r.files->debug, "root/usr/lib/debug/.build-id/00/aabbccdd.debug");
    done(&r);
    make_tree("-Wl,--build-id=none");
    fixture_run("mkdir -p root/usr/lib/debug/usr/bin root/usr/bin && cp bin/prog root/usr/bin/ &&"
                "cp prog.debug root/usr/lib/debug/usr/bin/prog.debug");
    r = find("root/usr/bin/prog", NULL, "root");
    expect_object(&r, r.files->debug, "root/usr/lib/debug/usr/bin/prog.debug");
    done(&r);
}

static void refuses_and_says(void **state)
{
    (void)state;
    make_tree(ID);
    fixture_run("mkdir -p tree/.build-id/00 bin/.debug && cp other.debug bin/prog.debug &&"
                "echo text >bin/.debug/prog.debug &&"
                "cp bin/prog tree/.build-id/00/aabbccdd.debug");
    struct result r = find("bin/prog", "tree", NULL);
    assert_null(r.files->debug);
    expect_place(&r, "tree/.build-id/00/aabbccdd.debug", "no symbols and no debug information");
    expect_place(&r, "bin/prog.debug", "other build id");
    expect_place(&r, "bin/.debug/prog.debug", "unknown file format");
    expect_place(&r, "usr/lib/debug/.build-id/00/aabbccdd.debug", "no such file");
    char *story = debug_files_story(r.files);
    assert_non_null(strstr(story, "bin/prog.debug (other build id)"));
    assert_non_null(strstr(story, "; none at "));
    free(story);
    done(&r);

    make_tree("-Wl,--build-id=none");
    fixture_run("cp other.debug bin/prog.debug && objcopy --remove-section .note.gnu.build-id "
                "bin/prog.debug");
    r = find("bin/prog", NULL, NULL);
    assert_null(r.files->debug);
    expect_place(&r, "bin/prog.debug", "other CRC");
    done(&r);

    /* A link to itself. */
    fixture_run(
        "cp bin/prog bin/self.debug && objcopy --remove-section .gnu_debuglink bin/self.debug &&"
        "cp bin/self.debug x && objcopy --add-gnu-debuglink=bin/self.debug x bin/self.debug");
    r = find("bin/self.debug", NULL, NULL);
    assert_null(r.files->debug);
    expect_place(&r, "bin/self.debug", "is the file itself");
    done(&r);
}

static void finds_the_supplementary_file(void **state)
{
    (void)state;
    fixture_need("gcc dwz");
    fixture_text("prog.c", source);
    static const struct {
        const char *options, *link, *at;
    } cases[] = {
        {"", "$PWD/abs/c.dwz", "abs/c.dwz"},
        {"", "c.dwz", "bin/c.dwz"},
        {"", "../rel/c.dwz", "bin/../rel/c.dwz"},
        {"", "/nowhere/c.dwz", "bin/c.dwz"},
        {"", "/usr/lib/debug/.dwz/x/c.dwz", "tree/.dwz/x/c.dwz"},
        {"", "/nowhere/c.dwz", "tree/.dwz/c.dwz"},
        {"", "/nowhere/c.dwz", "tree/some/where"},
        {"-5", "../rel/c.dwz", "bin/../rel/c.dwz"},
        {"-5", "/nowhere/c.dwz", "tree/some/where"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_run(
            "rm -rf bin tree abs rel && mkdir -p bin tree abs rel &&"
            "gcc -g -O1 -gdwarf-%d prog.c -o bin/a && gcc -g -O2 -gdwarf-%d prog.c -o bin/b &&"
            "dwz %s -m common -M %s bin/a bin/b && mkdir -p \"$(dirname '%s')\" && mv common '%s'",
            cases[i].options[0] ? 5 : 4, cases[i].options[0] ? 5 : 4, cases[i].options,
            cases[i].link, cases[i].at, cases[i].at);
        struct result r = find("bin/a", "tree", NULL);
        expect_object(&r, r.files->companions.supplementary, cases[i].at);
        assert_null(r.files->debug);
        done(&r);
        /* That of another pair is refused. */
        fixture_text("pair.c",
                     "struct one { int a; char b; } x; struct two { struct one y; long z; } t;"
                     "int main(void) { return x.a + (int)t.z; }\n");
        fixture_run(
            "gcc -g -O1 -gdwarf-4 pair.c -o bin/c && gcc -g -O0 -gdwarf-4 pair.c -o bin/d &&"
            "rm '%s' && dwz -m '%s' bin/c bin/d",
            cases[i].at, cases[i].at);
        r = find("bin/a", "tree", NULL);
        assert_null(r.files->companions.supplementary);
        if (!strstr(cases[i].at, "some"))
            expect_place(&r, cases[i].at, "other build id");
        done(&r);
    }
}

static void finds_supplementary_by_build_id(void **state)
{
    (void)state;
    fixture_need("gcc dwz readelf objcopy strip");
    fixture_text("prog.c", source);
    fixture_run("rm -rf bin tree && mkdir -p bin tree &&"
                "gcc -g -O1 -gdwarf-4 prog.c -o bin/a && gcc -g -O2 -gdwarf-4 prog.c -o bin/b &&"
                "dwz -m common -M /nowhere/c.dwz bin/a bin/b &&"
                "id=$(readelf -n common | sed -n 's/.*Build ID: //p') &&"
                "d=tree/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d &&"
                "mv common $d/$(echo $id | cut -c3-).debug &&"
                "objcopy --only-keep-debug bin/a a.debug && strip bin/a &&"
                "objcopy --add-gnu-debuglink=a.debug bin/a && mv a.debug bin/");
    struct result r = find("bin/a", "tree", NULL);
    expect_object(&r, r.files->debug, "bin/a.debug");
    expect_object(&r, r.files->companions.supplementary, ".debug");
    assert_non_null(strstr(object_label(r.files->companions.supplementary), "tree/.build-id/"));
    done(&r);
}

static void finds_packages(void **state)
{
    (void)state;
    fixture_need("clang-19 llvm-dwp-19 objcopy strip");
    fixture_text("prog.c", source);
    static const char *const places[] = {"bin/prog.dwp", "bin/prog.debug.dwp",
                                         "bin/.debug/prog.dwp", "tree/prog.dwp",
                                         "tree/.build-id/00/aabbccdd.dwp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        bool inner = strstr(places[i], ".debug/") != NULL;
        fixture_run("rm -rf bin tree && mkdir -p bin/.debug tree/.build-id/00 &&"
                    "clang-19 -g -gdwarf-5 -gsplit-dwarf -O1 " ID " prog.c -o prog &&"
                    "llvm-dwp-19 -e prog -o prog.dwp && rm -f *.dwo &&"
                    "objcopy --only-keep-debug prog bin/%sprog.debug && strip prog -o bin/prog &&"
                    "(cd bin/%s. && objcopy --add-gnu-debuglink=prog.debug $OLDPWD/bin/prog) && "
                    "mv prog.dwp '%s'",
                    inner ? ".debug/" : "", inner ? ".debug/" : "", places[i]);
        struct result r = find("bin/prog", "tree", NULL);
        expect_object(&r, r.files->debug, "prog.debug");
        expect_object(&r, r.files->companions.package, places[i]);
        done(&r);
        fixture_run("cp bin/prog '%s'", places[i]); /* no package at all */
        r = find("bin/prog", "tree", NULL);
        assert_null(r.files->companions.package);
        expect_place(&r, places[i], "has no index of units");
        done(&r);
    }
}

static void finds_single_files_of_split_dwarf(void **state)
{
    (void)state;
    fixture_need("clang-19 llvm-dwarfdump-19");
    fixture_text("prog.c", source);
    fixture_run("rm -rf build bin tree && mkdir -p build bin tree &&"
                "cd build && clang-19 -g -gdwarf-5 -gsplit-dwarf -O1 -c ../prog.c -o prog.o &&"
                "clang-19 prog.o -o ../bin/prog");
    char *text =
        fixture_output("llvm-dwarfdump-19 bin/prog | sed -n 's/.*DWO_id = 0x\\([0-9a-f]*\\).*/"
                       "\\1/p' | head -1");
    uint64_t id = strtoull(text, NULL, 16);
    assert_true(id != 0);
    free(text);
    char built[512];
    snprintf(built, sizeof built, "%s", fixture_path("build"));
    struct result r = find("bin/prog", "tree", NULL);
    const struct dwarf_companions *c = &r.files->companions;
    assert_non_null(c->find_dwo);
    struct object *dwo = c->find_dwo(c->context, built, "prog.dwo", id);
    expect_object(&r, dwo, "build/prog.dwo");
    assert_ptr_equal(c->find_dwo(c->context, built, "prog.dwo", id), dwo); /* opened once */
    assert_null(c->find_dwo(c->context, built, "prog.dwo", id + 1)); /* ids differ: a newer build */
    assert_null(c->find_dwo(c->context, built, "none.dwo", id));
    expect_place(&r, "build/none.dwo", "no such file");
    done(&r);

    static const char *const places[] = {"bin/prog.dwo", "bin/sub/prog.dwo", "tree/prog.dwo"};
    for (size_t i = 0; i < 3; i++) {
        fixture_run("mkdir -p bin/sub && mv build/prog.dwo %s", places[i]);
        r = find("bin/prog", "tree", NULL);
        c = &r.files->companions;
        expect_object(&r, c->find_dwo(c->context, "/gone", "sub/prog.dwo", id), places[i]);
        done(&r);
        fixture_run("mv %s build/prog.dwo", places[i]);
    }
    /* A stale one beside the program does not hide the right one. */
    fixture_run(
        "cd bin && clang-19 -g -gdwarf-5 -gsplit-dwarf -O0 -DX -c ../prog.c -o prog.o && cd .. &&"
        "mv build/prog.dwo tree/");
    r = find("bin/prog", "tree", NULL);
    c = &r.files->companions;
    expect_object(&r, c->find_dwo(c->context, "/gone", "prog.dwo", id), "tree/prog.dwo");
    expect_place(&r, "bin/prog.dwo", "other unit id");
    done(&r);
}

#define SAMPLY FW_SHARED_DATA "/debug/samply/other/"

static void finds_those_of_other_projects(void **state)
{
    (void)state;
    if (access(SAMPLY, F_OK) != 0) {
        print_message("skipped: there is no " SAMPLY "\n");
        skip();
    }
    struct result r = find_at(SAMPLY "simple-example/out/regular-debuglink/main", NULL, NULL);
    expect_object(&r, r.files->debug, "regular-debuglink/main.dbg");
    done(&r);
    r = find_at(SAMPLY "simple-example/out/dwp-debuglink/main", NULL, NULL);
    expect_object(&r, r.files->debug, "dwp-debuglink/main.dbg");
    assert_null(r.files->companions.package);
    expect_place(&r, "dwp-debuglink/main.dbg.dwp", "no such file");
    done(&r);
    r = find_at(SAMPLY "simple-example/out/with-dwp/main", NULL, NULL);
    expect_object(&r, r.files->companions.package, "with-dwp/main.dwp");
    done(&r);
    r = find_at(SAMPLY "simple-example/out/with-dwo/main", NULL, NULL);
    const struct dwarf_companions *c = &r.files->companions;
    expect_object(&r, c->find_dwo(c->context, "/nowhere", "out/with-dwo/file2.dwo", 0),
                  "with-dwo/file2.dwo");
    done(&r);
    r = find_at(SAMPLY "ls-linux/ls", NULL, NULL);
    expect_object(&r, r.files->debug, "ls-linux/260a3e6e46db57abf718f6a3562c6eedccf269.debug");
    expect_object(&r, r.files->companions.supplementary, "ls-linux/coreutils.debug");
    done(&r);
}

static void finds_dsyms(void **state)
{
    (void)state;
    if (access(SAMPLY, F_OK) != 0) {
        print_message("skipped: there is no " SAMPLY "\n");
        skip();
    }
    struct result r = find_at(SAMPLY "simple-example/out/mac-dsym/main", NULL, NULL);
    expect_object(&r, r.files->debug, "mac-dsym/main.dSYM/Contents/Resources/DWARF/main");
    expect_place(&r, "DWARF/main", "found");
    done(&r);
    /* Alone it has none; in a folder of the caller's it is found by its UUID. */
    fixture_run("rm -rf alone dsyms && mkdir alone dsyms && cp " SAMPLY
                "simple-example/out/mac-dsym/main alone/prog");
    r = find("alone/prog", NULL, NULL);
    assert_null(r.files->debug);
    expect_place(&r, "alone/prog.dSYM", "no such file");
    done(&r);
    fixture_run("cp -r " SAMPLY "simple-example/out/mac-dsym/main.dSYM dsyms/x.dSYM");
    r = find("alone/prog", "dsyms", NULL);
    expect_object(&r, r.files->debug, "dsyms/x.dSYM/Contents/Resources/DWARF/main");
    done(&r);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_none_when_it_has_its_own),
        cmocka_unit_test(finds_the_debug_file),
        cmocka_unit_test(looks_below_the_sysroot),
        cmocka_unit_test(refuses_and_says),
        cmocka_unit_test(finds_the_supplementary_file),
        cmocka_unit_test(finds_supplementary_by_build_id),
        cmocka_unit_test(finds_packages),
        cmocka_unit_test(finds_single_files_of_split_dwarf),
        cmocka_unit_test(finds_those_of_other_projects),
        cmocka_unit_test(finds_dsyms),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
