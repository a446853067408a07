/*
 * Which bytes of a report are whole, and what it is of: for recovery, of files that a killed
 * process or a power failure left. Each record's checksum is computed as the file is read once, in
 * pieces on the stack; of the payloads only the first bytes are looked into, where writers put
 * what is asked for here. No allocation. See docs/report-format.md, "Recovery".
 */
#include "base/crc32c.h"
#include "report/fwr_field.h"
#include "report/fwr_record.h"

enum { PIECE = 4096 };

struct survey {
    fwr_read *read;
    void *context;
    struct fwr_state *state;
    uint8_t piece[PIECE];
};

/* As many of `size` bytes as there are; -1 when reading failed. */
static long read_all(struct survey *s, uint64_t offset, size_t size)
{
    size_t have = 0;
    while (have < size) {
        long got = s->read(s->context, offset + have, s->piece + have, size - have);
        if (got < 0 || (size_t)got > size - have)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (long)have;
}

static void about_field(struct fwr_state *state, const struct fwr_field *f)
{
    switch (f->number) {
    case ABOUT_ID:
        if (f->size == sizeof state->id) {
            memcpy(state->id, f->bytes, sizeof state->id);
            state->is_report = true;
        }
        break;
    case ABOUT_SESSION:
        if (f->size == sizeof state->session)
            memcpy(state->session, f->bytes, sizeof state->session);
        break;
    case ABOUT_KIND: state->kind = (uint8_t)f->value; break;
    case ABOUT_PID: state->pid = f->value <= UINT32_MAX ? (uint32_t)f->value : 0; break;
    case ABOUT_STARTED_MS: state->started_ms = f->value; break;
    default: break;
    }
}

static void at_least(uint64_t *duration, uint64_t value)
{
    if (*duration < value)
        *duration = value;
}

static void look_into(struct fwr_state *state, uint8_t type, const uint8_t *payload, size_t size)
{
    struct reader r = reader_over(payload, size);
    struct fwr_field f;
    while (fwr_next_field(&r, &f)) {
        if (type == FWR_ABOUT)
            about_field(state, &f);
        else if (type == FWR_HANG && f.number == HANG_SO_FAR_NS)
            at_least(&state->duration_ns, f.value);
        else if (type == FWR_HANG && f.number == HANG_SEVERE_NS)
            state->severe_ns = f.value;
        else if (type == FWR_HANG_END && f.number == HANG_END_ENDING)
            state->ending = (uint8_t)f.value;
        else if (type == FWR_SAMPLES && f.number == SAMPLES_UNTIL_NS)
            at_least(&state->duration_ns, f.value);
        else if (type == FWR_HANG_END && f.number == HANG_END_DURATION_NS)
            state->duration_ns = f.value;
    }
}

static void note_record(struct fwr_state *state, uint8_t type, const uint8_t *payload, size_t size)
{
    if (type == FWR_ABOUT && state->is_report)
        return; /* the first one counts */
    if (!(type == FWR_SAMPLES && state->has_hang_end))
        look_into(state, type, payload, size);
    state->has_hang |= type == FWR_HANG;
    state->has_hang_end |= type == FWR_HANG_END;
    state->ended |= type == FWR_END;
}

/* The record at `offset`: its size with head and padding, 0 when it is not whole, -1 when reading
 * failed. */
static long survey_record(struct survey *s, uint64_t offset, bool first)
{
    long got = read_all(s, offset, PIECE);
    if (got < FWR_RECORD_HEAD)
        return got < 0 ? -1 : 0;
    struct fwr_head head = fwr_read_head(s->piece);
    if (!head.sound || (first && head.type != FWR_ABOUT))
        return 0;
    uint32_t crc = crc32c(s->piece, FWR_HEAD_SUMMED);
    uint32_t padded = fwr_padded(head.size), done = 0;
    struct fwr_state after = *s->state;
    const uint8_t *bytes = s->piece + FWR_RECORD_HEAD;
    size_t have = (size_t)got - FWR_RECORD_HEAD;
    for (;;) {
        size_t part = have < padded - done ? have : padded - done;
        size_t summed = done + part <= head.size ? part : head.size - done;
        crc = crc32c_more(crc, bytes, summed);
        for (size_t i = summed; i < part; i++)
            if (bytes[i])
                return 0;
        if (done == 0)
            note_record(&after, head.type, bytes, summed);
        done += (uint32_t)part;
        if (done == padded)
            break;
        got = read_all(s, offset + FWR_RECORD_HEAD + done, PIECE);
        if (got <= 0)
            return got;
        bytes = s->piece;
        have = (size_t)got;
    }
    if (crc != head.crc)
        return 0;
    *s->state = after;
    return (long)(FWR_RECORD_HEAD + padded);
}

fw_error fwr_survey(fwr_read *read, void *context, struct fwr_state *state)
{
    struct survey s = {.read = read, .context = context, .state = state};
    *state = (struct fwr_state){0};
    long got = read_all(&s, 0, FWR_MAGIC_SIZE);
    if (got < 0)
        return FW_ERR_SYSTEM;
    if (got < FWR_MAGIC_SIZE || memcmp(s.piece, FWR_MAGIC, FWR_MAGIC_SIZE) != 0)
        return FW_OK;
    uint64_t at = FWR_MAGIC_SIZE;
    for (;;) {
        long size = survey_record(&s, at, at == FWR_MAGIC_SIZE);
        if (size < 0)
            return FW_ERR_SYSTEM;
        if (size == 0 || !state->is_report)
            return FW_OK;
        at += (uint64_t)size;
        state->whole = at;
        if (state->ended)
            return FW_OK;
    }
}
