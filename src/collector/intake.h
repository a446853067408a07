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

enum { INTAKE_BATCH = 500, INTAKE_WAIT_MS = 10 };

enum intake_verdict { INTAKE_ACCEPTED, INTAKE_DUPLICATE, INTAKE_REFUSED, INTAKE_RETRY };

struct intake_item {
    int64_t project;
    uint8_t id[16];
    struct span body; /* as it was sent, unpacked; valid until `told` is called */
    enum intake_verdict verdict;
    char reason[128];
};

struct intake;
fw_error intake_start(struct collector *c, unsigned workers, struct intake **intake,
                      struct fw_failure *why);
/* Commits what was added, processes no more, frees. */
void intake_stop(struct intake *intake);
/* Calls `told` from another thread once all items have a verdict. False: the queue is full
 * (503), nothing was taken. */
bool intake_add(struct intake *intake, struct intake_item *items, size_t count,
                void (*told)(void *context), void *context);
/* For /metrics and tests: reports accepted and not processed yet. */
uint64_t intake_waiting(struct intake *intake);

#endif
