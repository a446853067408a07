/*
 * The next program of a process that is watched: exec in the watched process itself (a script that
 * ends in `exec program`), and with --follow all children's programs.
 *
 * The agent took itself out of the environment (settings.c), or the program made one of its own;
 * here it is put into the one that the next program gets, or taken out where it does not fit into
 * that program (fit.c). All of it stands on the stack: between vfork() and exec the memory is the
 * parent's. posix_spawn of a child that is not followed,
 * system() and popen() need nothing: they inherit a clean environment. With --follow these two
 * inherit the agent unless the program cleared its environment.
 */
#include "watch/agent/agent.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static bool is_watched_process(void)
{
    return agent_settings.present && getpid() == atomic_load(&agent.pid);
}

enum entry { AS_IT_IS, WITH_AGENT, WITHOUT_AGENT };

/* A static program gets the agent for what it starts, and only where that is to be followed. */
static enum entry entry_for(const char *program, enum fit fit)
{
    if (fit == FIT_GOOD || fit == FIT_UNKNOWN || fit == FIT_MISSING ||
        (fit == FIT_STATIC && agent_settings.follow))
        return WITH_AGENT;
    status_unfit(program, fit);
    return WITHOUT_AGENT;
}

/* Is the program that this process becomes to be watched? Then what is known is written before: the
 * threads end with the old program. Nothing is done for a program that is not there. */
static enum entry before_exec(const char *program, enum fit fit_of_program(const char *))
{
    const bool watched = is_watched_process();
    if (!watched && !(agent_settings.present && agent_settings.follow))
        return AS_IT_IS;
    const enum fit fit = fit_of_program(program);
    if (fit == FIT_MISSING)
        return AS_IT_IS;
    if (watched) {
        agent_write(false);
        agent_hold(true);
        status_leaves(true);
    }
    return entry_for(program, fit);
}

/* It failed: the old program goes on. */
static int stayed(int result, enum entry entry)
{
    if (entry == WITHOUT_AGENT)
        status_unfit_stayed();
    if (entry != AS_IT_IS && is_watched_process()) {
        status_leaves(false);
        agent_hold(false);
    }
    return result;
}

/* `environment` with or without the agent in it, on the caller's stack frame; or as it is. */
#define ENTER(entry, environment)                                                                  \
    if (entry != AS_IT_IS) {                                                                       \
        struct settings_room room = settings_room(environment);                                    \
        char *text = alloca(room.text);                                                            \
        char **pointers = alloca(room.pointers * sizeof *pointers);                                \
        char **entered = entry == WITH_AGENT ? settings_environment(environment, pointers, text)   \
                                             : settings_without(environment, pointers, text);      \
        if (entered)                                                                               \
            environment = entered;                                                                 \
    }

typedef int execve_call(const char *, char *const *, char *const *);
typedef int fexecve_call(int, char *const *, char *const *);
typedef int spawn_call(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const *, char *const *);

/* Looked up in the constructor: nothing may be between vfork() and exec. */
static execve_call *next_execve, *next_execvpe;
static fexecve_call *next_fexecve;
static spawn_call *next_spawn, *next_spawnp;

__attribute__((constructor)) static void find_originals(void)
{
    next_execve = (execve_call *)dlsym(RTLD_NEXT, "execve");
    next_execvpe = (execve_call *)dlsym(RTLD_NEXT, "execvpe");
    next_fexecve = (fexecve_call *)dlsym(RTLD_NEXT, "fexecve");
    next_spawn = (spawn_call *)dlsym(RTLD_NEXT, "posix_spawn");
    next_spawnp = (spawn_call *)dlsym(RTLD_NEXT, "posix_spawnp");
}

static int run(execve_call **next, const char *path, char *const *arguments,
               char *const *environment)
{
    if (!*next)
        find_originals();
    const enum entry entry = before_exec(path, next == &next_execvpe ? fit_of_name : fit_of);
    ENTER(entry, environment)
    return stayed((*next)(path, arguments, environment), entry);
}

AGENT_EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
    return run(&next_execve, path, arguments, environment);
}

AGENT_EXPORT int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    return run(&next_execvpe, file, arguments, environment);
}

AGENT_EXPORT int execv(const char *path, char *const *arguments)
{
    return run(&next_execve, path, arguments, environ);
}

AGENT_EXPORT int execvp(const char *file, char *const *arguments)
{
    return run(&next_execvpe, file, arguments, environ);
}

/* snprintf() is not for children of vfork(). */
static void put_path(char *path, int fd)
{
    char digits[3 * sizeof fd], *at = digits + sizeof digits;
    unsigned left = fd < 0 ? 0 : (unsigned)fd;
    *--at = '\0';
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    stpcpy(stpcpy(path, "/proc/self/fd/"), at);
}

AGENT_EXPORT int fexecve(int fd, char *const *arguments, char *const *environment)
{
    if (!next_fexecve)
        find_originals();
    char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];
    put_path(path, fd);
    const enum entry entry = before_exec(path, fit_of);
    ENTER(entry, environment)
    return stayed(next_fexecve(fd, arguments, environment), entry);
}

/* The variadic ones: their arguments as an array on the stack. */
#define COLLECT(first, list, size)                                                                 \
    size_t size = 1;                                                                               \
    va_list list;                                                                                  \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *))                                                                   \
        size++;                                                                                    \
    va_end(list);                                                                                  \
    char **arguments = alloca((size + 1) * sizeof *arguments);                                     \
    va_start(list, first);                                                                         \
    arguments[0] = (char *)first;                                                                  \
    for (size_t i = 1; i <= size; i++)                                                             \
        arguments[i] = va_arg(list, char *);

AGENT_EXPORT int execl(const char *path, const char *first, ...)
{
    COLLECT(first, list, size)
    va_end(list);
    return execv(path, arguments);
}

AGENT_EXPORT int execlp(const char *file, const char *first, ...)
{
    COLLECT(first, list, size)
    va_end(list);
    return execvp(file, arguments);
}

AGENT_EXPORT int execle(const char *path, const char *first, ...)
{
    COLLECT(first, list, size)
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}

static int spawn(spawn_call **next, pid_t *pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const *arguments, char *const *environment)
{
    if (!*next)
        find_originals();
    const bool follows = agent_settings.present && agent_settings.follow;
    const enum entry entry =
        follows ? entry_for(path, next == &next_spawnp ? fit_of_name(path) : fit_of(path))
                : AS_IT_IS;
    ENTER(entry, environment)
    const int error = (*next)(pid, path, actions, attributes, arguments, environment);
    if (error && entry == WITHOUT_AGENT)
        status_unfit_stayed();
    return error;
}

AGENT_EXPORT int posix_spawn(pid_t *pid, const char *path,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const *arguments,
                             char *const *environment)
{
    return spawn(&next_spawn, pid, path, actions, attributes, arguments, environment);
}

AGENT_EXPORT int posix_spawnp(pid_t *pid, const char *file,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const *arguments,
                              char *const *environment)
{
    return spawn(&next_spawnp, pid, file, actions, attributes, arguments, environment);
}
