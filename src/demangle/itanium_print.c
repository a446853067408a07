/*
 * Spelling of C++ names. Types print in two halves, around what is declared: int (*NAME)(char).
 *
 * The graph shares nodes, so printing can take exponentially long even where it writes little (an
 * expansion of nothing, of nothing, ...): steps are counted, depth is limited, and a text that is
 * full ends it.
 */
#include "demangle/itanium_print.h"

static void left(struct printer *p, const struct node *node);
static void right(struct printer *p, const struct node *node);

void print_both(struct printer *p, const struct node *node)
{
    left(p, node);
    right(p, node);
}

static bool enter(struct printer *p)
{
    if (p->failed || p->text->full)
        return false;
    if (p->depth >= PRINT_DEPTH || ++p->steps > PRINT_STEPS) {
        p->failed = true;
        return false;
    }
    p->depth++;
    return true;
}

void print_operand(struct printer *p, const struct node *node, enum precedence precedence,
                   bool strictly_worse)
{
    bool wrap = node->precedence >= (unsigned)precedence + strictly_worse;
    if (wrap)
        print_open(p, '(');
    print_both(p, node);
    if (wrap)
        print_close(p, ')');
}

void print_commas(struct printer *p, const struct list *list)
{
    bool first = true;
    for (uint32_t i = 0; i < list->count && !p->failed; i++) {
        size_t before = p->text->used;
        if (!first)
            print_string(p, ", ");
        size_t start = p->text->used;
        print_operand(p, list->items[i], PREC_COMMA, false);
        if (p->text->used == start && !p->text->full)
            p->text->used = before;
        else
            first = false;
    }
}

/* The item of a pack that the expansion around shows; the first outside of one. */
static const struct node *pack_item(struct printer *p, const struct node *pack)
{
    if (p->pack_size == PRINT_NO_PACK) {
        p->pack_size = pack->list.count;
        p->pack_place = 0;
    }
    return p->pack_place < pack->list.count ? pack->list.items[p->pack_place] : NULL;
}

/* What a chain of qualifiers, packs and forward references leads to. */
static const struct node *underlying(struct printer *p, const struct node *node)
{
    for (unsigned steps = 0; node && steps < PRINT_DEPTH; steps++) {
        if (++p->steps > PRINT_STEPS)
            p->failed = true;
        if (node->kind == NODE_QUALIFIED || node->kind == NODE_VENDOR)
            node = node->a;
        else if (node->kind == NODE_FORWARD && node->a)
            node = node->a;
        else if (node->kind == NODE_PACK)
            node = pack_item(p, node);
        else
            return node;
    }
    return NULL;
}

static bool is_declarator(struct printer *p, const struct node *node, bool *array)
{
    node = underlying(p, node);
    *array = node && node->kind == NODE_ARRAY;
    return *array || (node && node->kind == NODE_FUNCTION);
}

/* Whether something of the type stands behind the name. */
static bool has_right(struct printer *p, const struct node *node)
{
    for (unsigned steps = 0; node && steps < PRINT_DEPTH && !p->failed; steps++) {
        node = underlying(p, node);
        if (!node)
            return false;
        switch (node->kind) {
        case NODE_POINTER:
        case NODE_REFERENCE: node = node->a; break;
        case NODE_MEMBER: node = node->b; break;
        default:
            return node->kind == NODE_ARRAY || node->kind == NODE_FUNCTION ||
                   node->kind == NODE_ENCODING;
        }
    }
    return false;
}

static void quals(struct printer *p, uint8_t which)
{
    if (which & QUAL_CONST)
        print_string(p, " const");
    if (which & QUAL_VOLATILE)
        print_string(p, " volatile");
    if (which & QUAL_RESTRICT)
        print_string(p, " restrict");
}

static void reference_quals(struct printer *p, uint8_t which)
{
    if (which & QUAL_LVALUE)
        print_string(p, " &");
    if (which & QUAL_RVALUE)
        print_string(p, " &&");
}

static void declarator_open(struct printer *p, const struct node *type)
{
    bool array;
    if (!is_declarator(p, type, &array))
        return;
    if (array)
        text_char(p->text, ' ');
    print_open(p, '(');
}

