/*
 * What the kernel allows only a process of one thread: unshare(CLONE_NEWUSER) and its like
 * (unshare(2): EINVAL), setns() into a user, mount or time namespace (setns(2): EINVAL, EUSERS).
 * Refused for our threads' sake, it is asked again without them.
 *
 * It is asked first with them, since most calls need no more, and a refused one has changed
 * nothing. Where the program has other threads of its own, the refusal is the program's.
 *
 * And a filter of system calls for all threads (seccomp(2), SECCOMP_FILTER_FLAG_TSYNC): ours would
 * be killed by it, or the program with them. They end before, and do not come back.
 */
#include "watch/agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

typedef int unshare_call(int);
typedef int setns_call(int, int);
static unshare_call *next_unshare;
static setns_call *next_setns;

__attribute__((constructor)) static void find_originals(void)
{
    next_unshare = (unshare_call *)dlsym(RTLD_NEXT, "unshare");
    next_setns = (setns_call *)dlsym(RTLD_NEXT, "setns");
}

/* Keeps errno. */
static bool is_refused(int result)
{
    const int reason = errno;
    const bool refused = result != 0 && (reason == EINVAL || reason == EUSERS) && agent_pause();
    errno = reason;
    return refused;
}

static int resumed(int result)
{
    const int reason = errno;
    agent_resume();
    errno = reason;
    return result;
}

AGENT_EXPORT int unshare(int flags)
{
    if (!next_unshare)
        find_originals();
    const int result = next_unshare(flags);
    return is_refused(result) ? resumed(next_unshare(flags)) : result;
}

AGENT_EXPORT int setns(int fd, int type)
{
    if (!next_setns)
        find_originals();
    const int result = next_setns(fd, type);
    return is_refused(result) ? resumed(next_setns(fd, type)) : result;
}

#if defined(__x86_64__) || defined(__aarch64__)

/* Of syscall.S: where it goes on to. */
extern void *agent_next_syscall __attribute__((visibility("hidden")));
void agent_meet_syscall(long number, long a, unsigned long b) __attribute__((visibility("hidden")));

/* The first call, and those of which we want to know. */
void agent_meet_syscall(long number, long a, unsigned long b)
{
    if (!agent_next_syscall)
        agent_next_syscall = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER && b & SECCOMP_FILTER_FLAG_TSYNC)
        agent_retire("it forbids system calls to all its threads");
}

#endif
