/*
 * Stacks merged into a tree, outermost function first: what a flame graph shows.
 *
 * Pure. Bounded: at most FLAME_RAW nodes while stacks are added, FLAME_NODES in the answer,
 * FLAME_DEPTH deep. What does not fit stays in the value of the node it would stand below, and
 * `truncated` says so. Nodes below 0.05 % of the whole are folded into one "(other)" of their
 * parent. A tree belongs to one thread.
 */
#ifndef COLLECTOR_FLAME_TREE_H
#define COLLECTOR_FLAME_TREE_H

#include "report/out.h"

enum { FLAME_RAW = 400000, FLAME_NODES = 20000, FLAME_DEPTH = 1000, FLAME_FOLD = 2000 };

struct flame_label { /* a function; texts must outlive the tree */
    const char *name, *image, *file;
    uint32_t line;
    bool app, inlined, tail_call;
};

struct flame_tree;
struct flame_tree *flame_tree_new(void); /* NULL: out of memory */
void flame_tree_free(struct flame_tree *tree);
/* The number of a label, from 1: equal for equal functions of equal images (file and line are those
 * of the first). 0: out of memory. */
uint32_t flame_label(struct flame_tree *tree, const struct flame_label *label);
/* Labels outermost first. False: out of memory. */
bool flame_add(struct flame_tree *tree, const uint32_t *labels, size_t count, uint64_t weight);
/* Appends the root as a JSON object: {"name":"all","value":...,"children":[...]}. `truncated`:
 * something was left out that is in no "(other)". */
bool flame_write(struct flame_tree *tree, struct report_bytes *out, bool *truncated);

#endif
