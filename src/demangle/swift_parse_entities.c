/* Declarations of the Swift mangling: types, functions, variables, closures, macro expansions. */
#include "demangle/swift_parse.h"

struct swift_node *swift_declaration(struct swift_parser *p, enum swift_kind kind,
                                     struct swift_node *context, struct swift_node *name)
{
    if (context == NULL || name == NULL)
        return NULL;
    struct swift_node *node = swift_new_slots(p->arena, kind, SW_SLOTS);
    if (node == NULL)
        return NULL;
    node->kids[SW_IN] = context;
    node->kids[SW_NAMED] = name;
    return node;
}

struct swift_node *swift_nameless(struct swift_parser *p, enum swift_kind kind, const char *words,
                                  struct swift_node *context)
{
    struct swift_node *node = context != NULL ? swift_new_slots(p->arena, kind, SW_SLOTS) : NULL;
    if (node == NULL)
        return NULL;
    node->kids[SW_IN] = context;
    swift_say(node, words);
    return node;
}

struct swift_node *swift_read_nominal(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *name = swift_pop_flags(p, SW_IS_NAME);
    return swift_substitutable(p, swift_declaration(p, kind, swift_pop_context(p), name));
}

struct swift_node *swift_read_extension(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *extension =
        swift_new_2(p->arena, SW_EXTENSION, module, swift_pop_nominal(p));
    return signature != NULL ? swift_add(p->arena, extension, signature) : extension;
}

/* ---- L, o ---- */

struct swift_node *swift_read_local_name(struct swift_parser *p)
{
    struct swift_node *number, *name;
    if (swift_next_if(p, 'L')) {
        number = swift_pop_kind(p, SW_IDENTIFIER);
        return swift_new_2(p->arena, SW_PRIVATE_NAME, number, swift_pop_flags(p, SW_IS_NAME));
    }
    if (swift_next_if(p, 'l'))
        return swift_new_1(p->arena, SW_PRIVATE_NAME, swift_pop_kind(p, SW_IDENTIFIER));
    char c = swift_peek(p);
    if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
        name = swift_new_text(p->arena, SW_IDENTIFIER, p->at++, 1);
        return swift_new_2(p->arena, SW_RELATED_NAME, name, swift_pop(p));
    }
    number = swift_index_node(p);
    return swift_new_2(p->arena, SW_LOCAL_NAME, number, swift_pop_flags(p, SW_IS_NAME));
}

bool swift_operator_text(struct swift_arena *arena, const struct swift_node *identifier,
                         struct swift_node **text, enum swift_kind kind)
{
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    char *bytes = swift_take(arena, identifier->length);
    if (bytes == NULL)
        return false;
    for (uint32_t i = 0; i < identifier->length; i++) {
        char c = identifier->text[i];
        if ((unsigned char)c < 0x80) {
            c = c >= 'a' && c <= 'z' ? characters[c - 'a'] : ' ';
            if (c == ' ')
                return false;
        }
        bytes[i] = c;
    }
    *text = swift_new_text(arena, kind, bytes, identifier->length);
    return *text != NULL;
}

struct swift_node *swift_read_operator_name(struct swift_parser *p)
{
    struct swift_node *identifier = swift_pop_kind(p, SW_IDENTIFIER), *name;
    char c = swift_next(p);
    enum swift_kind kind = c == 'i' ? SW_INFIX : c == 'p' ? SW_PREFIX : SW_POSTFIX;
    if (identifier == NULL || (kind == SW_POSTFIX && c != 'P'))
        return NULL;
    return swift_operator_text(p->arena, identifier, &name, kind) ? name : NULL;
}

/* ---- functions ---- */

/* The labels of a function type's parameters, which stand below it. False: malformed. */
static bool pop_labels(struct swift_parser *p, const struct swift_node *type,
                       struct swift_node **labels)
{
    *labels = NULL;
    if (p->labels_in_types)
        return true;
    if (swift_pop_kind(p, SW_EMPTY_LIST) != NULL)
        return (*labels = swift_new(p->arena, SW_LABELS)) != NULL;
    if (swift_kind_is(type, SW_GENERIC_TYPE))
        type = type->kids[1];
    if (!swift_kind_is(type, SW_FUNCTION_TYPE) ||
        (type->index & SW_FN_REPRESENTATION) > SW_FN_NOESCAPE)
        return true;
    const struct swift_node *params = type->kids[SW_FN_PARAMS];
    uint32_t count = params->kind == SW_TUPLE ? params->count : 1;
    if (count == 0)
        return true;
    struct swift_node *list = swift_new(p->arena, SW_LABELS);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        struct swift_node *label = swift_pop(p);
        any |= swift_kind_is(label, SW_IDENTIFIER);
        if (!swift_kind_is(label, SW_IDENTIFIER) && !swift_kind_is(label, SW_FIRST_MARK))
            return false;
        if (swift_add(p->arena, list, label) == NULL)
            return false;
    }
    swift_reverse(list, 0);
    *labels = any ? list : swift_new(p->arena, SW_LABELS);
    return *labels != NULL;
}

