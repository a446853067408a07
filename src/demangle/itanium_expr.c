/* Expressions in C++ names (Itanium C++ ABI 5.1.6). */
#include "demangle/itanium.h"

static struct node *with_precedence(struct node *node, enum precedence precedence)
{
    if (node)
        node->precedence = (uint8_t)precedence;
    return node;
}

static struct node *binary(struct itanium *d, const struct operation *op, enum node_kind kind)
{
    struct node *a = itanium_expression(d);
    struct node *b = a ? itanium_expression(d) : NULL;
    struct node *node = b ? itanium_string(d, kind, op->name, a) : NULL;
    if (node)
        node->b = b;
    return with_precedence(node, op->precedence);
}

static struct node *unary(struct itanium *d, const struct operation *op, enum node_kind kind,
                          enum precedence precedence)
{
    struct node *a = itanium_expression(d);
    /* "operator co_await" has a space before it, and none is wanted here. */
    const char *name = op->name + (op->name[0] == ' ');
    return with_precedence(a ? itanium_string(d, kind, name, a) : NULL, precedence);
}

static struct node *call(struct itanium *d)
{
    struct node *callee = itanium_expression(d);
    struct node *node = callee ? itanium_node(d, NODE_CALL, callee, NULL) : NULL;
    if (!node || !itanium_until_end(d, &node->list, itanium_expression))
        return NULL;
    return with_precedence(node, PREC_POSTFIX);
}

static struct node *conditional(struct itanium *d)
{
    struct node *a = itanium_expression(d);
    struct node *b = a ? itanium_expression(d) : NULL;
    struct node *c = b ? itanium_expression(d) : NULL;
    struct node *node = c ? itanium_node(d, NODE_CONDITIONAL, a, b) : NULL;
    if (node)
        node->c = c;
    return with_precedence(node, PREC_CONDITIONAL);
}

/* nw LIST _ TYPE (E | pi LIST E) */
static struct node *new_object(struct itanium *d, const struct operation *op, bool global)
{
    struct node *node = itanium_node(d, NODE_NEW, NULL, NULL);
    if (!node)
        return NULL;
    node->number = (op->code[1] == 'a') | (global ? 2u : 0);
    while (!take(d, '_')) {
        if (!itanium_push(d, &node->list, itanium_expression(d)))
            return NULL;
    }
    if (!(node->a = itanium_type(d)))
        return NULL;
    bool initialised = take_two(d, "pi");
    struct node *init = itanium_node(d, NODE_LIST, NULL, NULL);
    if (initialised) {
        if (!init || !itanium_until_end(d, &init->list, itanium_expression))
            return NULL;
        node->b = init;
        node->number |= 4;
    } else if (!take(d, 'E')) {
        return NULL;
    }
    return with_precedence(node, PREC_UNARY);
}

static struct node *delete_object(struct itanium *d, const struct operation *op, bool global)
{
    static const char *const words[] = {"delete ", "delete[] ", "::delete ", "::delete[] "};
    struct node *a = itanium_expression(d);
    if (!a)
        return NULL;
    const char *word = words[(op->code[1] == 'a') + (global ? 2 : 0)];
    return with_precedence(itanium_string(d, NODE_PREFIXED, word, a), PREC_UNARY);
}

static struct node *convert(struct itanium *d)
{
    bool no_arguments = d->no_arguments;
    d->no_arguments = false;
    struct node *type = itanium_type(d);
    d->no_arguments = no_arguments;
    struct node *node = type ? itanium_node(d, NODE_CONVERT, type, NULL) : NULL;
    if (!node)
        return NULL;
    if (take(d, '_')) {
        if (!itanium_until_end(d, &node->list, itanium_expression))
            return NULL;
    } else if (!itanium_push(d, &node->list, itanium_expression(d))) {
        return NULL;
    }
    return with_precedence(node, PREC_CAST);
}

static struct node *cast(struct itanium *d, const struct operation *op)
{
    struct node *type = itanium_type(d);
    struct node *expression = type ? itanium_expression(d) : NULL;
    struct node *node = expression ? itanium_string(d, NODE_CAST, op->name, type) : NULL;
    if (node)
        node->b = expression;
    return with_precedence(node, PREC_POSTFIX);
}

