/*
 * A function's name without what differs from build to build: docs/grouping.md, "Names".
 *
 * The same function of the same source must come out the same whichever compiler, optimisation,
 * mangling scheme and demangler were at work, and two functions that people would tell apart must
 * not. So arguments, template and generic arguments, return types, numbers of lambdas, closures and
 * blocks, hashes and the marks of clones go; scopes and base names stay.
 *
 * Names are foreign: one pass, the result bounded by GROUP_NAME_MAX and always printable UTF-8.
 */
#include "base/utf8.h"
#include "collector/grouping_text.h"

#include <ctype.h>
#include <string.h>

/* --- Objective-C -------------------------------------------------------------------------------
 */

/* -[Class(Category) selector:] -> -[Class selector:] */
static void put_method(struct name *name, const struct words *w)
{
    const char *stop = memchr(w->at, ']', words_left(w));
    const char *end = stop ? stop + 1 : w->end;
    const char *open = memchr(w->at, '(', (size_t)(end - w->at));
    const char *close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;
    if (!close) {
        name_put(name, w->at, (size_t)(end - w->at));
        return;
    }
    name_put(name, w->at, (size_t)(open - w->at));
    name_put(name, close + 1, (size_t)(end - close - 1));
}

static bool is_method(const struct words *w)
{
    return words_at(w, "-[") || words_at(w, "+[");
}

/* __41-[Shop load:]_block_invoke_2 -> -[Shop load:] block; __main_block_invoke -> main block */
static bool put_block(struct name *name, const struct words *w)
{
    const char *mark = words_find(w->at, w->end, "_block_invoke");
    if (!words_at(w, "__") || !mark || mark <= w->at + 2)
        return false;
    struct words inner = {w->at + 2, mark};
    struct words method = inner;
    while (method.at < method.end && isdigit((unsigned char)*method.at))
        method.at++;
    if (is_method(&method))
        put_method(name, &method);
    else
        name_put(name, inner.at, words_left(&inner));
    name_put_text(name, " block");
    return true;
}

/* --- Swift -------------------------------------------------------------------------------------
 */

/* The first " in " outside of brackets. */
static const char *top_level_in(const struct words *w)
{
    long depth = 0;
    for (const char *at = w->at; at + 4 <= w->end; at++) {
        if (strchr("(<[{", *at))
            depth++;
        else if (strchr(")]}", *at) || (*at == '>' && at > w->at && at[-1] != '-'))
            depth--;
        else if (depth <= 0 && memcmp(at, " in ", 4) == 0)
            return at;
    }
    return NULL;
}

/* WORD ... of REST: to the REST; "generic specialization <A, B> of f". */
static bool skip_to_of(struct words *w, const char *word)
{
    if (!words_at(w, word))
        return false;
    const char *of = words_find(w->at, w->end, "> of ");
    if (!of)
        return false;
    w->at = of + 5;
    return true;
}

/* "(1) suspend resume partial function for f" */
static bool skip_resume(struct words *w)
{
    struct words rest = *w;
    if (*rest.at == '(') {
        const char *close = words_closing(rest.at, rest.end);
        if (!close || !words_all_digits(rest.at + 1, close))
            return false;
        rest.at = close + 1;
        words_trim(&rest);
    }
    if (!words_skip(&rest, "suspend resume partial function for ") &&
        !words_skip(&rest, "await resume partial function for "))
        return false;
    *w = rest;
    return true;
}

