/*
 * What comes to an upload from outside: a collector's answer, and the line of state in the folder.
 * No verdict without its whole line, reasons that can be shown, waits that end.
 *
 * Input: the bytes of both.
 */
#include "watch/upload_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_answers(const char *text, size_t size)
{
    static const char ids[2][UPLOAD_ID_SIZE] = {"0123456789abcdef0123456789abcdef",
                                                "fedcba9876543210fedcba9876543210"};
    struct upload_answer answers[2];
    upload_answer_parse(text, size, ids, 2, answers);
    for (size_t i = 0; i < 2; i++) {
        size_t length = strnlen(answers[i].reason, sizeof answers[i].reason);
        expect(length < sizeof answers[i].reason);
        for (size_t k = 0; k < length; k++)
            expect(answers[i].reason[k] >= ' ' && answers[i].reason[k] <= '~');
        if (answers[i].verdict != UPLOAD_UNSAID)
            expect(memmem(text, size, ids[i], UPLOAD_ID_SIZE - 1) && memchr(text, '\n', size));
    }
}

static void check_state(const char *text, size_t size)
{
    struct upload_backoff backoff, again;
    bool changed;
    char printed[UPLOAD_BACKOFF_TEXT];
    upload_backoff_parse(text, size, &backoff);
    upload_backoff_print(&backoff, printed);
    upload_backoff_parse(printed, sizeof printed, &again);
    expect(memcmp(&backoff, &again, sizeof again) == 0);
    uint64_t left = upload_backoff_left(&backoff, 1800000000000, &changed);
    expect(left <= UPLOAD_WAIT_MAX * UINT64_C(2000));
    expect(upload_backoff_left(&backoff, 1800000000000 + left, &changed) == 0 && !changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_answers((const char *)data, size);
    check_state((const char *)data, size < UPLOAD_BACKOFF_TEXT ? size : UPLOAD_BACKOFF_TEXT);
    return 0;
}
