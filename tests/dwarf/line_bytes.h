/* Line tables put together by hand, for tests. */
#ifndef TESTS_DWARF_LINE_BYTES_H
#define TESTS_DWARF_LINE_BYTES_H

#include "dwarf/line.h"

#include <string.h>

struct bytes {
    uint8_t data[8192];
    size_t size;
    bool big_endian;
};

static inline void put(struct bytes *b, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        b->data[b->size++] = (uint8_t)(value >> 8 * (b->big_endian ? size - 1 - i : i));
}

static inline void put8(struct bytes *b, unsigned value)
{
    put(b, value, 1);
}

static inline void put_uleb(struct bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put8(b, (value & 0x7f) | 0x80);
    put8(b, (unsigned)value);
}

static inline void put_sleb(struct bytes *b, int64_t value)
{
    while (value < -64 || value > 63) {
        put8(b, (value & 0x7f) | 0x80);
        value >>= 7;
    }
    put8(b, value & 0x7f);
}

static inline void put_string(struct bytes *b, const char *string)
{
    memcpy(b->data + b->size, string, strlen(string) + 1);
    b->size += strlen(string) + 1;
}

/* Of a value that is written again when it is known. */
static inline void patch(struct bytes *b, size_t at, uint64_t value, unsigned size)
{
    size_t end = b->size;
    b->size = at;
    put(b, value, size);
    b->size = end;
}

struct shape { /* of a table */
    unsigned version, offset_size;
    unsigned min_instruction, max_operations;
    int line_base;
    unsigned line_range, opcode_base;
    bool big_endian;
};
#define SHAPE_4 {4, 4, 1, 1, -5, 14, 13, false}
#define SHAPE_5 {5, 4, 1, 1, -5, 14, 13, false}

struct table { /* being written */
    struct bytes bytes;
    struct shape shape;
    size_t length_at, header_at;
};

/* Everything up to the tables of names. */
static inline void table_begin(struct table *t, struct shape shape)
{
    struct bytes *b = &t->bytes;
    t->shape = shape;
    b->big_endian = shape.big_endian;
    if (shape.offset_size == 8)
        put(b, 0xffffffff, 4);
    t->length_at = b->size;
    put(b, 0, shape.offset_size);
    put(b, shape.version, 2);
    if (shape.version >= 5) {
        put8(b, 8);
        put8(b, 0);
    }
    t->header_at = b->size;
    put(b, 0, shape.offset_size);
    put8(b, shape.min_instruction);
    if (shape.version >= 4)
        put8(b, shape.max_operations);
    put8(b, 1); /* default_is_stmt */
    put8(b, (uint8_t)shape.line_base);
    put8(b, shape.line_range);
    put8(b, shape.opcode_base);
    static const uint8_t counts[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 3, 0};
    for (unsigned i = 1; i < shape.opcode_base; i++)
        put8(b, counts[i - 1]);
}

static inline void table_program(struct table *t)
{
    size_t from = t->header_at + t->shape.offset_size;
    patch(&t->bytes, t->header_at, t->bytes.size - from, t->shape.offset_size);
}

static inline void table_end(struct table *t)
{
    size_t from = t->length_at + t->shape.offset_size;
    patch(&t->bytes, t->length_at, t->bytes.size - from, t->shape.offset_size);
}

/* Directory "sub", files "a.c" (in the compilation directory) and "b.h" (in sub). Version 5 has
 * "main.c" as file 0. */
static inline void table_names(struct table *t)
{
    struct bytes *b = &t->bytes;
    if (t->shape.version >= 5) {
        put8(b, 1), put8(b, 1), put8(b, 0x08); /* one field: path, as a string */
        put8(b, 2);
        put_string(b, "/work");
        put_string(b, "sub");
        put8(b, 2); /* path as a string, directory index as udata */
        put8(b, 1), put8(b, 0x08), put8(b, 2), put8(b, 0x0f);
        put8(b, 3);
        put_string(b, "main.c"), put8(b, 0);
        put_string(b, "a.c"), put8(b, 0);
        put_string(b, "b.h"), put8(b, 1);
    } else {
        put_string(b, "sub");
        put8(b, 0);
        put_string(b, "a.c"), put8(b, 0), put8(b, 0), put8(b, 0);
        put_string(b, "b.h"), put8(b, 1), put8(b, 0), put8(b, 0);
        put8(b, 0);
    }
    table_program(t);
}

enum { /* opcodes by number, as the standard has them */
       L_COPY = 1,
       L_ADVANCE_PC,
       L_ADVANCE_LINE,
       L_SET_FILE,
       L_SET_COLUMN,
       L_NEGATE,
       L_BLOCK,
       L_CONST_ADD_PC,
       L_FIXED_ADVANCE_PC,
       L_PROLOGUE_END,
       L_EPILOGUE_BEGIN,
       L_SET_ISA
};

static inline void op_set_address(struct table *t, uint64_t address, unsigned size)
{
    put8(&t->bytes, 0), put_uleb(&t->bytes, size + 1), put8(&t->bytes, 2);
    put(&t->bytes, address, size);
}

static inline void op_end_sequence(struct table *t)
{
    put8(&t->bytes, 0), put8(&t->bytes, 1), put8(&t->bytes, 1);
}

static inline void op_uleb(struct table *t, unsigned op, uint64_t operand)
{
    put8(&t->bytes, op), put_uleb(&t->bytes, operand);
}

static inline void op_sleb(struct table *t, unsigned op, int64_t operand)
{
    put8(&t->bytes, op), put_sleb(&t->bytes, operand);
}

/* A row `bytes` further on, `lines` further down. */
static inline void op_row(struct table *t, uint64_t bytes, int64_t lines)
{
    op_uleb(t, L_ADVANCE_PC, bytes);
    op_sleb(t, L_ADVANCE_LINE, lines);
    put8(&t->bytes, L_COPY);
}

#endif
