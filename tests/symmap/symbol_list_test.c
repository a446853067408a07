/*
 * Symbol lists: which name stands for an address, what becomes of the others, which functions have
 * only bounds, on files that the machine's own tools make.
 */
#include "object/codecs.h"
#include "object/fixture.h"
#include "symmap/symbol_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opened {
    struct object *object, *debug;
    struct symbol_list list;
};

static void open_list(struct opened *o, const char *name, const char *debug)
{
    *o = (struct opened){.object = fixture_open(name), .debug = debug ? fixture_open(debug) : NULL};
    assert_int_equal(symbol_list_build(o->object, o->debug, &o->list), FW_OK);
}

static void close_list(struct opened *o)
{
    symbol_list_free(&o->list);
    object_close(o->debug);
    object_close(o->object);
}

/* The names at an address in the order of the list, ":" between them, "-" for a nameless one. */
static const char *names_at(const struct opened *o, uint64_t vaddr)
{
    static char text[256];
    text[0] = 0;
    for (size_t i = 0; i < o->list.count; i++) {
        const struct symmap_symbol *s = &o->list.items[i];
        if (s->lo != vaddr)
            continue;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used ? ":" : "", s->name ? s->name : "-");
    }
    return text;
}

static const struct symmap_symbol *last_at(const struct opened *o, uint64_t vaddr)
{
    const struct symmap_symbol *last = NULL;
    for (size_t i = 0; i < o->list.count; i++)
        if (o->list.items[i].lo == vaddr)
            last = &o->list.items[i];
    return last;
}

static const struct symmap_symbol *named(const struct opened *o, const char *name)
{
    const struct symmap_symbol *found = NULL;
    for (size_t i = 0; i < o->list.count; i++)
        if (o->list.items[i].name && strcmp(o->list.items[i].name, name) == 0)
            found = &o->list.items[i];
    return found;
}

static size_t nameless_count(const struct opened *o)
{
    size_t count = 0;
    for (size_t i = 0; i < o->list.count; i++)
        count += o->list.items[i].name == NULL;
    return count;
}

/* Every function has a few names; the first column is the one that people write. */
static const char alias_source[] = ".text\n"
                                   ".macro function names:vararg\n"
                                   ".balign 16\n"
                                   ".irp name, \\names\n"
                                   ".type \\name, @function\n\\name:\n"
                                   ".endr\n"
                                   "nop\nnop\nret\n"
                                   ".irp name, \\names\n"
                                   ".size \\name, . - \\name\n"
                                   ".endr\n"
                                   ".endm\n"
                                   ".globl __write, _write, write, first, second, __outer\n"
                                   ".globl _ZN1AC1Ev, _ZN1AC2Ev\n"
                                   ".weak weak_one\n"
                                   "function __write, write, _write\n"
                                   "function first, second\n"
                                   "function inner, __outer\n"
                                   "function local_one, weak_one\n"
                                   "function _ZN1AC1Ev, _ZN1AC2Ev\n"
                                   ".type data, @object\n.data\ndata: .long 1\n";

static void the_name_stands_last(void **state)
{
    (void)state;
    fixture_need("gcc nm");
    fixture_text("alias.s", alias_source);
    fixture_run("gcc -shared -nostdlib alias.s -o alias.so");
    struct opened o;
    open_list(&o, "alias.so", NULL);
    uint64_t write = fixture_nm("", "alias.so", "write");
    assert_string_equal(strrchr(names_at(&o, write), ':'), ":write");
    assert_non_null(strstr(names_at(&o, write), "__write"));
    assert_non_null(strstr(names_at(&o, write), ":_write"));
    assert_int_equal(last_at(&o, write)->hi, write + 3);
    for (size_t i = 0; i < o.list.count; i++)
        if (o.list.items[i].lo == write)
            assert_int_equal(o.list.items[i].hi, write + 3);

    /* Globals before locals, whatever their underscores. */
    uint64_t outer = fixture_nm("", "alias.so", "__outer");
    assert_string_equal(strrchr(names_at(&o, outer), ':'), ":__outer");
    assert_non_null(strstr(names_at(&o, outer), "inner"));
    assert_string_equal(last_at(&o, fixture_nm("", "alias.so", "weak_one"))->name, "weak_one");
    assert_null(named(&o, "data"));
    close_list(&o);
}

/* Where nothing else decides the last of the full table is the name, as in llvm-symbolizer. */
static void the_last_of_equals_is_the_name(void **state)
{
    (void)state;
    fixture_need("gcc nm llvm-symbolizer-19");
    fixture_text("alias.s", alias_source);
    fixture_run("gcc -shared -nostdlib alias.s -o alias.so");
    struct opened o;
    open_list(&o, "alias.so", NULL);
    static const char *const functions[] = {"first", "_ZN1AC1Ev"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t vaddr = fixture_nm("", "alias.so", functions[i]);
        char *theirs = fixture_output("llvm-symbolizer-19 --no-demangle --obj=alias.so 0x%llx",
                                      (unsigned long long)vaddr);
        theirs[strcspn(theirs, "\n")] = 0;
        assert_string_equal(last_at(&o, vaddr)->name, theirs);
        free(theirs);
    }
    close_list(&o);
}

