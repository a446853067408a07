/* Targets, patterns, ranges, cookies, lists, and packed bodies (collector/http_parse.h,
 * http_unpack.h), by the examples of their RFCs and by what people try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/http_parse.h"
#include "collector/http_unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void targets(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *path, *token;
    } good[] = {
        {"/", "/", NULL},
        {"/a//b/", "/a//b/", NULL},
        {"/a%2Fb%20c", "/a/b c", NULL},
        {"/%C3%A9", "/\xc3\xa9", NULL},
        {"/%252e%252e/x", "/%2e%2e/x", NULL},
        {"/...", "/...", NULL},
        {"/.a/b.", "/.a/b.", NULL},
        {"/a+b", "/a+b", NULL},
        {"http://h:1", "/", NULL},
        {"HTTPS://h/x?y", "/x", NULL},
        {"/s/TOKEN/buildid/x", "/buildid/x", "TOKEN"},
        {"/s/TOKEN", "/s/TOKEN", NULL},
        {"/s//x", "/s//x", NULL},
        {"/s/a/s/b/c", "/s/b/c", "a"},
        {"/buildid/ab12/source/a/../b/./c", "/buildid/ab12/source/a/../b/./c", NULL},
        {"/s/t/buildid/ab/source/..", "/buildid/ab/source/..", "t"},
    };
    static const char *const bad[] = {"",
                                      "a",
                                      "*",
                                      "/..",
                                      "/a/../b",
                                      "/a/.",
                                      "/%2e%2E",
                                      "/a/%2e",
                                      "/%00",
                                      "/%0a",
                                      "/%1f",
                                      "/%7F",
                                      "/%",
                                      "/%4",
                                      "/%4g",
                                      "/%ff",
                                      "/%c0%ae",
                                      "/%ed%a0%80",
                                      "/\x01",
                                      "/a?b=%00",
                                      "/a?b=%f",
                                      "/a?%ff",
                                      "/s/../x",
                                      "ftp://h/",
                                      "/..%2f",
                                      "/x%2f..",
                                      "/s/t/%2e%2e",
                                      "/buildid/../source/a",
                                      "/buildid/ab/../source/a",
                                      "/buildid//source/..",
                                      "/buildid/ab/section/..",
                                      "/s/../buildid/ab/source/a",
                                      "/x/buildid/ab/source/.."};
    struct arena arena = {0};
    struct http_target target;
    bool too_long;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_null(http_target_parse(good[i].raw, &arena, &target, &too_long));
        assert_string_equal(target.path, good[i].path);
        if (good[i].token)
            assert_string_equal(target.token, good[i].token);
        else
            assert_null(target.token);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_non_null(http_target_parse(bad[i], &arena, &target, &too_long));
        assert_false(too_long);
    }
    char *long_one = malloc(HTTP_TARGET_MAX + 2);
    memset(long_one, '/', HTTP_TARGET_MAX + 1);
    long_one[HTTP_TARGET_MAX + 1] = '\0';
    assert_non_null(http_target_parse(long_one, &arena, &target, &too_long));
    assert_true(too_long);
    long_one[HTTP_TARGET_MAX] = '\0';
    assert_null(http_target_parse(long_one, &arena, &target, &too_long));
    free(long_one);
    arena_free(&arena);
}

static void queries(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct http_target target;
    bool too_long;
    assert_null(http_target_parse("/?a=1&b&&c=x=y&d=%26+%0A#e=f", &arena, &target, &too_long));
    static const char *const expected[][2] = {{"a", "1"}, {"b", ""}, {"c", "x=y"}, {"d", "& \n"}};
    assert_int_equal(target.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(target.pair[i].name, expected[i][0]);
        assert_string_equal(target.pair[i].value, expected[i][1]);
    }
    char many[3 + 2 * HTTP_QUERY_MAX + 3] = "/?";
    for (size_t i = 0; i < HTTP_QUERY_MAX; i++)
        strcat(many, i ? "&a" : "a");
    assert_null(http_target_parse(many, &arena, &target, &too_long));
    assert_int_equal(target.count, HTTP_QUERY_MAX);
    strcat(many, "&a");
    assert_non_null(http_target_parse(many, &arena, &target, &too_long));
    arena_free(&arena);
}

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path, *first, *last;
    } cases[] = {
        {"/", "/", NULL, NULL},
        {"/a/{b}", "/a/x", "x", "x"},
        {"/a/{b}/c/{d}", "/a/x/c/y", "x", "y"},
        {"/a/{b}/{c...}", "/a/x/y/z", "x", "y/z"},
        {"/{c...}", "/y//z/", "y//z/", "y//z/"},
    };
    static const char *const others[][2] = {
        {"/", "/a"},       {"/a", "/"},         {"/a", "/a/"},      {"/a/", "/a"},
        {"/a/{b}", "/a/"}, {"/a/{b}", "/a/x/"}, {"/a/{b}", "/b/x"}, {"/a/{b}", "/a"},
        {"/{c...}", "/"},  {"/a{b}", "/ax"},    {"/a/{b}", "/A/x"}, {"/a/{b...}", "/a/"},
        {"/a/b", "/a/bc"}, {"/a/bc", "/a/b"},   {"/{a}/b", "/x/y"},
    };
    struct arena arena = {0};
    struct http_parts parts;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(http_pattern_match(cases[i].pattern, cases[i].path, &arena, &parts));
        if (!cases[i].first) {
            assert_int_equal(parts.count, 0);
            continue;
        }
        assert_string_equal(parts.part[0].value, cases[i].first);
        assert_string_equal(parts.part[parts.count - 1].value, cases[i].last);
    }
    assert_string_equal(parts.part[0].name, "c");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(http_pattern_match(others[i][0], others[i][1], &arena, &parts));
    arena_free(&arena);
}

static void ranges(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint64_t size;
        enum http_range range;
        uint64_t first, length;
    } cases[] = {
        /* RFC 9110 section 14.1.2: of 10000 bytes */
        {"bytes=0-499", 10000, HTTP_PARTIAL, 0, 500},
        {"bytes=500-999", 10000, HTTP_PARTIAL, 500, 500},
        {"bytes=-500", 10000, HTTP_PARTIAL, 9500, 500},
        {"bytes=9500-", 10000, HTTP_PARTIAL, 9500, 500},
        {"bytes=0-0,-1", 10000, HTTP_WHOLE, 0, 10000},
        {"bytes=9999-10000", 10000, HTTP_PARTIAL, 9999, 1},
        {"bytes=10000-", 10000, HTTP_UNSATISFIABLE, 0, 0},
        {"bytes=0-", 0, HTTP_UNSATISFIABLE, 0, 0},
        {"bytes=-1", 0, HTTP_UNSATISFIABLE, 0, 0},
        {"bytes=-20000", 10000, HTTP_PARTIAL, 0, 10000},
        {"bytes=0-18446744073709551615", 10, HTTP_PARTIAL, 0, 10},
        {"bytes=0-99999999999999999999", 10, HTTP_PARTIAL, 0, 10},
        {"bytes=-99999999999999999999", 10, HTTP_PARTIAL, 0, 10},
        {"bytes=18446744073709551615-", UINT64_MAX, HTTP_UNSATISFIABLE, 0, 0},
        {"bytes=5-4", 10, HTTP_WHOLE, 0, 10},
        {"bytes= 1-2", 10, HTTP_WHOLE, 0, 10},
        {"chars=1-2", 10, HTTP_WHOLE, 0, 10},
        {NULL, 10, HTTP_WHOLE, 0, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t first, length;
        assert_int_equal(http_range_parse(cases[i].value, cases[i].size, &first, &length),
                         cases[i].range);
        if (cases[i].range == HTTP_UNSATISFIABLE)
            continue;
        assert_int_equal(first, cases[i].first);
        assert_int_equal(length, cases[i].length);
    }
}

