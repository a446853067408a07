/*
 * A function's name without what differs from build to build: docs/grouping.md, "Names".
 *
 * The same function of the same source must come out the same whichever compiler, optimisation,
 * mangling scheme and demangler were at work, and two functions that people would tell apart must
 * not. So arguments, template and generic arguments, return types, numbers of lambdas, closures and
 * blocks, hashes and the marks of clones go; scopes and base names stay.
 *
 * Names are foreign: one pass, never deeper than DEPTH_MAX, the result bounded by GROUP_NAME_MAX
 * and always printable UTF-8.
 */
#include "base/utf8.h"
#include "collector/grouping_internal.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 4 };

struct words { /* a piece of the input */
    const char *at, *end;
};

struct name { /* the result as it grows */
    char text[GROUP_NAME_MAX + 1];
    size_t size;
    size_t start;   /* where the name begins, after a return type */
    bool arguments; /* an argument list was seen: what stood before a space was the return type */
};

static void put(struct name *name, const char *text, size_t size)
{
    if (size > GROUP_NAME_MAX - name->size)
        size = GROUP_NAME_MAX - name->size;
    memcpy(name->text + name->size, text, size);
    name->size += size;
}

static void put_text(struct name *name, const char *text)
{
    put(name, text, strlen(text));
}

static bool ends_with(const struct name *name, const char *text)
{
    size_t size = strlen(text);
    return name->size >= name->start + size &&
           memcmp(name->text + name->size - size, text, size) == 0;
}

static size_t left(const struct words *w)
{
    return (size_t)(w->end - w->at);
}

static bool at_text(const struct words *w, const char *text)
{
    size_t size = strlen(text);
    return left(w) >= size && memcmp(w->at, text, size) == 0;
}

static bool skip_text(struct words *w, const char *text)
{
    if (!at_text(w, text))
        return false;
    w->at += strlen(text);
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *find(const char *at, const char *end, const char *text)
{
    return memmem(at, (size_t)(end - at), text, strlen(text));
}

/* Where the bracket that `at` stands on is closed; NULL: nowhere. An arrow closes nothing. */
static const char *closing(const char *at, const char *end)
{
    char open = *at, close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == open)
            depth++;
        else if (*at == close && !(close == '>' && at[-1] == '-') && --depth == 0)
            return at;
    }
    return NULL;
}

/* --- The end of a name: clones, hashes, versions -----------------------------------------------
 */

static bool all_digits(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static bool all_hex(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!isxdigit((unsigned char)*at))
            return false;
    return true;
}

static bool is_one_of(const char *at, const char *end, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)(end - at) == strlen(words[i]) && memcmp(at, words[i], (size_t)(end - at)) == 0)
            return true;
    return false;
}

static const char *last_of(const struct words *w, char c)
{
    for (const char *at = w->end; at > w->at; at--)
        if (at[-1] == c)
            return at - 1;
    return NULL;
}

/* foo.part.0.cold -> foo. Where points divide names (Swift, Go, JavaScript) a word alone is no mark
 * but for those that nobody calls a function. */
static bool cut_clone(struct words *w)
{
    static const char *const alone[] = {"cold", "localalias"};
    static const char *const numbered[] = {"part", "isra",  "constprop", "lto_priv",
                                           "llvm", "clone", "__uniq",    "__part"};
    const char *point = last_of(w, '.');
    if (!point || point == w->at)
        return false;
    bool number = point + 1 < w->end && all_digits(point + 1, w->end);
    if (!number && !is_one_of(point + 1, w->end, alone, sizeof alone / sizeof *alone))
        return false;
    w->end = point;
    point = number ? last_of(w, '.') : NULL;
    if (point && point > w->at &&
        is_one_of(point + 1, w->end, numbered, sizeof numbered / sizeof *numbered))
        w->end = point;
    return true;
}

/* " [clone .cold]", " (.llvm.123)": as demanglers write the same. */
static bool cut_shown_clone(struct words *w)
{
    static const char *const marks[] = {" [clone ", " (.", " [."};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *mark = find(w->at, w->end, marks[i]);
        if (mark && mark > w->at) {
            w->end = mark;
            return true;
        }
    }
    return false;
}

