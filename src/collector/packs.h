/*
 * Where the bodies of reports are: first in inbox_body, then in a pack.
 *
 * A pack is a blob of bodies one behind the other, each as the inbox had it (zstd). It is written
 * when PACKS_BYTES are waiting, or when the oldest has waited for PACKS_WAIT_MS. The blob is there
 * before one transaction moves its reports to it, so a body is always in one place at least; a
 * crash in between leaves a blob that no row names, which the job "packs.sweep" removes later.
 *
 * report.pack is the pack, body_offset and body_size the compressed bytes in it. While pack is NULL
 * body_offset is inbox_body.seq; NULL there as well: the body is gone.
 */
#ifndef COLLECTOR_PACKS_H
#define COLLECTOR_PACKS_H

#include "collector/collector.h"
#include "collector/db.h"

enum { PACKS_KEY = 64 };
enum { PACKS_BYTES = 4 << 20, PACKS_WAIT_MS = 60 * 1000 };

struct packs_place { /* where a body is */
    uint8_t *packed; /* malloc'ed, when it is in the inbox; NULL: it is in a pack */
    char key[200];   /* of the pack */
    uint64_t offset;
    size_t size; /* packed */
    int64_t sum; /* of these bytes (damage.h); -1: of before there was one */
};

/* The place of the body of a row of `report`. FW_ERR_NOT_FOUND: it is gone. */
fw_error packs_find(struct db_conn *conn, int64_t report, struct packs_place *place,
                    struct fw_failure *why);
/* The body as it was sent, malloc'ed; ends the place. FW_ERR_CORRUPT, FW_ERR_TRUNCATED: it is
 * damaged. Call it without a connection: a blob store
 * that does not answer would hold that, too, and soon all of them. */
fw_error packs_fetch(struct collector *c, struct packs_place *place, uint8_t **body, size_t *size,
                     struct fw_failure *why);

/* zstd, as the inbox has it; malloc'ed. Thread-safe. */
fw_error packs_squeeze(struct span body, uint8_t **packed, size_t *size, struct fw_failure *why);
/* And back: FW_ERR_CORRUPT, also when there are more than `limit` bytes. */
fw_error packs_unsqueeze(struct span packed, size_t limit, uint8_t **body, size_t *size,
                         struct fw_failure *why);

/* A key for a new pack that no other has; FW_ERR_SYSTEM: no random numbers. */
fw_error packs_name(char key[PACKS_KEY], struct fw_failure *why);
/* Writes one pack when it is time for it. How many bodies went into it: 0, none. */
fw_error packs_write(struct collector *c, size_t *count, struct fw_failure *why);

#endif