static void declarator_close(struct printer *p, const struct node *type)
{
    bool array;
    if (is_declarator(p, type, &array))
        print_close(p, ')');
}

static bool is_objc_object(const struct node *node)
{
    static const char name[] = "objc_object";
    return node->kind == NODE_OBJC && node->a->kind == NODE_TEXT &&
           node->a->length == sizeof name - 1 && memcmp(node->a->text, name, sizeof name - 1) == 0;
}

static void protocol(struct printer *p, const struct node *node)
{
    text_char(p->text, '<');
    print_text(p, node);
    text_char(p->text, '>');
}

/* A reference to a reference is one: && only where both are. */
static const struct node *collapse(struct printer *p, const struct node *node, bool *rvalue)
{
    *rvalue = node->number == 1;
    const struct node *inner = node->a;
    for (unsigned steps = 0; steps < PRINT_DEPTH; steps++) {
        const struct node *next = inner;
        while (next && (next->kind == NODE_FORWARD || next->kind == NODE_PACK)) {
            if (++p->steps > PRINT_STEPS)
                return NULL;
            next = next->kind == NODE_FORWARD ? next->a : pack_item(p, next);
        }
        if (!next || next->kind != NODE_REFERENCE)
            return inner;
        *rvalue = *rvalue && next->number == 1;
        inner = next->a;
    }
    return NULL;
}

static void arguments(struct printer *p, const struct node *node)
{
    if (p->style == DEMANGLE_SIMPLIFIED)
        return;
    unsigned parentheses = p->parentheses;
    p->parentheses = 0;
    text_char(p->text, '<');
    print_commas(p, &node->list);
    text_char(p->text, '>');
    p->parentheses = parentheses;
}

void print_lambda_declarator(struct printer *p, const struct node *node)
{
    if (node->a) {
        unsigned parentheses = p->parentheses;
        p->parentheses = 0;
        text_char(p->text, '<');
        print_commas(p, &node->a->list);
        text_char(p->text, '>');
        p->parentheses = parentheses;
    }
    if (node->b) {
        print_string(p, " requires ");
        print_both(p, node->b);
        text_char(p->text, ' ');
    }
    print_open(p, '(');
    print_commas(p, &node->list);
    print_close(p, ')');
    if (node->c) {
        print_string(p, " requires ");
        print_both(p, node->c);
    }
}

static void encoding(struct printer *p, const struct node *node)
{
    bool signature =
        p->style == DEMANGLE_FULL || (p->style == DEMANGLE_NO_PARAMETERS && p->depth > 1);
    if (signature && node->a) {
        left(p, node->a);
        if (!has_right(p, node->a))
            text_char(p->text, ' ');
    }
    print_both(p, node->b);
}

static void encoding_right(struct printer *p, const struct node *node)
{
    if (p->style == DEMANGLE_SIMPLIFIED || (p->style == DEMANGLE_NO_PARAMETERS && p->depth <= 1))
        return;
    print_open(p, '(');
    print_commas(p, &node->list);
    print_close(p, ')');
    if (node->a)
        right(p, node->a);
    quals(p, node->quals);
    reference_quals(p, node->quals);
    if (node->c)
        print_both(p, node->c);
}

void print_expansion(struct printer *p, const struct node *node)
{
    uint32_t place = p->pack_place, size = p->pack_size;
    p->pack_size = PRINT_NO_PACK;
    size_t start = p->text->used;
    print_both(p, node->a);
    if (p->pack_size == PRINT_NO_PACK) {
        print_string(p, "...");
    } else if (p->pack_size == 0) {
        if (!p->text->full)
            p->text->used = start;
    } else {
        for (uint32_t i = 1; i < p->pack_size && !p->failed && !p->text->full; i++) {
            print_string(p, ", ");
            p->pack_place = i;
            print_both(p, node->a);
        }
    }
    p->pack_place = place;
    p->pack_size = size;
}

void print_in_parentheses(struct printer *p, const struct node *node)
{
    print_open(p, '(');
    print_both(p, node);
    print_close(p, ')');
}

static void closure(struct printer *p, const struct node *node)
{
    print_string(p, node->kind == NODE_LAMBDA ? "'lambda" : "'unnamed");
    print_text(p, node);
    text_char(p->text, '\'');
}

