/*
 * Damaged and hostile Framewalk reports: cut off at every byte, with every bit changed, with the
 * tail that a power failure leaves, with records and fields that nobody knows, and made to harm.
 * The survey and the reader agree on how much is whole.
 */
#include "report/fwr.h"
#include "report/fwr_record.h"
#include "report/fwr_support.h"
#include "report/fwr_wire.h"
#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fwr_state survey(const uint8_t *data, size_t size)
{
    struct fwr_file file = {.data = (uint8_t *)(uintptr_t)data, .size = size};
    struct fwr_state state;
    assert_int_equal(fwr_survey(fwr_file_read, &file, &state), FW_OK);
    assert_true(state.whole <= size);
    return state;
}

static struct report *read_bytes(const uint8_t *data, size_t size)
{
    return read_span((struct span){data, size});
}

/* ---- cut off ---- */

/* Cuts at every byte: what is left is whole up to a record, and says what is known of the hang. */
static void every_prefix(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    uint64_t whole = 0;
    size_t records = 0;
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *copy = malloc(size + 1); /* so that a sanitizer sees the end */
        assert_non_null(copy);
        memcpy(copy, file.data, size);
        struct fwr_state s = survey(copy, size);
        assert_true(s.whole >= whole);
        records += s.whole > whole;
        whole = s.whole;
        assert_false(s.ended);
        assert_true(!s.has_hang || s.duration_ns >= 250000001);
        assert_true(!s.has_hang_end || s.duration_ns == 312000000);
        struct report *r = read_bytes(copy, size);
        if (size >= FWR_MAGIC_SIZE) {
            assert_int_equal(r->kind, REPORT_FRAMEWALK);
            assert_false(r->complete);
            assert_non_null(r->note);
            assert_int_equal(r->hang.present, s.has_hang);
            assert_int_equal(r->hang.ending != 0, s.has_hang_end);
            if (s.has_hang)
                assert_int_equal(r->hang.duration_ns, s.duration_ns);
            assert_int_equal(r->info.incident != NULL, s.is_report);
        } else {
            assert_int_equal(r->kind, REPORT_OTHER);
        }
        report_free(r);
        free(copy);
    }
    struct fwr_state s = survey(file.data, file.size);
    assert_true(s.ended && s.whole == file.size);
    assert_int_equal(records + 1, 19); /* all were seen to become whole, but the last */
    fwr_file_free(&file);
}

/* A writer that was killed: recovery cuts what is torn, and adds the end. */
static void tail_behind_every_prefix(void **state)
{
    struct fwr_file file = {0};
    uint8_t tail[FWR_TAIL_MAX];
    (void)state;
    fwr_write_example(&file);
    for (size_t size = FWR_MAGIC_SIZE; size < file.size; size++) {
        struct fwr_state s = survey(file.data, size);
        if (!s.is_report)
            continue;
        struct fwr_file repaired = {0};
        fwr_file_sink(&repaired, file.data, (size_t)s.whole);
        const struct fwr_hang_end end = {.ending = FWR_KILLED, .duration_ns = s.duration_ns};
        size_t tail_size = fwr_tail_hang_end(tail, &end);
        assert_true(tail_size <= sizeof tail);
        if (s.has_hang && !s.has_hang_end)
            fwr_file_sink(&repaired, tail, tail_size);
        fwr_file_sink(&repaired, tail, fwr_tail_end(tail));
        struct fwr_state after = survey(repaired.data, repaired.size);
        assert_true(after.ended);
        assert_int_equal(after.whole, repaired.size);
        struct report *r = read_bytes(repaired.data, repaired.size);
        assert_true(r->complete);
        assert_int_equal(r->hang.ending, !s.has_hang      ? FWR_ENDING_NONE
                                         : s.has_hang_end ? FWR_RECOVERED
                                                          : FWR_KILLED);
        assert_int_equal(after.ending, r->hang.ending);
        uint64_t samples = 0;
        for (size_t i = 0; i < r->sample_count; i++)
            samples += r->samples[i].count;
        assert_int_equal(r->hang.samples, samples);
        assert_int_equal(after.duration_ns, s.duration_ns);
        report_free(r);
        fwr_file_free(&repaired);
    }
    fwr_file_free(&file);
}

/* ---- changed ---- */

