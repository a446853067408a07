/*
 * Names of C++ (Itanium C++ ABI 5.1.3, 5.1.8 to 5.1.11). The rules of
 * substitution are the delicate part: whatever is a candidate is pushed when it is complete, in
 * the order in which the compiler met it.
 */
#include "demangle/itanium.h"

struct node *itanium_source_name(struct itanium *d)
{
    size_t length = 0;
    if (!is_digit(look(d, 0)) || look(d, 0) == '0')
        return NULL;
    while (is_digit(look(d, 0)) && length <= DEMANGLE_MAX_INPUT)
        length = length * 10 + (size_t)(*d->pos++ - '0');
    if (length > (size_t)(d->end - d->pos))
        return NULL;
    const char *name = d->pos;
    d->pos += length;
    static const char anonymous[] = "_GLOBAL__N";
    if (length >= sizeof anonymous - 1 && memcmp(name, anonymous, sizeof anonymous - 1) == 0)
        return itanium_word(d, "(anonymous namespace)");
    return itanium_text(d, NODE_TEXT, name, length, NULL);
}

/* [SEQ-ID] _ : what it counts, or ~0. */
uint32_t itanium_sequence(struct itanium *d)
{
    if (take(d, '_'))
        return 0;
    uint32_t number = 0;
    while (!take(d, '_')) {
        char c = look(d, 0);
        if (!(is_digit(c) || (c >= 'A' && c <= 'Z')) || number > DEMANGLE_MAX_INPUT)
            return ~0u;
        number = number * 36 + (uint32_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
        d->pos++;
    }
    return number + 1;
}

static struct node *tagged(struct itanium *d, struct node *name)
{
    while (name && take(d, 'B')) {
        struct node *tag = itanium_source_name(d);
        name = tag ? itanium_text(d, NODE_TAGGED, tag->text, tag->length, name) : NULL;
    }
    return name;
}

static struct node *standard(struct itanium *d, const char *name, const char *base)
{
    struct node *short_name = itanium_word(d, base);
    struct node *node = short_name ? itanium_string(d, NODE_STANDARD, name, NULL) : NULL;
    if (node)
        node->b = short_name;
    return node;
}

struct node *itanium_substitution(struct itanium *d)
{
    if (!take(d, 'S'))
        return NULL;
    struct node *node = NULL;
    switch (look(d, 0)) {
    case 'a': node = standard(d, "std::allocator", "allocator"); break;
    case 'b': node = standard(d, "std::basic_string", "basic_string"); break;
    case 'd': node = standard(d, "std::iostream", "basic_iostream"); break;
    case 'i': node = standard(d, "std::istream", "basic_istream"); break;
    case 'o': node = standard(d, "std::ostream", "basic_ostream"); break;
    case 's': node = standard(d, "std::string", "basic_string"); break;
    default: {
        uint32_t place = itanium_sequence(d);
        return place < d->substitutions.count ? d->substitutions.items[place] : NULL;
    }
    }
    d->pos++;
    struct node *with_tags = tagged(d, node);
    if (with_tags != node && !itanium_push(d, &d->substitutions, with_tags))
        return NULL;
    return with_tags;
}

struct node *itanium_operator_name(struct itanium *d, struct name_state *state)
{
    const struct operation *op = itanium_operator(look(d, 0), look(d, 1));
    if (op && op->class == OPERATOR_CONVERSION) {
        d->pos += 2;
        bool no_arguments = d->no_arguments, may_forward = d->may_forward;
        d->no_arguments = true;
        d->may_forward = may_forward || state;
        struct node *type = itanium_type(d);
        d->no_arguments = no_arguments;
        d->may_forward = may_forward;
        if (state)
            state->structor_or_conversion = true;
        return type ? itanium_node(d, NODE_CONVERSION, type, NULL) : NULL;
    }
    if (op && !op->nameless) {
        d->pos += 2;
        struct node *symbol = itanium_word(d, op->name);
        return symbol ? itanium_string(d, NODE_PREFIXED, "operator", symbol) : NULL;
    }
    struct node *name;
    if (take_two(d, "li"))
        return (name = itanium_source_name(d))
                   ? itanium_string(d, NODE_PREFIXED, "operator\"\" ", name)
                   : NULL;
    if (look(d, 0) == 'v' && is_digit(look(d, 1))) {
        d->pos += 2;
        return (name = itanium_source_name(d)) ? itanium_node(d, NODE_CONVERSION, name, NULL)
                                               : NULL;
    }
    return NULL;
}

/* The parameters of a lambda, up to 'E', with what C++20 puts around them. */
static bool lambda_signature(struct itanium *d, struct node *node, struct list *parameters)
{
    struct node *declared = itanium_node(d, NODE_LIST, NULL, NULL);
    if (!declared)
        return false;
    while (itanium_is_declaration(d)) {
        if (!itanium_push(d, &declared->list, itanium_parameter_declaration(d, parameters)))
            return false;
    }
    if (declared->list.count > 0)
        node->a = declared;
    else
        d->level_count--; /* then T_ makes `auto` */
    if (take(d, 'Q') && !(node->b = itanium_clause(d)))
        return false;
    if (!take(d, 'v')) {
        while (look(d, 0) != 'E' && look(d, 0) != 'Q') {
            if (!itanium_push(d, &node->list, itanium_type(d)))
                return false;
        }
    }
    if (take(d, 'Q') && !(node->c = itanium_clause(d)))
        return false;
    return take(d, 'E');
}

static struct node *lambda(struct itanium *d)
{
    struct node *node = itanium_node(d, NODE_LAMBDA, NULL, NULL);
    if (!node || d->level_count == TEMPLATE_LEVELS)
        return NULL;
    unsigned levels = d->level_count, outer_lambda = d->lambda_level;
    struct list parameters = {0};
    d->lambda_level = levels;
    d->levels[d->level_count++] = &parameters;
    bool good = lambda_signature(d, node, &parameters);
    d->level_count = levels;
    d->lambda_level = outer_lambda;
    if (!good)
        return NULL;
    itanium_number(d, false, &node->text, &node->length);
    return take(d, '_') ? node : NULL;
}

struct node *itanium_unnamed(struct itanium *d)
{
    unsigned synthetic[3];
    struct node *node;
    switch (look(d, 1)) {
    case 't':
        d->pos += 2;
        node = itanium_node(d, NODE_UNNAMED, NULL, NULL);
        if (node)
            itanium_number(d, false, &node->text, &node->length);
        return node && take(d, '_') ? node : NULL;
    case 'l':
        d->pos += 2;
        memcpy(synthetic, d->synthetic, sizeof synthetic);
        memset(d->synthetic, 0, sizeof d->synthetic);
        node = lambda(d);
        memcpy(d->synthetic, synthetic, sizeof synthetic);
        return node;
    case 'b': {
        const char *digits;
        size_t length;
        d->pos += 2;
        itanium_number(d, false, &digits, &length);
        return take(d, '_') ? itanium_word(d, "'block-literal'") : NULL;
    }
    default: return NULL;
    }
}

/* The last component of a name without its arguments: what a constructor is called. */
static struct node *base_of(struct node *name)
{
    while (name) {
        switch (name->kind) {
        case NODE_NESTED:
        case NODE_FRIEND:
        case NODE_LOCAL:
        case NODE_STANDARD: name = name->b; break;
        case NODE_GLOBAL:
        case NODE_TEMPLATE:
        case NODE_TAGGED:
        case NODE_MODULE:
        case NODE_FORWARD:
            if (!name->a)
                return name;
            name = name->a;
            break;
        default: return name;
        }
    }
    return NULL;
}

/* C1 ... C5, CI1 TYPE, D0 ... D5. A constructor of an abbreviation shows what that stands for. */
static struct node *structor(struct itanium *d, struct node **scope, struct name_state *state)
{
    static const struct {
        const char *abbreviation, *whole;
    } wholes[] = {
        {"std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>"},
        {"std::istream", "std::basic_istream<char, std::char_traits<char>>"},
        {"std::ostream", "std::basic_ostream<char, std::char_traits<char>>"},
        {"std::iostream", "std::basic_iostream<char, std::char_traits<char>>"},
    };
    if ((*scope)->kind == NODE_STANDARD) {
        for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
            if (strcmp((*scope)->text, wholes[i].abbreviation) == 0 &&
                !(*scope = standard(d, wholes[i].whole, (*scope)->b->text)))
                return NULL;
        }
    }
    bool destructor = look(d, 0) == 'D';
    bool inherited = !destructor && look(d, 1) == 'I';
    char which = look(d, inherited ? 2 : 1);
    if (!is_digit(which) || which > '5' || (!destructor && which == '0') ||
        (destructor && which == '3'))
        return NULL;
    d->pos += inherited ? 3 : 2;
    if (state)
        state->structor_or_conversion = true;
    if (inherited && !itanium_name(d, state))
        return NULL;
    struct node *node = itanium_node(d, NODE_STRUCTOR, base_of(*scope), NULL);
    if (node)
        node->number = destructor;
    return node;
}

