/*
 * Suspending, copying, resuming (contract: window.h). Nothing is defined elsewhere that runs
 * between the two; nothing is called but through `call`.
 */
#include "os/darwin/window.h"

#if !WINDOW_FORBIDDEN

#include "unwind/async.h"

#include <mach/mach_time.h>

enum {
    RESUME_TRIES = 16,
    RECORDS = 4096, /* frame records looked at for an async one, at the most */
    RED_ZONE = 128, /* bytes below sp that code may use: where an epilogue leaves the context */
};

/* volatile: each call goes through the pointer, never through a stub. */
static struct {
    kern_return_t (*suspend)(thread_act_t thread);
    kern_return_t (*resume)(thread_act_t thread);
    kern_return_t (*get_state)(thread_act_t thread, thread_state_flavor_t flavor,
                               thread_state_t state, mach_msg_type_number_t *count);
    kern_return_t (*read)(vm_map_t task, vm_address_t from, vm_size_t size, vm_address_t to,
                          vm_size_t *got);
    uint64_t (*now)(void);
} const volatile call = {
    thread_suspend, thread_resume, thread_get_state, vm_read_overwrite, mach_absolute_time,
};

static bool read_memory(const struct window_terms *terms, uintptr_t from, void *to, size_t size)
{
    vm_size_t got = 0;
    return call.read(terms->task, from, size, (vm_address_t)to, &got) == KERN_SUCCESS &&
           got == size;
}

/* Copies as much of [from, from + size) as can be read from its beginning on: at once, or else to
 * the end of the page and then in runs of pages, twice as many each time until a run fails, and
 * half as many from then on. */
static size_t copy_bytes(const struct window_terms *terms, uintptr_t from, uint8_t *to, size_t size)
{
    if (size == 0 || read_memory(terms, from, to, size))
        return size;
    size_t done = 0, pages = 1, n = terms->page - (from & (terms->page - 1));
    bool growing = true;
    while (pages && done < size) {
        if (n > size - done)
            n = size - done;
        bool copied = read_memory(terms, from + done, to + done, n);
        done += copied ? n : 0;
        growing &= copied;
        pages = growing ? pages * 2 : pages / 2;
        n = pages * terms->page;
    }
    return done;
}

/* Copies a stack from `from` outwards, to the end of the thread's own when it is that one. */
static void copy_stack(struct stopped_thread *thread, const struct window_terms *terms,
                       uintptr_t from, uint8_t *to, struct memory_range *range)
{
    bool own = from >= thread->stack_lo && from < thread->stack_hi;
    uintptr_t end = own ? thread->stack_hi : UINTPTR_MAX;
    size_t size = end - from < thread->want ? end - from : thread->want;
    range->lo = from;
    range->bytes = to;
    range->size = copy_bytes(terms, from, to, size);
}

#if defined(__LP64__)

/* A word of the copies. */
static bool copied_word(const struct stopped_thread *thread, uint64_t address, uint64_t *word)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct memory_range *range = &thread->range[i];
        uint64_t offset = address - range->lo;
        if (offset < range->size && range->size - offset >= sizeof *word) {
            __builtin_memcpy(word, range->bytes + offset, sizeof *word);
            return true;
        }
    }
    return false;
}

/* The async context of the innermost Swift async function: the word below the first frame record
 * whose saved frame pointer is tagged (unwind/async.h). 0 when there is none, or it lies further
 * out than was copied. */
static uint64_t find_context(const struct stopped_thread *thread, const struct window_terms *terms)
{
    uint64_t fp = async_untag(native_state_fp(&thread->state)), next, context;
    for (unsigned i = 0; i < RECORDS && fp % 8 == 0 && copied_word(thread, fp, &next); i++) {
        if (async_is_tagged(next)) {
            if (!copied_word(thread, fp - 8, &context))
                return 0;
            context &= terms->pointer_mask;
            if (context)
                return context;
        }
        next = async_untag(next);
        if (next <= fp)
            return 0;
        fp = next;
    }
    return 0;
}

/* Contexts lie on the heap, and running code may free them. */
static void copy_contexts(struct stopped_thread *thread, const struct window_terms *terms)
{
    uint64_t at = find_context(thread, terms);
    while (at && at % 8 == 0 && thread->context_count < WINDOW_CONTEXTS) {
        struct window_context *context = &thread->contexts[thread->context_count];
        if (!read_memory(terms, at, context->word, sizeof context->word))
            return;
        context->address = at;
        thread->context_count++;
        at = context->word[0] & terms->pointer_mask;
    }
}

#else

static void copy_contexts(struct stopped_thread *thread, const struct window_terms *terms)
{
    (void)thread; /* frame records have no room for the tag */
    (void)terms;
}

#endif

static void begin(struct stopped_thread *thread)
{
    thread->from = call.now();
    thread->error = call.suspend(thread->thread);
    thread->suspended = thread->error == KERN_SUCCESS;
}

static void copy(struct stopped_thread *thread, const struct window_terms *terms)
{
    mach_msg_type_number_t count = NATIVE_STATE_COUNT;
    if (!thread->suspended)
        return;
    thread->error =
        call.get_state(thread->thread, NATIVE_STATE_FLAVOR, (thread_state_t)&thread->state, &count);
    if (thread->error == KERN_SUCCESS && count != NATIVE_STATE_COUNT)
        thread->error = KERN_FAILURE;
    if (thread->error != KERN_SUCCESS)
        return;
    native_state_strip(&thread->state);
    uintptr_t sp = native_state_sp(&thread->state);
    if (sp >= thread->stack_lo + RED_ZONE && sp < thread->stack_hi)
        copy_stack(thread, terms, sp - RED_ZONE, thread->bytes, &thread->range[0]);
    if (thread->range[0].size == 0)
        copy_stack(thread, terms, sp, thread->bytes, &thread->range[0]);
    if (thread->second)
        copy_stack(thread, terms, thread->second, thread->bytes + thread->want, &thread->range[1]);
    copy_contexts(thread, terms);
}

/* One that has ended meanwhile need not be resumed. A refusal would leave it stopped for ever, so
 * the kernel is asked again. */
static void end(struct stopped_thread *thread)
{
    for (unsigned i = 0; i < RESUME_TRIES && thread->suspended; i++) {
        kern_return_t error = call.resume(thread->thread);
        thread->suspended = error != KERN_SUCCESS && !window_thread_ended(error);
    }
    thread->until = call.now();
}

void window_run(struct stopped_thread *threads, size_t count, const struct window_terms *terms)
{
    for (size_t i = 0; i < count; i++)
        begin(&threads[i]);
    for (size_t i = 0; i < count; i++)
        copy(&threads[i], terms);
    for (size_t i = 0; i < count; i++)
        end(&threads[i]);
}

#endif
