/*
 * Folding: threads that stand at the same place become one group, and groups are put in the order
 * in which somebody with a hung program wants to read them: the thread that crashed, the main
 * thread, threads that run or are stuck in the kernel, then the biggest groups.
 */
#ifndef CLI_FOLD_H
#define CLI_FOLD_H

#include "cli/dump.h"

struct fold_group {
    const struct dump_thread **threads; /* by id, ascending */
    size_t count;
};

struct fold {
    const struct dump_thread **order;
    struct fold_group *groups;
    size_t group_count;
};

/* `separate`: a group for each thread. False when out of memory. */
bool fold_threads(const struct dump *dump, bool separate, struct fold *fold);
void fold_free(struct fold *fold);

/* The names of a group: one name, a common beginning as "worker-*", or "" when they have nothing
 * in common. Cleaned for display. */
void fold_name(const struct fold_group *group, char *text, size_t size);

#endif
