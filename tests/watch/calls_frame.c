/* Two libraries with the same code at the same places, but for the size of a frame. */
#ifndef FRAME_ROOM
#define FRAME_ROOM 400
#endif

void frame_calls(void (*back)(void *context), void *context);
void frame_calls(void (*back)(void *context), void *context)
{
    volatile char room[FRAME_ROOM];
    room[FRAME_ROOM - 1] = 1;
    back(context);
    room[0] = room[FRAME_ROOM - 1];
}
