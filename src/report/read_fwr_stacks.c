/*
 * Stacks of a Framewalk report: from the tree of frames that its records hold to lists of frames,
 * innermost first. A node's caller has a lower number, so that no chain is a loop.
 */
#include "base/array.h"
#include "framewalk/stack.h"
#include "report/read_fwr.h"

/* ---- the record ---- */

struct columns {  /* of a record: how many numbers each column has had */
    size_t first; /* node */
    size_t count[STACKS_FLAGS + 1];
    size_t flagged; /* node up to which flags are given */
};

static void node_number(struct fwr_reading *f, struct columns *c, uint32_t field, uint64_t value)
{
    size_t number = c->first + c->count[field]++;
    if (number > READ_NODES) {
        fwr_nonsense(f, "there are more frames than any report has");
        return;
    }
    if (field != STACKS_PARENT && c->count[field] > c->count[STACKS_PARENT]) {
        fwr_nonsense(f, "frames are not complete");
        return;
    }
    if (field == STACKS_PARENT) {
        if (!array_reserve(&f->nodes, &f->node_capacity, number + 1, sizeof *f->nodes))
            f->b->error = FW_ERR_MEMORY;
        else if (value == 0 || value > number)
            fwr_nonsense(f, "a frame has no caller that could be");
        else
            f->nodes[number] = (struct read_node){.parent = (uint32_t)(number - value)};
        return;
    }
    struct read_node *node = &f->nodes[number];
    if (field == STACKS_PLACE) {
        node->kind = value & PLACE_EXACT ? REPORT_EXACT : REPORT_RETURN;
        node->has_flags = (value & PLACE_FLAGS) != 0;
        if (value >> PLACE_SHIFT > f->report->image_count)
            fwr_nonsense(f, "a frame is in an image that is not there");
        else
            node->image = (uint32_t)(value >> PLACE_SHIFT);
    } else {
        node->offset = f->last_offset[node->image] += fwr_unzigzag(value);
    }
}

/* Flags are given for the nodes alone that say so, in their order. */
static void node_flags(struct fwr_reading *f, struct columns *c, uint64_t value)
{
    size_t end = c->first + c->count[STACKS_PARENT];
    while (c->flagged < end && !f->nodes[c->flagged].has_flags)
        c->flagged++;
    if (c->flagged < end)
        f->nodes[c->flagged++].flags = (uint8_t)(value & (FW_FRAME_SIGNAL | FW_FRAME_ASYNC));
}

static void stack_number(struct fwr_reading *f, uint64_t innermost)
{
    if (f->stack_count >= READ_STACKS || innermost > f->node_count) {
        fwr_nonsense(f, f->stack_count >= READ_STACKS ? "there are more stacks than any report has"
                                                      : "a stack has no frames that are there");
        return;
    }
    if (!array_reserve(&f->stacks, &f->stack_capacity, f->stack_count + 2, sizeof *f->stacks)) {
        f->b->error = FW_ERR_MEMORY;
        return;
    }
    f->stacks[++f->stack_count] = (struct read_stack){
        .innermost = (uint32_t)innermost, .end = FW_END_ROOT, .thread = REPORT_NONE};
}

static void odd_stack(struct fwr_reading *f, struct reader message)
{
    struct fwr_field field;
    struct read_stack odd = {0};
    uint64_t number = 0;
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case ODD_STACK: number = field.value; break;
        case ODD_END: odd.end = field.value <= UINT8_MAX ? (uint8_t)field.value : 0; break;
        case ODD_UNAVAILABLE:
            odd.unavailable = field.value <= UINT8_MAX ? (uint8_t)field.value : 0;
            break;
        case ODD_HEAD: odd.head = field.value <= UINT32_MAX ? (uint32_t)field.value : 0; break;
        case ODD_OMITTED: odd.omitted = field.value; break;
        default: break;
        }
    }
    if (message.failed || number == 0 || number > f->stack_count) {
        fwr_nonsense(f, "what is said of a stack cannot be read");
        return;
    }
    struct read_stack *stack = &f->stacks[number];
    odd.innermost = stack->innermost;
    odd.thread = stack->thread;
    *stack = odd;
}

static void any_number(struct fwr_reading *f, struct columns *c, uint32_t field, uint64_t value)
{
    if (field == STACKS_INNERMOST)
        stack_number(f, value);
    else if (field == STACKS_FLAGS)
        node_flags(f, c, value);
    else
        node_number(f, c, field, value);
}

