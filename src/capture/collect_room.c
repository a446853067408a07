/*
 * Dealing out the caller's memory for frames to stacks (collect.h).
 *
 * Invariant: frames are dealt from the front, so what a stack does not use is left for the next.
 */
#include "capture/collect.h"

#include <string.h>

struct fw_stack collect_room_stack(const struct collect_room *room,
                                   const struct collect_settings *settings)
{
    struct fw_stack stack = {
        .frames = room->frames, .capacity = settings->frames, .tail = settings->tail};
    if (room->left < stack.capacity) {
        stack.capacity = (uint32_t)room->left;
        stack.tail = stack.capacity / 4;
    }
    if (stack.capacity == 0) {
        stack.end = FW_END_UNAVAILABLE;
        stack.unavailable = FW_UNAVAILABLE_NO_ROOM;
    }
    return stack;
}

void collect_room_take(struct collect_room *room, const struct fw_stack *stack)
{
    room->frames += stack->count;
    room->left -= stack->count;
}

void collect_deal(struct collect_room *room, const struct fw_stack *from, struct fw_stack *to)
{
    *to = *from;
    to->frames = room->frames;
    to->capacity = room->left > UINT32_MAX ? UINT32_MAX : (uint32_t)room->left;
    if (from->count == 0)
        return;
    if (to->capacity == 0) {
        *to = (struct fw_stack){.end = FW_END_UNAVAILABLE, .unavailable = FW_UNAVAILABLE_NO_ROOM};
        return;
    }
    uint32_t head = from->head, tail = from->count - from->head;
    if (from->count > to->capacity) { /* the same shape, smaller: a quarter for the outermost */
        tail = to->capacity / 4;
        if (from->omitted && tail > from->count - from->head)
            tail = from->count - from->head;
        head = to->capacity - tail;
        if (from->omitted && head > from->head) {
            head = from->head;
            tail = to->capacity - head;
        }
        to->omitted += from->count - head - tail;
        if (tail == 0) {
            to->omitted = 0;
            to->end = FW_END_LIMIT;
        }
    }
    memcpy(room->frames, from->frames, head * sizeof *room->frames);
    memcpy(room->frames + head, from->frames + (from->count - tail), tail * sizeof *room->frames);
    to->head = head;
    to->capacity = to->count = head + tail;
    collect_room_take(room, to);
}
