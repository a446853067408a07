/*
 * "I": function types as the compiler lowers them, with every convention spelled out.
 *
 * IMPL_FUNCTION has the attributes (in the order they read) in kids[0], the signature of pattern
 * substitutions in kids[1], parameters in kids[2], results in kids[3], and the pattern's and the
 * invocation's substitutions in kids[4] and kids[5]; the last two and the signature may be NULL.
 * `flags`: the result is sent.
 */
#include "demangle/swift_parse.h"

struct convention {
    char letter;
    const char *words;
};

static const struct convention parameters[] = {
    {'X', "@in_cxx"},        {'b', "@inout_aliasable"},
    {'c', "@in_constant"},   {'e', "@deallocating"},
    {'g', "@guaranteed"},    {'i', "@in"},
    {'l', "@inout"},         {'m', "@pack_inout"},
    {'n', "@in_guaranteed"}, {'p', "@pack_guaranteed"},
    {'v', "@pack_owned"},    {'x', "@owned"},
    {'y', "@unowned"},       {0, NULL},
};

static const struct convention results[] = {
    {'a', "@autoreleased"},          {'d', "@unowned"}, {'g', "@guaranteed"}, {'k', "@pack_out"},
    {'l', "@guaranteed_address"},    {'m', "@inout"},   {'o', "@owned"},      {'r', "@out"},
    {'u', "@unowned_inner_pointer"}, {0, NULL},
};

static const struct convention callees[] = {
    {'g', "@callee_guaranteed"},
    {'t', "@convention(thin)"},
    {'x', "@callee_owned"},
    {'y', "@callee_unowned"},
    {0, NULL},
};

static const struct convention differentiabilities[] = {
    {'d', "@differentiable"},
    {'f', "@differentiable(_forward)"},
    {'l', "@differentiable(_linear)"},
    {'r', "@differentiable(reverse)"},
    {0, NULL},
};

static const struct convention representations[] = {
    {'B', "@convention(block)"},          {'C', "@convention(c)"},
    {'J', "@convention(objc_method)"},    {'K', "@convention(closure)"},
    {'M', "@convention(method)"},         {'V', "@convention(com_method)"},
    {'W', "@convention(witness_method)"}, {0, NULL},
};

static const struct convention coroutines[] = {
    {'A', "@yield_once"}, {'G', "@yield_many"}, {'I', "@yield_once_2"}, {0, NULL}};

/* The words of the letter at p->at, or NULL and nothing is read. */
static const char *read_convention(struct swift_parser *p, const struct convention *table)
{
    for (; table->words != NULL; table++)
        if (swift_next_if(p, table->letter))
            return table->words;
    return NULL;
}

static bool add_words(struct swift_parser *p, struct swift_node *list, const char *words)
{
    return words == NULL ||
           swift_add(p->arena, list, swift_new_words(p->arena, SW_WORDS, words)) != NULL;
}

/* "zB" or "zC" and a C type. */
static bool read_clang_representation(struct swift_parser *p, struct swift_node *attributes)
{
    const char *words = swift_next_if(p, 'B')   ? "@convention(block, mangledCType: \""
                        : swift_next_if(p, 'C') ? "@convention(c, mangledCType: \""
                                                : NULL;
    int length = words != NULL ? swift_natural(p) : 0;
    if (length <= 0 || length > p->end - p->at)
        return false;
    struct swift_node *clang = swift_new_text(p->arena, SW_WORDS, p->at, (size_t)length);
    struct swift_node *both =
        swift_new_3(p->arena, SW_SYMBOL, swift_new_words(p->arena, SW_WORDS, words), clang,
                    swift_new_words(p->arena, SW_WORDS, "\")"));
    p->at += length;
    return swift_add(p->arena, attributes, both) != NULL;
}

/* Attributes up to the parameters, but for the generic signature, which was popped before. */
static bool read_attributes(struct swift_parser *p, struct swift_node *type,
                            struct swift_node *signature)
{
    struct swift_node *list = type->kids[0];
    struct swift_arena *arena = p->arena;
    if (signature != NULL)
        swift_next_if(p, 'P'); /* pseudogeneric: reads the same */
    bool fine = true;
    if (swift_next_if(p, 'e'))
        fine &= add_words(p, list, "@escaping");
    if (swift_next_if(p, 'A'))
        fine &= add_words(p, list, "@isolated(any)");
    else if (swift_next_if(p, 'N'))
        fine &= add_words(p, list, "nonisolated(nonsending)");
    if (swift_next_if(p, 'O'))
        fine &= add_words(p, list, "@called(atMostOnce)");
    fine &= add_words(p, list, read_convention(p, differentiabilities));
    const char *callee = read_convention(p, callees);
    fine &= callee != NULL && add_words(p, list, callee);
    if (swift_next_if(p, 'z'))
        fine &= read_clang_representation(p, list);
    else
        fine &= add_words(p, list, read_convention(p, representations));
    fine &= add_words(p, list, read_convention(p, coroutines));
    if (swift_next_if(p, 'h'))
        fine &= add_words(p, list, "@Sendable");
    if (swift_next_if(p, 'H'))
        fine &= add_words(p, list, "@async");
    type->flags = swift_next_if(p, 'T');
    return fine && (signature == NULL || swift_add(arena, list, signature) != NULL);
}

