/* The symbol index of a loaded image, with every allocation failing. */
#include "object/macho_loaded.h"
#include "object/symbols.h"
#include "support/alloc_fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { BASE = 0x10000, SIZE = 4096 };

static uint8_t bytes[SIZE];
static size_t size;

static const void *bytes_at(void *context, uint64_t address, size_t wanted)
{
    const uint64_t offset = address - BASE;
    (void)context;
    return offset <= size && wanted <= size - offset ? bytes + offset : NULL;
}

static bool build(void *context)
{
    const struct macho_memory memory = {bytes_at, NULL};
    struct macho_loaded image;
    struct symbol_match match;
    (void)context;
    assert_true(macho_loaded_read(&image, &memory, BASE));
    struct symbols *symbols = symbols_build_loaded(&image);
    if (!symbols)
        return false;
    /* One of the symbol table, one of the export trie. */
    assert_true(symbols_lookup(symbols, BASE + 0x400, &match));
    assert_string_equal(match.name, "alpha");
    assert_true(symbols_lookup(symbols, BASE + 0x460, &match));
    assert_string_equal(match.name, "hid");
    symbols_destroy(symbols);
    return true;
}

static void no_memory(void **state)
{
    (void)state;
    FILE *file = fopen(LOADED_IMAGE, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, SIZE, file);
    fclose(file);
    assert_true(alloc_fail_each(build, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
