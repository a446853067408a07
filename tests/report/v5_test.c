/*
 * /symbolicate/v5: answers of others are given back byte by byte, when a request is made of one and
 * the names come from it; requests that a server must refuse are refused.
 */
#include "report/jdoc.h"
#include "report/support.h"
#include "report/v5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 64 };

struct answer { /* somebody else's */
    struct span text;
    struct jdoc doc;
    struct arena arena;
    uint32_t stack; /* its only one */
    struct report_name names[MAX_NAMES];
};

static uint32_t result_of(const struct answer *a)
{
    return jdoc_at(&a->doc, jdoc_get(&a->doc, 0, "results"), 0);
}

static const char *text_of(struct answer *a, uint32_t object, const char *key)
{
    return jdoc_text(&a->doc, jdoc_get(&a->doc, object, key), &a->arena);
}

static uint64_t number_of(const struct answer *a, uint32_t object, const char *key)
{
    uint64_t value = 0;
    jdoc_u64(&a->doc, jdoc_get(&a->doc, object, key), &value);
    return value;
}

static struct report_name name_of(struct answer *a, uint32_t node)
{
    return (struct report_name){
        .function = text_of(a, node, "function"),
        .file = text_of(a, node, "file"),
        .line = (uint32_t)number_of(a, node, "line"),
        .has_offset = jdoc_get(&a->doc, node, "function_offset") != JNONE,
        .offset = number_of(a, node, "function_offset"),
        .size = number_of(a, node, "function_size"),
    };
}

static size_t resolve(void *context, const struct report *report, uint32_t frame,
                      const struct report_name **names)
{
    struct answer *a = context;
    (void)report;
    uint32_t node = jdoc_at(&a->doc, a->stack, frame);
    if (jdoc_get(&a->doc, node, "function") == JNONE)
        return 0;
    size_t count = 0;
    uint32_t inlines = jdoc_get(&a->doc, node, "inlines");
    for (uint32_t i = jdoc_first(&a->doc, inlines); i != JNONE && count + 1 < MAX_NAMES;
         i = jdoc_after(&a->doc, inlines, i)) {
        a->names[count] = name_of(a, i);
        a->names[count++].flags = REPORT_INLINED;
    }
    a->names[count++] = name_of(a, node);
    *names = a->names;
    return count;
}

static enum v5_found found(void *context, const struct report *report, uint32_t image)
{
    struct answer *a = context;
    char key[256];
    snprintf(key, sizeof key, "%s/%s", report->images[image].name, report->images[image].breakpad);
    uint32_t node = jdoc_get(&a->doc, jdoc_get(&a->doc, result_of(a), "found_modules"), key);
    return jdoc_is(&a->doc, node, JTRUE)    ? V5_FOUND
           : jdoc_is(&a->doc, node, JFALSE) ? V5_NOT_FOUND
                                            : V5_NOT_ASKED;
}

/* The request that such an answer is given to. */
static void make_request(struct answer *a, struct report_bytes *out)
{
    const struct jdoc *doc = &a->doc;
    uint32_t modules = jdoc_get(doc, result_of(a), "found_modules");
    char text[512], names[16][512];
    size_t module_count = 0;
    struct {
        char *data;
        size_t size;
    } request = {0};
    FILE *to = open_memstream(&request.data, &request.size);
    fputs("{\"memoryMap\":[", to);
    for (uint32_t i = jdoc_first(doc, modules); i != JNONE; i = jdoc_after(doc, modules, i)) {
        snprintf(text, sizeof text, "%s", jdoc_text(doc, i, &a->arena));
        char *slash = strrchr(text, '/');
        assert_non_null(slash);
        *slash = 0;
        snprintf(names[module_count++], sizeof names[0], "%s", text);
        fprintf(to, "%s[\"%s\",\"%s\"]", module_count > 1 ? "," : "", text, slash + 1);
    }
    fputs("],\"stacks\":[[", to);
    for (uint32_t i = jdoc_first(doc, a->stack); i != JNONE; i = jdoc_after(doc, a->stack, i)) {
        size_t m = 0;
        while (m < module_count && strcmp(names[m], text_of(a, i, "module")) != 0)
            m++;
        fprintf(to, "%s[%zu,%llu]", i == jdoc_first(doc, a->stack) ? "" : ",", m,
                (unsigned long long)number_of(a, i, "module_offset"));
    }
    fputs("]]}", to);
    fclose(to);
    *out = (struct report_bytes){request.data, request.size, request.size, false};
}

