/*
 * Content-Encoding of bodies: gzip (RFC 1952) and zstd (RFC 8878).
 *
 * What comes out is counted, never what the sender says that it will be: memory and time are
 * bounded by `limit`.
 */
#ifndef COLLECTOR_HTTP_UNPACK_H
#define COLLECTOR_HTTP_UNPACK_H

#include "base/reader.h"
#include "framewalk/error.h"

enum http_coding { HTTP_IDENTITY, HTTP_CODED_GZIP, HTTP_CODED_ZSTD, HTTP_CODED_UNKNOWN };

/* Of a Content-Encoding header; NULL: identity. */
enum http_coding http_coding_of(const char *header);
/* malloc'ed memory, the caller's. FW_ERR_FULL: more than `limit` bytes come out. FW_ERR_CORRUPT,
 * FW_ERR_TRUNCATED: of the packed bytes. */
fw_error http_unpack(enum http_coding coding, struct span packed, size_t limit, uint8_t **bytes,
                     size_t *size);
/* gzip of a reply; NULL when that makes it no smaller or memory ran out. */
uint8_t *http_pack(struct span bytes, size_t *size);

#endif
