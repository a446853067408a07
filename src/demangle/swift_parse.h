/*
 * The parser of the current Swift mangling, shared by its parts.
 *
 * The mangling is a program for a stack machine: an operator takes its operands from a stack of
 * nodes and leaves one node there. So the parser never recurses over nesting; what is left on the
 * stack at the end is the symbol.
 *
 * A function that reads an operator returns its node, or NULL when the name is malformed (or a cap
 * is reached): that ends the parse.
 */
#ifndef DEMANGLE_SWIFT_PARSE_H
#define DEMANGLE_SWIFT_PARSE_H

#include "demangle/swift_node.h"
#include "demangle/swift_words.h"

struct swift_stack {
    struct swift_node **nodes;
    size_t count, room;
};

struct swift_parser {
    const char *at, *end;
    struct swift_arena *arena;
    struct swift_stack stack;         /* operands */
    struct swift_stack substitutions; /* what "A" refers to */
    struct swift_words words;         /* what identifiers refer to */
    bool labels_in_types;             /* "_T0": labels stand in the parameter tuple */
    unsigned depth;                   /* of the recursion in swift_old*.c */
};

enum {
    SWIFT_BAD_NUMBER = -1,
    SWIFT_MAX_REPEAT = 2048, /* copies of one operand that one operator may push */
};

/* The symbol's tree, or NULL. `prefix` is the length of "$s" or the like. */
struct swift_node *swift_parse(struct swift_arena *arena, const char *name, size_t length,
                               size_t prefix);

