/*
 * A JSON text as a list of spans: what is where, so that single members can be replaced and every
 * other byte stays as it was (RFC 8259; the order and repetition of keys, the spelling of numbers
 * and bytes that are not UTF-8 all survive).
 *
 * Invariant: nodes stand in the order of the text; the nodes of a container follow it, up to its
 * `next`. A key is a node of its own, directly before its value. Scanning is one pass without
 * recursion; a text that is broken or ends early is closed where that happens, `complete` says so
 * and everything before it is there.
 */
#ifndef REPORT_JDOC_H
#define REPORT_JDOC_H

#include "base/arena.h"
#include "base/reader.h"
#include "framewalk/error.h"

enum jtype { JNULL, JFALSE, JTRUE, JNUMBER, JSTRING, JARRAY, JOBJECT };

struct jnode {
    size_t begin, end; /* in the text, quotes and brackets included */
    uint32_t next;     /* first node after this one and all in it */
    uint8_t type;      /* enum jtype */
    bool key;          /* the value is the next node */
};

struct jdoc {
    struct span text;
    struct jnode *nodes; /* nodes[0] is the value */
    size_t count, capacity;
    size_t end; /* where the value ended in `text` */
    bool complete;
};

enum { JDOC_MAX_DEPTH = 65536, JNONE = UINT32_MAX };

/* The first value at or after `begin`, white space and a byte order mark skipped.
 * FW_ERR_FORMAT: no value begins there. */
fw_error jdoc_scan(struct jdoc *doc, struct span text, size_t begin);
void jdoc_free(struct jdoc *doc);

/* Children: `for (i = jdoc_first(doc, n); i != JNONE; i = jdoc_after(doc, n, i))`. Of an object
 * these are the keys; the value of key i is i + 1. */
uint32_t jdoc_first(const struct jdoc *doc, uint32_t container);
uint32_t jdoc_after(const struct jdoc *doc, uint32_t container, uint32_t child);

/* The value of `key` in an object, the first of equal keys; JNONE when there is none, or when
 * `object` is JNONE or no object. */
uint32_t jdoc_get(const struct jdoc *doc, uint32_t object, const char *key);
/* Element `i` of an array; JNONE likewise. */
uint32_t jdoc_at(const struct jdoc *doc, uint32_t array, size_t i);

bool jdoc_is(const struct jdoc *doc, uint32_t node, enum jtype type);
bool jdoc_key_is(const struct jdoc *doc, uint32_t key, const char *name);
/* A whole number, negative ones as two's complement, or a string that holds one ("0x1f", "12"). */
bool jdoc_u64(const struct jdoc *doc, uint32_t node, uint64_t *value);
/* A string with escapes undone, or the spelling of a number, into the arena; NULL for anything
 * else, or when memory ran out. Zero bytes inside become '?'. */
const char *jdoc_text(const struct jdoc *doc, uint32_t node, struct arena *arena);

#endif
