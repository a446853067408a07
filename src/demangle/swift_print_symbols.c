/* Writing symbols that are not declarations: specialisations, thunks with parts, derivatives. */
#include "demangle/swift_print.h"

/* ---- specialisations ---- */

static void print_options(struct swift_printer *out, unsigned options)
{
    static const char *const words[] = {"Existential To Protocol Constrained Generic", "Dead",
                                        "Owned To Guaranteed", "Guaranteed To Owned", "Exploded"};
    bool more = false;
    for (unsigned bit = 0; bit < sizeof(words) / sizeof(words[0]); bit++)
        if (options & 1u << bit) {
            swift_write_words(out, more ? " and " : "");
            swift_write_words(out, words[bit]);
            more = true;
        }
}

/* The name of a symbol, as it reads when it can be demangled. */
static void print_payload(struct swift_printer *out, const struct swift_node *payload)
{
    if (payload != NULL && !swift_print_name(out, payload->text, payload->length))
        swift_write_text(out, payload);
}

static void print_constant(struct swift_printer *out, const struct swift_node *node)
{
    static const char *const words[] = {
        "",
        "Constant Propagated Function",
        "Constant Propagated Global",
        "Constant Propagated Integer",
        "Constant Propagated Float",
        "Constant Propagated String",
        "Constant Propagated KeyPath",
        "Constant Propagated Struct",
        "Closure Propagated",
        "Escaping Closure Propagated",
        "Same As Argument",
        "Value Promoted from Box",
        "Stack Promoted from Box",
        "InOut Converted to Out",
    };
    if (node->number == SW_SPEC_OPTIONS) {
        print_options(out, node->flags);
        return;
    }
    bool bracket = node->number < SW_SPEC_BOX_TO_VALUE;
    swift_write_words(out, bracket ? "[" : "");
    swift_write_words(out, words[node->number]);
    if (!bracket)
        return;
    swift_write_words(out, node->number == SW_SPEC_SAME_AS ? " " : " : ");
    switch (node->number) {
    case SW_SPEC_STRING:
        swift_print(out, swift_kid(node, 0));
        swift_write_words(out, "'");
        print_payload(out, swift_kid(node, 1));
        swift_write_words(out, "'");
        break;
    case SW_SPEC_KEY_PATH:
        print_payload(out, swift_kid(node, 0));
        swift_write_words(out, "<");
        swift_print(out, swift_kid(node, 1));
        swift_write_words(out, ",");
        swift_print(out, swift_kid(node, 2));
        swift_write_words(out, ">");
        break;
    case SW_SPEC_CLOSURE:
    case SW_SPEC_ESCAPING_CLOSURE:
        print_payload(out, swift_kid(node, 0));
        swift_write_words(out, ", Argument Types : [");
        for (uint32_t i = 1; i < node->count; i++) /* nothing between: so does the reference */
            swift_print(out, node->kids[i]);
        break;
    case SW_SPEC_FUNCTION:
    case SW_SPEC_GLOBAL: print_payload(out, swift_kid(node, 0)); break;
    default: swift_print(out, swift_kid(node, 0)); break;
    }
    swift_write_words(out, "]");
}

static void print_param(struct swift_printer *out, const struct swift_node *param)
{
    for (uint32_t i = 0; i < param->count; i++) {
        swift_write_words(out, i == 0 ? "" : i == 1 ? " with " : " and ");
        swift_print(out, param->kids[i]);
    }
}

void swift_print_specialization(struct swift_printer *out, const struct swift_node *node)
{
    if (out->simplified) {
        swift_write_words(out, out->specialized ? "" : "specialized ");
        out->specialized = true;
        return;
    }
    swift_write_text(out, node);
    swift_write_words(out, " <");
    const char *between = "";
    if (node->flags & SW_SPEC_SERIALIZED) {
        swift_write_words(out, "serialized");
        between = ", ";
    }
    for (uint32_t i = 0; i < node->count && !out->cut; i++) {
        const struct swift_node *kid = node->kids[i];
        if (kid->count == 0)
            continue;
        swift_write_words(out, between);
        between = ", ";
        swift_write_words(out, node->flags & SW_SPEC_PARTIAL ? "Signature = " : "");
        if (kid->kind == SW_SPEC_ARGUMENT) {
            swift_write_words(out, "Arg[");
            swift_write_number(out, i);
            swift_write_words(out, "] = ");
        } else if (kid->kind == SW_SPEC_RETURN) {
            swift_write_words(out, "Return = ");
        }
        swift_print(out, kid);
    }
    swift_write_words(out, "> of ");
}

