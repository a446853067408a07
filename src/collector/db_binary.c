#include "collector/db_binary.h"

enum {
    BOOL = 16,
    NAME = 19,
    INT8 = 20,
    INT2 = 21,
    INT4 = 23,
    TEXT = 25,
    FLOAT4 = 700,
    FLOAT8 = 701,
    UNKNOWN = 705,
    BPCHAR = 1042,
    VARCHAR = 1043,
    NUMERIC = 1700,
};

static uint64_t big_endian(struct span bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size && i < 8; i++)
        value = value << 8 | bytes.data[i];
    return value;
}

/* The integer of `size` bytes, its sign kept. */
static int64_t whole(struct span bytes)
{
    if (!bytes.size || bytes.size > 8)
        return 0;
    unsigned unused = 64 - 8 * (unsigned)bytes.size;
    return (int64_t)(big_endian(bytes) << unused) >> unused;
}

static double real(struct span bytes)
{
    uint64_t bits = big_endian(bytes);
    uint32_t half = (uint32_t)bits;
    float single;
    double full;
    memcpy(&single, &half, sizeof single);
    memcpy(&full, &bits, sizeof full);
    return bytes.size == 4 ? (double)single : full;
}

struct numeric {
    uint16_t count; /* of digits */
    int weight;     /* of the first one: 10,000 to the power of it */
    bool negative;
    struct reader digits;
};

static bool read_numeric(struct span bytes, struct numeric *n)
{
    struct reader r = reader_over(bytes.data, bytes.size);
    r.swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    n->count = reader_u16(&r);
    n->weight = (int16_t)reader_u16(&r);
    uint16_t sign = reader_u16(&r);
    reader_skip(&r, 2); /* the scale: how many decimals are shown */
    n->negative = sign == 0x4000;
    n->digits = r;
    for (unsigned i = 0; i < n->count; i++)
        if (reader_u16(&r) > 9999)
            return false;
    return !r.failed && (sign == 0 || n->negative); /* else infinite, or no number */
}

/* What is behind the point is cut off. */
static int64_t numeric_int(struct span bytes)
{
    struct numeric n;
    if (!read_numeric(bytes, &n))
        return 0;
    int64_t value = 0;
    for (int i = 0; i <= n.weight; i++) {
        int64_t digit = i < n.count ? reader_u16(&n.digits) : 0;
        if (__builtin_mul_overflow(value, 10000, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return n.negative ? INT64_MIN : INT64_MAX;
    }
    if (n.negative)
        return value; /* summed below zero, where there is room for one more */
    return value == INT64_MIN ? INT64_MAX : -value;
}

int64_t db_binary_int(struct db_binary value)
{
    switch (value.type) {
    case BOOL:
    case INT2:
    case INT4:
    case INT8: return whole(value.bytes);
    case NUMERIC: return numeric_int(value.bytes);
    case FLOAT4:
    case FLOAT8: {
        double number = real(value.bytes);
        if (!(number > -9223372036854775808.0))
            return number < 0 ? INT64_MIN : 0; /* or no number */
        return number < 9223372036854775808.0 ? (int64_t)number : INT64_MAX;
    }
    default: return 0;
    }
}

bool db_binary_is_text(unsigned type)
{
    return type == TEXT || type == VARCHAR || type == BPCHAR || type == NAME || type == UNKNOWN;
}
