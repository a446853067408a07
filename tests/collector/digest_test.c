/* What a report comes to: the stack it is grouped by, durations, sums; of made-up reports and of
 * real ones of other tools. Also stacks as bytes. */
#include "collector/digest.h"
#include "collector/reports.h"
#include "report/fwr_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char salt[] = "0000000000000000000000000000000000000000000000000000000000000000";
static const uint64_t received_ms = 1795000000000;

/* ---- stacks as bytes ---- */

static void test_code_round_trip(void **state)
{
    (void)state;
    const struct stack_frame frames[] = {
        {1, 0x1234, 0, 0, false},
        {1, 0x1230, 1, 0, false},
        {900000000000, 5, 1, 1, true},
        {1, UINT64_MAX, 1, 0, false},
        {0, 0xffff800000000000, 1, 0, false},
        {2, 0, 1, 0, false},
        {900000000000, 1ull << 63, 1, 1, true},
        {0, 1, 0, 0, false},
    };
    enum { COUNT = sizeof frames / sizeof *frames };
    uint8_t code[COUNT * STACK_CODE_FRAME_MAX];
    struct stack_frame back[COUNT];
    size_t count, size = stack_encode(frames, COUNT, code);
    assert_int_equal(stack_decode((struct span){code, size}, back, COUNT, &count), FW_OK);
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(back[i].image, frames[i].image);
        assert_true(back[i].offset == frames[i].offset);
        assert_int_equal(back[i].kind, frames[i].kind);
        assert_int_equal(back[i].space, frames[i].space);
        assert_int_equal(back[i].named, frames[i].named);
    }
    assert_int_equal(stack_decode((struct span){code, size}, back, COUNT - 1, &count), FW_ERR_FULL);
    assert_int_equal(stack_decode((struct span){code, 1}, back, COUNT, &count), FW_ERR_CORRUPT);
}

static void test_hash_is_of_what_is_meant(void **state)
{
    (void)state;
    struct stack_frame frames[] = {{7, 16, 0, 0, false}, {9, 32, 1, 0, false}};
    struct span keys[] = {{(const uint8_t *)"ab", 2}, {(const uint8_t *)"c", 1}};
    uint8_t first[16], second[16];
    assert_int_equal(stack_hash(frames, keys, 2, first), FW_OK);
    frames[0].image = 70; /* another server's row of the same image */
    assert_int_equal(stack_hash(frames, keys, 2, second), FW_OK);
    assert_memory_equal(first, second, 16);
    keys[0].size = 1; /* "a", "bc" are not "ab", "c" */
    keys[1] = (struct span){(const uint8_t *)"bc", 2};
    assert_int_equal(stack_hash(frames, keys, 2, second), FW_OK);
    assert_memory_not_equal(first, second, 16);
    frames[1].kind = 0;
    assert_int_equal(stack_hash(frames, keys, 2, first), FW_OK);
    assert_memory_not_equal(first, second, 16);
}

/* ---- the heaviest path ---- */

struct sink {
    uint8_t bytes[1 << 20];
    size_t size;
};

static bool put(void *context, const void *bytes, size_t size)
{
    struct sink *s = context;
    if (sizeof s->bytes - s->size < size)
        return false;
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return true;
}

/* The program, the interpreter, and what a JIT compiler made. */
static bool find_image(void *context, uint64_t address, struct fwr_image *image)
{
    static const uint8_t ids[2][20] = {{1, 2, 3}, {4, 5, 6}};
    size_t number = address >> 20;
    (void)context;
    *image = (struct fwr_image){.key = (number << 20) + 0x100,
                                .base = number << 20,
                                .size = 0xf0000,
                                .id = ids[number & 1],
                                .id_size = 20,
                                .path = number ? "/usr/bin/python3.11" : "/opt/app",
                                .arch = "x86_64"};
    return number < 2;
}

static struct sink sink;
static struct report *report;
static struct arena arena;
static struct digest digest;

