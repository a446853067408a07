/* What the unwinder is given: the same tables by sections and by program headers alone. */
#include "object/codecs.h"
#include "object/fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "extern int other(int); extern void *(*hook)(int);\n"
                             "int one(int x) { int a[64]; for (int i = 0; i < 64; i++) a[i] = "
                             "other(i); return a[x & 63]; }\n"
                             "int two(int x) { return one(x) + other(x) + 1; }\n"
                             "int main(int n, char **v) { (void)v; return two(n); }\n"
                             "int other(int x) { return x; }\n";

/* The file as if its section headers were gone. */
static struct object *without_sections(const char *name, uint8_t **bytes)
{
    size_t size;
    *bytes = fixture_read(name, &size);
    bool is_64 = (*bytes)[EI_CLASS] == ELFCLASS64;
    memset(*bytes + (is_64 ? 0x28 : 0x20), 0, is_64 ? 8 : 4); /* e_shoff */
    memset(*bytes + (is_64 ? 0x3c : 0x30), 0, 4);             /* e_shnum, e_shstrndx */
    struct object *o;
    assert_int_equal(object_open_bytes(*bytes, size, false, name, &o, NULL), FW_OK);
    assert_int_equal(object_section_count(o), 0);
    return o;
}

/* `b` covers `a`, and shows the same bytes. */
static void expect_covers(const struct unwind_section *a, const struct unwind_section *b)
{
    assert_non_null(b->data);
    uint64_t from = a->vaddr - b->vaddr;
    assert_true(from <= b->size && a->size <= b->size - from);
    assert_memory_equal(a->data, b->data + from, a->size);
}

static void finds_the_same_with_and_without_sections(void **state)
{
    (void)state;
    fixture_text("u.c", source);
    for (size_t i = 0; i < fixture_target_count; i++) {
        const struct fixture_target *t = &fixture_targets[i];
        if (!fixture_target_works(t))
            continue;
        fixture_run("%s %s -O1 -funwind-tables -shared -fPIC u.c -o u.so", t->compiler, t->flags);
        struct object *o = fixture_open("u.so");
        uint8_t *bytes;
        struct object *bare = without_sections("u.so", &bytes);
        struct unwind_image a, b;
        object_unwind_image(o, NULL, &a);
        object_unwind_image(bare, NULL, &b);
        assert_ptr_equal(a.arch, object_arch(o));
        assert_int_equal(a.bias, 0);
        assert_true(a.lo < a.hi);
        assert_int_equal(a.lo, b.lo);
        assert_int_equal(a.hi, b.hi);
        uint64_t one = fixture_nm(t->tools, "u.so", "one");
        assert_true(one >= a.lo && one < a.hi);
        assert_true(one - a.text.vaddr < a.text.size);
        assert_int_equal(a.text.vaddr, b.text.vaddr); /* it may hold the header, which differs */
        assert_int_equal(a.text.size, b.text.size);
        assert_int_equal(a.got_vaddr, b.got_vaddr);
        assert_true(a.got_vaddr != 0);
        assert_true(a.plt[0].size > 0);
        if (t->machine == EM_ARM) {
            assert_true(a.exidx.size >= 16 && a.exidx.size % 8 == 0);
            expect_covers(&a.exidx, &b.exidx);
            expect_covers(&a.exidx, &a.extab);
            struct unwind_section extab;
            if (object_section_data(o, ".ARM.extab", &extab, NULL) == FW_OK)
                expect_covers(&extab, &a.extab);
        } else {
            assert_true(a.eh_frame.size > 0 && a.eh_frame_hdr.size > 0);
            expect_covers(&a.eh_frame_hdr, &b.eh_frame_hdr);
            expect_covers(&a.eh_frame, &b.eh_frame); /* its address from the header */
            assert_int_equal(a.eh_frame.vaddr, b.eh_frame.vaddr);
        }
        object_close(bare);
        object_close(o);
        free(bytes);
    }
}

static void takes_debug_frame_from_the_debug_file(void **state)
{
    (void)state;
    fixture_need("gcc objcopy strip");
    fixture_text("u.c", source);
    fixture_run("gcc -g -O1 -fno-asynchronous-unwind-tables -shared -fPIC u.c -o d.so &&"
                "objcopy --only-keep-debug --compress-debug-sections=zlib d.so d.debug &&"
                "strip d.so -o s.so");
    struct object *o = fixture_open("d.so"), *stripped = fixture_open("s.so"),
                  *debug = fixture_open("d.debug");
    struct unwind_image whole, alone, both;
    object_unwind_image(o, NULL, &whole);
    object_unwind_image(stripped, NULL, &alone);
    object_unwind_image(stripped, debug, &both);
    assert_true(whole.debug_frame.size > 0);
    assert_null(alone.debug_frame.data);
    assert_int_equal(both.debug_frame.size, whole.debug_frame.size);
    assert_memory_equal(both.debug_frame.data, whole.debug_frame.data, whole.debug_frame.size);
    object_close(o);
    object_close(stripped);
    object_close(debug);
}

/* The program headers of a debug file describe bytes that it does not have. */
static void debug_files_have_no_code(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("u.c", source);
    fixture_run("gcc -g -O1 -shared -fPIC u.c -o e.so && objcopy --only-keep-debug e.so e.debug");
    struct object *debug = fixture_open("e.debug");
    struct unwind_image image;
    object_unwind_image(debug, NULL, &image);
    assert_true(image.lo < image.hi);
    assert_null(image.text.data);
    assert_null(image.eh_frame.data);
    assert_null(image.eh_frame_hdr.data);
    assert_int_equal(object_at(debug, image.lo).size, 0);
    assert_false(object_is_truncated(debug));
    object_close(debug);
    if (fixture_try("eu-strip -f e2.debug e.so -o e2.so")) {
        debug = fixture_open("e2.debug");
        assert_int_equal(object_at(debug, image.lo).size, 0);
        assert_false(object_is_truncated(debug));
        struct object *o = fixture_open("e2.so");
        struct span a = object_build_id(debug), b = object_build_id(o);
        assert_int_equal(a.size, b.size);
        assert_true(a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
        object_close(o);
        object_close(debug);
    }
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_same_with_and_without_sections),
        cmocka_unit_test(takes_debug_frame_from_the_debug_file),
        cmocka_unit_test(debug_files_have_no_code),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
