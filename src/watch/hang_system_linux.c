/*
 * What Linux tells of a watched thread: proc(5), and the processor time clock of a thread, whose
 * number is made of its id as the kernel's include/linux/posix-timers_types.h says.
 *
 * A thread that sleeps in a system call is read where it sleeps: a signal would make nanosleep,
 * poll and the like return early, and so change what the program does. Only one that runs is asked
 * by the capture signal.
 */
#include "watch/hang_system.h"

#include "capture/asleep.h"
#include "os/linux/sys.h"

#include <fcntl.h>
#include <string.h>

/* Whether a signal would wake it, of a thread that could not be read where it sleeps. After
 * setuid() the kernel may keep that to itself; without /proc, as in a chroot, even whether it runs.
 */
static bool may_sleep(fw_thread_id id, fw_error why, const struct task_status *status)
{
    const struct timespec moment = {.tv_nsec = 200000};
    if (status->state != '?')
        return why == FW_ERR_PERMISSION && status->state != 'R';
    const uint64_t before = tasks_cpu_ns(id);
    nanosleep(&moment, NULL);
    return tasks_cpu_ns(id) == before;
}

static fw_error sample(void *context, fw_thread_id id, struct fw_stack *stack)
{
    (void)context;
    struct task_status status;
    const fw_error asleep = asleep_capture(id, stack, &status);
    if (asleep == FW_OK || asleep == FW_ERR_NOT_FOUND)
        return asleep;
    if (may_sleep(id, asleep, &status)) {
        /* a hang without a stack is better than a sleep that ends early */
        stack->end = FW_END_UNAVAILABLE;
        stack->unavailable = FW_UNAVAILABLE_PERMISSION;
        return FW_ERR_PERMISSION;
    }
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

/* "/proc/self/task/ID/NAME" */
static void task_path(char path[64], fw_thread_id id, const char *name)
{
    static const char head[] = "/proc/self/task/";
    char digits[12];
    unsigned n = 0, at = sizeof head - 1;
    memcpy(path, head, at);
    do
        digits[n++] = (char)('0' + id % 10);
    while ((id /= 10) && n < sizeof digits);
    while (n)
        path[at++] = digits[--n];
    path[at++] = '/';
    memcpy(path + at, name, strlen(name) + 1);
}

/* Reads a file of the kernel's, ends it with NUL. False when it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    const long fd = sys_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const long got = sys_read((int)fd, text, size - 1);
    sys_close((int)fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static uint64_t number(const char **p)
{
    uint64_t value = 0;
    while (**p == ' ' || **p == '\t')
        ++*p;
    for (; **p >= '0' && **p <= '9'; ++*p)
        value = value * 10 + (uint64_t)(**p - '0');
    return value;
}

/* What follows the line's name, or NULL. */
static const char *line_of(const char *text, const char *name)
{
    const char *at = memmem(text, strlen(text), name, strlen(name));
    return at ? at + strlen(name) : NULL;
}

/* Of a thread, up to when it last got a processor. */
static bool read_delay(fw_thread_id id, uint64_t *ns)
{
    char path[64], text[64]; /* time run, time ready, both in ns, and a count */
    task_path(path, id, "schedstat");
    if (!read_text(path, text, sizeof text))
        return false;
    const char *p = text;
    number(&p);
    *ns = number(&p);
    return true;
}

static uint64_t waited(void *context)
{
    (void)context;
    uint64_t ns = 0; /* without /proc, as in a chroot */
    read_delay((fw_thread_id)sys_gettid(), &ns);
    return ns;
}

static void load(void *context, fw_thread_id id, struct hang_load *load)
{
    (void)context;
    char path[64], text[2048];
    *load = (struct hang_load){.known = false};
    load->has_delay = read_delay(id, &load->delay_ns);
    task_path(path, id, "status");
    if (!read_text(path, text, sizeof text))
        return;
    const char *state = line_of(text, "\nState:\t");
    const char *voluntary = line_of(text, "\nvoluntary_ctxt_switches:");
    load->cpu_ns = tasks_cpu_ns(id);
    if (!state || !voluntary || !load->cpu_ns)
        return;
    load->runnable = *state == 'R';
    load->voluntary = number(&voluntary);
    load->known = true;
}

static bool debugged(void *context)
{
    (void)context;
    char text[2048];
    if (!read_text("/proc/self/status", text, sizeof text))
        return false;
    const char *tracer = line_of(text, "\nTracerPid:");
    return tracer && number(&tracer) != 0;
}

const struct hang_system *hang_system_real(void)
{
    static const struct hang_system real = {
        .sample = sample, .load = load, .waited = waited, .debugged = debugged};
    return &real;
}
