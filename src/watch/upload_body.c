/*
 * The body of a request (docs/upload.md): each report behind a line `ID SIZE`, packed with gzip as
 * a whole when that makes it smaller.
 */
#include "watch/upload_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LINE_MAX_SIZE = UPLOAD_ID_SIZE + 24, GZIP_WINDOW = 15 + 16, LEVEL = 6 };

static bool pack(const uint8_t *bytes, size_t size, struct upload_body *body)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    uLong bound = deflateBound(&stream, (uLong)size);
    body->bytes = bound < size ? NULL : malloc(bound);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = body->bytes;
    stream.avail_out = (uInt)bound;
    bool good = body->bytes && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    body->size = stream.total_out;
    deflateEnd(&stream);
    body->packed = good && body->size < size;
    if (!body->packed) {
        free(body->bytes);
        body->bytes = NULL;
    }
    return body->packed;
}

fw_error upload_body_make(struct upload_item *const *items, size_t count, bool packed,
                          struct upload_body *body)
{
    *body = (struct upload_body){0};
    uint64_t most = 0; /* the caller's batches are far below 4 GB */
    for (size_t i = 0; i < count; i++)
        most += items[i]->size + LINE_MAX_SIZE;
    uint8_t *bytes = most < UINT32_MAX / 2 ? malloc((size_t)most) : NULL;
    if (!bytes)
        return FW_ERR_MEMORY;
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf((char *)bytes + size, LINE_MAX_SIZE, "%s %llu\n", items[i]->id,
                                 (unsigned long long)items[i]->size);
        memcpy(bytes + size, items[i]->bytes, (size_t)items[i]->size);
        size += (size_t)items[i]->size;
    }
    if (packed && pack(bytes, size, body)) {
        free(bytes);
        return FW_OK;
    }
    *body = (struct upload_body){.bytes = bytes, .size = size};
    return FW_OK;
}
