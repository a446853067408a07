/*
 * Stacks of a report as rows want them: different ones, with their time, and the one that the
 * report is grouped by (digest.h says how it is chosen).
 */
#include "collector/digest_stacks.h"

#include <stdlib.h>

/* ---- one stack ---- */

static bool take_frame(struct digest_maker *m, const struct report_frame *from,
                       struct stack_frame *to)
{
    *to = (struct stack_frame){.kind = from->kind == REPORT_RETURN, .space = from->space & 1};
    if (from->image != REPORT_NONE && from->has_offset)
        to->image = digest_image(m, from->image);
    if (to->image)
        to->offset = from->offset;
    else {
        to->space = 0;
        to->offset = from->address;
    }
    const struct report_name *names = from->name_count ? &m->report->names[from->first_name] : NULL;
    return digest_name_frame(m, names, from->name_count, to) || to->image || from->has_address;
}

static bool same_frames(const struct digest_stack *a, const struct digest_stack *b)
{
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

void digest_add(uint64_t *sum, uint64_t value)
{
    *sum = *sum > INT64_MAX - value % INT64_MAX ? INT64_MAX : *sum + value % INT64_MAX;
}

size_t digest_put(struct digest_maker *m, struct digest_stack stack, uint64_t weight_ns,
                  uint64_t samples)
{
    struct digest *d = m->d;
    struct span id_keys[DIGEST_FRAMES];
    for (size_t i = 0; i < stack.count; i++)
        id_keys[i] =
            stack.frames[i].image ? d->images[stack.frames[i].image - 1].id_key : (struct span){0};
    if (stack_hash(stack.frames, id_keys, stack.count, stack.hash) != FW_OK) {
        m->failed = true;
        return SIZE_MAX;
    }
    size_t i = 0;
    while (i < d->stack_count && !same_frames(&d->stacks[i], &stack))
        i++;
    if (i == d->stack_count) {
        if (i == m->stack_capacity)
            return SIZE_MAX;
        d->stacks[d->stack_count++] = stack;
    }
    digest_add(&d->stacks[i].weight_ns, weight_ns);
    digest_add(&d->stacks[i].samples, samples);
    return i;
}

static struct stack_frame *room(struct digest_maker *m, size_t count)
{
    struct stack_frame *frames = arena_take_many(m->arena, count, sizeof *frames);
    m->failed |= !frames;
    return frames;
}

size_t digest_thread_frames(struct digest_maker *m, uint32_t thread,
                            struct stack_frame frames[DIGEST_FRAMES])
{
    const struct report_thread *t = &m->report->threads[thread];
    size_t count = 0;
    for (uint32_t i = 0; i < t->frame_count && i < DIGEST_FRAMES; i++)
        count += take_frame(m, &m->report->frames[t->first_frame + i], &frames[count]);
    return count;
}

size_t digest_put_thread(struct digest_maker *m, uint32_t thread, uint64_t weight_ns,
                         uint64_t samples)
{
    if (m->stack_number[thread]) { /* a hostile report has many calls by one deep stack */
        if (m->stack_number[thread] == SIZE_MAX)
            return SIZE_MAX;
        size_t known = m->stack_number[thread] - 1;
        digest_add(&m->d->stacks[known].weight_ns, weight_ns);
        digest_add(&m->d->stacks[known].samples, samples);
        return known;
    }
    struct stack_frame frames[DIGEST_FRAMES];
    struct digest_stack stack = {.count = digest_thread_frames(m, thread, frames)};
    stack.frames = room(m, stack.count);
    if (!stack.frames)
        return SIZE_MAX;
    memcpy(stack.frames, frames, stack.count * sizeof *frames);
    size_t at = digest_put(m, stack, weight_ns, samples);
    m->stack_number[thread] = at == SIZE_MAX ? SIZE_MAX : at + 1;
    return at;
}

size_t digest_put_empty(struct digest_maker *m, uint64_t weight_ns)
{
    return digest_put(m, (struct digest_stack){.frames = room(m, 0)}, weight_ns, weight_ns != 0);
}

/* ---- trees ---- */

struct tip { /* a frame of a tree in which something was seen, not in what it called */
    uint64_t samples;
    uint32_t frame;
};

static int heavier_tip(const void *a, const void *b)
{
    const struct tip *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* The stack that ends (or, where callers stand inside, begins) at `frame`. */
static void put_path(struct digest_maker *m, uint32_t frame, bool callers_inside,
                     uint64_t weight_ns, uint64_t samples)
{
    const struct report_frame *frames = m->report->frames;
    struct digest_stack stack = {.frames = room(m, DIGEST_FRAMES)};
    if (!stack.frames)
        return;
    size_t depth = 0;
    for (uint32_t f = frame; f != REPORT_NONE && depth < DIGEST_FRAMES; f = frames[f].parent) {
        stack.count += take_frame(m, &frames[f], &stack.frames[stack.count]);
        depth++;
    }
    if (callers_inside)
        for (size_t i = 0; i < stack.count / 2; i++) {
            struct stack_frame swap = stack.frames[i];
            stack.frames[i] = stack.frames[stack.count - 1 - i];
            stack.frames[stack.count - 1 - i] = swap;
        }
    digest_put(m, stack, weight_ns, samples);
}

void digest_put_tree(struct digest_maker *m, uint32_t thread, uint64_t duration_ns)
{
    const struct report_thread *t = &m->report->threads[thread];
    struct tip *tips = calloc(t->frame_count ? t->frame_count : 1, sizeof *tips);
    uint64_t total = 0;
    m->failed |= !tips;
    for (uint32_t i = 0; tips && i < t->frame_count; i++) {
        const struct report_frame *frame = &m->report->frames[t->first_frame + i];
        tips[i] = (struct tip){frame->samples & INT32_MAX, t->first_frame + i};
        uint32_t parent = frame->parent;
        if (parent != REPORT_NONE && parent >= t->first_frame && parent - t->first_frame < i) {
            struct tip *outer = &tips[parent - t->first_frame];
            outer->samples -= tips[i].samples < outer->samples ? tips[i].samples : outer->samples;
        }
    }
    for (uint32_t i = 0; tips && i < t->frame_count; i++)
        total += tips[i].samples;
    if (tips)
        qsort(tips, t->frame_count, sizeof *tips, heavier_tip);
    for (uint32_t i = 0; tips && i < t->frame_count && i < DIGEST_STACKS && tips[i].samples; i++)
        put_path(m, tips[i].frame, t->order == REPORT_CALLEES,
                 (uint64_t)((double)duration_ns * (double)tips[i].samples / (double)total),
                 tips[i].samples);
    free(tips);
}

/* ---- the key ---- */

static const struct stack_frame *from_outside(const struct digest_stack *s, size_t depth)
{
    return depth < s->count ? &s->frames[s->count - 1 - depth] : NULL;
}

static int compare_frames(const struct stack_frame *a, const struct stack_frame *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->kind * 2 + a->space) - (b->kind * 2 + b->space);
}

/* By frames from outside, so that stacks with a common outer part stand together. */
static int by_outer_frames(const void *a, const void *b)
{
    const struct digest_stack *x = a, *y = b;
    int order = 0;
    for (size_t i = 0; order == 0 && (i < x->count || i < y->count); i++)
        order = compare_frames(from_outside(x, i), from_outside(y, i));
    return order;
}

static int heavier_stack(const void *a, const void *b)
{
    const struct digest_stack *x = a, *y = b;
    if (x->weight_ns != y->weight_ns)
        return x->weight_ns > y->weight_ns ? -1 : 1;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return memcmp(x->hash, y->hash, sizeof x->hash);
}

/* Of time, or of samples where the report tells no time. */
static uint64_t weight_of(const struct digest_stack *s, size_t count, bool timed)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        digest_add(&sum, timed ? s[i].weight_ns : s[i].samples);
    return sum;
}

