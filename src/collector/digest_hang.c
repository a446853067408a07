/*
 * The stacks of a hang's samples, with the time that each stands for.
 *
 * Where the program is run by an interpreter that told its own stack (Python), functions of the
 * script stand in the native stack: within all frames of the interpreter's image, since which of
 * those belongs to which function is not known, and outside of what those call. So the stack tells
 * what the script did and what that waits for. As in text and profiles (docs/reports.md) a sample
 * has the script's stack that was taken last before it, or the first one.
 */
#include "collector/digest_stacks.h"

#include <stdlib.h>

struct pair { /* of native and script stack; REPORT_NONE: no script */
    uint32_t stack, script;
    uint64_t weight_ns, samples;
};

static int by_stacks(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return (x->script > y->script) - (x->script < y->script);
}

static int heavier_pair(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->weight_ns != y->weight_ns)
        return x->weight_ns > y->weight_ns ? -1 : 1;
    return by_stacks(a, b);
}

/* Scripts and samples stand in the order of their times. */
static size_t list_pairs(const struct report *r, struct pair *pairs)
{
    size_t count = 0;
    uint32_t script = REPORT_NONE, next = 0;
    for (size_t i = 0; i < r->sample_count; i++) {
        const struct report_sample *s = &r->samples[i];
        for (; next < r->script_count; next++) {
            const struct report_script *taken = &r->scripts[next];
            if (taken->thread_id != r->hang.thread_id)
                continue;
            if (script != REPORT_NONE && taken->at_ns > s->at_ns)
                break;
            script = next;
        }
        if (s->stack < r->thread_count)
            pairs[count++] = (struct pair){
                s->stack, script,
                s->weight_ns < DIGEST_LONGEST_NS ? s->weight_ns : DIGEST_LONGEST_NS, s->count};
    }
    return count;
}

/* Equal ones become one; the heaviest come first. */
static size_t merge_pairs(struct pair *pairs, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(pairs, count, sizeof *pairs, by_stacks);
    for (size_t i = 1; i < count; i++) {
        if (by_stacks(&pairs[kept], &pairs[i]) == 0) {
            digest_add(&pairs[kept].weight_ns, pairs[i].weight_ns);
            digest_add(&pairs[kept].samples, pairs[i].samples);
        } else
            pairs[++kept] = pairs[i];
    }
    qsort(pairs, ++kept, sizeof *pairs, heavier_pair);
    return kept;
}

static bool is_interpreter(const struct digest_maker *m, const struct stack_frame *frame)
{
    const char *name = frame->image ? m->d->images[frame->image - 1].name : "";
    return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
}

static size_t script_frames(struct digest_maker *m, uint32_t script, struct stack_frame *frames,
                            size_t room)
{
    const struct report_script *s = &m->report->scripts[script];
    size_t count = 0;
    for (uint32_t i = 0; i < s->frame_count && count < room; i++) {
        const struct report_script_frame *from = &m->report->script_frames[s->first_frame + i];
        const struct report_name name = {
            .function = from->function, .file = from->file, .line = from->line};
        frames[count] = (struct stack_frame){.kind = REPORT_RETURN};
        count += digest_name_frame(m, &name, 1, &frames[count]);
    }
    return count;
}

static void put_pair(struct digest_maker *m, const struct pair *pair)
{
    struct stack_frame native[DIGEST_FRAMES], script[DIGEST_FRAMES];
    size_t count = digest_thread_frames(m, pair->stack, native), inner = 0, added = 0;
    if (pair->script != REPORT_NONE) {
        while (inner < count && !is_interpreter(m, &native[inner]))
            inner++;
        added = script_frames(m, pair->script, script, DIGEST_FRAMES - inner);
    }
    size_t outer = count - inner, room = DIGEST_FRAMES - inner - added;
    outer = outer < room ? outer : room;
    struct digest_stack stack = {.count = inner + added + outer};
    stack.frames = arena_take_many(m->arena, stack.count, sizeof *stack.frames);
    m->failed |= !stack.frames;
    if (!stack.frames)
        return;
    memcpy(stack.frames, native, inner * sizeof *native);
    memcpy(stack.frames + inner, script, added * sizeof *script);
    memcpy(stack.frames + inner + added, native + inner, outer * sizeof *native);
    digest_put(m, stack, pair->weight_ns, pair->samples);
}

void digest_put_samples(struct digest_maker *m)
{
    const struct report *r = m->report;
    struct pair *pairs = calloc(r->sample_count ? r->sample_count : 1, sizeof *pairs);
    m->failed |= !pairs;
    size_t count = pairs ? merge_pairs(pairs, list_pairs(r, pairs)) : 0;
    for (size_t i = 0; i < count && i < m->stack_capacity; i++)
        put_pair(m, &pairs[i]);
    free(pairs);
}