/* Kinds of names. False: another kind. */
static bool name(struct printer *p, const struct node *node)
{
    bool simplified = p->style == DEMANGLE_SIMPLIFIED;
    switch (node->kind) {
    case NODE_STANDARD: print_text(p, node); return true;
    case NODE_NESTED:
    case NODE_LOCAL:
        print_both(p, node->a);
        print_string(p, "::");
        print_both(p, node->b);
        return true;
    case NODE_FRIEND:
        print_both(p, node->a);
        print_string(p, "::friend ");
        print_both(p, node->b);
        return true;
    case NODE_GLOBAL:
        print_string(p, "::");
        print_both(p, node->a);
        return true;
    case NODE_TEMPLATE:
        print_both(p, node->a);
        print_both(p, node->b);
        return true;
    case NODE_ARGUMENTS: arguments(p, node); return true;
    case NODE_STRUCTOR:
        if (node->number)
            text_char(p->text, '~');
        if (node->a->kind == NODE_LAMBDA)
            closure(p, node->a);
        else
            print_both(p, node->a);
        return true;
    case NODE_TAGGED:
        print_both(p, node->a);
        if (!simplified) {
            print_string(p, "[abi:");
            print_text(p, node);
            text_char(p->text, ']');
        }
        return true;
    case NODE_MODULE:
        if (node->a)
            print_both(p, node->a);
        if (node->number) {
            if (node->a || node->number == ':')
                text_char(p->text, (char)node->number);
            print_text(p, node);
        } else {
            text_char(p->text, '@');
            print_both(p, node->b);
        }
        return true;
    case NODE_BINDINGS:
        print_open(p, '[');
        print_commas(p, &node->list);
        print_close(p, ']');
        return true;
    case NODE_LAMBDA:
    case NODE_UNNAMED:
        closure(p, node);
        if (node->kind == NODE_LAMBDA && !simplified)
            print_lambda_declarator(p, node);
        return true;
    case NODE_CONVERSION:
        print_string(p, "operator ");
        print_both(p, node->a);
        return true;
    default: return false;
    }
}

/* Names with something around them. */
static bool compound(struct printer *p, const struct node *node)
{
    switch (node->kind) {
    case NODE_PREFIXED:
        print_text(p, node);
        p->depth -= node->a->kind == NODE_ENCODING; /* thunk to FUNCTION: the outermost is meant */
        print_both(p, node->a);
        p->depth += node->a->kind == NODE_ENCODING;
        return true;
    case NODE_BETWEEN:
        print_text(p, node);
        print_both(p, node->a);
        print_string(p, "-in-");
        print_both(p, node->b);
        return true;
    case NODE_ENCODING: encoding(p, node); return true;
    case NODE_ENABLE_IF:
        print_string(p, " [enable_if:");
        print_commas(p, &node->list);
        text_char(p->text, ']');
        return true;
    case NODE_REQUIRES:
        if (node->a)
            print_both(p, node->a);
        print_string(p, " requires ");
        print_both(p, node->b);
        return true;
    case NODE_DECLARATION:
        if (node->a) {
            left(p, node->a);
            if (!has_right(p, node->a))
                text_char(p->text, ' ');
        } else {
            print_text(p, node);
        }
        return true;
    case NODE_DECLARATION_TEMPLATE:
        print_string(p, "template<");
        print_commas(p, &node->list);
        print_string(p, "> typename ");
        return true;
    case NODE_DECLARATION_PACK:
        left(p, node->a);
        print_string(p, "...");
        right(p, node->a);
        return true;
    default: return false;
    }
}

