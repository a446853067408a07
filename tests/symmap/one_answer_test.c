/*
 * One address, one answer: a map for one address says there what the whole map says, for every byte
 * of code, padding included, whatever the compiler and the linker did with the program.
 *
 * FW_ONE_ANSWER names further files, separated by colons (FILE or FILE=ITS_DEBUG_FILE), that are
 * compared when it is set.
 */
#include "object/codecs.h"
#include "object/fixture.h"
#include "symmap/convert.h"
#include "symmap/programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 64, EVERY_BYTE = 6000, AROUND = 3 };

struct converted {
    uint8_t *bytes;
    struct symmap *map;
};

static void convert(struct object *object, struct object *debug, const uint64_t *only, size_t count,
                    struct converted *c)
{
    const struct convert_options options = {
        .threads = 1, .columns = true, .calls = true, .only = only, .only_count = count};
    struct fw_failure why = {0};
    size_t size;
    if (symmap_convert(object, debug, NULL, &options, &c->bytes, &size, NULL, &why) != FW_OK ||
        symmap_open_bytes((struct span){c->bytes, size}, true, "map", &c->map, &why) != FW_OK)
        fail_msg("%s", why.message);
}

static void discard(struct converted *c)
{
    symmap_close(c->map);
    free(c->bytes);
}

static const char *text(const char *s)
{
    return s ? s : "(none)";
}

static bool same_frame(const struct symmap_frame *a, const struct symmap_frame *b)
{
    return strcmp(text(a->name), text(b->name)) == 0 &&
           strcmp(text(a->source_name), text(b->source_name)) == 0 &&
           strcmp(text(a->directory), text(b->directory)) == 0 &&
           strcmp(text(a->file), text(b->file)) == 0 && a->line == b->line &&
           a->column == b->column && a->start == b->start && a->size == b->size &&
           a->flags == b->flags;
}

static bool same_answer(const struct symmap *small, const struct symmap *whole, uint64_t offset,
                        const char *program)
{
    struct symmap_frame a[FRAMES], b[FRAMES];
    size_t n = 0, m = 0;
    fw_error error = symmap_lookup(small, offset, a, FRAMES, &n);
    fw_error wanted = symmap_lookup(whole, offset, b, FRAMES, &m);
    bool same = error == wanted && n == m;
    for (size_t i = 0; i < n && same; i++)
        same = same_frame(&a[i], &b[i]);
    if (!same)
        print_error("%s: +0x%" PRIx64 ": alone %zu frames, %s [0x%" PRIx64 " %" PRIu64
                    "] %s:%u %x; whole %zu, %s [0x%" PRIx64 " %" PRIu64 "] %s:%u %x\n",
                    program, offset, n, n ? text(a[n - 1].name) : "-", n ? a[n - 1].start : 0,
                    n ? a[n - 1].size : 0, n ? text(a[0].file) : "-", n ? a[0].line : 0,
                    n ? a[n - 1].flags : 0, m, m ? text(b[m - 1].name) : "-",
                    m ? b[m - 1].start : 0, m ? b[m - 1].size : 0, m ? text(b[0].file) : "-",
                    m ? b[0].line : 0, m ? b[m - 1].flags : 0);
    return same;
}

/* Whether `at` is asked: of large programs what lies around the bounds of functions. */
struct chosen {
    uint8_t *bits;
    uint64_t base, size;
};

static void choose(struct chosen *c, uint64_t offset)
{
    for (uint64_t at = offset < AROUND ? 0 : offset - AROUND; at <= offset + AROUND; at++)
        if (at < c->size)
            c->bits[at / 8] |= (uint8_t)(1 << at % 8);
}

static bool choose_row(void *context, const struct symmap_row *row)
{
    choose(context, row->lo);
    choose(context, row->hi);
    return true;
}

static size_t compare(const char *path, const char *debug_path, size_t most)
{
    struct object *object, *debug = NULL;
    struct fw_failure why = {0};
    struct converted whole, small;
    const struct object_range *code;
    size_t count = 0, differ = 0, asked = 0;
    uint64_t bytes = 0;
    if (object_open(path, &object, &why) != FW_OK ||
        (debug_path && object_open(debug_path, &debug, &why) != FW_OK) ||
        object_code_ranges(object, &code, &count) != FW_OK || count == 0)
        fail_msg("%s: %s", path, why.message);
    convert(object, debug, NULL, 0, &whole);
    for (size_t i = 0; i < count; i++)
        bytes += code[i].hi - code[i].lo;
    struct chosen chosen = {.base = object_base(object)};
    chosen.size = code[count - 1].hi - chosen.base;
    chosen.bits = calloc(chosen.size / 8 + 1, 1);
    assert_non_null(chosen.bits);
    if (bytes <= EVERY_BYTE)
        memset(chosen.bits, 0xff, chosen.size / 8 + 1);
    else
        symmap_each_row(whole.map, choose_row, &chosen);
    size_t wanted = 0, seen = 0;
    for (size_t i = 0; i < count; i++)
        for (uint64_t at = code[i].lo - chosen.base; at < code[i].hi - chosen.base; at++)
            wanted += chosen.bits[at / 8] >> at % 8 & 1;
    size_t step = 1 + wanted / most;
    for (size_t i = 0; i < count; i++)
        for (uint64_t at = code[i].lo; at < code[i].hi; at++) {
            uint64_t offset = at - chosen.base;
            if (!(chosen.bits[offset / 8] >> offset % 8 & 1) || seen++ % step)
                continue;
            convert(object, debug, &at, 1, &small);
            differ += !same_answer(small.map, whole.map, offset, path);
            discard(&small);
            asked++;
        }
    print_message("%s: %zu of %zu differ\n", path, differ, asked);
    free(chosen.bits);
    discard(&whole);
    object_close(debug);
    object_close(object);
    return differ;
}

