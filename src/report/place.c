/*
 * Addresses to images and back, and what follows from a frame's place in its stack.
 *
 * Only images of the report's own list are searched; an image that a frame merely names
 * (build_hint) stands in where none of them holds the address, and is dropped when no frame is
 * left to it.
 */
#include "report/build.h"

#include "arch/arch.h"

#include <stdlib.h>

enum {
    NEIGHBOURS = 8, /* images may overlap a little (a stub inside another) */
    USER_BITS = 47, /* of an arm64 address; authentication bits stand above */
    KERNEL_BIT = 55 /* tells addresses of the kernel from those of programs */
};

struct by_load {
    uint32_t group;
    uint32_t image;
    uint64_t load;
};

static int compare_loads(const void *a, const void *b)
{
    const struct by_load *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->load != y->load)
        return x->load < y->load ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

static struct by_load *sort_images(struct report_build *b, size_t *count)
{
    struct report *r = b->report;
    struct by_load *sorted = calloc(r->image_count + 1, sizeof *sorted);
    *count = 0;
    for (size_t i = 0; sorted && i < r->image_count; i++)
        if (b->real[i] && r->images[i].has_load &&
            (r->images[i].load != 0 || r->images[i].id_size > 0))
            sorted[(*count)++] =
                (struct by_load){r->images[i].group, (uint32_t)i, r->images[i].load};
    if (sorted && *count > 1)
        qsort(sorted, *count, sizeof *sorted, compare_loads);
    return sorted;
}

static uint32_t image_at(const struct report *r, const struct by_load *sorted, size_t count,
                         uint32_t group, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle].group < group ||
            (sorted[middle].group == group && sorted[middle].load <= address))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < NEIGHBOURS && low > 0; i++, low--) {
        const struct report_image *image = &r->images[sorted[low - 1].image];
        if (sorted[low - 1].group != group)
            break;
        bool holds = image->size ? address - image->load < image->size
                                 : i == 0; /* of unknown size: up to the next */
        if (holds)
            return sorted[low - 1].image;
    }
    return REPORT_NONE;
}

/* Authentication bits are those between the address and the bit that says whose it is. */
static uint64_t strip(uint64_t address)
{
    uint64_t mask = (UINT64_C(1) << USER_BITS) - 1;
    return address >> KERNEL_BIT & 1 ? address | ~mask : address & mask;
}

/* In Thumb code a return address, and in some reports every address, has its lowest bit set: the
 * processor's mark, no part of the place. */
static void clear_thumb(struct report *r, struct report_frame *frame)
{
    const char *arch = frame->image == REPORT_NONE ? NULL : r->images[frame->image].arch;
    if (!arch_has_thumb(arch ? arch : r->info.arch))
        return;
    frame->address &= ~UINT64_C(1);
    frame->offset &= ~UINT64_C(1);
    for (uint32_t i = 0; i < frame->name_count; i++)
        r->names[frame->first_name + i].offset &= ~UINT64_C(1);
}

static void place_frame(struct report_build *b, struct report_frame *frame,
                        const struct by_load *sorted, size_t count)
{
    struct report *r = b->report;
    const struct report_image *own = frame->image == REPORT_NONE ? NULL : &r->images[frame->image];
    if (frame->has_address && b->pointer_auth)
        frame->address = strip(frame->address);
    if (!frame->has_address && frame->has_offset && own && own->has_load &&
        frame->space == REPORT_FROM_LOAD) {
        frame->address = own->load + frame->offset;
        frame->has_address = true;
    }
    if (!frame->has_address || frame->has_offset)
        return;
    if (!own || !b->real[frame->image]) {
        uint32_t found =
            image_at(r, sorted, count, r->threads[frame->thread].group, frame->address);
        if (found != REPORT_NONE)
            frame->image = found;
    }
    own = frame->image == REPORT_NONE ? NULL : &r->images[frame->image];
    if (own && own->has_load && frame->address >= own->load) {
        frame->offset = frame->address - own->load;
        frame->has_offset = true;
        frame->space = REPORT_FROM_LOAD;
    }
}

/* Provisional images that no frame uses any more go; numbers close up. */
static void drop_unused(struct report_build *b)
{
    struct report *r = b->report;
    uint32_t *number = calloc(r->image_count + 1, sizeof *number);
    if (!number) {
        b->error = FW_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < r->frame_count; i++)
        if (r->frames[i].image != REPORT_NONE)
            number[r->frames[i].image] = 1;
    uint32_t kept = 0;
    for (size_t i = 0; i < r->image_count; i++) {
        if (!b->real[i] && !number[i])
            continue;
        r->images[kept] = r->images[i];
        number[i] = kept++;
    }
    for (size_t i = 0; i < r->frame_count; i++)
        if (r->frames[i].image != REPORT_NONE)
            r->frames[i].image = number[r->frames[i].image];
    r->image_count = kept;
    free(number);
}

/* In a tree the innermost frames were running; where frames stand inside what called them, these
 * are the outer ones of the text. */
static void tree_kinds(struct report *r)
{
    for (size_t i = 0; i < r->frame_count; i++) {
        struct report_frame *frame = &r->frames[i];
        uint8_t order = r->threads[frame->thread].order;
        if (order == REPORT_STACK)
            continue;
        if (order == REPORT_CALLEES) {
            frame->kind = frame->parent == REPORT_NONE ? REPORT_EXACT : REPORT_RETURN;
        } else {
            frame->kind = REPORT_EXACT; /* until something is found inside it, further on */
            if (frame->parent != REPORT_NONE)
                r->frames[frame->parent].kind = REPORT_RETURN;
        }
    }
}

static bool is_trampoline(const char *function)
{
    return function &&
           (strcmp(function, "_sigtramp") == 0 || strcmp(function, "__restore_rt") == 0 ||
            strcmp(function, "__kernel_rt_sigreturn") == 0);
}

/* The frame behind the one through which the kernel called a signal handler was interrupted. */
static void after_signals(struct report *r)
{
    for (size_t i = 0; i + 1 < r->frame_count; i++) {
        const struct report_frame *frame = &r->frames[i];
        if (frame->name_count == 0 || r->frames[i + 1].thread != frame->thread ||
            r->threads[frame->thread].order != REPORT_STACK ||
            !is_trampoline(r->names[frame->first_name + frame->name_count - 1].function))
            continue;
        r->frames[i + 1].kind = REPORT_EXACT;
    }
}

void build_place(struct report_build *b)
{
    size_t count;
    struct by_load *sorted = sort_images(b, &count);
    if (!sorted) {
        b->error = FW_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < b->report->frame_count; i++) {
        place_frame(b, &b->report->frames[i], sorted, count);
        clear_thumb(b->report, &b->report->frames[i]);
    }
    free(sorted);
    if (b->provisional)
        drop_unused(b);
    tree_kinds(b->report);
    after_signals(b->report);
}
