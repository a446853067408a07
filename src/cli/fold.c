/* Grouping by sorting twice: equal threads side by side, then the groups by interest. */
#include "cli/fold.h"

#include <stdlib.h>
#include <string.h>

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : 0)

static int compare_frames(const struct dump_stack *a, const struct dump_stack *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        int order = ORDER(a->frames[i].address, b->frames[i].address);
        if (order != 0)
            return order;
    }
    return 0;
}

static int compare_stacks(const struct dump_stack *a, const struct dump_stack *b)
{
    int order = ORDER(a->id, b->id);
    order = order != 0 ? order : ORDER(a->count, b->count);
    order = order != 0 ? order : ORDER(a->head, b->head);
    order = order != 0 ? order : ORDER(a->omitted, b->omitted);
    order = order != 0 ? order : ORDER(a->end, b->end);
    order = order != 0 ? order : ORDER(a->unavailable, b->unavailable);
    return order != 0 ? order : compare_frames(a, b);
}

/* What the state of a thread says to the reader; sampled threads had many. */
static int activity(const struct dump_thread *thread)
{
    if (thread->samples > 1)
        return thread->running > 0 ? 'R' : 'S';
    return thread->state;
}

/* 0 when the two belong together. */
static int compare_places(const struct dump_thread *a, const struct dump_thread *b)
{
    int order = ORDER(b->is_main, a->is_main);
    order = order != 0 ? order : ORDER(a->signal, b->signal);
    order = order != 0 ? order : ORDER(activity(a), activity(b));
    if (order == 0 && a->samples <= 1 && b->samples <= 1)
        order = strcmp(a->wait_channel, b->wait_channel);
    order = order != 0 ? order : ORDER(a->stack_count, b->stack_count);
    for (size_t i = 0; order == 0 && i < a->stack_count; i++)
        order = compare_stacks(&a->stacks[i], &b->stacks[i]);
    return order;
}

static int compare_threads(const void *left, const void *right)
{
    const struct dump_thread *a = *(const struct dump_thread *const *)left;
    const struct dump_thread *b = *(const struct dump_thread *const *)right;
    int order = compare_places(a, b);
    return order != 0 ? order : ORDER(a->id, b->id);
}

static int rank(const struct fold_group *group)
{
    const struct dump_thread *thread = group->threads[0];
    int active = activity(thread);
    if (thread->signal != 0)
        return 0;
    if (thread->is_main)
        return 1;
    return active == 'R' || active == 'D' ? 2 : 3;
}

static int compare_groups(const void *left, const void *right)
{
    const struct fold_group *a = left, *b = right;
    int order = ORDER(rank(a), rank(b));
    order = order != 0 ? order : ORDER(b->count, a->count);
    return order != 0 ? order : ORDER(a->threads[0]->id, b->threads[0]->id);
}

bool fold_threads(const struct dump *dump, bool separate, struct fold *fold)
{
    size_t room = dump->thread_count > 0 ? dump->thread_count : 1;
    *fold = (struct fold){.order = calloc(room, sizeof(*fold->order)),
                          .groups = calloc(room, sizeof(*fold->groups))};
    if (fold->order == NULL || fold->groups == NULL) {
        fold_free(fold);
        return false;
    }
    for (size_t i = 0; i < dump->thread_count; i++)
        fold->order[i] = &dump->threads[i];
    qsort(fold->order, dump->thread_count, sizeof(*fold->order), compare_threads);
    for (size_t i = 0; i < dump->thread_count; i++) {
        if (i == 0 || separate || compare_places(fold->order[i - 1], fold->order[i]) != 0)
            fold->groups[fold->group_count++].threads = &fold->order[i];
        fold->groups[fold->group_count - 1].count++;
    }
    qsort(fold->groups, fold->group_count, sizeof(*fold->groups), compare_groups);
    return true;
}

void fold_free(struct fold *fold)
{
    free(fold->order);
    free(fold->groups);
    *fold = (struct fold){0};
}

void fold_name(const struct fold_group *group, char *text, size_t size)
{
    const char *first = group->threads[0]->name;
    size_t common = strlen(first);
    bool differ = false;
    for (size_t i = 1; i < group->count; i++) {
        const char *name = group->threads[i]->name;
        size_t same = 0;
        while (same < common && name[same] == first[same])
            same++;
        differ |= strcmp(name, first) != 0;
        common = same;
    }
    /* "worker-1" and "worker-12" are "worker-*"; a character is not cut in two. */
    while (differ && common > 0 && first[common - 1] >= '0' && first[common - 1] <= '9')
        common--;
    while (common > 0 && ((unsigned char)first[common] & 0xc0) == 0x80)
        common--;
    char part[2 * FW_THREAD_NAME_SIZE];
    snprintf(part, sizeof(part), "%.*s%s", (int)common, first, differ && common > 0 ? "*" : "");
    style_clean(part, text, size);
}
