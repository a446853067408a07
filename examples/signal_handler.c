/*
 * The stack of a thread that a signal interrupted: captured in the handler, printed afterwards,
 * because printing is not allowed in a handler.
 */
#include <framewalk/framewalk.h>

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static struct fw_frame frames[64];
static struct fw_stack stack = {.frames = frames, .capacity = 64};
static volatile sig_atomic_t captured;

static void on_timer(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    if (!captured)
        fw_capture_context(&stack, ucontext, 0);
    captured = 1;
}

static __attribute__((noinline)) unsigned busy(unsigned n)
{
    while (!captured)
        n = n * 1664525 + 1013904223;
    return n;
}

int main(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_timer;
    sigaction(SIGPROF, &action, NULL);
    const struct itimerval soon = {.it_value = {0, 10000}};
    setitimer(ITIMER_PROF, &soon, NULL);
    unsigned result = busy(1);

    struct fw_names *names;
    if (fw_names_create(&names) != FW_OK)
        return 1;
    printf("interrupted while the number was %u, in:\n", result);
    for (uint32_t i = 0; i < stack.count; i++) {
        char text[256];
        fw_names_format(names, &frames[i], text, sizeof text);
        printf("#%-2u %s %s\n", (unsigned)i, frames[i].kind == FW_FRAME_EXACT ? "at" : "  ", text);
    }
    fw_names_destroy(names);
    return 0;
}