static struct swift_node *typed(struct swift_node *node, struct swift_node *labels,
                                struct swift_node *type)
{
    if (node != NULL) {
        node->kids[SW_LABELLED] = labels;
        node->kids[SW_TYPED] = type;
    }
    return node;
}

struct swift_node *swift_read_function(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE), *labels;
    struct swift_node *type = swift_pop_function(p, SW_FN_PLAIN, false);
    if (type == NULL || !pop_labels(p, type, &labels))
        return NULL;
    if (signature != NULL &&
        (type = swift_new_2(p->arena, SW_GENERIC_TYPE, signature, type)) == NULL)
        return NULL;
    struct swift_node *name = swift_pop_flags(p, SW_IS_NAME);
    return typed(swift_declaration(p, SW_FUNCTION, swift_pop_context(p), name), labels, type);
}

static struct swift_node *read_entity(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *type = swift_pop_type(p), *labels;
    if (type == NULL || !pop_labels(p, type, &labels))
        return NULL;
    struct swift_node *name = swift_pop_flags(p, SW_IS_NAME);
    return typed(swift_declaration(p, kind, swift_pop_context(p), name), labels, type);
}

static struct swift_node *read_accessor(struct swift_parser *p, struct swift_node *storage)
{
    static const char *const mutable[] = {"owningMutableAddressor", "nativeOwningMutableAddressor",
                                          "nativePinningMutableAddressor",
                                          "unsafeMutableAddressor"};
    static const char *const plain[] = {"owningAddressor", "nativeOwningAddressor",
                                        "nativePinningAddressor", "unsafeAddressor"};
    const char *words = NULL;
    char c = swift_next(p), kind;
    switch (c) {
    case 'G': words = "getter"; break;
    case 'M': words = "modify"; break;
    case 'W': words = "didset"; break;
    case 'a':
    case 'l':
        kind = swift_next(p);
        for (unsigned i = 0; i < 4; i++)
            if (kind == "Oopu"[i])
                words = c == 'a' ? mutable[i] : plain[i];
        break;
    case 'b': words = "borrow"; break;
    case 'g': words = "getter"; break;
    case 'i': words = "init"; break;
    case 'm': words = "materializeForSet"; break;
    case 'p': return storage;
    case 'r': words = "read"; break;
    case 's': words = "setter"; break;
    case 'w': words = "willset"; break;
    case 'x': words = "modify2"; break;
    case 'y': words = "read2"; break;
    case 'z': words = "mutate"; break;
    default: break;
    }
    if (words == NULL || storage == NULL)
        return NULL;
    struct swift_node *accessor = swift_new_1(p->arena, SW_ACCESSOR, storage);
    return swift_say(accessor, words);
}

struct swift_node *swift_read_variable(struct swift_parser *p)
{
    return read_accessor(p, read_entity(p, SW_VARIABLE));
}

struct swift_node *swift_read_subscript(struct swift_parser *p)
{
    struct swift_node *private_name = swift_pop_kind(p, SW_PRIVATE_NAME);
    struct swift_node *type = swift_pop_type(p), *labels;
    if (type == NULL || !pop_labels(p, type, &labels))
        return NULL;
    struct swift_node *node =
        typed(swift_nameless(p, SW_SUBSCRIPT, "subscript", swift_pop_context(p)), labels, type);
    if (node != NULL)
        node->kids[SW_PRIVATE] = private_name;
    return read_accessor(p, node);
}

/* ---- f ---- */

static struct swift_node *read_constructor(struct swift_parser *p, bool allocating)
{
    struct swift_node *private_name = swift_pop_kind(p, SW_PRIVATE_NAME);
    struct swift_node *type = swift_pop_type(p), *labels;
    if (type == NULL || !pop_labels(p, type, &labels))
        return NULL;
    struct swift_node *context = swift_pop_context(p);
    bool class = allocating && swift_kind_is(context, SW_CLASS);
    struct swift_node *node = typed(swift_nameless(p, allocating ? SW_ALLOCATOR : SW_CONSTRUCTOR,
                                                   class ? "__allocating_init" : "init", context),
                                    labels, type);
    if (node != NULL)
        node->kids[SW_PRIVATE] = private_name;
    return node;
}

static struct swift_node *read_closure(struct swift_parser *p, const char *words)
{
    int number = swift_index(p);
    struct swift_node *type = swift_pop_type(p);
    if (number < 0 || type == NULL)
        return NULL;
    struct swift_node *node =
        typed(swift_nameless(p, SW_CLOSURE, words, swift_pop_context(p)), NULL, type);
    if (node != NULL)
        node->number = (uint32_t)number + 1;
    return node;
}

static struct swift_node *read_destructor(struct swift_parser *p, const char *of_class)
{
    struct swift_node *context = swift_pop_context(p);
    return swift_nameless(p, SW_SPECIAL_MEMBER,
                          swift_kind_is(context, SW_CLASS) ? of_class : "deinit", context);
}

