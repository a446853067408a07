/* What each reader takes out of our own samples: kinds of frames, places, threads, identity. */
#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One letter a frame: e exact, r return; threads are separated by blanks. */
static void assert_kinds(const struct report *r, const char *expected)
{
    char text[512];
    size_t used = 0;
    for (size_t i = 0; i < r->frame_count && used + 2 < sizeof text; i++) {
        if (i > 0 && r->frames[i].thread != r->frames[i - 1].thread)
            text[used++] = ' ';
        text[used++] = r->frames[i].kind == REPORT_EXACT ? 'e' : 'r';
    }
    text[used] = 0;
    assert_string_equal(text, expected);
}

static const struct report_image *image_of(const struct report *r, size_t frame)
{
    assert_true(frame < r->frame_count);
    assert_int_not_equal(r->frames[frame].image, REPORT_NONE);
    return &r->images[r->frames[frame].image];
}

static void assert_place(const struct report *r, size_t frame, const char *image, uint64_t offset)
{
    assert_string_equal(image_of(r, frame)->name, image);
    assert_true(r->frames[frame].has_offset);
    assert_int_equal(r->frames[frame].offset, offset);
}

struct sample {
    struct span text;
    struct report *report;
};

static struct sample open_sample(const char *name, enum report_kind kind)
{
    struct sample s = {.text = load_own(name)};
    s.report = read_span(s.text);
    assert_string_equal(report_kind_text(s.report->kind), report_kind_text(kind));
    return s;
}

static void close_sample(struct sample *s)
{
    report_free(s->report);
    free((void *)(uintptr_t)s->text.data);
}

static void mac_crash(void **state)
{
    (void)state;
    struct sample s = open_sample("mac.crash", REPORT_CRASH);
    const struct report *r = s.report;
    assert_true(r->complete);
    assert_int_equal(r->thread_count, 2);
    assert_kinds(r, "errrrerrr er"); /* exact again behind _sigtramp */
    assert_true(r->threads[0].crashed);
    assert_false(r->threads[1].crashed);
    assert_string_equal(r->threads[0].queue, "com.apple.main-thread");
    assert_string_equal(r->threads[1].name, "worker \xe9 one");
    assert_int_equal(r->image_count, 5); /* the one of nowhere is none */
    assert_place(r, 0, "App", 0x2010);
    assert_place(r, 1, "My Frame work", 0x444);
    assert_int_equal(image_of(r, 0)->id_size, 16);
    assert_int_equal(image_of(r, 0)->id[0], 0x82);
    assert_int_equal(r->frames[7].image, REPORT_NONE);
    const struct report_name *name = &r->names[r->frames[1].first_name];
    assert_string_equal(name->function, "-[Thing do:it:]");
    assert_int_equal(name->offset, 20);
    assert_string_equal(r->info.process, "App");
    assert_string_equal(r->info.pid, "4242");
    assert_string_equal(r->info.exception, "EXC_BAD_ACCESS (SIGSEGV)");
    close_sample(&s);
}

static void ios_crash(void **state)
{
    (void)state;
    struct sample s = open_sample("ios.crash", REPORT_CRASH);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 3);
    assert_kinds(r, "rrr er e"); /* an exception's backtrace are return addresses */
    assert_true(r->threads[0].exception);
    assert_string_equal(r->info.bug_type, "109");
    assert_string_equal(r->info.os, "iPhone OS 13.3 (17C54)");
    assert_string_equal(image_of(r, 1)->arch, "arm64e");
    assert_place(r, 1, "App", 0x2010);
    assert_int_equal(r->frames[4].address, 0x100002010); /* authentication bits are gone */
    assert_place(r, 4, "App", 0x2010);
    assert_string_equal(r->threads[2].name, "com.example.worker");
    close_sample(&s);
}

static void groups_of_inlined(void **state)
{
    (void)state;
    struct sample s = open_sample("named.crash", REPORT_CRASH);
    const struct report *r = s.report;
    static const uint32_t names[] = {2, 2, 2, 1, 1, 2};
    assert_int_equal(r->frame_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(r->frames[i].name_count, names[i]);
    const struct report_name *first = &r->names[r->frames[1].first_name];
    assert_string_equal(first[0].function, "c");
    assert_int_equal(first[0].flags, REPORT_INLINED);
    assert_int_equal(first[1].flags, 0);
    close_sample(&s);
}

static void ips(void **state)
{
    (void)state;
    struct sample s = open_sample("crash.ips", REPORT_IPS);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 2);
    assert_kinds(r, "rr errrrr");
    assert_true(r->threads[0].exception);
    assert_true(r->threads[1].crashed);
    assert_string_equal(r->threads[1].id, "1");
    assert_int_equal(r->frames[2].address, 0x100002010);
    assert_int_equal(r->frames[5].name_count, 2); /* two entries, one frame */
    assert_place(r, 6, "App", 0x2020);            /* of no image: an address with bits in it */
    assert_int_equal(r->frames[6].address, 0x100002020);
    assert_string_equal(r->info.os, "macOS 14.0 (23A344)");
    assert_string_equal(r->info.version, "1.2");
    assert_string_equal(r->info.termination, "SIGNAL 11 Segmentation fault: 11");
    close_sample(&s);
}

