/*
 * Sampled stacks as a call tree: outermost function first, each with the share of samples that
 * passed through it. Calls are told apart by function, not by address. A function that is the only
 * one its caller was seen to call stands below it without a number; only where the tree branches
 * does it move to the right, so that deep stacks stay readable.
 */
#include "cli/dump_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct frame_text text;
    uint64_t address;      /* tells FRAME_NOWHERE nodes apart */
    const char *note;      /* instead of a frame: "[stack ends here: ...]", or NULL */
    uint64_t samples;      /* that passed through */
    uint64_t self;         /* of these, with this frame innermost */
    size_t child, sibling; /* indices into tree.nodes, 0 = none */
};

struct tree {
    struct node *nodes; /* nodes[0] is above the outermost frames */
    size_t count, room;
    char notes[16][96]; /* texts of `note`; there are fewer reasons than that */
    size_t note_count;
};

static const char *keep_note(struct tree *tree, const char *text)
{
    for (size_t i = 0; i < tree->note_count; i++) {
        if (strcmp(tree->notes[i], text) == 0)
            return tree->notes[i];
    }
    size_t last = sizeof(tree->notes) / sizeof(tree->notes[0]) - 1;
    size_t at = tree->note_count < last ? tree->note_count++ : last;
    snprintf(tree->notes[at], sizeof(tree->notes[at]), "%s", text);
    return tree->notes[at];
}

