/*
 * Hostile JSON: spans nest and follow each other, every value can be asked for, and a text that is
 * whole for the scanner ends where its last byte says.
 */
#include <stdlib.h>

#include "report/jdoc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct jdoc *doc, uint32_t node)
{
    const struct jnode *n = &doc->nodes[node];
    expect(n->begin < n->end && n->end <= doc->text.size);
    expect(n->next > node && n->next <= doc->count);
    size_t last = n->begin;
    for (uint32_t i = jdoc_first(doc, node); i != JNONE; i = jdoc_after(doc, node, i)) {
        expect(i > node && i < n->next);
        expect(doc->nodes[i].begin > last && doc->nodes[i].end <= n->end);
        expect(doc->nodes[i].key == jdoc_is(doc, node, JOBJECT));
        uint32_t value = doc->nodes[i].key ? i + 1 : i;
        expect(value < n->next && doc->nodes[value].next <= n->next);
        last = doc->nodes[value].end - 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jdoc doc;
    struct arena arena = {0};
    if (jdoc_scan(&doc, (struct span){data, size}, 0))
        return 0;
    expect(doc.nodes[0].next == doc.count && doc.end <= size);
    for (uint32_t i = 0; i < doc.count; i++) {
        uint64_t value;
        check(&doc, i);
        jdoc_u64(&doc, i, &value);
        const char *text = jdoc_text(&doc, i, &arena);
        expect(!text || strlen(text) <= doc.nodes[i].end - doc.nodes[i].begin);
        jdoc_get(&doc, i, "a");
        jdoc_at(&doc, i, 1);
        arena_reset(&arena);
    }
    arena_free(&arena);
    jdoc_free(&doc);
    return 0;
}
