/*
 * Starting the program under watch, and waiting for it.
 *
 * The program is this process's child, in the same process group: what is typed at the terminal
 * reaches both, so this process ignores SIGINT and SIGQUIT and lives to print the summary. Other
 * signals that end processes are handed on to the program, whose end is then ours.
 *
 * With --follow this process becomes the reaper of what the program leaves behind (PR_SET_CHILD_
 * SUBREAPER): daemons are waited for as well, and get SIGINT, SIGTERM and SIGHUP from here, since
 * they left the terminal.
 */
#include "cli/cli.h"
#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, SETTINGS_SIZE = 16384 };

static volatile sig_atomic_t program_pid; /* of the signal handler */
static volatile sig_atomic_t program_gone;

static uint64_t now_ms(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* ---- the environment ---- */

/* V8 names each function's code, and gives interpreted functions code of their own. */
static const char node_options[] = "--perf-basic-prof --interpreted-frames-native-stack ";

static bool set_front(const char *name, const char *front, const char *between)
{
    const char *before = getenv(name);
    char *whole;
    if (asprintf(&whole, "%s%s%s", front, before && *before ? between : "", before ? before : "") <
        0)
        return false;
    bool set = setenv(name, whole, 1) == 0;
    free(whole);
    return set;
}

static char *settings_text(const struct run_options *o, const struct run_program *program,
                           const struct run_folders *folders)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "agent=%s\nout=%s\nstatus=%s\nhang=%u\nsevere=%u\n", program->agent,
            folders->reports, folders->status, o->hang_ms, o->severe_ms);
    if (o->app_version)
        fprintf(to, "version=%s\n", o->app_version);
    if (o->app_build)
        fprintf(to, "build=%s\n", o->app_build);
    fprintf(to, "%s%s%s%s", o->any_wait ? "any=1\n" : "", o->from_start ? "start=1\n" : "",
            o->follow ? "follow=1\n" : "", o->keep_starved ? "starved=1\n" : "");
    fprintf(to, "%s%s", o->no_script_names ? "noscripts=1\n" : "", o->app_callers ? "app=1\n" : "");
    if (program->is_node && !o->no_script_names)
        fprintf(to, "options=%s\n", node_options);
    for (size_t i = 0; i < o->call_count; i++)
        fprintf(to, "%s%s", i ? "," : "calls=", o->calls[i]);
    if (fclose(to) == 0 && size < SETTINGS_SIZE - 32)
        return text;
    free(text);
    errno = E2BIG;
    return NULL;
}

static bool set_environment(const struct run_options *o, const struct run_program *program,
                            const struct run_folders *folders)
{
    char *text = settings_text(o, program, folders);
    bool set = text && setenv("FRAMEWALK_AGENT", text, 1) == 0 &&
               set_front("LD_PRELOAD", program->agent, ":");
    if (set && program->is_node && !o->no_script_names)
        set = set_front("NODE_OPTIONS", node_options, "");
    if (set)
        set = set_front("ASAN_OPTIONS", AGENT_ASAN_OPTION, ":");
    free(text);
    return set;
}

/* ---- signals ---- */

static const int handed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};
static const int from_terminal[] = {SIGINT, SIGQUIT};
enum {
    HANDED_ON = sizeof handed_on / sizeof *handed_on,
    FROM_TERMINAL = sizeof from_terminal / sizeof *from_terminal
};

struct signals {
    struct sigaction handed_on[HANDED_ON], from_terminal[FROM_TERMINAL];
};

/* Those whose parent is this process: with --follow also those that lost theirs. */
static void signal_children(int number)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(path, "re");
    int pid;
    while (list && fscanf(list, "%d", &pid) == 1)
        kill(pid, number);
    if (list)
        fclose(list);
}

static volatile sig_atomic_t to_hand_on;

static void hand_on(int number)
{
    int saved = errno;
    if (program_gone)
        to_hand_on = number; /* the loop does it */
    else if (program_pid > 0)
        kill((pid_t)program_pid, number);
    errno = saved;
}

static void take_signals(struct signals *before)
{
    struct sigaction handler = {.sa_handler = hand_on}, ignored = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < HANDED_ON; i++)
        sigaction(handed_on[i], &handler, &before->handed_on[i]);
    for (size_t i = 0; i < FROM_TERMINAL; i++)
        sigaction(from_terminal[i], &ignored, &before->from_terminal[i]);
}

static void give_back_signals(const struct signals *before)
{
    for (size_t i = 0; i < HANDED_ON; i++)
        sigaction(handed_on[i], &before->handed_on[i], NULL);
    for (size_t i = 0; i < FROM_TERMINAL; i++)
        sigaction(from_terminal[i], &before->from_terminal[i], NULL);
}

/* ---- the child ---- */

__attribute__((noreturn)) static void become(const struct run_options *o,
                                             const struct run_program *program,
                                             const struct run_folders *folders,
                                             const struct signals *before)
{
    if (!set_environment(o, program, folders)) {
        cli_error("cannot set the program's environment: %s", strerror(errno));
        _exit(EXIT_NOT_EXECUTABLE);
    }
    give_back_signals(before);
    execvp(program->path, o->program);
    int reason = errno;
    cli_error("cannot run '%s': %s", program->path, strerror(reason));
    _exit(reason == ENOENT ? 127 : EXIT_NOT_EXECUTABLE);
}

/* ---- waiting ---- */

/* What the program left: until all are gone. */
static void wait_for_rest(void)
{
    struct sigaction handler = {.sa_handler = hand_on};
    program_gone = 1;
    for (size_t i = 0; i < FROM_TERMINAL; i++)
        sigaction(from_terminal[i], &handler, NULL);
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return;
        if (to_hand_on) {
            signal_children(to_hand_on);
            to_hand_on = 0;
        }
    }
}

static bool wait_for_program(struct run_end *end)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == end->pid) {
            end->status = status;
            end->ended_ms = now_ms(CLOCK_REALTIME);
            return true;
        }
        if (pid < 0 && errno != EINTR)
            return false;
    }
}

bool run_launch(const struct run_options *o, const struct run_program *program,
                const struct run_folders *folders, struct run_end *end, int *code)
{
    struct signals before;
    uint64_t started = now_ms(CLOCK_MONOTONIC);
    *end = (struct run_end){.started_ms = now_ms(CLOCK_REALTIME)};
    if (o->follow)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    fflush(NULL);
    take_signals(&before);
    end->pid = fork();
    if (end->pid == 0)
        become(o, program, folders, &before);
    program_pid = end->pid;
    bool ran = end->pid > 0 && wait_for_program(end);
    if (!ran) {
        cli_error("cannot start a process: %s", strerror(errno));
        *code = RUN_NOT_STARTED;
    } else if (o->follow)
        wait_for_rest();
    end->duration_ms = now_ms(CLOCK_MONOTONIC) - started;
    give_back_signals(&before);
    return ran;
}

int run_exit_code(const struct run_end *end)
{
    return WIFSIGNALED(end->status) ? 128 + WTERMSIG(end->status) : WEXITSTATUS(end->status);
}

/* A core of this process would be taken for the program's, and be written over it: none is wanted,
 * from a handler that the kernel starts neither (core(5): such are not bound by RLIMIT_CORE). */
void run_end_alike(const struct run_end *end)
{
    if (!WIFSIGNALED(end->status))
        return;
    const int number = WTERMSIG(end->status);
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t only;
    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    sigaction(number, &by_default, NULL); /* fails for SIGKILL, which needs none */
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    kill(getpid(), number);
}
