/*
 * Reports of other projects (../shared/data/reports): every file is read, with the number of
 * threads, frames and images that it has, and comes back byte by byte; the pair of one crash as
 * .ips and .crash says the same both ways.
 */
#include "report/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct expected {
    const char *name;
    enum report_kind kind;
    size_t threads, frames, images;
    bool cut; /* broken JSON */
} files[] = {
    {"asm-v1-response-arm64.json", REPORT_OTHER, 0, 0, 0, false},
    {"collapsed-alternating.txt", REPORT_OTHER, 0, 0, 0, false},
    {"collapsed-recursion.txt", REPORT_OTHER, 0, 0, 0, false},
    {"collapsed-simple-crlf.txt", REPORT_OTHER, 0, 0, 0, false},
    {"collapsed-simple-with-invalids.txt", REPORT_OTHER, 0, 0, 0, false},
    {"collapsed-simple.txt", REPORT_OTHER, 0, 0, 0, false},
    {"debuginfod-0.188-transcript.txt", REPORT_OTHER, 0, 0, 0, false},
    {"fxprof-processed-v66-without-js.snap", REPORT_OTHER, 0, 0, 0, false},
    {"golden-dsym-abstract-linkage-arm64.tsv", REPORT_LIST, 1, 18, 0, false},
    {"golden-dsym-simple-example-arm64.tsv", REPORT_LIST, 1, 343, 0, false},
    {"ips-288-stackshot-bridgeos75.ips", REPORT_STACKSHOT, 341, 556 + 86, 30, false},
    {"ips-309-recoverylogd.ips", REPORT_IPS, 32, 127, 16, false},
    {"kscrash-report-bugsnag.json", REPORT_KSCRASH, 20, 59, 377, false},
    {"llvm-a.out.inline.crash.template", REPORT_CRASH, 1, 1, 2, false},
    {"llvm-a.out.inline.ips.template", REPORT_IPS, 1, 1, 0, true},
    {"mxcallstacktree-not-per-thread-only-one-frame.json", REPORT_METRICKIT, 1, 2, 1, false},
    {"mxcallstacktree-not-per-thread.json", REPORT_METRICKIT, 1, 14, 10, false},
    {"mxcallstacktree-per-thread-flamegraph.json", REPORT_METRICKIT, 1, 4, 4, false},
    {"mxcallstacktree-per-thread-nil-package.json", REPORT_METRICKIT, 1, 1, 1, false},
    {"mxcallstacktree-per-thread.json", REPORT_METRICKIT, 2, 6, 3, false},
    {"mxcallstacktree-tree-garbage.json", REPORT_METRICKIT, 1, 2, 2, true},
    {"mxcallstacktree-tree-real.json", REPORT_METRICKIT, 16, 92, 11, false},
    {"mxcallstacktree-tree-unknown-fields.json", REPORT_METRICKIT, 1, 3, 3, false},
    {"mxdiagnosticpayload-ios_uncaugh_exception_payload.json", REPORT_METRICKIT, 10, 50, 9, false},
    {"mxdiagnosticpayload-real_report.json", REPORT_METRICKIT, 19, 100, 19, false},
    {"mxdiagnosticpayload-xcode_simulated.json", REPORT_METRICKIT, 4, 4, 4, false},
    {"mxdiagnosticpayload-xcode_simulated_macOS_12.json", REPORT_METRICKIT, 4, 4, 4, false},
    {"mxdiagnosticpayload-xcode_simulated_macOS_13.json", REPORT_METRICKIT, 5, 5, 5, false},
    {"nsexception-meter.log", REPORT_METER, 1, 25, 4, false},
    {"pprof-simple.prof", REPORT_OTHER, 0, 0, 0, false},
    {"speedscope-evented.json", REPORT_OTHER, 0, 0, 0, false},
    {"speedscope-sampled.json", REPORT_OTHER, 0, 0, 0, false},
    {"speedscope-two-sampled.json", REPORT_OTHER, 0, 0, 0, false},
    {"symbolicate-v5-request-android32-nonxul.json", REPORT_V5, 3, 213, 3, false},
    {"symbolicate-v5-request-linux64-nonxul.json", REPORT_V5, 35, 1438, 35, false},
    {"symbolicate-v5-response-android32-local.json", REPORT_OTHER, 0, 0, 0, false},
    {"symbolicate-v5-response-stripped-macos.json", REPORT_OTHER, 0, 0, 0, false},
    {"symbolicate-v5-response-win64-ci.json", REPORT_OTHER, 0, 0, 0, false},
};
enum { FILES = sizeof files / sizeof *files };

static const char folder[] = FW_SHARED_DATA "/reports";

static struct span load_shared(const char *name)
{
    struct span text = load_file(folder, name);
    if (!text.data) {
        print_message("%s is not there: no data of other projects\n", name);
        skip();
    }
    return text;
}

static void free_span(struct span text)
{
    free((void *)(uintptr_t)text.data);
}

