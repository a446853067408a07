/*
 * What the files intake*.c share: the threads and what wakes them.
 *
 *     http threads --intake_add--> queue --committer--> inbox --workers--> report and sums
 *                                                          '--packer--> packs
 */
#ifndef COLLECTOR_INTAKE_INNER_H
#define COLLECTOR_INTAKE_INNER_H

#include "collector/install.h"
#include "collector/intake.h"

#include <pthread.h>

enum {
    INTAKE_LEASED = 64,             /* reports that a worker takes at once */
    INTAKE_LEASED_BYTES = 16 << 20, /* and their bytes, unpacked */
    INTAKE_ROWS = 20000,            /* stacks and calls of one transaction, about */
    INTAKE_LEASE_MS = 60 * 1000,
    INTAKE_ATTEMPTS = 5,
    INTAKE_POLL_MS = 1000,  /* how often workers look for what other servers took in */
    INTAKE_GATHER_MS = 250, /* that reports gather before a worker takes them */
    INTAKE_WORKERS = 16,
};

struct intake_request { /* one call of intake_add */
    struct intake_request *next;
    struct intake_item *items;
    size_t count;
    struct span *packed; /* of each item; malloc'ed */
    uint64_t bytes;
    void (*told)(void *context);
    void *context;
};

struct intake {
    struct collector *c;
    char salt[INSTALL_SALT + 1];
    pthread_mutex_t lock;
    pthread_cond_t queued;  /* for the committer; both on the monotonic clock */
    pthread_cond_t changed; /* `committed` or `stopping` */
    struct intake_request *first, **last;
    uint64_t bytes; /* of the queue */
    size_t items;
    uint64_t committed; /* counts up: there is something in the inbox */
    unsigned askers;    /* who wait for what is in the inbox (intake_await) */
    bool stopping;      /* nothing more comes in, nothing more is processed */
    pthread_t committer, packer, workers[INTAKE_WORKERS];
    unsigned worker_count;
    bool has_committer, has_packer;
};

bool intake_stopping(struct intake *in);
/* Until `ms` have passed or the intake stops. */
void intake_sleep(struct intake *in, unsigned ms);
/* The same, or until `committed` is another than *seen, which is brought up to date. */
void intake_wait(struct intake *in, unsigned ms, uint64_t *seen);
void *intake_worker(void *intake); /* the thread of one worker */

#endif
