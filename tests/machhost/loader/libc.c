/*
 * libc: what is the same on both systems goes to Linux's directly in the table (table.c); here are
 * the functions whose arguments, structures or numbers differ.
 */
#include "internal.h"
#include "shims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
    int linux_error, darwin_error;
} errors[] = {
    {EAGAIN, 35},  {EDEADLK, 11},   {ENAMETOOLONG, 63}, {ENOSYS, 78},
    {ELOOP, 62},   {ETIMEDOUT, 60}, {EOVERFLOW, 84},    {EILSEQ, 92},
    {ENOTSUP, 45}, {ECANCELED, 89}, {ENOTEMPTY, 66},
};

int darwin_errno(int error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].linux_error == error)
            return errors[i].darwin_error;
    }
    return error;
}

/* The program's errno. Linux's moves into it when the program asks. */
int *shim___error(void)
{
    static __thread int darwin;
    if (errno) {
        darwin = darwin_errno(errno);
        errno = 0;
    }
    return &darwin;
}

/* printf. On arm64 the slots are read one by one, as the format asks. */
#if defined(__x86_64__)
static char *formatted(const char *format, darwin_va_list args, int *size)
{
    char *text = NULL;
    *size = vasprintf(&text, format, args);
    return *size < 0 ? NULL : text;
}
#else
struct text {
    char *data;
    size_t used, room;
};

static void append(struct text *text, const char *data, size_t size)
{
    if (text->used + size + 1 > text->room) {
        text->room = (text->used + size + 1) * 2;
        text->data = realloc(text->data, text->room);
        if (!text->data)
            abort();
    }
    memcpy(text->data + text->used, data, size);
    text->used += size;
    text->data[text->used] = 0;
}

static void append_one(struct text *text, const char *spec, char kind, bool wide, uint64_t slot)
{
    char small[512];
    double number;
    const int narrow = (int)slot;
    switch (kind) {
    case 's': {
        char *made = NULL;
        const int n = asprintf(&made, spec, (const char *)(uintptr_t)slot);
        if (n > 0)
            append(text, made, (size_t)n);
        free(made);
        return;
    }
    case 'e':
    case 'f':
    case 'g':
    case 'a':
    case 'E':
    case 'F':
    case 'G':
    case 'A':
        memcpy(&number, &slot, sizeof(number));
        snprintf(small, sizeof(small), spec, number);
        break;
    case 'p': snprintf(small, sizeof(small), spec, (void *)(uintptr_t)slot); break;
    default:
        if (wide)
            snprintf(small, sizeof(small), spec, slot);
        else
            snprintf(small, sizeof(small), spec, narrow);
    }
    append(text, small, strlen(small));
}

static char *formatted(const char *format, darwin_va_list args, int *size)
{
    struct text text = {0};
    append(&text, "", 0);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        append(&text, format, plain);
        format += plain;
        if (!*format)
            break;
        char spec[64] = "%";
        size_t length = 1;
        bool wide = false;
        format++;
        for (; *format && strchr("-+ #0123456789.*hlLqjzt", *format) && length < 40; format++) {
            if (*format == '*')
                length += (size_t)snprintf(spec + length, 16, "%d", (int)*args++);
            else if (*format != 'L' && *format != 'q') /* a long double is a double */
                spec[length++] = *format;
            wide |= strchr("lqjzt", *format) != NULL;
        }
        if (!*format)
            break;
        spec[length] = *format;
        if (*format == '%')
            append(&text, "%", 1);
        else
            append_one(&text, spec, *format, wide, *args++);
        format++;
    }
    *size = (int)text.used;
    return text.data;
}
#endif

static int print(FILE *file, const char *format, darwin_va_list args)
{
    int size = -1;
    char *text = formatted(format, args, &size);
    if (text && fwrite(text, 1, (size_t)size, file) != (size_t)size)
        size = -1;
    free(text);
    return size;
}

static int print_to(char *to, size_t room, const char *format, darwin_va_list args)
{
    int size = -1;
    char *text = formatted(format, args, &size);
    if (text && room > 0) {
        const size_t kept = (size_t)size < room ? (size_t)size : room - 1;
        memcpy(to, text, kept);
        to[kept] = 0;
    }
    free(text);
    return size;
}

int shim_printf(const char *format, DOTS)
{
    DOTS_START(args, format);
    const int size = print(stdout, format, args);
    DOTS_END(args);
    return size;
}

int shim_fprintf(FILE *file, const char *format, DOTS)
{
    DOTS_START(args, format);
    const int size = print(file, format, args);
    DOTS_END(args);
    return size;
}

int shim_snprintf(char *to, size_t room, const char *format, DOTS)
{
    DOTS_START(args, format);
    const int size = print_to(to, room, format, args);
    DOTS_END(args);
    return size;
}

