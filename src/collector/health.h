/*
 * What does not work at the moment, for /healthz and the log. Whoever finds out notes it; two
 * threads ask the database and the blob store now and then, so that it is known without a request
 * and is known again when it works. Nobody who reads it waits for either.
 */
#ifndef COLLECTOR_HEALTH_H
#define COLLECTOR_HEALTH_H

#include "collector/collector.h"

#include <stddef.h>

enum health_of {
    HEALTH_DATABASE, /* it can be read */
    HEALTH_REPORTS,  /* reports are stored in it */
    HEALTH_STORE,    /* the blob store can be asked */
    HEALTH_PACKS,    /* bodies of reports can be moved to it */
    HEALTH_COUNT
};

/* c->health; needs c->db and c->blobs until health_stop. */
fw_error health_start(struct collector *c, struct fw_failure *why);
void health_stop(struct health *health); /* NULL is fine */
/* `why` NULL: it works. A change is said in the log, the details there alone. Any
 * thread; NULL for `health` is fine. */
void health_note(struct health *health, enum health_of of, const struct fw_failure *why);
/* What does not work, in words for anybody; NULL: all does. Never blocks for long. */
const char *health_trouble(struct health *health);
bool health_works(struct health *health, enum health_of of);

#endif
