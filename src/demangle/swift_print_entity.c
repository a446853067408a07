/*
 * Writing declarations: "context.name", or "name in context" where the name is of several words
 * or the context has a type.
 */
#include "demangle/swift_print.h"

#include <string.h>

/*
 * A declaration as the context in front of another one's name. Declarations that read "name in
 * context" cannot stand there: they are returned, to be written behind, and nothing is written.
 */
static const struct swift_node *print_context(struct swift_printer *out,
                                              const struct swift_node *node);

enum typing { NO_TYPE, AFTER_COLON, AS_FUNCTION };

/* How a declaration reads. */
struct reading {
    const struct swift_node *node;      /* its slots */
    const struct swift_node *arguments; /* of a bound generic function */
    const struct swift_node *extra;     /* its text stands behind or instead of the name, or NULL */
    enum typing typing;
    bool named;    /* by SW_NAMED */
    bool worded;   /* the name is the node's text */
    bool several;  /* several words: the context goes behind */
    bool numbered; /* extra is followed by the number */
};

static void read_kind(const struct swift_node *node, bool simplified, struct reading *how)
{
    switch (node->kind) {
    case SW_FUNCTION:
        how->named = true;
        how->typing = AS_FUNCTION;
        break;
    case SW_VARIABLE:
        how->named = true;
        how->typing = AFTER_COLON;
        break;
    case SW_SUBSCRIPT:
        how->worded = true;
        how->typing = AS_FUNCTION;
        break;
    case SW_MACRO:
        how->named = true;
        how->typing = node->kids[SW_LABELLED] != NULL ? AS_FUNCTION : AFTER_COLON;
        break;
    case SW_CLOSURE:
        how->extra = node;
        how->numbered = true;
        how->typing = simplified ? NO_TYPE : AS_FUNCTION;
        break;
    case SW_EXPANSION:
        how->named = how->numbered = true;
        how->extra = node;
        break;
    case SW_DEFAULT_ARGUMENT:
        how->numbered = true;
        how->extra = node;
        break;
    case SW_INITIALIZER:
    case SW_SPECIAL_MEMBER: how->extra = node; break;
    case SW_ALLOCATOR:
    case SW_CONSTRUCTOR:
        how->extra = node;
        how->typing = AS_FUNCTION;
        break;
    default: how->named = true; break; /* types */
    }
}

/* False: not a declaration. */
static bool read_declaration(const struct swift_node *node, bool simplified, struct reading *how)
{
    *how = (struct reading){.node = node};
    if (node->kind == SW_ACCESSOR) {
        how->extra = node;
        how->node = node = node->kids[0];
        if (node->kind != SW_VARIABLE && node->kind != SW_SUBSCRIPT)
            return false;
        how->named = node->kind == SW_VARIABLE;
        how->worded = !how->named;
        how->typing = AFTER_COLON;
    } else if (node->kind == SW_BOUND_FUNCTION) {
        how->node = node->kids[0];
        how->arguments = node->kids[1];
        how->named = node->kids[0]->kind == SW_FUNCTION;
        how->typing = AS_FUNCTION;
    } else if (swift_is(node, SW_HAS_SLOTS)) {
        read_kind(node, simplified, how);
    } else {
        return false;
    }
    how->several = (how->extra != NULL && memchr(how->extra->text, ' ', how->extra->length)) ||
                   (how->named && how->node->kids[SW_NAMED]->kind == SW_LOCAL_NAME);
    return true;
}

static void print_extra(struct swift_printer *out, const struct reading *how)
{
    swift_write_text(out, how->extra);
    if (how->extra->kind == SW_EXPANSION && how->extra->kids[SW_TYPED] != NULL) {
        swift_print(out, how->extra->kids[SW_TYPED]); /* the attached macro */
        swift_write_words(out, " expansion #");
    }
    if (how->numbered)
        swift_write_number(out, how->node->number);
}

static void print_name(struct swift_printer *out, const struct reading *how)
{
    struct swift_node *const *slot = how->node->kids;
    bool extra = how->extra != NULL;
    if (extra && how->several && how->named) {
        print_extra(out, how);
        swift_write_words(out, " of ");
        extra = false;
    }
    size_t before = out->used;
    if (how->worded)
        swift_write_text(out, how->node);
    if (how->named)
        swift_print(out, slot[SW_NAMED]);
    if (how->named || how->node->kind == SW_CONSTRUCTOR)
        swift_print(out, slot[SW_PRIVATE]);
    if (extra && out->used != before)
        swift_write_words(out, ".");
    if (extra)
        print_extra(out, how);
}

