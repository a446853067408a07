/*
 * Collecting the stacks of other threads of this process.
 *
 * collect.c (Linux) asks as many at once as there are slots, waits once for a batch, and looks into
 * /proc for those that do not answer. collect_mach.c (Apple) stops one after the other, or all
 * together, and walks copies of their stacks.
 */
#ifndef CAPTURE_COLLECT_H
#define CAPTURE_COLLECT_H

#include "framewalk/threads.h"

enum { COLLECT_FRAMES = 256 }; /* per thread, at the most */

struct collect_settings {
    uint32_t frames;     /* per thread, at most COLLECT_FRAMES */
    uint32_t tail;       /* < frames */
    uint64_t timeout_ns; /* for one thread's answer */
    bool at_once;        /* stop all of them together */
};

/* Memory that is dealt out to stacks as they come. */
struct collect_room {
    struct fw_frame *frames;
    size_t left;
};

/* FW_ERR_UNSUPPORTED where threads cannot be asked in the way that `settings` wants. */
fw_error collect_check(const struct collect_settings *settings);

/* Fills `held_ns` and `stack` of `count` threads, whose `id` is set and kept; leaves out those with
 * `is_self`. FW_ERR_UNSUPPORTED when there is no way to ask; else every stack is there or says why
 * not. No allocation of malloc's, no lock of libc's. */
fw_error collect_threads(struct fw_thread *threads, size_t count,
                         const struct collect_settings *settings, struct collect_room *room);

/* A stack to be filled in place: as many frames as `settings` asks for, or as the room has left,
 * with a quarter of these for the outermost. Unavailable (FW_UNAVAILABLE_NO_ROOM) when that is
 * none. collect_room_take then takes the filled ones out of the room. */
struct fw_stack collect_room_stack(const struct collect_room *room,
                                   const struct collect_settings *settings);
void collect_room_take(struct collect_room *room, const struct fw_stack *stack);

/* Puts `from`, filled elsewhere, in the room, shortened to what is left of it;
 * FW_UNAVAILABLE_NO_ROOM when that is nothing. */
void collect_deal(struct collect_room *room, const struct fw_stack *from, struct fw_stack *to);

#endif
