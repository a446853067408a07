/*
 * The waits of an unmodified program: poll, select, epoll_wait and their kin, under whose names the
 * loader finds these functions first. Loops of GLib, Qt, libuv (Node), libevent, libev, nginx,
 * asyncio, Xlib and most hand-written ones come through here; loops that wait in recv(), accept(),
 * sigwait(), pthread_cond_wait() or io_uring do not, and are not seen.
 *
 * Each does what the original does, by calling it: results, errno, EINTR, signal masks,
 * cancellation are the original's own. Around it the watched thread, and only that one, is marked
 * idle and busy when the wait is the loop's own (loop.h); for every other thread this is one test
 * and a jump.
 *
 * A wait inside a wait happens in a signal handler that interrupted it. The thread was idle then,
 * and the handler's waits change nothing. Whoever leaves a wait by longjmp() is found out by the
 * next wait, which stands further out on the stack, or as far.
 *
 * The originals are looked up before main, or at the first call of whoever comes before that.
 */
#include "watch/agent/waits.h"
#include "watch/agent/agent.h"
#include "watch/agent/loop.h"

#include "framewalk/capture.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

/* ---- originals ---- */

#define ORIGINAL(result, name, ...)                                                                \
    typedef result name##_call(__VA_ARGS__);                                                       \
    static name##_call *_Atomic name##_original;                                                   \
    static name##_call *original_##name(void)                                                      \
    {                                                                                              \
        name##_call *call = atomic_load_explicit(&name##_original, memory_order_relaxed);          \
        if (!call) {                                                                               \
            call = (name##_call *)dlsym(RTLD_NEXT, #name);                                         \
            atomic_store_explicit(&name##_original, call, memory_order_relaxed);                   \
        }                                                                                          \
        return call;                                                                               \
    }

ORIGINAL(int, poll, struct pollfd *, nfds_t, int)
ORIGINAL(int, ppoll, struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)
ORIGINAL(int, __poll_chk, struct pollfd *, nfds_t, int, size_t)
ORIGINAL(int, __ppoll_chk, struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
         size_t)
ORIGINAL(int, select, int, fd_set *, fd_set *, fd_set *, struct timeval *)
ORIGINAL(int, pselect, int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)
ORIGINAL(int, epoll_wait, int, struct epoll_event *, int, int)
ORIGINAL(int, epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *)
ORIGINAL(int, epoll_pwait2, int, struct epoll_event *, int, const struct timespec *,
         const sigset_t *)

__attribute__((constructor)) static void find_originals(void)
{
    int saved = errno;
    original_poll(), original_ppoll(), original___poll_chk(), original___ppoll_chk();
    original_select(), original_pselect();
    original_epoll_wait(), original_epoll_pwait(), original_epoll_pwait2();
    errno = saved;
}

/* ---- the caller of the function that calls poll() ---- */

/* Only asked where a call site alone does not tell: seldom. frames[0] lies in loop.c and so on;
 * what is wanted is the frame behind the one whose address is the site. */
static uintptr_t asked_site;

static uintptr_t find_caller(void)
{
    enum { NEAR = 12 };
    struct fw_frame frames[NEAR];
    struct fw_stack stack = {.frames = frames, .capacity = NEAR};
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) != 0 || alternate.ss_flags & SS_ONSTACK)
        return 0; /* small, maybe */
    fw_capture(&stack, 0);
    for (uint32_t i = 0; i + 1 < stack.count; i++)
        if (frames[i].address == asked_site)
            return (uintptr_t)frames[i + 1].address;
    return 0;
}

/* GLib's functions that run its loop call the same inner one. */
struct code {
    uintptr_t begin, end;
};

static struct code find_code(const char *name)
{
    Dl_info info;
    void *at = dlsym(RTLD_DEFAULT, name);
    const ElfW(Sym) *symbol = NULL;
    if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return (struct code){0};
    return (struct code){(uintptr_t)at, (uintptr_t)at + symbol->st_size};
}

static bool is_glib(uintptr_t address)
{
    static struct code run, iteration;
    static bool looked;
    if (!looked) {
        looked = true;
        run = find_code("g_main_loop_run");
        iteration = find_code("g_main_context_iteration");
    }
    return address - run.begin < run.end - run.begin ||
           address - iteration.begin < iteration.end - iteration.begin;
}

static bool is_alike(uintptr_t a, uintptr_t b)
{
    return is_glib(a) && is_glib(b);
}

/* ---- marks ---- */

#define FRESH_LOOP {.caller = find_caller, .in_handler = agent_in_handler, .alike = is_alike}
static struct loop loop = FRESH_LOOP;
static uintptr_t waiting_at; /* stack pointer of the wait that the watched thread is in; 0: none */

struct mark {
    bool waits; /* waiting_at is ours */
    bool idle;
};

void waits_reset(void)
{
    struct loop fresh = FRESH_LOOP;
    loop = fresh;
    waiting_at = 0;
}

