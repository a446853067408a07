/*
 * What the hang monitor asks the system about a watched thread: behind a table, so that tests
 * answer in its place. hang_system_linux.c and hang_system_darwin.c are the real ones.
 *
 * No function allocates or takes a lock of malloc, stdio or the loader.
 */
#ifndef WATCH_HANG_SYSTEM_H
#define WATCH_HANG_SYSTEM_H

#include "framewalk/threads.h"

/* How a thread got on with the processors, until now. */
struct hang_load {
    bool known;         /* all but delay_ns */
    bool has_delay;     /* delay_ns is */
    bool runnable;      /* running, or waiting for a processor */
    uint64_t delay_ns;  /* ready without a processor, up to when it last got one */
    uint64_t cpu_ns;    /* running */
    uint64_t voluntary; /* times it went to sleep */
};

struct hang_system {
    /* The stack of `thread`, without disturbing its system calls where that can be.
     * FW_ERR_NOT_FOUND when it is gone; FW_OK also when the stack is unavailable. At most
     * HANG_SAMPLE_NS. */
    fw_error (*sample)(void *context, fw_thread_id thread, struct fw_stack *stack);
    void (*load)(void *context, fw_thread_id thread, struct hang_load *load);
    /* How long the calling thread has been ready and had no processor, in all; ns. 0 where that is
     * not told. */
    uint64_t (*waited)(void *context);
    /* Is a debugger attached? */
    bool (*debugged)(void *context);
    void *context;
};

#define HANG_SAMPLE_NS UINT64_C(100000000)

const struct hang_system *hang_system_real(void);

#endif