static void stackshot(void **state)
{
    (void)state;
    struct sample s = open_sample("stackshot.ips", REPORT_STACKSHOT);
    const struct report *r = s.report;
    assert_kinds(r, "err");
    assert_string_equal(r->threads[0].process, "App [7]");
    assert_int_equal(r->frames[0].address, 0x100002010);
    assert_true(image_of(r, 2)->whole_cache);
    assert_false(image_of(r, 0)->whole_cache);
    close_sample(&s);
}

static void metrickit(void **state)
{
    (void)state;
    struct sample s = open_sample("hang.metrickit.json", REPORT_METRICKIT);
    const struct report *r = s.report;
    assert_int_equal(r->threads[0].order, REPORT_CALLERS); /* dyld is the root */
    assert_kinds(r, "rree");
    assert_int_equal(r->frames[3].parent, 1);
    assert_int_equal(r->frames[2].samples, 12);
    assert_place(r, 2, "App", 0x2010);
    assert_int_equal(image_of(r, 2)->load, 0x100000000);
    close_sample(&s);
}

/* A crash of iOS 14 says the load address where others say the offset; nests callers inside. */
static void metrickit_load_address(void **state)
{
    (void)state;
    static const char format[] =
        "{\"crashDiagnostics\":[{\"callStackTree\":{\"callStackPerThread\":true,\"callStacks\":[{"
        "\"callStackRootFrames\":[{\"binaryName\":\"App\",\"address\":1065000,"
        "\"offsetIntoBinaryTextSegment\":%s,\"subFrames\":[{\"binaryName\":\"dyld\","
        "\"address\":6859816880,\"offsetIntoBinaryTextSegment\":6859616256}]}]}]},"
        "\"diagnosticMetaData\":{\"osVersion\":\"%s\"}}]}";
    static const struct {
        const char *offset, *os;
        uint64_t expected;
    } cases[] = {
        {"1048576", "iPhone OS 14.0.1 (18A393)", 1065000 - 1048576},
        {"1048576", "iPhone OS 16.0 (20A1)", 1048576},
        {"5000", "iPhone OS 14.0.1 (18A393)", 5000}, /* no load address: not at a page */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, format, cases[i].offset, cases[i].os);
        struct report *r = read_text(text);
        assert_int_equal(r->threads[0].order, REPORT_CALLEES);
        assert_kinds(r, "er");
        assert_place(r, 0, "App", cases[i].expected);
        assert_place(r, 1, "dyld", 200624);
        report_free(r);
    }
}

static void metrickit_flat(void **state)
{
    (void)state;
    struct report *r = read_text("{\"callStackPerThread\":true,\"callStacks\":[{"
                                 "\"callStackRootFrames\":[{\"address\":1},{\"address\":2}]}]}");
    assert_int_equal(r->threads[0].order, REPORT_STACK);
    assert_kinds(r, "er");
    report_free(r);
}

static void kscrash(void **state)
{
    (void)state;
    struct sample s = open_sample("kscrash.json", REPORT_KSCRASH);
    const struct report *r = s.report;
    assert_kinds(r, "err r"); /* the second thread's program counter is elsewhere */
    assert_place(r, 0, "App", 0x2010);
    assert_place(r, 1, "App", 0x1020);
    assert_int_equal(r->frames[1].address, 0x100001020);
    assert_string_equal(image_of(r, 2)->name, "gone");
    assert_string_equal(r->images[0].arch, "arm64e");
    assert_int_equal(r->image_count, 2);
    close_sample(&s);
}

/* The stack of an exception that was thrown has return addresses only. */
static void kscrash_thrown(void **state)
{
    (void)state;
    struct report *r =
        read_text("{\"report\":{},\"binary_images\":[],\"crash\":{\"error\":{\"type\":"
                  "\"nsexception\"},\"threads\":[{\"crashed\":true,\"backtrace\":{\"contents\":[{"
                  "\"instruction_addr\":5}]}},{\"crashed\":false,\"backtrace\":{\"contents\":[{"
                  "\"instruction_addr\":5}]}}]}}");
    assert_kinds(r, "r e");
    report_free(r);
}

static void sample(void **state)
{
    (void)state;
    struct sample s = open_sample("sample.txt", REPORT_SAMPLE);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 4);
    assert_kinds(r, "rrree e rr e"); /* the lists below repeat some */
    assert_true(r->threads[2].repeats && r->threads[3].repeats);
    assert_string_equal(r->threads[0].queue, "com.apple.main-thread");
    assert_string_equal(r->threads[0].id, "2155218");
    assert_string_equal(r->threads[1].name, "worker one");
    static const uint32_t parents[] = {REPORT_NONE, 0, 1, 2, 1, REPORT_NONE};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(r->frames[i].parent, parents[i]);
    assert_int_equal(r->frames[4].samples, 40);
    assert_place(r, 2, "App", 0x2010);
    const struct report_name *old = &r->names[r->frames[5].first_name];
    assert_string_equal(old->function, "old name");
    assert_string_equal(old->file, "old.c");
    assert_int_equal(old->line, 1);
    close_sample(&s);
}

