/*
 * Writing our own samples: the output with names is what stands beside the input (NAME.named), an
 * output is read and written again to the same bytes, and without names the input comes back.
 * FW_REPORT_UPDATE=1 writes the expected files anew; review them then.
 */
#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const samples[] = {
    "mac.crash",    "ios.crash",           "named.crash", "crash.ips", "stackshot.ips",
    "sample.txt",   "spindump.txt",        "asan.txt",    "perf.txt",  "list.txt",
    "kscrash.json", "hang.metrickit.json", "dump.json",   "meter.log",
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void free_span(struct span text)
{
    free((void *)(uintptr_t)text.data);
}

static void compare(const char *name, const struct report_bytes *out)
{
    if (getenv("FW_REPORT_UPDATE")) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", FW_REPORT_DATA, name);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fwrite(out->data, 1, out->size, file);
        fclose(file);
    }
    struct span expected = load_own(name);
    if (expected.size != out->size || memcmp(expected.data, out->data, out->size) != 0)
        print_error("%s differs; got:\n%s\n", name, out->data);
    assert_int_equal(expected.size, out->size);
    assert_memory_equal(expected.data, out->data, out->size);
    free_span(expected);
}

static void names(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct span text = load_own(samples[i]);
        struct report *r = read_span(text);
        struct report_bytes out = {0};
        assert_int_equal(report_write(r, test_names, NULL, &out), FW_OK);
        char name[64];
        snprintf(name, sizeof name, "%s.named", samples[i]);
        compare(name, &out);
        report_bytes_free(&out);
        report_free(r);
        free_span(text);
    }
}

static void identity(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct span text = load_own(samples[i]);
        struct report *r = read_span(text);
        struct report_bytes out = {0};
        assert_int_equal(report_write(r, NULL, NULL, &out), FW_OK);
        assert_int_equal(out.size, text.size);
        assert_memory_equal(out.data, text.data, text.size);
        report_bytes_free(&out);
        report_free(r);
        free_span(text);
    }
}

/* Written, read, and written again: the same bytes. (A list is not meant to be read again.) */
static void again(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct span text = load_own(samples[i]);
        struct report *r = read_span(text);
        struct report_bytes first = {0}, second = {0};
        assert_int_equal(report_write(r, test_names, NULL, &first), FW_OK);
        struct report *named = read_span((struct span){(uint8_t *)first.data, first.size});
        assert_int_equal(report_write(named, test_names, NULL, &second), FW_OK);
        assert_int_equal(named->kind, r->kind);
        bool tree = r->kind == REPORT_SAMPLE || r->kind == REPORT_SPINDUMP;
        if (!tree && r->kind != REPORT_LIST)
            assert_int_equal(named->frame_count, r->frame_count);
        if (r->kind != REPORT_LIST)
            assert_string_equal(first.data, second.data);
        report_bytes_free(&first);
        report_bytes_free(&second);
        report_free(named);
        report_free(r);
        free_span(text);
    }
}