/* Takes what a compiler put before a name. Whether something was taken; *closure: it was one. */
static bool skip_prefix(struct words *w, bool *closure)
{
    static const char *const prefixes[] = {
        "@objc ",
        "@nonobjc ",
        "merged ",
        "specialized ",
        "partial apply forwarder for ",
        "partial apply for ",
        "dispatch thunk of ",
        "static ",
        "async function pointer to ",
        "default override of ",
        "non-virtual thunk to ",
        "virtual thunk to ",
        "covariant return thunk to ",
        "vtable thunk for ",
        "protocol witness for ",
        "override ",
        "curry thunk of ",
        "distributed thunk ",
        "back deployment thunk for ",
        "LazyCompile:",
        "Function:",
        "JS:",
        "Script:",
        "Eval:",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (words_skip(w, prefixes[i]))
            return true;
    if (skip_to_of(w, "generic specialization <") ||
        skip_to_of(w, "generic not re-abstracted specialization <") ||
        skip_to_of(w, "generic partial specialization <") ||
        skip_to_of(w, "function signature specialization <") || skip_resume(w))
        return true;
    if (!words_at(w, "closure #") && !words_at(w, "implicit closure #"))
        return false;
    const char *in = top_level_in(w);
    if (!in)
        return false;
    *closure = true;
    w->at = in + 4;
    return true;
}

static void cut_end(struct name *name, const char *text)
{
    if (name_ends_with(name, text) && name->size > strlen(text))
        name->size -= strlen(text);
}

/* *foo /app/shop.js:12:3 -> foo */
static void cut_script(struct words *w)
{
    while (words_left(w) && strchr("*~^+", *w->at))
        w->at++;
    const char *space = memchr(w->at, ' ', words_left(w));
    if (space && space > w->at)
        w->end = space;
}

/* --- All of it ----------------------------------------------------------------------------------
 */

static bool is_nothing(const struct words *w)
{
    static const char *const words[] = {"<redacted>",
                                        "<unknown>",
                                        "???",
                                        "??",
                                        "?",
                                        "<unsymbolicated>",
                                        "(null)",
                                        "unknown",
                                        "<no name>",
                                        "[unknown]",
                                        "<signal handler called>",
                                        "<compiler-generated>"};
    if (!words_left(w) || words_is_one_of(w->at, w->end, words, sizeof words / sizeof *words))
        return true;
    return words_left(w) > 2 && w->at[0] == '0' && w->at[1] == 'x' &&
           words_all_hex(w->at + 2, w->end);
}

static void normalise(struct name *name, struct words w)
{
    bool closure = false,
         script = words_at(&w, "LazyCompile:") || words_at(&w, "Function:") || words_at(&w, "JS:");
    if (put_block(name, &w))
        return;
    while (words_left(&w) && skip_prefix(&w, &closure))
        words_trim(&w);
    if (is_method(&w)) {
        bool block =
            words_left(&w) > 6 && memcmp(w.end - 6, " block", 6) == 0; /* normalised already */
        put_method(name, &w);
        name_put_text(name, block ? " block" : "");
        return;
    }
    if (put_block(name, &w))
        return;
    if (script)
        cut_script(&w);
    if (words_at(&w, "reabstraction thunk helper") || words_at(&w, "thunk for @") ||
        words_at(&w, "outlined ")) { /* the compiler's own: types follow */
        name_put_text(name, words_at(&w, "outlined ") ? "outlined" : "thunk");
        return;
    }
    if (closure)
        name_put_text(name, "closure in ");
    name_scan(name, w);
    cut_end(name, "::operator()");
    cut_end(name, "::operator()<T>");
}

/* Printable UTF-8 out of anything. */
static char *printable(const struct name *name, struct arena *arena)
{
    size_t room = name->size * 3 + 1;
    char *text = arena_take(arena, room);
    if (!text)
        return NULL;
    utf8_repair(name->text, text, room);
    for (char *at = text; *at;) {
        size_t size = utf8_length(at);
        if (utf8_is_control(at))
            memset(at, '?', size);
        at += size ? size : 1;
    }
    return text;
}

const char *group_name(const char *function, struct arena *arena, bool *failed)
{
    if (!function)
        return NULL;
    struct words w = {function, function + strlen(function)};
    words_trim(&w);
    if (is_nothing(&w))
        return NULL;
    name_cut_marks(&w);
    if (is_nothing(&w))
        return NULL;
    struct name name;
    name.size = name.start = 0;
    name.arguments = false;
    normalise(&name, w);
    while (name.size && name.text[name.size - 1] == ' ')
        name.size--;
    if (!name.size)
        name_put(&name, w.at, words_left(&w));
    name.text[name.size] = '\0';
    const char *text = printable(&name, arena);
    *failed = *failed || !text;
    return text && *text ? text : NULL;
}

const char *group_image_name(const char *image, struct arena *arena, bool *failed)
{
    struct words w = {image, image + strlen(image)};
    const char *slash = words_last_of(&w, '/');
    if (slash)
        w.at = slash + 1;
    const char *so = words_find(w.at, w.end, ".so.");
    if (so)
        w.end = so + 3;
    struct name name;
    name.size = name.start = 0;
    name_put(&name, w.at, words_left(&w));
    name.text[name.size] = '\0';
    const char *text = printable(&name, arena);
    *failed = *failed || !text;
    return text ? text : "";
}
