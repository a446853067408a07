#include "capture/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 20000, MAX_ARGUMENTS = 64 };

/* A line of the target's output, within bounded time. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    while (n < size - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, ANSWER_MS) != 1 || read(fd, line + n, 1) != 1)
            return false;
        if (line[n++] == '\n') {
            line[n] = 0;
            return true;
        }
    }
    return false;
}

bool target_start(struct target *target, const char *program, const char *const *arguments)
{
    const char *argv[MAX_ARGUMENTS] = {program};
    int in[2], out[2];
    for (size_t i = 0; arguments[i] && i + 2 < MAX_ARGUMENTS; i++)
        argv[i + 1] = arguments[i];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    target->pid = fork();
    if (target->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execv(program, (char *const *)(void *)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    target->in = in[1];
    target->out = out[0];
    char line[64];
    return target->pid > 0 && read_line(target->out, line, sizeof line) &&
           !strncmp(line, "ready", 5);
}

void target_end(struct target *target)
{
    if (target->pid > 0) {
        kill(target->pid, SIGKILL);
        waitpid(target->pid, NULL, 0);
        close(target->in);
        close(target->out);
    }
    target->pid = 0;
}

bool target_counts(const struct target *target, int *signals, int *early)
{
    char line[64];
    return write(target->in, "c", 1) == 1 && read_line(target->out, line, sizeof line) &&
           sscanf(line, "%d %d", signals, early) == 2;
}

static bool read_status(pid_t pid, pid_t tid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

char target_state(pid_t tid)
{
    char text[4096];
    const char *line = read_status(tid, tid, text, sizeof text) ? strstr(text, "\nState:") : NULL;
    return line ? line[8] : '-';
}

bool target_wait_state(pid_t pid, char state)
{
    for (int i = 0; i < 5000; i++) {
        if (target_state(pid) == state)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    return false;
}

/* Calls `test` with the status text of every thread; how often it was true, -1 when the process is
 * gone. */
static int count_threads(pid_t pid, bool (*test)(const char *status, const char *argument),
                         const char *argument)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    int found = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && read_status(pid, atoi(entry->d_name), text, sizeof text))
            found += test(text, argument);
    closedir(dir);
    return found;
}

static bool is_traced(const char *status, const char *argument)
{
    const char *line = strstr(status, "\nTracerPid:");
    (void)argument;
    return line && atoi(line + strlen("\nTracerPid:")) != 0;
}

static bool is_not_in(const char *status, const char *state)
{
    const char *line = strstr(status, "\nState:");
    return line && line[8] != *state;
}

int target_traced(pid_t pid)
{
    return count_threads(pid, is_traced, NULL);
}

bool target_wait_all(pid_t pid, char state)
{
    for (int i = 0; i < 5000; i++) {
        if (count_threads(pid, is_not_in, &state) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    return false;
}

const struct fw_process_thread *find_thread(const struct fw_process_thread *threads, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(threads[i].thread.name, name))
            return &threads[i];
    return NULL;
}

void stack_print(struct fw_process *process, const struct fw_process_thread *thread)
{
    if (!thread) {
        printf("there is no such thread\n");
        return;
    }
    const struct fw_stack *stack = &thread->thread.stack;
    printf("thread %d %s %c: %s, %s\n", (int)thread->thread.id, thread->thread.name,
           thread->thread.state, fw_end_text((fw_end)stack->end),
           fw_unavailable_text((fw_unavailable)stack->unavailable));
    for (uint32_t i = 0; i < stack->count && i < 40; i++) {
        struct fw_symbol symbol;
        fw_process_symbol(process, &stack->frames[i], &symbol);
        printf("  %#llx %s+%#llx %s+%#llx %s\n", (unsigned long long)stack->frames[i].address,
               symbol.name ? symbol.name : "?", (unsigned long long)symbol.offset,
               symbol.image ? symbol.image : "-", (unsigned long long)symbol.image_offset,
               fw_method_text((fw_method)stack->frames[i].method));
    }
}

/* Does the name in the stack stand for this function? A compiler may append ".part.0" and such. */
static bool is_function(const char *name, const char *function, size_t length)
{
    return name && !strncmp(name, function, length) && (!name[length] || name[length] == '.');
}

static bool matches_from(struct fw_process *process, const struct fw_stack *stack, uint32_t at,
                         const char *const *functions)
{
    for (; *functions; functions++) {
        const char *star = strchr(*functions, '*');
        size_t length = star ? (size_t)(star - *functions) : strlen(*functions);
        for (int times = star ? atoi(star + 1) : 1; times > 0; times--, at++) {
            struct fw_symbol symbol;
            if (at >= stack->count ||
                fw_process_symbol(process, &stack->frames[at], &symbol) != FW_OK ||
                !is_function(symbol.name, *functions, length))
                return false;
        }
    }
    return true;
}

bool stack_has(struct fw_process *process, const struct fw_process_thread *thread,
               const char *const *functions)
{
    if (thread && thread->thread.stack.end == FW_END_ROOT)
        for (uint32_t i = 0; i < thread->thread.stack.count; i++)
            if (matches_from(process, &thread->thread.stack, i, functions))
                return true;
    stack_print(process, thread);
    return false;
}

int run_apart(int (*test)(void *), void *context)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(test(context));
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}
