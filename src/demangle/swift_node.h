/*
 * The tree a Swift name is parsed into, and the arena it lives in.
 *
 * A node may be the child of several others (substitutions), so a tree is a graph without cycles:
 * a node is complete before it becomes a child, and is not changed afterwards.
 */
#ifndef DEMANGLE_SWIFT_NODE_H
#define DEMANGLE_SWIFT_NODE_H

#include "demangle/swift_kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of an operator that takes one operand (PHRASE), or none (ATTRIBUTE). */
struct swift_phrase {
    const char *code;       /* the operator's letters after the first */
    int operand;            /* enum swift_operand */
    const char *full;       /* what is written before the operand */
    const char *simplified; /* NULL: the same */
};

struct swift_node {
    uint16_t kind;  /* enum swift_kind */
    uint16_t flags; /* what it means is said where the kind is made */
    uint32_t count; /* children */
    union {
        const char *text; /* not terminated; `length` bytes */
        uint64_t index;
        const struct swift_phrase *phrase;
    };
    uint32_t length, room;
    uint32_t number;          /* of a closure, a default argument or an expansion */
    struct swift_node **kids; /* may hold NULL where the kind has slots */
};

/* The children of every declaration (functions, variables, types, ...). */
enum swift_slot {
    SW_IN,       /* the context; never NULL */
    SW_NAMED,    /* NULL for what has no name */
    SW_LABELLED, /* LABELS: the parameters' labels, or NULL */
    SW_TYPED,    /* the type, or NULL */
    SW_PRIVATE,  /* PRIVATE_NAME beside the name, or NULL */
    SW_SLOTS
};

/* FUNCTION_TYPE: `index` has these bits; the children are in the slots below. */
enum swift_function_bits {
    SW_FN_PLAIN = 0, /* the representation: low four bits */
    SW_FN_NOESCAPE,
    SW_FN_AUTOCLOSURE,
    SW_FN_ESCAPING_AUTOCLOSURE,
    SW_FN_THIN,
    SW_FN_C,
    SW_FN_BLOCK,
    SW_FN_ESCAPING_BLOCK,
    SW_FN_UNCURRIED,
    SW_FN_REPRESENTATION = 15,
    SW_FN_ASYNC = 16,
    SW_FN_SENDABLE = 32,
    SW_FN_SENDING = 64, /* the result */
};
enum swift_function_slot {
    SW_FN_PARAMS, /* a type; a TUPLE of ELEMENT for more than one */
    SW_FN_RESULT,
    SW_FN_THROWN,         /* THROWS, TYPED_THROWS or NULL */
    SW_FN_ISOLATION,      /* GLOBAL_ACTOR, ISOLATED_ANY, NONISOLATED_CALLER or NULL */
    SW_FN_DIFFERENTIABLE, /* DIFFERENTIABLE or NULL */
    SW_FN_CLANG,          /* WORDS: the mangled C type, or NULL */
    SW_FN_SLOTS
};

/* SPEC_CONSTANT: `number` says what became of an argument, `flags` holds the options. */
enum swift_spec {
    SW_SPEC_OPTIONS,
    SW_SPEC_FUNCTION,
    SW_SPEC_GLOBAL,
    SW_SPEC_INTEGER,
    SW_SPEC_FLOAT,
    SW_SPEC_STRING,
    SW_SPEC_KEY_PATH,
    SW_SPEC_STRUCT,
    SW_SPEC_CLOSURE,
    SW_SPEC_ESCAPING_CLOSURE,
    SW_SPEC_SAME_AS,
    SW_SPEC_BOX_TO_VALUE,
    SW_SPEC_BOX_TO_STACK,
    SW_SPEC_INOUT_TO_OUT
};
enum swift_spec_option { /* in the order they are written */
                         SW_SPEC_EXISTENTIAL = 1,
                         SW_SPEC_DEAD = 2,
                         SW_SPEC_TO_GUARANTEED = 4,
                         SW_SPEC_TO_OWNED = 8,
                         SW_SPEC_EXPLODED = 16
};
enum { SW_SPEC_SERIALIZED = 1, SW_SPEC_PARTIAL = 2 }; /* flags of SPECIALIZATION */

struct swift_arena {
    unsigned char *at, *end;
    struct swift_block *blocks;
    size_t left; /* of what it may take from malloc */
};

/* `first` is used before anything is taken from malloc. */
void swift_arena_init(struct swift_arena *arena, void *first, size_t size, size_t cap);
void swift_arena_free(struct swift_arena *arena);
/* NULL when the cap is reached. Not zeroed; aligned for nodes. */
void *swift_take(struct swift_arena *arena, size_t size);

/* All of these return NULL when there is no memory left, and when an argument node is NULL. */
struct swift_node *swift_new(struct swift_arena *arena, enum swift_kind kind);
struct swift_node *swift_new_text(struct swift_arena *arena, enum swift_kind kind, const char *text,
                                  size_t length);
struct swift_node *swift_new_words(struct swift_arena *arena, enum swift_kind kind,
                                   const char *words);
/* Gives a node its words; returns it (NULL stays NULL). */
struct swift_node *swift_say(struct swift_node *node, const char *words);
struct swift_node *swift_new_index(struct swift_arena *arena, enum swift_kind kind, uint64_t index);
struct swift_node *swift_new_1(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a);
struct swift_node *swift_new_2(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a, struct swift_node *b);
struct swift_node *swift_new_3(struct swift_arena *arena, enum swift_kind kind,
                               struct swift_node *a, struct swift_node *b, struct swift_node *c);
/* With `slots` children, all NULL, to be set by the caller. */
struct swift_node *swift_new_slots(struct swift_arena *arena, enum swift_kind kind, unsigned slots);
/* A copy with its own list of children. */
struct swift_node *swift_copy(struct swift_arena *arena, const struct swift_node *node);
/* Returns the parent. */
struct swift_node *swift_add(struct swift_arena *arena, struct swift_node *parent,
                             struct swift_node *child);
/* The children from number `from` on, the other way round. */
void swift_reverse(struct swift_node *node, uint32_t from);

extern const uint16_t swift_kind_flags[SW_KIND_COUNT];

static inline bool swift_is(const struct swift_node *node, unsigned flags)
{
    return node != NULL && (swift_kind_flags[node->kind] & flags) != 0;
}

static inline bool swift_kind_is(const struct swift_node *node, enum swift_kind kind)
{
    return node != NULL && node->kind == kind;
}

/* NULL when there is none. */
static inline struct swift_node *swift_kid(const struct swift_node *node, uint32_t number)
{
    return node != NULL && number < node->count ? node->kids[number] : NULL;
}

bool swift_text_is(const struct swift_node *node, const char *text);

#endif
