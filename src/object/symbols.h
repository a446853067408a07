/*
 * Symbol index of one object: every function symbol of .symtab, .dynsym, MiniDebugInfo and the
 * separate debug file, sorted once, searched by binary search. A stripped function is never given a
 * wrong neighbour's name: an address past a symbol's size, or past the next function start known
 * from unwind tables, has no name; nor has one behind a sizeless export of a stripped file, whose
 * own unwind entry does not cover it.
 *
 * Building allocates; lookup does not, is read-only and may run in many threads at once.
 */
#ifndef OBJECT_SYMBOLS_H
#define OBJECT_SYMBOLS_H

#include "object/object.h"

struct symbols;

struct symbol_match {
    const char *name; /* mangled, as in the table */
    uint64_t vaddr;   /* link-time start of the function */
    uint64_t size;    /* its extent: st_size, or up to the next known start */
    uint64_t offset;  /* lookup address - vaddr */
    bool plt;         /* a PLT stub: `name` is the function it leads to */
};

/* `debug` may be NULL. `starts` (optional) are further link-time function bounds, from unwind
 * tables. The objects must outlive the index. NULL when out of memory. */
struct symbols *symbols_build(struct object *object, struct object *debug);
/* The same of an excerpt (excerpt.h) of these objects' tables: right where that is. */
struct excerpt;
struct symbols *symbols_build_excerpt(struct object *object, struct object *debug,
                                      const struct excerpt *excerpt);
/* The same for an image in memory (macho_loaded.h): LC_SYMTAB, stubs, function starts, and the
 * export trie where it knows more. Names point into the image's strings as its memory handed them
 * out, which have to outlive the index; those of the export trie are the index's own. NULL when out
 * of memory. */
struct macho_loaded;
struct symbols *symbols_build_loaded(const struct macho_loaded *image);
void symbols_destroy(struct symbols *symbols);
size_t symbols_count(const struct symbols *symbols);
/* Symbol `i` of symbols_count, ascending by address; extents may overlap. `offset` is 0. */
void symbols_at(const struct symbols *symbols, size_t i, struct symbol_match *match);
/* False when no symbol covers the link-time address. */
bool symbols_lookup(const struct symbols *symbols, uint64_t vaddr, struct symbol_match *match);

/* Bytes of a symbol's name before its version, in name@VERSION and name@@VERSION as .symtab may
 * have them; 0 when there is none: an @ may be part of a name (fmt@typeInfo(T).name). */
size_t symbol_unversioned(const char *name);

#endif