static bool is_plain_function(const struct swift_node *type)
{
    while (type->kind == SW_GENERIC_TYPE)
        type = type->kids[1];
    if (type->kind != SW_FUNCTION_TYPE)
        return false;
    unsigned representation = type->index & SW_FN_REPRESENTATION;
    return representation == SW_FN_PLAIN || representation == SW_FN_NOESCAPE ||
           representation == SW_FN_UNCURRIED || representation == SW_FN_C ||
           representation == SW_FN_THIN;
}

static void print_type_of(struct swift_printer *out, const struct reading *how)
{
    const struct swift_node *type = how->node->kids[SW_TYPED];
    const struct swift_node *labels = how->node->kids[SW_LABELLED];
    if (how->arguments != NULL) {
        swift_write_words(out, "<");
        swift_print_joined(out, how->arguments, ", ");
        swift_write_words(out, ">");
    }
    if (labels == NULL && how->arguments == NULL) {
        swift_print(out, type);
        return;
    }
    if (type->kind == SW_GENERIC_TYPE) {
        if (how->arguments == NULL)
            swift_print(out, type->kids[0]);
        type = type->kids[1];
        if (swift_needs_space(type))
            swift_write_words(out, " ");
    }
    if (type->kind == SW_FUNCTION_TYPE)
        swift_print_function(out, type, labels);
    else
        swift_print(out, type);
}

static void print_typing(struct swift_printer *out, const struct reading *how)
{
    const struct swift_node *type = how->node->kids[SW_TYPED];
    if (how->typing == NO_TYPE || type == NULL)
        return;
    if (how->typing == AFTER_COLON || !is_plain_function(type)) {
        if (out->simplified)
            return;
        swift_write_words(out, " : ");
    } else if (how->several || swift_needs_space(type)) {
        swift_write_words(out, " ");
    }
    print_type_of(out, how);
}

/* Returns the context that is still to be written; NULL when it was written. */
static const struct swift_node *print_reading(struct swift_printer *out, const struct reading *how)
{
    const struct swift_node *context = how->node->kids[SW_IN], *behind = context;
    if (!how->several) {
        size_t before = out->used;
        behind = print_context(out, context);
        if (out->used != before)
            swift_write_words(out, ".");
    }
    print_name(out, how);
    print_typing(out, how);
    return behind;
}

static bool print_other(struct swift_printer *out, const struct swift_node *node)
{
    switch (node->kind) {
    case SW_EXTENSION:
        if (!out->simplified) {
            swift_write_words(out, "(extension in ");
            print_context(out, node->kids[0]);
            swift_write_words(out, "):");
        }
        swift_print(out, node->kids[1]);
        swift_print(out, swift_kid(node, 2));
        return true;
    case SW_ANONYMOUS:
        if (out->simplified)
            return true;
        swift_print(out, node->kids[0]);
        swift_write_words(out, ".(unknown context at ");
        swift_print(out, node->kids[1]);
        swift_write_words(out, ")");
        if (node->kids[2]->count != 0) {
            swift_write_words(out, "<");
            swift_print_joined(out, node->kids[2], ", ");
            swift_write_words(out, ">");
        }
        return true;
    default: return false;
    }
}

static const struct swift_node *print_context(struct swift_printer *out,
                                              const struct swift_node *node)
{
    struct reading how;
    if (!read_declaration(node, out->simplified, &how)) {
        swift_print(out, node);
        return NULL;
    }
    if (how.several || how.typing != NO_TYPE || (out->simplified && node->kind == SW_CLOSURE))
        return node;
    if (out->steps == 0 || out->depth == SWIFT_MAX_PRINT_DEPTH) {
        out->failed = true;
        return NULL;
    }
    out->steps--;
    out->depth++;
    const struct swift_node *behind = print_reading(out, &how);
    out->depth--;
    return behind;
}

bool swift_print_declaration(struct swift_printer *out, const struct swift_node *node)
{
    struct reading how;
    if (!read_declaration(node, out->simplified, &how))
        return print_other(out, node);
    const struct swift_node *behind = print_reading(out, &how);
    if (behind != NULL) {
        bool of = node->kind == SW_INITIALIZER || node->kind == SW_DEFAULT_ARGUMENT;
        swift_write_words(out, of ? " of " : " in ");
        swift_print(out, behind);
    }
    return true;
}