/* ---- others ---- */

static void print_partial_apply(struct swift_printer *out, const struct swift_node *node)
{
    const char *full = node->index ? "partial apply ObjC forwarder" : "partial apply forwarder";
    swift_write_words(out, out->simplified ? "partial apply" : full);
    swift_write_words(out, node->count != 0 ? " for " : "");
    swift_print_joined(out, node, "");
}

static void print_suffix(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, " with unmangled suffix \"");
    for (uint32_t i = 0; i < node->length && !out->cut; i++) {
        char c = node->text[i];
        static const char hex[] = "0123456789ABCDEF";
        char escape[4] = {'\\', c, 0, 0};
        if (c == '"' || c == '\\') {
            swift_write(out, escape, 2);
        } else if ((unsigned char)c < 0x20 || c == 0x7f) {
            char code = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : 'x';
            escape[1] = code;
            escape[2] = hex[(unsigned char)c >> 4];
            escape[3] = hex[c & 15];
            swift_write(out, escape, code == 'x' ? 4 : 2);
        } else {
            swift_write(out, &c, 1);
        }
    }
    swift_write_words(out, "\"");
}

static void print_key_path(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "key path ");
    swift_write_text(out, node);
    swift_print(out, node->kids[0]);
    swift_write_words(out, " : ");
    for (uint32_t i = 1; i < node->count; i++)
        swift_print(out, node->kids[i]);
    swift_write_words(out, node->flags ? ", serialized" : "");
}

static void print_key_path_index(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "key path index ");
    swift_print(out, node->kids[1]);
    swift_write_words(out, " operator for ");
    swift_print(out, swift_kid(node, 2));
    swift_write_words(out, "(");
    swift_print(out, node->kids[0]);
    swift_write_words(out, ")");
}

static void print_completion_handler(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_text(out, node);
    swift_write_words(out, "@objc completion handler block implementation for ");
    swift_print(out, swift_kid(node, 3));
    swift_print(out, node->kids[0]);
    swift_write_words(out, " with result type ");
    swift_print(out, node->kids[1]);
    uint64_t flag = node->kids[2]->index;
    swift_write_words(out, flag == 0   ? ""
                           : flag == 1 ? " nonzero on error"
                           : flag == 2 ? " zero on error"
                                       : " <invalid error flag>");
}

static void print_concrete(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "concrete protocol conformance ");
    swift_print(out, node->kids[0]);
    swift_write_words(out, " to ");
    swift_print(out, node->kids[1]);
    if (node->kids[2]->count != 0) {
        swift_write_words(out, " with conditional requirements: ");
        swift_print(out, node->kids[2]);
    }
}

static void print_dependent(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "dependent ");
    swift_write_text(out, node);
    swift_write_words(out, " protocol conformance ");
    if (node->count > 2) {
        swift_write_words(out, "#");
        swift_print(out, node->kids[2]);
        swift_write_words(out, " ");
    }
    swift_print(out, node->kids[0]);
    swift_write_words(out, " to ");
    swift_print(out, node->kids[1]);
}

static void print_list(struct swift_printer *out, const struct swift_node *node, bool always)
{
    swift_write_words(out, always ? "(" : "");
    swift_print_joined(out, node, ", ");
    swift_write_words(out, always ? ")" : "");
}

static void print_shape(struct swift_printer *out, const struct swift_node *node)
{
    bool clauses = out->clauses;
    out->clauses = true;
    swift_write_words(out, "existential shape for ");
    if (node->count > 1) {
        swift_print(out, node->kids[1]);
        swift_write_words(out, " ");
    }
    swift_write_words(out, "any ");
    swift_print(out, node->kids[0]);
    out->clauses = clauses;
}

/* ---- derivatives: the children are described in swift_parse_diff.c ---- */

