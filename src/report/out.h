/* Text that grows: appending fails for good when memory runs out (`failed`). */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include "report/report.h"

void out_bytes(struct report_bytes *out, const void *data, size_t size);
void out_text(struct report_bytes *out, const char *text);
void out_format(struct report_bytes *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void out_repeat(struct report_bytes *out, char byte, size_t count);
/* Two lower-case hexadecimal digits a byte. */
void out_hex(struct report_bytes *out, const void *bytes, size_t size);
/* A JSON string in quotes; NULL becomes null. Bytes that are not UTF-8 become U+FFFD. */
void out_json(struct report_bytes *out, const char *text);
/* Bytes [begin, end) of the report's input. */
void out_input(struct report_bytes *out, const struct report *report, size_t begin, size_t end);

#endif
