/* CRC-32C: by the processor's instruction, else by a table. See crc32c.h. */
#include "base/crc32c.h"

#include <string.h>

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

/* Apple's linker has nothing that __builtin_cpu_supports could ask: there the table. */
#if defined(__x86_64__) && !defined(__APPLE__)

#include <nmmintrin.h>

bool crc32c_has_instruction(void)
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

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

bool crc32c_has_instruction(void)
{
    return true;
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

#else

bool crc32c_has_instruction(void)
{
    return false;
}

static uint32_t crc_fast(uint32_t crc, const uint8_t *p, size_t size)
{
    return crc_table(crc, p, size);
}

#endif

uint32_t crc32c_more(uint32_t crc, const void *data, size_t size)
{
    return ~(crc32c_has_instruction() ? crc_fast(~crc, data, size) : crc_table(~crc, data, size));
}
