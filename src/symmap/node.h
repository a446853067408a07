/*
 * Context nodes: one inlined call each, of 2 to about 12 bytes, addressed by the distance from the
 * head of their function. A chain is walked from a node to its parents, each before its child, so
 * it always ends. Layout: docs/symbol-map.md, "Contexts".
 */
#ifndef SYMMAP_NODE_H
#define SYMMAP_NODE_H

#include "symmap/format.h"

struct node {
    uint32_t subject;
    uint32_t back;      /* distance to the parent; 0: the function itself */
    uint32_t call_line; /* less the line of the parent's subject */
    uint32_t call_file; /* FILE_DEFAULT: that of the parent's subject, FILE_NONE, FILE_FIRST + n */
    uint32_t call_column;
    bool no_line; /* the call's line is unknown */
    bool pass;
};

/* Moves *p behind the node. */
static inline bool node_get(const uint8_t **p, const uint8_t *end, bool columns, struct node *node)
{
    static const uint8_t parent_bytes[8] = {0, 0, 0, 0, 0, 1, 2, 4};
    const uint8_t *at = *p;
    if (at == end)
        return false;
    uint8_t head = *at++;
    unsigned subject_bytes = (head >> NODE_SUBJECT_SHIFT & 3) + 1u;
    unsigned parent = head >> NODE_PARENT_SHIFT & 7;
    if ((size_t)(end - at) < subject_bytes + parent_bytes[parent])
        return false;
    *node = (struct node){.pass = head & NODE_PASS};
    for (unsigned i = 0; i < subject_bytes; i++)
        node->subject |= (uint32_t)*at++ << 8 * i;
    switch (parent) {
    case NODE_PARENT_FUNCTION: break;
    case NODE_PARENT_U8: node->back = *at; break;
    case NODE_PARENT_U16: node->back = get_u16(at); break;
    case NODE_PARENT_U32: node->back = get_u32(at); break;
    default: node->back = parent + NODE_NEAR; break;
    }
    at += parent_bytes[parent];
    uint64_t value;
    switch (head & 3) {
    case NODE_CALL_U8:
        if (end - at < 1)
            return false;
        node->call_line = (uint32_t)*at++ - CALL_BIAS;
        break;
    case NODE_CALL_S16:
        if (end - at < 2)
            return false;
        node->call_line = (uint32_t)(int16_t)get_u16(at);
        at += 2;
        break;
    case NODE_CALL_LONG:
        if (!get_uleb(&at, end, &value))
            return false;
        node->call_line = unzigzag(value >> 1);
        if (value & 1) {
            if (!get_uleb(&at, end, &value))
                return false;
            node->call_file = (uint32_t)value;
        }
        break;
    default: node->no_line = true; break;
    }
    if (columns) {
        if (!get_uleb(&at, end, &value))
            return false;
        node->call_column = (uint32_t)value;
    }
    *p = at;
    return true;
}

/* The same for one of which only the end and NODE_PASS are wanted. */
static inline bool node_skip(const uint8_t **p, const uint8_t *end, bool columns, bool *pass)
{
    /* Bits 4 * code and up: bytes of that parent and of that call line. */
    const uint32_t parent_bytes = 0x42100000, call_bytes = 0x0021;
    if (*p == end)
        return false;
    unsigned head = **p;
    *pass = head & NODE_PASS;
    if (columns || (head & 3) == NODE_CALL_LONG) {
        struct node node;
        return node_get(p, end, columns, &node);
    }
    size_t size = 2 + (head >> NODE_SUBJECT_SHIFT & 3) +
                  (parent_bytes >> (head >> NODE_PARENT_SHIFT & 7) * 4 & 15) +
                  (call_bytes >> (head & 3) * 4 & 15);
    if ((size_t)(end - *p) < size)
        return false;
    *p += size;
    return true;
}

enum { NODE_MOST = 1 + 4 + 4 + 5 + 5 + 5 };

/* Writes a node of at most NODE_MOST bytes and returns the place behind it. */
static inline uint8_t *node_put(uint8_t *p, bool columns, const struct node *node)
{
    uint8_t *head = p++;
    unsigned bytes = node->subject < 1u << 8    ? 1
                     : node->subject < 1u << 16 ? 2
                     : node->subject < 1u << 24 ? 3
                                                : 4;
    for (unsigned i = 0; i < bytes; i++)
        *p++ = (uint8_t)(node->subject >> 8 * i);
    unsigned parent = NODE_PARENT_FUNCTION;
    if (node->back >= NODE_NEAR + NODE_PARENT_NEAR && node->back < NODE_NEAR + NODE_PARENT_U8) {
        parent = node->back - NODE_NEAR;
    } else if (node->back > UINT16_MAX) {
        parent = NODE_PARENT_U32;
        put_u32(p, node->back);
        p += 4;
    } else if (node->back > UINT8_MAX) {
        parent = NODE_PARENT_U16;
        put_u16(p, node->back);
        p += 2;
    } else if (node->back) {
        parent = NODE_PARENT_U8;
        *p++ = (uint8_t)node->back;
    }
    unsigned call;
    if (node->no_line && node->call_file == FILE_DEFAULT) {
        call = NODE_CALL_NONE;
    } else if (node->call_file == FILE_DEFAULT && node->call_line + CALL_BIAS <= UINT8_MAX) {
        call = NODE_CALL_U8;
        *p++ = (uint8_t)(node->call_line + CALL_BIAS);
    } else if (node->call_file == FILE_DEFAULT &&
               node->call_line == (uint32_t)(int16_t)(uint16_t)node->call_line) {
        call = NODE_CALL_S16;
        put_u16(p, (uint16_t)node->call_line);
        p += 2;
    } else {
        call = NODE_CALL_LONG;
        p = put_uleb(p, zigzag(node->call_line) << 1 | (node->call_file != FILE_DEFAULT));
        if (node->call_file != FILE_DEFAULT)
            p = put_uleb(p, node->call_file);
    }
    if (columns)
        p = put_uleb(p, node->call_column);
    *head = (uint8_t)((node->pass ? NODE_PASS : 0) | (bytes - 1) << NODE_SUBJECT_SHIFT |
                      parent << NODE_PARENT_SHIFT | call);
    return p;
}

#endif
