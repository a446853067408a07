/* Types in C++ names (Itanium C++ ABI 5.1.5). */
#include "demangle/itanium.h"

uint8_t itanium_quals(struct itanium *d)
{
    uint8_t quals = 0;
    if (take(d, 'r'))
        quals |= QUAL_RESTRICT;
    if (take(d, 'V'))
        quals |= QUAL_VOLATILE;
    if (take(d, 'K'))
        quals |= QUAL_CONST;
    return quals;
}

struct node *itanium_decltype(struct itanium *d)
{
    if (!take_two(d, "Dt") && !take_two(d, "DT"))
        return NULL;
    struct node *expression = itanium_expression(d);
    if (!expression || !take(d, 'E'))
        return NULL;
    return itanium_string(d, NODE_ENCLOSED, "decltype", expression);
}

/* Whether a function's type begins behind the qualifiers at the front. */
static bool is_function(const struct itanium *d)
{
    size_t at = 0;
    at += look(d, at) == 'r';
    at += look(d, at) == 'V';
    at += look(d, at) == 'K';
    if (look(d, at) == 'F')
        return true;
    if (look(d, at) != 'D')
        return false;
    char next = look(d, at + 1);
    return next == 'o' || next == 'O' || next == 'w' || next == 'x';
}

static bool exception_specification(struct itanium *d, struct node **specification)
{
    *specification = NULL;
    if (take_two(d, "Do"))
        return (*specification = itanium_string(d, NODE_TEXT, "noexcept", NULL)) != NULL;
    if (take_two(d, "DO")) {
        struct node *expression = itanium_expression(d);
        if (!expression || !take(d, 'E'))
            return false;
        return (*specification = itanium_string(d, NODE_ENCLOSED, "noexcept", expression)) != NULL;
    }
    if (take_two(d, "Dw")) {
        *specification = itanium_node(d, NODE_THROW, NULL, NULL);
        return *specification && itanium_until_end(d, &(*specification)->list, itanium_type);
    }
    return true;
}

static struct node *function(struct itanium *d)
{
    uint8_t quals = itanium_quals(d);
    struct node *specification;
    if (!exception_specification(d, &specification))
        return NULL;
    take_two(d, "Dx");
    if (!take(d, 'F'))
        return NULL;
    take(d, 'Y'); /* extern "C" */
    struct node *result = itanium_type(d);
    struct node *node = result ? itanium_node(d, NODE_FUNCTION, result, specification) : NULL;
    if (!node)
        return NULL;
    while (!take(d, 'E')) {
        if (take(d, 'v'))
            continue;
        if (take_two(d, "RE") || take_two(d, "OE")) {
            quals |= d->pos[-2] == 'R' ? QUAL_LVALUE : QUAL_RVALUE;
            break;
        }
        if (!itanium_push(d, &node->list, itanium_type(d)))
            return NULL;
    }
    node->quals = quals;
    return node;
}

/* A dimension: a number, an expression, or nothing. */
static bool dimension(struct itanium *d, struct node **size)
{
    const char *digits;
    size_t length;
    *size = NULL;
    if (take(d, '_'))
        return true;
    if (itanium_number(d, false, &digits, &length))
        *size = itanium_text(d, NODE_TEXT, digits, length, NULL);
    else
        *size = itanium_expression(d);
    return *size && take(d, '_');
}

static struct node *array(struct itanium *d)
{
    struct node *size;
    d->pos++;
    if (!dimension(d, &size))
        return NULL;
    struct node *element = itanium_type(d);
    return element ? itanium_node(d, NODE_ARRAY, element, size) : NULL;
}

static struct node *vector(struct itanium *d)
{
    struct node *size;
    d->pos += 2;
    if (!dimension(d, &size))
        return NULL;
    struct node *element =
        take(d, 'p') ? itanium_string(d, NODE_TEXT, "pixel", NULL) : itanium_type(d);
    return element ? itanium_node(d, NODE_VECTOR, element, size) : NULL;
}

