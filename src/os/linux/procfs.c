/*
 * Reading /proc. The one trap of its formats: a thread's name may hold any byte, parentheses and
 * newlines included, and stands in `stat` as it is (since Linux 4.18), which is therefore parsed
 * from its last parenthesis.
 */
#include "os/linux/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LACKS_CAPABILITY "this is root without CAP_SYS_PTRACE (containers: --cap-add SYS_PTRACE)"

enum { PF_EXITING_FLAG = 0x4, PF_KTHREAD_FLAG = 0x00200000, PATH_SIZE = 64 };

int procfs_open_tasks(pid_t pid)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool tid_list_add(struct tid_list *list, pid_t tid)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        pid_t *grown = realloc(list->list, capacity * sizeof *grown);
        if (!grown)
            return false;
        list->list = grown;
        list->capacity = capacity;
    }
    list->list[list->count++] = tid;
    return true;
}

/* One reading of the folder; *told is how many threads there were just before, as its link count
 * says: theirs plus two. */
static bool list_once(int tasks, struct tid_list *list, size_t *told)
{
    int copy = openat(tasks, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return false;
    DIR *dir = fdopendir(copy);
    if (!dir) {
        close(copy);
        return false;
    }
    struct stat status;
    *told = fstat(copy, &status) == 0 && status.st_nlink > 2 ? (size_t)status.st_nlink - 2 : 0;
    list->count = 0;
    bool ok = true;
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!tid_list_add(list, (pid_t)strtol(entry->d_name, NULL, 10))) {
            ok = false;
            break;
        }
    }
    int error = errno;
    closedir(dir);
    errno = error;
    return ok && error == 0;
}

/* The kernel ends a reading early when the thread that it stands at exits. New threads stand last,
 * so one that brings as many as there were before is whole; fewer, and it is done again. */
bool procfs_list_tasks(int tasks, struct tid_list *list)
{
    enum { READINGS = 16 };
    size_t told;
    for (int i = 0; i < READINGS; i++) {
        if (!list_once(tasks, list, &told))
            return false;
        if (list->count >= told)
            break;
    }
    return true;
}

ssize_t procfs_read(int dir, const char *path, char *text, size_t size)
{
    text[0] = 0;
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t length = 0;
    ssize_t n = 0;
    while (length < size - 1) {
        n = read(fd, text + length, size - 1 - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        length += (size_t)n;
        if (length < size - 1 && n < 512) /* /proc gives small files in one piece */
            break;
    }
    int error = errno;
    close(fd);
    errno = error;
    text[length] = 0;
    return n < 0 && !length ? -1 : (ssize_t)length;
}

char *procfs_read_all(int dir, const char *path, size_t limit, size_t *size)
{
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t capacity = 16384, length = 0;
    char *text = malloc(capacity);
    int error = text ? 0 : ENOMEM;
    while (text) {
        if (capacity - length < 4097) {
            char *grown = capacity < limit ? realloc(text, capacity * 2) : NULL;
            if (!grown) {
                error = capacity < limit ? ENOMEM : EFBIG;
                break;
            }
            text = grown;
            capacity *= 2;
        }
        ssize_t n = read(fd, text + length, capacity - length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error = n < 0 ? errno : 0;
            break;
        }
        length += (size_t)n;
    }
    close(fd);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[length] = 0;
    *size = length;
    return text;
}

static const char *skip_field(const char *text)
{
    while (*text && *text != ' ')
        text++;
    while (*text == ' ')
        text++;
    return text;
}

bool procfs_parse_stat(const char *text, struct procfs_stat *stat)
{
    memset(stat, 0, sizeof *stat);
    stat->state = '?';
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return false;
    size_t length = (size_t)(close - open) - 1;
    memcpy(stat->name, open + 1,
           length < sizeof stat->name ? length : sizeof stat->name - 1); /* zeroed above */
    const char *field = close + 2; /* field 3 of proc(5): the state */
    stat->state = *field == 'I' ? 'D' : *field == 'X' ? 'Z' : *field;
    for (int i = 3; i < 9; i++)
        field = skip_field(field);
    unsigned long flags = strtoul(field, NULL, 10);
    stat->exiting = flags & PF_EXITING_FLAG;
    stat->kernel = flags & PF_KTHREAD_FLAG;
    for (int i = 9; i < 22; i++)
        field = skip_field(field);
    stat->start = strtoull(field, NULL, 10);
    return *field != 0;
}

bool procfs_thread_stat(int tasks, pid_t tid, struct procfs_stat *stat)
{
    char path[PATH_SIZE], text[1024];
    snprintf(path, sizeof path, "%d/stat", (int)tid);
    return procfs_read(tasks, path, text, sizeof text) > 0 && procfs_parse_stat(text, stat);
}

bool procfs_is_alive(int tasks, pid_t tid)
{
    enum { SIGKILL_BIT = 1 << 8 };
    char path[PATH_SIZE], text[8192];
    struct procfs_stat stat;
    uint64_t pending = 0;
    snprintf(path, sizeof path, "%d/status", (int)tid);
    return procfs_read(tasks, path, text, sizeof text) > 0 &&
           procfs_parse_status(text, "SigPnd", 16, &pending) && !(pending & SIGKILL_BIT) &&
           procfs_thread_stat(tasks, tid, &stat) && stat.state != 'Z' && !stat.exiting;
}

void procfs_wait_channel(int tasks, pid_t tid, char *text, size_t size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%d/wchan", (int)tid);
    ssize_t n = procfs_read(tasks, path, text, size);
    if (n <= 0 || text[0] == '0')
        text[0] = 0;
    text[strcspn(text, "\n")] = 0;
}

enum procfs_place procfs_parse_syscall(const char *text, struct procfs_syscall *syscall)
{
    if (!strncmp(text, "running", 7))
        return PROCFS_RUNNING;
    /* "nr arg0 .. arg5 sp pc", or "-1 sp pc" outside of a system call: the last two count. */
    uint64_t value[9];
    size_t n = 0;
    const char *field = text;
    while (*field && *field != '\n' && n < 9) {
        char *end;
        value[n++] = strtoull(field, &end, 0);
        if (end == field)
            return PROCFS_GONE;
        field = end;
        while (*field == ' ')
            field++;
    }
    if (n != 3 && n != 9)
        return PROCFS_GONE;
    *syscall = (struct procfs_syscall){.sp = value[n - 2], .pc = value[n - 1], .in_call = n == 9};
    if (syscall->in_call)
        memcpy(syscall->argument, value + 1, sizeof syscall->argument);
    return PROCFS_ASLEEP;
}

enum procfs_place procfs_thread_syscall(int tasks, pid_t tid, struct procfs_syscall *syscall)
{
    char path[PATH_SIZE], text[256];
    snprintf(path, sizeof path, "%d/syscall", (int)tid);
    if (procfs_read(tasks, path, text, sizeof text) <= 0)
        return errno == EACCES || errno == EPERM ? PROCFS_DENIED : PROCFS_GONE;
    return procfs_parse_syscall(text, syscall);
}

bool procfs_parse_status(const char *text, const char *key, int base, uint64_t *value)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) || line[length] != ':')
            continue;
        const char *number = line + length + 1;
        char *end;
        *value = strtoull(number, &end, base);
        return end != number;
    }
    return false;
}

