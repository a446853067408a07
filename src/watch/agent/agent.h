/*
 * The preload agent: what its files share. agent.c is the place to begin.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "framewalk/calls.h"
#include "framewalk/hang.h"
#include "report/fwr_write.h"
#include "watch/agent/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AGENT_EXPORT __attribute__((visibility("default")))
/* Read before every wait of every thread: one instruction. */
#define AGENT_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

enum {
    AGENT_SETTINGS = 16384, /* bytes of FRAMEWALK_AGENT */
    AGENT_WRITE_SECONDS = 2 /* what a program that is killed loses of its calls */
};

/* ---- settings.c: FRAMEWALK_AGENT, and the environment that the program and its children see ----
 */

struct agent_settings {
    bool present;       /* `framewalk run` started this process, or one that was followed here */
    const char *out;    /* folder of reports */
    const char *status; /* folder of status files */
    const char *version, *build; /* of the program, for its reports; NULL: not known */
    uint32_t hang_ms, severe_ms;
    bool any_wait;     /* every wait is idle */
    bool from_start;   /* the time before the first wait is a turn, too */
    bool follow;       /* children are watched like this one */
    bool no_scripts;   /* do not ask interpreters where they are */
    bool keep_starved; /* report also turns that waited for a processor */
    bool app_callers;  /* count only calls by the program's own image */
    const char *calls[FW_CALLS_NAMES];
    size_t call_count;
};
extern struct agent_settings agent_settings;

/* Reads the settings, and takes agent and settings out of the environment unless children are to be
 * followed. In the constructor. */
void settings_read(void);
/* `environment` with the agent in it, in memory of the caller's: `room.pointers` pointers and
 * `room.text` bytes. NULL: it is in there. Safe between vfork() and execve(). */
struct settings_room {
    size_t pointers, text;
};
struct settings_room settings_room(char *const *environment);
char **settings_environment(char *const *environment, char **pointers, char *text);
/* The same without the agent. NULL: it is not in there. */
char **settings_without(char *const *environment, char **pointers, char *text);
/* What `framewalk run` added to NODE_OPTIONS for this process goes, before it has children. */
void settings_forget_options(void);

/* ---- agent.c: life ---- */

enum agent_stage {
    AGENT_OFF,
    AGENT_LOADED_ONLY,
    AGENT_STARTED,
    AGENT_READY,
    AGENT_PAUSED,
    AGENT_DONE
};

struct agent {
    _Atomic int stage;  /* enum agent_stage */
    _Atomic(pid_t) pid; /* the process that is watched: others share our memory after vfork */
    pid_t thread;       /* its watched thread */
    _Atomic(struct fw_hang_watch *) watch;
    struct fw_hang_monitor *monitor;
    struct fw_calls *calls;
    struct fw_reports *reports;
    struct status *status; /* NULL: none could be made */
    struct status *told;   /* the same, and of a child of fork() its parent's; or NULL */
};
extern struct agent agent;

/* The calling thread is the watched one, and the agent is on. */
extern AGENT_THREAD bool agent_here;

/* Starts watching, from the watched thread, when that can be done where it is now. */
void agent_start(void);
/* Does the caller run in a signal handler, or somewhere where that cannot be told? */
bool agent_in_handler(void);
/* All that is known goes to disk; and the monitor ends, when `last`. Waits at most two seconds.
 * Async-signal-safe. Nothing in processes that are not watched. */
void agent_write(bool last);

/* Ends our threads, when the caller is the program's only one, until agent_resume(). False, and
 * nothing is to be resumed: there are none, or others of the program's. */
bool agent_pause(void);
void agent_resume(void);
/* Ends our threads for good; the status file says why. */
void agent_retire(const char *why);

/* ---- watching.c: what the agent's thread watches; all from there ---- */

void watching_begin(void);
/* Ends the threads that watch; what they know stays. */
void watching_pause(void);
void watching_resume(void);
/* How many threads of ours there are when all have begun. */
unsigned watching_threads(void);

/* Nothing looks at the program's threads until agent_hold(false), which keeps errno.
 * Async-signal-safe. */
void agent_hold(bool hold);

/* ---- fit.c: programs that are about to be executed ---- */

enum fit {
    FIT_GOOD,
    FIT_UNKNOWN, /* it cannot be read, or there is no such thing as a loader in it */
    FIT_MISSING, /* there is no such file: nothing will be executed */
    FIT_STATIC,  /* nothing is loaded into it */
    FIT_OTHER_LOADER,
    FIT_OTHER_CLASS, /* or of another machine */
};
/* In the constructor, before the others. */
void fit_begin(void);
/* Does the agent fit into the program at `path`? Safe between vfork() and execve(). */
enum fit fit_of(const char *path);
/* Into that which execvp() finds. */
enum fit fit_of_name(const char *name);

/* ---- status.c: what `framewalk run` is told ---- */

/* NULL when it cannot be had. With all signals blocked: a limit of file size is an error then, not
 * a signal. */
struct status *status_make(void);
void status_failure(const char *what, const char *why);
/* The process is about to become another program; or that failed. Both async-signal-safe. */
void status_leaves(bool leaves);
/* A program is about to be executed without the agent, which does not fit; or that failed. */
void status_unfit(const char *program, enum fit fit);
void status_unfit_stayed(void);
/* What call watch and hang monitor know now. */
void status_calls(void);
void status_hangs(void);

/* ---- python.c: where a Python program is ---- */

/* Looks for CPython in the process. From the agent's thread. */
void python_find(void);
/* From the watched thread, until it returns true. */
bool python_meet(void);
/* The same for a program that may not wait for long: from the agent's thread, until it returns
 * true.
 */
bool python_will_meet(void);
/* Adds the Python stack of the watched thread to a hang's report. From the monitor's thread. */
void python_annotate(void *context, struct fwr_writer *writer, uint64_t thread, uint64_t at_ns);

#endif
