/*
 * `framewalk run`: what its files share.
 *
 *   run_options   command line            -> struct run_options
 *   run_check     can it be watched?      -> struct run_program
 *   run_launch    the program runs        -> struct run_end
 *   run_collect   reports, status files   -> struct run_result
 *   run_names     names for their frames, run_symbols: those of just-in-time code
 *   run_hangs, run_calls: ranked and grouped
 *   run_text, run_json: the summary
 *
 * What the program itself could have written (reports, status files, perf maps) is not trusted.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/arena.h"
#include "cli/style.h"
#include "cli/symbolicate_images.h"
#include "watch/agent/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit status when the program did not start, as of env(1) and timeout(1): their 126 and 127 are
 * used, too. A wrong command line is CLI_USAGE, as with every command. */
enum { RUN_NOT_STARTED = 125 };

/* Why a function is watched; the lower one counts. */
enum run_reason { RUN_ASKED, RUN_OF_GROUP, RUN_VARIANT /* open64 for open */ };

struct run_options {
    unsigned hang_ms, severe_ms;
    const char *calls[FW_CALLS_NAMES]; /* function names; groups are resolved */
    enum run_reason reasons[FW_CALLS_NAMES];
    size_t call_count;
    char *call_text;                     /* what they point into */
    bool app_callers;                    /* --app-only */
    const char *out;                     /* --out; NULL: a temporary folder */
    const char *app_version, *app_build; /* of the program, for its reports; NULL: not known */
    const char *to;                      /* --to URL */
    const char *key_file;                /* --key-file */
    const char *output;                  /* --output: the summary; NULL: standard error */
    const char **folders;                /* --debug, NULL-terminated */
    size_t folder_count;
    bool keep, follow, any_wait, from_start, keep_starved, no_script_names, no_debuginfod;
    bool json, quiet, verbose, help;
    enum style_when color;
    char **program; /* what stands behind the options, NULL-terminated */
};

/* False when the command line is wrong, which has been said. */
bool run_options_parse(int argc, char **argv, struct run_options *options);
void run_options_free(struct run_options *options);

/* ---- run_check.c ---- */

enum { RUN_PATH = 4096 };
struct run_program {
    char path[RUN_PATH];        /* what is executed */
    char interpreter[RUN_PATH]; /* of a script: the program that reads it; else "" */
    char agent[RUN_PATH];       /* the library that is preloaded */
    bool is_node, is_python;    /* by name */
};
/* 0, or the exit code with which to end: 127 not found, 126 not executable, as shells do;
 * CLI_FAILED when it cannot be watched. Has said why. */
int run_check(const char *word, struct run_program *program);

/* ---- run_launch.c ---- */

struct run_folders {
    char base[RUN_PATH]; /* temporary, with what is in it */
    char status[RUN_PATH];
    char reports[RUN_PATH]; /* of --out, or in `base` */
    bool keep_base;         /* the reports stay in there */
};
struct run_end {
    pid_t pid;
    int status;           /* of waitpid */
    uint64_t started_ms;  /* wall clock */
    uint64_t ended_ms;    /* of the program itself, wall clock */
    uint64_t duration_ms; /* with those that were followed */
};
/* Starts the program and waits for it, and with --follow for what it leaves running. False when it
 * could not be started, which has been said; then *code is an exit code. */
bool run_launch(const struct run_options *options, const struct run_program *program,
                const struct run_folders *folders, struct run_end *end, int *code);
/* The program's exit status as shells show it. */
int run_exit_code(const struct run_end *end);
/* Ends this process by the signal that ended the program, without a core. Returns where no signal
 * did, or where it cannot (a process 1 is not ended by most). */
void run_end_alike(const struct run_end *end);

/* ---- run_collect.c ---- */

struct run_report {
    char *path;
    uint8_t *bytes;
    size_t size;
    struct report *report;
    struct run_frames *frames; /* run_names.c */
    pid_t pid;
};
struct run_result {
    struct run_report *reports;
    size_t count, capacity;
    struct status *processes; /* of the agent, the oldest first */
    size_t process_count, process_capacity;
    size_t unreadable; /* reports that could not be read */
    pid_t ended_pid;   /* the program itself, and when it ended: wall clock */
    uint64_t ended_ms;
};
/* Names of the reports that stand in the folder before: they are not of this run. */
struct run_before {
    char **names;
    size_t count, capacity;
};
void run_before(const char *folder, struct run_before *before);
void run_before_free(struct run_before *before);

