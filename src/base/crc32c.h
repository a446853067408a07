/*
 * CRC-32C: Castagnoli's polynomial, reflected, inverted before and after (RFC 3720, appendix B.4).
 * With the processor's instruction where there is one. Async-signal-safe, thread-safe.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of `size` bytes, going on from the `crc` of those before them (0: there are none). */
uint32_t crc32c_more(uint32_t crc, const void *data, size_t size);

static inline uint32_t crc32c(const void *data, size_t size)
{
    return crc32c_more(0, data, size);
}

/* Whether this machine has an instruction for it: what feeds several at once asks. */
bool crc32c_has_instruction(void);

#endif
