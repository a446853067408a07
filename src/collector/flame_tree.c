#include "collector/flame_tree.h"

#include "base/array.h"
#include "collector/api_json.h"

#include <stdlib.h>
#include <string.h>

struct node {
    uint32_t label, parent, depth;
    uint64_t value;
};

struct table { /* open addressing: numbers of nodes or labels, 0 free */
    uint32_t *slots;
    size_t capacity; /* a power of two */
};

struct flame_tree {
    struct flame_label *labels; /* [0] is "all" */
    size_t label_count, label_capacity;
    struct node *nodes; /* [0] is the root; parents before children */
    size_t node_count, node_capacity;
    struct table by_text, by_parent;
    bool truncated;
};

/* --- tables --- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t hash_label(const struct flame_label *label)
{
    uint64_t hash = hash_text(0xcbf29ce484222325u, label->name);
    return hash_text(hash, label->image) ^ (uint64_t)label->inlined ^
           (uint64_t)label->tail_call << 1;
}

static uint64_t hash_child(uint32_t parent, uint32_t label)
{
    uint64_t hash = ((uint64_t)parent << 32 | label) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 31;
}

static uint64_t hash_of(const struct flame_tree *tree, const struct table *table, uint32_t number)
{
    return table == &tree->by_text
               ? hash_label(&tree->labels[number])
               : hash_child(tree->nodes[number].parent, tree->nodes[number].label);
}

/* Room for one more of `count`. */
static bool table_room(const struct flame_tree *tree, struct table *table, size_t count)
{
    if (count * 2 < table->capacity)
        return true;
    struct table larger = {.capacity = table->capacity ? table->capacity * 2 : 1024};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        uint32_t number = table->slots[i];
        if (!number)
            continue;
        size_t at = (size_t)hash_of(tree, table, number) & (larger.capacity - 1);
        while (larger.slots[at])
            at = (at + 1) & (larger.capacity - 1);
        larger.slots[at] = number;
    }
    free(table->slots);
    *table = larger;
    return true;
}

/* --- building --- */

struct flame_tree *flame_tree_new(void)
{
    struct flame_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    if (array_room(&tree->labels, &tree->label_capacity, 0, sizeof *tree->labels) &&
        array_room(&tree->nodes, &tree->node_capacity, 0, sizeof *tree->nodes)) {
        tree->labels[tree->label_count++] = (struct flame_label){.name = "all"};
        tree->nodes[tree->node_count++] = (struct node){.label = 0};
        return tree;
    }
    flame_tree_free(tree);
    return NULL;
}

