/*
 * Weighted stacks as a call tree: outermost function first, each with its share. Calls are told
 * apart by function, not by address. A function that is the only one its caller was seen to call
 * stands below it without a number; only where the tree branches does it move to the right, so that
 * deep stacks stay readable. What is below half a percent is summed up at its place.
 */
#include "report/to_text.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SHARE_COLUMNS = 23, INDENT_MAX = 40, SMALL_PARTS = 200 /* of the whole: half a percent */ };

struct branch {
    uint32_t parent, function;
    uint8_t flags;
    uint64_t weight, self;   /* self: with this function innermost */
    uint32_t child, sibling; /* 0: none */
};

struct pending {     /* to be printed */
    uint32_t branch; /* PROFILE_NONE: what is too small to be shown by itself */
    int indent;
    size_t few;     /* how many these are, */
    uint64_t small; /* and their sum */
};

struct tree {
    struct text_writer *w;
    const struct profile_series *series;
    struct branch *branches; /* [0] is above the outermost functions */
    size_t count, capacity;
    struct profile_table by_place;
    uint32_t *nodes; /* of the profile, that this series uses; ascending */
    size_t node_count, node_capacity;
    struct pending *pending;
    size_t pending_count, pending_capacity;
};

/* ---- making ---- */

static bool same_branch(const void *context, uint32_t index, const void *key)
{
    const struct tree *tree = context;
    const struct branch *a = &tree->branches[index], *b = key;
    return a->parent == b->parent && a->function == b->function;
}

/* 0: memory ran out. */
static uint32_t descend(struct tree *tree, uint32_t parent, const struct profile_line *line)
{
    const struct branch fresh = {
        .parent = parent, .function = line->function, .flags = line->flags};
    const uint32_t words[] = {parent, line->function};
    if (tree->count >= PROFILE_NONE ||
        !array_room(&tree->branches, &tree->capacity, tree->count, sizeof fresh))
        return 0;
    tree->branches[tree->count] = fresh;
    uint32_t at = profile_intern(&tree->by_place, profile_hash(2166136261U, words, sizeof words),
                                 same_branch, tree, &fresh, (uint32_t)tree->count);
    if (at == PROFILE_NONE)
        return 0;
    if (at == tree->count) {
        tree->branches[at].sibling = tree->branches[parent].child;
        tree->branches[parent].child = at;
        tree->count++;
    }
    return at;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Every node that a sample's stack goes through, once. */
static bool collect_nodes(struct tree *tree)
{
    struct profile *p = tree->w->p;
    bool ok = true;
    for (size_t i = 0; i < tree->series->sample_count && ok; i++) {
        uint32_t node = tree->series->samples[i].node;
        for (; node != PROFILE_NONE && p->place[node] == PROFILE_NONE && ok;
             node = p->nodes[node].parent) {
            ok = array_room(&tree->nodes, &tree->node_capacity, tree->node_count, sizeof node);
            if (!ok)
                break;
            p->place[node] = 0;
            tree->nodes[tree->node_count++] = node;
        }
    }
    if (ok && tree->node_count)
        qsort(tree->nodes, tree->node_count, sizeof *tree->nodes, compare_numbers);
    return ok;
}

static bool make_branches(struct tree *tree)
{
    struct profile *p = tree->w->p;
    if (!array_room(&tree->branches, &tree->capacity, 0, sizeof *tree->branches))
        return false;
    tree->branches[tree->count++] = (struct branch){.function = PROFILE_NONE};
    for (size_t i = 0; i < tree->node_count; i++) { /* parents first: they have smaller numbers */
        const struct profile_node *node = &p->nodes[tree->nodes[i]];
        const struct profile_location *l = &p->locations[node->location];
        uint32_t at = node->parent == PROFILE_NONE ? 0 : p->place[node->parent];
        for (uint32_t k = l->line_count; k-- > 0;)
            if ((at = descend(tree, at, &p->lines[l->first_line + k])) == 0)
                return false;
        p->place[tree->nodes[i]] = at;
    }
    for (size_t i = 0; i < tree->series->sample_count; i++) {
        const struct profile_sample *sample = &tree->series->samples[i];
        struct branch *branch = &tree->branches[p->place[sample->node]];
        branch->self = profile_add(branch->self, sample->value);
    }
    for (size_t i = tree->count; i-- > 0;) {
        struct branch *branch = &tree->branches[i];
        branch->weight = profile_add(branch->weight, branch->self);
        if (i > 0) {
            struct branch *parent = &tree->branches[branch->parent];
            parent->weight = profile_add(parent->weight, branch->weight);
        }
    }
    return true;
}

/* ---- printing ---- */

static void out_share(const struct tree *tree, uint64_t weight, int indent)
{
    struct report_bytes *out = tree->w->out;
    uint64_t total = tree->branches[0].weight;
    double share = total ? 100.0 * (double)weight / (double)total : 0;
    struct report_bytes number = {0};
    if (profile_in_time(tree->series))
        out_ms(&number, weight);
    else
        out_grouped(&number, weight);
    out_format(out, "  %5.1f %%  %10s  ", share, number.data ? number.data : "");
    out_repeat(out, ' ', (size_t)indent);
    out->failed |= number.failed;
    report_bytes_free(&number);
}

static void out_function(const struct tree *tree, const struct branch *branch, int indent)
{
    struct report_bytes *out = tree->w->out;
    const struct profile *p = tree->w->p;
    const struct profile_function *f = &p->functions[branch->function];
    bool image = f->image != REPORT_NONE && !f->nameless && *p->report->images[f->image].name;
    size_t room = TEXT_COLUMNS - SHARE_COLUMNS - (size_t)indent - (image ? TEXT_IMAGE_COLUMNS : 0);
    out_clean(out, p->texts[f->name], room);
    out_text(out, branch->flags & REPORT_TAIL_CALL ? " [tail call]"
                  : branch->flags & REPORT_INLINED ? " [inlined]"
                                                   : "");
    if (image) {
        out_text(out, "  (");
        out_clean(out, p->report->images[f->image].name, TEXT_IMAGE_COLUMNS);
        out_text(out, ")");
    }
    if (f->pseudo && f->file) {
        out_text(out, "  (");
        out_clean(out, last_part(p->texts[f->file]), TEXT_IMAGE_COLUMNS);
        out_text(out, ")");
    }
    out_text(out, "\n");
}

struct ranked {
    uint64_t weight;
    uint32_t branch;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->branch < y->branch ? -1 : x->branch > y->branch; /* earliest seen first */
}

/* What the function itself took; then come its children, the heaviest first, and the sum of the
 * light ones. */
static bool push_children(struct tree *tree, uint32_t number, int indent)
{
    const struct branch *branch = &tree->branches[number];
    uint64_t small = 0, least = tree->branches[0].weight / SMALL_PARTS;
    size_t count = 0;
    for (uint32_t at = branch->child; at; at = tree->branches[at].sibling)
        count++;
    struct ranked *ranked = malloc((count + 1) * sizeof *ranked);
    if (!ranked || !array_reserve(&tree->pending, &tree->pending_capacity,
                                  tree->pending_count + count, sizeof *tree->pending)) {
        free(ranked);
        return false;
    }
    size_t all = count;
    count = 0;
    for (uint32_t at = branch->child; at; at = tree->branches[at].sibling)
        ranked[count++] = (struct ranked){tree->branches[at].weight, at};
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    while (count > 0 && ranked[count - 1].weight < least)
        small = profile_add(small, ranked[--count].weight);
    if (all - count == 1) /* a sum of one is no shorter */
        count = all;
    if (branch->self && number) {
        out_share(tree, branch->self, indent);
        out_text(tree->w->out, "[in itself]\n");
    }
    if (count < all)
        tree->pending[tree->pending_count++] =
            (struct pending){PROFILE_NONE, indent, all - count, small};
    for (size_t i = count; i-- > 0;)
        tree->pending[tree->pending_count++] = (struct pending){ranked[i].branch, indent, 0, 0};
    free(ranked);
    return true;
}

static bool is_only_way(const struct tree *tree, const struct branch *branch)
{
    return branch->child && !tree->branches[branch->child].sibling && branch->self == 0;
}

/* A branch, and straight on while there is one way. */
static bool out_branch(struct tree *tree, const struct pending *next)
{
    uint32_t number = next->branch;
    int indent = next->indent;
    if (number == PROFILE_NONE) {
        out_share(tree, next->small, indent);
        out_format(tree->w->out, "[%zu more, each below 0.5 %%]\n", next->few);
        return true;
    }
    const struct branch *branch = &tree->branches[number];
    out_share(tree, branch->weight, indent);
    out_function(tree, branch, indent);
    while (is_only_way(tree, branch)) {
        number = branch->child;
        branch = &tree->branches[number];
        out_repeat(tree->w->out, ' ', SHARE_COLUMNS + (size_t)indent);
        out_function(tree, branch, indent);
    }
    return !branch->child ||
           push_children(tree, number, indent + 2 > INDENT_MAX ? INDENT_MAX : indent + 2);
}

static void finish(struct tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++)
        tree->w->p->place[tree->nodes[i]] = PROFILE_NONE;
    free(tree->branches);
    free(tree->by_place.slots);
    free(tree->nodes);
    free(tree->pending);
}

