/* The position-keeping JSON scanner: spans, look-up, numbers, escapes, broken and deep texts. */
#include "report/jdoc.h"
#include "report/support.h"

#include <stdlib.h>
#include <string.h>

static struct jdoc scan(const char *text)
{
    struct jdoc doc;
    assert_int_equal(jdoc_scan(&doc, (struct span){(const uint8_t *)text, strlen(text)}, 0), FW_OK);
    return doc;
}

static void spans_and_lookup(void **state)
{
    (void)state;
    const char *text = " {\"a\" : [1, {\"b\":null}, \"x\\\"]\"], \"a\":2, \"c\" : true } tail";
    struct jdoc doc = scan(text);
    assert_true(doc.complete);
    assert_string_equal(text + doc.end, " tail");
    uint32_t a = jdoc_get(&doc, 0, "a");
    assert_memory_equal(text + doc.nodes[a].begin, "[1, {\"b\":null}, \"x\\\"]\"]",
                        doc.nodes[a].end - doc.nodes[a].begin);
    assert_true(jdoc_is(&doc, jdoc_get(&doc, jdoc_at(&doc, a, 1), "b"), JNULL));
    assert_int_equal(jdoc_at(&doc, a, 3), JNONE);
    assert_true(jdoc_is(&doc, jdoc_get(&doc, 0, "c"), JTRUE));
    assert_int_equal(jdoc_get(&doc, 0, "d"), JNONE);
    assert_int_equal(jdoc_get(&doc, JNONE, "d"), JNONE);
    assert_int_equal(jdoc_get(&doc, a, "d"), JNONE);
    size_t keys = 0;
    for (uint32_t i = jdoc_first(&doc, 0); i != JNONE; i = jdoc_after(&doc, 0, i))
        keys++;
    assert_int_equal(keys, 3);
    jdoc_free(&doc);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"-1", true, UINT64_MAX},
        {"0", true, 0},
        {"1.5", false, 0},
        {"1e3", false, 0},
        {"\"0x10\"", true, 16},
        {"\"12\"", true, 12},
        {"\"12x\"", false, 0},
        {"\"\"", false, 0},
        {"\"0x1ffffffffffffffff\"", false, 0},
        {"null", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jdoc doc = scan(cases[i].text);
        uint64_t value = 0;
        assert_int_equal(jdoc_u64(&doc, 0, &value), cases[i].ok);
        if (cases[i].ok)
            assert_int_equal(value, cases[i].value);
        jdoc_free(&doc);
    }
}

static void escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"\"a\\/b\\n\\t\\\"\\\\\"", "a/b\n\t\"\\"},
        {"\"\\u00e9\\u20ac\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\u0000\"", "?"},
        {"\"\\u12\"", "u12"},
        {"\"\xff\"", "\xff"},
        {"12.50", "12.50"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jdoc doc = scan(cases[i].text);
        assert_string_equal(jdoc_text(&doc, 0, &arena), cases[i].value);
        jdoc_free(&doc);
    }
    arena_free(&arena);
}

/* What stands before the damage is there, and the damage is said. */
static void broken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t nodes; /* the object, and key and value of what is whole */
    } cases[] = {
        {"{\"a\":1,", 3},          {"{\"a\":1,\"b\"", 3},    {"{\"a\":1,\"b\":", 3},
        {"{\"a\":1,\"b\":@}", 3},  {"{\"a\":1 \"b\":2}", 3}, {"{\"a\":1,}", 3},
        {"{\"a\":1,\"b\":\"x", 3}, {"{\"a\":[1", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jdoc doc = scan(cases[i].text);
        assert_false(doc.complete);
        assert_int_equal(doc.count, cases[i].nodes);
        assert_int_not_equal(jdoc_get(&doc, 0, "a"), JNONE);
        assert_int_equal(jdoc_get(&doc, 0, "b"), JNONE);
        jdoc_free(&doc);
    }
    struct jdoc doc;
    assert_int_equal(jdoc_scan(&doc, (struct span){(const uint8_t *)"  x", 3}, 0), FW_ERR_FORMAT);
    assert_int_equal(jdoc_scan(&doc, (struct span){NULL, 0}, 0), FW_ERR_FORMAT);
}

static void too_deep(void **state)
{
    (void)state;
    size_t size = 2 * JDOC_MAX_DEPTH;
    uint8_t *text = malloc(size);
    assert_non_null(text);
    memset(text, '[', size);
    struct jdoc doc;
    assert_int_equal(jdoc_scan(&doc, (struct span){text, size}, 0), FW_OK);
    assert_false(doc.complete);
    assert_int_equal(doc.count, JDOC_MAX_DEPTH);
    assert_int_equal(doc.nodes[0].next, JDOC_MAX_DEPTH);
    jdoc_free(&doc);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_and_lookup), cmocka_unit_test(numbers),  cmocka_unit_test(escapes),
        cmocka_unit_test(broken),           cmocka_unit_test(too_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