static struct fwr_writer *begin(void *memory, enum fwr_kind kind)
{
    static const struct fwr_about about = {.id = {1},
                                           .session = {9},
                                           .started_ms = 1794999000000,
                                           .process_age_ms = 60000,
                                           .version = "1.0",
                                           .executable = "/opt/app"};
    struct fwr_about now = about;
    now.kind = kind;
    sink.size = 0;
    return fwr_create(memory, put, &sink, find_image, NULL, &now);
}

/* A sample of the stack that `text` spells, outermost letter first. */
static void sample(struct fwr_writer *w, const char *text, uint64_t weight_ns)
{
    struct fw_frame frames[16] = {0};
    uint32_t count = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < count; i++) {
        frames[i].address = 0x1000 + 16ull * (uint8_t)text[count - 1 - i];
        frames[i].kind = i == 0 ? FW_FRAME_EXACT : FW_FRAME_RETURN;
    }
    struct fw_stack stack = {
        .frames = frames, .capacity = 16, .count = count, .head = count, .end = FW_END_ROOT};
    for (uint32_t i = 0; i < count; i++)
        stack.id = stack.id * 131 + (uint8_t)text[i];
    struct fwr_sample s = {.stack = fwr_stack(w, &stack), .count = 1, .weight_ns = weight_ns};
    fwr_sample(w, &s);
}

static void finish(struct fwr_writer *w, enum fwr_ending ending, uint64_t duration_ns)
{
    struct fwr_hang_end end = {.ending = ending, .duration_ns = duration_ns};
    struct fw_failure why = {0};
    fwr_hang_end(w, &end);
    assert_true(fwr_end(w));
    assert_int_equal(report_read((struct span){sink.bytes, sink.size}, &report, &why), FW_OK);
    assert_int_equal(digest_report(report, received_ms, salt, &arena, &digest), FW_OK);
}

static void spell(const struct digest_stack *stack, char text[17])
{
    for (size_t i = 0; i < stack->count; i++)
        text[stack->count - 1 - i] = (char)((stack->frames[i].offset - 0x1000) / 16);
    text[stack->count] = '\0';
}

struct weighted {
    const char *stack;
    uint64_t weight;
};

#define KEY(expected, ...)                                                                         \
    do {                                                                                           \
        const struct weighted samples[] = {__VA_ARGS__};                                           \
        check_key(samples, sizeof samples / sizeof *samples, expected);                            \
    } while (0)

static void check_key(const struct weighted *samples, size_t count, const char *expected)
{
    static const struct fwr_hang hang = {.thread = 1, .threshold_ns = 1};
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    struct fwr_writer *w = begin(memory, FWR_KIND_HANG);
    char text[17] = "";
    fwr_hang(w, &hang);
    for (size_t i = 0; i < count; i++)
        sample(w, samples[i].stack, samples[i].weight);
    finish(w, FWR_RECOVERED, 1000);
    if (digest.key != SIZE_MAX)
        spell(&digest.stacks[digest.key], text);
    assert_string_equal(text, expected);
    report_free(report);
    arena_reset(&arena);
    free(memory);
}

static void test_heaviest_path(void **state)
{
    (void)state;
    KEY("maA", {"maA", 99}, {"maB", 1});
    KEY("maA", {"maB", 1}, {"maA", 99}, {"maB", 1}); /* whatever came last */
    /* The heaviest single stack is not on the heaviest path. */
    KEY("mazC", {"mxA", 40}, {"mayB", 25}, {"mazC", 20}, {"mazD", 15});
    /* No frame has half of `a`: the heaviest stack below it. */
    KEY("maC", {"maA", 30}, {"maB", 30}, {"maC", 40}, {"n", 5});
    /* Most time in the caller itself. */
    KEY("ma", {"ma", 70}, {"maB", 30});
    KEY("mab", {"mab", 1});
    check_key(NULL, 0, "");
    assert_true(digest.counts && digest.key != SIZE_MAX); /* in the sums, so in a group */
}

