/*
 * What the agent tells `framewalk run` besides reports: a small file, PID.status, that both map.
 *
 * Written by plain stores into shared memory: it is as it was last, however the process ended, and
 * no descriptor stays open that a program could close. Its blocks exist before it is mapped (a full
 * disk cannot fault). Whoever reads it trusts nothing in it: the program could have written it.
 */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include "framewalk/calls.h"
#include "framewalk/hang.h"

enum {
    STATUS_MAGIC = 0x31535746, /* "FWS1" */
    STATUS_PROGRAM = 256,
    STATUS_FAILURE = 192,
    STATUS_API_NAME = 64,
    STATUS_VETOES = 8,
};

/* In front of ASAN_OPTIONS. AddressSanitizer's own library wants to come first, for malloc: the
 * agent defines no function of its but in front of it, and goes on to it. */
#define AGENT_ASAN_OPTION "verify_asan_link_order=0"

enum status_state {
    STATUS_LOADED = 1, /* the agent is in the program, and no wait has come */
    STATUS_WATCHING,   /* the monitor runs */
    STATUS_FAILED,     /* it could not be started: `failure` */
    STATUS_ENDED,      /* the program ended in order, and all was written */
};

enum status_unfit { STATUS_UNFIT_STATIC = 1, STATUS_UNFIT_LOADER, STATUS_UNFIT_CLASS };

struct status_api { /* struct fw_calls_api */
    char name[STATUS_API_NAME];
    uint64_t calls, counted;
    uint32_t pointers, inside;
    uint8_t found, refused, reserved[6];
};

struct status_hangs { /* of struct fw_hang_totals */
    uint64_t hangs, severe, hang_ns, longest_ns, annealed, capped, samples;
    uint64_t unwritten;             /* reports of any kind for which the folder had no place */
    uint64_t vetoed[STATUS_VETOES]; /* by enum fw_hang_veto */
};

struct status {
    uint32_t magic; /* STATUS_MAGIC, last written */
    uint32_t size;  /* sizeof(struct status) */
    uint32_t pid, parent;
    uint32_t state;   /* enum status_state */
    uint32_t settled; /* a loop was recognised */
    uint64_t started_ms;
    uint64_t idle_waits;   /* of the loop */
    uint64_t turns;        /* the loop came round without waiting */
    uint64_t inside_waits; /* waits inside a turn */
    char program[STATUS_PROGRAM];
    char failure[STATUS_FAILURE];
    struct status_hangs hangs; /* as of the last hang, or the end */
    uint32_t api_count;
    uint32_t forks;     /* children made by fork() */
    uint64_t left_ms;   /* when the process became another program; 0: it did not */
    uint32_t unfit;     /* programs that were executed without the agent, which did not fit */
    uint32_t unfit_why; /* enum status_unfit of the last one */
    char unfit_program[STATUS_PROGRAM];
    struct status_api apis[FW_CALLS_NAMES];
};

/* A 32-bit agent writes it, and the 64-bit command reads it. */
_Static_assert(sizeof(struct status) == 24 + 4 * 8 + 2 * STATUS_PROGRAM + STATUS_FAILURE +
                                            sizeof(struct status_hangs) + 24 +
                                            FW_CALLS_NAMES * sizeof(struct status_api),
               "no padding");
_Static_assert(sizeof(struct status_api) == 96 && sizeof(struct status_hangs) == 128, "no padding");
_Static_assert((int)FW_HANG_VETOES <= (int)STATUS_VETOES, "room for all");

#endif
