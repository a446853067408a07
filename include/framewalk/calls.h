/*
 * Call watch: who calls the functions that matter. Counts every call of the functions named, by the
 * stack that it came from; never looks at an argument.
 *
 *     struct fw_calls *calls;
 *     const char *names[] = {"getaddrinfo", "execve", "-[CLLocationManager requestLocation]"};
 *     struct fw_calls_options options = {.size = sizeof options, .names = names, .count = 3};
 *     fw_calls_start(&options, &calls);
 *
 * How it works. The pointers through which images call functions of other images (ELF: GOT slots
 * of R_*_JUMP_SLOT and R_*_GLOB_DAT, pointers in data; Mach-O: bound pointers; Objective-C methods:
 * their implementation) are replaced by those of a small piece of code that notes the call and goes
 * on to the function with all argument registers and the stack as they were. So any signature
 * works: variadic, floating point, structures. In images that are loaded later too. Page
 * protection, RELRO included, is as before afterwards; fw_calls_stop puts everything back.
 *
 * What it cannot see: calls inside one image (unless they go through its own GOT or PLT), system
 * calls without the function, and pointers that dlsym() gave out before. (Those that it gives out
 * while watched are replaced as well.) fw_calls_api tells for each name how many pointers lead
 * through the watch now.
 *
 * Of each call: API, stack (by id), how often, first and last time, thread of the first. The stack
 * is taken once, when it is new. Everything is in memory of fixed size; what found no room is
 * counted. The noting is lock-free, async-signal-safe, and safe in a call within a call: a watched
 * function that is called by the watch itself, in a signal handler, or recursively, is at worst
 * counted without its stack.
 *
 * fork(): the child goes on counting, with what was counted before the fork; it does not write the
 * parent's report.
 */
#ifndef FRAMEWALK_CALLS_H
#define FRAMEWALK_CALLS_H

#include "reports.h"
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fw_calls; /* one at a time in a process: the pointers can lead to one place only */

enum { FW_CALLS_NAMES = 256 }; /* functions watched at the most */

typedef enum fw_calls_walk {
    FW_CALLS_EXACT = 0,          /* as fw_capture: through unwind information; any program */
    FW_CALLS_FRAME_POINTERS = 1, /* as fw_capture_frame_pointers: for programs that keep them */
} fw_calls_walk;

struct fw_calls_options {
    size_t size;              /* sizeof(struct fw_calls_options) */
    const char *const *names; /* exported functions, and on Apple "-[Class selector]",
                                 "+[Class selector]" and groups (fw_calls_groups). Copied */
    size_t count;             /* 1 to FW_CALLS_NAMES */
    const char *const
        *callers; /* count only calls made directly by code of these images: a path, a
                     folder ending in "/", or a bare file name; NULL: of all. Copied */
    size_t caller_count;
    fw_calls_walk walk;
    uint32_t frames;            /* of a stack; 0 = 48, at most 128 */
    size_t memory;              /* bytes for stacks and counts; 0 = 1 MB */
    struct fw_reports *reports; /* where fw_calls_write and fw_calls_stop write; NULL: nowhere */
    uint32_t write_seconds;     /* write a report each so many seconds when something new was
                                   counted, by a thread of its own; 0: only when asked to */
    uint8_t reserved[4];        /* zero */
};

/* Begins. FW_ERR_ARGUMENT; FW_ERR_MEMORY; FW_ERR_FULL when a watch runs already. A name that no
 * image imports or defines is no error: it may be loaded later; fw_calls_api tells.
 * FW_ERR_NOT_FOUND for a group that is not there (fw_calls_groups says which are),
 * FW_ERR_UNSUPPORTED for any group on other systems than Apple's. Not async-signal-safe; takes the
 * loader's lock. */
FW_API fw_error fw_calls_start(const struct fw_calls_options *options, struct fw_calls **calls);

#if defined(__APPLE__)
/* The groups that a name may be: "@privacy, @privacy.active-keyboards, ...". They stand for what
 * Apple requires a reason for or guards with a permission (docs/apple.md); "@privacy" is all of
 * them. Where a group is among the names, each function is watched once, in the place where it came
 * first, and all together may be FW_CALLS_NAMES. Never NULL, lives for ever. Any thread. */
FW_API const char *fw_calls_groups(void);
/* The version of the list of groups, which goes up with each change. *date: the day on which it was
 * last compared with Apple's documents, "YYYY-MM-DD"; NULL: not wanted. Any thread. */
FW_API uint32_t fw_calls_groups_version(const char **date);
#endif

/* Looks at images loaded since. Called by itself after dlopen() and dlmopen() of watched images,
 * and on Apple by dyld; needed only where something else loads images. */
FW_API void fw_calls_refresh(struct fw_calls *calls);

struct fw_calls_api {
    size_t size;       /* set it before the call */
    const char *name;  /* lives as long as `calls` */
    uint64_t calls;    /* all that were seen, also those of other callers and without stack */
    uint64_t counted;  /* of the callers wanted */
    uint32_t pointers; /* that lead through the watch now; 0: no image calls it from outside */
    uint32_t inside;   /* images that define it themselves, whose own calls are not seen */
    bool found;        /* some image defines it */
    bool refused;      /* a pointer could not be written */
    uint8_t reserved[6];
};
/* Api number `index`, in the order of the options' names, groups written out. FW_ERR_NOT_FOUND
 * beyond. */
FW_API fw_error fw_calls_api(struct fw_calls *calls, uint32_t index, struct fw_calls_api *api);

struct fw_calls_entry {
    uint32_t api;          /* index of its name */
    uint32_t thread;       /* of the first call, as the system calls it */
    uint64_t count;        /* calls from this stack */
    uint64_t first_ms;     /* wall clock, milliseconds since 1970 */
    uint64_t last_ms;      /* within a second */
    struct fw_stack stack; /* frames are in the watch's memory, and stay until it is stopped.
                              frames[0] is the return address in the caller */
};
/* Entry `index`; FW_ERR_NOT_FOUND beyond the last, FW_ERR_TIMEOUT for one just being made. Any
 * thread, also while calls are counted. */
FW_API fw_error fw_calls_entry(struct fw_calls *calls, uint32_t index,
                               struct fw_calls_entry *entry);

struct fw_calls_totals {
    size_t size;      /* set it before the call */
    uint64_t calls;   /* all that went through */
    uint64_t counted; /* with a stack */
    uint64_t dropped; /* no room for their stack; still in fw_calls_api.calls */
    uint64_t nested;  /* within the watch's own work, or a thread too young: without stack */
    uint64_t stacks;  /* entries */
};
FW_API fw_error fw_calls_totals(struct fw_calls *calls, struct fw_calls_totals *totals);

/* Writes what was counted since the last writing as a report. FW_ERR_SYSTEM, FW_ERR_FULL. */
FW_API fw_error fw_calls_write(struct fw_calls *calls);

/* Puts every pointer back, waits until no thread is inside the watch (at most a second: then the
 * memory stays, which is safe), writes what is new. Pointers that somebody else changed after us
 * are left, and go on leading through the watch, which then only passes on. NULL is fine. */
FW_API void fw_calls_stop(struct fw_calls *calls);

#ifdef __cplusplus
}
#endif
#endif
