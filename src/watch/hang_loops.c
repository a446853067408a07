/* Waits for plain loops: idle before, busy behind, and known as waiting (hang_sites.h). */
#include "watch/hang_sites.h"

#include "framewalk/hang.h"

#include <poll.h>
#if defined(__linux__)
#include <sys/epoll.h>
#endif

HANG_WAIT_SITE int fw_hang_poll(struct fw_hang_watch *watch, struct pollfd *fds,
                                unsigned long count, int timeout_ms)
{
    fw_hang_idle(watch);
    const int ready = poll(fds, (nfds_t)count, timeout_ms);
    fw_hang_busy(watch);
    return ready;
}

#if defined(__linux__)
HANG_WAIT_SITE int fw_hang_epoll_wait(struct fw_hang_watch *watch, int epoll,
                                      struct epoll_event *events, int capacity, int timeout_ms)
{
    fw_hang_idle(watch);
    const int ready = epoll_wait(epoll, events, capacity, timeout_ms);
    fw_hang_busy(watch);
    return ready;
}
#endif
