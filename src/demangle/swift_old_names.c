/* Names and declarations in the mangling of Swift 1 to 3. */
#include "demangle/swift_old.h"

#include <string.h>

static bool enter(struct swift_parser *p)
{
    return p->depth < SWIFT_MAX_OLD_DEPTH && ++p->depth;
}

/* ---- identifiers ---- */

struct swift_node *swift_old_identifier(struct swift_parser *p)
{
    bool punycode = swift_next_if(p, 'X');
    enum swift_kind kind = SW_IDENTIFIER;
    if (swift_next_if(p, 'o')) {
        char c = swift_next(p);
        kind = c == 'p' ? SW_PREFIX : c == 'P' ? SW_POSTFIX : SW_INFIX;
        if (kind == SW_INFIX && c != 'i')
            return NULL;
    }
    int natural = swift_natural(p);
    if (natural <= 0 || natural > p->end - p->at)
        return NULL;
    const char *text = p->at;
    size_t length = (size_t)natural;
    p->at += length;
    if (punycode && (text = swift_punycode(p->arena, text, &length)) == NULL)
        return NULL;
    struct swift_node *identifier =
        length != 0 ? swift_new_text(p->arena, SW_IDENTIFIER, text, length) : NULL;
    if (kind == SW_IDENTIFIER || identifier == NULL)
        return identifier;
    struct swift_node *name;
    return swift_operator_text(p->arena, identifier, &name, kind) ? name : NULL;
}

struct swift_node *swift_old_name(struct swift_parser *p)
{
    struct swift_node *first;
    if (swift_next_if(p, 'L')) {
        first = swift_index_node(p);
        return swift_new_2(p->arena, SW_LOCAL_NAME, first, swift_old_identifier(p));
    }
    if (swift_next_if(p, 'P')) {
        first = swift_old_identifier(p);
        return swift_new_2(p->arena, SW_PRIVATE_NAME, first, swift_old_identifier(p));
    }
    return swift_old_identifier(p);
}

struct swift_node *swift_old_substitution(struct swift_parser *p)
{
    static const struct {
        char letter;
        bool enumeration;
        const char *name;
    } types[] = {
        {'P', false, "UnsafePointer"},
        {'Q', true, "ImplicitlyUnwrappedOptional"},
        {'R', false, "UnsafeBufferPointer"},
        {'S', false, "String"},
        {'V', false, "UnsafeRawPointer"},
        {'a', false, "Array"},
        {'b', false, "Bool"},
        {'c', false, "UnicodeScalar"},
        {'d', false, "Double"},
        {'f', false, "Float"},
        {'i', false, "Int"},
        {'p', false, "UnsafeMutablePointer"},
        {'q', true, "Optional"},
        {'r', false, "UnsafeMutableBufferPointer"},
        {'u', false, "UInt"},
        {'v', false, "UnsafeMutableRawPointer"},
    };
    if (swift_next_if(p, 'o'))
        return swift_new_words(p->arena, SW_MODULE, "__C");
    if (swift_next_if(p, 'C'))
        return swift_new_words(p->arena, SW_MODULE, "__C_Synthesized");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (swift_next_if(p, types[i].letter))
            return swift_standard_type(p, types[i].enumeration ? SW_ENUM : SW_STRUCT,
                                       types[i].name);
    int index = swift_index(p);
    return index >= 0 && (size_t)index < p->substitutions.count ? p->substitutions.nodes[index]
                                                                : NULL;
}

/* ---- contexts ---- */

static struct swift_node *read_module(struct swift_parser *p)
{
    if (swift_next_if(p, 's'))
        return swift_new_words(p->arena, SW_MODULE, "Swift");
    if (swift_next_if(p, 'S')) {
        struct swift_node *module = swift_old_substitution(p);
        return swift_kind_is(module, SW_MODULE) ? module : NULL;
    }
    struct swift_node *name = swift_old_identifier(p);
    if (!swift_kind_is(name, SW_IDENTIFIER))
        return NULL;
    return swift_substitutable(p, swift_new_text(p->arena, SW_MODULE, name->text, name->length));
}

static struct swift_node *read_extension(struct swift_parser *p, bool constrained)
{
    struct swift_node *module = read_module(p), *signature = NULL;
    if (module == NULL || (constrained && (signature = swift_old_signature(p)) == NULL))
        return NULL;
    struct swift_node *extension =
        swift_new_2(p->arena, SW_EXTENSION, module, swift_old_context(p));
    return constrained ? swift_add(p->arena, extension, signature) : extension;
}