static void given_back(void **state)
{
    (void)state;
    static const char *const files[] = {"symbolicate-v5-response-android32-local.json",
                                        "symbolicate-v5-response-stripped-macos.json",
                                        "symbolicate-v5-response-win64-ci.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct answer a = {.text = load_file(FW_SHARED_DATA "/reports", files[i])};
        if (!a.text.data) {
            print_message("no data of other projects\n");
            skip();
        }
        assert_int_equal(jdoc_scan(&a.doc, a.text, 0), FW_OK);
        a.stack = jdoc_at(&a.doc, jdoc_get(&a.doc, result_of(&a), "stacks"), 0);
        struct report_bytes request, out = {0};
        make_request(&a, &request);
        struct report *r = read_span((struct span){(uint8_t *)request.data, request.size});
        assert_int_equal(v5_check(r, NULL), FW_OK);
        assert_int_equal(v5_write_answer(r, resolve, found, &a, &out), FW_OK);
        assert_int_equal(out.size, a.doc.end);
        assert_memory_equal(out.data, a.text.data, out.size);
        report_bytes_free(&out);
        report_bytes_free(&request);
        report_free(r);
        jdoc_free(&a.doc);
        arena_free(&a.arena);
        free((void *)(uintptr_t)a.text.data);
    }
}

static void several_jobs(void **state)
{
    (void)state;
    static const char request[] =
        "{\"jobs\":[{\"memoryMap\":[[\"App\",\"82D13D98219E3040B62A07A297007A7C0\"],[\"x.so\","
        "\"1\"]],\"stacks\":[[[0,8208],[-1,5],[1,16]],[]]},{\"memoryMap\":[[\"App\","
        "\"82D13D98219E3040B62A07A297007A7C0\"]],\"stacks\":[[[0,12288]]]}]}";
    struct report *r = read_text(request);
    assert_int_equal(v5_check(r, NULL), FW_OK);
    assert_int_equal(r->frames[0].kind, REPORT_EXACT);
    assert_int_equal(r->frames[2].kind, REPORT_EXACT); /* the sender has moved them already */
    assert_int_equal(r->images[0].id_size, 16);
    struct report_bytes out = {0};
    assert_int_equal(v5_write_answer(r, test_names, NULL, NULL, &out), FW_OK);
    assert_string_equal(
        out.data,
        "{\"results\":[{\"stacks\":[[{\"frame\":0,\"module_offset\":\"0x2010\",\"module\":\"App\","
        "\"function\":\"outer\",\"function_offset\":\"0x10\",\"file\":\"out.c\",\"line\":30,"
        "\"inlines\":[{\"function\":\"inner<\\\"q\\\">\",\"file\":\"in.h\",\"line\":3}]},"
        "{\"frame\":1,\"module_offset\":\"0x5\",\"module\":\"<unknown>\"},"
        "{\"frame\":2,\"module_offset\":\"0x10\",\"module\":\"x.so\"}],[]],\"found_modules\":{"
        "\"App/82D13D98219E3040B62A07A297007A7C0\":null,\"x.so/1\":null}},"
        "{\"stacks\":[[{\"frame\":0,\"module_offset\":\"0x3000\",\"module\":\"App\","
        "\"function\":\"caller\",\"function_offset\":\"0x20\",\"function_size\":\"0x40\","
        "\"inlines\":[{\"function\":\"hop\"}]}]],\"found_modules\":{"
        "\"App/82D13D98219E3040B62A07A297007A7C0\":null}}]}");
    report_bytes_free(&out);
    report_free(r);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fw_error error;
    } cases[] = {
        {"{\"memoryMap\":[],\"stacks\":[[[0,1]]]}", FW_ERR_CORRUPT},
        {"{\"memoryMap\":[[\"a\",\"b\"]],\"stacks\":[[[0]]]}", FW_ERR_CORRUPT},
        {"{\"memoryMap\":[[\"a\"]],\"stacks\":[]}", FW_ERR_CORRUPT},
        {"{\"memoryMap\":[[\"a\",\"b\"]],\"stacks\":[5]}", FW_ERR_CORRUPT},
        {"{\"memoryMap\":[[\"a\",\"b\"]],\"stacks\":[[[0,-1.5]]]}", FW_ERR_CORRUPT},
        {"{\"jobs\":5}", FW_ERR_CORRUPT},
        {"{\"jobs\":[5]}", FW_ERR_CORRUPT},
        {"{\"jobs\":[", FW_ERR_CORRUPT},
        {"{\"a\":1}", FW_ERR_FORMAT},
        {"x", FW_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report *r = read_text(cases[i].text);
        struct fw_failure why = {0};
        assert_int_equal(v5_check(r, &why), cases[i].error);
        assert_int_not_equal(why.message[0], 0);
        report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_back),
        cmocka_unit_test(several_jobs),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
