/*
 * Where a CPython program is: the Python lines behind a hang's native stack.
 *
 * CPython has a function for watchdogs, _Py_DumpTraceback(fd, thread state), which faulthandler
 * calls without the interpreter's lock: it allocates nothing and writes text into a descriptor.
 * Exported by CPython 3.11, 3.12 and those before 3.9; where it is not, there are no Python lines.
 *
 * It reads what the thread itself changes while it runs. So a thread that runs is asked to do it
 * itself, in a signal handler; one that sleeps in the kernel changes nothing, and would wake up by
 * a signal: for it the monitor's thread does it.
 *
 * For one that sleeps its thread state must be known, which only the thread itself can ask for: it
 * does so at its first wait. With --startup a script may sleep before it ever waits; so as soon as
 * the interpreter runs, the agent's thread has it make a call (Py_AddPendingCall, which any thread
 * may use, and which the first thread alone runs).
 *
 * The text goes into a memory file and back. In the handler that file lives as long as the handler.
 *
 * What is read back was written by the program: it is taken apart within bounds (traceback.h).
 */
#include "watch/agent/agent.h"

#include "capture/asleep.h"
#include "framewalk/capture.h"
#include "os/linux/other_stack.h"
#include "os/linux/tasks.h"
#include "watch/agent/traceback.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TEXT_SIZE = 16384,
    FRAMES_MAX = 100, /* as many as CPython writes */
    ANSWER_MS = 100,
    ANSWERS = 10,         /* so often that is waited while the thread gets no processor */
    ANSWER_NS = 10000000, /* who ran for so long meanwhile keeps the signal out */
    HANDLER_STACK = 64 * 1024
};

static struct {
    void (*dump)(int fd, void *state);
    void *(*state_of_thread)(void);
    int (*is_running)(void);
    int (*call_soon)(int (*what)(void *), void *argument); /* or NULL */
    _Atomic(void *) state;                                 /* of the watched thread */
    int signal;                                            /* 0: none yet, or none was free */
} python;

static struct {
    _Atomic uint32_t done; /* counts answers */
    size_t size;
    char text[TEXT_SIZE];
} said;

/* ---- asking ---- */

static size_t dump_into(char *text, void *state)
{
    int fd = (int)syscall(SYS_memfd_create, "framewalk", 1U /* MFD_CLOEXEC */);
    if (fd < 0)
        return 0;
    python.dump(fd, state);
    ssize_t size = pread(fd, text, TEXT_SIZE, 0);
    close(fd);
    return size > 0 ? (size_t)size : 0;
}

static void answer_here(void *unused)
{
    (void)unused;
    void *state = python.state_of_thread();
    said.size = state && python.is_running() ? dump_into(said.text, state) : 0;
}

/* The alternate stack, if there is one, may have little room (other_stack.h). */
static void answer(int number)
{
    static _Alignas(64) char stack[HANDLER_STACK];
    (void)number;
    int saved = errno;
    other_stack_run(stack, sizeof stack, answer_here, NULL);
    atomic_fetch_add(&said.done, 1);
    syscall(SYS_futex, &said.done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

/* A real-time signal that nobody uses. */
static int free_signal(void)
{
    for (int number = SIGRTMAX - 3; number > SIGRTMIN + 3; number--) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
            continue;
        struct sigaction ours = {.sa_handler = answer, .sa_flags = SA_RESTART | SA_ONSTACK};
        sigfillset(&ours.sa_mask);
        if (sigaction(number, &ours, NULL) == 0)
            return number;
    }
    return 0;
}

void python_find(void)
{
    void *dump = dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
    void *state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    void *running = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (!dump || !state || !running || python.dump)
        return;
    python.state_of_thread = (void *(*)(void))state;
    python.is_running = (int (*)(void))running;
    python.call_soon = (int (*)(int (*)(void *), void *))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    python.dump = (void (*)(int, void *))dump;
}

bool python_meet(void)
{
    if (!python.dump)
        return true;
    if (!python.is_running())
        return false;
    void *state = python.state_of_thread();
    atomic_store(&python.state, state);
    return state != NULL;
}

static int meet_soon(void *unused)
{
    (void)unused;
    if (syscall(SYS_gettid) == agent.thread)
        python_meet();
    return 0;
}

bool python_will_meet(void)
{
    if (!python.dump || !python.call_soon || atomic_load(&python.state))
        return true;
    return python.is_running() && python.call_soon(meet_soon, NULL) == 0;
}

static bool is_ours(int number)
{
    struct sigaction now;
    return number > 0 && sigaction(number, NULL, &now) == 0 && now.sa_handler == answer;
}

/* Asks the thread itself. While it does not run it stays where it is: its answer, however late, is
 * of the moment of the question. One that runs and does not answer keeps the signal out. */
static size_t ask_thread(pid_t thread)
{
    uint32_t seen = atomic_load(&said.done);
    /* Not before it is needed: programs look at their handlers when they start. And again when the
     * program took the handler away: the signal would end it. */
    if (!is_ours(python.signal))
        python.signal = free_signal();
    if (!python.signal || syscall(SYS_tgkill, getpid(), thread, python.signal) != 0)
        return 0;
    const struct timespec timeout = {.tv_nsec = ANSWER_MS * 1000000L};
    for (unsigned i = 0; i < ANSWERS && atomic_load(&said.done) == seen; i++) {
        const uint64_t ran = tasks_cpu_ns((fw_thread_id)thread);
        syscall(SYS_futex, &said.done, FUTEX_WAIT_PRIVATE, seen, &timeout, NULL, 0);
        if (tasks_cpu_ns((fw_thread_id)thread) > ran + ANSWER_NS)
            break;
    }
    return atomic_load(&said.done) == seen ? 0 : said.size;
}

/* Does it sleep in the kernel? Its stack is of no interest here. */
static bool is_asleep(pid_t thread)
{
    struct fw_frame frame;
    struct fw_stack stack = {.frames = &frame, .capacity = 1};
    struct task_status status;
    return asleep_capture((fw_thread_id)thread, &stack, &status) == FW_OK;
}

static size_t ask(pid_t thread)
{
    if (!is_asleep(thread))
        return ask_thread(thread);
    void *state = atomic_load(&python.state);
    return state && python.is_running() ? dump_into(said.text, state) : 0;
}

void python_annotate(void *context, struct fwr_writer *writer, uint64_t thread, uint64_t at_ns)
{
    static char text[TEXT_SIZE + 1];
    static struct fwr_script_frame frames[FRAMES_MAX];
    (void)context;
    if (!python.dump)
        return;
    size_t size = ask((pid_t)thread);
    if (size == 0)
        return;
    memcpy(text, said.text, size);
    text[size] = '\0';
    uint32_t count = traceback_read(text, frames, FRAMES_MAX);
    if (count > 0)
        fwr_script(writer, thread, at_ns, "python", frames, count);
}