static bool type(struct printer *p, const struct node *node)
{
    bool rvalue, array;
    const struct node *inner;
    switch (node->kind) {
    case NODE_QUALIFIED:
        left(p, node->a);
        quals(p, node->quals);
        return true;
    case NODE_VENDOR:
        print_both(p, node->a);
        text_char(p->text, ' ');
        print_text(p, node);
        if (node->b)
            print_both(p, node->b);
        return true;
    case NODE_POINTER:
        if (is_objc_object(node->a)) {
            print_string(p, "id");
            protocol(p, node->a);
            return true;
        }
        left(p, node->a);
        declarator_open(p, node->a);
        print_string(p, "*");
        return true;
    case NODE_REFERENCE:
        inner = collapse(p, node, &rvalue);
        if (inner) {
            left(p, inner);
            declarator_open(p, inner);
            print_string(p, rvalue ? "&&" : "&");
        }
        return true;
    case NODE_MEMBER:
        left(p, node->b);
        if (is_declarator(p, node->b, &array))
            print_open(p, '(');
        else
            text_char(p->text, ' ');
        print_both(p, node->a);
        print_string(p, "::*");
        return true;
    case NODE_OBJC:
        print_both(p, node->a);
        protocol(p, node);
        return true;
    case NODE_POSTFIXED:
        print_both(p, node->a);
        print_text(p, node);
        return true;
    case NODE_FUNCTION:
        left(p, node->a);
        text_char(p->text, ' ');
        return true;
    case NODE_THROW:
        print_string(p, "throw");
        print_open(p, '(');
        print_commas(p, &node->list);
        print_close(p, ')');
        return true;
    case NODE_ARRAY: left(p, node->a); return true;
    case NODE_VECTOR:
        print_both(p, node->a);
        print_string(p, " vector[");
        if (node->b)
            print_both(p, node->b);
        text_char(p->text, ']');
        return true;
    case NODE_ENCLOSED:
        print_text(p, node);
        print_in_parentheses(p, node->a);
        return true;
    case NODE_LIST: print_commas(p, &node->list); return true;
    case NODE_PACK:
        inner = pack_item(p, node);
        if (inner)
            left(p, inner);
        return true;
    case NODE_EXPANSION: print_expansion(p, node); return true;
    case NODE_FORWARD:
        if (node->a)
            left(p, node->a);
        return true;
    default: return false;
    }
}

static void left(struct printer *p, const struct node *node)
{
    if (!enter(p))
        return;
    if (node->kind == NODE_TEXT)
        print_text(p, node);
    else if (!name(p, node) && !type(p, node) && !compound(p, node))
        print_expression(p, node);
    p->depth--;
}

static void function_right(struct printer *p, const struct node *node)
{
    print_open(p, '(');
    print_commas(p, &node->list);
    print_close(p, ')');
    right(p, node->a);
    quals(p, node->quals);
    reference_quals(p, node->quals);
    if (node->b) {
        text_char(p->text, ' ');
        print_both(p, node->b);
    }
}

static void array_right(struct printer *p, const struct node *node)
{
    if (text_last(p->text) != ']')
        text_char(p->text, ' ');
    print_open(p, '[');
    if (node->b)
        print_both(p, node->b);
    print_close(p, ']');
    right(p, node->a);
}

static void right(struct printer *p, const struct node *node)
{
    if (!enter(p))
        return;
    bool rvalue;
    const struct node *inner;
    switch (node->kind) {
    case NODE_QUALIFIED: right(p, node->a); break;
    case NODE_POINTER:
        if (!is_objc_object(node->a)) {
            declarator_close(p, node->a);
            right(p, node->a);
        }
        break;
    case NODE_REFERENCE:
        inner = collapse(p, node, &rvalue);
        if (inner) {
            declarator_close(p, inner);
            right(p, inner);
        }
        break;
    case NODE_MEMBER:
        declarator_close(p, node->b);
        right(p, node->b);
        break;
    case NODE_FUNCTION: function_right(p, node); break;
    case NODE_ARRAY: array_right(p, node); break;
    case NODE_ENCODING: encoding_right(p, node); break;
    case NODE_PACK:
        inner = pack_item(p, node);
        if (inner)
            right(p, inner);
        break;
    case NODE_FORWARD:
        if (node->a)
            right(p, node->a);
        break;
    case NODE_DECLARATION:
        print_both(p, node->b);
        if (node->a)
            right(p, node->a);
        break;
    case NODE_DECLARATION_TEMPLATE: print_both(p, node->b); break;
    }
    p->depth--;
}

bool itanium_print(const struct node *root, enum demangle_style style, struct text *text)
{
    struct printer p = {.text = text, .style = style, .parentheses = 1, .pack_size = PRINT_NO_PACK};
    print_both(&p, root);
    return !p.failed;
}