/* All of one field, packed or not. */
static void read_column(struct fwr_reading *f, struct columns *c, uint32_t wanted,
                        struct reader payload)
{
    struct fwr_field field;
    while (!f->why && !f->b->error && fwr_next_field(&payload, &field)) {
        if (field.number != wanted)
            continue;
        struct reader packed = reader_over(field.bytes, field.size);
        if (wanted == STACKS_ODD && field.is_bytes)
            odd_stack(f, packed);
        else if (wanted != STACKS_ODD && !field.is_bytes)
            any_number(f, c, wanted, field.value);
        while (wanted != STACKS_ODD && !f->why && !f->b->error && reader_left(&packed) > 0) {
            uint64_t value = reader_uleb(&packed);
            if (packed.failed)
                fwr_nonsense(f, "frames cannot be read");
            else
                any_number(f, c, wanted, value);
        }
    }
    if (payload.failed)
        fwr_nonsense(f, "its payload cannot be read");
}

void fwr_read_stacks(struct fwr_reading *f, struct reader payload)
{
    struct columns c = {.first = f->node_count + 1, .flagged = f->node_count + 1};
    for (uint32_t field = STACKS_PARENT; field <= STACKS_FLAGS; field++)
        read_column(f, &c, field, payload);
    if (c.count[STACKS_PLACE] != c.count[STACKS_PARENT] ||
        c.count[STACKS_OFFSET] != c.count[STACKS_PARENT])
        fwr_nonsense(f, "frames are not complete");
    if (f->why)
        return;
    f->node_count += c.count[STACKS_PARENT];
    read_column(f, &c, STACKS_INNERMOST, payload);
    read_column(f, &c, STACKS_ODD, payload);
}

/* ---- frames ---- */

static void add_frame(struct fwr_reading *f, const struct read_node *node)
{
    struct report_frame *frame = build_frame(f->b);
    if (!frame)
        return;
    frame->kind = node->kind;
    frame->flags = node->flags;
    if (node->image) {
        frame->image = node->image - 1;
        frame->offset = node->offset;
        frame->has_offset = true;
        frame->space = f->from_header[node->image] ? REPORT_FROM_LOAD : REPORT_LINKED;
    } else {
        frame->address = node->offset;
        frame->has_address = true;
    }
}

static void fill_stack(struct fwr_reading *f, const struct read_stack *stack)
{
    struct report *r = f->report;
    uint32_t count = 0;
    uint8_t end = stack->end;
    size_t self = r->thread_count - 1;
    for (uint32_t node = stack->innermost; node && !f->b->error; node = f->nodes[node].parent) {
        if (count == FWR_STACK_FRAMES || r->frame_count >= READ_FRAMES) {
            end = FW_END_LIMIT;
            build_note(f->b, "there are more frames than are read: stacks are cut off");
            break;
        }
        add_frame(f, &f->nodes[node]);
        count++;
    }
    if (f->b->error)
        return;
    struct report_thread *thread = &r->threads[self];
    thread->end = end;
    thread->unavailable = stack->unavailable;
    if (stack->omitted && stack->head <= count) {
        thread->head = stack->head;
        thread->omitted = stack->omitted;
    }
}

static const struct read_stack *stack_of(const struct fwr_reading *f, uint32_t number)
{
    return number && number <= f->stack_count ? &f->stacks[number] : NULL;
}

/* The entry of threads[] that is this stack, made when it is not there yet. */
static uint32_t thread_of_stack(struct fwr_reading *f, uint32_t number)
{
    if (!stack_of(f, number))
        return REPORT_NONE;
    struct read_stack *stack = &f->stacks[number];
    if (stack->thread == REPORT_NONE && !f->b->error) {
        stack->thread = (uint32_t)f->report->thread_count;
        build_thread(f->b, REPORT_STACK)->stack = true;
        fill_stack(f, stack);
    }
    return stack->thread;
}

static void place_thread(struct fwr_reading *f, const struct read_thread *from)
{
    struct report_thread *thread = build_thread(f->b, REPORT_STACK);
    thread->name = from->name;
    thread->queue = from->queue;
    thread->state = from->state;
    thread->main = from->main;
    thread->watched = from->watched;
    if (from->id)
        thread->id = build_format(f->b, "%llu", (unsigned long long)from->id);
    const struct read_stack *stack = stack_of(f, from->stack);
    size_t self = f->report->thread_count - 1;
    if (stack)
        fill_stack(f, stack);
    else
        thread->end = FW_END_UNAVAILABLE;
    if (from->unavailable && !f->b->error)
        f->report->threads[self].unavailable = from->unavailable;
}

void fwr_read_place_stacks(struct fwr_reading *f)
{
    struct report *r = f->report;
    r->hang.thread = REPORT_NONE;
    for (size_t i = 0; i < f->thread_count && !f->b->error; i++) {
        if (r->hang.present && r->hang.thread_id && f->threads[i].id == r->hang.thread_id)
            r->hang.thread = (uint32_t)r->thread_count;
        place_thread(f, &f->threads[i]);
    }
    for (size_t i = 0; i < r->sample_count; i++)
        r->samples[i].stack = thread_of_stack(f, r->samples[i].stack);
    for (size_t i = 0; i < r->call_count; i++)
        r->calls[i].stack = thread_of_stack(f, r->calls[i].stack);
}
