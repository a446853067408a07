/* Writing types: function, tuple, generic, existential, and as the compiler lowers them. */
#include "demangle/swift_print.h"

#include <string.h>

bool swift_needs_space(const struct swift_node *type)
{
    if (swift_kind_is(type, SW_FUNCTION_TYPE)) {
        unsigned representation = type->index & SW_FN_REPRESENTATION;
        return representation != SW_FN_PLAIN && representation != SW_FN_NOESCAPE &&
               representation != SW_FN_UNCURRIED;
    }
    return !swift_kind_is(type, SW_GENERIC_TYPE);
}

/* ---- functions ---- */

static void print_parameters(struct swift_printer *out, const struct swift_node *params,
                             const struct swift_node *labels)
{
    if (params->kind != SW_TUPLE) {
        if (out->simplified) {
            swift_write_words(out, "(_:)");
            return;
        }
        swift_write_words(out, "(");
        swift_print(out, params);
        swift_write_words(out, ")");
        return;
    }
    bool labelled = labels != NULL && labels->count != 0;
    swift_write_words(out, "(");
    for (uint32_t i = 0; i < params->count && !out->cut && !out->failed; i++) {
        const struct swift_node *param = params->kids[i], *label = swift_kid(labels, i);
        if (i != 0 && !out->simplified)
            swift_write_words(out, ", ");
        if (labelled && swift_kind_is(label, SW_IDENTIFIER))
            swift_write_text(out, label);
        else if (labelled || (out->simplified && param->length == 0))
            swift_write_words(out, "_");
        else if (out->simplified)
            swift_write_text(out, param);
        if (labelled || out->simplified)
            swift_write_words(out, ":");
        if (labelled && !out->simplified)
            swift_write_words(out, " ");
        if (!out->simplified)
            swift_print(out, param);
    }
    swift_write_words(out, ")");
}

static void print_clang_convention(struct swift_printer *out, const char *name,
                                   const struct swift_node *clang)
{
    swift_write_words(out, "@convention(");
    swift_write_words(out, name);
    if (clang != NULL) {
        swift_write_words(out, ", mangledCType: \"");
        swift_write_text(out, clang);
        swift_write_words(out, "\"");
    }
    swift_write_words(out, ") ");
}

static void print_representation(struct swift_printer *out, const struct swift_node *type)
{
    const struct swift_node *clang = type->kids[SW_FN_CLANG];
    switch (type->index & SW_FN_REPRESENTATION) {
    case SW_FN_AUTOCLOSURE:
    case SW_FN_ESCAPING_AUTOCLOSURE: swift_write_words(out, "@autoclosure "); break;
    case SW_FN_THIN: swift_write_words(out, "@convention(thin) "); break;
    case SW_FN_C: print_clang_convention(out, "c", clang); break;
    case SW_FN_ESCAPING_BLOCK:
        swift_write_words(out, "@escaping ");
        print_clang_convention(out, "block", clang);
        break;
    case SW_FN_BLOCK: print_clang_convention(out, "block", clang); break;
    default: break;
    }
}

static void print_differentiable(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, node->index == 'f'   ? "@differentiable(_forward) "
                           : node->index == 'r' ? "@differentiable(reverse) "
                           : node->index == 'l' ? "@differentiable(_linear) "
                                                : "@differentiable ");
}

void swift_print_function(struct swift_printer *out, const struct swift_node *type,
                          const struct swift_node *labels)
{
    struct swift_node *const *slot = type->kids;
    const struct swift_node *isolation = slot[SW_FN_ISOLATION];
    bool caller = swift_kind_is(isolation, SW_NONISOLATED_CALLER);
    print_representation(out, type);
    if (!caller)
        swift_print(out, isolation);
    if (slot[SW_FN_DIFFERENTIABLE] != NULL)
        print_differentiable(out, slot[SW_FN_DIFFERENTIABLE]);
    if (caller)
        swift_print(out, isolation);
    if (type->index & SW_FN_SENDABLE)
        swift_write_words(out, "@Sendable ");
    print_parameters(out, slot[SW_FN_PARAMS], labels);
    if (out->simplified)
        return;
    if (type->index & SW_FN_ASYNC)
        swift_write_words(out, " async");
    swift_print(out, slot[SW_FN_THROWN]);
    swift_write_words(out, type->index & SW_FN_SENDING ? " -> sending " : " -> ");
    swift_print(out, slot[SW_FN_RESULT]);
}