/* Narrows [*first, *first + *count) to the stacks that go on as the heaviest do at `depth`. False:
 * no frame has half of the weight, or the heaviest end here. */
static bool follow(const struct digest_stack *s, size_t *first, size_t *count, size_t depth,
                   bool timed)
{
    uint64_t all = weight_of(s + *first, *count, timed), best = 0;
    size_t best_first = 0, best_count = 0;
    for (size_t i = *first, end = *first + *count, next; i < end; i = next) {
        const struct stack_frame *frame = from_outside(&s[i], depth);
        for (next = i + 1; next < end; next++)
            if (compare_frames(frame, from_outside(&s[next], depth)) != 0)
                break;
        uint64_t weight = weight_of(s + i, next - i, timed);
        if (weight > best || best_count == 0) {
            best = weight;
            best_first = i;
            best_count = next - i;
        }
    }
    if (best_count == 0 || best < all - best || !from_outside(&s[best_first], depth))
        return false;
    *first = best_first;
    *count = best_count;
    return true;
}

void digest_choose_key(struct digest_maker *m)
{
    struct digest *d = m->d;
    if (d->stack_count == 0)
        return;
    qsort(d->stacks, d->stack_count, sizeof *d->stacks, heavier_stack);
    d->stack_count = d->stack_count < DIGEST_STACKS ? d->stack_count : DIGEST_STACKS;
    qsort(d->stacks, d->stack_count, sizeof *d->stacks, by_outer_frames);
    bool timed = weight_of(d->stacks, d->stack_count, true) > 0;
    size_t first = 0, count = d->stack_count;
    for (size_t depth = 0; count > 1 && follow(d->stacks, &first, &count, depth, timed); depth++)
        ;
    d->key = first;
    for (size_t i = first + 1; i < first + count; i++)
        if (heavier_stack(&d->stacks[i], &d->stacks[d->key]) < 0)
            d->key = i;
}
