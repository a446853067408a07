/* Lines of stacks, byte by byte: what backtrace_symbols of Apple's Libc prints for the same facts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/stack_text.h"

#if UINTPTR_MAX > UINT32_MAX
#define WIDE(digits) "0x00000001" digits
#define AT(low)      (UINT64_C(0x100000000) + (low))
#else
#define WIDE(digits) "0x" digits
#define AT(low)      ((uint64_t)(low))
#endif

static void expect_line(uint64_t index, uint64_t address, const struct fw_name *name,
                        const char *expected)
{
    struct fw_frame frame = {.address = address, .kind = FW_FRAME_RETURN};
    size_t length = strlen(expected);
    char *line = malloc(length + 1); /* so that a sanitizer sees one byte too many */
    assert_non_null(line);
    assert_int_equal(stack_text_line(NULL, 0, index, &frame, name), length);
    assert_int_equal(stack_text_line(line, length + 1, index, &frame, name), length);
    assert_string_equal(line, expected);
    free(line);
}

static void with_a_symbol(void **state)
{
    (void)state;
    struct fw_name name = {.function = "-[CartViewController viewDidLoad]",
                           .offset = 300,
                           .image = "/private/var/containers/Shop.app/Shop",
                           .image_base = AT(0x04000000)};
    expect_line(0, AT(0x04001234), &name,
                "0   Shop                                " WIDE(
                    "04001234") " -[CartViewController viewDidLoad] + 300");
    expect_line(12, AT(0x04001234), &name,
                "12  Shop                                " WIDE(
                    "04001234") " -[CartViewController viewDidLoad] + 300");
    expect_line(1234, AT(0x04001234), &name,
                "1234Shop                                " WIDE(
                    "04001234") " -[CartViewController viewDidLoad] + 300");
    name.function = "$s4Shop4CartC4saveyyF";
    name.offset = UINT64_C(4294967296);
    expect_line(3, AT(0x04001234), &name,
                "3   Shop                                " WIDE(
                    "04001234") " $s4Shop4CartC4saveyyF + 4294967296");
}

static void without_a_symbol(void **state)
{
    (void)state;
    struct fw_name name = {.image = "/usr/lib/swift/libswiftCore.dylib",
                           .image_offset = UINT64_C(0x180001000), /* as the file has it */
                           .image_base = AT(0x0aa00000)};
    expect_line(
        7, AT(0x0aa01000), &name,
        "7   libswiftCore.dylib                  " WIDE("0aa01000") " libswiftCore.dylib + 4096");
}

static void without_an_image(void **state)
{
    (void)state;
    struct fw_name name = {0};
    expect_line(4, 1, &name,
#if UINTPTR_MAX > UINT32_MAX
                "4   ???                                 0x0000000000000001 0x0 + 1");
    expect_line(5, UINT64_C(0xffffffffffffffff), &name,
                "5   ???                                 0xffffffffffffffff 0x0 + "
                "18446744073709551615");
#else
                "4   ???                                 0x00000001 0x0 + 1");
    expect_line(5, 0xffffffff, &name,
                "5   ???                                 0xffffffff 0x0 + 4294967295");
#endif
}

static void image_names_of_every_length(void **state)
{
    (void)state;
    struct fw_name name = {.function = "f", .offset = 1};
    name.image = "bare";
    expect_line(0, AT(0x10), &name,
                "0   bare                                " WIDE("00000010") " f + 1");
    name.image = "/ends/in/a/slash/";
    expect_line(0, AT(0x10), &name,
                "0                                       " WIDE("00000010") " f + 1");
    name.image = "/x/exactly_thirtyfive_bytes_long.dylib";
    expect_line(0, AT(0x10), &name,
                "0   exactly_thirtyfive_bytes_long.dylib " WIDE("00000010") " f + 1");
}

/* 35 bytes are kept, also where the image stands for the symbol. */
static void long_image_names(void **state)
{
    (void)state;
    struct fw_name name = {.image = "/x/AVeryLongFrameworkNameWithManyManyWords",
                           .image_base = AT(0)};
    expect_line(0, AT(0x10), &name,
                "0   AVeryLongFrameworkNameWithManyManyW " WIDE(
                    "00000010") " AVeryLongFrameworkNameWithManyManyW + 16");
    name.function = "f";
    name.offset = 2;
    expect_line(0, AT(0x10), &name,
                "0   AVeryLongFrameworkNameWithManyManyW " WIDE("00000010") " f + 2");
}