static struct node *bindings(struct itanium *d)
{
    struct node *node = itanium_node(d, NODE_BINDINGS, NULL, NULL);
    return node && itanium_until_end(d, &node->list, itanium_source_name) ? node : NULL;
}

/* (W [P] NAME)*: a module of C++20; each step is a candidate for substitution. */
bool itanium_module_name(struct itanium *d, struct node **module)
{
    while (take(d, 'W')) {
        bool partition = take(d, 'P');
        struct node *name = itanium_source_name(d);
        struct node *step =
            name ? itanium_text(d, NODE_MODULE, name->text, name->length, *module) : NULL;
        if (!itanium_push(d, &d->substitutions, step))
            return false;
        step->number = partition ? ':' : '.';
        *module = step;
    }
    return true;
}

static struct node *plain_name(struct itanium *d, struct node **scope, struct node *module,
                               struct name_state *state)
{
    char c = look(d, 0);
    if (is_digit(c))
        return itanium_source_name(d);
    if (c == 'U')
        return itanium_unnamed(d);
    if (take_two(d, "DC"))
        return bindings(d);
    if (c == 'C' || c == 'D')
        return *scope && !module ? structor(d, scope, state) : NULL;
    return itanium_operator_name(d, state);
}

static struct node *unqualified(struct itanium *d, struct node *scope, struct node *module,
                                struct name_state *state)
{
    if (!itanium_module_name(d, &module))
        return NULL;
    bool friend_of = scope && take(d, 'F');
    take(d, 'L');
    struct node *name = plain_name(d, &scope, module, state);
    if (name && module) {
        name = itanium_node(d, NODE_MODULE, name, module);
    }
    name = tagged(d, name);
    if (!name || !scope)
        return name;
    return itanium_node(d, friend_of ? NODE_FRIEND : NODE_NESTED, scope, name);
}

