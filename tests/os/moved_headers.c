/* Loaded by self_images_test.c, which moves its program headers into the room below. */
#define ROOM "room for headers"

__attribute__((aligned(16))) char moved_headers_room[4096] = ROOM;

__attribute__((visibility("default"))) void moved_headers_call(void (*function)(void));

__attribute__((noinline)) void moved_headers_call(void (*function)(void))
{
    volatile char on_stack[200];
    on_stack[0] = 1;
    function();
    on_stack[1] = on_stack[0];
}