/* ---- lowered functions: the children are described in swift_parse_impl.c ---- */

static void print_impl_value(struct swift_printer *out, const struct swift_node *value)
{
    swift_write_text(out, value);
    for (unsigned i = 0; i < 4; i++) {
        if (value->kids[i] == NULL)
            continue;
        swift_print(out, value->kids[i]);
        if (i != 3)
            swift_write_words(out, " ");
    }
}

static void print_impl_function(struct swift_printer *out, const struct swift_node *node)
{
    struct swift_node *const *kids = node->kids;
    for (uint32_t i = 0; i < kids[0]->count; i++) {
        swift_print(out, kids[0]->kids[i]);
        swift_write_words(out, " ");
    }
    if (kids[1] != NULL) {
        swift_write_words(out, "@substituted ");
        swift_print(out, kids[1]);
        swift_write_words(out, " ");
    }
    swift_write_words(out, "(");
    swift_print_joined(out, kids[2], ", ");
    swift_write_words(out, node->flags ? ") -> sending (" : ") -> (");
    swift_print_joined(out, kids[3], ", ");
    swift_write_words(out, ")");
    for (unsigned i = 4; i < 6; i++)
        if (kids[i] != NULL) {
            swift_write_words(out, " for <");
            swift_print(out, kids[i]); /* nothing between them: so does the reference */
            swift_write_words(out, ">");
        }
}

/* ---- generics ---- */

static void print_param_name(struct swift_printer *out, uint64_t depth, uint64_t index)
{
    do {
        char letter = (char)('A' + index % 26);
        swift_write(out, &letter, 1);
    } while ((index /= 26) != 0);
    if (depth != 0)
        swift_write_number(out, depth);
}

enum { MAX_PARAMS = 128 /* of one depth, before "..." */ };

static void print_params(struct swift_printer *out, const struct swift_node *signature,
                         uint32_t depth, uint32_t first, uint32_t last)
{
    uint64_t count = signature->kids[depth]->index;
    for (uint64_t index = 0; index < count && !out->cut; index++) {
        if (index != 0)
            swift_write_words(out, ", ");
        if (index == MAX_PARAMS) {
            swift_write_words(out, "...");
            return;
        }
        const struct swift_node *value = NULL;
        if (last - first > out->steps) {
            out->failed = true;
            return;
        }
        out->steps -= last - first;
        for (uint32_t i = first; i < last; i++) {
            const struct swift_node *marker = signature->kids[i];
            if (marker->kids[0]->index != ((uint64_t)depth << 32 | index))
                continue;
            swift_write_words(out, marker->kind == SW_PACK_MARKER ? "each " : "let ");
            value = swift_kid(marker, 1);
        }
        print_param_name(out, depth, index);
        if (value != NULL) {
            swift_write_words(out, ": ");
            swift_print(out, value);
        }
    }
}

static void print_signature(struct swift_printer *out, const struct swift_node *node)
{
    uint32_t depths = 0, markers, i;
    while (swift_kind_is(swift_kid(node, depths), SW_COUNT))
        depths++;
    for (markers = depths; markers < node->count; markers++)
        if (node->kids[markers]->kind != SW_PACK_MARKER &&
            node->kids[markers]->kind != SW_VALUE_MARKER)
            break;
    swift_write_words(out, "<");
    for (i = 0; i < depths && !out->cut; i++) {
        if (i != 0)
            swift_write_words(out, "><");
        print_params(out, node, i, depths, markers);
    }
    for (i = markers; out->clauses && i < node->count && !out->cut; i++) {
        swift_write_words(out, i == markers ? " where " : ", ");
        swift_print(out, node->kids[i]);
    }
    swift_write_words(out, ">");
}

static bool in_swift(const struct swift_node *nominal, const char *name)
{
    const struct swift_node *module = swift_kid(nominal, SW_IN);
    const struct swift_node *named = swift_kid(nominal, SW_NAMED);
    return swift_kind_is(module, SW_MODULE) && swift_text_is(module, "Swift") &&
           swift_kind_is(named, SW_IDENTIFIER) && swift_text_is(named, name);
}

/* ---- parentheses and sugar ---- */

