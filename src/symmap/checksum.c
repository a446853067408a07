#include "symmap/checksum.h"

#include "symmap/format.h"

/* Bit by bit through a table of sixteen: for machines without the instruction. */
static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t size)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

enum { STREAMS = 4 };

static int has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const uint8_t *p,
                                                           size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size; p++, size--)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

/* Four whole pieces at once: the instruction takes three cycles and one can start in each. */
__attribute__((target("sse4.2"))) static void crc_four(const uint8_t *p, uint32_t sums[STREAMS])
{
    uint64_t a = UINT32_MAX, b = UINT32_MAX, c = UINT32_MAX, d = UINT32_MAX;
    for (size_t i = 0; i < CHECKSUM_PIECE; i += 8) {
        uint64_t word[STREAMS];
        memcpy(&word[0], p + i, 8);
        memcpy(&word[1], p + i + CHECKSUM_PIECE, 8);
        memcpy(&word[2], p + i + 2 * CHECKSUM_PIECE, 8);
        memcpy(&word[3], p + i + 3 * CHECKSUM_PIECE, 8);
        a = _mm_crc32_u64(a, word[0]);
        b = _mm_crc32_u64(b, word[1]);
        c = _mm_crc32_u64(c, word[2]);
        d = _mm_crc32_u64(d, word[3]);
    }
    sums[0] = (uint32_t)a;
    sums[1] = (uint32_t)b;
    sums[2] = (uint32_t)c;
    sums[3] = (uint32_t)d;
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

enum { STREAMS = 4 };

static int has_instruction(void)
{
    return 1;
}

static uint32_t crc_fast(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = __crc32cd(crc, word);
    }
    for (; size; p++, size--)
        crc = __crc32cb(crc, *p);
    return crc;
}

static void crc_four(const uint8_t *p, uint32_t sums[STREAMS])
{
    for (unsigned s = 0; s < STREAMS; s++)
        sums[s] = UINT32_MAX;
    for (size_t i = 0; i < CHECKSUM_PIECE; i += 8)
        for (unsigned s = 0; s < STREAMS; s++) {
            uint64_t word;
            memcpy(&word, p + i + s * CHECKSUM_PIECE, 8);
            sums[s] = __crc32cd(sums[s], word);
        }
}

#else

enum { STREAMS = 4 };

static int has_instruction(void)
{
    return 0;
}

static uint32_t crc_fast(uint32_t crc, const uint8_t *p, size_t size)
{
    return crc_table(crc, p, size);
}

static void crc_four(const uint8_t *p, uint32_t sums[STREAMS])
{
    for (unsigned s = 0; s < STREAMS; s++)
        sums[s] = crc_table(UINT32_MAX, p + s * CHECKSUM_PIECE, CHECKSUM_PIECE);
}

#endif

static uint32_t crc_any(uint32_t crc, const uint8_t *p, size_t size)
{
    return has_instruction() ? crc_fast(crc, p, size) : crc_table(crc, p, size);
}

uint32_t crc32c(const void *data, size_t size)
{
    return ~crc_any(UINT32_MAX, data, size);
}

void checksum_pieces(const void *data, size_t size, uint8_t *sums)
{
    const uint8_t *p = data;
    if (has_instruction())
        for (; size >= STREAMS * CHECKSUM_PIECE; size -= STREAMS * CHECKSUM_PIECE) {
            uint32_t four[STREAMS];
            crc_four(p, four);
            for (unsigned s = 0; s < STREAMS; s++, sums += 4)
                put_u32(sums, ~four[s]);
            p += STREAMS * CHECKSUM_PIECE;
        }
    while (size) {
        size_t piece = size < CHECKSUM_PIECE ? size : CHECKSUM_PIECE;
        put_u32(sums, crc32c(p, piece));
        sums += 4;
        p += piece;
        size -= piece;
    }
}

uint32_t checksum_of(const void *data, size_t size)
{
    enum { AT_ONCE = 64 };
    const uint8_t *p = data;
    uint8_t sums[AT_ONCE * 4];
    uint32_t crc = UINT32_MAX;
    while (size) {
        size_t part = size < AT_ONCE * CHECKSUM_PIECE ? size : AT_ONCE * CHECKSUM_PIECE;
        checksum_pieces(p, part, sums);
        crc = crc_any(crc, sums, (part + CHECKSUM_PIECE - 1) / CHECKSUM_PIECE * 4);
        p += part;
        size -= part;
    }
    return ~crc;
}
