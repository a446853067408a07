/*
 * Names of C++, Rust and Swift: scopes and base names stay; arguments, template and generic
 * arguments, return types, numbers of lambdas go (docs/grouping.md, "Names"). One pass, never
 * deeper than DEPTH_MAX.
 */
#include "collector/grouping_text.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 4 };

static void scan(struct name *name, struct words w, int depth);

/* "operator<<" and its like: its signs are no brackets. */
static bool put_operator(struct name *name, struct words *w)
{
    static const char *const signs[] = {
        "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",  "+",  "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  ",",
    };
    if (!words_at(w, "operator") || (name->size && words_is_letter(name->text[name->size - 1])) ||
        (words_left(w) > 8 && words_is_letter(w->at[8])))
        return false;
    w->at += 8;
    name_put_text(name, "operator");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (words_skip(w, signs[i])) {
            name_put_text(name, signs[i]);
            return true;
        }
    /* "operator new[]", "operator bool", "operator\"\" _km": up to the arguments. */
    const char *open = memchr(w->at, '(', words_left(w));
    const char *end = open ? open : w->end;
    name_put(name, w->at, (size_t)(end - w->at));
    w->at = end;
    return true;
}

static void put_mark(struct name *name, const char *mark)
{
    size_t size = strlen(mark);
    /* Closures in closures are one: how they nest differs between compilers. */
    if (name_ends_with(name, "::") && name->size >= name->start + size + 2 &&
        memcmp(name->text + name->size - 2 - size, mark, size) == 0) {
        name->size -= 2;
        return;
    }
    name_put(name, mark, size);
}

/* {lambda(int)#1}, {{closure}}, {closure#0}, {impl#3}, {anonymous} */
static bool put_braces(struct name *name, struct words *w)
{
    const char *close = words_closing(w->at, w->end), *at = w->at;
    if (!close)
        return false;
    while (at < close && *at == '{')
        at++;
    const char *word = at;
    while (at < close && (words_is_letter(*at) || *at == '.'))
        at++;
    char mark[64] = "{";
    size_t size = (size_t)(at - word) < sizeof mark - 3 ? (size_t)(at - word) : sizeof mark - 3;
    memcpy(mark + 1, word, size);
    mark[size + 1] = '}';
    mark[size + 2] = '\0';
    put_mark(name, strcmp(mark, "{anonymous}") == 0 ? "(anonymous namespace)" : mark);
    w->at = close + 1;
    return true;
}

/* 'lambda'(int), 'lambda0'(int), 'unnamed' */
static bool put_quoted(struct name *name, struct words *w)
{
    const char *close = words_left(w) > 1 ? memchr(w->at + 1, '\'', words_left(w) - 1) : NULL;
    if (!close)
        return false;
    bool lambda = w->at + 7 <= w->end && memcmp(w->at + 1, "lambda", 6) == 0;
    put_mark(name, lambda ? "{lambda}" : "{unnamed}");
    w->at = close + 1;
    const char *end =
        lambda && words_left(w) && *w->at == '(' ? words_closing(w->at, w->end) : NULL;
    if (end)
        w->at = end + 1;
    return true;
}

/* Template and generic arguments: f<int> -> f<T>, f::<u32> -> f; but <A as B>::f stays. */
static bool put_angle(struct name *name, struct words *w, int depth)
{
    const char *close = words_closing(w->at, w->end);
    if (!close)
        return false;
    struct words inner = {w->at + 1, close};
    bool begins = name->size == name->start || name_ends_with(name, "::");
    if (begins && words_at(&inner, "lambda")) {
        put_mark(name, "{lambda}");
    } else if (depth < DEPTH_MAX && begins &&
               (words_at(&inner, "impl ") || words_find(inner.at, inner.end, " as ") ||
                name->size == name->start)) {
        name_put_text(name, "<");
        scan(name, inner, depth + 1);
        name_put_text(name, ">");
    } else if (name_ends_with(name, "::")) {
        name->size -= 2;
    } else {
        name_put_text(name, "<T>");
    }
    w->at = close + 1;
    return true;
}

/* What may stand between arguments and "::": a function in which another is. */
static bool skip_qualifiers(struct words *w)
{
    struct words rest = *w;
    while (words_skip(&rest, " const") || words_skip(&rest, " volatile") ||
           words_skip(&rest, " &&") || words_skip(&rest, " &") || words_skip(&rest, " noexcept")) {
    }
    if (!words_at(&rest, "::"))
        return false;
    *w = rest;
    return true;
}

enum paren { PAREN_ON, PAREN_END, PAREN_TEXT };