static bool is_simple(const struct swift_node *type)
{
    if (type->kind == SW_PROTOCOLS)
        return type->count <= 1;
    if (type->kind == SW_PROTOCOLS_ANYOBJECT)
        return type->kids[0]->count == 0;
    return swift_is(type, SW_IS_SIMPLE);
}

static void print_in_parentheses(struct swift_printer *out, const struct swift_node *type)
{
    bool simple = is_simple(type);
    swift_write_words(out, simple ? "" : "(");
    swift_print(out, type);
    swift_write_words(out, simple ? "" : ")");
}

static void print_bound_generic(struct swift_printer *out, const struct swift_node *node)
{
    const struct swift_node *nominal = node->kids[0], *arguments = node->kids[1];
    uint32_t count = arguments->count;
    if (nominal->kind == SW_PROTOCOL) {
        swift_print_joined(out, arguments, "");
        swift_write_words(out, " as ");
        swift_print(out, nominal);
    } else if (nominal->kind == SW_ENUM && count == 1 &&
               (in_swift(nominal, "Optional") ||
                in_swift(nominal, "ImplicitlyUnwrappedOptional"))) {
        print_in_parentheses(out, arguments->kids[0]);
        swift_write_words(out, in_swift(nominal, "Optional") ? "?" : "!");
    } else if (nominal->kind == SW_STRUCT && count == 1 && in_swift(nominal, "Array")) {
        swift_write_words(out, "[");
        swift_print(out, arguments->kids[0]);
        swift_write_words(out, "]");
    } else if (nominal->kind == SW_STRUCT && count == 2 && in_swift(nominal, "Dictionary")) {
        swift_write_words(out, "[");
        swift_print_joined(out, arguments, " : ");
        swift_write_words(out, "]");
    } else {
        swift_print(out, nominal);
        swift_write_words(out, "<");
        swift_print_joined(out, arguments, ", ");
        swift_write_words(out, ">");
    }
}

/* ---- existentials, boxes, requirements ---- */

static void print_protocols(struct swift_printer *out, const struct swift_node *node)
{
    if (node->kind == SW_PROTOCOLS) {
        if (node->count == 0)
            swift_write_words(out, "Any");
        swift_print_joined(out, node, " & ");
        return;
    }
    const struct swift_node *list = node->kids[0];
    if (node->kind == SW_PROTOCOLS_CLASS) {
        swift_print(out, node->kids[1]);
        swift_write_words(out, " & ");
        swift_print_joined(out, list, " & ");
        return;
    }
    swift_print_joined(out, list, " & ");
    swift_write_words(out, list->count != 0 ? " & " : "");
    swift_write_words(out, "Swift.AnyObject");
}

static void print_metatype(struct swift_printer *out, const struct swift_node *node)
{
    const struct swift_node *type = node->kids[0];
    if (node->count == 2) {
        swift_print(out, node->kids[1]);
        swift_write_words(out, " ");
    }
    if (node->kind == SW_EXISTENTIAL_METATYPE) {
        swift_print(out, type);
        swift_write_words(out, ".Type");
        return;
    }
    print_in_parentheses(out, type);
    swift_write_words(out, swift_is(type, SW_IS_PROTOCOLS) ? ".Protocol" : ".Type");
}

static void print_layout_box(struct swift_printer *out, const struct swift_node *node)
{
    if (node->kids[1] != NULL) {
        swift_print(out, node->kids[1]);
        swift_write_words(out, " ");
    }
    swift_write_words(out, node->kids[0]->count != 0 ? "{ " : "{");
    swift_print_joined(out, node->kids[0], ", ");
    swift_write_words(out, " }");
    if (node->kids[2] != NULL) {
        swift_write_words(out, " <");
        swift_print_joined(out, node->kids[2], ", ");
        swift_write_words(out, ">");
    }
}

static void print_inverse(struct swift_printer *out, const struct swift_node *node)
{
    static const char *const protocols[] = {"Copyable", "Escapable"};
    uint64_t bit = node->kids[1]->index;
    swift_print(out, node->kids[0]);
    swift_write_words(out, ": ~Swift.");
    if (bit < 2) {
        swift_write_words(out, protocols[bit]);
        return;
    }
    swift_write_words(out, "<bit ");
    swift_write_number(out, bit);
    swift_write_words(out, ">");
}

