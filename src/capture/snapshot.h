/*
 * One moment of a thread of another process: its registers and the bytes of its stack, copied while
 * it was stopped into memory prepared before.
 *
 * Invariant: between the stop and the release of a thread nothing is done but reading: no
 * allocation, no file, no walk. Whatever happens, the thread is released.
 */
#ifndef CAPTURE_SNAPSHOT_H
#define CAPTURE_SNAPSHOT_H

#include "framewalk/process.h"
#include "os/linux/maps.h"
#include "os/linux/ptrace.h"
#include "unwind/memory.h"

/* Memory for copies, packed one behind the other. */
struct snapshot_arena {
    uint8_t *bytes;
    size_t size, used;
};

/* Maps `size` bytes and touches the first `touch` of them, so that copying does not fault. */
bool snapshot_arena_create(struct snapshot_arena *arena, size_t size, size_t touch);
void snapshot_arena_destroy(struct snapshot_arena *arena);

/* What to copy. A second stack is asked for when a walk left the first one: the thread handles a
 * signal on another stack than the one it was interrupted on. */
struct snapshot_want {
    uint64_t stack_bytes;
    uint64_t second; /* an address in the second stack, 0 for none */
};

enum { SNAPSHOT_CODE = 264 }; /* bytes: what the walker looks at around the innermost pc */

struct snapshot {
    struct trace trace;
    enum trace_status status;   /* TRACE_OK: the rest is filled in */
    fw_unavailable unavailable; /* else why */
    const struct arch *arch;
    struct regs regs;
    uint64_t pac_mask;
    struct memory_range range[2];
    uint64_t code_lo; /* generated code around pc, which may change when the thread runs again */
    size_t code_size; /* 0: pc is in a file's code */
    uint8_t code[SNAPSHOT_CODE];
    uint64_t pause_ns; /* from asking it to stop to the release */
    uint64_t asked;    /* trace_clock() when it was asked to stop; 0 when it was not */
    bool stopped;
};

/* Seizes the thread and asks it to stop. */
void snapshot_begin(struct snapshot *snapshot, pid_t tid);
/* Waits for the stop, at the most until `deadline`. */
void snapshot_wait(struct snapshot *snapshot, uint64_t deadline);
/* Copies registers and stack of the stopped thread. */
void snapshot_copy(struct snapshot *snapshot, const struct maps *maps,
                   const struct snapshot_want *want, struct snapshot_arena *arena);
/* Releases it; nothing happens when it is not stopped. */
void snapshot_end(struct snapshot *snapshot);

/* The code that was copied, empty for none; valid as long as the snapshot. */
struct memory_range snapshot_code(const struct snapshot *snapshot);

/* A thread that cannot be stopped but sleeps in the kernel: stack pointer and pc as the kernel
 * tells, copied while it sleeps; refused unless it slept all the time. `arch` is the process's. */
void snapshot_asleep(struct snapshot *snapshot, int tasks, pid_t tid, const struct arch *arch,
                     const struct maps *maps, const struct snapshot_want *want,
                     struct snapshot_arena *arena);

#endif
