/* Samples of a turn: see hang_samples.h. */
#include "watch/hang_samples.h"

#include <string.h>

void hang_samples_init(struct hang_samples *samples, struct fw_frame *frames, uint32_t depth)
{
    samples->frames = frames;
    samples->depth = depth;
    samples->chance = 0x9e3779b97f4a7c15;
    hang_samples_reset(samples);
}

void hang_samples_reset(struct hang_samples *samples)
{
    samples->run_count = samples->stack_count = 0;
    samples->first = samples->last = samples->taken = 0;
}

/* xorshift64*: Marsaglia, "Xorshift RNGs". */
uint64_t hang_samples_draw(struct hang_samples *samples, uint64_t below)
{
    uint64_t x = samples->chance;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    samples->chance = x;
    return (x * 0x2545f4914f6cdd1d >> 11) % below;
}

/* Leaves out stacks that no run speaks of any more. */
static void sweep(struct hang_samples *samples)
{
    uint32_t place[HANG_STACKS], kept = 0;
    for (uint32_t i = 0; i < samples->stack_count; i++) {
        bool used = false;
        for (uint32_t r = 0; r < samples->run_count && !used; r++)
            used = samples->runs[r].stack == i;
        place[i] = kept;
        if (!used)
            continue;
        if (kept != i) {
            struct fw_frame *to = samples->frames + (size_t)kept * samples->depth;
            memcpy(to, samples->stacks[i].frames, samples->stacks[i].count * sizeof *to);
            samples->stacks[kept] = samples->stacks[i];
            samples->stacks[kept].frames = to;
        }
        kept++;
    }
    samples->stack_count = kept;
    for (uint32_t r = 0; r < samples->run_count; r++)
        samples->runs[r].stack = place[samples->runs[r].stack];
}

static struct hang_run merged(struct hang_samples *samples, struct hang_run a, struct hang_run b)
{
    const uint64_t sum = a.weight + b.weight;
    const bool first = sum == 0 || hang_samples_draw(samples, sum) < a.weight;
    return (struct hang_run){
        .stack = first ? a.stack : b.stack, .count = a.count + b.count, .at = a.at, .weight = sum};
}

/* Merges all but the last run, which is open, pair by pair. */
static void thin_out(struct hang_samples *samples)
{
    uint32_t kept = 0, r = 0;
    const uint32_t closed = samples->run_count - 1;
    for (; r + 1 < closed; r += 2) {
        struct hang_run run = merged(samples, samples->runs[r], samples->runs[r + 1]);
        if (kept && samples->runs[kept - 1].stack == run.stack) {
            samples->runs[kept - 1].count += run.count;
            samples->runs[kept - 1].weight += run.weight;
        } else {
            samples->runs[kept++] = run;
        }
    }
    for (; r < samples->run_count; r++)
        samples->runs[kept++] = samples->runs[r];
    samples->run_count = kept;
    sweep(samples);
}

/* The index of this stack, kept from now on. */
static uint32_t keep(struct hang_samples *samples, const struct fw_stack *stack)
{
    for (uint32_t i = 0; i < samples->stack_count; i++)
        if (samples->stacks[i].id == stack->id && samples->stacks[i].end == stack->end)
            return i;
    while (samples->stack_count == HANG_STACKS && samples->run_count > 2)
        thin_out(samples);
    const uint32_t at = samples->stack_count++;
    struct fw_stack *to = &samples->stacks[at];
    *to = *stack;
    to->frames = samples->frames + (size_t)at * samples->depth;
    if (to->count > samples->depth) /* cannot be: captures are given that much room */
        to->count = samples->depth;
    memcpy(to->frames, stack->frames, to->count * sizeof *to->frames);
    return at;
}

void hang_samples_add(struct hang_samples *samples, const struct fw_stack *stack, uint64_t at)
{
    if (samples->taken++ == 0)
        samples->first = samples->last = at;
    const uint64_t gap = at > samples->last ? at - samples->last : 0;
    samples->last += gap;
    const uint32_t kept = keep(samples, stack);
    struct hang_run *last = samples->run_count ? &samples->runs[samples->run_count - 1] : NULL;
    if (last && last->stack == kept) {
        if (last->count++ == 0)
            last->at = at;
        last->weight += gap;
        return;
    }
    if (last)
        last->weight += gap / 2;
    if (samples->run_count == HANG_RUNS)
        thin_out(samples);
    /* thin_out keeps the open run, but may have moved the new stack */
    uint32_t place = kept;
    if (place >= samples->stack_count || samples->stacks[place].id != stack->id ||
        samples->stacks[place].end != stack->end)
        place = keep(samples, stack);
    samples->runs[samples->run_count++] =
        (struct hang_run){.stack = place, .count = 1, .at = at, .weight = last ? gap - gap / 2 : 0};
}

void hang_samples_close(struct hang_samples *samples, uint64_t at)
{
    if (!samples->run_count || at <= samples->last)
        return;
    samples->runs[samples->run_count - 1].weight += at - samples->last;
    samples->last = at;
}

void hang_samples_drained(struct hang_samples *samples)
{
    if (!samples->run_count)
        return;
    struct hang_run open = samples->runs[samples->run_count - 1];
    open.count = 0;
    open.weight = 0;
    open.at = samples->last;
    samples->runs[0] = open;
    samples->run_count = 1;
    sweep(samples);
}

const struct fw_stack *hang_samples_last(const struct hang_samples *samples)
{
    return samples->run_count ? &samples->stacks[samples->runs[samples->run_count - 1].stack]
                              : NULL;
}

const struct fw_stack *hang_samples_heaviest(const struct hang_samples *samples)
{
    uint64_t weight[HANG_STACKS] = {0};
    uint32_t best = 0;
    if (!samples->run_count)
        return NULL;
    for (uint32_t r = 0; r < samples->run_count; r++)
        weight[samples->runs[r].stack] += samples->runs[r].weight;
    for (uint32_t i = 1; i < samples->stack_count; i++)
        if (weight[i] > weight[best])
            best = i;
    return &samples->stacks[best];
}
