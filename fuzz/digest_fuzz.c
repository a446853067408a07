/*
 * Hostile reports of every format to the rows that the collector would make of them: numbers lie
 * where they must, texts are UTF-8 of bounded length, stacks come back from their bytes.
 *
 * Input: the report.
 */
#include "base/utf8.h"
#include "collector/digest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const char *text, size_t most)
{
    if (!text)
        return;
    expect(strlen(text) < most);
    for (size_t length; *text; text += length) {
        length = utf8_length(text);
        expect(length > 0);
    }
}

static void check_stack(const struct digest *d, const struct digest_stack *s)
{
    static struct stack_frame back[DIGEST_FRAMES];
    static uint8_t code[DIGEST_FRAMES * STACK_CODE_FRAME_MAX];
    size_t count;
    expect(s->count <= DIGEST_FRAMES);
    for (size_t i = 0; i < s->count; i++)
        expect(s->frames[i].image >= 0 && (size_t)s->frames[i].image <= d->image_count);
    size_t size = stack_encode(s->frames, s->count, code);
    expect(stack_decode((struct span){code, size}, back, DIGEST_FRAMES, &count) == FW_OK);
    expect(count == s->count);
    for (size_t i = 0; i < count; i++)
        expect(back[i].image == s->frames[i].image && back[i].offset == s->frames[i].offset &&
               back[i].kind == s->frames[i].kind && back[i].space == s->frames[i].space &&
               back[i].named == s->frames[i].named);
    expect(s->weight_ns <= INT64_MAX && s->samples <= INT64_MAX);
}

static void check(const struct digest *d)
{
    check_text(d->version, DIGEST_NAME);
    check_text(d->build, DIGEST_NAME);
    check_text(d->os, DIGEST_NAME);
    check_text(d->device, DIGEST_NAME);
    for (size_t i = 0; i < d->image_count; i++) {
        check_text(d->images[i].name, DIGEST_NAME);
        check_text(d->images[i].path, DIGEST_PATH);
        check_text(d->images[i].arch, DIGEST_NAME);
        expect(d->images[i].id_key.size > 0);
    }
    expect(d->named_count <= DIGEST_NAMED && (!d->counts || d->key != SIZE_MAX));
    for (size_t i = 0; i < d->named_count; i++) {
        expect(d->named[i].frame.named && d->named[i].count > 0);
        for (uint32_t n = 0; n < d->named[i].count; n++) {
            expect(d->named[i].names[n].function != NULL);
            check_text(d->named[i].names[n].function, DIGEST_PATH);
            check_text(d->named[i].names[n].file, DIGEST_PATH);
        }
    }
    for (size_t i = 0; i < d->stack_count; i++)
        check_stack(d, &d->stacks[i]);
    expect(d->key == SIZE_MAX || d->key < d->stack_count);
    expect(d->main_image <= d->image_count);
    expect(d->duration_ns <= DIGEST_LONGEST_NS && d->observed_ns <= INT64_MAX);
    for (size_t i = 0; i < d->call_count; i++) {
        check_text(d->calls[i].api, DIGEST_NAME);
        expect(d->calls[i].stack < d->stack_count && d->calls[i].count <= INT32_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report *report;
    struct arena arena = {0};
    struct digest digest;
    if (report_read((struct span){data, size}, &report, NULL))
        return 0;
    expect(digest_report(report, 1795000000000, "salt", &arena, &digest) == FW_OK);
    check(&digest);
    arena_free(&arena);
    report_free(report);
    return 0;
}