bool procfs_status(pid_t tid, const char *key, int base, uint64_t *value)
{
    char path[PATH_SIZE], text[8192];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    return procfs_read(AT_FDCWD, path, text, sizeof text) > 0 &&
           procfs_parse_status(text, key, base, value);
}

bool procfs_switches(int tasks, pid_t tid, uint64_t *count)
{
    char path[PATH_SIZE], text[8192];
    uint64_t forced;
    snprintf(path, sizeof path, "%d/status", (int)tid);
    if (procfs_read(tasks, path, text, sizeof text) <= 0 ||
        !procfs_parse_status(text, "voluntary_ctxt_switches", 10, count) ||
        !procfs_parse_status(text, "nonvoluntary_ctxt_switches", 10, &forced))
        return false;
    *count += forced;
    return true;
}

bool procfs_link(pid_t tid, const char *name, char *text, size_t size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, name);
    ssize_t n = readlink(path, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
    return n >= 0;
}

void procfs_explain_denial(pid_t pid, pid_t tid, char *text, size_t size)
{
    enum { CAP_SYS_PTRACE_BIT = 19 };
    uint64_t tracer = 0, owner = 0, capabilities = 0;
    if (procfs_status(tid, "TracerPid", 10, &tracer) && tracer) {
        struct procfs_stat stat = {.name = "?"};
        char path[PATH_SIZE], line[1024];
        snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)tracer);
        if (procfs_read(AT_FDCWD, path, line, sizeof line) > 0)
            procfs_parse_stat(line, &stat);
        snprintf(text, size,
                 "thread %d of process %d is already traced by process %u (%s); end that debugger "
                 "or tracer first",
                 (int)tid, (int)pid, (unsigned)tracer, stat.name);
        return;
    }
    procfs_status(getpid(), "CapEff", 16, &capabilities);
    bool capable = capabilities >> CAP_SYS_PTRACE_BIT & 1;
    if (procfs_status(pid, "Uid", 10, &owner) && owner != geteuid() && !capable) {
        snprintf(text, size, "process %d belongs to user %u and this is user %u: %s", (int)pid,
                 (unsigned)owner, (unsigned)geteuid(),
                 geteuid() ? "run as that user or as root" : LACKS_CAPABILITY);
        return;
    }
    char scope[16];
    if (procfs_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0 &&
        scope[0] != '0' && (!capable || scope[0] == '3')) {
        snprintf(text, size,
                 "the system forbids tracing process %d: /proc/sys/kernel/yama/ptrace_scope is %c; "
                 "%s",
                 (int)pid, scope[0],
                 scope[0] == '3' ? "3 cannot be lifted without a restart"
                 : geteuid()     ? "run as root, or set it to 0"
                                 : LACKS_CAPABILITY);
        return;
    }
    snprintf(text, size,
             "the system refused to trace process %d: it is protected (setuid, not dumpable, "
             "another user namespace or a security module); %s",
             (int)pid,
             geteuid()  ? "run as root"
             : !capable ? LACKS_CAPABILITY
                        : "this is root with CAP_SYS_PTRACE: run in the process's own user "
                          "namespace, and see what the security module says");
}