static void every_flipped_bit(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    for (size_t i = 0; i < file.size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            file.data[i] ^= (uint8_t)(1u << bit);
            struct fwr_state s = survey(file.data, file.size);
            assert_true(s.whole <= i && !s.ended);
            struct report *r = read_bytes(file.data, file.size);
            assert_true(r->kind == REPORT_OTHER || !r->complete);
            report_free(r);
            file.data[i] ^= (uint8_t)(1u << bit);
        }
    fwr_file_free(&file);
}

/* What stands behind the last whole record: zeros (the size was written, the data was not),
 * garbage, the rest of an older file. */
static void tails(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    size_t whole = file.size - FWR_RECORD_HEAD; /* without the end */
    uint8_t *bytes = malloc(whole + 8192);
    assert_non_null(bytes);
    memcpy(bytes, file.data, whole);
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t size = 1; size < 8192; size += size < 64 ? 1 : 997) {
            for (size_t i = 0; i < size; i++)
                bytes[whole + i] = kind == 0   ? 0
                                   : kind == 1 ? (uint8_t)(0x31 * i + 7)
                                               : file.data[(20 + i) % file.size];
            struct fwr_state s = survey(bytes, whole + size);
            assert_int_equal(s.whole, whole);
            assert_true(s.has_hang_end && !s.ended);
            struct report *r = read_bytes(bytes, whole + size);
            assert_false(r->complete);
            assert_int_equal(r->sample_count, 3);
            if (kind == 0)
                assert_non_null(strstr(r->note, "only zeros follow"));
            char place[32];
            snprintf(place, sizeof place, "at byte %zu", whole);
            assert_non_null(strstr(r->note, place));
            report_free(r);
        }
    free(bytes);
    fwr_file_free(&file);
}

/* Blocks in the middle that never reached the disk. */
static void hole_of_zeros(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    for (size_t at = FWR_MAGIC_SIZE; at + 64 < file.size; at += 4) {
        uint8_t saved[64];
        memcpy(saved, file.data + at, sizeof saved);
        memset(file.data + at, 0, sizeof saved);
        struct fwr_state s = survey(file.data, file.size);
        assert_true(s.whole < at + sizeof saved && !s.ended);
        struct report *r = read_bytes(file.data, file.size);
        assert_false(r->complete);
        report_free(r);
        memcpy(file.data + at, saved, sizeof saved);
    }
    fwr_file_free(&file);
}

static void bytes_behind_the_end(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    size_t whole = file.size;
    fwr_file_sink(&file, "more", 4);
    struct fwr_state s = survey(file.data, file.size);
    assert_true(s.ended && s.whole == whole);
    struct report *r = read_bytes(file.data, file.size);
    assert_false(r->complete);
    assert_string_equal(r->note, "4 bytes follow the end");
    report_free(r);
    fwr_file_free(&file);
}

static long failing_read(void *context, uint64_t offset, void *bytes, size_t size)
{
    (void)context;
    (void)offset;
    (void)bytes;
    (void)size;
    return -1;
}

static long read_by_bits(void *context, uint64_t offset, void *bytes, size_t size)
{
    return fwr_file_read(context, offset, bytes, size > 3 ? 3 : size);
}

static void reading(void **state)
{
    struct fwr_file file = {0};
    struct fwr_state s;
    (void)state;
    assert_int_equal(fwr_survey(failing_read, NULL, &s), FW_ERR_SYSTEM);
    fwr_write_example(&file);
    assert_int_equal(fwr_survey(read_by_bits, &file, &s), FW_OK);
    assert_true(s.ended && s.is_report);
    assert_int_equal(s.whole, file.size);
    assert_int_equal(s.kind, FWR_KIND_HANG);
    assert_memory_equal(s.id, fwr_test_about.id, FWR_ID_BYTES);
    assert_memory_equal(s.session, fwr_test_about.session, FWR_ID_BYTES);
    assert_int_equal(s.started_ms, fwr_test_about.started_ms);
    assert_int_equal(s.severe_ns, 2000000000);
    assert_int_equal(s.ending, FWR_RECOVERED);
    fwr_file_free(&file);
}

/* ---- made by hand ---- */

static void begin(struct fwr_file *file)
{
    struct fwr_writer *w = fwr_test_writer(file, fwr_fake_locate, &fwr_test_about);
    fwr_flush(w);
    free(w);
}