/*
 * A parameter or result: IMPL_VALUE whose text is the convention; the type becomes its child when
 * all are read. Marks are written only one at a time beside @noDerivative: so does the reference.
 */
static struct swift_node *read_value(struct swift_parser *p, const struct convention *table,
                                     const char *before)
{
    const char *words = read_convention(p, table);
    if (words == NULL)
        return NULL;
    struct swift_node *value = swift_new_slots(p->arena, SW_IMPL_VALUE, 4);
    struct swift_node *convention = swift_new_words(p->arena, SW_WORDS, words);
    if (value == NULL || convention == NULL)
        return NULL;
    swift_say(value, before);
    value->kids[0] = convention;
    if (swift_next_if(p, 'w'))
        value->kids[1] = swift_new_words(p->arena, SW_WORDS, "@noDerivative");
    static const struct convention marks[] = {
        {'T', "sending"}, {'I', "isolated"}, {'L', "sil_implicit_leading_param"}, {0, NULL}};
    unsigned count = 0;
    for (unsigned i = 0; table == parameters && marks[i].words != NULL; i++)
        if (swift_next_if(p, marks[i].letter)) {
            value->kids[2] = swift_new_words(p->arena, SW_WORDS, marks[i].words);
            count++;
        }
    if (count > 1)
        value->kids[1] = value->kids[2] = NULL;
    return value;
}

static bool read_values(struct swift_parser *p, struct swift_node *list,
                        const struct convention *table)
{
    for (struct swift_node *value; (value = read_value(p, table, "")) != NULL;)
        if (swift_add(p->arena, list, value) == NULL)
            return false;
    return true;
}

/* Results, yields and the error, which are written together. */
static bool read_results(struct swift_parser *p, struct swift_node *list)
{
    if (!read_values(p, list, results))
        return false;
    while (swift_next_if(p, 'Y'))
        if (swift_add(p->arena, list, read_value(p, parameters, "@yields ")) == NULL)
            return false;
    return !swift_next_if(p, 'z') ||
           swift_add(p->arena, list, read_value(p, results, "@error ")) != NULL;
}

static bool pop_types(struct swift_parser *p, struct swift_node *list)
{
    for (uint32_t i = list->count; i-- > 0;)
        if ((list->kids[i]->kids[3] = swift_pop_type(p)) == NULL)
            return false;
    return true;
}

/* One list of substitutions. NULL: malformed. */
static struct swift_node *pop_substitutions(struct swift_parser *p)
{
    struct swift_node *lists = swift_pop_arguments(p);
    return lists != NULL && lists->count == 1 ? lists->kids[0] : NULL;
}

struct swift_node *swift_read_impl_function(struct swift_parser *p)
{
    struct swift_node *type = swift_new_slots(p->arena, SW_IMPL_FUNCTION, 6);
    if (type == NULL)
        return NULL;
    for (unsigned i = 0; i < 4; i++)
        if (i != 1 && (type->kids[i] = swift_new(p->arena, SW_TYPE_LIST)) == NULL)
            return NULL;
    if (swift_next_if(p, 's')) {
        type->kids[4] = pop_substitutions(p);
        type->kids[1] = swift_pop_kind(p, SW_SIGNATURE);
        if (type->kids[4] == NULL || type->kids[1] == NULL)
            return NULL;
    }
    if (swift_next_if(p, 'I') && (type->kids[5] = pop_substitutions(p)) == NULL)
        return NULL;
    struct swift_node *signature = swift_pop_kind(p, SW_SIGNATURE);
    bool fine = read_attributes(p, type, signature) && read_values(p, type->kids[2], parameters) &&
                read_results(p, type->kids[3]) && swift_next_if(p, '_') &&
                pop_types(p, type->kids[3]) && pop_types(p, type->kids[2]);
    return fine ? type : NULL;
}