void flame_tree_free(struct flame_tree *tree)
{
    if (!tree)
        return;
    free(tree->labels);
    free(tree->nodes);
    free(tree->by_text.slots);
    free(tree->by_parent.slots);
    free(tree);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_label(const struct flame_label *a, const struct flame_label *b)
{
    return same_text(a->name, b->name) && same_text(a->image, b->image) &&
           a->inlined == b->inlined && a->tail_call == b->tail_call;
}

uint32_t flame_label(struct flame_tree *tree, const struct flame_label *label)
{
    if (!table_room(tree, &tree->by_text, tree->label_count) ||
        !array_room(&tree->labels, &tree->label_capacity, tree->label_count, sizeof *tree->labels))
        return 0;
    size_t at = (size_t)hash_label(label) & (tree->by_text.capacity - 1);
    for (uint32_t number; (number = tree->by_text.slots[at]) != 0;
         at = (at + 1) & (tree->by_text.capacity - 1))
        if (same_label(&tree->labels[number], label))
            return number;
    tree->labels[tree->label_count] = *label;
    tree->by_text.slots[at] = (uint32_t)tree->label_count;
    return (uint32_t)tree->label_count++;
}

/* The child, made when it is not there; 0: it does not fit, or there is no memory (*failed). */
static uint32_t child_of(struct flame_tree *tree, uint32_t parent, uint32_t label, bool *failed)
{
    if (!table_room(tree, &tree->by_parent, tree->node_count) ||
        !array_room(&tree->nodes, &tree->node_capacity, tree->node_count, sizeof *tree->nodes)) {
        *failed = true;
        return 0;
    }
    size_t at = (size_t)hash_child(parent, label) & (tree->by_parent.capacity - 1);
    for (uint32_t number; (number = tree->by_parent.slots[at]) != 0;
         at = (at + 1) & (tree->by_parent.capacity - 1))
        if (tree->nodes[number].parent == parent && tree->nodes[number].label == label)
            return number;
    uint32_t depth = tree->nodes[parent].depth + 1;
    if (tree->node_count >= FLAME_RAW || depth > FLAME_DEPTH)
        return 0;
    uint32_t number = (uint32_t)tree->node_count++;
    tree->nodes[number] = (struct node){.label = label, .parent = parent, .depth = depth};
    tree->by_parent.slots[at] = number;
    return number;
}

bool flame_add(struct flame_tree *tree, const uint32_t *labels, size_t count, uint64_t weight)
{
    uint32_t node = 0;
    bool failed = false;
    tree->nodes[0].value += weight;
    for (size_t i = 0; i < count; i++) {
        node = child_of(tree, node, labels[i], &failed);
        if (!node) {
            tree->truncated = true;
            break;
        }
        tree->nodes[node].value += weight;
    }
    return !failed;
}

/* --- writing --- */

struct kept { /* a node of the answer */
    uint32_t node, parent;
    uint64_t value;
    uint32_t first, count; /* its children, in the array of kept ones */
    uint64_t other;        /* of children that were folded */
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

static int by_parent(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Below it a node is folded: a share of the whole, or what leaves half of FLAME_NODES, for each of
 * which may have an "(other)". */
static bool least_value(const struct flame_tree *tree, uint64_t *least)
{
    *least = tree->nodes[0].value / FLAME_FOLD;
    if (tree->node_count <= FLAME_NODES / 2)
        return true;
    uint64_t *values = malloc(tree->node_count * sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < tree->node_count; i++)
        values[i] = tree->nodes[i].value;
    qsort(values, tree->node_count, sizeof *values, by_value);
    uint64_t last = values[FLAME_NODES / 2]; /* the first one that is too many */
    if (*least <= last)
        *least = last + 1;
    free(values);
    return true;
}

/* Kept nodes, children of one together, heaviest first; where[node] is a node's place + 1. */
static size_t choose(const struct flame_tree *tree, uint64_t least, struct kept *kept,
                     uint32_t *where)
{
    size_t count = 0;
    for (size_t i = 0; i < tree->node_count; i++)
        if (i == 0 || tree->nodes[i].value >= least)
            kept[count++] = (struct kept){.node = (uint32_t)i,
                                          .parent = i ? tree->nodes[i].parent : UINT32_MAX,
                                          .value = tree->nodes[i].value};
    qsort(kept, count, sizeof *kept, by_parent);
    for (size_t i = 0; i < count; i++)
        where[kept[i].node] = (uint32_t)i + 1;
    for (size_t i = 0; i < count; i++) {
        if (kept[i].parent == UINT32_MAX)
            continue;
        struct kept *parent = &kept[where[kept[i].parent] - 1];
        if (parent->count++ == 0)
            parent->first = (uint32_t)i;
    }
    for (size_t i = 1; i < tree->node_count; i++)
        if (!where[i] && where[tree->nodes[i].parent])
            kept[where[tree->nodes[i].parent] - 1].other += tree->nodes[i].value;
    return count;
}

static void open_node(const struct flame_tree *tree, const struct kept *kept,
                      struct report_bytes *out)
{
    const struct flame_label *label = &tree->labels[tree->nodes[kept->node].label];
    api_open(out, NULL, '{');
    api_text(out, "name", label->name);
    api_int(out, "value", (int64_t)kept->value);
    if (label->image)
        api_text(out, "image", label->image);
    if (label->file) {
        api_text(out, "file", label->file);
        api_int(out, "line", label->line);
    }
    if (label->app)
        api_bool(out, "app", true);
    if (label->inlined)
        api_bool(out, "inlined", true);
    if (label->tail_call)
        api_bool(out, "tail_call", true);
    api_open(out, "children", '[');
}

static void shut_node(const struct kept *kept, struct report_bytes *out)
{
    if (kept->other) {
        api_open(out, NULL, '{');
        api_text(out, "name", "(other)");
        api_int(out, "value", (int64_t)kept->other);
        api_open(out, "children", '[');
        out_text(out, "]}");
    }
    out_text(out, "]}");
}

/* Depth first without recursion: `path` holds the nodes that are open. */
static void write_nodes(const struct flame_tree *tree, const struct kept *kept, size_t root,
                        struct report_bytes *out)
{
    struct {
        const struct kept *node;
        uint32_t next;
    } path[FLAME_DEPTH + 2];
    size_t depth = 0;
    path[depth++].node = &kept[root];
    path[0].next = 0;
    open_node(tree, path[0].node, out);
    while (depth) {
        const struct kept *node = path[depth - 1].node;
        if (path[depth - 1].next == node->count) {
            shut_node(node, out);
            depth--;
            continue;
        }
        path[depth].node = &kept[node->first + path[depth - 1].next++];
        path[depth].next = 0;
        open_node(tree, path[depth++].node, out);
    }
}

bool flame_write(struct flame_tree *tree, struct report_bytes *out, bool *truncated)
{
    uint64_t least;
    struct kept *kept = malloc(tree->node_count * sizeof *kept);
    uint32_t *where = calloc(tree->node_count, sizeof *where);
    bool good = kept && where && least_value(tree, &least);
    if (good) {
        choose(tree, least, kept, where);
        write_nodes(tree, kept, where[0] - 1, out);
        *truncated = tree->truncated;
    }
    free(kept);
    free(where);
    return good && !out->failed;
}