static enum paren put_paren(struct name *name, struct words *w)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *close = words_closing(w->at, w->end);
    if (!close)
        return PAREN_TEXT;
    if (words_skip(w, anonymous)) {
        name_put_text(name, anonymous);
        return PAREN_ON;
    }
    struct words inner = {w->at + 1, close};
    if (words_at(&inner, "extension in ") && close + 1 < w->end && close[1] == ':') {
        w->at = close + 2;
        return PAREN_ON;
    }
    const char *in = words_find(inner.at, inner.end, " in _");
    if (in && !words_find(inner.at, in, " ")) { /* Swift: (name in _FILEHASH) */
        name_put(name, inner.at, (size_t)(in - inner.at));
        w->at = close + 1;
        return PAREN_ON;
    }
    if (name->size == name->start)
        return PAREN_TEXT;
    w->at = close + 1;
    if (words_at(w, ".") || words_at(w, "::") || skip_qualifiers(w))
        return PAREN_ON;
    name->arguments = true;
    return PAREN_END;
}

/* std::__1::, std::__cxx11::, std::__ndk1:: are std:: */
static bool skip_inline_namespace(const struct name *name, struct words *w)
{
    struct words rest = *w;
    if (!name_ends_with(name, "std::") || !words_skip(&rest, "__"))
        return false;
    if (words_skip(&rest, "cxx11::") || words_skip(&rest, "ndk1::") || words_skip(&rest, "Cr::")) {
        *w = rest;
        return true;
    }
    const char *digits = rest.at;
    while (words_left(&rest) && isdigit((unsigned char)*rest.at))
        rest.at++;
    if (rest.at == digits || !words_skip(&rest, "::"))
        return false;
    *w = rest;
    return true;
}

static bool put_numbered_lambda(struct name *name, struct words *w)
{
    if (!words_at(w, "$_") || !name_ends_with(name, "::"))
        return false;
    put_mark(name, "{lambda}");
    for (w->at += 2; words_left(w) && isdigit((unsigned char)*w->at); w->at++) {
    }
    return true;
}

/* What ends a name at a space: Swift's results and types. */
static bool ends_at_space(const struct words *w)
{
    return words_at(w, " -> ") || words_at(w, " : ") || words_at(w, " async ") ||
           words_at(w, " throws ") || words_at(w, " in conformance ") || words_at(w, " where ");
}

/* One step; false: the name is over. */
static bool step(struct name *name, struct words *w, int depth)
{
    if (skip_inline_namespace(name, w) || put_operator(name, w) || put_numbered_lambda(name, w))
        return true;
    char c = *w->at;
    if (c == '(') {
        enum paren what = put_paren(name, w);
        if (what != PAREN_TEXT)
            return what == PAREN_ON;
    } else if (c == '<'   ? put_angle(name, w, depth)
               : c == '{' ? put_braces(name, w)
                          : c == '\'' && put_quoted(name, w)) {
        return true;
    } else if (c == '[' && name->size > name->start) {
        const char *close = words_closing(w->at, w->end); /* [abi:cxx11], core[8f3a51] */
        w->at = close ? close + 1 : w->end;
        return true;
    } else if (c == ' ') {
        if (ends_at_space(w))
            return false;
    }
    name_put(name, w->at++, 1);
    return true;
}

/* Drops the return type in front of a name with arguments. */
static void cut_return_type(struct name *name, size_t from)
{
    if (!name->arguments)
        return;
    size_t depth = 0, cut = from;
    for (size_t i = from; i < name->size; i++) {
        char c = name->text[i];
        if (c == '<' || c == '(' || c == '{')
            depth++;
        else if (depth && (c == '>' || c == ')' || c == '}'))
            depth--;
        else if (!depth && c == ' ')
            cut = i + 1;
        else if (!depth && i + 8 <= name->size && memcmp(name->text + i, "operator", 8) == 0 &&
                 (i == from || !words_is_letter(name->text[i - 1])))
            break;
    }
    while (cut < name->size && (name->text[cut] == '*' || name->text[cut] == '&'))
        cut++;
    if (cut == from || cut >= name->size)
        return;
    memmove(name->text + from, name->text + cut, name->size - cut);
    name->size -= cut - from;
}

static void scan(struct name *name, struct words w, int depth)
{
    size_t start = name->start, from = name->size;
    bool arguments = name->arguments;
    name->start = from;
    name->arguments = false;
    while (words_left(&w) && step(name, &w, depth)) {
    }
    cut_return_type(name, from);
    name->start = start;
    name->arguments = arguments;
}

void name_scan(struct name *name, struct words w)
{
    scan(name, w, 0);
}
