/*
 * Unpacking zlib (RFC 1950, by libdeflate), zstd (RFC 8878) and xz.
 *
 * A codec gives back exactly the bytes that were announced or none at all: a stream that ends
 * early, is longer than announced or fails its own checksum is refused.
 */
#include "object/codecs.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* What the codecs' callers are told: errno is ENOMEM when it was memory that was missing. */
static void *no_memory_if(bool memory)
{
    if (memory)
        errno = ENOMEM;
    return NULL;
}

static uint8_t *inflate_zlib(const uint8_t *data, size_t data_size, size_t size)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    uint8_t *to = z ? malloc(size ? size : 1) : NULL;
    /* Without a place for the length, a stream that is shorter is refused as well. */
    bool good =
        to && libdeflate_zlib_decompress(z, data, data_size, to, size, NULL) == LIBDEFLATE_SUCCESS;
    bool memory = !to;
    if (z)
        libdeflate_free_decompressor(z);
    if (good)
        return to;
    free(to);
    return no_memory_if(memory);
}

/* What the frames of a stream say they hold together; false when it is not `size`. A frame that
 * does not say may hold anything. Asked before memory is taken. */
static bool frames_hold(const uint8_t *data, size_t data_size, size_t size)
{
    size_t known = 0;
    bool all = true;
    while (data_size) {
        size_t frame = ZSTD_findFrameCompressedSize(data, data_size);
        if (ZSTD_isError(frame) || frame == 0 || frame > data_size)
            return false;
        unsigned long long holds = ZSTD_getFrameContentSize(data, frame);
        if (holds == ZSTD_CONTENTSIZE_ERROR)
            return false;
        if (holds == ZSTD_CONTENTSIZE_UNKNOWN)
            all = false;
        else if (holds > size - known)
            return false;
        else
            known += (size_t)holds;
        data += frame;
        data_size -= frame;
    }
    return !all || known == size;
}

static uint8_t *inflate_zstd(const uint8_t *data, size_t data_size, size_t size)
{
    if (!frames_hold(data, data_size, size))
        return NULL;
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

uint8_t *codecs_gzip(const void *data, size_t data_size, size_t *size)
{
    enum { LEVEL = 6 };
    struct libdeflate_compressor *z = libdeflate_alloc_compressor(LEVEL);
    size_t room = z ? libdeflate_gzip_compress_bound(z, data_size) : 0;
    uint8_t *to = z ? malloc(room) : NULL;
    *size = to ? libdeflate_gzip_compress(z, data, data_size, to, room) : 0;
    if (z)
        libdeflate_free_compressor(z);
    if (*size)
        return to;
    free(to);
    return NULL;
}
