/*
 * Looking at everything that is stored, whether it is still what came: for the job "scrub" and for
 * `serve --check`. Reads, and changes nothing. What it finds out it tells, thing by thing.
 */
#ifndef COLLECTOR_STORE_CHECK_H
#define COLLECTOR_STORE_CHECK_H

#include "collector/blobs.h"
#include "collector/damage.h"

struct store_checked { /* a body, a debug file, or a map */
    enum damage_kind kind;
    int64_t row;
    const char *key; /* of the blob that it is in */
    char name[160];  /* the report's id, or the file's name */
    bool whole;      /* else `message` says what is wrong */
    bool missing;    /* its blob is not there */
    const char *message;
    int64_t sum; /* of a body that had none and is whole; else -1 */
};

struct store_check {
    struct db *db;
    struct blobs *blobs;
    /* No connection is held. Another answer than FW_OK ends the check with it. */
    fw_error (*tell)(void *context, const struct store_checked *thing, struct fw_failure *why);
    void *context;
    uint64_t bytes; /* read so far */
};

/* The bodies of all reports that are in this pack. */
fw_error store_check_pack(struct store_check *s, int64_t pack, const char *key,
                          struct fw_failure *why);
/* A row of symbol_file, its map included. One that is not there any more is nothing. */
fw_error store_check_file(struct store_check *s, int64_t row, struct fw_failure *why);

#endif
