/*
 * For tests of capture on Apple: threads as in targets.h, and the host's counts of what was taken
 * and not given back.
 */
#ifndef TESTS_CAPTURE_MACH_TARGETS_H
#define TESTS_CAPTURE_MACH_TARGETS_H

#include "capture/targets.h"
#include "machhost/host.h"

#include <mach/mach.h>

/* Every right and array was given back, and nobody is suspended. */
static inline void check_nothing_left(void)
{
    assert_int_equal(machhost_rights(), 0);
    assert_int_equal(machhost_arrays(), 0);
    assert_int_equal(machhost_suspended(), 0);
}

enum { THREADS = 80 };
static struct fw_thread threads[THREADS];
static struct fw_frame frames[THREADS * 64];
static size_t thread_count;

static inline fw_error capture_all(const struct fw_threads_options *options)
{
    memset(threads, 0xa5, sizeof threads);
    return fw_threads_capture(threads, THREADS, &thread_count, frames, THREADS * 64, options);
}

static inline struct fw_thread *captured_thread(fw_thread_id id)
{
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].id == id)
            return &threads[i];
    return NULL;
}

#endif