/* Characters. '\0' at the end. */
static inline char swift_peek(const struct swift_parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static inline char swift_next(struct swift_parser *p)
{
    return p->at < p->end ? *p->at++ : '\0';
}

static inline bool swift_next_if(struct swift_parser *p, char c)
{
    if (p->at >= p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

int swift_natural(struct swift_parser *p); /* SWIFT_BAD_NUMBER: none, or too large */
int swift_index(struct swift_parser *p);   /* INDEX; SWIFT_BAD_NUMBER */
struct swift_node *swift_index_node(struct swift_parser *p);

/* The operand stack. */
bool swift_push(struct swift_parser *p, struct swift_stack *stack, struct swift_node *node);
struct swift_node *swift_top(const struct swift_parser *p);
struct swift_node *swift_pop(struct swift_parser *p);
struct swift_node *swift_pop_kind(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_pop_flags(struct swift_parser *p, unsigned flags);
static inline struct swift_node *swift_pop_type(struct swift_parser *p)
{
    return swift_pop_flags(p, SW_IS_TYPE);
}
struct swift_node *swift_pop_entity(struct swift_parser *p); /* or a type */
struct swift_node *swift_pop_module(struct swift_parser *p);
struct swift_node *swift_pop_context(struct swift_parser *p);
struct swift_node *swift_pop_protocol(struct swift_parser *p);
struct swift_node *swift_pop_nominal(struct swift_parser *p); /* a type that may take arguments */
/* A list ended by "_" after its first element, or by "y" when empty. NULL: malformed. */
struct swift_node *swift_pop_list(struct swift_parser *p, enum swift_kind kind,
                                  struct swift_node *(*pop)(struct swift_parser *p));
struct swift_node *swift_pop_type_list(struct swift_parser *p);
/* Remembers the node for "A"; returns it. */
struct swift_node *swift_substitutable(struct swift_parser *p, struct swift_node *node);

/* swift_parse_types.c */
struct swift_node *swift_pop_function(struct swift_parser *p, unsigned representation,
                                      bool clang_type);
struct swift_node *swift_read_builtin(struct swift_parser *p); /* B */
/* The built-in vector of `size` times the BUILTIN `element`, which may be NULL: malformed. */
struct swift_node *swift_vector(struct swift_parser *p, int size, const struct swift_node *element);
struct swift_node *swift_read_special_type(struct swift_parser *p);  /* X */
struct swift_node *swift_read_annotation(struct swift_parser *p);    /* Y */
struct swift_node *swift_read_tuple(struct swift_parser *p);         /* t */
struct swift_node *swift_read_bound_generic(struct swift_parser *p); /* G */
struct swift_node *swift_read_protocol_list(struct swift_parser *p); /* p */
struct swift_node *swift_read_impl_function(struct swift_parser *p); /* I */
/* Bound generic arguments: TYPE_LIST of one TYPE_LIST for each depth, the innermost first. */
struct swift_node *swift_pop_arguments(struct swift_parser *p);

/* swift_parse_generics.c */
struct swift_node *swift_param(struct swift_parser *p, uint64_t depth, uint64_t index);
struct swift_node *swift_read_param(struct swift_parser *p); /* GENERIC-PARAM-INDEX */
struct swift_node *swift_read_signature(struct swift_parser *p, bool counts); /* l, r */
struct swift_node *swift_read_requirement(struct swift_parser *p);            /* R */
struct swift_node *swift_read_archetype(struct swift_parser *p);              /* Q */
struct swift_node *swift_read_generic_type(struct swift_parser *p);           /* u */
struct swift_node *swift_read_conformance(struct swift_parser *p);            /* H */
struct swift_node *swift_read_retroactive(struct swift_parser *p);            /* g */
struct swift_node *swift_pop_conformance(struct swift_parser *p); /* protocol-conformance */
struct swift_node *swift_pop_assoc_name(struct swift_parser *p);
struct swift_node *swift_pop_assoc_path(struct swift_parser *p);

/* swift_parse_entities.c */
struct swift_node *swift_declaration(struct swift_parser *p, enum swift_kind kind,
                                     struct swift_node *context, struct swift_node *name);
/* A declaration that has no name of its own, only words. */
struct swift_node *swift_nameless(struct swift_parser *p, enum swift_kind kind, const char *words,
                                  struct swift_node *context);
struct swift_node *swift_read_nominal(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_read_extension(struct swift_parser *p);       /* E */
struct swift_node *swift_read_function(struct swift_parser *p);        /* F */
struct swift_node *swift_read_function_entity(struct swift_parser *p); /* f */
struct swift_node *swift_read_variable(struct swift_parser *p);        /* v */
struct swift_node *swift_read_subscript(struct swift_parser *p);       /* i */
struct swift_node *swift_read_local_name(struct swift_parser *p);      /* L */
struct swift_node *swift_read_operator_name(struct swift_parser *p);   /* o */
struct swift_node *swift_read_type_mangling(struct swift_parser *p);   /* D */
/* Replaces the operator letters of an identifier. False: not an operator. */
bool swift_operator_text(struct swift_arena *arena, const struct swift_node *identifier,
                         struct swift_node **text, enum swift_kind kind);

/* swift_parse_symbols.c, swift_parse_specs.c, swift_parse_diff.c */
struct swift_node *swift_read_metadata(struct swift_parser *p);      /* M */
struct swift_node *swift_read_type_metadata(struct swift_parser *p); /* N */
struct swift_node *swift_read_witness(struct swift_parser *p);       /* W */
struct swift_node *swift_read_thunk(struct swift_parser *p);         /* T */
struct swift_node *swift_read_value_witness(struct swift_parser *p); /* w */
struct swift_node *swift_read_specialization(struct swift_parser *p, char kind);
struct swift_node *swift_read_diff_function(struct swift_parser *p); /* TJ */
struct swift_node *swift_read_diff_witness(struct swift_parser *p);  /* WJ */

struct swift_node *swift_standard_type(struct swift_parser *p, enum swift_kind kind,
                                       const char *name);

/* swift_tables.c */
const char *swift_known_type(char letter, bool second_set, enum swift_kind *kind);
const char *swift_value_witness(const char code[2]);
const struct swift_phrase *swift_find_phrase(const struct swift_phrase *table, size_t count,
                                             const char *code, size_t length);

#endif
