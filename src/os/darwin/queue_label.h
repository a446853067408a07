/* The label of the dispatch queue that a thread serves. Not async-signal-safe; never while a thread
 * is suspended. */
#ifndef OS_DARWIN_QUEUE_LABEL_H
#define OS_DARWIN_QUEUE_LABEL_H

#include <stddef.h>
#include <stdint.h>

/* `place` is where the thread keeps its current queue: thread_identifier_info.dispatch_qaddr, 0
 * when it has none. `label` becomes "" when there is no queue or no label. */
void queue_label_read(uintptr_t place, char *label, size_t size);

#endif
