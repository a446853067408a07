/* See shadow.h. */
#include "oracle/shadow.h"

#include <stdlib.h>

enum {
    SAME_PLACE = 64,   /* bytes that a stack's sp may differ between leaving and coming back */
    SMALL = 16 * 1024, /* a move inwards by less is room for a large array */
    NEAR = 1 << 23,    /* a stack is no larger */
};

static struct shadow *running(struct shadows *shadows)
{
    return &shadows->stack[shadows->current];
}

static bool add_stack(struct shadows *shadows)
{
    struct shadow *grown = realloc(shadows->stack, (shadows->count + 1) * sizeof *shadows->stack);
    if (!grown)
        return false;
    shadows->stack = grown;
    shadows->stack[shadows->count] = (struct shadow){0};
    shadows->current = shadows->count++;
    return true;
}

bool shadow_start(struct shadows *shadows)
{
    *shadows = (struct shadows){0};
    return add_stack(shadows);
}

void shadow_free(struct shadows *shadows)
{
    for (size_t i = 0; i < shadows->count; i++)
        free(shadows->stack[i].entry);
    free(shadows->stack);
}

static void push(struct shadows *shadows, struct shadow_entry entry)
{
    struct shadow *s = running(shadows);
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct shadow_entry *grown = realloc(s->entry, room * sizeof *grown);
        if (!grown)
            abort();
        s->entry = grown;
        s->room = room;
    }
    s->entry[s->count++] = entry;
}

void shadow_call(struct shadows *shadows, uint64_t slot, uint64_t ra)
{
    push(shadows, (struct shadow_entry){.slot = slot, .ra = ra, .kind = SHADOW_CALL});
}

bool shadow_return(struct shadows *shadows, uint64_t slot)
{
    struct shadow *s = running(shadows);
    struct shadow_entry *top = s->count ? &s->entry[s->count - 1] : NULL;
    if (!top || top->slot != slot)
        return false;
    bool rewritten = top->rewritten;
    if (top->kind == SHADOW_SIGNAL)
        top->kind = SHADOW_RETURNED;
    else
        s->count--;
    return !rewritten;
}

uint64_t shadow_innermost(const struct shadows *shadows)
{
    const struct shadow *s = &shadows->stack[shadows->current];
    return s->count ? s->entry[s->count - 1].ra : 0;
}

void shadow_signal(struct shadows *shadows, uint64_t slot, uint64_t ra, uint64_t pc, uint64_t sp)
{
    push(shadows,
         (struct shadow_entry){.slot = slot, .ra = ra, .pc = pc, .sp = sp, .kind = SHADOW_SIGNAL});
}

void shadow_sigreturn(struct shadows *shadows, uint64_t sp)
{
    struct shadow *s = running(shadows);
    for (size_t i = s->count; i-- > 0;)
        if (s->entry[i].kind != SHADOW_CALL) {
            s->count = i;
            break;
        }
    shadow_moved(shadows, sp);
}

/* An interrupted place is left for good when sp goes beyond the interrupted sp, on its stack. */
static bool is_left(const struct shadow_entry *e, uint64_t sp)
{
    return e->kind == SHADOW_CALL ? e->slot < sp : e->slot < sp && e->sp < sp;
}

void shadow_moved(struct shadows *shadows, uint64_t sp)
{
    struct shadow *s = running(shadows);
    while (s->count && is_left(&s->entry[s->count - 1], sp)) {
        s->count--;
        shadows->dropped++;
    }
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The innermost return address that lies outwards of `to` on this stack; false when there is none.
 */
static bool find_outwards(const struct shadow *s, uint64_t to, size_t *found)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->entry[i].slot >= to && s->entry[i].slot - to < NEAR) {
            *found = i;
            return true;
        }
    return false;
}

bool shadow_jumped(struct shadows *shadows, uint64_t from, uint64_t to)
{
    struct shadow *s = running(shadows);
    for (size_t i = 0; i < shadows->count; i++)
        if (i != shadows->current && distance(shadows->stack[i].sp, to) <= SAME_PLACE) {
            s->sp = from;
            shadows->current = i;
            shadows->switches++;
            shadow_moved(shadows, to);
            return true;
        }
    size_t outer;
    if (to >= from && find_outwards(s, to, &outer)) {
        bool drops = outer + 1 < s->count;
        shadows->dropped += s->count - outer - 1;
        s->count = outer + 1;
        return drops;
    }
    if (s->count == 0 || (to < from && from - to < SMALL))
        return false; /* before the first call; or room for a large array */
    s->sp = from;
    shadows->switches++;
    if (!add_stack(shadows))
        abort();
    return true;
}

bool shadow_is_fresh(const struct shadows *shadows)
{
    return shadows->current != 0 && shadows->stack[shadows->current].count == 0;
}

size_t shadow_frames(const struct shadows *shadows, uint64_t pc, struct shadow_frame *frame,
                     size_t room)
{
    const struct shadow *s = &shadows->stack[shadows->current];
    size_t n = 0;
    if (n < room)
        frame[n++] = (struct shadow_frame){pc, true, 0};
    for (size_t i = s->count; i-- > 0 && n < room;) {
        const struct shadow_entry *e = &s->entry[i];
        if (e->kind == SHADOW_CALL)
            frame[n++] = (struct shadow_frame){e->ra, false, e->slot};
        else if (e->kind == SHADOW_SIGNAL)
            frame[n++] = (struct shadow_frame){e->ra, true, e->slot};
        if (e->kind != SHADOW_CALL && n < room)
            frame[n++] = (struct shadow_frame){e->pc, true, 0};
    }
    return n;
}

void shadow_rewrite(struct shadows *shadows, uint64_t slot, uint64_t ra)
{
    struct shadow *s = running(shadows);
    for (size_t i = 0; i < s->count; i++)
        if (s->entry[i].slot == slot) {
            s->entry[i].ra = ra;
            s->entry[i].rewritten = true;
        }
}
