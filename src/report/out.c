#include "report/out.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void report_bytes_free(struct report_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct report_bytes){0};
}

static bool room(struct report_bytes *out, size_t more)
{
    if (out->failed || more > SIZE_MAX - 1 - out->size ||
        !array_reserve(&out->data, &out->capacity, out->size + more + 1, 1))
        out->failed = true;
    return !out->failed;
}

void out_bytes(struct report_bytes *out, const void *data, size_t size)
{
    if (!room(out, size))
        return;
    if (size)
        memcpy(out->data + out->size, data, size);
    out->size += size;
    out->data[out->size] = 0;
}

void out_text(struct report_bytes *out, const char *text)
{
    out_bytes(out, text, strlen(text));
}

void out_hex(struct report_bytes *out, const void *bytes, size_t size)
{
    if (!room(out, 2 * size))
        return;
    hex_text(out->data + out->size, bytes, size);
    out->size += 2 * size;
}

void out_repeat(struct report_bytes *out, char byte, size_t count)
{
    if (!room(out, count))
        return;
    memset(out->data + out->size, byte, count);
    out->size += count;
    out->data[out->size] = 0;
}

void out_format(struct report_bytes *out, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        out->failed = true;
    else if (room(out, (size_t)size)) {
        vsnprintf(out->data + out->size, (size_t)size + 1, format, again);
        out->size += (size_t)size;
    }
    va_end(again);
    va_end(args);
}

void out_input(struct report_bytes *out, const struct report *report, size_t begin, size_t end)
{
    if (begin < end)
        out_bytes(out, report->text.data + begin, end - begin);
}

void out_json(struct report_bytes *out, const char *text)
{
    if (!text) {
        out_text(out, "null");
        return;
    }
    out_text(out, "\"");
    for (const char *p = text; *p;) {
        size_t length = utf8_length(p);
        if (length == 0)
            out_text(out, "\xef\xbf\xbd");
        else if (*p == '"' || *p == '\\')
            out_format(out, "\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            out_format(out, "\\u%04x", (unsigned char)*p);
        else
            out_bytes(out, p, length);
        p += length ? length : 1;
    }
    out_text(out, "\"");
}