static struct node *member_pointer(struct itanium *d)
{
    d->pos++;
    struct node *owner = itanium_type(d);
    struct node *member = owner ? itanium_type(d) : NULL;
    return member ? itanium_node(d, NODE_MEMBER, owner, member) : NULL;
}

static struct node *qualified(struct itanium *d);

/* U NAME [ARGUMENTS] TYPE: a vendor's qualifier, or the protocol of an Objective-C object. */
static struct node *vendor_qualified(struct itanium *d)
{
    static const char protocol[] = "objcproto";
    enum { PROTOCOL = sizeof protocol - 1 };
    d->pos++;
    struct node *name = itanium_source_name(d);
    if (!name)
        return NULL;
    if (name->length > PROTOCOL && memcmp(name->text, protocol, PROTOCOL) == 0) {
        struct itanium inner = *d;
        inner.pos = name->text + PROTOCOL;
        inner.end = name->text + name->length;
        struct node *word = itanium_source_name(&inner);
        d->arena = inner.arena;
        struct node *object = word ? qualified(d) : NULL;
        return object ? itanium_text(d, NODE_OBJC, word->text, word->length, object) : NULL;
    }
    struct node *arguments = NULL;
    if (look(d, 0) == 'I' && !(arguments = itanium_arguments(d, false)))
        return NULL;
    struct node *type = qualified(d);
    struct node *node = type ? itanium_text(d, NODE_VENDOR, name->text, name->length, type) : NULL;
    if (node)
        node->b = arguments;
    return node;
}

static struct node *qualified(struct itanium *d)
{
    if (look(d, 0) == 'U') {
        if (++d->depth > ITANIUM_DEPTH)
            return NULL;
        struct node *node = vendor_qualified(d);
        d->depth--;
        return node;
    }
    uint8_t quals = itanium_quals(d);
    struct node *type = itanium_type(d);
    if (!type || !quals)
        return type;
    struct node *node = itanium_node(d, NODE_QUALIFIED, type, NULL);
    if (node)
        node->quals = quals;
    return node;
}

/* DB and DU: _BitInt(N). */
static struct node *bit_int(struct itanium *d)
{
    const char *word = look(d, 1) == 'U' ? "unsigned _BitInt" : "_BitInt";
    struct node *size;
    d->pos += 2;
    if (look(d, 0) == '_' || !dimension(d, &size))
        return NULL;
    return itanium_string(d, NODE_ENCLOSED, word, size);
}

/* DF: _FloatN, _FloatNx, std::bfloat16_t. */
static struct node *float_n(struct itanium *d)
{
    const char *digits;
    size_t length;
    d->pos += 2;
    if (!itanium_number(d, false, &digits, &length))
        return NULL;
    if (take(d, 'b'))
        return itanium_string(d, NODE_TEXT, "std::bfloat16_t", NULL);
    if (take(d, 'x'))
        length++;
    else if (!take(d, '_'))
        return NULL;
    struct node *size = itanium_text(d, NODE_TEXT, digits, length, NULL);
    return size ? itanium_string(d, NODE_PREFIXED, "_Float", size) : NULL;
}

/* `done`: the type is complete, and is no candidate for substitution. */
static struct node *type_d(struct itanium *d, bool *done)
{
    const char *builtin = itanium_builtin_d(look(d, 1));
    if (builtin) {
        d->pos += 2;
        *done = true;
        return itanium_string(d, NODE_TEXT, builtin, NULL);
    }
    struct node *inner;
    switch (look(d, 1)) {
    case 'F': *done = true; return float_n(d);
    case 'B':
    case 'U': *done = true; return bit_int(d);
    case 'k':
    case 'K': {
        const char *word = look(d, 1) == 'k' ? " auto" : " decltype(auto)";
        d->pos += 2;
        *done = true;
        inner = itanium_name(d, NULL);
        return inner ? itanium_string(d, NODE_POSTFIXED, word, inner) : NULL;
    }
    case 't':
    case 'T': return itanium_decltype(d);
    case 'v': return vector(d);
    case 'p':
        d->pos += 2;
        inner = itanium_type(d);
        return inner ? itanium_node(d, NODE_EXPANSION, inner, NULL) : NULL;
    default: return function(d);
    }
}

