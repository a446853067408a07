/*
 * Hangs, equal ones together, the longest blocked first.
 *
 * A hang is a row of samples, each with the time that it stands for. The place to blame is not the
 * innermost frame of some sample (a loop over a file is in read() now and in its parser then), but
 * the innermost frame in which most of the time was spent: from the outermost frame inwards, the
 * heaviest branch is followed as long as it holds most of the hang's time. What lies further in is
 * listed with its share. Hangs whose way to that frame is the same are the same hang; of Python,
 * those with the same stack of the script.
 */
#include "cli/run.h"

#include "base/array.h"
#include "report/fwr.h"
#include "report/own_image.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 75 }; /* percent of the time that a branch must hold */

struct branch { /* a sample that is still on the way */
    struct run_stack stack;
    uint64_t weight;
};

static const struct run_frame *at_depth(const struct run_stack *stack, size_t depth)
{
    return depth < stack->count ? &stack->frames[stack->count - 1 - depth] : NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_frame(const struct run_frame *a, const struct run_frame *b)
{
    if (!is_same_text(a->image, b->image) || !is_same_text(a->function, b->function))
        return false;
    return a->function || a->offset == b->offset;
}

/* Moves the samples of the heaviest branch at `depth` to the front: how many, and their weight. */
static size_t heaviest(struct branch *branches, size_t count, size_t depth, uint64_t *weight)
{
    const struct run_frame *best = NULL;
    *weight = 0;
    for (size_t i = 0; i < count; i++) {
        const struct run_frame *frame = at_depth(&branches[i].stack, depth);
        uint64_t sum = 0;
        for (size_t k = 0; frame && k < count; k++) {
            const struct run_frame *other = at_depth(&branches[k].stack, depth);
            sum += other && is_same_frame(frame, other) ? branches[k].weight : 0;
        }
        if (frame && sum > *weight) {
            *weight = sum;
            best = frame;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; best && i < count; i++) {
        const struct run_frame *frame = at_depth(&branches[i].stack, depth);
        if (!frame || !is_same_frame(frame, best))
            continue;
        struct branch moved = branches[i];
        branches[i] = branches[kept];
        branches[kept++] = moved;
    }
    return kept;
}

/* ---- one hang ---- */

static unsigned percent_of(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part * 100.0 / (double)whole + 0.5) : 0;
}

/* What the samples do inside the depth on which they agree. */
static void list_inside(struct run_hang *hang, struct branch *branches, size_t count, size_t depth,
                        uint64_t total)
{
    while (count > 0 && hang->inside_count < RUN_INSIDE) {
        uint64_t weight;
        size_t kept = heaviest(branches, count, depth, &weight);
        unsigned percent = percent_of(weight, total);
        if (kept == 0 || percent == 0)
            return;
        hang->inside[hang->inside_count++] =
            (struct run_inside){*at_depth(&branches[0].stack, depth), percent};
        branches += kept;
        count -= kept;
    }
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

/* Of a script its own frames alone: what the interpreter does for it below them differs by chance.
 */
static uint64_t key_of(const struct run_hang *hang, const struct report *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const bool has_script = hang->script && hang->script->frame_count;
    for (size_t i = 0; !has_script && i < hang->stack.count; i++) {
        const struct run_frame *frame = &hang->stack.frames[i];
        hash = mix(mix(hash, frame->image), frame->function);
        if (!frame->function)
            hash = (hash ^ frame->offset) * 0x100000001b3u;
    }
    for (uint32_t i = 0; has_script && i < hang->script->frame_count; i++) {
        const struct report_script_frame *frame = &r->script_frames[hang->script->first_frame + i];
        hash = mix(mix(hash, frame->file), frame->function);
    }
    return hash;
}

uint32_t run_script_guilty(const struct report *r, const struct report_script *script)
{
    for (uint32_t i = 0; i < script->frame_count; i++)
        if (own_script(r->script_frames[script->first_frame + i].file))
            return i;
    return 0;
}

/* A script's frame is where a person looks first. */
static struct run_frame blame(const struct run_hang *hang, const struct report *r)
{
    if (hang->script && hang->script->frame_count) {
        const struct report_script_frame *frame =
            &r->script_frames[hang->script->first_frame + run_script_guilty(r, hang->script)];
        return (struct run_frame){
            .function = frame->function, .file = frame->file, .line = frame->line, .script = true};
    }
    const struct run_frame *guilty = run_guilty(&hang->stack);
    return guilty ? *guilty : (struct run_frame){0};
}

static void find_place(struct run_hang *hang, struct branch *branches, size_t count)
{
    uint64_t total = 0, agreed = 0, weight;
    for (size_t i = 0; i < count; i++)
        total += branches[i].weight;
    size_t depth = 0, kept;
    while ((kept = heaviest(branches, count, depth, &weight)) > 0 &&
           percent_of(weight, total) >= MOST) {
        count = kept;
        agreed = weight;
        depth++;
    }
    size_t best = 0; /* lines are those of the heaviest */
    for (size_t i = 1; i < count; i++)
        if (branches[i].weight > branches[best].weight)
            best = i;
    if (depth == 0 && count > 0) { /* stacks that do not even begin alike: the heaviest as it is */
        depth = branches[best].stack.count;
        agreed = branches[best].weight;
        branches += best;
        best = 0;
        count = 1;
    }
    hang->percent = percent_of(agreed, total);
    if (depth == 0)
        return;
    const struct run_stack *stack = &branches[best].stack;
    hang->stack.broken = stack->broken;
    hang->stack.count = depth;
    hang->stack.frames = stack->frames + (stack->count - depth);
    list_inside(hang, branches, count, depth, total);
}

/* Of a hang that the process did not survive: to its end, where that was seen. */
static uint64_t duration_of(const struct run_result *result, const struct run_report *report)
{
    const struct report_hang *hang = &report->report->hang;
    uint64_t known = hang->duration_ns, began = hang->started_ms;
    bool killed = hang->ending == FWR_KILLED || hang->ending == FWR_ENDING_NONE;
    if (!killed || report->pid != result->ended_pid || began == 0 || result->ended_ms < began)
        return known;
    uint64_t lasted = (result->ended_ms - began) * 1000000u;
    return lasted > known ? lasted : known;
}

static bool read_hang(const struct run_result *result, const struct run_report *report,
                      struct run_hangs *hangs, struct run_hang *hang)
{
    const struct report *r = report->report;
    uint64_t duration = duration_of(result, report);
    struct branch *branches = arena_take_many(&hangs->arena, r->sample_count + 1, sizeof *branches);
    if (!branches)
        return false;
    *hang = (struct run_hang){
        .report = report,
        .count = 1,
        .total_ns = duration,
        .longest_ns = duration,
        .first_ms = r->hang.started_ms ? r->hang.started_ms : r->started_ms,
        .fatal = r->hang.ending == FWR_KILLED || r->hang.ending == FWR_ENDING_NONE,
        .unended = r->hang.ending == FWR_STOPPED,
    };
    size_t count = 0;
    for (size_t i = 0; i < r->sample_count; i++) {
        const struct report_sample *sample = &r->samples[i];
        struct run_stack stack = run_stack_of(report, sample->stack);
        if (stack.count)
            branches[count++] =
                (struct branch){stack, sample->weight_ns ? sample->weight_ns : sample->count};
    }
    if (r->script_count)
        hang->script = &r->scripts[0];
    find_place(hang, branches, count);
    hang->guilty = blame(hang, r);
    hang->key = key_of(hang, r);
    return true;
}

/* ---- all ---- */

static void merge(struct run_hang *to, const struct run_hang *from)
{
    to->count++;
    to->total_ns += from->total_ns;
    to->fatal |= from->fatal;
    to->unended |= from->unended;
    if (from->first_ms < to->first_ms)
        to->first_ms = from->first_ms;
    if (from->longest_ns <= to->longest_ns)
        return;
    struct run_hang sums = *to;
    *to = *from;
    to->count = sums.count;
    to->total_ns = sums.total_ns;
    to->fatal = sums.fatal;
    to->unended = sums.unended;
    to->first_ms = sums.first_ms;
}

static bool add(struct run_hangs *hangs, const struct run_hang *hang)
{
    hangs->total_ns += hang->total_ns;
    for (size_t i = 0; i < hangs->count; i++)
        if (hangs->items[i].key == hang->key) {
            merge(&hangs->items[i], hang);
            return true;
        }
    if (!array_room(&hangs->items, &hangs->capacity, hangs->count, sizeof *hangs->items))
        return false;
    hangs->items[hangs->count++] = *hang;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct run_hang *left = a, *right = b;
    if (left->fatal != right->fatal)
        return left->fatal ? -1 : 1;
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    return left->first_ms < right->first_ms ? -1 : left->first_ms > right->first_ms;
}

bool run_hangs_rank(const struct run_result *result, struct run_hangs *hangs)
{
    *hangs = (struct run_hangs){0};
    for (size_t i = 0; i < result->count; i++) {
        const struct report *r = result->reports[i].report;
        struct run_hang hang;
        if (!r->hang.present || r->hang.ending == FWR_VETOED)
            continue;
        if (!read_hang(result, &result->reports[i], hangs, &hang) || !add(hangs, &hang))
            return false;
    }
    if (hangs->count)
        qsort(hangs->items, hangs->count, sizeof *hangs->items, by_time);
    return true;
}

void run_hangs_free(struct run_hangs *hangs)
{
    free(hangs->items);
    arena_free(&hangs->arena);
}