/* A hostile report: thousands of samples of one deep stack. Each is a few bytes of the report. */
static void test_many_samples_of_a_deep_stack(void **state)
{
    (void)state;
    enum { DEEP = 500, SAMPLES = 20000 };
    static const struct fwr_hang hang = {.thread = 1, .threshold_ns = 1};
    static struct fw_frame frames[DEEP];
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    struct fwr_writer *w = begin(memory, FWR_KIND_HANG);
    for (uint32_t i = 0; i < DEEP; i++)
        frames[i] = (struct fw_frame){.address = 0x1000 + 16ull * i, .kind = FW_FRAME_RETURN};
    struct fw_stack stack = {.frames = frames,
                             .capacity = DEEP,
                             .count = DEEP,
                             .head = DEEP,
                             .end = FW_END_ROOT,
                             .id = 7};
    fwr_hang(w, &hang);
    struct fwr_sample s = {.stack = fwr_stack(w, &stack), .count = 1, .weight_ns = 1000};
    for (unsigned i = 0; i < SAMPLES; i++)
        fwr_sample(w, &s);
    finish(w, FWR_RECOVERED, 1000 * SAMPLES);
    assert_int_equal(report->sample_count, SAMPLES);
    assert_int_equal(digest.stack_count, 1);
    assert_int_equal(digest.stacks[0].count, DEEP);
    assert_int_equal(digest.stacks[0].weight_ns, 1000 * SAMPLES);
    assert_int_equal(digest.stacks[0].samples, SAMPLES);
    assert_true(arena.total < sink.size + (1 << 20));
    report_free(report);
    arena_reset(&arena);
    free(memory);
}

static uint32_t put_stack(struct fwr_writer *w, uint64_t id, const uint64_t *addresses,
                          uint32_t count)
{
    static struct fw_frame frames[16];
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (struct fw_frame){.address = addresses[i],
                                      .kind = i ? FW_FRAME_RETURN : FW_FRAME_EXACT};
    const struct fw_stack stack = {.frames = frames,
                                   .capacity = 16,
                                   .count = count,
                                   .head = count,
                                   .end = FW_END_ROOT,
                                   .id = id};
    return fwr_stack(w, &stack);
}

static const struct digest_named *named_of(const struct stack_frame *frame)
{
    for (size_t i = 0; frame->named && i < digest.named_count; i++)
        if (digest.named[i].frame.offset == frame->offset &&
            digest.named[i].frame.image == frame->image)
            return &digest.named[i];
    return NULL;
}

/* Functions of a script stand inside of the interpreter, and what they call inside of them. */
static void test_scripts_stand_in_their_stack(void **state)
{
    (void)state;
    static const struct fwr_hang hang = {.thread = 1, .threshold_ns = 1};
    static const struct fwr_script_frame early[] = {{"load", "/opt/shop.py", 7}},
                                         late[] = {{"sleep", "/opt/shop.py", 9},
                                                   {"main", "/opt/shop.py", 12}};
    static const uint64_t addresses[] = {0x3000, 0x100200, 0x100100, 0x1000};
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    struct fwr_writer *w = begin(memory, FWR_KIND_HANG);
    fwr_hang(w, &hang);
    uint32_t stack = put_stack(w, 5, addresses, 4);
    fwr_script(w, 2, 0, "python", early, 1); /* another thread's */
    fwr_script(w, 1, 0, "python", early, 1);
    fwr_script(w, 1, 50, "python", late, 2);
    const struct fwr_sample samples[] = {
        {.stack = stack, .count = 1, .at_ns = 10, .weight_ns = 20},
        {.stack = stack, .count = 2, .at_ns = 50, .weight_ns = 30},
        {.stack = stack, .count = 1, .at_ns = 80, .weight_ns = 40},
    };
    for (size_t i = 0; i < 3; i++)
        fwr_sample(w, &samples[i]);
    finish(w, FWR_RECOVERED, 100);
    assert_int_equal(digest.stack_count, 2);
    const struct digest_stack *key = &digest.stacks[digest.key];
    assert_int_equal(key->weight_ns, 70);
    assert_int_equal(key->samples, 3);
    assert_int_equal(key->count, 6);
    assert_string_equal(digest.images[key->frames[0].image - 1].name, "app");
    const struct digest_named *inner = named_of(&key->frames[1]),
                              *outer = named_of(&key->frames[2]);
    assert_non_null(inner);
    assert_non_null(outer);
    assert_string_equal(inner->names[0].function, "sleep");
    assert_string_equal(outer->names[0].function, "main");
    assert_string_equal(outer->names[0].file, "/opt/shop.py");
    assert_int_equal(outer->names[0].line, 12);
    assert_string_equal(digest.images[key->frames[3].image - 1].name, "python3.11");
    assert_false(key->frames[3].named);
    assert_int_equal(digest.stacks[!digest.key].weight_ns, 20);
    report_free(report);
    arena_reset(&arena);
    free(memory);
}