static struct node *enclosed(struct itanium *d, const struct operation *op, struct node *inner)
{
    return with_precedence(inner ? itanium_string(d, NODE_ENCLOSED, op->name, inner) : NULL,
                           op->precedence);
}

static struct node *operate(struct itanium *d, const struct operation *op, bool global)
{
    switch ((enum operator_class)op->class) {
    case OPERATOR_BINARY: return binary(d, op, NODE_BINARY);
    case OPERATOR_PREFIX: return unary(d, op, NODE_PREFIX, op->precedence);
    case OPERATOR_POSTFIX:
        if (take(d, '_'))
            return unary(d, op, NODE_PREFIX, PREC_UNARY);
        return unary(d, op, NODE_POSTFIX, op->precedence);
    case OPERATOR_MEMBER: return binary(d, op, NODE_ACCESS);
    case OPERATOR_INDEX: return binary(d, op, NODE_INDEX);
    case OPERATOR_CALL: return call(d);
    case OPERATOR_CONDITIONAL: return conditional(d);
    case OPERATOR_NEW: return new_object(d, op, global);
    case OPERATOR_DELETE: return delete_object(d, op, global);
    case OPERATOR_CONVERSION: return convert(d);
    case OPERATOR_CAST: return cast(d, op);
    case OPERATOR_OF_TYPE: return enclosed(d, op, itanium_type(d));
    case OPERATOR_OF_EXPRESSION: return enclosed(d, op, itanium_expression(d));
    }
    return NULL;
}

/* fp [QUALIFIERS] [NUMBER] _, fL NUMBER p [QUALIFIERS] [NUMBER] _, fpT */
static struct node *function_parameter(struct itanium *d)
{
    const char *number = NULL;
    size_t length = 0;
    if (take_two(d, "fp")) {
        if (take(d, 'T'))
            return itanium_string(d, NODE_TEXT, "this", NULL);
    } else {
        if (!take_two(d, "fL") || !itanium_number(d, false, &number, &length) || !take(d, 'p'))
            return NULL;
        number = NULL;
        length = 0;
    }
    itanium_quals(d);
    itanium_number(d, false, &number, &length);
    if (!take(d, '_'))
        return NULL;
    struct node *place = itanium_text(d, NODE_TEXT, number ? number : "", length, NULL);
    return place ? itanium_string(d, NODE_PREFIXED, "fp", place) : NULL;
}

/* fl OPERATOR PACK, fr, fL OPERATOR INIT PACK, fR OPERATOR PACK INIT */
static struct node *fold(struct itanium *d)
{
    char form = look(d, 1);
    bool left = form == 'l' || form == 'L', init = form == 'L' || form == 'R';
    if (!left && form != 'r' && form != 'R')
        return NULL;
    d->pos += 2;
    const struct operation *op = itanium_operator(look(d, 0), look(d, 1));
    if (!op || (op->class != OPERATOR_BINARY && op->class != OPERATOR_MEMBER) ||
        op->precedence == PREC_POSTFIX)
        return NULL;
    d->pos += 2;
    struct node *first = itanium_expression(d);
    struct node *second = first && init ? itanium_expression(d) : NULL;
    struct node *node = first ? itanium_string(d, NODE_FOLD, op->name, first) : NULL;
    if (!node || (init && !second))
        return NULL;
    node->a = left && init ? second : first;
    node->b = left && init ? first : second;
    node->number = left;
    return node;
}

/* Items of a braced list, designators before them. */
static struct node *braced_item(struct itanium *d)
{
    char form = look(d, 0) == 'd' ? look(d, 1) : '\0';
    if (form != 'i' && form != 'x' && form != 'X')
        return itanium_expression(d);
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    d->pos += 2;
    struct node *a = form == 'i' ? itanium_source_name(d) : itanium_expression(d);
    struct node *last = a && form == 'X' ? itanium_expression(d) : NULL;
    struct node *value = a && (form != 'X' || last) ? braced_item(d) : NULL;
    struct node *node = value ? itanium_node(d, NODE_DESIGNATED, a, value) : NULL;
    d->depth--;
    if (node) {
        node->number = form == 'i' ? 0 : form == 'x' ? 1 : 2;
        node->c = last;
    }
    return node;
}

