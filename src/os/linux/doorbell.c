/*
 * Choosing, installing and sending the capture signal: signal(7), sigaction(2),
 * rt_sigqueueinfo(2).
 *
 * Invariant: only a signal whose disposition is the default is ever taken, and none that libc keeps
 * for itself (those below SIGRTMIN). sigaction of libc is used for it takes no lock here and knows
 * the restorer of the architecture.
 */
#include "os/linux/doorbell.h"

#include "os/linux/sys.h"

#include <errno.h>

static _Atomic int current;
static _Atomic int32_t process;
static doorbell_answer *_Atomic answerer;

enum { NOTED = 1024 }; /* threads, by their id's low bits */
static _Atomic fw_thread_id noted[NOTED];

int doorbell_number(void)
{
    return current;
}

void doorbell_set_process(int32_t pid)
{
    if (process != pid) /* a load first: the line is shared by all handlers */
        process = pid;
}

/* Somebody else's signal of the same number carries another code or sender and is left alone. */
static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    if (info->si_code != SI_QUEUE || info->si_pid != process)
        return;
    doorbell_answer *answer = answerer;
    if (answer)
        answer((uint32_t)info->si_value.sival_int, ucontext);
}

static bool leads_to_us(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

bool doorbell_is_ours(int number)
{
    struct sigaction now;
    return number > 0 && sigaction(number, NULL, &now) == 0 && leads_to_us(&now);
}

/* Takes `number` when nobody handles it. */
static bool install(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0)
        return false;
    if (leads_to_us(&now))
        return true;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return false;

    /* No other handler runs on top of ours, for the thread should be held as briefly as can be; a
     * fault is left to the handlers of the program. */
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    ours.sa_sigaction = on_signal;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&ours.sa_mask, faults[i]);
    if (sigaction(number, &ours, &now) != 0)
        return false;
    bool taken = !leads_to_us(&now) && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL);
    if (taken) /* somebody was faster between the two calls */
        sigaction(number, &now, NULL);
    return !taken;
}

fw_error doorbell_choose(doorbell_answer *answer, int number)
{
    if (number < SIGRTMIN || number > SIGRTMAX)
        return FW_ERR_ARGUMENT;
    answerer = answer;
    if (!install(number))
        return FW_ERR_ARGUMENT;
    current = number;
    return FW_OK;
}

/* From the top, because programs count up from SIGRTMIN; the last two are left to tools that run
 * the program (qemu-user has no use of them for it, valgrind takes the last). */
fw_error doorbell_ensure(doorbell_answer *answer, int *number)
{
    int was = current;
    if (doorbell_is_ours(was)) {
        *number = was;
        return FW_OK;
    }
    answerer = answer;
    for (int candidate = SIGRTMAX - 2; candidate >= SIGRTMIN; candidate--) {
        if (!install(candidate))
            continue;
        *number = candidate;
        current = candidate;
        return FW_OK;
    }
    return FW_ERR_UNSUPPORTED;
}

long doorbell_ring(int32_t pid, fw_thread_id id, int number, uint32_t hint)
{
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_pid = pid;
    info.si_value.sival_int = (int)hint;
    return sys_rt_tgsigqueueinfo(pid, id, number, &info);
}

void doorbell_note_waiting(fw_thread_id id, bool waiting)
{
    noted[(uint32_t)id % NOTED] = waiting ? id : 0;
}

bool doorbell_may_wait(fw_thread_id id)
{
    return noted[(uint32_t)id % NOTED] == id;
}
