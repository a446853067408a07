/*
 * Unpacking with zlib (RFC 1950), zstd (RFC 8878) and xz.
 *
 * A codec gives back exactly the bytes that were announced or none at all: a stream that ends
 * early, is longer than announced or fails its own checksum is refused.
 */
#define ZLIB_CONST
#include "object/codecs.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* What the codecs' callers are told: errno is ENOMEM when it was memory that was missing. */
static void *no_memory_if(bool memory)
{
    if (memory)
        errno = ENOMEM;
    return NULL;
}

/* zlib counts in 32 bits: input and output are handed over in pieces. */
static bool zlib_run(z_stream *z, const uint8_t *data, size_t data_size, uint8_t *to, size_t size)
{
    int status = Z_OK;
    z->next_in = data;
    z->next_out = to;
    while (status == Z_OK) {
        if (z->avail_in == 0) {
            z->avail_in = data_size < UINT_MAX ? (uInt)data_size : UINT_MAX;
            data_size -= z->avail_in;
        }
        if (z->avail_out == 0) {
            z->avail_out = size < UINT_MAX ? (uInt)size : UINT_MAX;
            size -= z->avail_out;
        }
        status = inflate(z, Z_NO_FLUSH);
    }
    return status == Z_STREAM_END && size == 0 && z->avail_out == 0;
}

static uint8_t *inflate_zlib(const uint8_t *data, size_t data_size, size_t size)
{
    z_stream z = {0};
    uint8_t *to = malloc(size ? size : 1);
    int status = to ? inflateInit(&z) : Z_MEM_ERROR;
    if (status != Z_OK) {
        free(to);
        return no_memory_if(status == Z_MEM_ERROR);
    }
    bool good = zlib_run(&z, data, data_size, to, size);
    inflateEnd(&z);
    if (good)
        return to;
    free(to);
    return NULL;
}

static uint8_t *inflate_zstd(const uint8_t *data, size_t data_size, size_t size)
{
    uint8_t *to = malloc(size ? size : 1);
    if (!to)
        return no_memory_if(true);
    size_t done = ZSTD_decompress(to, size, data, data_size); /* all frames */
    if (!ZSTD_isError(done) && done == size)
        return to;
    free(to);
    return no_memory_if(ZSTD_getErrorCode(done) == ZSTD_error_memory_allocation);
}

enum { XZ_MEMORY = 512 << 20, XZ_FIRST = 1 << 20 };

/* Decodes into a buffer that doubles up to `limit`. */
static uint8_t *unpack_xz(const uint8_t *data, size_t data_size, size_t limit, size_t *size)
{
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_ret status = lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED);
    if (status != LZMA_OK)
        return no_memory_if(status == LZMA_MEM_ERROR);
    z.next_in = data;
    z.avail_in = data_size;
    uint8_t *to = NULL;
    size_t capacity = 0;
    while (status == LZMA_OK) {
        if (z.avail_out == 0) {
            size_t used = capacity;
            capacity = capacity ? capacity * 2 : XZ_FIRST;
            capacity = capacity < limit ? capacity : limit;
            uint8_t *grown = capacity > used ? realloc(to, capacity) : NULL;
            if (!grown) {
                status = capacity > used ? LZMA_MEM_ERROR : LZMA_BUF_ERROR;
                break;
            }
            to = grown;
            z.next_out = to + used;
            z.avail_out = capacity - used;
        }
        status = lzma_code(&z, LZMA_FINISH);
    }
    *size = capacity - z.avail_out;
    lzma_end(&z);
    if (status == LZMA_STREAM_END && *size)
        return to;
    free(to);
    return no_memory_if(status == LZMA_MEM_ERROR);
}

const struct object_codecs object_codecs_all = {
    .zlib = inflate_zlib,
    .zstd = inflate_zstd,
    .xz = unpack_xz,
};