static struct swift_node *read_default_argument(struct swift_parser *p)
{
    int number = swift_index(p);
    struct swift_node *node =
        swift_nameless(p, SW_DEFAULT_ARGUMENT, "default argument ", swift_pop_context(p));
    if (number < 0 || node == NULL)
        return NULL;
    node->number = (uint32_t)number;
    return node;
}

static struct swift_node *read_macro(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    if (signature != NULL) {
        struct swift_node *type =
            swift_new_2(p->arena, SW_GENERIC_TYPE, signature, swift_pop_type(p));
        if (!swift_push(p, &p->stack, type))
            return NULL;
    }
    return read_entity(p, SW_MACRO);
}

/* fMX: where in the source a macro was expanded. */
static struct swift_node *read_expansion_place(struct swift_parser *p)
{
    struct swift_node *line = swift_index_node(p), *column = swift_index_node(p);
    struct swift_node *file = swift_pop_kind(p, SW_IDENTIFIER);
    struct swift_node *module = swift_pop_kind(p, SW_IDENTIFIER);
    return swift_add(p->arena, swift_new_3(p->arena, SW_EXPANSION_LOC, module, file, line), column);
}

static struct swift_node *read_expansion(struct swift_parser *p)
{
    static const struct {
        char letter;
        bool attached;
        const char *words; /* an attached macro's name stands at the "@" */
    } roles[] = {
        {'a', true, "accessor macro @"},
        {'b', true, "body macro @"},
        {'c', true, "conformance macro @"},
        {'e', true, "extension macro @"},
        {'f', false, "freestanding macro expansion #"},
        {'m', true, "member macro @"},
        {'p', true, "peer macro @"},
        {'q', true, "preamble macro @"},
        {'r', true, "member attribute macro @"},
        {'u', false, "unique name #"},
    };
    char c = swift_next(p);
    if (c == 'X')
        return read_expansion_place(p);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (roles[i].letter != c)
            continue;
        struct swift_node *macro = swift_pop_kind(p, SW_IDENTIFIER), *private_name = NULL;
        struct swift_node *name = macro;
        if (roles[i].attached)
            name = swift_pop_flags(p, SW_IS_NAME);
        else
            private_name = swift_pop_kind(p, SW_PRIVATE_NAME);
        struct swift_node *context = swift_pop_flags(p, SW_IS_EXPANSION);
        if (context == NULL)
            context = swift_pop_context(p);
        int number = swift_index(p);
        struct swift_node *node = swift_nameless(p, SW_EXPANSION, roles[i].words, context);
        if (number < 0 || node == NULL || name == NULL || macro == NULL)
            return NULL;
        node->kids[SW_NAMED] = name;
        node->kids[SW_TYPED] = roles[i].attached ? macro : NULL;
        node->kids[SW_PRIVATE] = private_name;
        node->number = (uint32_t)number + 1;
        return node;
    }
    return NULL;
}

struct swift_node *swift_read_function_entity(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'A': return read_default_argument(p);
    case 'C': return read_constructor(p, true);
    case 'D': return read_destructor(p, "__deallocating_deinit");
    case 'E': return swift_nameless(p, SW_SPECIAL_MEMBER, "__ivar_destroyer", swift_pop_context(p));
    case 'F':
        return swift_nameless(p, SW_SPECIAL_MEMBER, "property wrapped field init accessor",
                              swift_pop_context(p));
    case 'M': return read_expansion(p);
    case 'P':
        return swift_nameless(p, SW_INITIALIZER, "property wrapper backing initializer",
                              swift_pop_context(p));
    case 'U': return read_closure(p, "closure #");
    case 'W':
        return swift_nameless(p, SW_INITIALIZER, "property wrapper init from projected value",
                              swift_pop_context(p));
    case 'Z': return read_destructor(p, "__isolated_deallocating_deinit");
    case 'a':
        return swift_nameless(p, SW_SPECIAL_MEMBER, "runtime attribute generator",
                              swift_pop_context(p));
    case 'c': return read_constructor(p, false);
    case 'd': return swift_nameless(p, SW_SPECIAL_MEMBER, "deinit", swift_pop_context(p));
    case 'e':
        return swift_nameless(p, SW_SPECIAL_MEMBER, "__ivar_initializer", swift_pop_context(p));
    case 'i':
        return swift_nameless(p, SW_INITIALIZER, "variable initialization expression",
                              swift_pop_context(p));
    case 'm': return read_macro(p);
    case 'o': return read_entity(p, SW_VARIABLE);
    case 'p': return read_entity(p, SW_GENERIC_PARAM_DECL);
    case 'u': return read_closure(p, "implicit closure #");
    default: return NULL;
    }
}

struct swift_node *swift_read_type_mangling(struct swift_parser *p)
{
    struct swift_node *type = swift_pop_type(p), *labels;
    if (type == NULL || !pop_labels(p, type, &labels))
        return NULL;
    if (labels == NULL)
        return swift_new_1(p->arena, SW_TYPE_MANGLING, type);
    return swift_new_2(p->arena, SW_TYPE_MANGLING, type, labels);
}
