/*
 * The mangling of Swift 1 to 3 ("_T"), which is read from front to back: an operator comes before
 * its operands, so the parser recurses, to a bounded depth. The tree has the kinds of the current
 * mangling. Operands, substitutions and characters are those of struct swift_parser.
 */
#ifndef DEMANGLE_SWIFT_OLD_H
#define DEMANGLE_SWIFT_OLD_H

#include "demangle/swift_parse.h"

enum { SWIFT_MAX_OLD_DEPTH = 192 };

/* The symbol's tree, or NULL. `name` is without the "_T". */
struct swift_node *swift_parse_old(struct swift_arena *arena, const char *name, size_t length);

/* swift_old_types.c. All return NULL when the name is malformed or nests too deep. */
struct swift_node *swift_old_type(struct swift_parser *p);
struct swift_node *swift_old_signature(struct swift_parser *p);
struct swift_node *swift_old_conformance(struct swift_parser *p);

/* swift_old_names.c */
struct swift_node *swift_old_substitution(struct swift_parser *p); /* behind the "S" */
struct swift_node *swift_old_identifier(struct swift_parser *p);
struct swift_node *swift_old_name(struct swift_parser *p); /* an identifier, local or private */
struct swift_node *swift_old_context(struct swift_parser *p);
struct swift_node *swift_old_nominal(struct swift_parser *p);
/* A declaration of a type: context and name. */
struct swift_node *swift_old_declaration(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_old_protocol(struct swift_parser *p);
struct swift_node *swift_old_bound_generic(struct swift_parser *p);
struct swift_node *swift_old_entity(struct swift_parser *p);

#endif