static void put_record(struct fwr_file *file, unsigned type, const struct wire *payload)
{
    size_t size = payload ? wire_size(payload) : 0;
    uint8_t *record = malloc(FWR_RECORD_HEAD + size + 3);
    assert_non_null(record);
    if (size)
        memcpy(record + FWR_RECORD_HEAD, payload->begin, size);
    fwr_file_sink(file, record, fwr_seal(record, (enum fwr_type)type, size));
    free(record);
}

static struct report *end_and_read(struct fwr_file *file)
{
    put_record(file, FWR_END, NULL);
    return read_bytes(file->data, file->size);
}

/* Records and fields of a later version, between and inside those known. */
static void unknown_records_and_fields(void **state)
{
    struct fwr_file file = {0};
    uint8_t bytes[256];
    (void)state;
    begin(&file);
    struct wire w = wire_into(bytes, sizeof bytes);
    wire_bytes(&w, 1, "whatever \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 20);
    put_record(&file, 200, &w);
    w = wire_into(bytes, sizeof bytes);
    uint8_t *total = wire_open(&w, TOTALS_TOTAL);
    wire_uint(&w, 77, 5);
    wire_text(&w, TOTAL_NAME, "known", 10);
    wire_tag(&w, 78, 5); /* fixed32 */
    memcpy(w.at, "\1\2\3\4", 4);
    w.at += 4;
    wire_tag(&w, 79, 1); /* fixed64 */
    memcpy(w.at, "\1\2\3\4\5\6\7\10", 8);
    w.at += 8;
    wire_uint(&w, TOTAL_VALUE, 42);
    wire_close(&w, total);
    wire_bytes(&w, 99, "x", 1);
    put_record(&file, FWR_TOTALS, &w);
    put_record(&file, 255, NULL);
    struct fwr_state s = survey(file.data, file.size);
    assert_int_equal(s.whole, file.size);
    struct report *r = end_and_read(&file);
    assert_true(r->complete);
    assert_int_equal(r->total_count, 1);
    assert_string_equal(r->totals[0].key, "known");
    assert_int_equal(r->totals[0].number, 42);
    report_free(r);
    fwr_file_free(&file);
}

/* Somebody's beginning without an id: no report, for the survey and for the reader. */
static void no_id(void **state)
{
    struct fwr_file file = {0};
    uint8_t bytes[64];
    (void)state;
    fwr_file_sink(&file, FWR_MAGIC, FWR_MAGIC_SIZE);
    struct wire w = wire_into(bytes, sizeof bytes);
    wire_bytes(&w, ABOUT_ID, "too short", 9);
    wire_uint(&w, ABOUT_KIND, FWR_KIND_HANG);
    put_record(&file, FWR_ABOUT, &w);
    struct fwr_state s = survey(file.data, file.size);
    assert_true(!s.is_report && s.whole == 0);
    struct report *r = end_and_read(&file);
    assert_non_null(strstr(r->note, "the report has no id"));
    report_free(r);
    fwr_file_free(&file);
}

/* Repeated records: the beginning counts once, hang and end are replaced. */
static void repeated_records(void **state)
{
    struct fwr_file file = {0};
    uint8_t bytes[256];
    (void)state;
    begin(&file);
    struct wire w = wire_into(bytes, sizeof bytes);
    wire_bytes(&w, ABOUT_ID, "another one here", 16);
    put_record(&file, FWR_ABOUT, &w);
    for (unsigned i = 1; i <= 3; i++) {
        const struct fwr_hang_end end = {
            .ending = i == 3 ? FWR_VETOED : FWR_RECOVERED, .veto = i == 3, .duration_ns = i * 100};
        fwr_file_sink(&file, bytes, fwr_tail_hang_end(bytes, &end));
    }
    struct fwr_state s = survey(file.data, file.size);
    assert_int_equal(s.duration_ns, 300);
    assert_int_equal(s.ending, FWR_VETOED);
    assert_memory_equal(s.id, fwr_test_about.id, FWR_ID_BYTES);
    struct report *r = end_and_read(&file);
    assert_non_null(strstr(r->note, "a second beginning"));
    assert_string_equal(r->info.incident, "0102030405060708090a0b0c0d0e0f10");
    assert_int_equal(r->hang.duration_ns, 300);
    assert_int_equal(r->hang.ending, FWR_VETOED);
    assert_int_equal(r->hang.veto, 1);
    report_free(r);
    fwr_file_free(&file);
}

static void column(struct wire *w, unsigned field, const uint64_t *values, size_t count)
{
    uint8_t *list = wire_open(w, field);
    for (size_t i = 0; i < count; i++)
        wire_varint(w, values[i]);
    wire_close(w, list);
}

/* Stacks that cannot be: each ends the reading, and the note says why. */
static void senseless_stacks(void **state)
{
    static const struct {
        uint64_t parent[2], place[2], offset[2];
        size_t parents, places, offsets;
        uint64_t innermost;
        const char *note;
    } wrong[] = {
        {{1, 0}, {0, 0}, {2, 2}, 2, 2, 2, 1, "no caller that could be"}, /* its own caller */
        {{1, 3}, {0, 0}, {2, 2}, 2, 2, 2, 1, "no caller that could be"}, /* before the first */
        {{1, 1}, {0, 4}, {2, 2}, 2, 2, 2, 1, "in an image that is not there"},
        {{1, 1}, {0, 0}, {2, 2}, 2, 1, 2, 1, "not complete"},
        {{1, 1}, {0, 0}, {2, 2}, 2, 2, 1, 1, "not complete"},
        {{1, 1}, {0, 0}, {2, 2}, 1, 2, 2, 1, "not complete"},
        {{1, 1}, {0, 0}, {2, 2}, 2, 2, 2, 3, "no frames that are there"},
        {{1, 1}, {0, 0}, {2, 2}, 2, 2, 2, UINT64_MAX, "no frames that are there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fwr_file file = {0};
        uint8_t bytes[256];
        begin(&file);
        struct wire w = wire_into(bytes, sizeof bytes);
        column(&w, STACKS_PARENT, wrong[i].parent, wrong[i].parents);
        column(&w, STACKS_PLACE, wrong[i].place, wrong[i].places);
        column(&w, STACKS_OFFSET, wrong[i].offset, wrong[i].offsets);
        column(&w, STACKS_INNERMOST, &wrong[i].innermost, 1);
        put_record(&file, FWR_STACKS, &w);
        struct report *r = end_and_read(&file);
        assert_false(r->complete);
        assert_non_null(strstr(r->note, wrong[i].note));
        report_free(r);
        fwr_file_free(&file);
    }
}

/* Fields in another order than their numbers', numbers one by one instead of packed: protobuf lets
 * writers do that. */
static void other_spellings(void **state)
{
    struct fwr_file file = {0};
    uint8_t bytes[256];
    static const uint64_t innermost[] = {2, 1};
    (void)state;
    begin(&file);
    struct wire w = wire_into(bytes, sizeof bytes);
    column(&w, STACKS_INNERMOST, innermost, 2);
    for (unsigned i = 0; i < 2; i++)
        wire_uint(&w, STACKS_OFFSET, wire_zigzag(i ? 0x30 : 0x1000));
    for (unsigned field = STACKS_PARENT; field <= STACKS_PLACE; field++)
        for (unsigned i = 0; i < 2; i++)
            wire_uint(&w, field, field == STACKS_PARENT ? 1 : PLACE_FLAGS | i);
    wire_uint(&w, STACKS_FLAGS, 1);
    wire_uint(&w, STACKS_FLAGS, 2);
    put_record(&file, FWR_STACKS, &w);
    w = wire_into(bytes, sizeof bytes);
    for (uint64_t i = 1; i <= 2; i++) {
        uint8_t *sample = wire_open(&w, SAMPLES_SAMPLE);
        wire_uint(&w, SAMPLE_STACK, i);
        wire_close(&w, sample);
    }
    put_record(&file, FWR_SAMPLES, &w);
    struct report *r = end_and_read(&file);
    assert_true(r->complete);
    assert_int_equal(r->thread_count, 2);
    assert_int_equal(r->threads[0].frame_count, 2);
    assert_int_equal(r->threads[1].frame_count, 1);
    assert_int_equal(r->frames[0].address, 0x1030);
    assert_int_equal(r->frames[0].kind, REPORT_EXACT);
    assert_int_equal(r->frames[0].flags, 2);
    assert_int_equal(r->frames[1].address, 0x1000);
    assert_int_equal(r->frames[1].kind, REPORT_RETURN);
    assert_int_equal(r->frames[1].flags, 1);
    report_free(r);
    fwr_file_free(&file);
}

/* Half a megabyte that stands for 32 million frames: 65,000 stacks, all as deep as may be. */
static void tree_that_explodes(void **state)
{
    enum { DEPTH = 600, STACKS = 65000, ROOM = 1 << 20 };
    struct fwr_file file = {0};
    uint8_t *bytes = malloc(ROOM);
    (void)state;
    assert_non_null(bytes);
    begin(&file);
    struct wire w = wire_into(bytes, ROOM);
    for (unsigned field = STACKS_PARENT; field <= STACKS_OFFSET; field++) {
        uint8_t *list = wire_open(&w, field);
        for (uint64_t i = 0; i < DEPTH + STACKS; i++)
            wire_varint(&w, field != STACKS_PARENT ? 2 * (field == STACKS_OFFSET)
                            : i < DEPTH            ? 1
                                                   : i + 1 - DEPTH);
        wire_close(&w, list);
    }
    uint8_t *list = wire_open(&w, STACKS_INNERMOST);
    for (uint64_t i = 0; i < STACKS; i++)
        wire_varint(&w, DEPTH + 1 + i);
    wire_close(&w, list);
    assert_false(w.full);
    put_record(&file, FWR_STACKS, &w);
    w = wire_into(bytes, ROOM);
    for (uint64_t i = 1; i <= STACKS; i++) {
        uint8_t *sample = wire_open(&w, SAMPLES_SAMPLE);
        wire_uint(&w, SAMPLE_STACK, i);
        wire_close(&w, sample);
    }
    put_record(&file, FWR_SAMPLES, &w);
    struct report *r = end_and_read(&file);
    assert_false(r->complete);
    assert_non_null(strstr(r->note, "more frames"));
    assert_true(r->frame_count <= 1 << 19);
    assert_int_equal(r->threads[0].frame_count, FWR_STACK_FRAMES);
    assert_int_equal(r->threads[0].end, FW_END_LIMIT);
    report_free(r);
    free(bytes);
    fwr_file_free(&file);
}

/* More of each than a report may have; a text that is too long. */
static void too_many(void **state)
{
    enum { ROOM = 1 << 20, TEXT = 5000 };
    uint8_t *bytes = malloc(ROOM);
    char text[TEXT];
    (void)state;
    assert_non_null(bytes);
    struct fwr_file file = {0};
    begin(&file);
    struct wire w = wire_into(bytes, ROOM);
    for (unsigned i = 0; i < 600; i++) {
        uint8_t *thread = wire_open(&w, THREADS_THREAD);
        wire_uint(&w, THREAD_ID, i + 1);
        wire_close(&w, thread);
    }
    put_record(&file, FWR_THREADS, &w);
    memset(text, 'k', sizeof text);
    memcpy(text + 4095, "\xc3\xa4", 2); /* a character across the limit */
    w = wire_into(bytes, ROOM);
    uint8_t *key = wire_open(&w, KEYS_KEY);
    wire_bytes(&w, KEY_NAME, text, sizeof text);
    wire_close(&w, key);
    put_record(&file, FWR_KEYS, &w);
    struct report *r = end_and_read(&file);
    assert_int_equal(r->thread_count, 512);
    assert_string_equal(r->note, "there are more than 512 threads: the rest is left out");
    assert_int_equal(strlen(r->keys[0].key), 4095);
    report_free(r);
    fwr_file_free(&file);

    begin(&file);
    for (unsigned k = 0; k < 5; k++) {
        w = wire_into(bytes, ROOM);
        for (unsigned i = 0; i < 1000; i++) {
            uint8_t *image = wire_open(&w, IMAGES_IMAGE);
            wire_uint(&w, IMAGE_SIZE, 1);
            wire_close(&w, image);
        }
        put_record(&file, FWR_IMAGES, &w);
    }
    r = end_and_read(&file);
    assert_int_equal(r->image_count, 4096);
    assert_non_null(strstr(r->note, "more images than any program has"));
    report_free(r);
    fwr_file_free(&file);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(tail_behind_every_prefix),
        cmocka_unit_test(every_flipped_bit),
        cmocka_unit_test(tails),
        cmocka_unit_test(hole_of_zeros),
        cmocka_unit_test(bytes_behind_the_end),
        cmocka_unit_test(reading),
        cmocka_unit_test(unknown_records_and_fields),
        cmocka_unit_test(no_id),
        cmocka_unit_test(repeated_records),
        cmocka_unit_test(senseless_stacks),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(tree_that_explodes),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