static void print_subset(struct swift_printer *out, const struct swift_node *node)
{
    bool more = false;
    swift_write_words(out, "{");
    for (uint32_t i = 0; i < node->length && !out->cut; i++)
        if (node->text[i] == 'S') {
            swift_write_words(out, more ? ", " : "");
            swift_write_number(out, i);
            more = true;
        }
    swift_write_words(out, "}");
}

static void print_with_respect_to(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, " with respect to parameters ");
    swift_print(out, node->kids[2]);
    swift_write_words(out, " and results ");
    swift_print(out, node->kids[3]);
}

static void print_derivative(struct swift_printer *out, const struct swift_node *node)
{
    bool witness = node->kind == SW_DIFF_WITNESS;
    swift_write_words(out, node->kind == SW_DIFF_VTABLE_THUNK ? "vtable thunk for " : "");
    swift_print(out, node->kids[0]);
    swift_write_words(out, witness ? " differentiability witness for " : " of ");
    swift_print(out, node->kids[1]);
    if (out->simplified && !witness)
        return;
    print_with_respect_to(out, node);
    if (node->count > 4 && (witness || out->clauses)) {
        swift_write_words(out, " with ");
        swift_print(out, node->kids[4]);
    }
}

static void print_subset_thunk(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "autodiff subset parameters thunk for ");
    swift_print(out, node->kids[0]);
    swift_write_words(out, " from ");
    swift_print(out, node->kids[1]);
    if (out->simplified)
        return;
    print_with_respect_to(out, node);
    swift_write_words(out, " to parameters ");
    swift_print(out, node->kids[4]);
    if (node->count > 5) {
        swift_write_words(out, " of type ");
        swift_print(out, node->kids[5]);
    }
}

static void print_reordering_thunk(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "autodiff self-reordering reabstraction thunk for ");
    if (out->simplified) {
        swift_print(out, node->kids[0]);
        return;
    }
    swift_print(out, node->kids[2]);
    if (node->count > 3) {
        swift_print(out, node->kids[3]);
        swift_write_words(out, " ");
    }
    swift_write_words(out, " from ");
    swift_print(out, node->kids[0]);
    swift_write_words(out, " to ");
    swift_print(out, node->kids[1]);
}

bool swift_print_symbol(struct swift_printer *out, const struct swift_node *node)
{
    switch (node->kind) {
    case SW_SUFFIX: print_suffix(out, node); return true;
    case SW_TYPE_MANGLING:
        if (node->count > 1 && node->kids[0]->kind == SW_FUNCTION_TYPE)
            swift_print_function(out, node->kids[0], node->kids[1]);
        else
            swift_print(out, node->kids[0]);
        return true;
    case SW_PARTIAL_APPLY: print_partial_apply(out, node); return true;
    case SW_RESUME:
        swift_write_words(out, "(");
        swift_print(out, node->kids[0]);
        swift_write_words(out, ") ");
        swift_print(out, node->kids[1]);
        swift_write_words(out, " resume partial function for ");
        return true;
    case SW_KEY_PATH: print_key_path(out, node); return true;
    case SW_KEY_PATH_INDEX: print_key_path_index(out, node); return true;
    case SW_COMPLETION_HANDLER: print_completion_handler(out, node); return true;
    case SW_CONCRETE: print_concrete(out, node); return true;
    case SW_DEPENDENT: print_dependent(out, node); return true;
    case SW_CONFORMANCES: print_list(out, node, node->count != 0); return true;
    case SW_ONCE_NAMES: print_list(out, node, node->count != 1); return true;
    case SW_EXISTENTIAL_SHAPE: print_shape(out, node); return true;
    case SW_INDEX_SUBSET: print_subset(out, node); return true;
    case SW_DIFF_FUNCTION:
    case SW_DIFF_VTABLE_THUNK:
    case SW_DIFF_WITNESS: print_derivative(out, node); return true;
    case SW_DIFF_SUBSET_THUNK: print_subset_thunk(out, node); return true;
    case SW_DIFF_REORDERING_THUNK: print_reordering_thunk(out, node); return true;
    case SW_SPEC_ARGUMENT:
    case SW_SPEC_RETURN: swift_print_joined(out, node, ""); return true;
    case SW_SPEC_PARAM: print_param(out, node); return true;
    case SW_SPEC_CONSTANT: print_constant(out, node); return true;
    case SW_PAYLOAD: print_payload(out, node); return true;
    default: return false;
    }
}
