/*
 * What Apple's systems tell of a watched thread. A suspended thread's system call is not disturbed,
 * so every sample is a capture. How long a thread waited for a processor is not told: a machine
 * that is that busy delays the monitor as well, which is noticed.
 */
#include "watch/hang_system.h"

#include <sys/sysctl.h>
#include <unistd.h>

static fw_error sample(void *context, fw_thread_id id, struct fw_stack *stack)
{
    (void)context;
    struct fw_thread thread = {.stack = *stack};
    const struct fw_threads_options options = {.size = sizeof options,
                                               .frames = stack->capacity,
                                               .tail = stack->tail,
                                               .timeout_ms = HANG_SAMPLE_NS / 1000000,
                                               .skip_names = true};
    const fw_error error = fw_thread_capture(id, &thread, &options);
    *stack = thread.stack;
    return error;
}

static void load(void *context, fw_thread_id id, struct hang_load *load)
{
    (void)context;
    (void)id;
    *load = (struct hang_load){.known = false};
}

static uint64_t waited(void *context)
{
    (void)context;
    return 0;
}

static bool debugged(void *context)
{
    (void)context;
    struct kinfo_proc info = {.kp_proc = {.p_flag = 0}};
    int name[4] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    size_t size = sizeof info;
    return sysctl(name, 4, &info, &size, NULL, 0) == 0 && (info.kp_proc.p_flag & P_TRACED);
}

const struct hang_system *hang_system_real(void)
{
    static const struct hang_system real = {
        .sample = sample, .load = load, .waited = waited, .debugged = debugged};
    return &real;
}
