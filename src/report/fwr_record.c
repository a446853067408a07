/* Records of the Framewalk report: heads, and those written behind another's report. See fwr.h. */
#include "report/fwr_record.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "report/fwr_wire.h"

uint32_t fwr_crc(uint32_t crc, const void *bytes, size_t size)
{
    return crc32c_more(crc, bytes, size);
}

struct fwr_head fwr_read_head(const uint8_t bytes[FWR_RECORD_HEAD])
{
    struct fwr_head head = {
        .size = get_u32(bytes), .crc = get_u32(bytes + FWR_HEAD_SUMMED), .type = bytes[4]};
    head.sound = head.size <= FWR_MAX_PAYLOAD && head.type && !bytes[5] && !bytes[6] && !bytes[7];
    return head;
}

size_t fwr_seal(uint8_t *record, enum fwr_type type, size_t size)
{
    size_t padded = fwr_padded((uint32_t)size);
    put_u32(record, (uint32_t)size);
    put_u32(record + 4, (uint32_t)type);
    uint32_t crc = crc32c_more(crc32c(record, FWR_HEAD_SUMMED), record + FWR_RECORD_HEAD, size);
    put_u32(record + FWR_HEAD_SUMMED, crc);
    memset(record + FWR_RECORD_HEAD + size, 0, padded - size);
    return FWR_RECORD_HEAD + padded;
}

size_t fwr_encode_hang_end(uint8_t *to, size_t size, const struct fwr_hang_end *end)
{
    struct wire w = wire_into(to, size);
    wire_uint(&w, HANG_END_ENDING, end->ending);
    wire_uint(&w, HANG_END_VETO, end->veto);
    wire_uint(&w, HANG_END_DURATION_NS, end->duration_ns);
    wire_uint(&w, HANG_END_STARVED_NS, end->starved_ns);
    wire_uint(&w, HANG_END_SAMPLES, end->samples);
    return wire_size(&w);
}

size_t fwr_tail_hang_end(uint8_t *out, const struct fwr_hang_end *end)
{
    enum { ROOM = FWR_TAIL_MAX - FWR_RECORD_HEAD - 3 };
    return fwr_seal(out, FWR_HANG_END, fwr_encode_hang_end(out + FWR_RECORD_HEAD, ROOM, end));
}

size_t fwr_tail_end(uint8_t *out)
{
    return fwr_seal(out, FWR_END, 0);
}