/* Code of a JIT compiler lies elsewhere in every process, and is the same by its name. */
static void test_jit_functions_are_known_by_name(void **state)
{
    (void)state;
    static const struct fwr_hang hang = {.thread = 1, .threshold_ns = 1};
    uint8_t hashes[2][16];
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    for (uint64_t process = 0; process < 2; process++) {
        uint64_t code = 0x70000000 + process * 0x123000;
        const uint64_t addresses[] = {code + 16, 0x1000};
        struct fwr_writer *w = begin(memory, FWR_KIND_HANG);
        fwr_hang(w, &hang);
        fwr_symbol(w, code, 64, "loadPrices", "/opt/shop.js", 2);
        const struct fwr_sample sample = {
            .stack = put_stack(w, 5, addresses, 2), .count = 1, .weight_ns = 9};
        fwr_sample(w, &sample);
        finish(w, FWR_RECOVERED, 100);
        const struct digest_stack *key = &digest.stacks[digest.key];
        assert_int_equal(key->count, 2);
        const struct digest_named *named = named_of(&key->frames[0]);
        assert_non_null(named);
        assert_string_equal(named->names[0].function, "loadPrices");
        memcpy(hashes[process], key->hash, 16);
        report_free(report);
        arena_reset(&arena);
    }
    assert_memory_equal(hashes[0], hashes[1], 16);
    free(memory);
}

static void test_vetoed_is_in_no_sum(void **state)
{
    (void)state;
    static const struct fwr_hang hang = {.thread = 1, .threshold_ns = 1};
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    struct fwr_writer *w = begin(memory, FWR_KIND_HANG);
    fwr_hang(w, &hang);
    sample(w, "mab", 10);
    finish(w, FWR_VETOED, 10);
    assert_false(digest.counts);
    assert_true(digest.key == SIZE_MAX);
    assert_true(digest.observed_ns == 60000000000 + 10);
    report_free(report);
    w = begin(memory, FWR_KIND_HANG);
    fwr_hang(w, &hang);
    sample(w, "mab", UINT64_MAX);
    finish(w, FWR_KILLED, UINT64_MAX);
    assert_true(digest.counts && digest.main_image == 1);
    assert_true(digest.duration_ns == DIGEST_LONGEST_NS);
    assert_true(digest.stacks[digest.key].weight_ns <= DIGEST_LONGEST_NS);
    report_free(report);
    arena_reset(&arena);
    free(memory);
}

