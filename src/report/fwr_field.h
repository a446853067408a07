/*
 * Reading a Framewalk report's records, and in them protobuf's wire format
 * (protobuf.dev/programming-guides/encoding): one field after the other, through the bounded
 * reader. Groups, which proto3 does not have, are refused.
 */
#ifndef REPORT_FWR_FIELD_H
#define REPORT_FWR_FIELD_H

#include "base/reader.h"
#include "report/fwr_record.h"

/* Why the record at the reader (behind the magic, or a record) is not whole; NULL when it is: then
 * the reader is behind it. */
const char *fwr_next_record(struct reader *r, struct fwr_head *head, struct reader *payload);

struct fwr_field {
    uint32_t number;
    bool is_bytes;        /* a string, message or packed numbers; else a number */
    uint64_t value;       /* of a number */
    const uint8_t *bytes; /* of the rest */
    size_t size;
};

/* False at the end, and when the rest makes no sense: then `r` has failed. */
static inline bool fwr_next_field(struct reader *r, struct fwr_field *f)
{
    *f = (struct fwr_field){0};
    if (r->failed || reader_left(r) == 0)
        return false;
    uint64_t tag = reader_uleb(r), size;
    f->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case 0: f->value = reader_uleb(r); break;
    case 1: f->value = reader_u64(r); break;
    case 2:
        f->is_bytes = true;
        size = reader_uleb(r);
        if (size > reader_left(r))
            r->failed = true;
        else if (reader_take(r, (size_t)size, &f->bytes))
            f->size = (size_t)size;
        break;
    case 5: f->value = reader_u32(r); break;
    default: r->failed = true;
    }
    if (tag >> 3 == 0 || tag >> 3 >= 1u << 29)
        r->failed = true;
    return !r->failed;
}

static inline uint64_t fwr_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

#endif
