/* Names of C++: the whole name (Itanium C++ ABI 5.1.2), and what the parsers share. */
#include "demangle/itanium.h"

struct node *itanium_node(struct itanium *d, enum node_kind kind, struct node *a, struct node *b)
{
    struct node *node = arena_take(&d->arena, sizeof *node);
    if (node)
        *node = (struct node){.kind = (uint8_t)kind, .a = a, .b = b};
    return node;
}

struct node *itanium_text(struct itanium *d, enum node_kind kind, const char *text, size_t length,
                          struct node *a)
{
    struct node *node = itanium_node(d, kind, a, NULL);
    if (node) {
        node->text = text;
        node->length = length;
    }
    return node;
}

bool itanium_push(struct itanium *d, struct list *list, struct node *node)
{
    if (!node)
        return false;
    if (list->count == list->capacity) {
        uint32_t larger = list->capacity ? list->capacity * 2 : 4;
        struct node **items = arena_resize(&d->arena, list->items, list->capacity * sizeof *items,
                                           larger * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->capacity = larger;
    }
    list->items[list->count++] = node;
    return true;
}

bool itanium_until_end(struct itanium *d, struct list *list,
                       struct node *(*parse)(struct itanium *))
{
    while (!take(d, 'E')) {
        if (!itanium_push(d, list, parse(d)))
            return false;
    }
    return true;
}

bool itanium_number(struct itanium *d, bool negative, const char **text, size_t *length)
{
    const char *start = d->pos;
    if (negative)
        take(d, 'n');
    if (!is_digit(look(d, 0)))
        return d->pos = start, false;
    while (is_digit(look(d, 0)))
        d->pos++;
    *text = start;
    *length = (size_t)(d->pos - start);
    return true;
}

/* "_block_invoke", a number with or without '_' before it, and ".25" at the end. */
static struct node *block(struct itanium *d)
{
    static const char word[] = "_block_invoke";
    struct node *encoding = itanium_encoding(d);
    const char *number;
    size_t length;
    if (!encoding || (size_t)(d->end - d->pos) < sizeof word - 1 ||
        memcmp(d->pos, word, sizeof word - 1) != 0)
        return NULL;
    d->pos += sizeof word - 1;
    bool needs_number = take(d, '_');
    if (!itanium_number(d, false, &number, &length) && needs_number)
        return NULL;
    if (look(d, 0) == '.')
        d->pos = d->end;
    return itanium_string(d, NODE_PREFIXED, "invocation function for block in ", encoding);
}

static struct node *whole(struct itanium *d, bool types)
{
    size_t underscores = 0;
    while (underscores < 4 && look(d, underscores) == '_')
        underscores++;
    if (underscores == 0 || look(d, underscores) != 'Z')
        return types ? itanium_type(d) : NULL;
    d->pos += underscores + 1;
    return underscores > 2 ? block(d) : itanium_encoding(d);
}

/* ".cold" in brackets, "@plt" as it is. */
static void suffixes(const char *at, const char *end, enum demangle_style style, struct text *text)
{
    const char *version = memchr(at, '@', (size_t)(end - at));
    const char *clone_end = version ? version : end;
    if (at < clone_end && style != DEMANGLE_SIMPLIFIED) {
        text_string(text, " (");
        text_add(text, at, (size_t)(clone_end - at));
        text_char(text, ')');
    }
    text_add(text, clone_end, (size_t)(end - clone_end));
}

static bool read_name(const char *name, size_t length, const struct demangle_options *options,
                      bool gnu_scopes, struct text *text)
{
    /* Enough for most names; the arena takes what comes after that from malloc. */
    _Alignas(max_align_t) unsigned char first[24 * 1024];
    struct itanium d = {
        .pos = name, .end = name + length, .lambda_level = ~0u, .gnu_scopes = gnu_scopes};
    struct node *substitutions[32];
    d.substitutions = (struct list){substitutions, 0, sizeof substitutions / sizeof *substitutions};
    d.arena.pos = first;
    d.arena.end = first + sizeof first;
    const struct node *root = whole(&d, options->types);
    bool understood = root && (d.pos == d.end || *d.pos == '.' || *d.pos == '@') &&
                      itanium_print(root, options->style, text);
    if (understood)
        suffixes(d.pos, d.end, options->style, text);
    arena_free(&d.arena);
    return understood;
}

/* As the ABI writes scopes in expressions, else as GCC does; the same letters may mean both. */
bool itanium_demangle(const char *name, size_t length, const struct demangle_options *options,
                      struct text *text)
{
    return read_name(name, length, options, false, text) ||
           (memmem(name, length, "sr", 2) && read_name(name, length, options, true, text));
}