/* Padding counts bytes, as printf does; a cut never splits a character. */
static void utf8_image_names(void **state)
{
    (void)state;
    struct fw_name name = {.function = "f", .offset = 1};
    name.image = "/Größe.app/Größe";
    expect_line(0, AT(0x10), &name,
                "0   Größe                             " WIDE("00000010") " f + 1");
    name.image = "/x/abcdefghijabcdefghijabcdefghij1234ß"; /* bytes 35 and 36 */
    expect_line(0, AT(0x10), &name,
                "0   abcdefghijabcdefghijabcdefghij1234  " WIDE("00000010") " f + 1");
    name.image = "/x/abcdefghijabcdefghijabcdefghij123ß"; /* bytes 34 and 35 */
    expect_line(0, AT(0x10), &name,
                "0   abcdefghijabcdefghijabcdefghij123ß " WIDE("00000010") " f + 1");
    name.image = "/x/abcdefghijabcdefghijabcdefghij12\xF0\x9F\x8D\x8E tail"; /* 33 to 36 */
    expect_line(0, AT(0x10), &name,
                "0   abcdefghijabcdefghijabcdefghij12    " WIDE("00000010") " f + 1");
    name.image = "/x/\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
                 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80";
    expect_line(0, AT(0x10), &name,
                "0   \x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
                "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80 " WIDE(
                    "00000010") " f + 1");
}

static void long_symbols(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    char *symbol = malloc(LENGTH + 1), *expected = malloc(LENGTH + 200);
    assert_true(symbol && expected);
    memset(symbol, 'x', LENGTH);
    symbol[LENGTH] = 0;
    struct fw_name name = {.function = symbol, .offset = 77, .image = "/a/b"};
    snprintf(expected, LENGTH + 200, "0   b                                   %s %s + 77",
             WIDE("00000010"), symbol);
    expect_line(0, AT(0x10), &name, expected);
    free(symbol);
    free(expected);
}

/* snprintf's contract at every size. */
static void cut_anywhere(void **state)
{
    (void)state;
    struct fw_frame frame = {.address = AT(0x10)};
    struct fw_name name = {.function = "some_function", .offset = 5, .image = "/a/image"};
    char whole[128], part[128];
    size_t length = stack_text_line(whole, sizeof whole, 3, &frame, &name);
    assert_int_equal(length, strlen(whole));
    for (size_t size = 1; size <= length + 1; size++) {
        memset(part, '#', sizeof part);
        assert_int_equal(stack_text_line(part, size, 3, &frame, &name), length);
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, whole, size - 1);
        assert_int_equal(part[size], '#');
    }
}

static void what_the_format_cannot_say(void **state)
{
    (void)state;
    struct stack_text text = {0};
    struct fw_frame async = {.address = 0x10, .flags = FW_FRAME_ASYNC};
    struct fw_name name = {.function = "$s1a1bTY0_", .offset = 0, .image = "a"};
    struct fw_stack stack = {.count = 4, .head = 2, .omitted = 998, .end = FW_END_ROOT};
    assert_int_equal(stack_text_index(&stack, 1), 1);
    assert_int_equal(stack_text_index(&stack, 2), 1000);
    stack_text_frame(&text, 0, &async, &name);
    stack_text_gap(&text, 0, STACK_TEXT_OMITTED);
    stack_text_gap(&text, 1, STACK_TEXT_OTHERS);
    stack_text_gap(&text, 998, STACK_TEXT_OMITTED);
    stack_text_end(&text, &stack);
    stack.end = FW_END_NO_INFO;
    stack_text_end(&text, &stack);
    stack.end = FW_END_UNAVAILABLE;
    stack.unavailable = FW_UNAVAILABLE_FORBIDDEN;
    stack_text_end(&text, &stack);
    char expected[512];
    snprintf(expected, sizeof expected,
             "0   a                                   0x%0*x $s1a1bTY0_ + 0 [async]\n"
             "... 1 frame of other images\n... 998 frames left out\nincomplete: %s\nno stack: %s\n",
             (int)(2 * sizeof(void *)), 0x10, fw_end_text(FW_END_NO_INFO),
             fw_unavailable_text(FW_UNAVAILABLE_FORBIDDEN));
    assert_false(text.failed);
    assert_string_equal(text.at, expected);
    assert_int_equal(text.length, strlen(expected));
    free(text.at);
}

static void texts_grow(void **state)
{
    (void)state;
    struct stack_text text = {0};
    for (int i = 0; i < 20000; i++)
        stack_text_add(&text, "%05d\n", i);
    assert_false(text.failed);
    assert_int_equal(text.length, 120000);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(strtol(text.at + i * 6, NULL, 10), i);
    free(text.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_symbol),
        cmocka_unit_test(without_a_symbol),
        cmocka_unit_test(without_an_image),
        cmocka_unit_test(image_names_of_every_length),
        cmocka_unit_test(long_image_names),
        cmocka_unit_test(utf8_image_names),
        cmocka_unit_test(long_symbols),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(what_the_format_cannot_say),
        cmocka_unit_test(texts_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