static struct swift_node *read_context(struct swift_parser *p)
{
    if (swift_next_if(p, 'E'))
        return read_extension(p, false);
    if (swift_next_if(p, 'e'))
        return read_extension(p, true);
    if (swift_next_if(p, 'S'))
        return swift_old_substitution(p);
    if (swift_next_if(p, 's'))
        return swift_new_words(p->arena, SW_MODULE, "Swift");
    if (swift_next_if(p, 'G'))
        return swift_old_bound_generic(p);
    char c = swift_peek(p);
    return c != '\0' && strchr("FIvPZCVO", c) != NULL ? swift_old_entity(p) : read_module(p);
}

struct swift_node *swift_old_context(struct swift_parser *p)
{
    if (!enter(p))
        return NULL;
    struct swift_node *context = read_context(p);
    p->depth--;
    return swift_is(context, SW_IS_CONTEXT | SW_IS_TYPE) ? context : NULL;
}

/* ---- declarations of types ---- */

struct swift_node *swift_old_declaration(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *context = swift_old_context(p);
    struct swift_node *name = context != NULL ? swift_old_name(p) : NULL;
    return swift_substitutable(p, swift_declaration(p, kind, context, name));
}

static struct swift_node *protocol_in(struct swift_parser *p, struct swift_node *module)
{
    struct swift_node *name = module != NULL ? swift_old_name(p) : NULL;
    return swift_substitutable(p, swift_declaration(p, SW_PROTOCOL, module, name));
}

struct swift_node *swift_old_protocol(struct swift_parser *p)
{
    if (swift_next_if(p, 'S')) { /* the protocol, or the module it is in */
        struct swift_node *node = swift_old_substitution(p);
        if (swift_kind_is(node, SW_PROTOCOL))
            return node;
        return swift_kind_is(node, SW_MODULE) ? protocol_in(p, node) : NULL;
    }
    if (swift_next_if(p, 's'))
        return protocol_in(p, swift_new_words(p->arena, SW_MODULE, "Swift"));
    return swift_old_declaration(p, SW_PROTOCOL);
}

struct swift_node *swift_old_nominal(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'S': return swift_old_substitution(p);
    case 'C': return swift_old_declaration(p, SW_CLASS);
    case 'O': return swift_old_declaration(p, SW_ENUM);
    case 'P': return swift_old_declaration(p, SW_PROTOCOL);
    case 'V': return swift_old_declaration(p, SW_STRUCT);
    default: return NULL;
    }
}

/* The arguments of the outermost type come first: the contexts are bound before the type. */
static struct swift_node *bind(struct swift_parser *p, struct swift_node *nominal)
{
    if (!swift_is(nominal, SW_IS_NOMINAL) || !enter(p))
        return NULL;
    struct swift_node *context = nominal->kids[SW_IN];
    if (swift_is(context, SW_IS_NOMINAL)) {
        struct swift_node *parent = bind(p, context);
        nominal = parent != NULL ? swift_copy(p->arena, nominal) : NULL;
        if (nominal != NULL)
            nominal->kids[SW_IN] = parent;
    } else if (!swift_kind_is(context, SW_MODULE) && !swift_kind_is(context, SW_FUNCTION) &&
               !swift_kind_is(context, SW_EXTENSION)) {
        nominal = NULL;
    }
    struct swift_node *arguments = swift_new(p->arena, SW_TYPE_LIST);
    while (nominal != NULL && !swift_next_if(p, '_'))
        if (swift_add(p->arena, arguments, swift_old_type(p)) == NULL)
            return NULL;
    p->depth--;
    if (nominal == NULL || arguments == NULL || arguments->count == 0)
        return nominal;
    return swift_new_2(p->arena, SW_BOUND_GENERIC, nominal, arguments);
}

struct swift_node *swift_old_bound_generic(struct swift_parser *p)
{
    return bind(p, swift_old_nominal(p));
}

/* ---- entities ---- */

static const char *accessor_words(struct swift_parser *p)
{
    static const char *const addressors[2][4] = {
        {"owningAddressor", "nativeOwningAddressor", "nativePinningAddressor", "unsafeAddressor"},
        {"owningMutableAddressor", "nativeOwningMutableAddressor", "nativePinningMutableAddressor",
         "unsafeMutableAddressor"}};
    char c = swift_peek(p);
    if ((c == 'a' || c == 'l') && p->end - p->at > 1) {
        for (unsigned i = 0; i < 4; i++)
            if (p->at[1] == "Oopu"[i]) {
                p->at += 2;
                return addressors[c == 'a'][i];
            }
        return NULL;
    }
    static const struct {
        char letter;
        const char *words;
    } accessors[] = {
        {'G', "getter"},
        {'M', "modify"},
        {'W', "didset"},
        {'g', "getter"},
        {'m', "materializeForSet"},
        {'r', "read"},
        {'s', "setter"},
        {'w', "willset"},
    };
    for (size_t i = 0; i < sizeof(accessors) / sizeof(accessors[0]); i++)
        if (swift_next_if(p, accessors[i].letter))
            return accessors[i].words;
    return NULL;
}

