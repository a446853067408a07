/* Writes .eh_frame and .debug_frame sections byte by byte for tests. */
#ifndef TESTS_UNWIND_CFI_BYTES_H
#define TESTS_UNWIND_CFI_BYTES_H

#include "unwind/image.h"

struct bytes {
    uint8_t data[4096];
    size_t size;
    bool big_endian;
};

static inline void put(struct bytes *b, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        b->data[b->size++] = (uint8_t)(value >> 8 * (b->big_endian ? size - 1 - i : i));
}

static inline void put_bytes(struct bytes *b, const void *data, size_t size)
{
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_string(struct bytes *b, const char *text)
{
    put_bytes(b, text, strlen(text) + 1);
}

static inline void put_uleb(struct bytes *b, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        put(b, (value & 0x7f) | 0x80, 1);
    put(b, value, 1);
}

static inline void put_sleb(struct bytes *b, int64_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        put(b, (value & 0x7f) | 0x80, 1);
    put(b, value & 0x7f, 1);
}

/* Begins an entry; end_entry() with what this returns writes its length. */
static inline size_t begin_entry(struct bytes *b, bool wide)
{
    if (wide)
        put(b, 0xffffffff, 4);
    put(b, 0, wide ? 8 : 4);
    return b->size;
}

static inline void end_entry(struct bytes *b, size_t body, bool wide)
{
    struct bytes length = {.big_endian = b->big_endian};
    put(&length, b->size - body, wide ? 8 : 4);
    memcpy(b->data + body - length.size, length.data, length.size);
}

struct program {
    const uint8_t *bytes;
    size_t size;
};
#define PROGRAM(...)                                                                               \
    ((struct program){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

/* What a CIE says besides its program. */
struct cie_form {
    uint8_t version;
    const char *augmentation; /* with 'R' and the like in any order */
    uint8_t encoding;         /* of 'R' */
    uint8_t lsda_encoding;    /* of 'L' */
    uint8_t personality;      /* encoding of 'P' */
    uint8_t code_align;
    int8_t data_align;
    uint8_t return_column;
    uint8_t address_size;
    uint8_t segment_size; /* version 4 */
    bool debug_frame, wide;
};

static inline unsigned encoded_size(uint8_t encoding, unsigned address_size)
{
    switch (encoding & 0x0f) {
    case 0x02:
    case 0x0a: return 2;
    case 0x03:
    case 0x0b: return 4;
    case 0x04:
    case 0x0c: return 8;
    default: return address_size;
    }
}

static inline void put_encoded(struct bytes *b, uint8_t encoding, unsigned address_size,
                               uint64_t value)
{
    if ((encoding & 0x0f) == 0x01)
        put_uleb(b, value);
    else if ((encoding & 0x0f) == 0x09)
        put_sleb(b, (int64_t)value);
    else
        put(b, value, encoded_size(encoding, address_size));
}

static inline void put_augmentation_data(struct bytes *b, const struct cie_form *form)
{
    struct bytes data = {.big_endian = b->big_endian};
    for (const char *c = form->augmentation + 1; *c; c++) {
        if (*c == 'R')
            put(&data, form->encoding, 1);
        if (*c == 'L')
            put(&data, form->lsda_encoding, 1);
        if (*c == 'P') {
            put(&data, form->personality, 1);
            put_encoded(&data, form->personality, form->address_size, 0x1234);
        }
    }
    put_uleb(b, data.size);
    put_bytes(b, data.data, data.size);
}

/* Returns the offset of the CIE. */
static inline size_t put_cie(struct bytes *b, const struct cie_form *form, struct program program)
{
    size_t offset = b->size, body = begin_entry(b, form->wide);
    put(b, form->debug_frame ? UINT64_MAX : 0, form->debug_frame && form->wide ? 8 : 4);
    put(b, form->version, 1);
    put_string(b, form->augmentation);
    if (form->version >= 4) {
        put(b, form->address_size, 1);
        put(b, form->segment_size, 1);
    }
    if (form->augmentation[0] == 'e')
        put(b, 0x5555, form->address_size);
    put_uleb(b, form->code_align);
    put_sleb(b, form->data_align);
    put(b, form->return_column, 1);
    if (form->augmentation[0] == 'z')
        put_augmentation_data(b, form);
    put_bytes(b, program.bytes, program.size);
    end_entry(b, body, form->wide);
    return offset;
}

/* `lo` and `size` as they are to stand in the entry. Returns its offset. */
static inline size_t put_fde(struct bytes *b, const struct cie_form *form, size_t cie, uint64_t lo,
                             uint64_t size, struct program program)
{
    size_t offset = b->size, body = begin_entry(b, form->wide);
    if (form->debug_frame)
        put(b, cie, form->wide ? 8 : 4);
    else
        put(b, b->size - cie, 4);
    put(b, 0, form->segment_size);
    put_encoded(b, form->encoding, form->address_size, lo);
    put_encoded(b, form->encoding, form->address_size, size);
    if (form->augmentation[0] == 'z')
        put_bytes(b, "\2\x77\x77", 3); /* augmentation data that nobody looks at */
    put_bytes(b, program.bytes, program.size);
    end_entry(b, body, form->wide);
    return offset;
}

#endif
