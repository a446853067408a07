/*
 * Reading /proc/self/task: proc(5), Linux Documentation/filesystems/proc.rst.
 *
 * Invariant: what a file says is parsed inside the bytes that were read, never beyond; a file that
 * does not look as documented counts as one that says nothing.
 */
#include "os/linux/tasks.h"

#include "os/linux/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <time.h>

enum {
    LIST_PASSES = 16,    /* reads of a list that keeps changing */
    STATUS_BYTES = 2048, /* a piece of `status`: most are smaller as a whole */
    DIRENT_NAME = 19,    /* offset of d_name in struct linux_dirent64 */
    DIRENT_LENGTH = 16,  /* offset of d_reclen */
};

/* The decimal number at `text`; false unless digits reach up to `end` or a byte that is none. */
static bool parse_decimal(const char **text, const char *end, uint64_t *value)
{
    const char *p = *text;
    *value = 0;
    while (p < end && *p >= '0' && *p <= '9' && *value < UINT64_MAX / 10 - 10)
        *value = *value * 10 + (uint64_t)(*p++ - '0');
    bool any = p > *text;
    *text = p;
    return any;
}

static bool parse_hex(const char **text, const char *end, uint64_t *value)
{
    const char *p = *text;
    *value = 0;
    for (; p < end && *value < (uint64_t)1 << 60; p++) {
        char c = *p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            break;
        *value = *value << 4 | digit;
    }
    bool any = p > *text;
    *text = p;
    return any;
}

