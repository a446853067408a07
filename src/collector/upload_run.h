/*
 * One run of the job "convert" (upload_job.c), for the files that it is made of.
 */
#ifndef COLLECTOR_UPLOAD_RUN_H
#define COLLECTOR_UPLOAD_RUN_H

#include "collector/symbol_store.h"
#include "collector/uploads.h"
#include "framewalk/error.h"

#include <jansson.h>

struct upload_found { /* a slice that the child told of */
    struct symbol_file file;
    unsigned number, map; /* of the child's files */
};

struct upload_run {
    struct collector *c;
    const struct job *job;
    char id[UPLOAD_ID_DIGITS + 1], name[256], by[64];
    int64_t project; /* whose its files will be; 0: shared */
    uint64_t size;
    uint8_t sha256[32];
    bool has_sha256;
    char folder[512]; /* of this run */
    int input, output;
    struct upload_found *found;
    size_t count, capacity;
    json_t *told;         /* for the upload's result */
    uint64_t done, total; /* progress of the file in hand */
    char (*old)[320];     /* blobs that nobody names after the commit */
    size_t old_count, old_capacity;
    struct fw_failure *why;
};

/* By enum debug_file_kind. */
extern const char *const upload_kind_names[];
enum { UPLOAD_KINDS = 5 };

/* Lets the child read the upload; what it found is in run->found afterwards. upload_child.c */
fw_error upload_convert(struct upload_run *run);
/* What was found to the blob store, file number `index` of it. upload_store.c */
fw_error upload_put_found(struct upload_run *run, size_t index);
/* What became of the upload, with the rows of all that was found, in one transaction. */
fw_error upload_commit(struct upload_run *run, enum upload_state state, const char *message);

#endif
