/* MiniDebugInfo, made the way that GDB's manual describes. */
#include "object/codecs.h"
#include "object/fixture.h"

#include <stdlib.h>
#include <string.h>

static void make_program(void)
{
    fixture_need("gcc nm objcopy strip xz comm awk sort");
    fixture_text("m.c", "static __attribute__((noinline)) int inner(int x) { return x * 9; }\n"
                        "int outer(int x) { return inner(x) + 1; }\n"
                        "int main(int n, char **v) { (void)v; return outer(n); }\n");
    fixture_run(
        "gcc -g -O1 -rdynamic m.c -o m.full &&"
        "nm -D m.full --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic &&"
        "nm m.full --format=posix --defined-only |"
        " awk '{ if ($2 == \"T\" || $2 == \"t\" || $2 == \"D\") print $1 }' | sort >functions &&"
        "comm -13 dynamic functions >keep &&"
        "objcopy --only-keep-debug m.full m.debug &&"
        "objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep "
        "m.debug mini &&"
        "xz -k -f mini &&"
        "strip --strip-all -R .comment m.full -o m && cp m m.bare &&"
        "objcopy --add-section .gnu_debugdata=mini.xz m");
}

static void names_local_functions(void **state)
{
    (void)state;
    make_program();
    uint64_t at = fixture_nm("", "m.full", "inner");
    struct symbol_match match;

    struct object *o = fixture_open("m.bare");
    struct symbols *symbols = symbols_build(o, NULL);
    assert_false(symbols_lookup(symbols, at, &match));
    struct fw_failure why;
    assert_null(object_minidebug(o, &why));
    assert_int_equal(why.code, FW_OK); /* there simply is none */
    symbols_destroy(symbols);
    object_close(o);

    o = fixture_open("m");
    symbols = symbols_build(o, NULL);
    assert_true(symbols_lookup(symbols, at + 1, &match));
    assert_string_equal(match.name, "inner");
    assert_int_equal(match.offset, 1);
    assert_true(symbols_lookup(symbols, fixture_nm("", "m.full", "outer"), &match));
    assert_string_equal(match.name, "outer");
    struct object *mini = object_minidebug(o, NULL);
    assert_non_null(mini);
    assert_ptr_equal(mini, object_minidebug(o, NULL));
    assert_null(object_minidebug(mini, NULL));
    struct span a = object_build_id(o), b = object_build_id(mini);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    symbols_destroy(symbols);
    object_close(o);
}

static void damage_is_said_and_harmless(void **state)
{
    (void)state;
    make_program();
    static const char *const damage[] = {
        "head -c 200 mini.xz >part && objcopy --update-section .gnu_debugdata=part m broken",
        "printf nothing >part && objcopy --update-section .gnu_debugdata=part m broken",
        "printf hello | xz >part && objcopy --update-section .gnu_debugdata=part m broken",
        "head -c 2000 mini | xz >part && objcopy --update-section .gnu_debugdata=part m broken",
    };
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        fixture_run("%s", damage[i]);
        struct object *o = fixture_open("broken");
        struct fw_failure why;
        if (!object_minidebug(o, &why)) {
            assert_true(why.code != FW_OK);
            assert_non_null(strstr(why.message, "debugdata"));
        } else {
            assert_int_equal(i, 3); /* cut behind its headers: opens, and says that it is cut */
            assert_true(object_is_truncated(object_minidebug(o, NULL)));
        }
        struct symbols *symbols = symbols_build(o, NULL);
        assert_non_null(symbols);
        symbols_destroy(symbols);
        object_close(o);
    }
    object_set_codecs(NULL);
    struct object *o = fixture_open("m");
    struct fw_failure why;
    assert_null(object_minidebug(o, &why));
    assert_int_equal(why.code, FW_ERR_UNSUPPORTED);
    object_close(o);
    object_set_codecs(&object_codecs_all);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_local_functions),
        cmocka_unit_test(damage_is_said_and_harmless),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