static struct node *add_arguments(struct itanium *d, struct node *name, struct name_state *state)
{
    struct node *arguments = itanium_arguments(d, state != NULL);
    if (!arguments)
        return NULL;
    if (state)
        state->ends_with_arguments = true;
    return itanium_node(d, NODE_TEMPLATE, name, arguments);
}

/* What S begins inside of N...E. A module: *module, and no scope. */
static struct node *nested_substitution(struct itanium *d, struct node **module, bool *push)
{
    if (take_two(d, "St")) {
        *push = false;
        return itanium_word(d, "std");
    }
    struct node *found = itanium_substitution(d);
    if (found && found->kind == NODE_MODULE && found->number) {
        *module = found;
        return NULL;
    }
    *push = false;
    return found;
}

static struct node *nested_name(struct itanium *d, struct name_state *state)
{
    d->pos++;
    if (take(d, 'H')) {
        if (state)
            state->explicit_object = true;
    } else {
        uint8_t quals = itanium_quals(d);
        if (take(d, 'O'))
            quals |= QUAL_RVALUE;
        else if (take(d, 'R'))
            quals |= QUAL_LVALUE;
        if (state)
            state->quals = quals;
    }
    struct node *name = NULL;
    while (!take(d, 'E')) {
        struct node *module = NULL;
        bool push = true;
        if (state)
            state->ends_with_arguments = false;
        if (look(d, 0) == 'T') {
            if (name || !(name = itanium_template_parameter(d)))
                return NULL;
        } else if (look(d, 0) == 'I') {
            if (!name || name->kind == NODE_TEMPLATE || !(name = add_arguments(d, name, state)))
                return NULL;
        } else if (look(d, 0) == 'D' && (look(d, 1) == 't' || look(d, 1) == 'T')) {
            if (name || !(name = itanium_decltype(d)))
                return NULL;
        } else {
            if (look(d, 0) == 'S') {
                struct node *found = nested_substitution(d, &module, &push);
                if (found ? name != NULL : module == NULL)
                    return NULL;
                name = found ? found : name;
            }
            if (push && !(name = unqualified(d, name, module, state)))
                return NULL;
        }
        if (push && !itanium_push(d, &d->substitutions, name))
            return NULL;
        take(d, 'M'); /* the initializer of a data member: its lambdas are numbered apart */
    }
    if (!name || d->substitutions.count == 0)
        return NULL;
    d->substitutions.count--;
    return name;
}

