/*
 * Who this process is, for its reports: executable, age, system. Nothing personal: no host name, no
 * user, no serial number, no device's own name.
 *
 * Linux: proc(5), os-release(5). Apple: sysctl(3).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <TargetConditionals.h>
#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#else
#include <fcntl.h>
#include <sys/utsname.h>
#endif

#include "watch/spool_internal.h"

void spool_text_copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size) {
        length = size - 1;
        while (length && ((unsigned char)from[length] & 0xc0) == 0x80)
            length--; /* not in the middle of a character */
    }
    memcpy(to, from, length);
    to[length] = 0;
}

#ifdef __APPLE__
static const clockid_t continuous = CLOCK_MONOTONIC_RAW; /* goes on in sleep there */
#else
static const clockid_t continuous = CLOCK_BOOTTIME;
#endif

uint64_t spool_clock_ms(void)
{
    struct timespec now = {0, 0};
    clock_gettime(continuous, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#ifdef __APPLE__

static void find_system(struct spool_about *about)
{
#if TARGET_OS_OSX
    static const char name[] = "macOS";
#elif TARGET_OS_TV
    static const char name[] = "tvOS";
#elif TARGET_OS_WATCH
    static const char name[] = "watchOS";
#elif defined(TARGET_OS_VISION) && TARGET_OS_VISION
    static const char name[] = "visionOS";
#else
    static const char name[] = "iOS";
#endif
    size_t version = sizeof about->os_version, build = sizeof about->os_build;
    strcpy(about->os, name);
    if (sysctlbyname("kern.osproductversion", about->os_version, &version, NULL, 0) != 0)
        about->os_version[0] = 0; /* before macOS 10.13.4 */
    if (sysctlbyname("kern.osversion", about->os_build, &build, NULL, 0) != 0)
        about->os_build[0] = 0;
}

static void find_program(struct spool_about *about)
{
    uint32_t size = sizeof about->program;
    if (_NSGetExecutablePath(about->program, &size) != 0)
        about->program[0] = 0;
}

static uint64_t find_age_ms(void)
{
    struct kinfo_proc info;
    struct timeval now;
    size_t size = sizeof info;
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    if (sysctl(name, 4, &info, &size, NULL, 0) != 0 || size < sizeof info ||
        gettimeofday(&now, NULL) != 0)
        return 0;
    const struct timeval start = info.kp_proc.p_starttime;
    int64_t age =
        (int64_t)(now.tv_sec - start.tv_sec) * 1000 + (now.tv_usec - start.tv_usec) / 1000;
    return age > 0 ? (uint64_t)age : 0; /* the clock may have been set back */
}

#else

static size_t read_file(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t n = read(file, text, size - 1);
    close(file);
    n = n < 0 ? 0 : n;
    text[n] = 0;
    return (size_t)n;
}

/* NAME=value or NAME="value", a line each; escapes in the two values that are wanted are not met.
 */
static void release_value(const char *text, const char *name, char *to, size_t size)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || line[length] != '=')
            continue;
        const char *value = line + length + 1;
        const bool quoted = *value == '"' || *value == '\'';
        const char stop[] = {quoted ? *value : '\n', '\n', 0};
        value += quoted;
        char copy[256];
        size_t used = strcspn(value, stop);
        used = used < sizeof copy ? used : sizeof copy - 1;
        memcpy(copy, value, used);
        copy[used] = 0;
        spool_text_copy(to, size, copy);
        return;
    }
}

static void find_system(struct spool_about *about)
{
    char text[4096];
    struct utsname kernel;
    if (read_file("/etc/os-release", text, sizeof text) ||
        read_file("/usr/lib/os-release", text, sizeof text)) {
        release_value(text, "NAME", about->os, sizeof about->os);
        release_value(text, "VERSION_ID", about->os_version, sizeof about->os_version);
    }
    if (uname(&kernel) != 0)
        return;
    if (!about->os[0])
        spool_text_copy(about->os, sizeof about->os, kernel.sysname);
    spool_text_copy(about->os_build, sizeof about->os_build, kernel.release);
}

static void find_program(struct spool_about *about)
{
    static const char deleted[] = " (deleted)"; /* replaced since it was started */
    ssize_t n = readlink("/proc/self/exe", about->program, sizeof about->program - 1);
    size_t length = n > 0 ? (size_t)n : 0, suffix = sizeof deleted - 1;
    about->program[length] = 0;
    if (length > suffix && !strcmp(about->program + length - suffix, deleted))
        about->program[length - suffix] = 0;
}

/* Field 22 of /proc/self/stat, in ticks since the machine was started; the name before it may hold
 * anything, so fields are counted from its last bracket on. */
static uint64_t find_age_ms(void)
{
    enum { FIELDS = 20 };
    char text[1024];
    if (!read_file("/proc/self/stat", text, sizeof text))
        return 0;
    const char *at = strrchr(text, ')');
    for (int i = 0; i < FIELDS && at; i++)
        at = strchr(at + 1, ' ');
    long ticks = sysconf(_SC_CLK_TCK);
    if (!at || ticks <= 0)
        return 0;
    uint64_t start = strtoull(at, NULL, 10) * 1000 / (uint64_t)ticks, now = spool_clock_ms();
    return now > start ? now - start : 0;
}

#endif

void spool_about_find(struct spool_about *about)
{
    find_system(about);
    find_program(about);
    about->age_ms = find_age_ms();
    about->opened_ms = spool_clock_ms();
    if (!about->app[0]) {
        const char *slash = strrchr(about->program, '/');
        spool_text_copy(about->app, sizeof about->app, slash ? slash + 1 : about->program);
    }
}