static void conversions(void **state)
{
    (void)state;
    static const struct {
        const char *sample, *to;
    } cases[] = {
        {"crash.ips", "crash"},
        {"kscrash.json", "crash"},
        {"crash.ips", "json"},
        {"hang.metrickit.json", "json"},
        {"spindump.txt", "json"},
        {"crash.ips", "collapsed"},
        {"hang.metrickit.json", "collapsed"},
        {"sample.txt", "collapsed"},
        {"spindump.txt", "collapsed"},
        {"dump.json", "collapsed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span text = load_own(cases[i].sample);
        struct report *r = read_span(text);
        struct report_bytes out = {0};
        fw_error error =
            strcmp(cases[i].to, "crash") == 0  ? report_to_crash(r, test_names, NULL, &out)
            : strcmp(cases[i].to, "json") == 0 ? report_to_json(r, test_names, NULL, &out)
                                               : report_to_collapsed(r, test_names, NULL, &out);
        assert_int_equal(error, FW_OK);
        char name[64];
        snprintf(name, sizeof name, "%s.to-%s", cases[i].sample, cases[i].to);
        compare(name, &out);
        report_bytes_free(&out);
        report_free(r);
        free_span(text);
    }
}

/* The classic text of an .ips is itself a report with the same frames and names. */
static void crash_reads_back(void **state)
{
    (void)state;
    struct span text = load_own("crash.ips");
    struct report *r = read_span(text);
    struct report_bytes out = {0};
    assert_int_equal(report_to_crash(r, test_names, NULL, &out), FW_OK);
    struct report *crash = read_span((struct span){(uint8_t *)out.data, out.size});
    assert_int_equal(crash->kind, REPORT_CRASH);
    assert_int_equal(crash->frame_count, r->frame_count);
    for (size_t i = 0; i < r->frame_count; i++) {
        assert_int_equal(crash->frames[i].address, r->frames[i].address);
        assert_int_equal(crash->frames[i].kind, r->frames[i].kind);
        assert_int_equal(crash->frames[i].offset, r->frames[i].offset);
        assert_memory_equal(crash->images[crash->frames[i].image].id,
                            r->images[r->frames[i].image].id, 16);
    }
    report_bytes_free(&out);
    report_free(crash);
    report_free(r);
    free_span(text);
}

/* Our own form says the same after it was read and written again. */
static void json_reads_back(void **state)
{
    (void)state;
    static const char *const names_of[] = {"crash.ips", "hang.metrickit.json", "spindump.txt"};
    for (size_t i = 0; i < sizeof names_of / sizeof *names_of; i++) {
        struct span text = load_own(names_of[i]);
        struct report *r = read_span(text);
        struct report_bytes first = {0}, folded = {0}, again_folded = {0};
        assert_int_equal(report_to_json(r, test_names, NULL, &first), FW_OK);
        struct report *dump = read_span((struct span){(uint8_t *)first.data, first.size});
        assert_int_equal(dump->kind, REPORT_DUMP);
        assert_int_equal(report_to_collapsed(r, test_names, NULL, &folded), FW_OK);
        assert_int_equal(report_to_collapsed(dump, NULL, NULL, &again_folded), FW_OK);
        assert_string_equal(folded.data, again_folded.data);
        report_bytes_free(&first);
        report_bytes_free(&folded);
        report_bytes_free(&again_folded);
        report_free(dump);
        report_free(r);
        free_span(text);
    }
}

/* A stack of 3,000 frames, one in the other: a collapsed line shows 1,024 of them and the cut. */
static void deep_tree(void **state)
{
    (void)state;
    static const char frame[] = "{\"address\":1,\"sampleCount\":1,\"subFrames\":[";
    enum { DEPTH = 3000 };
    struct report_bytes out = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    fputs("{\"callStacks\":[{\"callStackRootFrames\":[", to);
    for (int i = 0; i < DEPTH; i++)
        fputs(frame, to);
    for (int i = 0; i < DEPTH; i++)
        fputs("]}", to);
    fputs("]}]}", to);
    fclose(to);
    struct report *r = read_text(text);
    assert_true(r->complete);
    assert_int_equal(r->frame_count, DEPTH);
    assert_int_equal(r->frames[DEPTH - 1].parent, DEPTH - 2);
    assert_int_equal(report_to_collapsed(r, NULL, NULL, &out), FW_OK);
    size_t separators = 0;
    for (const char *p = out.data; *p; p++)
        separators += *p == ';';
    assert_int_equal(separators, 1024 + 1);
    assert_non_null(strstr(out.data, ";[...]"));
    assert_null(strchr(strchr(out.data, '\n') + 1, '\n'));
    report_bytes_free(&out);
    report_free(r);
    free(text);
}

static void trees_have_no_crash_text(void **state)
{
    (void)state;
    struct span text = load_own("sample.txt");
    struct report *r = read_span(text);
    struct report_bytes out = {0};
    assert_int_equal(report_to_crash(r, NULL, NULL, &out), FW_ERR_UNSUPPORTED);
    report_bytes_free(&out);
    report_free(r);
    free_span(text);
}

/* Bytes that are not UTF-8 pass through texts; in JSON, names that are not become U+FFFD. */
static size_t odd_names(void *context, const struct report *report, uint32_t frame,
                        const struct report_name **result)
{
    static const struct report_name odd = {.function = "a\xff\xc3\xa9\n"};
    (void)context;
    (void)report;
    (void)frame;
    *result = &odd;
    return 1;
}

static void odd_bytes(void **state)
{
    (void)state;
    struct report *r = read_text("{\"threads\":[{\"frames\":[{\"imageOffset\":1}]}],"
                                 "\"procName\":\"\xff\"}");
    struct report_bytes out = {0};
    assert_int_equal(report_write(r, odd_names, NULL, &out), FW_OK);
    assert_string_equal(out.data, "{\"threads\":[{\"frames\":[{\"imageOffset\":1, "
                                  "\"symbol\":\"a\xef\xbf\xbd\xc3\xa9\\u000a\"}]}],"
                                  "\"procName\":\"\xff\"}");
    report_bytes_free(&out);
    report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(identity),
        cmocka_unit_test(again),
        cmocka_unit_test(conversions),
        cmocka_unit_test(crash_reads_back),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(deep_tree),
        cmocka_unit_test(trees_have_no_crash_text),
        cmocka_unit_test(odd_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
