/*
 * `framewalk dump`: the model between capture and output.
 *
 * One way through: dump_options_parse -> dump.c captures into `struct dump` (samples.c merges
 * repeated captures) -> frame_lines.c reads debug files -> one of the writers below. A writer reads
 * the model and the names and decides nothing about what is whole: that was settled in `missing`
 * before it was called.
 */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "cli/style.h"
#include "framewalk/process.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum dump_format { DUMP_TEXT = 0, DUMP_JSON, DUMP_COLLAPSED };

struct dump_options {
    const char *target;     /* the PID or CORE argument */
    int32_t pid;            /* > 0: a live process; 0: `target` is a core file */
    const char *executable; /* --exe */
    const char *sysroot;    /* --sysroot */
    const char *output;     /* -o, NULL = standard output */
    enum dump_format format;
    enum style_when color;
    double seconds;      /* > 0: sample this long */
    double hz;           /* samples a second */
    fw_thread_id thread; /* --thread, 0 = all */
    uint32_t depth;      /* --depth, 0 = the default limit */
    bool full;           /* --full: no limit */
    bool consistent, no_fold, no_names, no_lines, no_demangle, verbose;
    bool help;
};

/* A stack as writers see it. In a sampled dump `frames` is a copy, otherwise fw_process's. */
struct dump_stack {
    const struct fw_frame *frames; /* innermost first */
    uint32_t count, head;          /* as in fw_stack */
    uint64_t omitted;
    uint64_t id;
    uint64_t samples; /* how often it was seen; 1 in a snapshot */
    uint8_t end;      /* fw_end */
    uint8_t unavailable;
};

struct dump_thread {
    fw_thread_id id;
    bool is_main;
    char state;                /* as in fw_thread; of the last sample */
    const char *name;          /* never NULL */
    const char *wait_channel;  /* "" when unknown */
    int32_t signal;            /* core: the signal that killed it, else 0 */
    uint64_t pause_ns;         /* the longest, over all samples */
    uint64_t samples;          /* how often it was captured; 1 in a snapshot */
    uint64_t running;          /* in how many of them it was running */
    struct dump_stack *stacks; /* most samples first */
    size_t stack_count;        /* 1 in a snapshot */
};

struct frame_lines;
struct generated;

struct dump {
    struct fw_process *process;
    struct frame_lines *lines;   /* what debug files say of all frames; NULL: not wanted */
    struct generated *generated; /* names of just-in-time code; NULL: nobody told */
    struct fw_process_info info;
    const char *core; /* path of the core file, NULL for a live process */
    struct timespec when;
    struct dump_thread *threads; /* in the order of the capture */
    size_t thread_count;

    bool sampled;
    bool interrupted;     /* sampling was ended early by a signal */
    double seconds;       /* how long sampling took */
    double asked;         /* and how long it was to take */
    uint64_t rounds;      /* samples taken */
    double hz;            /* samples a second that were asked for */
    uint32_t depth_limit; /* --depth as given by the user, 0 = none: cutting there is no loss */

    /* What is not in this dump, one sentence each; empty = it is whole. */
    char missing[16][512];
    size_t missing_count;
};

/* dump_options.c: false with a message printed when the command line is wrong. */
bool dump_options_parse(int argc, char **argv, struct dump_options *options);
void dump_usage(FILE *to);

/* dump.c */
int dump_main(int argc, char **argv);
/* Notes that something is not in the dump. */
void dump_miss(struct dump *dump, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True when the user got all of this stack that was asked for. */
bool dump_stack_is_whole(const struct dump *dump, const struct dump_stack *stack);

/* dump_files.c: notes the files that names and unwind tables were missing of. False when out of
 * memory. */
bool dump_find_files(struct dump *dump);

/* Writers. Each returns false when it ran out of memory; errors of `to` are the caller's to check.
 */
bool dump_write_text(const struct dump *dump, const struct dump_options *options, FILE *to,
                     bool color);
bool dump_write_json(const struct dump *dump, const struct dump_options *options, FILE *to);
bool dump_write_collapsed(const struct dump *dump, const struct dump_options *options, FILE *to);

/* dump_words.c: phrases that the writers share. */
const char *dump_state_word(char state);             /* "sleeping"; "" when unknown */
const char *dump_image_name(const char *image);      /* the last part of a path, for people */
void dump_end_phrase(const struct dump_stack *stack, /* "unreadable stack memory" */
                     char *text, size_t size);

#endif