static struct node *elaborated(struct itanium *d, const char *word)
{
    d->pos += 2;
    struct node *name = itanium_name(d, NULL);
    return name ? itanium_string(d, NODE_PREFIXED, word, name) : NULL;
}

/* Arguments may follow a template parameter or a substitution. */
static struct node *with_arguments(struct itanium *d, struct node *name)
{
    struct node *arguments = itanium_arguments(d, false);
    return arguments ? itanium_node(d, NODE_TEMPLATE, name, arguments) : NULL;
}

static struct node *type_t(struct itanium *d)
{
    switch (look(d, 1)) {
    case 's': return elaborated(d, "struct ");
    case 'u': return elaborated(d, "union ");
    case 'e': return elaborated(d, "enum ");
    }
    struct node *parameter = itanium_template_parameter(d);
    /* In `operator T`, arguments that follow belong to the operator. */
    if (!parameter || d->no_arguments || look(d, 0) != 'I')
        return parameter;
    return itanium_push(d, &d->substitutions, parameter) ? with_arguments(d, parameter) : NULL;
}

static struct node *type_s(struct itanium *d, bool *done)
{
    bool substitution;
    if (look(d, 1) == 't')
        return itanium_name(d, NULL);
    struct node *name = itanium_unscoped(d, NULL, &substitution);
    if (!name || !substitution)
        return name;
    if (look(d, 0) == 'I' && !d->no_arguments)
        return with_arguments(d, name);
    *done = true;
    return name;
}

static struct node *one_inside(struct itanium *d, enum node_kind kind, const char *text)
{
    d->pos++;
    struct node *inner = itanium_type(d);
    struct node *node = inner ? itanium_string(d, kind, text, inner) : NULL;
    if (node && kind == NODE_REFERENCE)
        node->number = text[1] != '\0';
    return node;
}

static struct node *vendor_builtin(struct itanium *d)
{
    d->pos++;
    struct node *name = itanium_source_name(d);
    if (!name || !take(d, 'I'))
        return name;
    struct node *inner = itanium_type(d); /* __decay(T) and its like */
    if (!inner || !take(d, 'E'))
        return NULL;
    return itanium_text(d, NODE_ENCLOSED, name->text, name->length, inner);
}

static struct node *any_type(struct itanium *d, bool *done)
{
    char c = look(d, 0);
    switch (c) {
    case 'r':
    case 'V':
    case 'K': return is_function(d) ? function(d) : qualified(d);
    case 'U': return qualified(d);
    case 'u': return vendor_builtin(d);
    case 'D': return type_d(d, done);
    case 'F': return function(d);
    case 'A': return array(d);
    case 'M': return member_pointer(d);
    case 'T': return type_t(d);
    case 'S': return type_s(d, done);
    case 'P': return one_inside(d, NODE_POINTER, "*");
    case 'R': return one_inside(d, NODE_REFERENCE, "&");
    case 'O': return one_inside(d, NODE_REFERENCE, "&&");
    case 'C': return one_inside(d, NODE_POSTFIXED, " complex");
    case 'G': return one_inside(d, NODE_POSTFIXED, " imaginary");
    }
    const char *builtin = itanium_builtin(c);
    if (!builtin)
        return itanium_name(d, NULL);
    d->pos++;
    *done = true;
    return itanium_string(d, NODE_TEXT, builtin, NULL);
}

struct node *itanium_type(struct itanium *d)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    bool done = false;
    struct node *type = any_type(d, &done);
    d->depth--;
    if (!type || done)
        return type;
    return itanium_push(d, &d->substitutions, type) ? type : NULL;
}