static void count(uint64_t *counter)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static void count_wait(enum loop_wait what, bool zero)
{
    struct status *status = agent.status;
    if (!status)
        return;
    if (what == LOOP_IDLE)
        count(&status->idle_waits);
    else if (what == LOOP_TURN)
        count(&status->turns);
    else if (!zero)
        count(&status->inside_waits);
    if (!status->settled && (loop_is_settled(&loop) || (agent_settings.any_wait && !zero)))
        status->settled = 1;
}

static struct mark enter(uintptr_t site, uintptr_t sp, int object, bool zero)
{
    struct mark mark = {0};
    int saved = errno;
    if (waiting_at != 0 && sp < waiting_at)
        return mark; /* in a signal handler, within a wait */
    waiting_at = 0;
    struct loop_place place = {.site = site, .sp = sp, .object = object};
    enum loop_wait what;
    asked_site = site;
    if (agent_settings.any_wait)
        what = zero ? LOOP_INSIDE : LOOP_IDLE;
    else
        what = loop_wait(&loop, &place, zero);
    if (!zero || loop_is_settled(&loop))
        agent_start();
    struct fw_hang_watch *watch = atomic_load_explicit(&agent.watch, memory_order_acquire);
    if (what == LOOP_TURN)
        fw_hang_busy(watch);
    else if (what == LOOP_IDLE)
        fw_hang_idle(watch);
    count_wait(what, zero);
    if (!zero)
        waiting_at = sp;
    mark.waits = !zero;
    mark.idle = what == LOOP_IDLE;
    errno = saved;
    return mark;
}

static void leave(const struct mark *mark)
{
    if (mark->idle) { /* keeps errno */
        struct fw_hang_watch *watch = atomic_load_explicit(&agent.watch, memory_order_acquire);
        fw_hang_busy(watch);
    }
    if (mark->waits)
        waiting_at = 0;
}

/* ---- the functions ---- */

/* The stack pointer before the call: without a frame pointer, which the stack of a sleeping thread
 * could not be walked through. */
#define SITE  ((uintptr_t)__builtin_return_address(0))
#define DEPTH ((uintptr_t)__builtin_dwarf_cfa())

/* One of them: `object` and `zero` of its arguments, then the call. */
#define WAIT(object, zero, call)                                                                   \
    do {                                                                                           \
        if (__builtin_expect(!agent_here, 1))                                                      \
            return call;                                                                           \
        struct mark mark = enter(SITE, DEPTH, object, zero);                                       \
        int result = call;                                                                         \
        leave(&mark);                                                                              \
        return result;                                                                             \
    } while (0)

static bool is_zero(const struct timespec *timeout)
{
    return timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

AGENT_EXPORT int poll(struct pollfd *fds, nfds_t size, int timeout)
{
    WAIT(-1, timeout == 0, original_poll()(fds, size, timeout));
}

AGENT_EXPORT int ppoll(struct pollfd *fds, nfds_t size, const struct timespec *timeout,
                       const sigset_t *mask)
{
    WAIT(-1, is_zero(timeout), original_ppoll()(fds, size, timeout, mask));
}

/* What _FORTIFY_SOURCE makes of them. */
int __poll_chk(struct pollfd *fds, nfds_t size, int timeout, size_t room);
AGENT_EXPORT int __poll_chk(struct pollfd *fds, nfds_t size, int timeout, size_t room)
{
    WAIT(-1, timeout == 0, original___poll_chk()(fds, size, timeout, room));
}

int __ppoll_chk(struct pollfd *fds, nfds_t size, const struct timespec *timeout,
                const sigset_t *mask, size_t room);
AGENT_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t size, const struct timespec *timeout,
                             const sigset_t *mask, size_t room)
{
    WAIT(-1, is_zero(timeout), original___ppoll_chk()(fds, size, timeout, mask, room));
}

AGENT_EXPORT int select(int size, fd_set *reads, fd_set *writes, fd_set *exceptions,
                        struct timeval *timeout)
{
    WAIT(-1, timeout && timeout->tv_sec == 0 && timeout->tv_usec == 0,
         original_select()(size, reads, writes, exceptions, timeout));
}

AGENT_EXPORT int pselect(int size, fd_set *reads, fd_set *writes, fd_set *exceptions,
                         const struct timespec *timeout, const sigset_t *mask)
{
    WAIT(-1, is_zero(timeout), original_pselect()(size, reads, writes, exceptions, timeout, mask));
}

AGENT_EXPORT int epoll_wait(int epoll, struct epoll_event *events, int capacity, int timeout)
{
    WAIT(epoll, timeout == 0, original_epoll_wait()(epoll, events, capacity, timeout));
}

AGENT_EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int capacity, int timeout,
                             const sigset_t *mask)
{
    WAIT(epoll, timeout == 0, original_epoll_pwait()(epoll, events, capacity, timeout, mask));
}

AGENT_EXPORT int epoll_pwait2(int epoll, struct epoll_event *events, int capacity,
                              const struct timespec *timeout, const sigset_t *mask)
{
    epoll_pwait2_call *call = original_epoll_pwait2();
    if (!call) { /* a C library older than the function */
        errno = ENOSYS;
        return -1;
    }
    WAIT(epoll, is_zero(timeout), call(epoll, events, capacity, timeout, mask));
}