/* "::h0123456789abcdef" of Rust, "@plt", "@@GLIBC_2.2.5", " + 123", "+0x1f". */
static bool cut_tail(struct words *w)
{
    const char *hash = left(w) > 19 ? w->end - 19 : NULL;
    if (hash && memcmp(hash, "::h", 3) == 0 && all_hex(hash + 3, w->end)) {
        w->end = hash;
        return true;
    }
    const char *sign = last_of(w, '@');
    if (sign && sign > w->at && !find(sign, w->end, " ") && sign[-1] != ' ') {
        w->end = sign[-1] == '@' ? sign - 1 : sign;
        return w->end > w->at;
    }
    const char *plus = last_of(w, '+');
    if (plus && plus > w->at && plus + 1 < w->end) {
        const char *number = plus + 1;
        while (number < w->end && *number == ' ')
            number++;
        bool hex = w->end - number > 2 && number[0] == '0' && number[1] == 'x';
        if (number < w->end && (hex ? all_hex(number + 2, w->end) : all_digits(number, w->end))) {
            w->end = plus;
            return true;
        }
    }
    return false;
}

static void trim(struct words *w)
{
    while (w->at < w->end && isspace((unsigned char)*w->at))
        w->at++;
    while (w->end > w->at && isspace((unsigned char)w->end[-1]))
        w->end--;
}

static void cut_marks(struct words *w)
{
    do
        trim(w);
    while (cut_shown_clone(w) || cut_tail(w) || cut_clone(w));
}

/* --- Objective-C -------------------------------------------------------------------------------
 */

/* -[Class(Category) selector:] -> -[Class selector:] */
static void put_method(struct name *name, const struct words *w)
{
    const char *stop = memchr(w->at, ']', left(w));
    const char *end = stop ? stop + 1 : w->end;
    const char *open = memchr(w->at, '(', (size_t)(end - w->at));
    const char *close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;
    if (!close) {
        put(name, w->at, (size_t)(end - w->at));
        return;
    }
    put(name, w->at, (size_t)(open - w->at));
    put(name, close + 1, (size_t)(end - close - 1));
}

static bool is_method(const struct words *w)
{
    return at_text(w, "-[") || at_text(w, "+[");
}

/* __41-[Shop load:]_block_invoke_2 -> -[Shop load:] block; __main_block_invoke -> main block */
static bool put_block(struct name *name, const struct words *w)
{
    const char *mark = find(w->at, w->end, "_block_invoke");
    if (!at_text(w, "__") || !mark || mark <= w->at + 2)
        return false;
    struct words inner = {w->at + 2, mark};
    struct words method = inner;
    while (method.at < method.end && isdigit((unsigned char)*method.at))
        method.at++;
    if (is_method(&method))
        put_method(name, &method);
    else
        put(name, inner.at, left(&inner));
    put_text(name, " block");
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
    if (!at_text(w, word))
        return false;
    const char *of = find(w->at, w->end, "> of ");
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
        const char *close = closing(rest.at, rest.end);
        if (!close || !all_digits(rest.at + 1, close))
            return false;
        rest.at = close + 1;
        trim(&rest);
    }
    if (!skip_text(&rest, "suspend resume partial function for ") &&
        !skip_text(&rest, "await resume partial function for "))
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
        if (skip_text(w, prefixes[i]))
            return true;
    if (skip_to_of(w, "generic specialization <") ||
        skip_to_of(w, "generic not re-abstracted specialization <") ||
        skip_to_of(w, "generic partial specialization <") ||
        skip_to_of(w, "function signature specialization <") || skip_resume(w))
        return true;
    if (!at_text(w, "closure #") && !at_text(w, "implicit closure #"))
        return false;
    const char *in = top_level_in(w);
    if (!in)
        return false;
    *closure = true;
    w->at = in + 4;
    return true;
}

/* --- C++, Rust, Swift: the name itself ----------------------------------------------------------
 */

static void scan(struct name *name, struct words w, int depth);

/* "operator<<" and its like: its signs are no brackets. */
static bool put_operator(struct name *name, struct words *w)
{
    static const char *const signs[] = {
        "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",  "+",  "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  ",",
    };
    if (!at_text(w, "operator") || (name->size && is_word(name->text[name->size - 1])) ||
        (left(w) > 8 && is_word(w->at[8])))
        return false;
    w->at += 8;
    put_text(name, "operator");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (skip_text(w, signs[i])) {
            put_text(name, signs[i]);
            return true;
        }
    /* "operator new[]", "operator bool", "operator\"\" _km": up to the arguments. */
    const char *open = memchr(w->at, '(', left(w));
    const char *end = open ? open : w->end;
    put(name, w->at, (size_t)(end - w->at));
    w->at = end;
    return true;
}

