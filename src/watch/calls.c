/*
 * The call watch (framewalk/calls.h): beginning and end, and what can be asked meanwhile. Where
 * everything else is: calls_internal.h.
 */
#include "watch/calls_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "framewalk/capture.h"
#include "watch/calls_busy.h"

enum { FRAMES = 48, MEMORY = 1 << 20, LEAST_MEMORY = 16 * 1024, DRAIN_MS = 1000 };

struct calls_thunk calls_thunks[CALLS_THUNKS];
_Atomic(struct fw_calls *) calls_current;

static _Atomic int32_t lock; /* process id of the holder, 0: free */
static bool entered;         /* by the holder: its own calls are counted without stacks */

/* What others left to do for whoever holds the lock (calls_images_later). */
enum { OWED_NEW = 1, OWED_GONE = 2 };
static _Atomic uint32_t owed;

bool calls_lock_try(void)
{
    const int32_t self = getpid();
    int32_t by = 0;
    if (!atomic_compare_exchange_strong(&lock, &by, self) &&
        (by == self || !atomic_compare_exchange_strong(&lock, &by, self)))
        return false;
    entered = calls_busy_enter();
    return true;
}

void calls_lock(void)
{
    const struct timespec nap = {0, 200000};
    while (!calls_lock_try())
        nanosleep(&nap, NULL);
}

static void look_again(bool gone);

void calls_unlock(void)
{
    do {
        for (uint32_t what; (what = atomic_exchange(&owed, 0));)
            look_again(what & OWED_GONE);
        const bool leaves = entered;
        atomic_store(&lock, 0);
        if (leaves)
            calls_busy_leave();
    } while (atomic_load(&owed) && calls_lock_try());
}

#if defined(__APPLE__)
void calls_images_later(bool gone)
{
    atomic_fetch_or(&owed, gone ? OWED_GONE : OWED_NEW);
    if (calls_lock_try())
        calls_unlock();
}
#endif

/* Whether thunk `i` may serve this name: it is free, leads to the same place and serves nobody, or
 * does so already. */
static bool thunk_serves(const struct calls_thunk *thunk, uint32_t name, uint32_t loader,
                         uintptr_t target)
{
    const uint32_t now = atomic_load_explicit(&thunk->name, memory_order_relaxed);
    const uint32_t by = atomic_load_explicit(&thunk->loader, memory_order_relaxed);
    const uintptr_t to = atomic_load_explicit(&thunk->target, memory_order_relaxed);
    return to == 0 || (to == target && ((now == name && by == loader) ||
                                        (now == CALLS_NO_NAME && by == CALLS_NO_LOADER)));
}

uintptr_t calls_lead(void *context, uint32_t name, uintptr_t target)
{
    const struct fw_calls *calls = context;
    const uint32_t loader = calls->loader[name];
    const uint32_t noted = name < calls->names ? name : CALLS_NO_NAME;
    uint32_t at = (uint32_t)(((uint64_t)target * 0x9E3779B97F4A7C15u) >> 32);
    for (uint32_t probe = 0; probe < CALLS_THUNKS; probe++, at++) {
        struct calls_thunk *thunk = &calls_thunks[at % CALLS_THUNKS];
        if (!thunk_serves(thunk, noted, loader, target))
            continue;
        atomic_store_explicit(&thunk->target, target, memory_order_relaxed);
        atomic_store_explicit(&thunk->loader, loader, memory_order_relaxed);
        atomic_store_explicit(&thunk->name, noted, memory_order_release);
        return calls_thunk_address(at % CALLS_THUNKS);
    }
    return 0;
}

uintptr_t calls_led(void *context, uintptr_t pointer)
{
    const uintptr_t offset = pointer - calls_thunk_address(0);
    (void)context;
    if (offset >= (uintptr_t)CALLS_THUNKS * CALLS_THUNK_BYTES || offset % CALLS_THUNK_BYTES)
        return 0;
    return calls_thunks[offset / CALLS_THUNK_BYTES].target;
}

/* In the order of enum calls_loader; "": not on this system. */
static const char *const loaders[CALLS_LOADERS] = {
#if defined(__APPLE__)
    "dlopen", "", "dlsym", "", "dlclose",
#else
    "dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose",
#endif
};

static enum calls_loader loader_of(const char *name)
{
    for (unsigned i = 0; i < CALLS_LOADERS; i++) {
        const size_t length = strlen(loaders[i]);
        if (length && strncmp(name, loaders[i], length) == 0 &&
            (name[length] == 0 || name[length] == '@'))
            return CALLS_DLOPEN + i;
    }
    return CALLS_NO_LOADER;
}

/* The names: those asked for, then those of the loader that are not among them. Copies are made
 * behind the structure. */
