/*
 * The kinds of node in the tree of a Swift name, as one table: what a kind may stand for, and how
 * it reads.
 *
 * Most kinds read as a phrase about their children. Such a kind has a template here, in which %0
 * to %9 are its children, and needs no code; %* stands for all of them. The second template is
 * that of the simplified style, where it differs. NULL: swift_print.c has code for the kind.
 *
 * X(kind, flags, full, simplified)
 */
#ifndef DEMANGLE_SWIFT_KINDS_H
#define DEMANGLE_SWIFT_KINDS_H

enum swift_flags {
    SW_IS_TYPE = 1,      /* a type */
    SW_IS_SIMPLE = 2,    /* a type that needs no parentheses before "?" or ".Type" */
    SW_IS_CONTEXT = 4,   /* what a declaration may stand in */
    SW_IS_ATTRIBUTE = 8, /* said of a whole symbol: its operator comes last and it reads first */
    SW_IS_NAME = 16,     /* the name of a declaration */
    SW_IS_REQUIREMENT = 32,
    SW_IS_CONFORMANCE = 64, /* witness of a conformance, see HC, HD, HI, HA, HO, HX */
    SW_IS_NOMINAL = 128,
    SW_IS_EXPANSION = 256, /* a macro expansion */
    SW_IS_PROTOCOLS = 512, /* an existential type: the metatype of it is .Protocol */
    SW_HAS_SLOTS = 1024,   /* a declaration: children are those of enum swift_slot */
};

/* Marks on the operand stack, and pieces of other nodes. */
#define SWIFT_PIECE_KINDS(X)                                                                       \
    X(EMPTY_LIST, 0, " empty-list ", NULL)                                                         \
    X(FIRST_MARK, 0, " first-element-marker ", NULL)                                               \
    X(VARIADIC_MARK, 0, " variadic-marker ", NULL)                                                 \
    X(ASYNC, 0, " async", NULL)                                                                    \
    X(THROWS, 0, " throws", NULL)                                                                  \
    X(TYPED_THROWS, 0, " throws(%0)", NULL)                                                        \
    X(SENDABLE, 0, "@Sendable ", NULL)                                                             \
    X(GLOBAL_ACTOR, 0, "@%0 ", NULL)                                                               \
    X(ISOLATED_ANY, 0, "@isolated(any) ", NULL)                                                    \
    X(NONISOLATED_CALLER, 0, "nonisolated(nonsending) ", NULL)                                     \
    X(DIFFERENTIABLE, 0, NULL, NULL)                                                               \
    X(SENDING_RESULT, 0, "sending ", NULL)                                                         \
    X(TYPE_LIST, 0, "%*", NULL)                                                                    \
    X(LABELS, 0, "", NULL)                                                                         \
    X(INDEX, 0, NULL, NULL)                                                                        \
    X(WORDS, 0, NULL, NULL)                                                                        \
    X(IDENTIFIER, SW_IS_NAME, NULL, NULL)                                                          \
    X(INFIX, SW_IS_NAME, NULL, NULL)                                                               \
    X(PREFIX, SW_IS_NAME, NULL, NULL)                                                              \
    X(POSTFIX, SW_IS_NAME, NULL, NULL)                                                             \
    X(LOCAL_NAME, SW_IS_NAME, NULL, NULL)                                                          \
    X(PRIVATE_NAME, SW_IS_NAME, NULL, NULL)                                                        \
    X(RELATED_NAME, SW_IS_NAME, "related decl '%0' for %1", NULL)                                  \
    X(ELEMENT, 0, NULL, NULL)                                                                      \
    X(SUFFIX, 0, NULL, "")                                                                         \
    X(SYMBOL, 0, "%*", NULL)                                                                       \
    X(TYPE_MANGLING, 0, NULL, NULL)

