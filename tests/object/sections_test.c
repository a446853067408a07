/* Contents of sections: plain, compressed in every way the tools can, and with false claims. */
#include "object/codecs.h"
#include "object/fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static void make_library(void)
{
    fixture_need("gcc objcopy");
    fixture_text("lib.c", "static int add(int a, int b) { return a + b; }\n"
                          "int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s = add(s, i); "
                          "return s; }\n");
    fixture_run("gcc -g3 -O1 -shared -fPIC lib.c -o plain.so");
}

static void expect_same_section(const char *packed, const char *section)
{
    struct object *plain = fixture_open("plain.so"), *other = fixture_open(packed);
    struct unwind_section a, b;
    struct fw_failure why = {0};
    assert_int_equal(object_section_data(plain, section, &a, NULL), FW_OK);
    if (object_section_data(other, section, &b, &why) != FW_OK)
        fail_msg("%s", why.message);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    struct unwind_section again; /* inflated once */
    assert_int_equal(object_section_data(other, section, &again, NULL), FW_OK);
    assert_ptr_equal(again.data, b.data);
    object_close(plain);
    object_close(other);
}

static void inflates_every_kind(void **state)
{
    (void)state;
    make_library();
    static const char *const kinds[] = {"zlib", "zlib-gnu", "zstd"};
    for (size_t i = 0; i < 3; i++) {
        if (!fixture_try("objcopy --compress-debug-sections=%s plain.so packed.so", kinds[i])) {
            print_message("skipped: objcopy cannot compress with %s\n", kinds[i]);
            continue;
        }
        char *headers = fixture_output("readelf -SW packed.so");
        assert_true(strstr(headers, ".zdebug_info") || strstr(headers, "  C  ") ||
                    strstr(headers, " C "));
        free(headers);
        expect_same_section("packed.so", ".debug_info");
        expect_same_section("packed.so", ".debug_macro");
    }
}

static void inflates_32_bit_headers(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("lib32.c", "int one(void) { return 1; }");
    if (!fixture_try("gcc -m32 -g3 -shared -fPIC lib32.c -o plain.so")) {
        print_message("skipped: no 32-bit compiler\n");
        skip();
    }
    fixture_run("objcopy --compress-debug-sections=zlib plain.so packed.so");
    expect_same_section("packed.so", ".debug_macro");
}

/* The place of a section's first byte, and the section itself. */
static uint8_t *bytes_of(const char *file, const char *name, size_t *size,
                         struct object_section *section)
{
    uint8_t *bytes = fixture_read(file, size);
    struct object *o = fixture_open(file);
    bool found = false;
    for (size_t i = 0; !found && object_section_at(o, i, section); i++)
        found = strcmp(section->name, name) == 0;
    assert_true(found);
    object_close(o);
    return bytes;
}

static fw_error read_packed(const uint8_t *bytes, size_t size)
{
    struct object *o;
    struct unwind_section section;
    assert_int_equal(object_open_bytes(bytes, size, false, "packed", &o, NULL), FW_OK);
    fw_error error = object_section_data(o, ".debug_macro", &section, NULL);
    if (error != FW_OK) {
        assert_null(section.data);
        assert_int_equal(section.size, 0);
    }
    object_close(o);
    return error;
}

static void refuses_false_claims(void **state)
{
    (void)state;
    make_library();
    fixture_run("objcopy --compress-debug-sections=zlib plain.so packed.so");
    size_t size;
    struct object_section section;
    uint8_t *bytes = bytes_of("packed.so", ".debug_macro", &size, &section);
    uint8_t *header = bytes + section.offset;
    assert_int_equal(read_packed(bytes, size), FW_OK);
    uint64_t claim, longer, method = header[0];
    memcpy(&claim, header + 8, 8);

    const uint64_t wrong[] = {claim - 1,         claim + 1,  0,
                              (uint64_t)1 << 40, UINT64_MAX, section.size * 1024 + (2 << 20)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        longer = wrong[i];
        memcpy(header + 8, &longer, 8);
        assert_int_equal(read_packed(bytes, size), FW_ERR_CORRUPT);
    }
    memcpy(header + 8, &claim, 8);
    header[0] = 77; /* unknown method */
    assert_int_equal(read_packed(bytes, size), FW_ERR_UNSUPPORTED);
    header[0] = 2; /* zlib's bytes are no zstd frame */
    assert_int_equal(read_packed(bytes, size), FW_ERR_CORRUPT);
    header[0] = (uint8_t)method;
    header[24 + section.size / 2] ^= 0xff; /* the checksum fails */
    assert_int_equal(read_packed(bytes, size), FW_ERR_CORRUPT);
    free(bytes);
}

static void says_when_there_is_no_codec(void **state)
{
    (void)state;
    make_library();
    fixture_run("objcopy --compress-debug-sections=zlib plain.so packed.so");
    object_set_codecs(NULL);
    struct object *o = fixture_open("packed.so");
    struct unwind_section section;
    struct fw_failure why;
    assert_int_equal(object_section_data(o, ".debug_macro", &section, &why), FW_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.message, ".debug_macro"));
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
        cmocka_unit_test(inflates_every_kind),
        cmocka_unit_test(inflates_32_bit_headers),
        cmocka_unit_test(refuses_false_claims),
        cmocka_unit_test(says_when_there_is_no_codec),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