static void test_made_up_reports(void **state)
{
    (void)state;
    struct reports_shape shape = {.calls_per_mille = 200, .now_ms = received_ms};
    struct reports_maker *maker = reports_maker_new(3, &shape);
    unsigned hangs = 0, calls = 0;
    for (uint64_t i = 0; i < 50; i++) {
        uint8_t id[16];
        size_t size;
        const uint8_t *bytes = reports_make(maker, i, id, &size);
        struct fw_failure why;
        assert_int_equal(report_read((struct span){bytes, size}, &report, &why), FW_OK);
        assert_true(report->complete);
        assert_int_equal(digest_report(report, received_ms, salt, &arena, &digest), FW_OK);
        hangs += digest.kind == FWR_KIND_HANG && digest.key != SIZE_MAX && digest.counts;
        calls += digest.kind == FWR_KIND_CALLS && digest.key == SIZE_MAX && digest.call_count > 10;
        assert_true(digest.has_install && digest.has_session && digest.os);
        if (digest.kind == FWR_KIND_HANG) {
            assert_int_equal(digest.threads, 20);
            assert_int_equal(digest.frames, 600);
            uint64_t weight = 0;
            for (size_t s = 0; s < digest.stack_count; s++)
                weight += digest.stacks[s].weight_ns;
            assert_true(weight <= digest.duration_ns && weight > digest.duration_ns * 9 / 10);
        }
        report_free(report);
        arena_reset(&arena);
    }
    assert_int_equal(hangs + calls, 50);
    assert_true(hangs > 20 && calls > 2);
    reports_maker_free(maker);
}

/* ---- other tools' reports ---- */

