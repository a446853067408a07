/*
 * Functions to bytes: head, context nodes and blocks of each, in chunks of functions that no other
 * chunk's functions overlap. A chunk depends on nothing but its functions, so chunks are encoded in
 * any order and put one behind the other.
 */
#ifndef SYMMAP_ENCODE_H
#define SYMMAP_ENCODE_H

#include "symmap/call_sites.h"
#include "symmap/merge.h"
#include "symmap/names.h"

struct encode_input {
    const struct symmap_source *source;
    const struct merge *merge;
    const struct names *names;
    const struct call_sites *calls;
};

struct encode_block {
    uint32_t start; /* offset from base */
    uint32_t place; /* within the chunk */
};

struct encode_chunk {
    uint32_t first_function, function_count;
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t *heads; /* of the functions, within the chunk */
    struct encode_block *blocks;
    size_t block_count, block_capacity;
    fw_error error; /* FW_ERR_MEMORY, or FW_ERR_UNSUPPORTED when it exceeds 4 GB */
};

/* Cuts the functions into chunks; NULL when out of memory. */
struct encode_chunk *encode_cut(const struct encode_input *input, size_t *count);
/* Encodes all chunks. The first error of a chunk is the result. */
fw_error encode_run(const struct encode_input *input, struct workers *workers,
                    struct encode_chunk *chunks, size_t count);
void encode_free(struct encode_chunk *chunks, size_t count);

#endif