/* Completes what killed processes left, then reads the run's reports. */
bool run_collect(const struct run_folders *folders, const struct run_before *before,
                 const struct run_end *end, struct run_result *result);
void run_result_free(struct run_result *result);

/* ---- run_symbols.c ---- */

/* Puts names of just-in-time code from /tmp/perf-PID.map into the reports, the files too, and
 * removes the maps that `framewalk run` had made. */
void run_symbols(struct run_result *result, bool remove_maps);

/* ---- run_names.c ---- */

struct run_frame {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;
    const char *image; /* file name; NULL: in none */
    uint64_t offset;   /* in the image, or the address */
    bool system;       /* came with the operating system, or runs scripts: not to blame */
    bool inlined, tail, script, signal;
};
struct run_stack { /* innermost first */
    const struct run_frame *frames;
    size_t count;
    bool broken; /* the walk gave up */
};
struct run_frames;

bool run_names(const struct run_options *options, struct fw_symbolicator *symbolicator,
               struct run_result *result);
/* Stack `index` of the report's threads[]; none for REPORT_NONE. */
struct run_stack run_stack_of(const struct run_report *report, uint32_t index);
void run_frames_free(struct run_frames *frames);
/* The frame to point at: the innermost that is the program's own; else the innermost with a name.
 * NULL: there is no frame. */
const struct run_frame *run_guilty(const struct run_stack *stack);

/* ---- run_hangs.c ---- */

enum { RUN_INSIDE = 4 };
struct run_inside { /* what the guilty place did, where that changed during the hang */
    struct run_frame frame;
    unsigned percent;
};
struct run_hang {
    const struct run_report *report; /* of the longest */
    struct run_stack stack;          /* from the innermost frame that most of the time agrees on */
    struct run_inside inside[RUN_INSIDE];
    size_t inside_count;
    const struct report_script *script; /* NULL: none */
    struct run_frame guilty;
    unsigned percent;  /* of the hang's sampled time that the stack stands for */
    size_t count;      /* equal hangs */
    uint64_t total_ns; /* of all of them */
    uint64_t longest_ns;
    uint64_t first_ms;   /* wall clock of the first */
    bool fatal, unended; /* one of them ended the process, or was not over at its end */
    uint64_t key;
};
struct run_hangs {
    struct run_hang *items; /* the longest blocked first */
    size_t count, capacity;
    uint64_t total_ns;
    struct arena arena;
};
/* Of a script the innermost frame that is the program's own; where there is none, the innermost. */
uint32_t run_script_guilty(const struct report *report, const struct report_script *script);
bool run_hangs_rank(const struct run_result *result, struct run_hangs *hangs);
void run_hangs_free(struct run_hangs *hangs);

/* ---- run_calls.c ---- */

struct run_caller {
    struct run_frame caller; /* who called */
    struct run_frame own;    /* the program's function that led there; function NULL: the same */
    uint64_t count, first_ms, last_ms;
};
struct run_api {
    const char *name;
    uint64_t calls;
    enum run_reason reason;
    bool found, refused;
    uint32_t pointers, inside;
    struct run_caller *callers; /* most calls first */
    size_t caller_count, caller_capacity;
    uint64_t without; /* calls of which no stack is known */
};
struct run_calls {
    struct run_api *items; /* as they were asked for */
    size_t count;
};
bool run_calls_rank(const struct run_options *options, const struct run_result *result,
                    struct run_calls *calls);
void run_calls_free(struct run_calls *calls);

/* ---- run_text.c, run_json.c ---- */

struct run_summary {
    const struct run_options *options;
    const struct run_program *program;
    const struct run_folders *folders;
    const struct run_end *end;
    const struct run_result *result;
    const struct run_hangs *hangs;
    const struct run_calls *calls;
};
void run_print_text(const struct run_summary *summary, FILE *to);
bool run_print_json(const struct run_summary *summary, FILE *to);

int run_main(int argc, char **argv);
void run_usage(FILE *to);

#endif
