/*
 * The bounded byte reader: the only way that any parser of Framewalk reads foreign bytes.
 *
 * Invariant: `pos` never leaves [begin, end]. A read that would is refused, returns zero and sets
 * `failed`, which stays set, so a parser may read a whole record and test once. No allocation, no
 * system call: async-signal-safe.
 */
#ifndef BASE_READER_H
#define BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const uint8_t *data;
    size_t size;
};

struct reader {
    const uint8_t *begin;
    const uint8_t *pos;
    const uint8_t *end;
    bool swap; /* the bytes are of the other byte order than this machine */
    bool failed;
};

/* No bytes at all may be NULL, to which C does not allow to add even zero. */
static inline struct reader reader_over(const void *data, size_t size)
{
    const uint8_t *begin = data;
    struct reader r = {begin, begin, size ? begin + size : begin, false, false};
    return r;
}

/* A reader over `data`, standing at `offset`; failed when `offset` lies outside. */
static inline struct reader reader_at(const void *data, size_t size, uint64_t offset)
{
    struct reader r = reader_over(data, size);
    if (offset > size)
        r.failed = true;
    else if (offset)
        r.pos += offset;
    return r;
}

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->pos);
}

static inline size_t reader_offset(const struct reader *r)
{
    return (size_t)(r->pos - r->begin);
}

static inline bool reader_take(struct reader *r, size_t n, const uint8_t **bytes)
{
    if (r->failed || n > reader_left(r)) {
        r->failed = true;
        return false;
    }
    *bytes = r->pos;
    r->pos += n;
    return true;
}

static inline void reader_skip(struct reader *r, uint64_t n)
{
    if (r->failed || n > reader_left(r))
        r->failed = true;
    else
        r->pos += n;
}

static inline void reader_seek(struct reader *r, uint64_t offset)
{
    if (offset > (uint64_t)(r->end - r->begin))
        r->failed = true;
    else
        r->pos = r->begin + offset;
}

static inline uint8_t reader_u8(struct reader *r)
{
    const uint8_t *p;
    return reader_take(r, 1, &p) ? *p : 0;
}

static inline uint16_t reader_u16(struct reader *r)
{
    const uint8_t *p;
    uint16_t v;
    if (!reader_take(r, sizeof v, &p))
        return 0;
    memcpy(&v, p, sizeof v);
    return r->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t reader_u32(struct reader *r)
{
    const uint8_t *p;
    uint32_t v;
    if (!reader_take(r, sizeof v, &p))
        return 0;
    memcpy(&v, p, sizeof v);
    return r->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t reader_u64(struct reader *r)
{
    const uint8_t *p;
    uint64_t v;
    if (!reader_take(r, sizeof v, &p))
        return 0;
    memcpy(&v, p, sizeof v);
    return r->swap ? __builtin_bswap64(v) : v;
}

/* An unsigned value of 1, 2, 4 or 8 bytes; any other size fails. */
static inline uint64_t reader_uint(struct reader *r, unsigned size)
{
    switch (size) {
    case 1: return reader_u8(r);
    case 2: return reader_u16(r);
    case 4: return reader_u32(r);
    case 8: return reader_u64(r);
    default: r->failed = true; return 0;
    }
}

/* LEB128 (DWARF 5 section 7.6). Bits beyond 64 must be padding, else the read fails. */
static inline uint64_t reader_uleb(struct reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
        uint8_t byte = reader_u8(r);
        if (r->failed)
            return 0;
        if (shift < 63)
            value |= (uint64_t)(byte & 0x7f) << shift;
        else if (shift == 63 && (byte & 0x7f) <= 1)
            value |= (uint64_t)(byte & 1) << 63;
        else if ((byte & 0x7f) != 0) {
            r->failed = true;
            return 0;
        }
        if (!(byte & 0x80))
            return value;
        shift = shift < 70 ? shift + 7 : 70;
    }
}

static inline int64_t reader_sleb(struct reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
        uint8_t byte = reader_u8(r);
        if (r->failed)
            return 0;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
            shift += 7;
        }
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= ~(uint64_t)0 << shift;
            return (int64_t)value;
        }
    }
}

/* A string that ends with NUL inside the bytes; NULL and failed when there is none. */
static inline const char *reader_string(struct reader *r)
{
    if (r->failed)
        return NULL;
    const uint8_t *start = r->pos;
    const uint8_t *nul = reader_left(r) ? memchr(start, 0, reader_left(r)) : NULL;
    if (!nul) {
        r->failed = true;
        return NULL;
    }
    r->pos = nul + 1;
    return (const char *)start;
}

/* A reader over the next `size` bytes, which this one skips. Both fail when they are not there. */
static inline struct reader reader_sub(struct reader *r, uint64_t size)
{
    struct reader sub = {r->pos, r->pos, r->pos, r->swap, r->failed};
    if (r->failed || size > reader_left(r)) {
        r->failed = sub.failed = true;
        return sub;
    }
    sub.end = sub.pos + size;
    r->pos += size;
    return sub;
}

#endif