static void counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        struct span text = load_shared(files[i].name);
        struct report *r = read_span(text);
        if (r->kind != files[i].kind || r->thread_count != files[i].threads ||
            r->frame_count != files[i].frames || r->image_count != files[i].images)
            print_error("%s: %s, %zu threads, %zu frames, %zu images\n", files[i].name,
                        report_kind_text(r->kind), r->thread_count, r->frame_count, r->image_count);
        assert_int_equal(r->kind, files[i].kind);
        assert_int_equal(r->thread_count, files[i].threads);
        assert_int_equal(r->frame_count, files[i].frames);
        assert_int_equal(r->image_count, files[i].images);
        assert_int_equal(r->complete, !files[i].cut);
        report_free(r);
        free_span(text);
    }
}

static void every_file_is_listed(void **state)
{
    (void)state;
    DIR *open = opendir(folder);
    if (!open) {
        print_message("%s is not there\n", folder);
        skip();
    }
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    assert_int_equal(count, FILES);
}

static size_t no_names(void *context, const struct report *report, uint32_t frame,
                       const struct report_name **names)
{
    (void)report;
    (void)frame;
    (void)names;
    ++*(size_t *)context;
    return 0;
}

static void identity(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        struct span text = load_shared(files[i].name);
        struct report *r = read_span(text);
        struct report_bytes out = {0};
        size_t asked = 0;
        assert_int_equal(report_write(r, no_names, &asked, &out), FW_OK);
        assert_int_equal(asked, r->kind == REPORT_V5 ? 0 : r->frame_count);
        assert_int_equal(out.size, text.size);
        assert_memory_equal(out.data, text.data, text.size);
        report_bytes_free(&out);
        report_free(r);
        free_span(text);
    }
}

/* A name for every frame: all are there after reading again, and all else is as it was. */
static size_t all_names(void *context, const struct report *report, uint32_t frame,
                        const struct report_name **names)
{
    static const struct report_name both[] = {
        {.function = "inner", .file = "i.h", .line = 1, .flags = REPORT_INLINED},
        {.function = "outer", .file = "o.c", .line = 2}};
    (void)context;
    (void)report;
    (void)frame;
    *names = both;
    return 2;
}

static void every_frame_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        if (files[i].cut || files[i].kind == REPORT_V5 || files[i].kind == REPORT_LIST ||
            files[i].kind == REPORT_METER)
            continue; /* what they get is not read back, or they are no report */
        struct span text = load_shared(files[i].name);
        struct report *r = read_span(text);
        struct report_bytes out = {0};
        assert_int_equal(report_write(r, all_names, NULL, &out), FW_OK);
        struct report *named = read_span((struct span){(uint8_t *)out.data, out.size});
        assert_int_equal(named->frame_count, r->frame_count);
        for (size_t f = 0; f < named->frame_count; f++) {
            assert_int_equal(named->frames[f].name_count, 2);
            assert_string_equal(named->names[named->frames[f].first_name + 1].function, "outer");
            assert_int_equal(named->frames[f].address, r->frames[f].address);
            assert_int_equal(named->frames[f].kind, r->frames[f].kind);
        }
        report_bytes_free(&out);
        report_free(named);
        report_free(r);
        free_span(text);
    }
}

/* Apple's own arithmetic: the address of an .ips frame is its image's base plus its offset. */
static void ips_places(void **state)
{
    (void)state;
    struct span text = load_shared("ips-309-recoverylogd.ips");
    struct report *r = read_span(text);
    assert_string_equal(r->info.process, "recoverylogd");
    assert_string_equal(r->info.exception, "EXC_CRASH (SIGABRT)");
    assert_int_equal(r->frames[0].address, UINT64_C(8231239680) + 3336);
    assert_true(r->threads[5].crashed);
    assert_string_equal(r->threads[0].queue, "com.apple.main-thread");
    for (size_t i = 0; i < r->frame_count; i++)
        assert_int_equal(r->frames[i].kind, i == r->threads[r->frames[i].thread].first_frame
                                                ? REPORT_EXACT
                                                : REPORT_RETURN);
    report_free(r);
    free_span(text);
}

static void metrickit_places(void **state)
{
    (void)state;
    struct span text = load_shared("mxdiagnosticpayload-real_report.json");
    struct report *r = read_span(text);
    bool met = false;
    for (size_t i = 0; i < r->frame_count; i++) {
        if (r->frames[i].address != UINT64_C(6859816880))
            continue;
        met = true;
        assert_int_equal(r->frames[i].offset, 200624); /* not the load address that it says */
        assert_int_equal(r->images[r->frames[i].image].load, UINT64_C(6859616256));
    }
    assert_true(met);
    report_free(r);
    free_span(text);
}

/* ---- the pair ---- */

struct replacement {
    const char *from, *to;
};