int shim_sprintf(char *to, const char *format, DOTS)
{
    DOTS_START(args, format);
    const int size = print_to(to, 1 << 20, format, args);
    DOTS_END(args);
    return size;
}

int shim_vprintf(const char *format, darwin_va_list args)
{
    return print(stdout, format, args);
}

int shim_vfprintf(FILE *file, const char *format, darwin_va_list args)
{
    return print(file, format, args);
}

int shim_vsnprintf(char *to, size_t room, const char *format, darwin_va_list args)
{
    return print_to(to, room, format, args);
}

int shim_asprintf(char **text, const char *format, DOTS)
{
    DOTS_START(args, format);
    int size = -1;
    *text = formatted(format, args, &size);
    DOTS_END(args);
    return size;
}

int shim_sscanf(const char *text, const char *format, DOTS)
{
    DOTS_START(args, format);
#if defined(__x86_64__)
    const int count = vsscanf(text, format, args);
#else
    void *at[8]; /* all are pointers; there is always so much on the stack */
    memcpy(at, args, sizeof(at));
    const int count = sscanf(text, format, at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
#endif
    DOTS_END(args);
    return count;
}

/* The status of a signal's victim has Darwin's number. */
int shim_waitpid(int pid, int *status, int options)
{
    int own = 0;
    const int found = waitpid(pid, &own, options & 3);
    if (status)
        *status = WIFSIGNALED(own) ? (own & ~0x7f) | darwin_signal(WTERMSIG(own)) : own;
    return found;
}

void *shim_mmap(void *address, size_t size, int protection, int flags, int fd, long offset)
{
    const int own = (flags & 0x3) | (flags & 0x10 ? MAP_FIXED : 0) |
                    (flags & 0x1000 ? MAP_ANONYMOUS : 0) | (flags & 0x40 ? MAP_NORESERVE : 0);
    return mmap(address, size, protection, own, flags & 0x1000 ? -1 : fd, offset);
}

long shim_sysconf(int name)
{
    switch (name) {
    case 29: return sysconf(_SC_PAGESIZE);
    case 58: return sysconf(_SC_NPROCESSORS_ONLN);
    default: errno = EINVAL; return -1;
    }
}

/* Clocks. */

static clockid_t linux_clock(int clock)
{
    switch (clock) {
    case 0: return CLOCK_REALTIME;
    case 4:
    case 5: return CLOCK_BOOTTIME;
    case 6: return CLOCK_BOOTTIME;
    case 8:
    case 9: return CLOCK_MONOTONIC;
    case 12: return CLOCK_PROCESS_CPUTIME_ID;
    case 16: return CLOCK_THREAD_CPUTIME_ID;
    default: return -1;
    }
}

int shim_clock_gettime(int clock, struct timespec *now)
{
    return clock_gettime(linux_clock(clock), now);
}

uint64_t shim_clock_gettime_nsec_np(int clock)
{
    struct timespec now;
    if (clock_gettime(linux_clock(clock), &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t shim_mach_absolute_time(void)
{
    return now_ns();
}

uint64_t shim_mach_continuous_time(void)
{
    return shim_clock_gettime_nsec_np(4);
}

int shim_mach_wait_until(uint64_t deadline)
{
    const int error = errno;
    const uint64_t now = shim_mach_absolute_time();
    const uint64_t ns = deadline > now ? deadline - now : 0;
    const struct timespec span = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&span, NULL);
    errno = error;
    return 0;
}

int shim_mach_timebase_info(uint32_t info[2])
{
    info[0] = info[1] = 1;
    return 0;
}

struct darwin_timeval {
    int64_t seconds;
    int32_t microseconds;
};

int shim_gettimeofday(struct darwin_timeval *now, void *zone)
{
    (void)zone;
    struct timespec own;
    clock_gettime(CLOCK_REALTIME, &own);
    *now = (struct darwin_timeval){own.tv_sec, (int32_t)(own.tv_nsec / 1000)};
    return 0;
}

/* Interval, then value; the number of the timer is the same on both. */
int shim_setitimer(int which, const struct darwin_timeval value[2], struct darwin_timeval old[2])
{
    struct itimerval own = {{value[0].seconds, value[0].microseconds},
                            {value[1].seconds, value[1].microseconds}};
    struct itimerval before;
    if (setitimer((__itimer_which_t)which, &own, &before) != 0)
        return -1;
    if (old) {
        old[0] =
            (struct darwin_timeval){before.it_interval.tv_sec, (int32_t)before.it_interval.tv_usec};
        old[1] = (struct darwin_timeval){before.it_value.tv_sec, (int32_t)before.it_value.tv_usec};
    }
    return 0;
}

/* Text and the rest that Linux lacks. */

size_t shim_strlcpy(char *to, const char *from, size_t room)
{
    const size_t size = strlen(from);
    if (room > 0) {
        const size_t kept = size < room ? size : room - 1;
        memcpy(to, from, kept);
        to[kept] = 0;
    }
    return size;
}

size_t shim_strlcat(char *to, const char *from, size_t room)
{
    const size_t used = strnlen(to, room);
    return used == room ? used + strlen(from) : used + shim_strlcpy(to + used, from, room - used);
}

int shim_strerror_r(int error, char *text, size_t room)
{
    snprintf(text, room, "error %d", error);
    return 0;
}

char *shim_strerror(int error)
{
    static char text[32];
    snprintf(text, sizeof(text), "error %d", error);
    return text;
}

void shim___bzero(void *memory, size_t size)
{
    memset(memory, 0, size);
}

void *shim___memcpy_chk(void *to, const void *from, size_t size, size_t room)
{
    if (size > room)
        abort();
    return memcpy(to, from, size);
}

void *shim___memmove_chk(void *to, const void *from, size_t size, size_t room)
{
    if (size > room)
        abort();
    return memmove(to, from, size);
}

void *shim___memset_chk(void *to, int c, size_t size, size_t room)
{
    if (size > room)
        abort();
    return memset(to, c, size);
}

static void fill_pattern(char *to, const char *pattern, size_t width, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = pattern[i % width];
}

void shim_memset_pattern4(void *to, const void *pattern, size_t size)
{
    fill_pattern(to, pattern, 4, size);
}

void shim_memset_pattern8(void *to, const void *pattern, size_t size)
{
    fill_pattern(to, pattern, 8, size);
}

void shim_memset_pattern16(void *to, const void *pattern, size_t size)
{
    fill_pattern(to, pattern, 16, size);
}

/* What __builtin_available asks for systems newer than the deployment target: this is the oldest.
 */
int shim___isPlatformVersionAtLeast(uint32_t platform, uint32_t major, uint32_t minor,
                                    uint32_t part)
{
    (void)platform, (void)major, (void)minor, (void)part;
    return 0;
}

uint32_t shim_arc4random(void)
{
    return (uint32_t)random();
}

static __thread void *compare_function;

static int compare(const void *a, const void *b)
{
    return (int)callback(compare_function, (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b, 0);
}

void shim_qsort(void *base, size_t count, size_t width, void *function)
{
    void *const outer = compare_function;
    compare_function = function;
    qsort(base, count, width, compare);
    compare_function = outer;
}

void *shim_bsearch(const void *key, const void *base, size_t count, size_t width, void *function)
{
    void *const outer = compare_function;
    compare_function = function;
    void *found = bsearch(key, base, count, width, compare);
    compare_function = outer;
    return found;
}

/* The end. */

enum { EXIT_LIMIT = 256, STATUS_UNBALANCED = 97 };
static struct {
    void *function, *argument;
    const void *image; /* an address in the one that it belongs to, or NULL */
} exits[EXIT_LIMIT];
static unsigned exit_count;

int shim___cxa_atexit(void *function, void *argument, void *image)
{
    lock();
    const bool room = exit_count < EXIT_LIMIT;
    if (room) {
        exits[exit_count].function = function;
        exits[exit_count].image = image;
        exits[exit_count++].argument = argument;
    }
    unlock();
    return room ? 0 : -1;
}

int shim_atexit(void *function)
{
    return shim___cxa_atexit(function, NULL, NULL);
}

void run_exit_functions(const struct image *image)
{
    for (unsigned i = exit_count; i-- > 0;) {
        void *const function = exits[i].function;
        if (!function || (image && image_of((uint64_t)(uintptr_t)exits[i].image) != image))
            continue;
        exits[i].function = NULL;
        callback(function, (uint64_t)(uintptr_t)exits[i].argument, 0, 0);
    }
}

void host_exit(int status)
{
    run_exit_functions(NULL);
    fflush(NULL);
    if (machhost_report() > 0)
        status = STATUS_UNBALANCED;
    _exit(status);
}

void shim_exit(int status)
{
    host_exit(status);
}

void shim__exit(int status)
{
    fflush(NULL);
    if (machhost_report() > 0)
        status = STATUS_UNBALANCED;
    _exit(status);
}

void shim__Exit(int status)
{
    shim__exit(status);
}

void shim___assert_rtn(const char *function, const char *file, int line, const char *condition)
{
    say("assertion failed: %s, %s, %s:%d", condition, function, file, line);
    abort();
}

void shim___stack_chk_fail(void)
{
    say("a stack was smashed");
    abort();
}

const char *shim_getprogname(void)
{
    const char *slash = strrchr(image_main->path, '/');
    return slash ? slash + 1 : image_main->path;
}

void shim_sys_icache_invalidate(char *start, size_t size)
{
    __builtin___clear_cache(start, start + size);
}
