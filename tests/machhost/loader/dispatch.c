/*
 * As much of libdispatch as there is to see of it from outside: queues with a label, and which one
 * a thread serves. The main queue lies in libSystem's data (system.S); a queue's label is at the
 * same offset in all.
 */
#include "internal.h"

#include <stdlib.h>

enum { QUEUE_WORDS = 16, QUEUE_LABEL = 9 };

const char *shim_dispatch_queue_get_label(const char *const *queue)
{
    return queue[QUEUE_LABEL] ? queue[QUEUE_LABEL] : "";
}

void *shim_machhost_queue(const char *label)
{
    const char **queue = calloc(QUEUE_WORDS, sizeof(*queue));
    if (queue)
        queue[QUEUE_LABEL] = label;
    return queue;
}

void shim_machhost_set_queue(void *queue)
{
    thread_self()->queue = queue;
}
