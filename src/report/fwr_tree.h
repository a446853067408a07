/*
 * Images and stacks of a report that is being written.
 *
 * Stacks share their outer frames: a frame is a node with its caller's number, and a stack is the
 * number of its innermost frame. Nodes, stacks and images are numbered from 1 and never forgotten
 * while the report is written, so that each is written once. What an address was first found to be
 * (its image) it stays: a report that outlives an image whose place another one takes shows the
 * first one there, unless its writer looks again (fwr_recheck_images).
 */
#ifndef REPORT_FWR_TREE_H
#define REPORT_FWR_TREE_H

#include "report/fwr_wire.h"

struct fwr_known_image {
    uint64_t key;
    uint64_t base;
    uint64_t size;
    uint64_t last;    /* offset that the last frame written had */
    uint32_t print;   /* checksum of id and path: another image may be at the same place later */
    uint32_t located; /* the flush before which it was last found where it is */
    bool named;       /* the names of its functions are known */
};

struct fwr_node {
    uint64_t address;
    uint16_t parent; /* 0: outermost */
    uint16_t image;  /* 0: in none */
    uint8_t kind, flags;
};

struct fwr_known_stack {
    uint64_t omitted;
    uint32_t head;
    uint16_t innermost; /* node; 0: no frames */
    uint8_t end, unavailable;
};

enum { FWR_NODE_SLOTS = 2 * FWR_NODES_MAX, FWR_STACK_SLOTS = 2 * FWR_STACKS_MAX };

struct fwr_tree {
    uint32_t image_count, node_count, stack_count;
    uint32_t flushes;                 /* from 1 */
    uint32_t nodes_sent, stacks_sent; /* already encoded */
    uint64_t dropped, cut;            /* stacks */
    struct fwr_known_image images[FWR_IMAGES_MAX + 1];
    struct fwr_node nodes[FWR_NODES_MAX + 1];
    struct fwr_known_stack stacks[FWR_STACKS_MAX + 1];
    uint16_t node_slots[FWR_NODE_SLOTS]; /* hash tables of numbers */
    uint16_t stack_slots[FWR_STACK_SLOTS];
};

enum { /* bytes that one takes at the most when it is encoded */
       FWR_NODE_BYTES = 3 + 2 + 2 + WIRE_VARINT_MAX,
       FWR_STACK_BYTES = 3 + 32,
};

void tree_begin(struct fwr_tree *t);

/* The image around `address` that was found since the last flush; 0: none. To find one by its
 * address takes long, and what is said between two flushes is of one moment. */
uint32_t tree_image_at(const struct fwr_tree *t, uint64_t address);
/* The number of an image; *is_new: it has to be written. 0: no room. */
uint32_t tree_image(struct fwr_tree *t, const struct fwr_image *image, bool *is_new);

/* The node of `frame` as called by `parent`; 0: not known yet. */
uint32_t tree_find(const struct fwr_tree *t, uint32_t parent, const struct fw_frame *frame);
/* A new one. 0: no room. */
uint32_t tree_add(struct fwr_tree *t, uint32_t parent, const struct fw_frame *frame,
                  uint32_t image);
/* The number of a stack, whether new or not. 0: no room. */
uint32_t tree_stack(struct fwr_tree *t, const struct fwr_known_stack *stack);

/* Bytes that tree_encode takes at the most; 0: nothing is new. */
size_t tree_pending(const struct fwr_tree *t);
/* The payload of FWR_STACKS: what is new since the last time. */
void tree_encode(struct fwr_tree *t, struct wire *w);

#endif
