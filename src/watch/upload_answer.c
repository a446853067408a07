/*
 * The collector's answer (docs/upload.md): lines `ID VERDICT[ REASON]`.
 *
 * It is hostile: at most UPLOAD_ANSWER_MAX bytes, every line bounded by the bytes there are, the
 * reason cut and made printable. Only a whole line (with its end) counts, and a verdict that is not
 * known leaves the report where it is.
 */
#include "watch/upload_internal.h"

#include <string.h>

static const struct {
    const char *word;
    enum upload_verdict verdict;
} verdicts[] = {
    {"accepted", UPLOAD_ACCEPTED},
    {"duplicate", UPLOAD_DUPLICATE},
    {"refused", UPLOAD_REFUSED},
    {"retry", UPLOAD_RETRY},
};

static void take_line(const char *line, size_t size, const char (*ids)[UPLOAD_ID_SIZE],
                      size_t count, struct upload_answer *answers)
{
    struct upload_answer answer = {.verdict = UPLOAD_UNSAID};
    if (size <= UPLOAD_ID_SIZE || line[UPLOAD_ID_SIZE - 1] != ' ')
        return;
    const char *word = line + UPLOAD_ID_SIZE, *end = line + size;
    const char *word_end = memchr(word, ' ', (size_t)(end - word));
    word_end = word_end ? word_end : end;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strlen(verdicts[i].word) == (size_t)(word_end - word) &&
            memcmp(word, verdicts[i].word, (size_t)(word_end - word)) == 0)
            answer.verdict = verdicts[i].verdict;
    }
    size_t used = 0;
    for (const char *c = word_end + 1; c < end && used < sizeof answer.reason - 1; c++)
        answer.reason[used++] = *c >= ' ' && *c <= '~' ? *c : '?';
    for (size_t i = 0; i < count; i++) {
        if (memcmp(line, ids[i], UPLOAD_ID_SIZE - 1) != 0)
            continue;
        if (answers[i].verdict != UPLOAD_UNSAID && answers[i].verdict != answer.verdict)
            answer.verdict = UPLOAD_RETRY; /* it contradicts itself */
        answers[i] = answer;
    }
}

void upload_answer_parse(const char *text, size_t size, const char (*ids)[UPLOAD_ID_SIZE],
                         size_t count, struct upload_answer *answers)
{
    memset(answers, 0, count * sizeof *answers);
    const char *line_end;
    for (; size && (line_end = memchr(text, '\n', size)) != NULL;) {
        size_t length = (size_t)(line_end - text);
        size_t shown = length && text[length - 1] == '\r' ? length - 1 : length;
        take_line(text, shown, ids, count, answers);
        text += length + 1;
        size -= length + 1;
    }
}
