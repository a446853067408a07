/*
 * Merged samples. A thread is mostly found where it was last time, a stack by a hash table keyed by
 * thread and stack id.
 */
#include "cli/samples.h"

#include <stdlib.h>
#include <string.h>

struct sampled_thread {
    struct dump_thread shown;
    size_t stack_room;
    char name[FW_THREAD_NAME_SIZE];
    char wait_channel[64];
};

struct place { /* where a stack is kept */
    fw_thread_id id;
    uint64_t stack_id;
    size_t stack; /* index of that thread's stacks */
    bool used;
};

struct samples {
    struct sampled_thread *threads;
    size_t thread_count, thread_room;
    struct place *places;
    size_t place_count, place_room; /* room is a power of two, or 0 */
    struct dump_thread *finished;
};

struct samples *samples_create(void)
{
    return calloc(1, sizeof(struct samples));
}

void samples_destroy(struct samples *samples)
{
    if (samples == NULL)
        return;
    for (size_t t = 0; t < samples->thread_count; t++) {
        struct dump_thread *thread = &samples->threads[t].shown;
        for (size_t s = 0; s < thread->stack_count; s++)
            free((void *)(uintptr_t)thread->stacks[s].frames);
        free(thread->stacks);
    }
    free(samples->threads);
    free(samples->places);
    free(samples->finished);
    free(samples);
}

static struct place *find_place(struct place *places, size_t room, fw_thread_id id,
                                uint64_t stack_id)
{
    uint64_t hash = (stack_id ^ (uint64_t)(uint32_t)id * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    for (size_t at = (size_t)(hash >> 32);; at++) {
        struct place *place = &places[at & (room - 1)];
        if (!place->used || (place->id == id && place->stack_id == stack_id))
            return place;
    }
}

static bool make_place_room(struct samples *samples)
{
    if (samples->place_count * 2 < samples->place_room)
        return true;
    size_t room = samples->place_room == 0 ? 256 : samples->place_room * 2;
    struct place *places = calloc(room, sizeof(*places));
    if (places == NULL)
        return false;
    for (size_t i = 0; i < samples->place_room; i++) {
        const struct place *old = &samples->places[i];
        if (old->used)
            *find_place(places, room, old->id, old->stack_id) = *old;
    }
    free(samples->places);
    samples->places = places;
    samples->place_room = room;
    return true;
}

/* `hint`: where it is when no thread came or went since the first sample. */
static struct sampled_thread *find_thread(struct samples *samples, const struct fw_thread *from,
                                          size_t hint)
{
    if (hint < samples->thread_count && samples->threads[hint].shown.id == from->id)
        return &samples->threads[hint];
    for (size_t i = 0; i < samples->thread_count; i++) {
        if (samples->threads[i].shown.id == from->id)
            return &samples->threads[i];
    }
    if (samples->thread_count == samples->thread_room) {
        size_t room = samples->thread_room == 0 ? 64 : samples->thread_room * 2;
        struct sampled_thread *threads = realloc(samples->threads, room * sizeof(*threads));
        if (threads == NULL)
            return NULL;
        samples->threads = threads;
        samples->thread_room = room;
    }
    struct sampled_thread *thread = &samples->threads[samples->thread_count++];
    *thread = (struct sampled_thread){.shown = {.id = from->id, .is_main = from->is_main}};
    return thread;
}

static bool add_stack(struct sampled_thread *thread, const struct fw_stack *from)
{
    if (thread->shown.stack_count == thread->stack_room) {
        size_t room = thread->stack_room == 0 ? 4 : thread->stack_room * 2;
        struct dump_stack *stacks = realloc(thread->shown.stacks, room * sizeof(*stacks));
        if (stacks == NULL)
            return false;
        thread->shown.stacks = stacks;
        thread->stack_room = room;
    }
    struct fw_frame *frames = malloc((from->count > 0 ? from->count : 1) * sizeof(*frames));
    if (frames == NULL)
        return false;
    if (from->count > 0)
        memcpy(frames, from->frames, from->count * sizeof(*frames));
    thread->shown.stacks[thread->shown.stack_count++] =
        (struct dump_stack){.frames = frames,
                            .count = from->count,
                            .head = from->head,
                            .omitted = from->omitted,
                            .id = from->id,
                            .end = from->end,
                            .unavailable = from->unavailable};
    return true;
}

static bool add_thread(struct samples *samples, const struct fw_process_thread *from, size_t hint)
{
    struct sampled_thread *thread = find_thread(samples, &from->thread, hint);
    if (thread == NULL || !make_place_room(samples))
        return false;
    const struct fw_stack *stack = &from->thread.stack;
    /* Stacks that ended differently are different, also where their frames are the same. */
    uint64_t key = stack->id ^ ((uint64_t)stack->end << 56) ^ ((uint64_t)stack->unavailable << 48);
    struct place *place = find_place(samples->places, samples->place_room, from->thread.id, key);
    if (!place->used) {
        if (!add_stack(thread, stack))
            return false;
        *place = (struct place){.id = from->thread.id,
                                .stack_id = key,
                                .stack = thread->shown.stack_count - 1,
                                .used = true};
        samples->place_count++;
    }
    struct dump_thread *shown = &thread->shown;
    shown->stacks[place->stack].samples++;
    shown->samples++;
    shown->running += from->thread.state == 'R';
    shown->state = from->thread.state;
    shown->signal = from->signal;
    if (from->pause_ns > shown->pause_ns)
        shown->pause_ns = from->pause_ns;
    memcpy(thread->name, from->thread.name, sizeof(thread->name));
    memcpy(thread->wait_channel, from->wait_channel, sizeof(thread->wait_channel));
    return true;
}

bool samples_add(struct samples *samples, const struct fw_process_thread *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!add_thread(samples, &threads[i], i))
            return false;
    }
    return true;
}

static int most_first(const void *left, const void *right)
{
    const struct dump_stack *a = left, *b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

bool samples_finish(struct samples *samples, struct dump *dump)
{
    size_t count = samples->thread_count;
    samples->finished = calloc(count > 0 ? count : 1, sizeof(*samples->finished));
    if (samples->finished == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct sampled_thread *thread = &samples->threads[i];
        thread->shown.name = thread->name;
        thread->shown.wait_channel = thread->wait_channel;
        qsort(thread->shown.stacks, thread->shown.stack_count, sizeof(struct dump_stack),
              most_first);
        samples->finished[i] = thread->shown;
    }
    dump->threads = samples->finished;
    dump->thread_count = count;
    return true;
}
