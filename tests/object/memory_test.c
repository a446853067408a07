/* Objects, symbol indexes and CFI indexes when memory runs out at any point: an error or the whole
 * answer. */
#include "object/codecs.h"
#include "object/debug_sections.h"
#include "object/fixture.h"
#include "unwind/cfi.h"
#include "unwind/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_fail.h"

enum { PATH = 512 };

/* A program whose local functions are named in four ways, each in a file of its own: by its symbol
 * table, by MiniDebugInfo, by a separate debug file with compressed sections, and in memory. */
static char plain[PATH], mini[PATH], stripped[PATH];
static uint64_t inner;

static void make_programs(void)
{
    fixture_need("gcc nm objcopy strip xz");
    fixture_text("m.c", "static __attribute__((noinline)) int inner(int x) { return x * 9; }\n"
                        "int outer(int x) { return inner(x) + 1; }\n"
                        "int main(int n, char **v) { (void)v; return outer(n); }\n");
    fixture_run("gcc -g -O1 -fno-asynchronous-unwind-tables -gz=zlib -rdynamic m.c -o plain &&"
                "objcopy --only-keep-debug plain plain.debug &&"
                "objcopy -S plain stripped && objcopy --add-gnu-debuglink=plain.debug stripped &&"
                "objcopy -S --keep-symbol=inner plain.debug part && xz -k -f part &&"
                "objcopy -S plain mini && objcopy --add-section .gnu_debugdata=part.xz mini");
    snprintf(plain, sizeof plain, "%s", fixture_path("plain"));
    snprintf(mini, sizeof mini, "%s", fixture_path("mini"));
    snprintf(stripped, sizeof stripped, "%s", fixture_path("stripped"));
    inner = fixture_nm("", "plain", "inner");
}

static void expect_inner(const struct symbols *symbols)
{
    struct symbol_match match;
    assert_true(symbols_lookup(symbols, inner + 1, &match));
    assert_string_equal(match.name, "inner");
}

static bool index_of(struct object *object, struct object *debug)
{
    struct symbols *symbols = symbols_build(object, debug);
    if (symbols)
        expect_inner(symbols);
    symbols_destroy(symbols);
    return symbols != NULL;
}

/* The rules of .debug_frame, which is compressed, and of .eh_frame. */
static bool tables_of(struct object *object)
{
    struct unwind_image image;
    object_unwind_image(object, NULL, &image);
    if (object_lacks_memory(object))
        return false;
    assert_non_null(image.debug_frame.data);
    struct cfi_index *eh = cfi_index_build(&image, false);
    struct cfi_index *debug = cfi_index_build(&image, true);
    bool good = eh && debug;
    cfi_index_destroy(eh);
    cfi_index_destroy(debug);
    return good;
}

static bool open_and_index(void *path)
{
    struct object *object;
    struct fw_failure why;
    fw_error error = object_open(path, &object, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error != FW_OK)
        return assert_null(object), false;
    bool good = index_of(object, NULL) && (path != (void *)plain || tables_of(object));
    object_close(object);
    return good;
}

