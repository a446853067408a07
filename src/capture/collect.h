/*
 * Collecting the stacks of other threads of this process: asks as many at once as there are slots,
 * waits once for a batch, and looks into /proc for those that do not answer.
 */
#ifndef CAPTURE_COLLECT_H
#define CAPTURE_COLLECT_H

#include "framewalk/threads.h"

struct collect_settings {
    uint32_t frames;     /* per thread, at most SLOT_FRAMES */
    uint32_t tail;       /* < frames */
    uint64_t timeout_ns; /* for one thread's answer */
};

/* Memory that is dealt out to stacks as they come. */
struct collect_room {
    struct fw_frame *frames;
    size_t left;
};

/* Fills `held_ns` and `stack` of `count` threads, whose `id` is set; leaves out those with
 * `is_self`. FW_ERR_UNSUPPORTED when there is no signal to ask with; else every stack is there or
 * says why not. No allocation, no lock. */
fw_error collect_threads(struct fw_thread *threads, size_t count,
                         const struct collect_settings *settings, struct collect_room *room);

/* Puts `from` in the room, shortened to what is left of it; FW_UNAVAILABLE_NO_ROOM when that is
 * nothing. */
void collect_deal(struct collect_room *room, const struct fw_stack *from, struct fw_stack *to);

#endif