static void set_names(struct fw_calls *calls, const struct fw_calls_options *options, char *copies)
{
    for (size_t i = 0; i < options->count; i++) {
        const size_t bytes = strlen(options->names[i]) + 1;
        memcpy(copies, options->names[i], bytes);
        calls->text[i] = copies;
        calls->loader[i] = (uint8_t)loader_of(copies);
        copies += bytes;
    }
    calls->names = calls->watched = (uint32_t)options->count;
    for (unsigned i = 0; i < CALLS_LOADERS; i++) {
        bool there = !loaders[i][0];
        for (uint32_t name = 0; name < calls->names; name++)
            there |= strcmp(calls->text[name], loaders[i]) == 0;
        if (there)
            continue;
        calls->text[calls->watched] = loaders[i];
        calls->loader[calls->watched++] = (uint8_t)(CALLS_DLOPEN + i);
    }
}

static bool options_are_valid(const struct fw_calls_options *options)
{
    if (!options || options->size != sizeof *options || !options->names || options->count == 0 ||
        options->count > FW_CALLS_NAMES || options->frames > CALLS_FRAMES_MAX ||
        (options->walk != FW_CALLS_EXACT && options->walk != FW_CALLS_FRAME_POINTERS) ||
        (options->memory && options->memory < LEAST_MEMORY) ||
        (options->caller_count && !options->callers))
        return false;
    for (size_t i = 0; i < options->count; i++)
        if (!options->names[i] || !options->names[i][0] || strlen(options->names[i]) > 4096)
            return false;
    for (size_t i = 0; i < options->caller_count; i++)
        if (!options->callers[i])
            return false;
    return true;
}

/* A watch in memory of its own, which has no pointers yet. */
static struct fw_calls *make(const struct fw_calls_options *options)
{
    size_t text = 0;
    for (size_t i = 0; i < options->count; i++)
        text += strlen(options->names[i]) + 1;
    const size_t memory = options->memory ? options->memory : MEMORY;
    const size_t table = (sizeof(struct fw_calls) + text + 63) / 64 * 64;
    const size_t bytes = table + memory / 8 * 8;
    if (bytes < memory)
        return NULL;
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    struct fw_calls *calls = (struct fw_calls *)(void *)block;
    calls->bytes = bytes;
    calls->frames = options->frames ? options->frames : FRAMES;
    calls->walk = options->walk;
    calls->reports = options->reports;
    calls->write_seconds = options->write_seconds;
    calls->pid = getpid();
    set_names(calls, options, block + sizeof *calls);
#if defined(__linux__)
    if (readlink("/proc/self/exe", calls->program, sizeof calls->program - 1) < 0)
        calls->program[0] = 0;
#endif
    if (options->caller_count)
        calls->callers = image_filter_create(options->callers, options->caller_count);
    if ((options->caller_count && !calls->callers) ||
        !calls_table_init(&calls->table, block + table, memory / 8 * 8)) {
        image_filter_destroy(calls->callers);
        munmap(block, bytes);
        return NULL;
    }
    return calls;
}

static void unmake(struct fw_calls *calls)
{
    calls_writer_free(calls);
    pointers_destroy(calls->pointers);
    image_filter_destroy(calls->callers);
    munmap(calls, calls->bytes);
}

fw_error fw_calls_start(const struct fw_calls_options *options, struct fw_calls **calls)
{
    if (!calls || !options_are_valid(options))
        return FW_ERR_ARGUMENT;
    *calls = NULL;
    const char *names[FW_CALLS_NAMES];
    struct fw_calls_options plain = *options;
    const fw_error error = calls_write_out(&plain, names);
    if (error != FW_OK)
        return error;
    calls_lock();
    if (atomic_load(&calls_current)) {
        calls_unlock();
        return FW_ERR_FULL;
    }
    calls_thunks_prepare();
    calls_note_prepare();
    struct fw_calls *made = make(&plain);
    if (made) {
        const struct pointers_owner owner = {.names = made->text,
                                             .count = made->watched,
                                             .lead = calls_lead,
                                             .led = calls_led,
                                             .context = made};
        made->pointers = pointers_create(&owner);
    }
    if (!made || !made->pointers || !calls_writer_start(made)) {
        if (made)
            unmake(made);
        calls_unlock();
        return FW_ERR_MEMORY;
    }
    atomic_store(&calls_current, made);
    pointers_refresh(made->pointers);
    calls_unlock();
    *calls = made;
    return FW_OK;
}

void fw_calls_refresh(struct fw_calls *calls)
{
    (void)calls; /* the one that runs */
    calls_images_changed();
}

static void forget_sites(struct fw_calls *calls)
{
    for (size_t i = 0; i < CALLS_SITES; i++) {
        atomic_store_explicit(&calls->wanted[i], 0, memory_order_relaxed);
        atomic_store_explicit(&calls->unwanted[i], 0, memory_order_relaxed);
    }
}

