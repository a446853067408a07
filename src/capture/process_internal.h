/*
 * What an open process is made of, for the files that capture it: process.c (the public functions),
 * live.c (a running process), core.c (a core file).
 */
#ifndef CAPTURE_PROCESS_INTERNAL_H
#define CAPTURE_PROCESS_INTERNAL_H

#include "base/failure.h"
#include "capture/images.h"
#include "framewalk/process.h"
#include "unwind/memory.h"
#include "unwind/rule.h"

#include <sys/types.h>

struct core;

struct fw_process {
    int32_t pid;
    const struct arch *arch; /* NULL until known */
    char *executable, *command;
    struct images images;
    struct rule_cache *cache;

    struct fw_process_thread *threads; /* the last capture */
    size_t count, capacity;
    struct fw_frame *scratch; /* frames of the walk under way */
    uint32_t scratch_size;

    /* A live process. */
    pid_t view; /* a thread that still runs: its memory and /proc entries are the process's, also
                   when the main thread has ended */
    uint64_t start; /* when it began: tells it from a later one with the same number */
    char root[40];

    struct core *core; /* NULL for a live process */
};

/* The defaults of struct fw_process_options applied, and only those fields that the caller's size
 * covers. */
struct fw_process_options process_options(const struct fw_process_options *given);

/* A new entry of process->threads, zeroed; NULL when out of memory. Invalidated by the next. */
struct fw_process_thread *process_add_thread(struct fw_process *process, fw_thread_id id);

/* Walks from `regs` and replaces thread's stack by the result. False when out of memory. */
bool process_walk(struct fw_process *process, struct fw_process_thread *thread,
                  const struct arch *arch, const struct regs *regs, uint64_t pac_mask,
                  const struct memory *memory, uint32_t max_frames);
void process_unavailable(struct fw_process_thread *thread, fw_unavailable reason);

fw_error live_open(struct fw_process *process, pid_t pid, struct fw_failure *why);
fw_error live_capture(struct fw_process *process, const struct fw_process_options *options,
                      struct fw_failure *why);

fw_error core_open(struct fw_process *process, const char *path, const char *executable,
                   const char *sysroot, struct fw_failure *why);
fw_error core_capture(struct fw_process *process, const struct fw_process_options *options,
                      struct fw_failure *why);
void core_close(struct core *core);
void core_describe(const struct core *core, struct fw_process_info *info);

#endif