static bool same_image(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_place(const struct node *a, const struct node *b)
{
    if (a->note != NULL || b->note != NULL)
        return a->note == b->note;
    if (a->text.subject != b->text.subject || a->text.role != b->text.role ||
        strcmp(a->text.name, b->text.name) != 0)
        return false;
    switch (a->text.subject) {
    case FRAME_FUNCTION: return same_image(a->text.image.image, b->text.image.image);
    case FRAME_IMAGE:
        return a->text.offset == b->text.offset &&
               same_image(a->text.image.image, b->text.image.image);
    case FRAME_NOWHERE: return a->address == b->address;
    case FRAME_SIGNAL: break;
    }
    return true;
}

/* Goes from node `parent` to its child like `wanted`, made when there is none. 0 when out of
 * memory. */
static size_t descend(struct tree *tree, size_t parent, const struct node *wanted, uint64_t samples)
{
    size_t at = tree->nodes[parent].child;
    while (at != 0 && !same_place(&tree->nodes[at], wanted))
        at = tree->nodes[at].sibling;
    if (at == 0) {
        if (tree->count == tree->room) {
            size_t room = tree->room * 2;
            struct node *nodes = realloc(tree->nodes, room * sizeof(*nodes));
            if (nodes == NULL)
                return 0;
            tree->nodes = nodes;
            tree->room = room;
        }
        at = tree->count++;
        tree->nodes[at] = *wanted;
        tree->nodes[at].sibling = tree->nodes[parent].child;
        tree->nodes[parent].child = at;
    }
    tree->nodes[at].samples += samples;
    return at;
}

static bool descend_note(struct tree *tree, size_t *at, const char *format, const char *phrase,
                         uint64_t samples)
{
    char text[96];
    snprintf(text, sizeof(text), format, phrase);
    *at = descend(tree, *at, &(struct node){.note = keep_note(tree, text)}, samples);
    return *at != 0;
}

/* Goes on from `*at` through the functions of frame `i`; `list` is empty, and is so afterwards. */
static bool descend_frame(struct tree *tree, size_t *at, struct frame_names *names,
                          const struct dump_stack *stack, uint32_t i, struct frame_list *list)
{
    bool ok = frame_describe(names, stack, i, list);
    for (size_t k = list->count; k-- > 0 && ok;) {
        struct node wanted = {.text = list->items[k], .address = stack->frames[i].address};
        *at = descend(tree, *at, &wanted, stack->samples);
        ok = *at != 0;
    }
    list->count = 0;
    return ok;
}

static bool add_stack(struct tree *tree, struct frame_names *names, const struct dump_stack *stack)
{
    char phrase[128];
    size_t at = 0;

    tree->nodes[0].samples += stack->samples;
    dump_end_phrase(stack, phrase, sizeof(phrase));
    if (stack->end == FW_END_UNAVAILABLE) {
        if (!descend_note(tree, &at, "[no stack: %s]", phrase, stack->samples))
            return false;
    } else if (stack->end != FW_END_ROOT) {
        if (!descend_note(tree, &at, "[stack ends here: %s]", phrase, stack->samples))
            return false;
    }
    struct frame_list list = {0};
    bool ok = true;
    for (uint32_t i = stack->count; i-- > 0 && ok;) {
        if (i + 1 == stack->head && stack->omitted > 0)
            ok = descend_note(tree, &at, "[%s]", "frames omitted", stack->samples);
        ok = ok && descend_frame(tree, &at, names, stack, i, &list);
    }
    frame_list_free(&list);
    tree->nodes[at].self += stack->samples;
    return ok;
}

enum { SHARE_COLUMNS = 19 };

static void print_share(const struct tree *tree, uint64_t samples, int indent, struct style *style)
{
    double share = 100.0 * (double)samples / (double)tree->nodes[0].samples;
    style_print(style, share >= 10 ? STYLE_STRONG : STYLE_PLAIN, "  %5.1f %%", share);
    style_print(style, STYLE_DIM, "  %6" PRIu64 "  %*s", samples, indent, "");
}

static void print_node(const struct node *node, struct style *style)
{
    if (node->note != NULL) {
        style_print(style, STYLE_WARNING, "%s", node->note);
    } else if (node->text.subject == FRAME_NOWHERE) {
        style_print(style, STYLE_PLAIN, "0x%" PRIx64, node->address);
        style_print(style, STYLE_DIM, "  (no image)");
    } else {
        style_print(style, STYLE_PLAIN, "%s", node->text.name);
        style_print(style, STYLE_DIM, "%s", frame_role_mark(node->text.role));
        if (node->text.subject == FRAME_IMAGE)
            style_print(style, STYLE_DIM, "+0x%" PRIx64, node->text.offset);
    }
    if (node->note == NULL && node->text.subject == FRAME_FUNCTION &&
        node->text.image.image != NULL) {
        char image[1024];
        style_clean(dump_image_name(node->text.image.image), image, sizeof(image));
        style_print(style, STYLE_DIM, "  (%s)", image);
    }
    fputc('\n', style->to);
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node *a = *(const struct node *const *)left;
    const struct node *b = *(const struct node *const *)right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return a < b ? -1 : a > b; /* earliest seen first */
}

/* Prints what is below `node`: straight on while there is one way, else each way further in. The
 * recursion is as deep as branches follow each other, which is at most the number of stacks. */
static bool print_below(const struct tree *tree, const struct node *node, int indent,
                        struct style *style)
{
    uint64_t shown = node == tree->nodes ? 0 : node->samples;
    while (node->child != 0 && tree->nodes[node->child].sibling == 0 &&
           (node->self == 0 || node == tree->nodes)) {
        node = &tree->nodes[node->child];
        if (node->samples != shown)
            print_share(tree, node->samples, indent, style);
        else
            fprintf(style->to, "%*s", SHARE_COLUMNS + indent, "");
        shown = node->samples;
        print_node(node, style);
    }
    size_t count = 0;
    for (size_t at = node->child; at != 0; at = tree->nodes[at].sibling)
        count++;
    if (count == 0)
        return true;
    const struct node **children = calloc(count, sizeof(*children));
    if (children == NULL)
        return false;
    count = 0;
    for (size_t at = node->child; at != 0; at = tree->nodes[at].sibling)
        children[count++] = &tree->nodes[at];
    qsort(children, count, sizeof(*children), compare_nodes);

    bool ok = true;
    int further = node == tree->nodes ? indent : indent + 2;
    if (node->self > 0 && node != tree->nodes) {
        print_share(tree, node->self, further, style);
        style_line(style, STYLE_DIM, "[in itself]");
    }
    for (size_t i = 0; i < count && ok; i++) {
        print_share(tree, children[i]->samples, further, style);
        print_node(children[i], style);
        ok = print_below(tree, children[i], further, style);
    }
    free(children);
    return ok;
}

bool dump_tree_group(struct frame_names *names, const struct fold_group *group, struct style *style)
{
    struct tree tree = {.nodes = calloc(64, sizeof(*tree.nodes)), .count = 1, .room = 64};
    uint64_t samples = 0, running = 0;
    bool ok = tree.nodes != NULL;

    for (size_t i = 0; i < group->count && ok; i++) {
        const struct dump_thread *thread = group->threads[i];
        samples += thread->samples;
        running += thread->running;
        for (size_t s = 0; s < thread->stack_count && ok; s++)
            ok = add_stack(&tree, names, &thread->stacks[s]);
    }
    style_print(style, STYLE_PLAIN, "  %" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");
    if (running > 0 && samples > 0)
        style_print(style, STYLE_ACTIVE, ", running in %.0f %%",
                    100.0 * (double)running / (double)samples);
    fputc('\n', style->to);
    ok = ok && print_below(&tree, tree.nodes, 0, style);
    free(tree.nodes);
    return ok;
}
