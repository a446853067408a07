/* The parent's side: start, read, wait, explain. */
#include "collector/sandbox.h"

#include "base/failure.h"
#include "collector/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 4096, /* the longest line has a name, a message and an id, escaped */
    LINES_MAX = 2000000,
    TICK_MS = 1000,
    REAP_MS = 10,
    LOWEST_FREE = 10, /* descriptors that the child's own cannot be mixed up with */
};

struct child {
    pid_t pid;
    int pipe;
    const struct sandbox_limits *limits;
    bool (*line)(void *context, const json_t *object);
    void *context;
    char text[LINE_MAX_BYTES];
    size_t size, lines;
    char name[128]; /* of the file in hand, as the child says */
    bool ended;     /* it said that it came to the end */
    struct fw_failure *why;
};

/* ---- start ---- */

static bool prepare_files(posix_spawn_file_actions_t *actions, const int from[4])
{
    for (int to = 0; to < 4; to++)
        if (posix_spawn_file_actions_adddup2(actions, from[to], to) != 0)
            return false;
    return true;
}

static int spawn(struct child *c, const char *program, const int from[4], const char *name)
{
    const struct lockdown_limits *l = &c->limits->child;
    char numbers[5][24];
    const uint64_t values[5] = {l->memory, l->seconds, l->file, l->mapped, c->limits->unpacked};
    for (int i = 0; i < 5; i++)
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, values[i]);
    char *const argv[] = {(char *)"framewalk-converter",
                          numbers[0],
                          numbers[1],
                          numbers[2],
                          numbers[3],
                          numbers[4],
                          (char *)name,
                          NULL};
    /* One arena: memory is for the conversion. */
    char *const environment[] = {(char *)"LC_ALL=C.UTF-8", (char *)"MALLOC_ARENA_MAX=2", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = prepare_files(&actions, from)
                    ? posix_spawn(&c->pid, program, &actions, &attributes, argv, environment)
                    : ENOMEM;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static fw_error start(struct child *c, const char *program, int input, int folder, const char *name)
{
    int ends[2] = {-1, -1}, from[4] = {-1, -1, -1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return failure_say(c->why, FW_ERR_SYSTEM, errno, "no pipe: %s", strerror(errno));
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int wanted[4] = {input, ends[1], null, folder};
    int error = 0;
    for (int i = 0; i < 4 && !error; i++)
        if ((from[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, LOWEST_FREE)) < 0)
            error = errno;
    if (!error && lseek(input, 0, SEEK_SET) != 0)
        error = errno;
    if (!error)
        error = spawn(c, program, from, name);
    for (int i = 0; i < 4; i++)
        if (from[i] >= 0)
            close(from[i]);
    if (null >= 0)
        close(null);
    close(ends[1]);
    c->pipe = ends[0];
    if (error)
        return failure_say(c->why, FW_ERR_SYSTEM, error, "%s cannot be started: %s", program,
                           strerror(error));
    return FW_OK;
}

/* ---- what it says ---- */

static fw_error take_line(struct child *c, const char *text, size_t size)
{
    json_t *object = json_loadb(text, size, 0, NULL);
    fw_error error = FW_OK;
    const json_t *said = json_object_get(object, "error");
    const char *begin = json_string_value(json_object_get(object, "begin"));
    if (++c->lines > LINES_MAX || !json_is_object(object)) {
        error = failure_say(c->why, FW_ERR_CORRUPT, 0, "the converter says what it never should");
    } else if (said) {
        const char *message = json_string_value(json_object_get(said, "message"));
        json_int_t code = json_integer_value(json_object_get(said, "code"));
        error = failure_say(c->why,
                            code > FW_OK && code <= FW_ERR_SYSTEM ? (fw_error)code : FW_ERR_CORRUPT,
                            0, "%s", message ? message : "it cannot be unpacked");
    } else if (begin) {
        snprintf(c->name, sizeof c->name, "%s", begin);
    }
    c->ended |= json_object_get(object, "end") != NULL;
    if (!error && !c->line(c->context, object))
        error = failure_say(c->why, FW_ERR_TIMEOUT, 0, "given up");
    json_decref(object);
    return error;
}

static fw_error take_bytes(struct child *c)
{
    char *from = c->text, *end;
    size_t left = c->size;
    fw_error error = FW_OK;
    while (!error && (end = memchr(from, '\n', left)) != NULL) {
        error = take_line(c, from, (size_t)(end - from));
        left -= (size_t)(end + 1 - from);
        from = end + 1;
    }
    memmove(c->text, from, left);
    c->size = left;
    if (!error && left == sizeof c->text)
        error = failure_say(c->why, FW_ERR_CORRUPT, 0, "the converter says what it never should");
    return error;
}

/* To the end of what it says, or to the deadline. */
static fw_error listen_to(struct child *c, int64_t deadline)
{
    int64_t tick = clock_ms() + TICK_MS;
    for (;;) {
        struct pollfd poll_pipe = {.fd = c->pipe, .events = POLLIN};
        int ready = poll(&poll_pipe, 1, TICK_MS);
        int64_t now = clock_ms();
        if (now >= deadline)
            return failure_say(c->why, FW_ERR_FULL, 0,
                               "%s: takes longer than %" PRIu64 " seconds: --convert-seconds",
                               c->name, c->limits->wall_seconds);
        if (now >= tick) {
            tick = now + TICK_MS;
            if (!c->line(c->context, NULL))
                return failure_say(c->why, FW_ERR_TIMEOUT, 0, "given up");
        }
        if (ready <= 0)
            continue;
        ssize_t n = read(c->pipe, c->text + c->size, sizeof c->text - c->size);
        if (n == 0)
            return FW_OK;
        if (n < 0 && errno != EINTR)
            return failure_say(c->why, FW_ERR_SYSTEM, errno, "the converter cannot be heard");
        c->size += n > 0 ? (size_t)n : 0;
        fw_error error = take_bytes(c);
        if (error != FW_OK)
            return error;
    }
}

/* ---- how it ended ---- */

/* Waits for the child to end by itself, then ends it. Its number is ours until it is waited for. */
static int reap(const struct child *c, int64_t deadline)
{
    int status = 0;
    pid_t done;
    while ((done = waitpid(c->pid, &status, WNOHANG)) == 0 && clock_ms() < deadline)
        poll(NULL, 0, REAP_MS);
    if (done == 0) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    return status;
}

static fw_error explain(struct child *c, int status)
{
    const struct lockdown_limits *l = &c->limits->child;
    const char *name = c->name;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && c->ended)
        return FW_OK;
    if (WIFEXITED(status))
        return failure_say(c->why, FW_ERR_CORRUPT, 0, "%s: the converter ended early (status %d)",
                           name, WEXITSTATUS(status));
    switch (WTERMSIG(status)) {
    case SIGXCPU:
        return failure_say(c->why, FW_ERR_FULL, 0,
                           "%s: needs more than %" PRIu64
                           " seconds of processor time: --convert-seconds",
                           name, l->seconds);
    case SIGSYS:
        return failure_say(c->why, FW_ERR_CORRUPT, 0,
                           "%s: the converter was stopped: it asked the system for what it is not "
                           "allowed",
                           name);
    case SIGKILL:
        return failure_say(c->why, FW_ERR_FULL, 0,
                           "%s: the converter was killed, most probably for want of memory", name);
    default:
        return failure_say(c->why, FW_ERR_CORRUPT, 0, "%s: the converter failed on it (signal %d)",
                           name, WTERMSIG(status));
    }
}

fw_error sandbox_run(const char *program, int input, int folder, const char *name,
                     const struct sandbox_limits *limits,
                     bool (*line)(void *context, const json_t *object), void *context,
                     struct fw_failure *why)
{
    struct child *c = calloc(1, sizeof *c);
    struct fw_failure own;
    if (!c)
        return failure_memory(why);
    *c = (struct child){.pid = -1, .pipe = -1, .limits = limits, .line = line, .context = context};
    c->why = why ? why : &own;
    snprintf(c->name, sizeof c->name, "%s", name);
    fw_error error = start(c, program, input, folder, name);
    if (error == FW_OK) {
        int status = 0;
        int64_t deadline = clock_ms() + (int64_t)limits->wall_seconds * 1000;
        error = listen_to(c, deadline);
        status = reap(c, error == FW_OK ? deadline : 0);
        if (error == FW_OK)
            error = explain(c, status);
    }
    if (c->pipe >= 0)
        close(c->pipe);
    free(c);
    return error;
}

int sandbox_open(int folder, char kind, unsigned number)
{
    char name[16];
    struct stat about;
    snprintf(name, sizeof name, "%c%u", kind, number);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        fd = -1;
    }
    /* A child of root made it as nobody. */
    if (fd >= 0 && geteuid() == 0 && fchown(fd, 0, 0) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}