static void put_mark(struct name *name, const char *mark)
{
    size_t size = strlen(mark);
    /* Closures in closures are one: how they nest differs between compilers. */
    if (ends_with(name, "::") && name->size >= name->start + size + 2 &&
        memcmp(name->text + name->size - 2 - size, mark, size) == 0) {
        name->size -= 2;
        return;
    }
    put(name, mark, size);
}

/* {lambda(int)#1}, {{closure}}, {closure#0}, {impl#3}, {anonymous} */
static bool put_braces(struct name *name, struct words *w)
{
    const char *close = closing(w->at, w->end), *at = w->at;
    if (!close)
        return false;
    while (at < close && *at == '{')
        at++;
    const char *word = at;
    while (at < close && (is_word(*at) || *at == '.'))
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
    const char *close = left(w) > 1 ? memchr(w->at + 1, '\'', left(w) - 1) : NULL;
    if (!close)
        return false;
    bool lambda = w->at + 7 <= w->end && memcmp(w->at + 1, "lambda", 6) == 0;
    put_mark(name, lambda ? "{lambda}" : "{unnamed}");
    w->at = close + 1;
    const char *end = lambda && left(w) && *w->at == '(' ? closing(w->at, w->end) : NULL;
    if (end)
        w->at = end + 1;
    return true;
}

/* Template and generic arguments: f<int> -> f<T>, f::<u32> -> f; but <A as B>::f stays. */
static bool put_angle(struct name *name, struct words *w, int depth)
{
    const char *close = closing(w->at, w->end);
    if (!close)
        return false;
    struct words inner = {w->at + 1, close};
    bool begins = name->size == name->start || ends_with(name, "::");
    if (begins && at_text(&inner, "lambda")) {
        put_mark(name, "{lambda}");
    } else if (depth < DEPTH_MAX && begins &&
               (at_text(&inner, "impl ") || find(inner.at, inner.end, " as ") ||
                name->size == name->start)) {
        put_text(name, "<");
        scan(name, inner, depth + 1);
        put_text(name, ">");
    } else if (ends_with(name, "::")) {
        name->size -= 2;
    } else {
        put_text(name, "<T>");
    }
    w->at = close + 1;
    return true;
}

/* What may stand between arguments and "::": a function in which another is. */
static bool skip_qualifiers(struct words *w)
{
    struct words rest = *w;
    while (skip_text(&rest, " const") || skip_text(&rest, " volatile") || skip_text(&rest, " &&") ||
           skip_text(&rest, " &") || skip_text(&rest, " noexcept")) {
    }
    if (!at_text(&rest, "::"))
        return false;
    *w = rest;
    return true;
}

enum paren { PAREN_ON, PAREN_END, PAREN_TEXT };

static enum paren put_paren(struct name *name, struct words *w)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *close = closing(w->at, w->end);
    if (!close)
        return PAREN_TEXT;
    if (skip_text(w, anonymous)) {
        put_text(name, anonymous);
        return PAREN_ON;
    }
    struct words inner = {w->at + 1, close};
    if (at_text(&inner, "extension in ") && close + 1 < w->end && close[1] == ':') {
        w->at = close + 2;
        return PAREN_ON;
    }
    const char *in = find(inner.at, inner.end, " in _");
    if (in && !find(inner.at, in, " ")) { /* Swift: (name in _FILEHASH) */
        put(name, inner.at, (size_t)(in - inner.at));
        w->at = close + 1;
        return PAREN_ON;
    }
    if (name->size == name->start)
        return PAREN_TEXT;
    w->at = close + 1;
    if (at_text(w, ".") || at_text(w, "::") || skip_qualifiers(w))
        return PAREN_ON;
    name->arguments = true;
    return PAREN_END;
}