static struct swift_node *with_type(struct swift_parser *p, struct swift_node *node)
{
    if (node == NULL || (node->kids[SW_TYPED] = swift_old_type(p)) == NULL)
        return NULL;
    return node;
}

/* An accessor of a variable, or of a subscript, which is a name in this mangling. */
static struct swift_node *read_accessor(struct swift_parser *p, struct swift_node *context,
                                        const char *words)
{
    struct swift_node *name = swift_old_name(p), *last = name, *storage;
    if (swift_kind_is(name, SW_PRIVATE_NAME))
        last = name->kids[1];
    if (swift_kind_is(last, SW_IDENTIFIER) && swift_text_is(last, "subscript"))
        storage = swift_nameless(p, SW_SUBSCRIPT, "subscript", context);
    else
        storage = swift_declaration(p, SW_VARIABLE, context, name);
    struct swift_node *accessor = swift_new_1(p->arena, SW_ACCESSOR, with_type(p, storage));
    return swift_say(accessor, words);
}

static struct swift_node *read_numbered(struct swift_parser *p, struct swift_node *context,
                                        enum swift_kind kind, const char *words, unsigned add)
{
    int number = swift_index(p);
    struct swift_node *node = number >= 0 ? swift_nameless(p, kind, words, context) : NULL;
    if (node == NULL)
        return NULL;
    node->number = (uint32_t)number + add;
    return kind == SW_CLOSURE ? with_type(p, node) : node;
}

static struct swift_node *read_member(struct swift_parser *p, struct swift_node *context,
                                      char basic)
{
    bool class = swift_kind_is(context, SW_CLASS);
    const char *words = accessor_words(p);
    if (words != NULL)
        return read_accessor(p, context, words);
    char c = swift_next(p);
    if (basic == 'I' && c == 'A')
        return read_numbered(p, context, SW_DEFAULT_ARGUMENT, "default argument ", 0);
    if (basic == 'I' && c == 'i')
        return swift_nameless(p, SW_INITIALIZER, "variable initialization expression", context);
    switch (c) {
    case 'C':
        return with_type(
            p, swift_nameless(p, SW_ALLOCATOR, class ? "__allocating_init" : "init", context));
    case 'D':
        return swift_nameless(p, SW_SPECIAL_MEMBER, class ? "__deallocating_deinit" : "deinit",
                              context);
    case 'E': return swift_nameless(p, SW_SPECIAL_MEMBER, "__ivar_destroyer", context);
    case 'U': return read_numbered(p, context, SW_CLOSURE, "closure #", 1);
    case 'Z':
        return swift_nameless(p, SW_SPECIAL_MEMBER,
                              class ? "__isolated_deallocating_deinit" : "deinit", context);
    case 'c': return with_type(p, swift_nameless(p, SW_CONSTRUCTOR, "init", context));
    case 'd': return swift_nameless(p, SW_SPECIAL_MEMBER, "deinit", context);
    case 'e': return swift_nameless(p, SW_SPECIAL_MEMBER, "__ivar_initializer", context);
    case 'u': return read_numbered(p, context, SW_CLOSURE, "implicit closure #", 1);
    case '\0': return NULL;
    default: break;
    }
    p->at--;
    if (basic == 'I')
        return NULL;
    enum swift_kind kind = basic == 'F' ? SW_FUNCTION : SW_VARIABLE;
    return with_type(p, swift_declaration(p, kind, context, swift_old_name(p)));
}

static struct swift_node *read_entity(struct swift_parser *p)
{
    char basic = swift_next(p);
    if (basic != 'F' && basic != 'v' && basic != 'I' && basic != 'i') {
        p->at -= basic != '\0';
        return swift_old_nominal(p);
    }
    struct swift_node *context = swift_old_context(p);
    if (context == NULL)
        return NULL;
    if (basic == 'i') {
        struct swift_node *node = swift_nameless(p, SW_SUBSCRIPT, "subscript", context);
        return swift_old_name(p) != NULL ? with_type(p, node) : NULL;
    }
    return read_member(p, context, basic);
}

struct swift_node *swift_old_entity(struct swift_parser *p)
{
    bool is_static = swift_next_if(p, 'Z');
    if (!enter(p))
        return NULL;
    struct swift_node *entity = read_entity(p);
    p->depth--;
    return is_static ? swift_new_1(p->arena, SW_STATIC, entity) : entity;
}
