/*
 * Writing protobuf's wire format (protobuf.dev/programming-guides/encoding) into fixed memory.
 *
 * Invariant: nothing is written beyond `end`; what did not fit sets `full`, which stays set. As
 * proto3 has it, zeros and empty strings are left out.
 */
#ifndef REPORT_FWR_WIRE_H
#define REPORT_FWR_WIRE_H

#include "report/fwr_write.h"

#include <string.h>

struct wire {
    uint8_t *begin, *at, *end;
    bool full;
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_VARINT_MAX = 10 };

static inline struct wire wire_into(uint8_t *to, size_t size)
{
    return (struct wire){to, to, to + size, false};
}

static inline size_t wire_size(const struct wire *w)
{
    return (size_t)(w->at - w->begin);
}

static inline uint64_t wire_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline size_t wire_varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static inline void wire_varint(struct wire *w, uint64_t value)
{
    if ((size_t)(w->end - w->at) < wire_varint_size(value)) {
        w->full = true;
        return;
    }
    for (; value >= 0x80; value >>= 7)
        *w->at++ = (uint8_t)(value | 0x80);
    *w->at++ = (uint8_t)value;
}

static inline void wire_tag(struct wire *w, unsigned field, unsigned type)
{
    wire_varint(w, field << 3 | type);
}

static inline void wire_uint(struct wire *w, unsigned field, uint64_t value)
{
    if (value) {
        wire_tag(w, field, WIRE_VARINT);
        wire_varint(w, value);
    }
}

static inline void wire_sint(struct wire *w, unsigned field, uint64_t difference)
{
    wire_uint(w, field, wire_zigzag(difference));
}

static inline void wire_bytes(struct wire *w, unsigned field, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    wire_tag(w, field, WIRE_BYTES);
    wire_varint(w, size);
    if (w->full || (size_t)(w->end - w->at) < size) {
        w->full = true;
        return;
    }
    memcpy(w->at, bytes, size);
    w->at += size;
}

/* A message or packed numbers inside: what comes between wire_open and wire_close is in it. At most
 * WIRE_INSIDE bytes; the length, which stands before, takes as many bytes as it needs. */
enum { WIRE_INSIDE = (1 << 21) - 1, WIRE_LENGTH_MAX = 3 };
static inline uint8_t *wire_open(struct wire *w, unsigned field)
{
    wire_tag(w, field, WIRE_BYTES);
    uint8_t *begin = w->at;
    if (w->full || w->end - w->at < WIRE_LENGTH_MAX)
        w->full = true;
    else
        w->at += WIRE_LENGTH_MAX;
    return begin;
}

static inline void wire_close(struct wire *w, uint8_t *begin)
{
    if (w->full)
        return;
    const uint8_t *inside = begin + WIRE_LENGTH_MAX;
    size_t size = (size_t)(w->at - inside);
    if (size > WIRE_INSIDE) {
        w->full = true;
        return;
    }
    w->at = begin;
    wire_varint(w, size);
    memmove(w->at, inside, size);
    w->at += size;
}

/* Strings, NULL for none: as valid UTF-8 (which proto3 demands) of at most `most` bytes; bytes that
 * are none become '?'. Paths besides with home folders as "~". */
enum { FWR_WORD_BYTES = 255, FWR_TEXT_BYTES = 1023 };
void wire_text(struct wire *w, unsigned field, const char *text, size_t most);
void wire_path(struct wire *w, unsigned field, const char *path);

/* Payload of FWR_HANG_END. */
size_t fwr_encode_hang_end(uint8_t *to, size_t size, const struct fwr_hang_end *end);

#endif