static void print_layout(struct swift_printer *out, const struct swift_node *node)
{
    static const struct {
        char letter;
        const char *name;
    } layouts[] = {
        {'U', "_UnknownLayout"}, {'R', "_RefCountedObject"}, {'N', "_NativeRefCountedObject"},
        {'C', "AnyObject"},      {'D', "_NativeClass"},      {'T', "_Trivial"},
        {'E', "_Trivial"},       {'e', "_Trivial"},          {'M', "_TrivialAtMost"},
        {'m', "_TrivialAtMost"}, {'B', "_BridgeObject"},     {'S', "_TrivialStride"},
    };
    swift_print(out, node->kids[0]);
    swift_write_words(out, ": ");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if ((uint64_t)layouts[i].letter == node->index)
            swift_write_words(out, layouts[i].name);
    for (uint32_t i = 1; i < node->count; i++) {
        swift_write_words(out, i == 1 ? "(" : ", ");
        swift_print(out, node->kids[i]);
    }
    swift_write_words(out, node->count > 1 ? ")" : "");
}

static void print_element(struct swift_printer *out, const struct swift_node *node)
{
    if (node->length != 0) {
        swift_write_text(out, node);
        swift_write_words(out, ": ");
    }
    swift_print(out, node->kids[0]);
    swift_write_words(out, node->flags ? "..." : "");
}

static void print_enclosed(struct swift_printer *out, const struct swift_node *node)
{
    bool pack = node->kind == SW_PACK;
    if (pack)
        swift_write_text(out, node);
    swift_write_words(out, pack ? "Pack{" : "(");
    swift_print_joined(out, node, ", ");
    swift_write_words(out, pack ? "}" : ")");
}

static void print_generic_type(struct swift_printer *out, const struct swift_node *node)
{
    swift_print(out, node->kids[0]);
    if (swift_needs_space(node->kids[1]))
        swift_write_words(out, " ");
    swift_print(out, node->kids[1]);
}

static void print_pack_element(struct swift_printer *out, const struct swift_node *node)
{
    swift_write_words(out, "/* level: ");
    swift_print(out, node->kids[1]);
    swift_write_words(out, " */ each ");
    swift_print(out, node->kids[0]);
}

static void print_assoc_name(struct swift_printer *out, const struct swift_node *node)
{
    if (node->count > 1) {
        swift_print(out, node->kids[1]);
        swift_write_words(out, ".");
    }
    swift_print(out, node->kids[0]);
}

bool swift_print_type(struct swift_printer *out, const struct swift_node *node)
{
    switch (node->kind) {
    case SW_DIFFERENTIABLE: print_differentiable(out, node); return true;
    case SW_FUNCTION_TYPE: swift_print_function(out, node, NULL); return true;
    case SW_IMPL_FUNCTION: print_impl_function(out, node); return true;
    case SW_IMPL_VALUE: print_impl_value(out, node); return true;
    case SW_TUPLE:
    case SW_PACK: print_enclosed(out, node); return true;
    case SW_ELEMENT: print_element(out, node); return true;
    case SW_PACK_ELEMENT: print_pack_element(out, node); return true;
    case SW_BOUND_GENERIC: print_bound_generic(out, node); return true;
    case SW_PARAM: print_param_name(out, node->index >> 32, node->index & UINT32_MAX); return true;
    case SW_ASSOC_NAME: print_assoc_name(out, node); return true;
    case SW_ASSOC_PATH: swift_print_joined(out, node, "."); return true;
    case SW_COMMA_LIST: swift_print_joined(out, node, ", "); return true;
    case SW_GENERIC_TYPE: print_generic_type(out, node); return true;
    case SW_SIGNATURE: print_signature(out, node); return true;
    case SW_METATYPE:
    case SW_EXISTENTIAL_METATYPE: print_metatype(out, node); return true;
    case SW_PROTOCOLS:
    case SW_PROTOCOLS_CLASS:
    case SW_PROTOCOLS_ANYOBJECT: print_protocols(out, node); return true;
    case SW_LAYOUT_BOX: print_layout_box(out, node); return true;
    case SW_SUGARED_OPTIONAL:
        print_in_parentheses(out, node->kids[0]);
        swift_write_words(out, "?");
        return true;
    case SW_REQ_INVERSE: print_inverse(out, node); return true;
    case SW_REQ_LAYOUT: print_layout(out, node); return true;
    default: return false;
    }
}
