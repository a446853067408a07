/*
 * Writing the tree of a Swift name, shared by the parts of the printer.
 *
 * Recursion, the number of nodes written (substitutions make a graph, which can be exponential)
 * and the output are capped. Past a cap nothing more is written; `failed` says that the name is
 * not understood, `cut` that only the text did not fit.
 */
#ifndef DEMANGLE_SWIFT_PRINT_H
#define DEMANGLE_SWIFT_PRINT_H

#include "demangle/swift.h"
#include "demangle/swift_node.h"

struct swift_printer {
    char *text;
    size_t size, used;
    bool simplified;
    bool cut, failed;
    bool specialized;        /* "specialized" is written once in the simplified style */
    bool clauses;            /* where clauses are written */
    unsigned depth, symbols; /* of nodes, and of symbols named inside symbols */
    unsigned steps;          /* left */
};

enum { SWIFT_MAX_PRINT_DEPTH = 256, SWIFT_MAX_PRINT_STEPS = 1 << 17, SWIFT_MAX_NESTED_SYMBOLS = 4 };

void swift_write(struct swift_printer *out, const char *text, size_t length);
void swift_write_words(struct swift_printer *out, const char *words);
void swift_write_number(struct swift_printer *out, uint64_t number);
static inline void swift_write_text(struct swift_printer *out, const struct swift_node *node)
{
    swift_write(out, node->text, node->length);
}

/* NULL writes nothing. */
void swift_print(struct swift_printer *out, const struct swift_node *node);
void swift_print_joined(struct swift_printer *out, const struct swift_node *list,
                        const char *between);

/* The parts. False: the kind is not of this part. */
bool swift_print_declaration(struct swift_printer *out, const struct swift_node *node);
bool swift_print_type(struct swift_printer *out, const struct swift_node *node);
bool swift_print_symbol(struct swift_printer *out, const struct swift_node *node);
void swift_print_specialization(struct swift_printer *out, const struct swift_node *node);
/* `labels` may be NULL. */
void swift_print_function(struct swift_printer *out, const struct swift_node *type,
                          const struct swift_node *labels);
/* Whether a space is wanted between a name (or a signature) and the type. */
bool swift_needs_space(const struct swift_node *type);

/* Demangles into a printer; false: not understood. For symbols inside symbols. */
bool swift_print_name(struct swift_printer *out, const char *name, size_t length);

#endif
