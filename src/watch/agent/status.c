/* Writing the status file: status.h says what for. */
#include "watch/agent/agent.h"
#include "watch/session.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

struct status *status_make(void)
{
    char path[PATH_MAX];
    pid_t pid = getpid();
    snprintf(path, sizeof path, "%s/%d.status", agent_settings.status, pid);
    unlink(path); /* of the program that this process was before exec */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return NULL;
    struct status *status = MAP_FAILED;
    if (posix_fallocate(fd, 0, sizeof *status) == 0)
        status = mmap(NULL, sizeof *status, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (status == MAP_FAILED) {
        unlink(path);
        return NULL;
    }
    status->size = sizeof *status;
    status->pid = (uint32_t)pid;
    status->parent = (uint32_t)getppid();
    status->state = STATUS_LOADED;
    status->started_ms = now_ms();
    status->api_count = (uint32_t)agent_settings.call_count;
    ssize_t size = readlink("/proc/self/exe", status->program, sizeof status->program - 1);
    status->program[size > 0 ? size : 0] = '\0';
    atomic_thread_fence(memory_order_release);
    status->magic = STATUS_MAGIC;
    agent.told = status;
    return status;
}

void status_failure(const char *what, const char *why)
{
    if (!agent.status)
        return;
    snprintf(agent.status->failure, sizeof agent.status->failure, "%s: %s", what, why);
    agent.status->state = STATUS_FAILED;
}

void status_leaves(bool leaves)
{
    if (agent.status)
        agent.status->left_ms = leaves ? now_ms() : 0;
}

/* Several processes may tell at once: the count is exact, the program one of them. */
void status_unfit(const char *program, enum fit fit)
{
    struct status *status = agent.told;
    if (!status)
        return;
    const size_t length = strnlen(program, sizeof status->unfit_program - 1);
    memcpy(status->unfit_program, program, length);
    status->unfit_program[length] = '\0';
    status->unfit_why = fit == FIT_STATIC         ? STATUS_UNFIT_STATIC
                        : fit == FIT_OTHER_LOADER ? STATUS_UNFIT_LOADER
                                                  : STATUS_UNFIT_CLASS;
    __atomic_fetch_add(&status->unfit, 1, __ATOMIC_RELAXED);
}

void status_unfit_stayed(void)
{
    if (agent.told)
        __atomic_fetch_sub(&agent.told->unfit, 1, __ATOMIC_RELAXED);
}

void status_calls(void)
{
    struct status *status = agent.status;
    if (!status || !agent.calls)
        return;
    for (uint32_t i = 0; i < agent_settings.call_count; i++) {
        struct fw_calls_api api = {.size = sizeof api};
        struct status_api *to = &status->apis[i];
        if (fw_calls_api(agent.calls, i, &api) != FW_OK)
            break;
        snprintf(to->name, sizeof to->name, "%s", api.name);
        to->calls = api.calls;
        to->counted = api.counted;
        to->pointers = api.pointers;
        to->inside = api.inside;
        to->found = api.found;
        to->refused = api.refused;
    }
}

void status_hangs(void)
{
    if (!agent.status || !agent.monitor)
        return;
    struct fw_hang_totals totals = {.size = sizeof totals};
    if (fw_hang_totals(agent.monitor, &totals) != FW_OK)
        return;
    struct status_hangs hangs = {.hangs = totals.hangs,
                                 .severe = totals.severe,
                                 .hang_ns = totals.hang_ns,
                                 .longest_ns = totals.longest_ns,
                                 .annealed = totals.annealed,
                                 .capped = totals.capped,
                                 .samples = totals.samples,
                                 .unwritten = agent.reports ? spool_refused(agent.reports) : 0};
    for (size_t i = 0; i < FW_HANG_VETOES; i++)
        hangs.vetoed[i] = totals.vetoed[i];
    agent.status->hangs = hangs;
}