/* Opens /proc/self/task/ID/FILE; -errno when that fails. */
static long open_task_file(fw_thread_id id, const char *file)
{
    char path[64] = "/proc/self/task/";
    char digits[12];
    size_t n = 0, at = strlen(path);
    uint32_t left = (uint32_t)id;
    do {
        digits[n++] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    while (n)
        path[at++] = digits[--n];
    path[at++] = '/';
    memcpy(path + at, file, strlen(file) + 1);
    return sys_open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads the start of /proc/self/task/ID/FILE; returns how many bytes, or -errno. */
static long read_task_file(fw_thread_id id, const char *file, char *to, size_t size)
{
    long fd = open_task_file(id, file);
    if (fd < 0)
        return fd;
    long got = sys_read((int)fd, to, size);
    sys_close((int)fd);
    return got;
}

static fw_error error_of(long result)
{
    if (result == -ENOENT || result == -ESRCH)
        return FW_ERR_NOT_FOUND;
    if (result == -EACCES || result == -EPERM)
        return FW_ERR_PERMISSION;
    return result < 0 ? FW_ERR_SYSTEM : FW_OK;
}

struct pass {
    os_thread_call *each;
    void *context;
    unsigned number;
    fw_thread_id self;
    size_t count;
    bool self_seen;
};

static void take_entries(struct pass *pass, const char *entries, size_t size)
{
    for (size_t at = 0; at + DIRENT_NAME < size;) {
        uint16_t length;
        memcpy(&length, entries + at + DIRENT_LENGTH, sizeof length);
        if (length <= DIRENT_NAME || length > size - at)
            return;
        const char *name = entries + at + DIRENT_NAME;
        uint64_t id;
        if (parse_decimal(&name, entries + at + length, &id) && id <= INT32_MAX) {
            pass->count++;
            pass->self_seen |= (fw_thread_id)id == pass->self;
            pass->each(pass->context, pass->number, (fw_thread_id)id);
        }
        at += length;
    }
}

/* How many threads the directory stands for: its link count is theirs plus two. */
static bool count_of_directory(int fd, size_t *count)
{
    struct statx about = {0};
    /* Five arguments; the sixth is ignored. */
    long result = sys_call6(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_NLINK, (long)&about, 0);
    if (result < 0 || about.stx_nlink < 3)
        return false;
    *count = about.stx_nlink - 2;
    return true;
}

/* The kernel ends a listing early when the task it stands at exits. New tasks stand last, so a pass
 * is whole when it brings as many as the directory counted before. Where /proc belongs to another
 * pid namespace its ids would mean other threads, and this one is not among them. */
fw_error os_threads_each(os_thread_call *each, void *context)
{
    _Alignas(8) char entries[4096];
    size_t before = 0;
    bool self_seen = false;
    for (unsigned i = 0; i < LIST_PASSES; i++) {
        long fd = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return fd == -ENOENT ? FW_ERR_UNSUPPORTED : error_of(fd);
        struct pass pass = {.each = each, .context = context, .number = i, .self = sys_gettid()};
        size_t told = before;
        bool counted = count_of_directory((int)fd, &told);
        long got;
        while ((got = sys_getdents64((int)fd, entries, sizeof entries)) > 0)
            take_entries(&pass, entries, (size_t)got);
        sys_close((int)fd);
        if (got < 0)
            return error_of(got);
        self_seen |= pass.self_seen;
        /* Without a link count: two passes that agree. */
        if (self_seen && (counted ? pass.count >= told : pass.count == told))
            return FW_OK;
        before = pass.count;
    }
    return self_seen ? FW_OK : FW_ERR_UNSUPPORTED;
}

/* An id is a number that nobody can hold; it stays the thread's at least until the caller looks. */
bool os_thread_keep(fw_thread_id id)
{
    return sys_tgkill(sys_getpid(), id, 0) != -ESRCH;
}

void os_thread_release(fw_thread_id id)
{
    (void)id;
}

/* "ID (NAME) STATE ...": the name may hold anything, so it ends at the last parenthesis; only
 * numbers follow the state. */
void os_thread_describe(struct fw_thread *thread, bool names)
{
    char text[256];
    thread->system_id = (uint64_t)thread->id;
    if (!names)
        return;
    long got = read_task_file(thread->id, "stat", text, sizeof text);
    if (got <= 0)
        return;
    const char *open = memchr(text, '(', (size_t)got);
    const char *close = memrchr(text, ')', (size_t)got);
    if (!open || !close || close < open || close + 2 >= text + got)
        return;
    size_t length = (size_t)(close - open) - 1;
    if (length >= FW_THREAD_NAME_SIZE)
        length = FW_THREAD_NAME_SIZE - 1;
    memcpy(thread->name, open + 1, length);
    thread->name[length] = 0;
    thread->state = close[2];
}

fw_thread_id fw_thread_self(void)
{
    return sys_gettid();
}

fw_thread_id fw_thread_main(void)
{
    return sys_getpid();
}

/* The lines of `status` that count, in the kernel's order. */
enum { STATE, PENDING, BLOCKED, WILLING, FORCED, STATUS_KEYS };
static const char *const status_key[STATUS_KEYS] = {
    [STATE] = "State:\t",
    [PENDING] = "SigPnd:\t",
    [BLOCKED] = "SigBlk:\t",
    [WILLING] = "voluntary_ctxt_switches:\t",
    [FORCED] = "nonvoluntary_ctxt_switches:\t",
};

static bool take_status(unsigned key, const char *p, const char *end, struct task_status *status)
{
    uint64_t count;
    switch (key) {
    case STATE: status->state = *p; return p < end;
    case PENDING: return parse_hex(&p, end, &status->pending);
    case BLOCKED: return parse_hex(&p, end, &status->blocked);
    default:
        if (!parse_decimal(&p, end, &count))
            return false;
        status->switches += count;
        return true;
    }
}

/* Takes the whole lines of `text`; returns the bytes behind the last one, which are to come again
 * in front of more. */
static size_t take_status_lines(const char *text, size_t size, struct task_status *status,
                                unsigned *found)
{
    const char *line = text, *end = text + size, *next;
    for (; (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1)
        for (unsigned key = 0; key < STATUS_KEYS; key++) {
            size_t length = strlen(status_key[key]);
            if (!(*found >> key & 1) && (size_t)(next - line) > length &&
                memcmp(line, status_key[key], length) == 0 &&
                take_status(key, line + length, next, status))
                *found |= 1u << key;
        }
    return (size_t)(end - line);
}

fw_error tasks_status(fw_thread_id id, struct task_status *status)
{
    const unsigned all = (1u << STATUS_KEYS) - 1;
    char text[STATUS_BYTES];
    size_t kept = 0;
    unsigned found = 0;
    *status = (struct task_status){.state = '?'};
    long fd = open_task_file(id, "status"), got = 0;
    if (fd == -ENOENT && os_thread_keep(id))
        return FW_ERR_UNSUPPORTED; /* there is no /proc here: a chroot */
    if (fd < 0)
        return error_of(fd);
    while (found != all && (got = sys_read((int)fd, text + kept, sizeof text - kept)) > 0) {
        size_t size = kept + (size_t)got;
        kept = take_status_lines(text, size, status, &found);
        if (kept == sizeof text) /* a long list: only its end is kept, to find the next line */
            kept = 1;
        memmove(text, text + size - kept, kept);
    }
    sys_close((int)fd);
    if (found == all)
        return FW_OK;
    if (got < 0)
        return error_of(got);
    return found ? FW_ERR_UNSUPPORTED : FW_ERR_NOT_FOUND;
}

/* "NUMBER 0xARG{6} 0xSP 0xPC" in a system call, "-1 0xSP 0xPC" stopped or faulted elsewhere,
 * "running" on a processor. */
fw_error tasks_registers(fw_thread_id id, struct task_registers *registers)
{
    char text[256];
    long got = read_task_file(id, "syscall", text, sizeof text);
    if (got == -ENOENT)
        return os_thread_keep(id) ? FW_ERR_UNSUPPORTED : FW_ERR_NOT_FOUND;
    if (got <= 0)
        return got == 0 ? FW_ERR_NOT_FOUND : error_of(got);
    const char *end = text + got, *p = text;
    if (*p == 'r')
        return FW_ERR_VANISHED;
    uint64_t value[8];
    unsigned count = 0;
    while (count < 8 && (p = memmem(p, (size_t)(end - p), " 0x", 3))) {
        p += 3;
        if (!parse_hex(&p, end, &value[count]))
            return FW_ERR_UNSUPPORTED;
        count++;
    }
    if (count != 8 && count != 2)
        return FW_ERR_UNSUPPORTED;
    *registers = (struct task_registers){.in_call = count == 8};
    if (registers->in_call)
        memcpy(registers->argument, value, sizeof registers->argument);
    registers->sp = value[count - 2];
    registers->pc = value[count - 1];
    return FW_OK;
}

/* Its clock: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED, below the complement of the id. */
uint64_t tasks_cpu_ns(fw_thread_id id)
{
    struct timespec ran;
    if (clock_gettime((clockid_t)(~(unsigned)id << 3 | 4 | 2), &ran) != 0)
        return 0;
    return (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
}

/* The last of the numbers in `stat`. */
int tasks_exit_status(fw_thread_id id)
{
    char text[1024];
    const long got = read_task_file(id, "stat", text, sizeof text);
    const char *end = got > 0 ? text + got - 1 : text, *last = end;
    uint64_t status = 0;
    while (last > text && last[-1] != ' ')
        last--;
    return got > 0 && got < (long)sizeof text && *end == '\n' && parse_decimal(&last, end, &status)
               ? (int)status
               : 0;
}
