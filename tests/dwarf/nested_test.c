/* Functions inside of functions: methods of local classes have inlined calls of their own, and
 * those of the function around them stay whole. */
#include "dwarf/dwarf.h"
#include "object/codecs.h"
#include "object/fixture.h"

#include <string.h>

static struct arena arena;

/* Counts the inlined calls of the function of this name that were written on these lines. */
static size_t calls_inlined(const struct dwarf_unit *unit, const char *name, uint32_t from,
                            uint32_t to)
{
    size_t count = 0;
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct dwarf_function *f = &unit->functions[i];
        const char *full = unit->subjects[f->subject].name;
        if (full == NULL || strstr(full, name) == NULL)
            continue;
        for (uint32_t k = 0; k < f->inline_count; k++) {
            const struct dwarf_inline *call = &unit->inlines[f->first_inline + k];
            count += call->call_line >= from && call->call_line <= to;
        }
    }
    return count;
}

static void inlines_around_a_local_class(void **state)
{
    (void)state;
    fixture_need("g++");
    /* The local class has a method without code (never called), whose own local class has one with
     * code; `outer` goes on inlining after all of them. */
    fixture_text("local.cc",
                 "extern int volatile sink;\n"
                 "static inline __attribute__((always_inline)) void note(int n) { sink = n; }\n"
                 "struct base { virtual int work(int) = 0; };\n"
                 "int use(base &);\n"
                 "int outer(int n)\n"
                 "{\n"
                 "    note(n);\n" /* 7 */
                 "    struct first : base {\n"
                 "        static inline base *make() {\n" /* never called whole */
                 "            struct second : base {\n"
                 "                int work(int m) override { note(m + 1); return m; }\n" /* 11 */
                 "            };\n"
                 "            static second s; return &s;\n"
                 "        }\n"
                 "        int work(int m) override { note(m + 2); return use(*make()); }\n" /* 15 */
                 "    } object;\n"
                 "    int r = use(object);\n"
                 "    note(r);\n"     /* 18 */
                 "    note(r + 1);\n" /* 19 */
                 "    return r;\n"
                 "}\n");
    fixture_run("g++ -g -O2 -c local.cc && ld -Ttext=0x1000 --unresolved-symbols=ignore-all "
                "-e 0 local.o -o prog");
    struct object *object;
    struct dwarf *dwarf;
    struct fw_failure why = {0};
    assert_int_equal(object_open(fixture_path("prog"), &object, &why), FW_OK);
    assert_int_equal(dwarf_open(object, NULL, &dwarf, &why), FW_OK);
    size_t outer = 0, first = 0, second = 0;
    for (size_t i = 0; i < dwarf_unit_count(dwarf); i++) {
        struct dwarf_unit unit;
        const struct dwarf_options options = {0};
        assert_int_equal(dwarf_unit_read(dwarf, i, &options, &arena, &unit, NULL), FW_OK);
        outer += calls_inlined(&unit, "outer", 7, 7) + calls_inlined(&unit, "outer", 18, 19);
        first += calls_inlined(&unit, "work", 15, 15);
        second += calls_inlined(&unit, "work", 11, 11);
    }
    assert_int_equal(outer, 3); /* a method may stand there twice, called and inlined */
    assert_true(first >= 1);
    assert_true(second >= 1);
    dwarf_close(dwarf);
    object_close(object);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

static int end(void **state)
{
    arena_free(&arena);
    return fixture_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlines_around_a_local_class),
    };
    return cmocka_run_group_tests_name("dwarf_nested", tests, begin, end);
}