#define SWIFT_TYPE_KINDS(X)                                                                        \
    X(BUILTIN, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                              \
    X(FIXED_ARRAY, SW_IS_TYPE | SW_IS_SIMPLE, "Builtin.FixedArray<%0, %1>", NULL)                  \
    X(BORROW, SW_IS_TYPE | SW_IS_SIMPLE, "Builtin.Borrow<%0>", NULL)                               \
    X(FUNCTION_TYPE, SW_IS_TYPE, NULL, NULL)                                                       \
    X(IMPL_FUNCTION, SW_IS_TYPE, NULL, NULL)                                                       \
    X(IMPL_VALUE, 0, NULL, NULL)                                                                   \
    X(TUPLE, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                                \
    X(PACK, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                                 \
    X(PACK_EXPANSION, SW_IS_TYPE, "repeat %0", NULL)                                               \
    X(PACK_ELEMENT, SW_IS_TYPE, NULL, NULL)                                                        \
    X(BOUND_GENERIC, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                        \
    X(BOUND_FUNCTION, SW_IS_CONTEXT, NULL, NULL)                                                   \
    X(ASSOC_TYPE_REF, SW_IS_TYPE | SW_IS_SIMPLE, "%0.%1", NULL)                                    \
    X(PARAM, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                                \
    X(MEMBER, SW_IS_TYPE | SW_IS_SIMPLE, "%0.%1", NULL)                                            \
    X(ASSOC_NAME, 0, NULL, NULL)                                                                   \
    X(ASSOC_PATH, 0, NULL, NULL)                                                                   \
    X(GENERIC_TYPE, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                         \
    X(DYNAMIC_SELF, SW_IS_TYPE | SW_IS_SIMPLE, "Self", NULL)                                       \
    X(EXISTENTIAL_SELF, SW_IS_TYPE | SW_IS_SIMPLE, "Self", NULL)                                   \
    X(ERROR_TYPE, SW_IS_TYPE | SW_IS_SIMPLE, "<ERROR TYPE>", NULL)                                 \
    X(METATYPE, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                             \
    X(EXISTENTIAL_METATYPE, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_PROTOCOLS, NULL, NULL)               \
    X(PROTOCOLS, SW_IS_TYPE | SW_IS_PROTOCOLS, NULL, NULL)                                         \
    X(PROTOCOLS_CLASS, SW_IS_TYPE | SW_IS_PROTOCOLS, NULL, NULL)                                   \
    X(PROTOCOLS_ANYOBJECT, SW_IS_TYPE | SW_IS_PROTOCOLS, NULL, NULL)                               \
    X(CONSTRAINED, SW_IS_TYPE, "any %0<%1>", NULL)                                                 \
    X(COMMA_LIST, 0, NULL, NULL)                                                                   \
    X(INOUT, SW_IS_TYPE, "inout %0", NULL)                                                         \
    X(SHARED, SW_IS_TYPE, "__shared %0", NULL)                                                     \
    X(OWNED, SW_IS_TYPE, "__owned %0", NULL)                                                       \
    X(ISOLATED, SW_IS_TYPE, "isolated %0", NULL)                                                   \
    X(SENDING, SW_IS_TYPE, "sending %0", NULL)                                                     \
    X(COMPILE_TIME, SW_IS_TYPE, "_const %0", NULL)                                                 \
    X(CONST_VALUE, SW_IS_TYPE, "@const %0", NULL)                                                  \
    X(NO_DERIVATIVE, SW_IS_TYPE, "@noDerivative %0", NULL)                                         \
    X(WEAK, SW_IS_TYPE, "weak %0", NULL)                                                           \
    X(UNOWNED, SW_IS_TYPE, "unowned %0", NULL)                                                     \
    X(UNMANAGED, SW_IS_TYPE, "unowned(unsafe) %0", NULL)                                           \
    X(BOX, SW_IS_TYPE | SW_IS_SIMPLE, "@box %0", NULL)                                             \
    X(LAYOUT_BOX, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                           \
    X(MUTABLE_FIELD, 0, "var %0", NULL)                                                            \
    X(FIXED_FIELD, 0, "let %0", NULL)                                                              \
    X(OPAQUE, SW_IS_TYPE, "%0.%1", NULL)                                                           \
    X(OPAQUE_RESULT, SW_IS_TYPE, "some", NULL)                                                     \
    X(OPAQUE_RESULT_OF, SW_IS_CONTEXT, "<<opaque return type of %0>>", NULL)                       \
    X(SUGARED_OPTIONAL, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                     \
    X(SUGARED_ARRAY, SW_IS_TYPE | SW_IS_SIMPLE, "[%0]", NULL)                                      \
    X(SUGARED_DICTIONARY, SW_IS_TYPE | SW_IS_SIMPLE, "[%0 : %1]", NULL)                            \
    X(SUGARED_INLINE_ARRAY, SW_IS_TYPE | SW_IS_SIMPLE, "[%0 of %1]", NULL)                         \
    X(SUGARED_PAREN, SW_IS_TYPE | SW_IS_SIMPLE, "(%0)", NULL)                                      \
    X(INTEGER, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)                                              \
    X(NEGATIVE_INTEGER, SW_IS_TYPE | SW_IS_SIMPLE, NULL, NULL)

#define SWIFT_GENERIC_KINDS(X)                                                                     \
    X(SIGNATURE, 0, NULL, NULL)                                                                    \
    X(COUNT, 0, NULL, NULL)                                                                        \
    X(PACK_MARKER, SW_IS_REQUIREMENT, "", NULL)                                                    \
    X(VALUE_MARKER, SW_IS_REQUIREMENT, "", NULL)                                                   \
    X(REQ_CONFORMS, SW_IS_REQUIREMENT, "%0: %1", NULL)                                             \
    X(REQ_SAME, SW_IS_REQUIREMENT, "%0 == %1", NULL)                                               \
    X(REQ_SHAPE, SW_IS_REQUIREMENT, "%0.shape == %1.shape", NULL)                                  \
    X(REQ_INVERSE, SW_IS_REQUIREMENT, NULL, NULL)                                                  \
    X(REQ_LAYOUT, SW_IS_REQUIREMENT, NULL, NULL)                                                   \
    X(CONFORMANCE, 0, "%0 : %1 in %2", "%0")                                                       \
    X(BEHAVIOR, 0, "property behavior storage of %2 in %0 : %1", NULL)                             \
    X(REF_TYPE_MODULE, 0, "protocol conformance ref (type's module) %0", NULL)                     \
    X(REF_PROTOCOL_MODULE, 0, "protocol conformance ref (protocol's module) %0", NULL)             \
    X(REF_OTHER_MODULE, 0, "protocol conformance ref (retroactive) %0%1", NULL)                    \
    X(CONCRETE, SW_IS_CONFORMANCE, NULL, NULL)                                                     \
    X(DEPENDENT, SW_IS_CONFORMANCE, NULL, NULL)                                                    \
    X(OPAQUE_CONFORMANCE, SW_IS_CONFORMANCE, "opaque result conformance %0 of %1", NULL)           \
    X(PACK_CONFORMANCE, SW_IS_CONFORMANCE, "pack protocol conformance %0", NULL)                   \
    X(ASSOC_CONFORMANCE, 0, "dependent associated conformance %0%1", NULL)                         \
    X(CONFORMANCES, 0, NULL, NULL)                                                                 \
    X(RETROACTIVE, 0, "retroactive @ %0%1", NULL)

#define SWIFT_DECLARATION_KINDS(X)                                                                 \
    X(MODULE, SW_IS_CONTEXT, NULL, NULL)                                                           \
    X(CLASS, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS, NULL, NULL) \
    X(STRUCT, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS, NULL,      \
      NULL)                                                                                        \
    X(ENUM, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS, NULL, NULL)  \
    X(PROTOCOL, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS, NULL,    \
      NULL)                                                                                        \
    X(ALIAS, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS, NULL, NULL) \
    X(OTHER_NOMINAL, SW_IS_TYPE | SW_IS_SIMPLE | SW_IS_CONTEXT | SW_IS_NOMINAL | SW_HAS_SLOTS,     \
      NULL, NULL)                                                                                  \
    X(EXTENSION, SW_IS_CONTEXT, NULL, NULL)                                                        \
    X(ANONYMOUS, SW_IS_CONTEXT, NULL, NULL)                                                        \
    X(FUNCTION, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                          \
    X(VARIABLE, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                          \
    X(SUBSCRIPT, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                         \
    X(ACCESSOR, SW_IS_CONTEXT, NULL, NULL)                                                         \
    X(ALLOCATOR, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                         \
    X(CONSTRUCTOR, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                       \
    X(SPECIAL_MEMBER, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                    \
    X(INITIALIZER, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                       \
    X(DEFAULT_ARGUMENT, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                  \
    X(CLOSURE, SW_IS_CONTEXT | SW_HAS_SLOTS, NULL, NULL)                                           \
    X(MACRO, SW_HAS_SLOTS, NULL, NULL)                                                             \
    X(EXPANSION, SW_IS_CONTEXT | SW_IS_EXPANSION | SW_HAS_SLOTS, NULL, NULL)                       \
    X(EXPANSION_LOC, SW_IS_CONTEXT | SW_IS_EXPANSION, "module %0 file %1 line %2 column %3", NULL) \
    X(GENERIC_PARAM_DECL, SW_HAS_SLOTS, NULL, NULL)                                                \
    X(STATIC, SW_IS_CONTEXT, "static %0", NULL)

#define SWIFT_SYMBOL_KINDS(X)                                                                      \
    X(PHRASE, 0, NULL, NULL) /* about one child, worded by the table of its operator */            \
    X(VTABLE_THUNK, 0, "vtable thunk for %1 dispatching to %0", NULL)                              \
    X(WITNESS, 0, "protocol witness for %1 in conformance %0", NULL)                               \
    X(REABSTRACTION, 0, "reabstraction thunk %0from %1 to %2", "thunk for %1")                     \
    X(REABSTRACTION_HELPER, 0, "reabstraction thunk helper %0from %1 to %2", "thunk for %1")       \
    X(REABSTRACTION_SELF, 0, "reabstraction thunk %0from %1 to %2 self %3", NULL)                  \
    X(REABSTRACTION_ACTOR, 0, "%0 with global actor constraint %1", NULL)                          \
    X(SPACED, 0, "%0 ", NULL)                                                                      \
    X(KEY_PATH, 0, NULL, NULL)                                                                     \
    X(KEY_PATH_INDEX, 0, NULL, NULL)                                                               \
    X(ASSOC_CONFORMANCE_DESCRIPTOR, 0, "associated conformance descriptor for %0.%1: %2", NULL)    \
    X(DEFAULT_CONFORMANCE_ACCESSOR, 0, "default associated conformance accessor for %0.%1: %2",    \
      NULL)                                                                                        \
    X(BASE_CONFORMANCE_DESCRIPTOR, 0, "base conformance descriptor for %0: %1", NULL)              \
    X(LAZY_WITNESS_ACCESSOR, 0,                                                                    \
      "lazy protocol witness table accessor for type %0 and conformance %1", NULL)                 \
    X(LAZY_WITNESS_CACHE, 0,                                                                       \
      "lazy protocol witness table cache variable for type %0 and conformance %1", NULL)           \
    X(ASSOC_METADATA_ACCESSOR, 0, "associated type metadata accessor for %1 in %0", NULL)          \
    X(ASSOC_WITNESS_ACCESSOR, 0, "associated type witness table accessor for %1 : %2 in %0", NULL) \
    X(BASE_WITNESS_ACCESSOR, 0, "base witness table accessor for %1 in %0", NULL)                  \
    X(OUTLINED, 0, "outlined %0 of %1%2", NULL)                                                    \
    X(VALUE_WITNESS, 0, "%0 value witness for %1", "%0 for %1")                                    \
    X(FIELD_OFFSET, 0, "%0field offset for %1", NULL)                                              \
    X(ONCE_FUNCTION, 0, "one-time initialization function for %0", NULL)                           \
    X(ONCE_TOKEN, 0, "one-time initialization token for %0", NULL)                                 \
    X(ONCE_NAMES, 0, NULL, NULL)                                                                   \
    X(COMPLETION_HANDLER, 0, NULL, NULL)                                                           \
    X(DIFF_FUNCTION, SW_IS_CONTEXT, NULL, NULL)                                                    \
    X(DIFF_VTABLE_THUNK, 0, NULL, NULL)                                                            \
    X(DIFF_SUBSET_THUNK, 0, NULL, NULL)                                                            \
    X(DIFF_REORDERING_THUNK, 0, NULL, NULL)                                                        \
    X(DIFF_WITNESS, 0, NULL, NULL)                                                                 \
    X(INDEX_SUBSET, 0, NULL, NULL)                                                                 \
    X(EXISTENTIAL_SHAPE, 0, NULL, NULL)                                                            \
    X(ATTRIBUTE, SW_IS_ATTRIBUTE, NULL, NULL) /* worded by the table of its operator */            \
    X(PARTIAL_APPLY, SW_IS_ATTRIBUTE, NULL, NULL)                                                  \
    X(RESUME, SW_IS_ATTRIBUTE, NULL, "")                                                           \
    X(OUTLINED_VARIABLE, SW_IS_ATTRIBUTE, "outlined %0 #%1 of ", NULL)                             \
    X(BRIDGED_METHOD, SW_IS_ATTRIBUTE, "outlined bridged method (%0) of ", NULL)                   \
    X(SPECIALIZATION, SW_IS_ATTRIBUTE, NULL, NULL)                                                 \
    X(SPEC_PARAM, 0, NULL, NULL)                                                                   \
    X(SPEC_ARGUMENT, 0, NULL, NULL)                                                                \
    X(SPEC_RETURN, 0, NULL, NULL)                                                                  \
    X(SPEC_CONSTANT, 0, NULL, NULL)                                                                \
    X(PAYLOAD, 0, NULL, NULL)

#define SWIFT_KINDS(X)                                                                             \
    SWIFT_PIECE_KINDS(X)                                                                           \
    SWIFT_TYPE_KINDS(X)                                                                            \
    SWIFT_GENERIC_KINDS(X)                                                                         \
    SWIFT_DECLARATION_KINDS(X)                                                                     \
    SWIFT_SYMBOL_KINDS(X)

enum swift_kind {
#define X(kind, flags, full, simplified) SW_##kind,
    SWIFT_KINDS(X)
#undef X
        SW_KIND_COUNT
};

#endif
