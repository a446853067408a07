/* What blobs.c needs of a kind of store. Only blobs*.c include this; everybody else blobs.h. */
#ifndef COLLECTOR_BLOBS_DRIVER_H
#define COLLECTOR_BLOBS_DRIVER_H

#include "collector/blobs.h"

enum { BLOBS_KEY_MAX = 512 }; /* bytes of a key */

/* The functions of blobs.h; keys are checked before. */
struct blobs_driver {
    void (*close)(struct blobs *blobs);
    fw_error (*put)(struct blobs *blobs, const char *key, struct span bytes,
                    struct fw_failure *why);
    fw_error (*put_file)(struct blobs *blobs, const char *key, const char *path,
                         struct fw_failure *why);
    fw_error (*get)(struct blobs *blobs, const char *key, uint64_t offset, uint64_t size,
                    uint8_t **bytes, size_t *got, struct fw_failure *why);
    fw_error (*file)(struct blobs *blobs, const char *key, int *fd, struct fw_failure *why);
    fw_error (*size)(struct blobs *blobs, const char *key, uint64_t *size, struct fw_failure *why);
    fw_error (*remove)(struct blobs *blobs, const char *key, struct fw_failure *why);
    fw_error (*list)(struct blobs *blobs, const char *prefix, blobs_each each, void *context,
                     struct fw_failure *why);
    uint64_t (*free)(struct blobs *blobs);
    bool (*forget_copy)(struct blobs *blobs, const char *key); /* NULL: there are no copies */
    void (*tidy)(struct blobs *blobs);                         /* NULL: nothing is left */
    double (*used)(struct blobs *blobs);
    fw_error (*hold)(struct blobs *blobs, int *fd, struct fw_failure *why);
};

struct blobs { /* every driver's own begins with it */
    const struct blobs_driver *driver;
};

fw_error blobs_files_open(const char *folder, struct blobs **blobs, struct fw_failure *why);
fw_error blobs_s3_open(const char *url, const char *cache, uint64_t cache_bytes,
                       struct blobs **blobs, struct fw_failure *why);

#endif