/* std::__1::, std::__cxx11::, std::__ndk1:: are std:: */
static bool skip_inline_namespace(const struct name *name, struct words *w)
{
    struct words rest = *w;
    if (!ends_with(name, "std::") || !skip_text(&rest, "__"))
        return false;
    if (skip_text(&rest, "cxx11::") || skip_text(&rest, "ndk1::") || skip_text(&rest, "Cr::")) {
        *w = rest;
        return true;
    }
    const char *digits = rest.at;
    while (left(&rest) && isdigit((unsigned char)*rest.at))
        rest.at++;
    if (rest.at == digits || !skip_text(&rest, "::"))
        return false;
    *w = rest;
    return true;
}

static bool put_numbered_lambda(struct name *name, struct words *w)
{
    if (!at_text(w, "$_") || !ends_with(name, "::"))
        return false;
    put_mark(name, "{lambda}");
    for (w->at += 2; left(w) && isdigit((unsigned char)*w->at); w->at++) {
    }
    return true;
}

/* What ends a name at a space: Swift's results and types. */
static bool ends_at_space(const struct words *w)
{
    return at_text(w, " -> ") || at_text(w, " : ") || at_text(w, " async ") ||
           at_text(w, " throws ") || at_text(w, " in conformance ") || at_text(w, " where ");
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
        const char *close = closing(w->at, w->end); /* [abi:cxx11], core[8f3a51] */
        w->at = close ? close + 1 : w->end;
        return true;
    } else if (c == ' ') {
        if (ends_at_space(w))
            return false;
    }
    put(name, w->at++, 1);
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
                 (i == from || !is_word(name->text[i - 1])))
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
    while (left(&w) && step(name, &w, depth)) {
    }
    cut_return_type(name, from);
    name->start = start;
    name->arguments = arguments;
}

static void cut_end(struct name *name, const char *text)
{
    if (ends_with(name, text) && name->size > strlen(text))
        name->size -= strlen(text);
}

/* *foo /app/shop.js:12:3 -> foo */
static void cut_script(struct words *w)
{
    while (left(w) && strchr("*~^+", *w->at))
        w->at++;
    const char *space = memchr(w->at, ' ', left(w));
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
    if (!left(w) || is_one_of(w->at, w->end, words, sizeof words / sizeof *words))
        return true;
    return left(w) > 2 && w->at[0] == '0' && w->at[1] == 'x' && all_hex(w->at + 2, w->end);
}

static void normalise(struct name *name, struct words w)
{
    bool closure = false,
         script = at_text(&w, "LazyCompile:") || at_text(&w, "Function:") || at_text(&w, "JS:");
    if (put_block(name, &w))
        return;
    while (left(&w) && skip_prefix(&w, &closure))
        trim(&w);
    if (is_method(&w)) {
        bool block = left(&w) > 6 && memcmp(w.end - 6, " block", 6) == 0; /* normalised already */
        put_method(name, &w);
        put_text(name, block ? " block" : "");
        return;
    }
    if (put_block(name, &w))
        return;
    if (script)
        cut_script(&w);
    if (at_text(&w, "reabstraction thunk helper") || at_text(&w, "thunk for @") ||
        at_text(&w, "outlined ")) { /* the compiler's own: types follow */
        put_text(name, at_text(&w, "outlined ") ? "outlined" : "thunk");
        return;
    }
    if (closure)
        put_text(name, "closure in ");
    scan(name, w, 0);
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
    trim(&w);
    if (is_nothing(&w))
        return NULL;
    cut_marks(&w);
    if (is_nothing(&w))
        return NULL;
    struct name name;
    name.size = name.start = 0;
    name.arguments = false;
    normalise(&name, w);
    while (name.size && name.text[name.size - 1] == ' ')
        name.size--;
    if (!name.size)
        put(&name, w.at, left(&w));
    name.text[name.size] = '\0';
    const char *text = printable(&name, arena);
    *failed = *failed || !text;
    return text && *text ? text : NULL;
}

const char *group_image_name(const char *image, struct arena *arena, bool *failed)
{
    struct words w = {image, image + strlen(image)};
    const char *slash = last_of(&w, '/');
    if (slash)
        w.at = slash + 1;
    const char *so = find(w.at, w.end, ".so.");
    if (so)
        w.end = so + 3;
    struct name name;
    name.size = name.start = 0;
    put(&name, w.at, left(&w));
    name.text[name.size] = '\0';
    const char *text = printable(&name, arena);
    *failed = *failed || !text;
    return text ? text : "";
}
