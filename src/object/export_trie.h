/*
 * The export trie of a Mach-O image: names along the edges, addresses in the nodes
 * (<mach-o/loader.h>, LC_DYLD_EXPORTS_TRIE and EXPORT_SYMBOL_FLAGS_*).
 *
 * A node is { ULEB128 size of what it exports, that, number of children, children }, a child is
 * { NUL-terminated part of a name, ULEB128 offset of its node from the beginning }.
 *
 * Hostile tries may lead in circles or share nodes without end: as many nodes are visited as could
 * stand beside each other, and names and nesting are limited.
 */
#ifndef OBJECT_EXPORT_TRIE_H
#define OBJECT_EXPORT_TRIE_H

#include "base/reader.h"

struct export_symbol {
    const char *name; /* ends with NUL; as long as the call */
    size_t name_size;
    uint64_t offset; /* from the header of the image */
    bool weak;
};

/* Calls `each` with every address that the image itself exports (none of other images, none that
 * is absolute or thread-local), until it returns false. False when the trie was found to be broken;
 * what was found before and beside has been told. */
bool export_trie_each(struct span trie,
                      bool (*each)(void *context, const struct export_symbol *symbol),
                      void *context);

#endif
