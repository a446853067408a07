/*
 * Checksum of a section: CRC-32C over the CRC-32Cs (little-endian) of its pieces of 4096 bytes.
 * Pieces are independent of each other, so one thread keeps the processor's pipeline full with
 * several, and several threads share a section, with no arithmetic to put partial sums together.
 */
#ifndef SYMMAP_CHECKSUM_H
#define SYMMAP_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_PIECE = 4096 };

/* CRC-32C of each piece into sums[(size + 4095) / 4096], as bytes of the file. */
void checksum_pieces(const void *data, size_t size, uint8_t *sums);

/* Of a whole section. */
uint32_t checksum_of(const void *data, size_t size);

#endif