static const char cold_source[] =
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "__attribute__((cold, noinline)) void die(const char *w) { fputs(w, stderr); abort(); }\n"
    "static inline int check(int v) { if (v > 100) { puts(\"large\"); die(\"x\"); } return v; }\n"
    "int first(int v) { if (v < 0) { printf(\"%d\\n\", v); die(\"y\"); } return check(v) * 3; }\n"
    "int same_a(int v) { return v * 7 + 1; }\nint same_b(int v) { return v * 7 + 1; }\n"
    "int main(int c, char **v) { (void)v; int s = 0;\n"
    "  for (int i = 0; i < c; i++) s += first(i) + same_a(i) - same_b(c);\n  return s; }\n";

static const char *const builds[] = {
    "gcc -g -O0 cold.c -o %s",
    "gcc -g -O2 cold.c -o %s",
    "gcc -g -O3 -ffunction-sections cold.c -o %s",
    "gcc -g -O2 -flto cold.c -o %s",
    "gcc -gdwarf-4 -O2 cold.c -o %s",
    "clang-19 -g -O0 cold.c -o %s",
    "clang-19 -g -O2 cold.c -o %s",
    "clang-19 -g -O2 -gdwarf-aranges cold.c -o %s",
    "clang-19 -g -O2 -fbasic-block-sections=all cold.c -o %s",
    "clang-19 -g -O1 -fbasic-block-sections=all -ffunction-sections cold.c -o %s",
    "clang-19 -g -O2 -funique-basic-block-section-names -fbasic-block-sections=all cold.c -o %s",
    "clang-19 -g -O2 -ffunction-sections --ld-path=ld.lld-19 -Wl,--icf=all cold.c -o %s",
    "clang-19 -g -O2 -flto --ld-path=ld.lld-19 cold.c -o %s",
    "clang-19 -g1 -O2 cold.c -o %s",
    "g++ -g -O2 -x c++ items.cc -shared -fPIC -o %s",
    "clang++-19 -g -O2 -fbasic-block-sections=all -x c++ items.cc -shared -fPIC -o %s",
    "gcc -O2 cold.c -o %s",
    "gcc -g -O2 -c cold.c && clang-19 -g -O2 -fbasic-block-sections=all -c -fPIC part.c -DPART=a "
    "&& "
    "gcc part.o cold.o -o %s",
    "gcc -g -O2 -c part.c -DPART=a -o a.o && gcc -g -O2 -c part.c -DPART=b -o b.o && "
    "gcc -O2 -c part.c -DPART=c -o c.o && gcc -g -O2 c.o a.o b.o cold.c -o %s",
    "gcc -g -O2 -flto -c part.c -DPART=a -o a.o && gcc -g -O2 -flto -c part.c -DPART=b -o b.o && "
    "gcc -g -O2 -flto -rdynamic -shared -fPIC a.o b.o -o %s",
    "clang-19 -fPIC -g -O2 -flto -c part.c -DPART=a -o a.o && "
    "clang-19 -fPIC -g -O2 -flto -c part.c -DPART=b -o b.o && "
    "clang-19 -g -O2 -flto -shared --ld-path=ld.lld-19 a.o b.o -o %s",
    "clang-19 -fPIC -g -O2 -flto=thin -c part.c -DPART=a -o a.o && "
    "clang-19 -fPIC -g -O2 -flto=thin -ffunction-sections -c part.c -DPART=b -o b.o && "
    "clang-19 -g -O2 -flto=thin -shared --ld-path=ld.lld-19 a.o b.o -o %s",
    "clang-19 -fPIC -g -O2 -gdwarf-aranges -ffunction-sections -c part.c -DPART=a -o a.o && "
    "clang-19 -fPIC -g -O2 -c part.c -DPART=b -o b.o && "
    "clang-19 -shared --ld-path=ld.lld-19 -Wl,--gc-sections -Wl,--icf=all a.o b.o -o %s",
    "printf 'void outer_b(void);\\n' > empty.c && gcc -g -O2 -c part.c -DPART=a -o a.o && "
    "printf '.text\\n.globl f\\nf: nop\\nnop\\n.p2align 6\\n.type g,@function\\ng: nop\\nret\\n' "
    "> s.s && gcc -g -c s.s -o s.o && gcc -shared a.o s.o -o %s",
};

static void test_builds(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("cold.c", cold_source);
    fixture_text("part.c", part_source);
    fixture_text("items.cc", items_source);
    size_t differ = 0, built = 0;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        char name[32], command[768];
        snprintf(name, sizeof name, "program%zu", i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(command, sizeof command, builds[i], name);
#pragma GCC diagnostic pop
        if (!fixture_try("%s", command)) {
            print_message("skipped: %s\n", command);
            continue;
        }
        print_message("%s\n", command);
        differ += compare(fixture_path(name), NULL, 1500);
        built++;
    }
    assert_true(built > 0);
    assert_int_equal(differ, 0);
}

static void test_given(void **state)
{
    (void)state;
    const char *given = getenv("FW_ONE_ANSWER");
    if (!given)
        return;
    char *list = strdup(given), *next = list, *path;
    size_t differ = 0;
    while ((path = strsep(&next, ":"))) {
        char *debug = strchr(path, '=');
        if (debug)
            *debug++ = '\0';
        differ += compare(path, debug, 3000);
    }
    free(list);
    assert_int_equal(differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builds),
        cmocka_unit_test(test_given),
    };
    object_set_codecs(&object_codecs_all);
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
