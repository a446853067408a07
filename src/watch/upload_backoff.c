/*
 * When the next try is due: kept as one line in the folder, so it outlives the process and holds
 * for all that share the folder.
 *
 *     framewalk-upload 1 SET WAIT FAILURES AUDIENCE\n       and spaces up to the fixed size
 *
 * SET is the wall clock in ms when the wait began, WAIT its length in ms, AUDIENCE a checksum of
 * URL and key in hexadecimal: another collector or a new key does not wait for the old one.
 *
 * No wait is longer than UPLOAD_WAIT_MAX and the clock cannot make it longer: what is left is at
 * most WAIT, and a clock before SET begins the wait anew, once.
 */
#include "watch/upload_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char name[] = "framewalk-upload 1";
static const uint64_t most_ms = UPLOAD_WAIT_MAX * UINT64_C(2000); /* Retry-After, and its spread */

void upload_backoff_print(const struct upload_backoff *b, char text[UPLOAD_BACKOFF_TEXT])
{
    char line[UPLOAD_BACKOFF_TEXT];
    int size = snprintf(line, sizeof line, "%s %" PRIu64 " %" PRIu64 " %" PRIu32 " %08" PRIx32,
                        name, b->set_ms, b->wait_ms, b->failures, b->audience);
    memset(text, ' ', UPLOAD_BACKOFF_TEXT);
    memcpy(text, line, (size_t)size);
    text[UPLOAD_BACKOFF_TEXT - 1] = '\n';
}

/* A space and a number of at most `most`. */
static bool take_number(const char **at, unsigned base, uint64_t most, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    const char *c = *at, *digit;
    if (*c++ != ' ')
        return false;
    const char *first = c;
    for (*number = 0; *c && (digit = memchr(digits, *c, base)) != NULL; c++) {
        uint64_t value = (uint64_t)(digit - digits);
        if (*number > (most - value) / base)
            return false;
        *number = *number * base + value;
    }
    *at = c;
    return c > first;
}

void upload_backoff_parse(const char *text, size_t size, struct upload_backoff *b)
{
    char line[UPLOAD_BACKOFF_TEXT] = "";
    uint64_t failures, audience;
    struct upload_backoff read;
    *b = (struct upload_backoff){0};
    if (size != UPLOAD_BACKOFF_TEXT || text[size - 1] != '\n' ||
        memcmp(text, name, sizeof name - 1) != 0)
        return;
    memcpy(line, text, size - 1);
    const char *at = line + sizeof name - 1;
    if (!take_number(&at, 10, UINT64_MAX / 2, &read.set_ms) ||
        !take_number(&at, 10, most_ms, &read.wait_ms) ||
        !take_number(&at, 10, UINT32_MAX, &failures) ||
        !take_number(&at, 16, UINT32_MAX, &audience) || at[strspn(at, " ")] != '\0')
        return;
    read.failures = (uint32_t)failures;
    read.audience = (uint32_t)audience;
    *b = read;
}

uint64_t upload_backoff_left(struct upload_backoff *b, uint64_t now_ms, bool *changed)
{
    *changed = b->wait_ms && now_ms < b->set_ms;
    if (*changed)
        b->set_ms = now_ms;
    uint64_t gone = now_ms - b->set_ms;
    return gone < b->wait_ms ? b->wait_ms - gone : 0;
}

/*
 * Between first_wait and first_wait doubled for each failure, evenly spread: programs that lost
 * their collector in the same moment do not come back in the same moment. What Retry-After says
 * comes first, spread by first_wait behind it.
 */
void upload_backoff_fail(struct upload_backoff *b, const struct upload_settings *settings,
                         uint32_t retry_after_s, uint64_t now_ms, uint64_t random)
{
    uint64_t first = settings->options.first_wait_s * UINT64_C(1000);
    uint64_t longest = settings->options.longest_wait_s * UINT64_C(1000);
    uint32_t failures = b->audience == settings->audience ? b->failures : 0;
    failures += failures < 1000000;
    uint64_t ceiling = longest;
    if (failures < 24 && first << failures < longest)
        ceiling = first << failures;
    uint64_t wait = first + random % (ceiling - first + 1);
    if (retry_after_s > UPLOAD_WAIT_MAX)
        retry_after_s = UPLOAD_WAIT_MAX;
    uint64_t asked = retry_after_s * UINT64_C(1000);
    if (asked && wait < asked + random % first)
        wait = asked + random % first;
    *b = (struct upload_backoff){now_ms, wait, failures, settings->audience};
}