fw_error text_tree(struct text_writer *w, const struct profile_series *series)
{
    struct tree tree = {.w = w, .series = series};
    bool ok = collect_nodes(&tree) && make_branches(&tree) && push_children(&tree, 0, 0);
    while (ok && tree.pending_count) {
        struct pending next = tree.pending[--tree.pending_count];
        ok = out_branch(&tree, &next);
    }
    finish(&tree);
    return ok ? FW_OK : FW_ERR_MEMORY;
}

/* ---- the heaviest way ---- */

static uint32_t heaviest_child(const struct tree *tree, const struct branch *branch)
{
    uint32_t best = 0;
    for (uint32_t at = branch->child; at; at = tree->branches[at].sibling)
        if (best == 0 || tree->branches[at].weight >= tree->branches[best].weight)
            best = at; /* siblings are linked the last one first: of equal ones the first seen */
    return best;
}

fw_error text_heaviest(struct text_writer *w, const struct profile_series *series,
                       const struct profile_sample **sample, uint64_t *weight)
{
    struct tree tree = {.w = w, .series = series};
    bool ok = collect_nodes(&tree) && make_branches(&tree);
    uint32_t at = 0;
    for (uint32_t child; ok && (child = heaviest_child(&tree, &tree.branches[at])) != 0; at = child)
        if (at && tree.branches[child].weight < tree.branches[at].self)
            break;
    uint64_t *sums = ok ? calloc(w->p->node_count + 1, sizeof *sums) : NULL;
    *sample = NULL;
    for (size_t i = 0; sums && i < series->sample_count; i++) {
        const struct profile_sample *one = &series->samples[i];
        if (w->p->place[one->node] != at)
            continue;
        sums[one->node] = profile_add(sums[one->node], one->value);
        if (!*sample || sums[one->node] > sums[(*sample)->node])
            *sample = one;
    }
    *weight = sums ? tree.branches[at].self : 0;
    ok = sums != NULL;
    free(sums);
    finish(&tree);
    return ok ? FW_OK : FW_ERR_MEMORY;
}