static struct node *braces(struct itanium *d, struct node *type)
{
    struct node *node = itanium_node(d, NODE_BRACES, type, NULL);
    return node && itanium_until_end(d, &node->list, braced_item) ? node : NULL;
}

/* The name of what stands behind the scopes: SOURCE-NAME [ARGUMENTS]. */
static struct node *simple(struct itanium *d)
{
    struct node *name = itanium_source_name(d);
    if (!name || look(d, 0) != 'I')
        return name;
    struct node *arguments = itanium_arguments(d, false);
    return arguments ? itanium_node(d, NODE_TEMPLATE, name, arguments) : NULL;
}

static struct node *unresolved_type(struct itanium *d)
{
    struct node *type;
    if (look(d, 0) == 'T')
        type = itanium_template_parameter(d);
    else if (look(d, 0) == 'D')
        type = itanium_decltype(d);
    else
        return itanium_substitution(d);
    return itanium_push(d, &d->substitutions, type) ? type : NULL;
}

static struct node *base_name(struct itanium *d)
{
    if (is_digit(look(d, 0)))
        return simple(d);
    if (take_two(d, "dn")) {
        struct node *type = is_digit(look(d, 0)) ? simple(d) : unresolved_type(d);
        return type ? itanium_string(d, NODE_PREFIXED, "~", type) : NULL;
    }
    take_two(d, "on");
    struct node *name = itanium_operator_name(d, NULL);
    if (!name || look(d, 0) != 'I')
        return name;
    struct node *arguments = itanium_arguments(d, false);
    return arguments ? itanium_node(d, NODE_TEMPLATE, name, arguments) : NULL;
}

static struct node *nested(struct itanium *d, struct node *scope, struct node *name)
{
    return scope && name ? itanium_node(d, NODE_NESTED, scope, name) : NULL;
}

static struct node *type_with_arguments(struct itanium *d)
{
    struct node *type = unresolved_type(d);
    if (!type || look(d, 0) != 'I')
        return type;
    struct node *arguments = itanium_arguments(d, false);
    return arguments ? itanium_node(d, NODE_TEMPLATE, type, arguments) : NULL;
}

static struct node *unresolved(struct itanium *d, bool global)
{
    struct node *scope;
    if (take_two(d, "sr")) {
        if (d->gnu_scopes) {
            scope = itanium_type(d);
        } else if (take(d, 'N')) {
            scope = type_with_arguments(d);
            while (scope && !take(d, 'E'))
                scope = nested(d, scope, simple(d));
        } else if (is_digit(look(d, 0))) {
            scope = simple(d);
            if (scope && global)
                scope = itanium_node(d, NODE_GLOBAL, scope, NULL);
            while (scope && !take(d, 'E'))
                scope = nested(d, scope, simple(d));
        } else {
            scope = type_with_arguments(d);
        }
        return scope ? nested(d, scope, base_name(d)) : NULL;
    }
    struct node *name = base_name(d);
    return name && global ? itanium_node(d, NODE_GLOBAL, name, NULL) : name;
}

/* L TYPE VALUE E for the builtin integers: (type)value, or value with a suffix. */
static struct node *integer(struct itanium *d, struct node *type, unsigned suffix)
{
    const char *digits;
    size_t length;
    if (!itanium_number(d, true, &digits, &length) || !take(d, 'E'))
        return NULL;
    struct node *node = itanium_text(d, NODE_INTEGER, digits, length, type);
    if (node)
        node->number = suffix;
    return node;
}

