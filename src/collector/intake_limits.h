/*
 * How many different versions, systems, devices, images, stacks... the reports of one project may
 * bring. Whoever has an app has its ingest key, and each of these is a row that stays: what comes
 * beyond the limit counts as "(other)", so that a flood costs what it sends and no more.
 *
 * The table `made` counts what each project brought first. A worker reads it once in a transaction,
 * and only when something new comes; workers at the same time do not see each other's, so a limit
 * may be passed by what they bring in one batch each.
 */
#ifndef COLLECTOR_INTAKE_LIMITS_H
#define COLLECTOR_INTAKE_LIMITS_H

#include "collector/db.h"

enum limit_of { /* made.kind */
                LIMIT_OS = 1,
                LIMIT_DEVICE,
                LIMIT_API, /* these three are as enum term_kind */
                LIMIT_VERSION,
                LIMIT_IMAGE,
                LIMIT_STACK,
                LIMIT_GROUP,
                LIMIT_NAME, /* rows of brought_name */
                LIMIT_SITE, /* places that call watched functions */
                LIMIT_COUNT
};

#define LIMITS_OTHER "(other)"

struct limits_project {
    int64_t project, before[LIMIT_COUNT], added[LIMIT_COUNT];
};

struct intake_limits { /* of one worker; all zero: empty */
    struct limits_project *projects;
    size_t count, capacity;
};

void limits_begin(struct intake_limits *limits); /* with each transaction */
/* Whether the project may bring one more. */
fw_error limits_room(struct intake_limits *limits, struct db_conn *conn, int64_t project,
                     enum limit_of of, bool *room, struct fw_failure *why);
/* One was made, after limits_room in this transaction. */
void limits_made(struct intake_limits *limits, int64_t project, enum limit_of of);
/* Last in the transaction, since others wait for these rows until it ends. */
fw_error limits_write(const struct intake_limits *limits, struct db_conn *conn,
                      struct fw_failure *why);
/* What people call a kind, and how many of it a project may bring. */
const char *limits_name(enum limit_of of, int64_t *most);
/* Four fifths of it. */
static inline bool limits_is_near(int64_t made, int64_t most)
{
    return made >= most / 5 * 4;
}
/* Whether some project is near a limit, as far as this process has seen; for /healthz, which waits
 * for nobody. Any thread. */
bool limits_any_near(void);
void limits_free(struct intake_limits *limits);

#endif
