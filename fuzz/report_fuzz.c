/*
 * Hostile reports of every format, by detection: read, written without names (the same bytes must
 * come back), with names, and in every other form. What is written with names is read again.
 *
 * Input: the report.
 */
#include "report_forms.h"

#include "report/v5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static size_t names(void *context, const struct report *report, uint32_t frame,
                    const struct report_name **result)
{
    static const struct report_name all[] = {
        {.function = "hop", .flags = REPORT_TAIL_CALL},
        {.function = "in\xff\"ner", .file = "i.h", .line = 1, .flags = REPORT_INLINED},
        {.function = "outer", .file = "o.c", .line = 2, .has_offset = true, .offset = 3},
    };
    (void)context;
    expect(frame < report->frame_count);
    size_t count = report->frames[frame].address % 4;
    *result = all + 3 - count;
    return count;
}

static void check_numbers(const struct report *r)
{
    for (size_t i = 0; i < r->frame_count; i++) {
        const struct report_frame *frame = &r->frames[i];
        expect(frame->thread < r->thread_count);
        expect(frame->image == REPORT_NONE || frame->image < r->image_count);
        expect(frame->parent == REPORT_NONE || frame->parent < i);
        expect(frame->first_name <= r->name_count);
        expect(frame->name_count <= r->name_count - frame->first_name);
        expect(frame->span.begin <= frame->span.end && frame->span.end <= r->text.size);
    }
    size_t frames = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        expect(r->threads[i].first_frame == frames);
        frames += r->threads[i].frame_count;
    }
    expect(frames == r->frame_count);
}

static void convert(const struct report *r)
{
    struct report_bytes out = {0};
    write_forms(r, names);
    if (v5_check(r, NULL) == FW_OK)
        expect(v5_write_answer(r, names, NULL, NULL, &out) == FW_OK);
    report_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report *r, *again;
    struct fw_failure why;
    struct report_bytes out = {0};
    if (report_read((struct span){data, size}, &r, &why))
        return 0;
    check_numbers(r);
    expect(report_write(r, NULL, NULL, &out) == FW_OK && out.size == size);
    expect(size == 0 || memcmp(out.data, data, size) == 0);
    report_bytes_free(&out);
    convert(r);
    expect(report_write(r, names, NULL, &out) == FW_OK);
    expect(report_read((struct span){(uint8_t *)out.data, out.size}, &again, &why) == FW_OK);
    check_numbers(again);
    report_free(again);
    report_bytes_free(&out);
    report_free(r);
    return 0;
}
