/* Memory that runs out at every single request: an error, nothing lost, nothing left behind. */
#include "object/fixture.h"

#include "dwarf/dwarf.h"
#include "object/codecs.h"
#include "support/alloc_fail.h"

#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "volatile int sink;\n"
    "namespace n { static __attribute__((noinline)) int low(int x) { return sink * x; } }\n"
    "static inline int mid(int x) { return n::low(x) + n::low(sink); }\n"
    "int main(int argc, char **) { return mid(argc) + mid(3); }\n";

struct attempt {
    const char *program, *dwo;
    size_t functions, inlines;
    struct object *opened;
};

static struct object *find_dwo(void *context, const char *comp_dir, const char *dwo_name,
                               uint64_t dwo_id)
{
    struct attempt *a = context;
    (void)comp_dir;
    (void)dwo_name;
    (void)dwo_id;
    if (!a->opened) {
        alloc_fail_pause();
        assert_int_equal(object_open(a->dwo, &a->opened, NULL), FW_OK);
        alloc_fail_resume();
    }
    return a->opened;
}

static bool read_units(struct attempt *a, struct object *object, struct dwarf *dwarf)
{
    struct arena arena = {0};
    struct dwarf_options options = {.calls = true};
    size_t functions = 0, inlines = 0;
    bool good = object_code_ranges(object, &options.code, &options.code_count) == FW_OK;
    for (size_t i = 0; good && i < dwarf_unit_count(dwarf); i++) {
        struct dwarf_unit u;
        struct object_range *ranges;
        size_t count;
        good = dwarf_unit_ranges(dwarf, i, &options, &arena, &ranges, &count) == FW_OK &&
               dwarf_unit_read(dwarf, i, &options, &arena, &u, NULL) == FW_OK;
        functions += good ? u.function_count : 0;
        inlines += good ? u.inline_count : 0;
    }
    arena_free(&arena);
    if (good) {
        assert_int_equal(functions, a->functions);
        assert_int_equal(inlines, a->inlines);
    }
    return good;
}

static bool try_once(void *context)
{
    struct attempt *a = context;
    struct object *object;
    struct dwarf *dwarf;
    struct fw_failure why;
    const struct dwarf_companions companions = {.find_dwo = a->dwo ? find_dwo : NULL, .context = a};
    bool good = false;
    if (object_open(a->program, &object, &why) != FW_OK)
        return false;
    fw_error error = dwarf_open(object, &companions, &dwarf, &why);
    if (error == FW_OK) {
        good = read_units(a, object, dwarf);
        dwarf_close(dwarf);
    } else {
        assert_int_equal(error, FW_ERR_MEMORY);
    }
    if (a->opened) { /* what was inflated or opened for it goes with it */
        alloc_fail_pause();
        object_close(a->opened);
        alloc_fail_resume();
        a->opened = NULL;
    }
    object_close(object);
    return good;
}

static void every_request(void **state)
{
    (void)state;
    fixture_need("g++");
    fixture_text("a.cc", source);
    static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4 -gsplit-dwarf",
                                        "-gdwarf-5 -gsplit-dwarf"};
    for (size_t i = 0; i < 3; i++) {
        fixture_run("g++ -O2 %s -c a.cc -o a.o && g++ a.o -o a", flags[i]);
        struct attempt a = {.program = fixture_path("a"), .functions = 2, .inlines = 2};
        a.dwo = i ? fixture_path("a.dwo") : NULL;
        unsigned requests = alloc_fail_each(try_once, &a);
        print_message("%s: %u requests\n", flags[i], requests);
        assert_true(requests > 10);
    }
}

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_request)};
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
