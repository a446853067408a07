/*
 * The pointers through which images call functions of others, replaced by ones that lead through
 * the call watch, and put back: got_linux.c for ELF, bound_pointers_darwin.c for Mach-O and
 * Objective-C.
 *
 * Invariant: what stands in a pointer is the original or a thunk that goes on to it. What was not
 * as expected (nobody's function, an image still being relocated) is left alone and looked at again
 * with the next refresh; what somebody else has put there is gone on to.
 *
 * One at a time; calls of these functions are made under one lock by calls.c. None is
 * async-signal-safe. None allocates but pointers_create: memory is fixed, or comes from the kernel.
 */
#ifndef WATCH_POINTERS_H
#define WATCH_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the replacing asks of the watch. */
struct pointers_owner {
    const char *const *names; /* as fw_calls_start was given them; live as long as the pointers */
    uint32_t count;
    /* A pointer that notes the call as one of name `name` and goes on to `target`; the same for the
     * same two. 0: none is free. Called with the loader's lock held: makes no call into it. */
    uintptr_t (*lead)(void *context, uint32_t name, uintptr_t target);
    /* Whether `pointer` is one that `lead` gave out, and to what it leads then; else 0. */
    uintptr_t (*led)(void *context, uintptr_t pointer);
    void *context;
};

/* Of one name, as in struct fw_calls_api. */
struct pointers_count {
    uint32_t pointers, inside;
    bool found, refused;
};

struct pointers;

/* Nothing is replaced before the first refresh. NULL: out of memory. `names` beyond the owner's
 * count are those of functions that the system's file wants to be led through the watch for its own
 * ends (dlopen): see calls_loader.h. */
struct pointers *pointers_create(const struct pointers_owner *owner);

/* Looks at all images: replaces what is new, replaces again what was overwritten, forgets what was
 * unloaded. True: code was unloaded since the last time, as far as the system tells. */
bool pointers_refresh(struct pointers *pointers);

void pointers_count(struct pointers *pointers, uint32_t name, struct pointers_count *count);

/* Puts everything back that still is what was written there. */
void pointers_restore(struct pointers *pointers);

void pointers_destroy(struct pointers *pointers);

#endif