static void versions_are_no_part_of_a_name(void **state)
{
    (void)state;
    fixture_need("gcc nm");
    fixture_text("api.c", "__asm__(\".symver old_api, api@V1\");\n"
                          "__asm__(\".symver new_api, api@@V2\");\n"
                          "int old_api(void) { return 1; }\n"
                          "int new_api(void) { return 2; }\n");
    fixture_text("api.map", "V1 { global: api; local: *; };\nV2 { global: api; } V1;\n");
    fixture_run("gcc -O1 -shared -fPIC -nostdlib -Wl,--version-script=api.map api.c -o api.so");
    struct opened o;
    open_list(&o, "api.so", NULL);
    for (size_t i = 0; i < o.list.count; i++)
        if (o.list.items[i].name)
            assert_null(strchr(o.list.items[i].name, '@'));
    static const char *const functions[] = {"old_api", "new_api"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t vaddr = fixture_nm("", "api.so", functions[i]);
        assert_string_equal(last_at(&o, vaddr)->name, "api");
        assert_non_null(strstr(names_at(&o, vaddr), functions[i]));
    }
    close_list(&o);
}

static const char program_source[] =
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "__attribute__((noinline)) static int hidden(int c) { return puts(\"x\") + c; }\n"
    "__attribute__((noinline)) static int other(int c) { return hidden(c) * abs(c); }\n"
    "__attribute__((noinline)) int shown(int c) { return other(c) + hidden(c + 1); }\n";

static void unwind_tables_know_nameless_functions(void **state)
{
    (void)state;
    fixture_need("gcc nm strip");
    fixture_text("program.c", program_source);
    fixture_run("gcc -O2 -fno-ipa-cp -fPIC -shared program.c -o whole.so && "
                "strip -s whole.so -o stripped.so && "
                "objcopy --only-keep-debug whole.so whole.debug");
    uint64_t hidden = fixture_nm("", "whole.so", "hidden");
    uint64_t other = fixture_nm("", "whole.so", "other");
    struct opened o;
    open_list(&o, "stripped.so", NULL);
    const struct symmap_symbol *a = last_at(&o, hidden), *b = last_at(&o, other);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(a->name);
    assert_null(b->name);
    assert_true(a->hi > hidden && b->hi > other);
    if (hidden < other)
        assert_true(a->hi <= other);
    assert_string_equal(last_at(&o, fixture_nm("", "whole.so", "shown"))->name, "shown");
    close_list(&o);

    /* The debug file has the names. */
    open_list(&o, "stripped.so", "whole.debug");
    assert_string_equal(last_at(&o, hidden)->name, "hidden");
    assert_string_equal(last_at(&o, other)->name, "other");
    close_list(&o);
}

static void stubs_are_named_and_marked(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("program.c", program_source);
    fixture_run("gcc -O2 -fPIC -shared program.c -o whole.so");
    struct opened o;
    open_list(&o, "whole.so", NULL);
    const struct symmap_symbol *stub = named(&o, "puts");
    assert_non_null(stub);
    assert_int_equal(stub->flags, SYMMAP_FRAME_PLT);
    assert_true(stub->hi > stub->lo);
    assert_int_equal(named(&o, "shown")->flags, 0);
    close_list(&o);
}

static void sections_of_unlinked_objects_lie_apart(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("parts.c", "int one(void) { return 1; }\nint two(void) { return 2; }\n"
                            "static int three(void) { return 3; }\nint (*p)(void) = three;\n");
    fixture_run("gcc -O2 -c -ffunction-sections parts.c -o parts.o");
    struct opened o;
    open_list(&o, "parts.o", NULL);
    const struct symmap_symbol *all[] = {named(&o, "one"), named(&o, "two"), named(&o, "three")};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(all[i]);
        assert_true(all[i]->hi > all[i]->lo);
        for (size_t k = 0; k < i; k++)
            assert_true(all[i]->lo >= all[k]->hi || all[k]->lo >= all[i]->hi);
    }
    assert_string_equal(all[2]->file, "parts.c");
    assert_int_equal(nameless_count(&o), 0); /* .eh_frame is not relocated: it knows no starts */
    close_list(&o);
}

/* Local symbols stand behind the STT_FILE symbol of their object file; globals have none. */
static void local_symbols_have_files(void **state)
{
    (void)state;
    fixture_need("gcc nm objcopy");
    fixture_text("left.c", "__attribute__((noinline)) static int same(int c) { return c * 3; }\n"
                           "int left(int c) { return same(c) + same(c + 1); }\n");
    fixture_text("right.c", "__attribute__((noinline)) static int same(int c) { return c * 7; }\n"
                            "static int fresh(void) { return 5; }\nint (*q)(void) = fresh;\n"
                            "int right(int c) { return same(c) + same(c + 1); }\n");
    fixture_run("gcc -O2 -fno-ipa-cp -fPIC -shared left.c right.c -o files.so && "
                "objcopy --globalize-symbol=fresh files.so global.so");
    struct opened o;
    open_list(&o, "files.so", NULL);
    bool left = false, right = false;
    for (size_t i = 0; i < o.list.count; i++) {
        const struct symmap_symbol *s = &o.list.items[i];
        if (!s->name || strcmp(s->name, "same") != 0)
            continue;
        assert_non_null(s->file);
        left |= strcmp(s->file, "left.c") == 0;
        right |= strcmp(s->file, "right.c") == 0;
    }
    assert_true(left && right);
    assert_string_equal(named(&o, "fresh")->file, "right.c");
    assert_null(named(&o, "left")->file);
    assert_null(named(&o, "right")->file);
    close_list(&o);
    open_list(&o, "global.so", NULL);
    assert_null(named(&o, "fresh")->file);
    close_list(&o);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_stands_last),
        cmocka_unit_test(the_last_of_equals_is_the_name),
        cmocka_unit_test(versions_are_no_part_of_a_name),
        cmocka_unit_test(unwind_tables_know_nameless_functions),
        cmocka_unit_test(stubs_are_named_and_marked),
        cmocka_unit_test(sections_of_unlinked_objects_lie_apart),
        cmocka_unit_test(local_symbols_have_files),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