static void spindump(void **state)
{
    (void)state;
    struct sample s = open_sample("spindump.txt", REPORT_SPINDUMP);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 4);
    assert_true(r->threads[0].repeats);
    assert_kinds(r, "e rrree e re");
    assert_string_equal(r->threads[2].name, "worker");
    assert_string_equal(r->threads[3].process, "Other [77]");
    assert_place(r, 2, "App", 0x1020);
    assert_place(r, 4, "kernel", 0x512804);
    assert_place(r, 7, "Other", 0x1020); /* the same address in another process */
    assert_int_equal(image_of(r, 7)->id[0], 0x92);
    assert_string_equal(image_of(r, 8)->name, "dyld"); /* of this process nothing is known of it */
    assert_int_equal(image_of(r, 8)->id_size, 0);
    const struct report_name *old = &r->names[r->frames[5].first_name];
    assert_string_equal(old->file, "Old.swift");
    assert_int_equal(old->line, 31);
    close_sample(&s);
}

static void sanitizer(void **state)
{
    (void)state;
    struct sample s = open_sample("asan.txt", REPORT_SANITIZER);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 2);
    assert_kinds(r, "eeee ee"); /* the runtime has moved them back already */
    assert_place(r, 0, "App", 0x2010);
    assert_int_equal(image_of(r, 0)->id_size, 20);
    const struct report_name *name = &r->names[r->frames[4].first_name];
    assert_string_equal(name->function, "free");
    assert_string_equal(name->file, "../../src/asan_malloc_linux.cpp");
    assert_int_equal(name->line, 52);
    assert_int_equal(name->column, 3);
    close_sample(&s);
}

static void perf(void **state)
{
    (void)state;
    struct sample s = open_sample("perf.txt", REPORT_PERF);
    const struct report *r = s.report;
    assert_int_equal(r->thread_count, 2);
    assert_kinds(r, "err er");
    assert_string_equal(r->threads[0].name, "App main");
    assert_string_equal(r->threads[0].id, "4242");
    assert_place(r, 0, "App", 0x2010);
    assert_place(r, 2, "libc.so.6", 0x27a80);
    assert_int_equal(r->frames[2].space, REPORT_LINKED);
    assert_int_equal(r->frames[4].image, REPORT_NONE);
    close_sample(&s);
}

static void list(void **state)
{
    (void)state;
    struct sample s = open_sample("list.txt", REPORT_LIST);
    const struct report *r = s.report;
    assert_kinds(r, "eeeee");
    assert_place(r, 0, "App", 0x2010);
    assert_false(r->frames[1].has_offset);
    assert_string_equal(image_of(r, 1)->name, "App");
    assert_int_equal(r->frames[2].image, REPORT_NONE);
    assert_string_equal(image_of(r, 3)->path, "/bin/App");
    close_sample(&s);
}

static void dump(void **state)
{
    (void)state;
    struct sample s = open_sample("dump.json", REPORT_DUMP);
    const struct report *r = s.report;
    assert_kinds(r, "er");
    assert_place(r, 0, "App", 0x2010);
    assert_int_equal(r->frames[0].space, REPORT_LINKED);
    assert_int_equal(r->frames[0].samples, 3);
    close_sample(&s);
}

static void nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "hello\nworld\n",
                                        "{}",
                                        "{\"a\":1}",
                                        "[",
                                        "a;b;c 1\n",
                                        "0x\n",
                                        "{\"log\":\"Exception Type: x\"}",
                                        "{\"bug_type\":\"298\"}\n{\"processes\":[]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct report *r = read_text(texts[i]);
        assert_int_equal(r->kind, REPORT_OTHER);
        assert_int_equal(r->frame_count, 0);
        report_free(r);
    }
}

/* A text that breaks off gives what it has, and says so. */
static void cut_off(void **state)
{
    (void)state;
    struct span whole = load_own("crash.ips");
    struct report *all = read_span(whole);
    struct span part = {whole.data, all->frames[5].span.end};
    struct report *r = read_span(part);
    assert_int_equal(r->kind, REPORT_IPS);
    assert_false(r->complete);
    assert_non_null(strstr(r->note, "ends at byte"));
    assert_int_equal(r->frame_count, 6);
    report_free(r);
    report_free(all);
    free((void *)(uintptr_t)whole.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mac_crash),
        cmocka_unit_test(ios_crash),
        cmocka_unit_test(groups_of_inlined),
        cmocka_unit_test(ips),
        cmocka_unit_test(stackshot),
        cmocka_unit_test(metrickit),
        cmocka_unit_test(metrickit_load_address),
        cmocka_unit_test(metrickit_flat),
        cmocka_unit_test(kscrash),
        cmocka_unit_test(kscrash_thrown),
        cmocka_unit_test(sample),
        cmocka_unit_test(spindump),
        cmocka_unit_test(sanitizer),
        cmocka_unit_test(perf),
        cmocka_unit_test(list),
        cmocka_unit_test(dump),
        cmocka_unit_test(nothing),
        cmocka_unit_test(cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
