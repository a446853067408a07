/*
 * Hostile Framewalk reports: looked over by the survey, and read; as they are, and with the
 * checksums made right, so that what lies behind them is reached as well. Both must agree on what
 * is whole; numbers in what was read point at what is there.
 *
 * Input: the report.
 */
#include "report_forms.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "report/fwr_record.h"
#include "report/report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static long read_span(void *context, uint64_t offset, void *bytes, size_t size)
{
    const struct span *file = context;
    if (offset >= file->size)
        return 0;
    if (size > file->size - offset)
        size = (size_t)(file->size - offset);
    if (size > 1000) /* as a file system may */
        size = 1000;
    memcpy(bytes, file->data + offset, size);
    return (long)size;
}

static bool is_index(uint32_t number, size_t count)
{
    return number == REPORT_NONE || number < count;
}

static void check_frames(const struct report *r)
{
    size_t frames = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct report_thread *t = &r->threads[i];
        expect(t->first_frame == frames);
        expect(t->omitted == 0 || t->head <= t->frame_count);
        expect(t->frame_count <= FWR_STACK_FRAMES);
        frames += t->frame_count;
    }
    expect(frames == r->frame_count);
    for (size_t i = 0; i < r->frame_count; i++) {
        const struct report_frame *f = &r->frames[i];
        expect(f->thread < r->thread_count && is_index(f->image, r->image_count));
        expect(f->first_name + f->name_count <= r->name_count);
        expect(f->has_offset != f->has_address);
    }
}

static void check_rows(const struct report *r)
{
    expect(!r->hang.present || is_index(r->hang.thread, r->thread_count));
    for (size_t i = 0; i < r->sample_count; i++)
        expect(is_index(r->samples[i].stack, r->thread_count) && r->samples[i].count > 0);
    for (size_t i = 0; i < r->call_count; i++)
        expect(r->calls[i].api < r->api_count && is_index(r->calls[i].stack, r->thread_count));
    for (size_t i = 0; i < r->script_count; i++)
        expect(r->scripts[i].frame_count <= r->script_frame_count - r->scripts[i].first_frame);
    for (size_t i = 0; i < r->key_count; i++)
        expect(r->keys[i].key && r->keys[i].value);
    for (size_t i = 0; i < r->total_count; i++)
        expect(r->totals[i].key != NULL);
    for (size_t i = 1; i < r->symbol_count; i++)
        expect(r->symbols[i - 1].address <= r->symbols[i].address);
}

static void check(struct span file)
{
    struct fwr_state state;
    struct fw_failure why;
    struct report *r;
    expect(fwr_survey(read_span, &file, &state) == FW_OK);
    expect(state.whole <= file.size && (!state.ended || state.is_report));
    fw_error error = report_read(file, &r, &why);
    if (error)
        return;
    if (r->kind == REPORT_FRAMEWALK) {
        expect(r->complete ? state.ended && state.whole == file.size : r->note != NULL);
        check_frames(r);
        check_rows(r);
        write_forms(r, NULL);
    }
    report_free(r);
}

static void mend(uint8_t *data, size_t size)
{
    for (size_t at = FWR_MAGIC_SIZE; size - at >= FWR_RECORD_HEAD;) {
        uint8_t *record = data + at;
        struct fwr_head head = fwr_read_head(record);
        if (!head.sound || fwr_padded(head.size) > size - at - FWR_RECORD_HEAD)
            return;
        put_u32(record + 8, crc32c_more(crc32c(record, 8), record + FWR_RECORD_HEAD, head.size));
        for (size_t i = head.size; i < fwr_padded(head.size); i++)
            record[FWR_RECORD_HEAD + i] = 0;
        at += FWR_RECORD_HEAD + fwr_padded(head.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((struct span){data, size});
    if (size < FWR_MAGIC_SIZE)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    memcpy(copy, FWR_MAGIC, FWR_MAGIC_SIZE);
    mend(copy, size);
    check((struct span){copy, size});
    free(copy);
    return 0;
}