static void headers(void **state)
{
    (void)state;
    char value[8];
    assert_true(http_cookie("a=1; b=2 ;c=3", "b", value, sizeof value));
    assert_string_equal(value, "2");
    assert_true(http_cookie("b=", "b", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(http_cookie("ab=1; b =2; B=3", "b", value, sizeof value));
    assert_false(http_cookie("b=12345678", "b", value, sizeof value));
    assert_false(http_cookie(NULL, "b", value, sizeof value));

    assert_true(http_accepts("gzip", "gzip"));
    assert_true(http_accepts("br , GZIP ;q=0.1", "gzip"));
    assert_false(http_accepts("gzip;q=0", "gzip"));
    assert_false(http_accepts("gzip; q=0.000", "gzip"));
    assert_false(http_accepts("xgzip, gzipx", "gzip"));
    assert_false(http_accepts("", "gzip"));
    assert_false(http_accepts(NULL, "gzip"));

    assert_true(http_tag_match("\"a\", W/\"b\"", "\"b\""));
    assert_true(http_tag_match(" * ", "\"b\""));
    assert_false(http_tag_match("\"ab\"", "\"b\""));
    assert_false(http_tag_match(NULL, "\"b\""));

    assert_true(http_type_is("Application/JSON; charset=utf-8", "application/json"));
    assert_false(http_type_is("application/jsonx", "application/json"));
    assert_false(http_type_is(NULL, "application/json"));
    assert_int_equal(http_coding_of("X-Gzip"), HTTP_CODED_GZIP);
    assert_int_equal(http_coding_of("identity"), HTTP_IDENTITY);
    assert_int_equal(http_coding_of("gzip, gzip"), HTTP_CODED_UNKNOWN);
}

/* What comes out is counted to the byte, whatever the sizes. */
static void packed_bodies(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 4096, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i], packed_size, got;
        uint8_t *plain = calloc(1, size), *bytes;
        uint8_t *gzip = http_pack((struct span){plain, size}, &packed_size);
        size_t bound = ZSTD_compressBound(size);
        uint8_t *zstd = malloc(bound);
        size_t zstd_size = ZSTD_compress(zstd, bound, plain, size, 3);
        const struct span forms[] = {{gzip, gzip ? packed_size : 0}, {zstd, zstd_size}};
        const enum http_coding codings[] = {HTTP_CODED_GZIP, HTTP_CODED_ZSTD};
        for (size_t f = gzip ? 0 : 1; f < 2; f++) {
            assert_int_equal(http_unpack(codings[f], forms[f], size, &bytes, &got), FW_OK);
            assert_int_equal(got, size);
            assert_memory_equal(bytes, plain, size);
            free(bytes);
            assert_int_equal(http_unpack(codings[f], forms[f], size - 1, &bytes, &got),
                             FW_ERR_FULL);
            for (size_t cut = 0; cut < forms[f].size; cut += 1 + cut / 8) {
                struct span part = {forms[f].data, cut};
                assert_int_not_equal(http_unpack(codings[f], part, size, &bytes, &got), FW_OK);
            }
        }
        free(gzip);
        free(zstd);
        free(plain);
    }
    uint8_t *bytes;
    size_t got;
    struct span text = {(const uint8_t *)"not packed at all", 17};
    assert_int_equal(http_unpack(HTTP_CODED_GZIP, text, 100, &bytes, &got), FW_ERR_CORRUPT);
    assert_int_equal(http_unpack(HTTP_CODED_ZSTD, text, 100, &bytes, &got), FW_ERR_CORRUPT);
    assert_null(http_pack(text, &got)); /* no smaller */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets), cmocka_unit_test(queries), cmocka_unit_test(patterns),
        cmocka_unit_test(ranges),  cmocka_unit_test(headers), cmocka_unit_test(packed_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
