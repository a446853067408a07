/* Which jobs there are. */
#ifndef COLLECTOR_JOB_KINDS_H
#define COLLECTOR_JOB_KINDS_H

#include "collector/jobs.h"

enum { JOB_KINDS_MAX = 32 };
size_t job_kinds_all(struct job_kind *all, size_t capacity);

#endif
