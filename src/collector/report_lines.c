/* The frames of docs/upload.md: report_lines.h. */
#include "collector/report_lines.h"
#include "base/failure.h"
#include "base/hex.h"

static bool read_id(struct reader *r, uint8_t id[16])
{
    for (size_t i = 0; i < 16; i++) {
        int high = hex_lower_digit(reader_u8(r)), low = hex_lower_digit(reader_u8(r));
        if (r->failed || high < 0 || low < 0)
            return false;
        id[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* Digits up to a line feed: no sign, no leading zeros. */
static bool read_size(struct reader *r, uint64_t *size)
{
    *size = 0;
    for (unsigned digits = 0;; digits++) {
        uint8_t c = reader_u8(r);
        if (r->failed)
            return false;
        if (c == '\n')
            return digits > 0;
        if (c < '0' || c > '9' || (digits == 1 && *size == 0) || digits == 8)
            return false;
        *size = *size * 10 + (unsigned)(c - '0');
    }
}

fw_error report_lines_read(struct span body, struct report_line *lines, size_t *count,
                           struct fw_failure *why)
{
    struct reader r = reader_over(body.data, body.size);
    for (*count = 0; reader_left(&r) > 0; ++*count) {
        uint64_t size;
        unsigned long long at = reader_offset(&r);
        if (*count == REPORT_LINES_MOST)
            return failure_say(why, FW_ERR_FORMAT, 0, "there are more than %d reports in the body",
                               REPORT_LINES_MOST);
        struct report_line *line = &lines[*count];
        if (!read_id(&r, line->id) || reader_u8(&r) != ' ' || !read_size(&r, &size))
            return failure_say(why, FW_ERR_FORMAT, 0,
                               "no line with a report's id and size at byte %llu", at);
        if (size > REPORT_LINES_LARGEST)
            return failure_say(why, FW_ERR_FORMAT, 0,
                               "the report at byte %llu is larger than %d bytes", at,
                               REPORT_LINES_LARGEST);
        line->bytes.size = (size_t)size;
        if (!reader_take(&r, (size_t)size, &line->bytes.data))
            return failure_say(why, FW_ERR_FORMAT, 0,
                               "the report at byte %llu has %llu bytes, but only %zu follow", at,
                               (unsigned long long)size, reader_left(&r));
    }
    if (*count == 0)
        return failure_say(why, FW_ERR_FORMAT, 0, "there is no report in the body");
    return FW_OK;
}
