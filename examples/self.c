/* The stack of the calling thread, with names. */
#include <framewalk/framewalk.h>

#include <stdio.h>

static struct fw_names *names;

static __attribute__((noinline)) void where_am_i(void)
{
    struct fw_frame frames[64];
    struct fw_stack stack = {.frames = frames, .capacity = 64};
    fw_capture(&stack, 0);
    for (uint32_t i = 0; i < stack.count; i++) {
        char text[256];
        fw_names_format(names, &frames[i], text, sizeof text);
        printf("#%-2u %s\n", (unsigned)i, text);
    }
    printf("ended: %s\n", fw_end_text((fw_end)stack.end));
}

static __attribute__((noinline)) void work(int depth)
{
    if (depth > 0)
        work(depth - 1);
    else
        where_am_i();
    __asm__ volatile(""); /* the calls above are not the last thing done: they stay calls */
}

int main(void)
{
    if (fw_names_create(&names) != FW_OK)
        return 1;
    work(3);
    fw_names_destroy(names);
    return 0;
}
