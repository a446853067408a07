/*
 * See own_threads.h. glibc's count is __nptl_nthreads, an unsigned int that it exports for
 * debuggers (libthread_db reads it since 2003) and that pthread_create() and the end of a thread
 * change atomically. Where it is not exported (glibc before 2.34, other libcs), libc counts us, and
 * what remains is the second way: the last of our threads that returns runs exit(0).
 */
#include "watch/own_threads.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/linux/sys.h"
#include "os/linux/tasks.h"

#if !defined(__GLIBC_PREREQ) /* musl */
#define __GLIBC_PREREQ(major, minor) 0
#endif

#if __GLIBC_PREREQ(2, 34)
#include <dlfcn.h>

/* Looked up when we are loaded: dlsym() waits for the loader's lock, and a thread of ours must
 * begin while another one hangs with it. */
static _Atomic(unsigned) *_Atomic count_of_libc;
static atomic_bool looked;

static __attribute__((constructor)) void find_libc_count(void)
{
    atomic_store(&count_of_libc, (_Atomic(unsigned) *)dlsym(RTLD_DEFAULT, "__nptl_nthreads"));
    atomic_store(&looked, true);
}

static _Atomic(unsigned) *libc_count(void)
{
    if (!atomic_load(&looked)) /* a thread that another constructor started */
        find_libc_count();
    return atomic_load(&count_of_libc);
}
#else
static _Atomic(unsigned) *libc_count(void)
{
    return NULL;
}
#endif

enum {
    MOST = 32,    /* one more would pass for the program's, and only keep it alive */
    LOOK_MS = 20, /* at most so much later than it would a program ends */
};

/* Whose they are in the high half: a child that was forked has none of them. */
static _Atomic uint64_t enlisted[MOST];

/* Announced ones that have not begun, with the process in the high half as well. */
static _Atomic uint64_t announced;

static uint64_t entry_of(fw_thread_id id)
{
    return (uint64_t)(uint32_t)sys_getpid() << 32 | (uint32_t)id;
}

static bool is_own(fw_thread_id id)
{
    const uint64_t entry = entry_of(id);
    for (unsigned i = 0; i < MOST; i++)
        if (atomic_load(&enlisted[i]) == entry)
            return true;
    return false;
}

static void enlist(void)
{
    const uint64_t entry = entry_of(sys_gettid());
    for (unsigned i = 0; i < MOST; i++) {
        uint64_t now = atomic_load(&enlisted[i]);
        if ((now == 0 || now >> 32 != entry >> 32) &&
            atomic_compare_exchange_strong(&enlisted[i], &now, entry))
            return;
    }
}

static void delist(void)
{
    const uint64_t entry = entry_of(sys_gettid());
    for (unsigned i = 0; i < MOST; i++) {
        uint64_t now = entry;
        if (atomic_compare_exchange_strong(&enlisted[i], &now, 0))
            return;
    }
}

static uint32_t announced_now(void)
{
    const uint64_t now = atomic_load(&announced);
    return now >> 32 == (uint32_t)sys_getpid() ? (uint32_t)now : 0;
}

void own_thread_announce(int more)
{
    const uint64_t process = (uint64_t)(uint32_t)sys_getpid() << 32;
    uint64_t before = atomic_load(&announced), after;
    do {
        const uint32_t now = before >> 32 == process >> 32 ? (uint32_t)before : 0;
        after = process | (more < 0 && now == 0 ? 0 : now + (uint32_t)more);
    } while (!atomic_compare_exchange_weak(&announced, &before, after));
}

bool own_thread_begin(void)
{
    _Atomic(unsigned) *const count = libc_count();
    enlist();
    own_thread_announce(-1);
    if (!count || atomic_fetch_sub(count, 1) != 1)
        return true;
    atomic_fetch_add(count, 1); /* who ended meanwhile counted us: exit(0) is for us to call, */
    delist();                   /* as libc does when this thread returns */
    return false;
}

static void count_again(void)
{
    _Atomic(unsigned) *const count = libc_count();
    if (count && atomic_fetch_add(count, 1) == 0)
        atomic_fetch_add(count, 1); /* the last one is in exit(0) already: once is enough */
}

void own_thread_end(void)
{
    count_again();
    delist();
}

/* It stays in the list when it has ended, until all have. */
static bool is_leaderless(void)
{
    struct task_status status;
    return tasks_status(fw_thread_main(), &status) == FW_OK &&
           (status.state == 'Z' || status.state == 'X');
}

struct census {
    unsigned pass, own, others;
    bool leader; /* among the others */
};

static bool note(void *context, unsigned pass, fw_thread_id id)
{
    struct census *census = context;
    if (pass != census->pass)
        *census = (struct census){.pass = pass}; /* the list is read again */
    census->own += is_own(id);
    census->others += !is_own(id);
    census->leader |= id == fw_thread_main() && !is_own(id);
    return false;
}

bool own_threads_count(unsigned *own, unsigned *others)
{
    struct census census = {0};
    const bool known = os_threads_each(note, &census) == FW_OK;
    *own = census.own;
    *others = census.others;
    return known;
}

bool own_threads_alone(struct own_threads_end *end, unsigned *again_ms)
{
    struct census census = {0};
    *again_ms = 0;
    if (!is_leaderless())
        return false;
    if (announced_now()) {
        *again_ms = 1;
        return false;
    }
    if (os_threads_each(note, &census) == FW_OK && census.others == census.leader)
        return true;
    end->others = true;
    *again_ms = end->looks < 5 ? 1u << end->looks++ : LOOK_MS;
    return false;
}

/* Those in own_thread_leave(), with the process in the high half as well. */
static _Atomic uint64_t leaving;

/* Ours leave one by one, each when it has written what it knows. */
static bool is_last_to_leave(void)
{
    const uint64_t process = (uint64_t)(uint32_t)sys_getpid() << 32;
    uint64_t before = atomic_load(&leaving), after;
    uint32_t own = 0;
    do
        after = (before >> 32 == process >> 32 ? before : process) + 1;
    while (!atomic_compare_exchange_weak(&leaving, &before, after));
    for (unsigned i = 0; i < MOST; i++)
        own += atomic_load(&enlisted[i]) >> 32 == process >> 32;
    return (uint32_t)after >= own;
}

/* Returns where the signal does not end the process, as it may not end a process 1. */
static void die_by(int number)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t one;
    sigaction(number, &by_default, NULL); /* no effect on SIGKILL, which needs none */
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    syscall(SYS_tgkill, sys_getpid(), sys_gettid(), number);
}

/* Where no other was seen, the first thread was the last one, and its end is the process's: it left
 * with a status, or the kernel killed it alone (seccomp(2), SECCOMP_RET_KILL_THREAD). Others that
 * leave unseen by libc's count end with 0, for libc ends them. */
void own_thread_leave(const struct own_threads_end *end)
{
    const int status = end->others ? 0 : tasks_exit_status(fw_thread_main());
    count_again(); /* and stays known as ours: another of us may be looking */
    if (WIFSIGNALED(status) && is_last_to_leave())
        die_by(WTERMSIG(status));
    if (status)
        syscall(SYS_exit, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}
