/*
 * The blob store: bytes under a key, written once, read often. Files below a folder, or an
 * S3-compatible object store.
 *
 * Keys are made by us, of [a-z0-9._/-], relative, no part empty or beginning with a dot; anything
 * else is refused with FW_ERR_ARGUMENT. A blob appears whole or not at all, and is durable when put
 * returns. Putting the same key again replaces it. Thread-safe.
 *
 *     packs/YYYYMMDD/ID.pack              bodies of reports (docs/collector.md)
 *     symbols/ID[0:2]/ID[2:]/KIND-SHA256  debug files as they came, KIND executable or debuginfo
 *     symbols/ID[0:2]/ID[2:]/ARCH-vN.symmap   symbol maps
 *     uploads/ID/OFFSET                   parts of an upload that is not whole yet
 *
 * A store that cannot be reached in time: FW_ERR_TIMEOUT; full: FW_ERR_FULL; read-only:
 * FW_ERR_PERMISSION; no such key: FW_ERR_NOT_FOUND. All but the last are worth trying again.
 */
#ifndef COLLECTOR_BLOBS_H
#define COLLECTOR_BLOBS_H

#include "base/reader.h"
#include "framewalk/error.h"

struct blobs;

/* "file:FOLDER", or "s3://BUCKET/PREFIX?endpoint=URL&region=R" with AWS_ACCESS_KEY_ID and
 * AWS_SECRET_ACCESS_KEY from the environment. Copies of what blobs_file hands out are kept in
 * `cache`, up to `cache_bytes` (unused for stores that are files). */
fw_error blobs_open(const char *url, const char *cache, uint64_t cache_bytes, struct blobs **blobs,
                    struct fw_failure *why);
void blobs_close(struct blobs *blobs); /* NULL is fine */

fw_error blobs_put(struct blobs *blobs, const char *key, struct span bytes, struct fw_failure *why);
/* Takes the file over when it can be renamed, else copies it; `path` is gone afterwards, but still
 * there after a failure. */
fw_error blobs_put_file(struct blobs *blobs, const char *key, const char *path,
                        struct fw_failure *why);
/* `size` bytes from `offset` (0: all the rest) into malloc'ed memory. FW_ERR_TRUNCATED: the blob
 * has fewer. */
fw_error blobs_get(struct blobs *blobs, const char *key, uint64_t offset, uint64_t size,
                   uint8_t **bytes, size_t *got, struct fw_failure *why);
/* A file of this machine with the blob's contents, open for reading and there to be mapped. The
 * descriptor is the caller's. */
fw_error blobs_file(struct blobs *blobs, const char *key, int *fd, struct fw_failure *why);
/* Removes this machine's copy of a blob that lies elsewhere: blobs_file fetches it anew. False:
 * there are no copies, the store is of this machine. */
bool blobs_forget_copy(struct blobs *blobs, const char *key);
fw_error blobs_size(struct blobs *blobs, const char *key, uint64_t *size, struct fw_failure *why);
/* Of a key that is not there: FW_OK. */
fw_error blobs_remove(struct blobs *blobs, const char *key, struct fw_failure *why);
/* Is given one blob, with its bytes and when it changed (wall clock); false: no more. */
typedef bool (*blobs_each)(void *context, const char *key, uint64_t size, uint64_t changed_ms);
/* All keys that begin with `prefix`, in any order; stops when `each` returns false. */
fw_error blobs_list(struct blobs *blobs, const char *prefix, blobs_each each, void *context,
                    struct fw_failure *why);
/* Free bytes for further blobs; UINT64_MAX when that cannot be known. */
uint64_t blobs_free(struct blobs *blobs);
/* Removes what processes that were killed had begun to write: an hour ago or before (files), or a
 * day (S3, where other servers may be writing still). */
void blobs_tidy(struct blobs *blobs);
/* Which share of the disk that holds them is in use, 0 to 1; 0 when that cannot be known. */
double blobs_used(struct blobs *blobs);
/* Until the descriptor is closed, or its process ends, nobody removes a blob (FW_ERR_TIMEOUT).
 * FW_ERR_UNSUPPORTED: not with this store. */
fw_error blobs_hold(struct blobs *blobs, int *fd, struct fw_failure *why);

#endif
