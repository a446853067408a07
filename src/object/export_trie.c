/*
 * Walking the export trie depth first, without recursion.
 *
 * Invariant: `path` holds the nodes from the root to here; the first `name_size` bytes of `name`
 * spell the way.
 */
#include "object/export_trie.h"

enum {
    NAME_LIMIT = 1 << 14, /* bytes of a name with its NUL */
    DEPTH_LIMIT = 512,
    NODE_MIN = 2, /* bytes of the smallest node */
};

enum { /* flags of an export */
       KIND_MASK = 0x03,
       KIND_REGULAR = 0x00,
       WEAK_DEFINITION = 0x04,
       REEXPORT = 0x08,
};

struct node {
    uint32_t next;      /* offset in the trie of the next child */
    uint32_t name_size; /* of the way to this node */
    uint8_t children;   /* that are left */
};

struct walk {
    struct span trie;
    bool (*each)(void *context, const struct export_symbol *symbol);
    void *context;
    size_t visits_left;
    bool broken, stopped;
    unsigned depth; /* nodes in `path` */
    struct node path[DEPTH_LIMIT];
    char name[NAME_LIMIT];
};

/* What a node exports. */
static void tell(struct walk *w, struct reader r, size_t name_size)
{
    uint64_t flags = reader_uleb(&r);
    if (flags & REEXPORT || (flags & KIND_MASK) != KIND_REGULAR)
        return;
    uint64_t offset = reader_uleb(&r); /* of the stub, where a resolver stands behind it */
    if (r.failed) {
        w->broken = true;
        return;
    }
    w->name[name_size] = 0;
    const struct export_symbol symbol = {w->name, name_size, offset, flags & WEAK_DEFINITION};
    if (name_size && !w->each(w->context, &symbol))
        w->stopped = true;
}

/* Goes to the node at `offset`, which `name_size` bytes of the name lead to. */
static void enter(struct walk *w, uint64_t offset, size_t name_size)
{
    struct reader r = reader_at(w->trie.data, w->trie.size, offset);
    uint64_t size = reader_uleb(&r);
    struct reader exported = reader_sub(&r, size);
    uint8_t children = reader_u8(&r);
    if (r.failed || w->visits_left == 0 || w->depth == DEPTH_LIMIT) {
        w->broken = true;
        return;
    }
    w->visits_left--;
    if (size)
        tell(w, exported, name_size);
    w->path[w->depth++] = (struct node){(uint32_t)reader_offset(&r), (uint32_t)name_size, children};
}

/* The next child of the innermost node. */
static void descend(struct walk *w)
{
    struct node *node = &w->path[w->depth - 1];
    struct reader r = reader_at(w->trie.data, w->trie.size, node->next);
    const char *part = reader_string(&r);
    uint64_t offset = reader_uleb(&r);
    if (r.failed) {
        node->children = 0;
        w->broken = true;
        return;
    }
    node->children--;
    node->next = (uint32_t)reader_offset(&r);
    size_t size = strlen(part);
    if (size >= NAME_LIMIT - node->name_size) {
        w->broken = true;
        return;
    }
    memcpy(w->name + node->name_size, part, size);
    enter(w, offset, node->name_size + size);
}

bool export_trie_each(struct span trie,
                      bool (*each)(void *context, const struct export_symbol *symbol),
                      void *context)
{
    struct walk w;
    w.trie = trie;
    w.each = each;
    w.context = context;
    w.visits_left = trie.size / NODE_MIN;
    w.depth = 0;
    w.broken = w.stopped = false;
    if (trie.size > UINT32_MAX)
        return false;
    if (trie.size)
        enter(&w, 0, 0);
    while (w.depth && !w.stopped) {
        if (w.path[w.depth - 1].children)
            descend(&w);
        else
            w.depth--;
    }
    return !w.broken;
}