static struct node *floating(struct itanium *d, char letter)
{
    const char *start = d->pos;
    while (is_digit(look(d, 0)) || (look(d, 0) >= 'a' && look(d, 0) <= 'f'))
        d->pos++;
    size_t length = (size_t)(d->pos - start);
    if (length != (letter == 'f' ? 8 : letter == 'd' ? 16 : 20) || !take(d, 'E'))
        return NULL;
    struct node *node = itanium_text(d, NODE_FLOAT, start, length, NULL);
    if (node)
        node->number = (unsigned char)letter;
    return node;
}

static struct node *literal_of_type(struct itanium *d)
{
    struct node *type = itanium_type(d);
    if (!type)
        return NULL;
    if (type->kind == NODE_ARRAY && take(d, 'E')) { /* a string: which, is not told */
        struct node *quotes = itanium_string(d, NODE_POSTFIXED, ">\"", type);
        return quotes ? itanium_string(d, NODE_PREFIXED, "\"<", quotes) : NULL;
    }
    return integer(d, type, 0);
}

struct node *itanium_primary(struct itanium *d)
{
    static const char suffixes[] = "ijlmxy"; /* the places that NODE_INTEGER's number counts */
    if (!take(d, 'L'))
        return NULL;
    char letter = look(d, 0);
    const char *suffix = letter ? strchr(suffixes, letter) : NULL;
    if (suffix) {
        d->pos++;
        return integer(d, NULL, (unsigned)(suffix - suffixes));
    }
    switch (letter) {
    case 'b':
        d->pos++;
        if (take_two(d, "0E"))
            return itanium_string(d, NODE_TEXT, "false", NULL);
        return take_two(d, "1E") ? itanium_string(d, NODE_TEXT, "true", NULL) : NULL;
    case 'f':
    case 'd':
    case 'e': d->pos++; return floating(d, letter);
    case '_': {
        if (!take_two(d, "_Z"))
            return NULL;
        struct node *encoding = itanium_encoding(d);
        return encoding && take(d, 'E') ? encoding : NULL;
    }
    case 'D':
        if (take_two(d, "Dn")) {
            take(d, '0');
            return take(d, 'E') ? itanium_string(d, NODE_TEXT, "nullptr", NULL) : NULL;
        }
        return literal_of_type(d);
    case 'T': return NULL;
    case 'U': {
        struct node *lambda = look(d, 1) == 'l' ? itanium_unnamed(d) : NULL;
        return lambda && take(d, 'E') ? itanium_node(d, NODE_CLOSURE, lambda, NULL) : NULL;
    }
    default: return literal_of_type(d);
    }
}

static struct node *expansion(struct itanium *d, struct node *inner)
{
    return inner ? itanium_node(d, NODE_EXPANSION, inner, NULL) : NULL;
}

/* sZ PACK, sP ARGUMENTS E */
static struct node *size_of_pack(struct itanium *d)
{
    struct node *pack;
    if (look(d, 1) == 'Z') {
        d->pos += 2;
        pack =
            expansion(d, look(d, 0) == 'T' ? itanium_template_parameter(d) : function_parameter(d));
    } else {
        d->pos += 2;
        pack = itanium_node(d, NODE_LIST, NULL, NULL);
        if (!pack || !itanium_until_end(d, &pack->list, itanium_argument))
            return NULL;
    }
    return pack ? itanium_string(d, NODE_ENCLOSED, "sizeof...", pack) : NULL;
}

/* u NAME ARGUMENT* E */
static struct node *vendor(struct itanium *d)
{
    d->pos++;
    struct node *name = itanium_source_name(d);
    struct node *node = name ? itanium_node(d, NODE_CALL, name, NULL) : NULL;
    if (!node)
        return NULL;
    if (name->length == 8 && memcmp(name->text, "__uuidof", 8) == 0 &&
        (look(d, 0) == 't' || look(d, 0) == 'z')) {
        struct node *operand = take(d, 't') ? itanium_type(d) : (d->pos++, itanium_expression(d));
        return itanium_push(d, &node->list, operand) ? node : NULL;
    }
    return itanium_until_end(d, &node->list, itanium_argument) ? node : NULL;
}

