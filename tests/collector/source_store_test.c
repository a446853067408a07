/* Stored sources: found, read, and refused when they are damaged; and paths made one spelling. */
#include "collector/source_store.h"

#include "base/little_endian.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include <cmocka.h>

enum { ROOM = 4096, FILES = 5 };

static const char *const paths[FILES] = {"/a/b.c", "/a/b.cc", "/b", "rel/x.h", "z.rs"};

struct stored {
    uint8_t bytes[ROOM];
    size_t size;
};

/* File i has i lines, so the first is empty. */
static void make(struct stored *s)
{
    uint64_t at[FILES];
    uint32_t packed[FILES], sizes[FILES], name = 0;
    memcpy(s->bytes, SOURCE_MAGIC, 8);
    s->size = SOURCE_HEADER_SIZE;
    for (uint32_t i = 0; i < FILES; i++) {
        char text[64] = "";
        for (uint32_t k = 0; k < i; k++)
            memcpy(text + strlen(text), "line\n", 6);
        at[i] = s->size;
        sizes[i] = (uint32_t)strlen(text);
        size_t n = ZSTD_compress(s->bytes + s->size, ROOM - s->size, text, sizes[i], 3);
        assert_false(ZSTD_isError(n));
        packed[i] = (uint32_t)n;
        s->size += n;
    }
    put_u64(s->bytes + 24, s->size);
    for (size_t i = 0; i < FILES; i++) {
        memcpy(s->bytes + s->size, paths[i], strlen(paths[i]));
        s->size += strlen(paths[i]);
    }
    put_u32(s->bytes + 8, FILES);
    put_u32(s->bytes + 12, (uint32_t)(s->size - get_u64(s->bytes + 24)));
    put_u64(s->bytes + 16, s->size);
    for (size_t i = 0; i < FILES; i++) {
        uint8_t *p = s->bytes + s->size;
        put_u64(p, at[i]);
        put_u32(p + 8, packed[i]);
        put_u32(p + 12, sizes[i]);
        put_u32(p + 16, name);
        put_u32(p + 20, (uint32_t)strlen(paths[i]));
        name += (uint32_t)strlen(paths[i]);
        s->size += SOURCE_ENTRY_SIZE;
    }
}

static void test_found(void **state)
{
    (void)state;
    static struct stored s;
    struct source_store store;
    struct source_entry entry;
    uint8_t *text;
    size_t size;
    make(&s);
    assert_int_equal(source_store_open((struct span){s.bytes, s.size}, &store, NULL), FW_OK);
    for (size_t i = 0; i < FILES; i++) {
        assert_true(source_store_find(&store, paths[i], &entry));
        assert_int_equal(source_store_read(&entry, &text, &size, NULL), FW_OK);
        assert_int_equal(size, 5 * i);
        assert_int_equal(text[size], 0);
        assert_true(i == 0 || memcmp(text, "line\n", 5) == 0);
        free(text);
    }
    static const char *const none[] = {"", "/", "/a/b", "/a/b.ccc", "/a", "b.c", "zz", "rel"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(source_store_find(&store, none[i], &entry));
    assert_false(source_store_at(&store, FILES, &entry));
}

/* Every byte changed, every shorter length: nothing outside is read (the sanitizers watch), and no
 * file becomes larger than allowed. */
static void test_damaged(void **state)
{
    (void)state;
    static struct stored s;
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    struct source_store store;
    struct source_entry entry;
    make(&s);
    for (size_t i = 0; i < s.size * 4; i++) {
        size_t size = i < s.size ? i : s.size, at = i % s.size;
        uint8_t *copy = malloc(size ? size : 1), *text = NULL;
        assert_non_null(copy);
        memcpy(copy, s.bytes, size);
        if (i >= s.size)
            copy[at] ^= changes[i / s.size - 1];
        if (source_store_open((struct span){copy, size}, &store, NULL) == FW_OK)
            for (size_t k = 0; k < FILES; k++)
                if (source_store_find(&store, paths[k], &entry) &&
                    source_store_read(&entry, &text, &size, NULL) == FW_OK) {
                    assert_true(size <= SOURCE_FILE_BYTES);
                    free(text);
                }
        free(copy);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static struct stored s;
    struct source_store store;
    struct fw_failure why = {0};
    make(&s);
    put_u32(s.bytes + 8, SOURCE_FILES_MAX + 1);
    assert_int_equal(source_store_open((struct span){s.bytes, s.size}, &store, &why),
                     FW_ERR_CORRUPT);
    put_u32(s.bytes + 8, FILES);
    put_u64(s.bytes + 16, UINT64_MAX - 10); /* a sum that would wrap */
    assert_int_equal(source_store_open((struct span){s.bytes, s.size}, &store, &why),
                     FW_ERR_CORRUPT);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *path, *clean; /* NULL: none */
    } cases[] = {
        {"/a/b.c", "/a/b.c"},
        {"/a//b.c", "/a/b.c"},
        {"//a/./b.c/", "/a/b.c"},
        {"/a/x/../b.c", "/a/b.c"},
        {"/a/x/y/../../b.c", "/a/b.c"},
        {"a/../b.c", "b.c"},
        {"./b.c", "b.c"},
        {"../b.c", "../b.c"},
        {"a/../../b.c", "../b.c"},
        {"../../a/../b.c", "../../b.c"},
        {"/../b.c", "/../b.c"},
        {"/..a/...", "/..a/..."},
        {"C:\\x\\y.c", "C:\\x\\y.c"},
        {"", NULL},
        {"/", NULL},
        {".", NULL},
        {"a/..", NULL},
    };
    char clean[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(source_path_clean(cases[i].path, clean, sizeof clean),
                         cases[i].clean != NULL);
        if (cases[i].clean)
            assert_string_equal(clean, cases[i].clean);
    }
    assert_true(source_path_clean("/abc", clean, 6));
    assert_false(source_path_clean("/abcd", clean, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