/* With the lock held. */
static void look_again(bool gone)
{
    struct fw_calls *calls = atomic_load(&calls_current);
    if (!calls)
        return;
    if (!pointers_refresh(calls->pointers) && !gone)
        return;
    forget_sites(calls);
    calls_table_forget(&calls->table);
}

void calls_images_changed(void)
{
    calls_lock();
    look_again(false);
    calls_unlock();
}

void calls_images_gone(void)
{
    fw_images_refresh();
    calls_lock();
    look_again(true);
    calls_unlock();
}

/* Calls of a name that have entries. */
static uint64_t with_stack(const struct fw_calls *calls, uint32_t name)
{
    const uint32_t count = calls_table_count(&calls->table);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        if (noted && noted->name == name)
            sum += noted_count(noted);
    }
    return sum;
}

fw_error fw_calls_api(struct fw_calls *calls, uint32_t index, struct fw_calls_api *api)
{
    if (!calls || !api || api->size != sizeof *api)
        return FW_ERR_ARGUMENT;
    if (index >= calls->names)
        return FW_ERR_NOT_FOUND;
    const struct calls_name *name = &calls->name[index];
    const uint64_t stacks = with_stack(calls, index);
    const uint64_t dropped = atomic_load_explicit(&name->dropped, memory_order_relaxed);
    struct pointers_count count = {0};
    calls_lock();
    pointers_count(calls->pointers, index, &count);
    calls_unlock();
    *api = (struct fw_calls_api){
        .size = sizeof *api,
        .name = calls->text[index],
        .calls = stacks + dropped + atomic_load_explicit(&name->others, memory_order_relaxed) +
                 atomic_load_explicit(&name->nested, memory_order_relaxed),
        .counted = stacks + dropped,
        .pointers = count.pointers,
        .inside = count.inside,
        .found = count.found,
        .refused = count.refused,
    };
    return FW_OK;
}

fw_error fw_calls_entry(struct fw_calls *calls, uint32_t index, struct fw_calls_entry *entry)
{
    if (!calls || !entry)
        return FW_ERR_ARGUMENT;
    if (index >= calls_table_count(&calls->table))
        return FW_ERR_NOT_FOUND;
    struct noted *noted = calls_table_get(&calls->table, index);
    if (!noted)
        return FW_ERR_TIMEOUT;
    *entry = (struct fw_calls_entry){
        .api = noted->name,
        .thread = noted->thread,
        .count = noted_count(noted),
        .first_ms = noted->first_ms,
        .last_ms = atomic_load_explicit(&noted->last_ms, memory_order_relaxed),
        .stack = {.frames = noted->frame,
                  .capacity = noted->frame_count,
                  .count = noted->frame_count,
                  .head = noted->frame_count,
                  .id = noted->id,
                  .end = noted->end},
    };
    return FW_OK;
}

fw_error fw_calls_totals(struct fw_calls *calls, struct fw_calls_totals *totals)
{
    if (!calls || !totals || totals->size != sizeof *totals)
        return FW_ERR_ARGUMENT;
    const uint32_t count = calls_table_count(&calls->table);
    *totals = (struct fw_calls_totals){.size = sizeof *totals, .stacks = count};
    for (uint32_t i = 0; i < count; i++) {
        const struct noted *noted = calls_table_get(&calls->table, i);
        if (noted)
            totals->counted += noted_count(noted);
    }
    totals->calls = totals->counted;
    for (uint32_t i = 0; i < calls->names; i++) {
        const uint64_t dropped =
            atomic_load_explicit(&calls->name[i].dropped, memory_order_relaxed);
        const uint64_t nested = atomic_load_explicit(&calls->name[i].nested, memory_order_relaxed);
        totals->dropped += dropped;
        totals->nested += nested;
        totals->calls +=
            dropped + nested + atomic_load_explicit(&calls->name[i].others, memory_order_relaxed);
    }
    return FW_OK;
}

void fw_calls_stop(struct fw_calls *calls)
{
    if (!calls)
        return;
    calls_writer_stop(calls);
    calls_lock();
    pointers_restore(calls->pointers);
    for (uint32_t i = 0; i < CALLS_THUNKS; i++) {
        atomic_store_explicit(&calls_thunks[i].name, CALLS_NO_NAME, memory_order_relaxed);
        atomic_store_explicit(&calls_thunks[i].loader, CALLS_NO_LOADER, memory_order_relaxed);
    }
    atomic_store(&calls_current, NULL);
    calls_unlock();
    const bool hot = calls_note_drain(DRAIN_MS), slow = calls_slow_drain(DRAIN_MS);
    if (getpid() == calls->pid)
        fw_calls_write(calls);
    if (hot && slow)
        unmake(calls);
}
