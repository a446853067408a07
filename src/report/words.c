#include "report/words.h"

#include "base/duration.h"
#include "base/utf8.h"
#include "framewalk/hang.h"
#include "report/fwr.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static size_t columns_of(const char *text, size_t length)
{
    return length > 0 && !utf8_is_control(text) ? 1 : 4 * (length ? length : 1);
}

static bool fits(const char *text, size_t columns)
{
    size_t used = 0;
    for (size_t length; *text && used <= columns; text += length ? length : 1) {
        length = utf8_length(text);
        used += columns_of(text, length);
    }
    return used <= columns;
}

size_t out_clean(struct report_bytes *out, const char *text, size_t columns)
{
    bool whole = fits(text, columns);
    size_t used = 0, room = whole || columns < 3 ? columns : columns - 3;
    while (*text) {
        size_t length = utf8_length(text), wide = columns_of(text, length);
        if (used + wide > room)
            break;
        used += wide;
        if (wide == 1) {
            out_bytes(out, text, length);
            text += length;
            continue;
        }
        for (size_t i = 0; i < wide / 4; i++)
            out_format(out, "\\x%02x", (unsigned char)*text++);
    }
    if (!whole)
        out_text(out, "...");
    return whole ? used : used + 3;
}

void out_grouped(struct report_bytes *out, uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out_text(out, ",");
        out_bytes(out, &digits[i], 1);
    }
}

void out_ms(struct report_bytes *out, uint64_t ns)
{
    uint64_t tenths = duration_in(ns, 100000);
    if (tenths < 100 && tenths % 10) {
        out_format(out, "%" PRIu64 ".%" PRIu64 " ms", tenths / 10, tenths % 10);
        return;
    }
    out_grouped(out, duration_ms(ns));
    out_text(out, " ms");
}

void out_exact_ms(struct report_bytes *out, uint64_t ns)
{
    char part[8];
    int length = snprintf(part, sizeof part, "%06" PRIu64, ns % 1000000);
    while (length > 0 && part[length - 1] == '0')
        part[--length] = 0;
    out_format(out, "%" PRIu64 "%s%s", ns / 1000000, length ? "." : "", part);
}

void out_utc(struct report_bytes *out, uint64_t ms)
{
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    char text[64];
    if (!gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc))
        out_format(out, "%" PRIu64 " ms since 1970", ms);
    else
        out_format(out, "%s.%03u UTC", text, (unsigned)(ms % 1000));
}

const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *thread_label(const struct report_thread *thread)
{
    return thread->name        ? thread->name
           : thread->exception ? "exception"
           : thread->queue     ? thread->queue
           : thread->id        ? thread->id
                               : "thread";
}

const char *ending_word(uint8_t ending)
{
    static const char *const words[] = {
        [FWR_ENDING_NONE] = "none", [FWR_RECOVERED] = "recovered", [FWR_KILLED] = "killed",
        [FWR_STOPPED] = "stopped",  [FWR_VETOED] = "vetoed",
    };
    return ending < sizeof words / sizeof *words ? words[ending] : "none";
}

const char *veto_word(uint8_t veto)
{
    static const char *const words[] = {
        [FW_HANG_VETO_NONE] = "none",
        [FW_HANG_VETO_STOPPED] = "stopped",
        [FW_HANG_VETO_STARVED] = "starved",
        [FW_HANG_VETO_DEBUGGED] = "debugged",
        [FW_HANG_VETO_BACKGROUND] = "background",
        [FW_HANG_VETO_IDLE_STACK] = "idle_stack",
    };
    return veto < sizeof words / sizeof *words ? words[veto] : "none";
}