static bool open_with_debug_file(void *unused)
{
    (void)unused;
    struct object *object, *debug = NULL;
    struct fw_failure why;
    if (object_open(stripped, &object, &why) != FW_OK)
        return assert_int_equal(why.code, FW_ERR_MEMORY), false;
    fw_error error = object_find_debug(object, stripped, NULL, NULL, &debug, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    bool good = error == FW_OK && index_of(object, debug);
    object_close(debug);
    object_close(object);
    return good;
}

static bool read_bytes(void *context, uint64_t address, void *to, size_t size)
{
    const struct span *bytes = context;
    if (address > bytes->size || size > bytes->size - address)
        return false;
    memcpy(to, bytes->data + address, size);
    return true;
}

static bool open_from_memory(void *bytes)
{
    struct object *object;
    struct fw_failure why;
    fw_error error = object_open_image(read_bytes, bytes, 0, "memory", &object, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error == FW_OK)
        assert_true(object_segment_count(object) > 1);
    object_close(object);
    error |= object_open_bytes(((struct span *)bytes)->data, ((struct span *)bytes)->size, true,
                               "copy", &object, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    bool good = error == FW_OK && index_of(object, NULL);
    object_close(object);
    return good;
}

static bool count_start(void *context, uint64_t vaddr)
{
    (void)vaddr;
    ++*(size_t *)context;
    return true;
}

/* Compressed and relocated sections, code ranges and function starts of an object. */
static bool load_debug_sections(void *path)
{
    static const char *const names[] = {"info", "line", "str", "abbrev"};
    struct object *object;
    struct fw_failure why = {0};
    if (object_open(path, &object, &why) != FW_OK)
        return assert_int_equal(why.code, FW_ERR_MEMORY), false;
    bool good = true;
    size_t starts = 0, count;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct span data;
        fw_error error = object_debug_section(object, names[i], false, &data, &why);
        assert_true(error == FW_OK || error == FW_ERR_MEMORY);
        assert_true((data.size > 0) == (error == FW_OK));
        good &= error == FW_OK;
    }
    const struct object_range *ranges;
    fw_error error = object_code_ranges(object, &ranges, &count);
    assert_true(error == FW_ERR_MEMORY || (error == FW_OK && count == 3));
    object_function_starts(object, count_start, &starts);
    good &= error == FW_OK && starts == 3;
    object_close(object);
    return good;
}

static void by_relocatable_file(void **state)
{
    (void)state;
    make_programs();
    char object[PATH];
    fixture_run("gcc -g -O1 -gz=zlib -ffunction-sections -c m.c -o m.o");
    snprintf(object, sizeof object, "%s", fixture_path("m.o"));
    assert_true(alloc_fail_each(load_debug_sections, object) > 10);
}

static void by_symbol_table(void **state)
{
    (void)state;
    make_programs();
    assert_true(alloc_fail_each(open_and_index, plain) > 10);
}

static void by_minidebuginfo(void **state)
{
    (void)state;
    make_programs();
    assert_true(alloc_fail_each(open_and_index, mini) > 10);
}

static void by_debug_file(void **state)
{
    (void)state;
    make_programs();
    assert_true(alloc_fail_each(open_with_debug_file, NULL) > 10);
}

static void out_of_memory_images(void **state)
{
    (void)state;
    make_programs();
    struct span bytes;
    uint8_t *data = fixture_read("plain", &bytes.size);
    bytes.data = data;
    assert_true(alloc_fail_each(open_from_memory, &bytes) > 10);
    free(data);
}

/* A Mach-O object file: function names, and debug sections that are relocated into copies. */
static bool open_mach_o(void *path)
{
    struct object *object;
    struct fw_failure why = {0};
    struct span info;
    fw_error error = object_open(path, &object, &why);
    assert_true(error == FW_OK || error == FW_ERR_MEMORY);
    if (error != FW_OK)
        return false;
    struct symbols *symbols = symbols_build(object, NULL);
    struct symbol_match match;
    if (symbols) {
        assert_true(symbols_lookup(symbols, 0, &match));
        assert_string_equal(match.name, "outer");
    }
    error = object_debug_section(object, "info", false, &info, &why);
    assert_true(error == FW_OK ? info.size > 0 : error == FW_ERR_MEMORY);
    bool good = symbols && error == FW_OK;
    symbols_destroy(symbols);
    object_close(object);
    return good;
}

static void mach_o(void **state)
{
    (void)state;
    fixture_need("clang-19");
    fixture_text("o.c", "int outer(int x) { return x * 9; }\n");
    fixture_run("clang-19 -target arm64-apple-macos11 -g -c o.c -o mach.o");
    char path[PATH];
    snprintf(path, sizeof path, "%s", fixture_path("mach.o"));
    assert_true(alloc_fail_each(open_mach_o, path) > 8);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_symbol_table),      cmocka_unit_test(by_minidebuginfo),
        cmocka_unit_test(by_debug_file),        cmocka_unit_test(by_relocatable_file),
        cmocka_unit_test(out_of_memory_images), cmocka_unit_test(mach_o),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