/* _ DIGIT, __ NUMBER _, or digits at the end: which of several of a name. Not shown. */
static void discriminator(struct itanium *d)
{
    const char *start = d->pos, *digits;
    size_t length;
    if (take(d, '_')) {
        bool two = take(d, '_');
        if (!two && is_digit(look(d, 0)))
            d->pos++;
        else if (!two || !itanium_number(d, false, &digits, &length) || !take(d, '_'))
            d->pos = start;
    } else if (itanium_number(d, false, &digits, &length) && d->pos != d->end) {
        d->pos = start;
    }
}

static struct node *local_entity(struct itanium *d, struct name_state *state)
{
    const char *digits;
    size_t length;
    if (take(d, 'd')) { /* inside of a default argument: which, is not shown */
        itanium_number(d, true, &digits, &length);
        return take(d, '_') ? itanium_name(d, state) : NULL;
    }
    struct node *entity = itanium_name(d, state);
    if (entity)
        discriminator(d);
    return entity;
}

static struct node *local_name(struct itanium *d, struct name_state *state)
{
    d->pos++;
    struct node *function = itanium_encoding(d);
    if (!function || !take(d, 'E'))
        return NULL;
    struct node *entity;
    if (take(d, 's')) {
        discriminator(d);
        entity = itanium_word(d, "string literal");
    } else {
        struct template_scope scope;
        itanium_enter(d, &scope);
        entity = local_entity(d, state);
        /* What the name's own arguments are, the rest of its encoding must know. */
        if (!state)
            itanium_leave(d, &scope);
    }
    return entity ? itanium_node(d, NODE_LOCAL, function, entity) : NULL;
}

struct node *itanium_unscoped(struct itanium *d, struct name_state *state, bool *substitution)
{
    struct node *scope = NULL, *module = NULL;
    *substitution = false;
    if (take_two(d, "St")) {
        if (!(scope = itanium_word(d, "std")))
            return NULL;
    } else if (look(d, 0) == 'S') {
        struct node *found = itanium_substitution(d);
        if (!found)
            return NULL;
        if (found->kind == NODE_MODULE && found->number) {
            module = found;
        } else {
            *substitution = true;
            return found;
        }
    }
    return unqualified(d, scope, module, state);
}

static struct node *any_name(struct itanium *d, struct name_state *state)
{
    if (look(d, 0) == 'N')
        return nested_name(d, state);
    if (look(d, 0) == 'Z')
        return local_name(d, state);
    bool substitution;
    struct node *name = itanium_unscoped(d, state, &substitution);
    if (!name)
        return NULL;
    if (look(d, 0) == 'I') {
        if (!substitution && !itanium_push(d, &d->substitutions, name))
            return NULL;
        return add_arguments(d, name, state);
    }
    return substitution ? NULL : name;
}

struct node *itanium_name(struct itanium *d, struct name_state *state)
{
    if (++d->depth > ITANIUM_DEPTH)
        return NULL;
    struct node *name = any_name(d, state);
    d->depth--;
    return name;
}
