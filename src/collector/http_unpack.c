/* http_unpack.h, by zlib and libzstd. */
#include "collector/http_unpack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

enum {
    GZIP_ONLY = 16 + MAX_WBITS, /* zlib: a gzip header and nothing else */
    ZSTD_WINDOW_LOG = 23,       /* 8 MB, what RFC 8878 asks decoders to support */
    PACK_LEVEL = 4,
};

enum http_coding http_coding_of(const char *header)
{
    if (!header || !*header || strcasecmp(header, "identity") == 0)
        return HTTP_IDENTITY;
    if (strcasecmp(header, "gzip") == 0 || strcasecmp(header, "x-gzip") == 0)
        return HTTP_CODED_GZIP;
    return strcasecmp(header, "zstd") == 0 ? HTTP_CODED_ZSTD : HTTP_CODED_UNKNOWN;
}

struct output {
    uint8_t *bytes;
    size_t size, capacity, limit;
};

/* Room for more, never past one byte over the limit, by which too much is noticed. */
static fw_error grow(struct output *out)
{
    if (out->size > out->limit)
        return FW_ERR_FULL;
    if (out->size < out->capacity)
        return FW_OK;
    size_t capacity = out->capacity > out->limit / 2 ? out->limit + 1 : out->capacity * 2;
    uint8_t *moved = realloc(out->bytes, capacity);
    if (!moved)
        return FW_ERR_MEMORY;
    out->bytes = moved;
    out->capacity = capacity;
    return FW_OK;
}

static fw_error inflate_all(z_stream *z, struct output *out)
{
    for (;;) {
        fw_error error = grow(out);
        if (error)
            return error;
        size_t room = out->capacity - out->size;
        uInt given = room > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)room;
        z->next_out = out->bytes + out->size;
        z->avail_out = given;
        int status = inflate(z, Z_NO_FLUSH);
        out->size += given - z->avail_out;
        if (out->size > out->limit)
            return FW_ERR_FULL;
        if (status == Z_STREAM_END) {
            if (!z->avail_in)
                return FW_OK;
            if (inflateReset(z) != Z_OK) /* the next member */
                return FW_ERR_CORRUPT;
        } else if (status == Z_BUF_ERROR || (status == Z_OK && z->avail_out && !z->avail_in)) {
            return FW_ERR_TRUNCATED;
        } else if (status != Z_OK) {
            return status == Z_MEM_ERROR ? FW_ERR_MEMORY : FW_ERR_CORRUPT;
        }
    }
}

static fw_error unpack_gzip(struct span packed, struct output *out)
{
    if (packed.size > UINT32_MAX)
        return FW_ERR_FULL;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.data, .avail_in = (uInt)packed.size};
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return FW_ERR_MEMORY;
    fw_error error = inflate_all(&z, out);
    inflateEnd(&z);
    return error;
}

static fw_error unpack_zstd(struct span packed, struct output *out)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context)
        return FW_ERR_MEMORY;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    ZSTD_inBuffer in = {packed.data, packed.size, 0};
    size_t left = 1; /* 0: a frame ended */
    fw_error error = FW_OK;
    for (bool more = true; more && !error;) {
        error = grow(out);
        if (error)
            break;
        ZSTD_outBuffer to = {out->bytes, out->capacity, out->size};
        left = ZSTD_decompressStream(context, &to, &in);
        bool stuck = to.pos < to.size && in.pos == in.size;
        out->size = to.pos;
        if (ZSTD_isError(left))
            error = FW_ERR_CORRUPT;
        else if (out->size > out->limit)
            error = FW_ERR_FULL;
        else if (left == 0 && in.pos == in.size)
            more = false;
        else if (left && stuck)
            error = FW_ERR_TRUNCATED;
    }
    ZSTD_freeDCtx(context);
    return error;
}

fw_error http_unpack(enum http_coding coding, struct span packed, size_t limit, uint8_t **bytes,
                     size_t *size)
{
    *bytes = NULL;
    *size = 0;
    if (coding != HTTP_CODED_GZIP && coding != HTTP_CODED_ZSTD)
        return FW_ERR_UNSUPPORTED;
    if (!packed.size)
        return FW_ERR_TRUNCATED;
    if (limit > SIZE_MAX / 2)
        limit = SIZE_MAX / 2;
    size_t first = packed.size < limit / 4 ? packed.size * 4 : limit + 1;
    struct output out = {.bytes = malloc(first), .capacity = first, .limit = limit};
    if (!out.bytes)
        return FW_ERR_MEMORY;
    fw_error error =
        coding == HTTP_CODED_GZIP ? unpack_gzip(packed, &out) : unpack_zstd(packed, &out);
    if (error) {
        free(out.bytes);
        return error;
    }
    *bytes = out.bytes;
    *size = out.size;
    return FW_OK;
}

uint8_t *http_pack(struct span bytes, size_t *size)
{
    if (bytes.size > UINT32_MAX)
        return NULL;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
    if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, GZIP_ONLY, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    uint8_t *out = malloc(bytes.size);
    z.next_out = out;
    z.avail_out = (uInt)bytes.size;
    int status = out ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
    *size = bytes.size - z.avail_out;
    deflateEnd(&z);
    if (status == Z_STREAM_END)
        return out;
    free(out);
    return NULL;
}
