/* Images, frames and stacks of a report that is being written: each once. See fwr_tree.h. */
#include "report/fwr_tree.h"

#include "base/crc32c.h"
#include "report/fwr_record.h"

#include <assert.h>

static_assert(FWR_NODES_MAX <= UINT16_MAX && FWR_STACKS_MAX <= UINT16_MAX, "numbers fit");
static_assert((FWR_NODE_SLOTS & (FWR_NODE_SLOTS - 1)) == 0, "a power of two");
static_assert((FWR_STACK_SLOTS & (FWR_STACK_SLOTS - 1)) == 0, "a power of two");

void tree_begin(struct fwr_tree *t)
{
    t->image_count = t->node_count = t->stack_count = 0;
    t->nodes_sent = t->stacks_sent = 0;
    t->flushes = 1;
    t->dropped = t->cut = 0;
    t->images[0] = (struct fwr_known_image){0}; /* addresses outside of images count from 0 */
    memset(t->node_slots, 0, sizeof t->node_slots);
    memset(t->stack_slots, 0, sizeof t->stack_slots);
}

uint32_t tree_image_at(const struct fwr_tree *t, uint64_t address)
{
    for (uint32_t i = t->image_count; i > 0; i--) {
        const struct fwr_known_image *image = &t->images[i];
        if (image->located == t->flushes && address - image->key < image->size)
            return i;
    }
    return 0;
}

uint32_t tree_image(struct fwr_tree *t, const struct fwr_image *image, bool *is_new)
{
    const char *path = image->path ? image->path : "";
    uint32_t print = crc32c_more(crc32c(path, strlen(path)), image->id, image->id_size);
    *is_new = false;
    for (uint32_t i = t->image_count; i > 0; i--)
        if (t->images[i].key == image->key && t->images[i].print == print) {
            t->images[i].located = t->flushes;
            return i;
        }
    if (t->image_count == FWR_IMAGES_MAX)
        return 0;
    *is_new = true;
    t->images[++t->image_count] = (struct fwr_known_image){.key = image->key,
                                                           .base = image->base,
                                                           .size = image->size,
                                                           .print = print,
                                                           .located = t->flushes};
    return t->image_count;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

/* Where the node is in the table, or belongs. */
static uint32_t node_slot(const struct fwr_tree *t, uint32_t parent, const struct fw_frame *frame)
{
    uint64_t place = (uint64_t)parent << 16 | (uint64_t)frame->kind << 8 | frame->flags;
    uint32_t slot = (uint32_t)mix(mix(frame->address, 0), place) & (FWR_NODE_SLOTS - 1);
    for (; t->node_slots[slot]; slot = (slot + 1) & (FWR_NODE_SLOTS - 1)) {
        const struct fwr_node *n = &t->nodes[t->node_slots[slot]];
        if (n->address == frame->address && n->parent == parent && n->kind == frame->kind &&
            n->flags == frame->flags)
            break;
    }
    return slot;
}

uint32_t tree_find(const struct fwr_tree *t, uint32_t parent, const struct fw_frame *frame)
{
    return t->node_slots[node_slot(t, parent, frame)];
}

uint32_t tree_add(struct fwr_tree *t, uint32_t parent, const struct fw_frame *frame, uint32_t image)
{
    if (t->node_count == FWR_NODES_MAX)
        return 0;
    uint32_t number = ++t->node_count;
    t->nodes[number] = (struct fwr_node){.address = frame->address,
                                         .parent = (uint16_t)parent,
                                         .image = (uint16_t)image,
                                         .kind = frame->kind,
                                         .flags = frame->flags};
    t->node_slots[node_slot(t, parent, frame)] = (uint16_t)number;
    return number;
}

uint32_t tree_stack(struct fwr_tree *t, const struct fwr_known_stack *stack)
{
    uint64_t state = stack->omitted << 32 ^ (uint64_t)stack->head << 16 ^
                     (uint64_t)stack->unavailable << 8 ^ stack->end;
    uint32_t slot = (uint32_t)mix(mix(stack->innermost, 0), state) & (FWR_STACK_SLOTS - 1);
    for (; t->stack_slots[slot]; slot = (slot + 1) & (FWR_STACK_SLOTS - 1)) {
        const struct fwr_known_stack *k = &t->stacks[t->stack_slots[slot]];
        if (k->innermost == stack->innermost && k->end == stack->end &&
            k->unavailable == stack->unavailable && k->head == stack->head &&
            k->omitted == stack->omitted)
            return t->stack_slots[slot];
    }
    if (t->stack_count == FWR_STACKS_MAX)
        return 0;
    t->stacks[++t->stack_count] = *stack;
    t->stack_slots[slot] = (uint16_t)t->stack_count;
    return t->stack_count;
}

size_t tree_pending(const struct fwr_tree *t)
{
    return (size_t)(t->node_count - t->nodes_sent) * FWR_NODE_BYTES +
           (size_t)(t->stack_count - t->stacks_sent) * FWR_STACK_BYTES;
}

static uint64_t place_of(const struct fwr_node *node)
{
    return (uint64_t)node->image << PLACE_SHIFT | (node->flags ? PLACE_FLAGS : 0) |
           (node->kind == FW_FRAME_EXACT ? PLACE_EXACT : 0);
}

/* The difference to the offset of the image's frame before. */
static uint64_t offset_step(struct fwr_tree *t, const struct fwr_node *node)
{
    struct fwr_known_image *image = &t->images[node->image];
    uint64_t offset = node->address - image->base;
    uint64_t step = offset - image->last;
    image->last = offset;
    return wire_zigzag(step);
}

static void encode_nodes(struct fwr_tree *t, struct wire *w)
{
    for (unsigned field = STACKS_PARENT; field <= STACKS_FLAGS; field++) {
        uint8_t *begin = wire_open(w, field);
        for (uint32_t i = t->nodes_sent + 1; i <= t->node_count; i++) {
            const struct fwr_node *node = &t->nodes[i];
            if (field == STACKS_PARENT)
                wire_varint(w, i - node->parent);
            else if (field == STACKS_PLACE)
                wire_varint(w, place_of(node));
            else if (field == STACKS_OFFSET)
                wire_varint(w, offset_step(t, node));
            else if (node->flags)
                wire_varint(w, node->flags);
        }
        wire_close(w, begin);
    }
}

static void encode_odd(const struct fwr_tree *t, uint32_t number, struct wire *w)
{
    const struct fwr_known_stack *stack = &t->stacks[number];
    if (stack->end == FW_END_ROOT && stack->omitted == 0)
        return;
    uint8_t *begin = wire_open(w, STACKS_ODD);
    wire_uint(w, ODD_STACK, number);
    wire_uint(w, ODD_END, stack->end);
    wire_uint(w, ODD_UNAVAILABLE, stack->unavailable);
    wire_uint(w, ODD_HEAD, stack->head);
    wire_uint(w, ODD_OMITTED, stack->omitted);
    wire_close(w, begin);
}

void tree_encode(struct fwr_tree *t, struct wire *w)
{
    if (t->nodes_sent < t->node_count)
        encode_nodes(t, w);
    if (t->stacks_sent < t->stack_count) {
        uint8_t *begin = wire_open(w, STACKS_INNERMOST);
        for (uint32_t i = t->stacks_sent + 1; i <= t->stack_count; i++)
            wire_varint(w, t->stacks[i].innermost);
        wire_close(w, begin);
        for (uint32_t i = t->stacks_sent + 1; i <= t->stack_count; i++)
            encode_odd(t, i, w);
    }
    t->nodes_sent = t->node_count;
    t->stacks_sent = t->stack_count;
}
