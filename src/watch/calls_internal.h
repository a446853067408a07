/*
 * The insides of the call watch, for calls*.c.
 *
 *     thunk --> calls_note (hot)  --> known stack: one count
 *          \--> calls_slow       --> walk, calls_table.c (entries and recipes)
 *                                \--> calls_loader_linux.c: dlopen and its like
 *     calls.c (begin, end, questions) --> pointers.h
 *     calls_report.c --> session.h
 *
 * Invariant: the memory of a watch is given back only when no thread can be in it: calls_current is
 * taken away first, then everybody who came earlier is waited for. A thunk's target is set before
 * its address is given to anybody, and never changes: pointers that others keep stay good for ever.
 */
#ifndef WATCH_CALLS_INTERNAL_H
#define WATCH_CALLS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capture/image_filter.h"
#include "framewalk/calls.h"
#include "watch/calls_table.h"
#include "watch/pointers.h"
#include "watch/thunks.h"

enum { CALLS_NO_NAME = UINT32_MAX, CALLS_FRAMES_MAX = 128, CALLS_SITES = 512 };

/* What the loader's functions are watched for, besides what the owner of the watch asks for. */
enum calls_loader {
    CALLS_NO_LOADER = 0,
    CALLS_DLOPEN,
    CALLS_DLMOPEN,
    CALLS_DLSYM,
    CALLS_DLVSYM,
    CALLS_DLCLOSE,
    CALLS_LOADERS = CALLS_DLCLOSE,
};

struct calls_thunk {
    _Atomic uintptr_t target; /* 0: free */
    _Atomic uint32_t name;    /* of the running watch; CALLS_NO_NAME: it only passes on */
    _Atomic uint32_t loader;  /* enum calls_loader */
};
extern struct calls_thunk calls_thunks[CALLS_THUNKS] __attribute__((visibility("hidden")));

/* Of one name: calls that have no entry. */
struct calls_name {
    _Atomic uint64_t others; /* of callers that are not wanted */
    _Atomic uint64_t dropped, nested;
    _Atomic uint64_t written; /* of its calls, how many the last report knew */
};

struct fw_calls {
    struct calls_table table;
    struct calls_name name[FW_CALLS_NAMES];
    uint32_t names;   /* asked for */
    uint32_t watched; /* and with those of the loader */
    const char *text[FW_CALLS_NAMES + CALLS_LOADERS];
    uint8_t loader[FW_CALLS_NAMES + CALLS_LOADERS]; /* enum calls_loader */
    uint32_t frames;
    fw_calls_walk walk;
    struct image_filter *callers; /* NULL: all */
    char program[512];            /* path of the executable, where the loader has none for it */
    /* Return addresses that were looked up: in images that are wanted, and that are not. */
    _Atomic uintptr_t wanted[CALLS_SITES], unwanted[CALLS_SITES];
    struct pointers *pointers;
    struct fw_reports *reports;
    uint32_t write_seconds;
    int32_t pid;                 /* where it was started; a child of it does not write */
    size_t bytes;                /* of the whole block */
    struct calls_writer *writer; /* calls_report.c */
    /* While calls are many, the writer's thread counts half seconds here, which costs a call less
     * than to look at the machine's clock; 0: it does not. */
    _Atomic uint32_t beat;
    /* Whose calls are in noted.by_one: the place (calls_note.c) of the first thread that came. */
    _Atomic uintptr_t counter;
};

/* calls_groups_*.c: where groups are among the options' names, puts the names that they stand for
 * into `names` (FW_CALLS_NAMES), each once, and has the options point there. */
fw_error calls_write_out(struct fw_calls_options *options, const char **names);

/* The watch that runs; NULL: thunks only pass on. */
extern _Atomic(struct fw_calls *) calls_current __attribute__((visibility("hidden")));

/* One lock for all that changes pointers. Not for signal handlers. A child that was forked while
 * another thread held it takes it over. */
void calls_lock(void);
bool calls_lock_try(void); /* false: somebody has it */
void calls_unlock(void);

/* The pointer that leads `target` through the watch as name `name`: pointers_owner.lead and led. */
uintptr_t calls_lead(void *context, uint32_t name, uintptr_t target);
uintptr_t calls_led(void *context, uintptr_t pointer);

/* Looks at the images again. For the loader's notifications; takes the loader's lock and ours. */
void calls_images_changed(void);
/* The same behind an unload: stacks through code that is gone are not recognised any more. */
void calls_images_gone(void);
/* Either, for a thread that may hold the loader's lock, which the one that has ours may be waiting
 * for: never waits. Who has it does the work when it is done. */
void calls_images_later(bool gone);

/* What a call of dlopen and its like does: does the function's work and returns calls_thunk_return,
 * or returns `target`, and the work is to be done there. */
uintptr_t calls_loader_call(enum calls_loader what, struct calls_saved *saved, uintptr_t target);

/* A call that the hot path did not count: with its stack, or why not. Async-signal-safe. */
void calls_count(struct fw_calls *calls, uint32_t name, struct calls_saved *saved);
/* A call whose stack is not taken. Async-signal-safe, uses no vector register. */
void calls_count_nested(uint32_t name);

/* The machine's clock as entries keep it. */
uint64_t calls_ticks(void);

/* Where a return address stands in `wanted` and `unwanted`. */
static inline size_t calls_site(uintptr_t return_address)
{
    return (size_t)(((uint64_t)return_address * 0x9E3779B97F4A7C15u) >> 55) % CALLS_SITES;
}

/* Threads in the hot path (calls_note.c): waits until none is in it, at most `ms`. */
bool calls_note_drain(unsigned ms);
/* Before the first thunk is in a pointer. */
void calls_note_prepare(void);
/* The running thread's stack, [lo, hi), is its own: the hot path may serve it. */
void calls_note_thread(struct fw_calls *calls, uintptr_t lo, uintptr_t hi);

/* Whether the image of a return address is one of those asked for (calls_callers.c). */
bool calls_caller_wanted(const struct fw_calls *calls, uintptr_t return_address);

/* Threads in the slow path (calls_slow.c), and those that nothing else tells of. */
extern _Atomic uint32_t calls_inside __attribute__((visibility("hidden")));
bool calls_slow_drain(unsigned ms);

/* calls_report.c: what was counted goes into a report that stays open until the next
 * fw_calls_write(). From a thread with the files of that one. */
void calls_flush(struct fw_calls *calls);
/* calls_report.c: something was counted since the last report. Any thread. */
bool calls_has_news(const struct fw_calls *calls);
/* calls_report.c: the thread that writes each so often. False: it could not be started. */
bool calls_writer_start(struct fw_calls *calls);
void calls_writer_stop(struct fw_calls *calls);
/* Starts it again, for another session. */
bool calls_writer_resume(struct fw_calls *calls, struct fw_reports *reports);
void calls_writer_free(struct fw_calls *calls);

#endif