static char *fill_in(struct span text, const struct replacement *replacements)
{
    char *filled = calloc(1, text.size + 4096);
    assert_non_null(filled);
    size_t used = 0;
    for (size_t i = 0; i < text.size;) {
        const struct replacement *r = replacements;
        while (r->from && (text.size - i < strlen(r->from) ||
                           memcmp(text.data + i, r->from, strlen(r->from)) != 0))
            r++;
        if (r->from) {
            strcpy(filled + used, r->to);
            used += strlen(r->to);
            i += strlen(r->from);
        } else {
            filled[used++] = (char)text.data[i++];
        }
    }
    return filled;
}

static const struct replacement in_ips[] = {
    {"@bar@", "852"},
    {"@main@", "900"},
    {"@UUID@", "82d13d98-219e-3040-b62a-07a297007a7c"},
    {"@EXEC@", "/tmp/a.out"},
    {"@NAME@", "a.out"},
    {NULL, NULL},
};
static const struct replacement in_crash[] = {
    {"@bar@", "0x100000354"},
    {"@main@", "0x100000384"},
    {"@UUID@", "82d13d98-219e-3040-b62a-07a297007a7c"},
    {"@EXEC@", "/tmp/a.out"},
    {NULL, NULL},
};

static void pair_is_one_crash(void **state)
{
    (void)state;
    struct span ips_text = load_shared("llvm-a.out.inline.ips.template");
    struct span crash_text = load_shared("llvm-a.out.inline.crash.template");
    char *ips_filled = fill_in(ips_text, in_ips), *crash_filled = fill_in(crash_text, in_crash);
    struct report *ips = read_text(ips_filled), *crash = read_text(crash_filled);
    assert_true(ips->complete);
    assert_int_equal(ips->frame_count, 3);
    assert_int_equal(crash->frame_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct report_frame *a = &ips->frames[i], *b = &crash->frames[i];
        assert_int_equal(a->name_count, i == 0 ? 2 : 1);
        assert_int_equal(a->name_count, b->name_count);
        assert_int_equal(a->kind, b->kind);
        for (uint32_t n = 0; n < a->name_count; n++) {
            const struct report_name *x = &ips->names[a->first_name + n];
            const struct report_name *y = &crash->names[b->first_name + n];
            assert_string_equal(x->function, y->function);
            assert_int_equal(x->offset, y->offset);
            assert_int_equal(x->line, y->line);
            assert_int_equal(x->flags, y->flags);
        }
        if (i < 2) {
            assert_int_equal(a->address, b->address);
            assert_int_equal(a->offset, b->offset);
        }
    }
    report_free(ips);
    report_free(crash);
    free(ips_filled);
    free(crash_filled);
    free_span(ips_text);
    free_span(crash_text);
}

/* Lines of the stack without their columns and our mark. */
static void plain_lines(const char *text, const char *from, char *to, size_t size)
{
    size_t used = 0;
    const char *p = strstr(text, from);
    assert_non_null(p);
    p = strchr(p + 1, '\n') + 1;
    for (int lines = 0; lines < 3 && *p && used + 2 < size;) {
        if (strncmp(p, "[inlined] ", 10) == 0) {
            p += 10;
        } else if (*p == ' ' || *p == '\t') {
            while (*p == ' ' || *p == '\t')
                p++;
            to[used++] = ' ';
        } else {
            lines += *p == '\n';
            to[used++] = *p++;
        }
    }
    to[used] = 0;
}

static void ips_to_crash(void **state)
{
    (void)state;
    struct span ips_text = load_shared("llvm-a.out.inline.ips.template");
    struct span crash_text = load_shared("llvm-a.out.inline.crash.template");
    char *ips_filled = fill_in(ips_text, in_ips), *crash_filled = fill_in(crash_text, in_crash);
    struct report *ips = read_text(ips_filled);
    struct report_bytes out = {0};
    assert_int_equal(report_to_crash(ips, NULL, NULL, &out), FW_OK);
    char ours[1024], theirs[1024];
    plain_lines(out.data, "\nThread 0 Crashed::", ours, sizeof ours);
    plain_lines(crash_filled, "\nThread 0 Crashed::", theirs, sizeof theirs);
    assert_string_equal(ours, theirs);
    static const char *const same[] = {
        "Exception Type:        EXC_BAD_ACCESS (SIGSEGV)\n",
        "Crashed Thread:        0  Dispatch queue: com.apple.main-thread\n",
        "System Integrity Protection: enabled\n",
        "Exception Note:        EXC_CORPSE_NOTIFY\n",
        "Thread 0 crashed with ARM Thread State (64-bit):\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_non_null(strstr(crash_filled, same[i]));
        assert_non_null(strstr(out.data, same[i]));
    }
    report_bytes_free(&out);
    report_free(ips);
    free(ips_filled);
    free(crash_filled);
    free_span(ips_text);
    free_span(crash_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_listed),
        cmocka_unit_test(counts),
        cmocka_unit_test(identity),
        cmocka_unit_test(every_frame_named),
        cmocka_unit_test(ips_places),
        cmocka_unit_test(metrickit_places),
        cmocka_unit_test(pair_is_one_crash),
        cmocka_unit_test(ips_to_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