static uint8_t *read_file(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/reports/%s", FW_SHARED_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *bytes = malloc(1 << 22);
    *size = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void take(const char *text, size_t size)
{
    struct fw_failure why;
    assert_int_equal(report_read((struct span){(const uint8_t *)text, size}, &report, &why), FW_OK);
    assert_int_equal(digest_report(report, received_ms, salt, &arena, &digest), FW_OK);
}

static void drop(void)
{
    report_free(report);
    arena_reset(&arena);
}

static void test_real_ips(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = read_file("ips-309-recoverylogd.ips", &size);
    if (!bytes) {
        print_message("test data is not there\n");
        skip();
    }
    take((char *)bytes, size);
    assert_int_equal(digest.kind, 100 + REPORT_IPS);
    assert_true(digest.counts && digest.key != SIZE_MAX);
    assert_int_equal(digest.duration_ns, 0);
    assert_true(digest.stacks[digest.key].count > 2);
    assert_true(digest.main_image > 0);
    assert_string_equal(digest.images[digest.main_image - 1].name, "recoverylogd");
    /* Of 2023: not believed, it came in 2026. */
    assert_true(digest.started_ms == received_ms);
    drop();
    free(bytes);
}

static void test_real_metrickit(void **state)
{
    (void)state;
    static const char *const names[] = {"mxdiagnosticpayload-real_report.json",
                                        "mxdiagnosticpayload-xcode_simulated.json",
                                        "mxdiagnosticpayload-xcode_simulated_macOS_13.json",
                                        "mxcallstacktree-tree-real.json",
                                        "kscrash-report-bugsnag.json",
                                        "ips-288-stackshot-bridgeos75.ips"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        uint8_t *bytes = read_file(names[i], &size);
        if (!bytes) {
            print_message("test data is not there\n");
            skip();
        }
        take((char *)bytes, size);
        assert_true(digest.counts);
        assert_true(digest.key != SIZE_MAX);
        assert_true(digest.stacks[digest.key].count > 0);
        drop();
        free(bytes);
    }
}

/* A report of the watchdog, whose members of "termination" are told. */
static void check_watchdog(const char *termination)
{
    char text[2048];
    int size = snprintf(
        text, sizeof text,
        "{\"app_name\":\"Shop\",\"timestamp\":\"2026-11-18 10:00:00.00 "
        "+0100\",\"bug_type\":\"309\",\"os_version\":\"iPhone OS 17.1 (21B74)\"}\n"
        "{\"procName\":\"Shop\",\"captureTime\":\"2026-11-18 10:00:00.1234 +0100\",\"cpuType\":"
        "\"ARM-64\",\"termination\":{\"namespace\":\"FRONTBOARD\",\"code\":2343432205,%s},"
        "\"threads\":[{\"id\":1,\"frames\":[{\"imageIndex\":0,\"imageOffset\":"
        "100}]},{\"id\":2,\"triggered\":true,\"queue\":\"com.apple.main-thread\",\"frames\":[{"
        "\"imageIndex\":0,\"imageOffset\":200},{\"imageIndex\":0,\"imageOffset\":300}]}],"
        "\"usedImages\":[{\"name\":\"Shop\",\"base\":4294967296,\"size\":65536,\"uuid\":"
        "\"00112233-4455-6677-8899-aabbccddeeff\",\"arch\":\"arm64\"}]}\n",
        termination);
    assert_true(size > 0 && (size_t)size < sizeof text);
    take(text, (size_t)size);
    assert_int_equal(digest.ending, FWR_KILLED);
    assert_true(digest.duration_ns == UINT64_C(10000000000));
    assert_int_equal(digest.stacks[digest.key].count, 2);
    assert_true(digest.stacks[digest.key].frames[0].offset == 200);
    assert_true(digest.started_ms == UINT64_C(1794992400000));
    drop();
}

static void test_watchdog(void **state)
{
    (void)state;
    check_watchdog(
        "\"indicator\":\"scene-update watchdog transgression: exhausted real (wall clock) "
        "time allowance of 10.00 seconds\"");
    check_watchdog("\"details\":[\"<RBSTerminateContext| domain:10 code:0x8BADF00D "
                   "explanation:scene-update watchdog transgression: exhausted real (wall clock) "
                   "time allowance of 10.00 seconds>\",\"ProcessVisibility: Foreground\"]");
}

static void test_spindump_tree(void **state)
{
    (void)state;
    static const char text[] =
        "Date/Time:        2026-11-18 10:00:00.000 +0000\n"
        "Command:          Shop\nEvent:            hang\nDuration:         3.50s\n"
        "Data Source:      Stackshots\n"
        "Steps:            35 (100ms sampling interval)\n\n"
        "Process:          Shop [1]\nUUID: 00112233-4455-6677-8899-AABBCCDDEEFF\n\n"
        "  Thread 0x1    DispatchQueue \"com.apple.main-thread\"(1)    35 samples (1-35)\n"
        "  35  start + 1 (Shop + 16) [0x100000010]\n"
        "    35  work + 1 (Shop + 32) [0x100000020]\n"
        "      5   a + 1 (Shop + 48) [0x100000030]\n"
        "      30  b + 1 (Shop + 64) [0x100000040]\n\n"
        "  Binary Images:\n"
        "           0x100000000 -        0x10000ffff  Shop (1) <00112233-4455-6677-8899-"
        "AABBCCDDEEFF>  /Applications/Shop.app/Contents/MacOS/Shop\n";
    take(text, sizeof text - 1);
    assert_int_equal(digest.kind, 100 + REPORT_SPINDUMP);
    assert_true(digest.duration_ns == 3500000000);
    assert_int_equal(digest.stack_count, 2);
    const struct digest_stack *key = &digest.stacks[digest.key];
    assert_int_equal(key->count, 3);
    assert_true(key->frames[0].offset == 64 && key->frames[2].offset == 16);
    assert_int_equal(key->samples, 30);
    assert_true(key->weight_ns == 3000000000);
    drop();
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_round_trip),
        cmocka_unit_test(test_hash_is_of_what_is_meant),
        cmocka_unit_test(test_heaviest_path),
        cmocka_unit_test(test_vetoed_is_in_no_sum),
        cmocka_unit_test(test_made_up_reports),
        cmocka_unit_test(test_real_ips),
        cmocka_unit_test(test_real_metrickit),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_many_samples_of_a_deep_stack),
        cmocka_unit_test(test_scripts_stand_in_their_stack),
        cmocka_unit_test(test_jit_functions_are_known_by_name),
        cmocka_unit_test(test_spindump_tree),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
