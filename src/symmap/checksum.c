#include "symmap/checksum.h"

#include "base/crc32c.h"
#include "symmap/format.h"

#if defined(__x86_64__) && !defined(__APPLE__)

#include <nmmintrin.h>

enum { STREAMS = 4 };

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

static void crc_four(const uint8_t *p, uint32_t sums[STREAMS])
{
    for (unsigned s = 0; s < STREAMS; s++)
        sums[s] = ~crc32c(p + s * CHECKSUM_PIECE, CHECKSUM_PIECE);
}

#endif

void checksum_pieces(const void *data, size_t size, uint8_t *sums)
{
    const uint8_t *p = data;
    if (crc32c_has_instruction())
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
    uint32_t crc = 0;
    while (size) {
        size_t part = size < AT_ONCE * CHECKSUM_PIECE ? size : AT_ONCE * CHECKSUM_PIECE;
        checksum_pieces(p, part, sums);
        crc = crc32c_more(crc, sums, (part + CHECKSUM_PIECE - 1) / CHECKSUM_PIECE * 4);
        p += part;
        size -= part;
    }
    return crc;
}