static struct node *requirement(struct itanium *d)
{
    struct node *node = itanium_node(d, NODE_REQUIREMENT, NULL, NULL);
    if (!node)
        return NULL;
    if (take(d, 'T')) {
        node->number = 2;
        node->a = itanium_type(d);
    } else if (take(d, 'Q')) {
        node->number = 4;
        node->a = itanium_expression(d);
    } else if (take(d, 'X')) {
        node->a = itanium_expression(d);
        node->number = node->a && take(d, 'N');
        if (node->a && take(d, 'R') && !(node->b = itanium_name(d, NULL)))
            return NULL;
    }
    return node->a ? node : NULL;
}

/* rq REQUIREMENT+ E, rQ PARAMETERS _ REQUIREMENT+ E */
static struct node *requires_expression(struct itanium *d)
{
    struct node *node = itanium_node(d, NODE_REQUIREMENTS, NULL, NULL);
    struct node *body = itanium_node(d, NODE_LIST, NULL, NULL);
    if (!node || !body)
        return NULL;
    bool parameters = take_two(d, "rQ");
    if (!parameters && !take_two(d, "rq"))
        return NULL;
    while (parameters && !take(d, '_')) {
        if (!itanium_push(d, &node->list, itanium_type(d)))
            return NULL;
    }
    if (!itanium_until_end(d, &body->list, requirement))
        return NULL;
    node->a = body;
    return node;
}

static struct node *lower_case(struct itanium *d)
{
    char first = look(d, 0), second = look(d, 1);
    struct node *a, *b;
    switch (first) {
    case 'f':
        if (second == 'p' || (second == 'L' && is_digit(look(d, 2))))
            return function_parameter(d);
        return fold(d);
    case 'i': return take_two(d, "il") ? braces(d, NULL) : NULL;
    case 'm':
        if (!take_two(d, "mc"))
            return NULL;
        /* A pointer to member converted to another class: what it points to, and an offset. */
        if (!itanium_type(d) || !(a = itanium_expression(d)))
            return NULL;
        itanium_number(d, true, &(const char *){0}, &(size_t){0});
        return take(d, 'E') ? a : NULL;
    case 'r': return requires_expression(d);
    case 's':
        if (second == 'Z' || second == 'P')
            return size_of_pack(d);
        if (take_two(d, "sp"))
            return expansion(d, itanium_expression(d));
        if (take_two(d, "so")) { /* a part of an object */
            if (!(a = itanium_type(d)) || !(b = itanium_expression(d)))
                return NULL;
            const char *offset = "0";
            size_t length = 1;
            itanium_number(d, true, &offset, &length);
            while (take(d, '_'))
                itanium_number(d, false, &(const char *){0}, &(size_t){0});
            take(d, 'p');
            struct node *node =
                take(d, 'E') ? itanium_text(d, NODE_CONVERT, offset, length, a) : NULL;
            if (node) {
                node->b = b;
                node->number = 1;
            }
            return node;
        }
        break;
    case 't':
        if (take_two(d, "tl"))
            return (a = itanium_type(d)) ? braces(d, a) : NULL;
        if (take_two(d, "tr"))
            return itanium_string(d, NODE_TEXT, "throw", NULL);
        if (take_two(d, "tw"))
            return (a = itanium_expression(d)) ? itanium_string(d, NODE_PREFIXED, "throw ", a)
                                               : NULL;
        break;
    case 'u': return vendor(d);
    }
    return NULL;
}

static struct node *any_expression(struct itanium *d)
{
    bool global = take_two(d, "gs");
    char first = look(d, 0);
    if (is_digit(first))
        return unresolved(d, global);
    const struct operation *op = itanium_operator(first, look(d, 1));
    if (op) {
        d->pos += 2;
        return operate(d, op, global);
    }
    if (first == 'L')
        return itanium_primary(d);
    if (first == 'T')
        return itanium_template_parameter(d);
    if ((first == 's' && look(d, 1) == 'r') || (first == 'o' && look(d, 1) == 'n') ||
        (first == 'd' && look(d, 1) == 'n'))
        return unresolved(d, global);
    return lower_case(d);
}

struct node *itanium_expression(struct itanium *d)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    struct node *node = any_expression(d);
    d->depth--;
    return node;
}
