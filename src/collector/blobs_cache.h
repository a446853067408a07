/*
 * Copies of blobs on this machine: files of a folder that several processes share. What was not
 * used for longest goes when there are more bytes than wanted. A copy appears whole or not at all.
 * Thread-safe.
 */
#ifndef COLLECTOR_BLOBS_CACHE_H
#define COLLECTOR_BLOBS_CACHE_H

#include "framewalk/error.h"

#include <stdint.h>

struct blobs_cache;

/* Fetches the blob `key` into the file `fd`, which is empty. */
typedef fw_error (*blobs_fetch)(void *context, const char *key, int fd, struct fw_failure *why);

fw_error blobs_cache_open(const char *folder, uint64_t bytes, struct blobs_cache **cache,
                          struct fw_failure *why);
void blobs_cache_close(struct blobs_cache *cache); /* NULL is fine */
/* The copy, open for reading in *fd, which the caller closes; fetched when there is none, once
 * however many threads ask. */
fw_error blobs_cache_file(struct blobs_cache *cache, const char *key, blobs_fetch fetch,
                          void *context, int *fd, struct fw_failure *why);
/* The blob has changed. */
void blobs_cache_drop(struct blobs_cache *cache, const char *key);

#endif
