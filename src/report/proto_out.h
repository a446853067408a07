/* Protocol Buffers (encoding of proto3), written: fields of a message, in the order of the calls.
 * Fields that are zero or empty are left out, as the language has it. */
#ifndef REPORT_PROTO_OUT_H
#define REPORT_PROTO_OUT_H

#include "report/out.h"

static inline void proto_varint(struct report_bytes *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    out_bytes(out, bytes, size);
}

static inline void proto_number(struct report_bytes *out, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    proto_varint(out, (uint64_t)field << 3);
    proto_varint(out, value);
}

/* A text, a message or packed numbers; also when it is empty. */
static inline void proto_bytes(struct report_bytes *out, unsigned field, const void *bytes,
                               size_t size)
{
    proto_varint(out, (uint64_t)field << 3 | 2);
    proto_varint(out, size);
    out_bytes(out, bytes, size);
}

/* `message` becomes a field of `out`, and is empty afterwards. */
static inline void proto_message(struct report_bytes *out, unsigned field,
                                 struct report_bytes *message)
{
    proto_bytes(out, field, message->data, message->size);
    out->failed |= message->failed;
    message->size = 0;
}

#endif
