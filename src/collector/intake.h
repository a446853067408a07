/*
 * Taking reports in, and what becomes of them.
 *
 * intake_add waits in a queue with others until one thread has committed them all in one
 * transaction (group commit: at most INTAKE_BATCH reports or INTAKE_WAIT_MS), then each is told its
 * verdict. Workers take what is waiting in the inbox, read it, and write rows and sums in one
 * transaction that also removes it from the inbox: a report is in the inbox or in `report`, never
 * in both or neither.
 */
#ifndef COLLECTOR_INTAKE_H
#define COLLECTOR_INTAKE_H

#include "base/reader.h"
#include "collector/collector.h"

enum {
    INTAKE_BATCH = 500,
    INTAKE_WAIT_MS = 10,
    INTAKE_QUEUE_BYTES = 64 << 20,   /* packed bodies that wait for their commit */
    INTAKE_REPORT_BYTES = 2 << 20,   /* of one report of ours, unpacked */
    INTAKE_FOREIGN_BYTES = 20 << 20, /* of another tool's */
    INTAKE_REQUEST_BYTES = 21 << 20, /* of one request, unpacked */
};

enum intake_verdict { INTAKE_ACCEPTED, INTAKE_DUPLICATE, INTAKE_REFUSED, INTAKE_RETRY };

struct intake_item {
    int64_t project;
    uint8_t id[16];
    struct span body;            /* as it was sent, unpacked; valid until `told` is called */
    enum intake_verdict verdict; /* INTAKE_ACCEPTED before: it is to be stored; others stay */
    bool full;                   /* INTAKE_RETRY because there is no room on the server */
    char reason[128];            /* printable ASCII */
};

struct intake; /* thread-safe */
/* Starts the threads, `workers` of them workers; hold no connection. FW_ERR_MEMORY, FW_ERR_SYSTEM,
 * or what the database says (db.h). */
fw_error intake_start(struct collector *c, unsigned workers, struct intake **intake,
                      struct fw_failure *why);
/* Commits what was added, processes no more, frees. */
void intake_stop(struct intake *intake);
/* Packs the bodies on the caller's thread, and calls `told` from another one once all items have a
 * verdict. False: the queue is full (503), nothing was taken. */
bool intake_add(struct intake *intake, struct intake_item *items, size_t count,
                void (*told)(void *context), void *context);
/* How many reports of the project that were acknowledged before this call are not processed yet,
 * after up to wait_ms for them; without waiting when others wait already. Hold no connection. */
fw_error intake_await(struct intake *intake, int64_t project, unsigned wait_ms, int64_t *waiting,
                      struct fw_failure *why);
/* What hashes of installations and devices are made with (install.h). */
const char *intake_salt(const struct intake *intake);

#endif
