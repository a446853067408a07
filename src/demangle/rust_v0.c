/*
 * Names of Rust, version 0 (RFC 2603). Back references repeat a part of the name, so a short one
 * can describe a text of gigabytes: depth and steps are counted, and a full text ends it.
 *
 * Shown as rustc-demangle does with {:#}; with options->hashes as with {}.
 */
#include "demangle/punycode.h"
#include "demangle/rust.h"

#include <stdint.h>
#include <stdio.h>

enum { DEPTH = 300, STEPS = 100000, PUNYCODE_CHARACTERS = 128 };

struct v0 {
    const char *start, *pos, *end;
    struct text *text;
    const struct demangle_options *options;
    unsigned depth, steps;
    unsigned skipping; /* more than 0: read, and not shown */
    uint64_t bound;    /* lifetimes of the binders around */
    bool failed;
};

struct identifier {
    const char *ascii, *punycode;
    size_t ascii_length, punycode_length;
};

static void path(struct v0 *v, bool in_value);
static void type(struct v0 *v);
static void constant(struct v0 *v, bool in_value);

static bool fail(struct v0 *v)
{
    v->failed = true;
    return false;
}

static char look(const struct v0 *v)
{
    return v->pos < v->end ? *v->pos : '\0';
}

static bool take(struct v0 *v, char c)
{
    if (v->failed || look(v) != c || c == '\0')
        return false;
    v->pos++;
    return true;
}

static char next(struct v0 *v)
{
    if (v->failed || v->pos == v->end) {
        v->failed = true;
        return '\0';
    }
    return *v->pos++;
}

static void put(struct v0 *v, const char *string)
{
    if (!v->skipping && !v->failed)
        text_string(v->text, string);
}

static void put_part(struct v0 *v, const char *start, size_t length)
{
    if (!v->skipping && !v->failed)
        text_add(v->text, start, length);
}

static void put_number(struct v0 *v, uint64_t number)
{
    if (!v->skipping && !v->failed)
        text_number(v->text, number);
}

/* Nothing more is read once the text is full: what remains of the name is not looked at. */
static bool enter(struct v0 *v)
{
    if (v->failed || v->text->full)
        return false;
    if (v->depth >= DEPTH || ++v->steps > STEPS)
        return fail(v);
    v->depth++;
    return true;
}

static uint64_t base62(struct v0 *v)
{
    if (take(v, '_'))
        return 0;
    uint64_t value = 0;
    while (!take(v, '_')) {
        char c = next(v);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > (UINT64_MAX - digit) / 62)
            return fail(v);
        value = value * 62 + digit;
    }
    return value == UINT64_MAX ? fail(v) : value + 1;
}

static uint64_t tagged_base62(struct v0 *v, char tag)
{
    if (!take(v, tag))
        return 0;
    uint64_t value = base62(v);
    return value == UINT64_MAX ? fail(v) : value + 1;
}

static struct identifier identifier(struct v0 *v)
{
    struct identifier name = {.ascii = ""};
    bool punycode = take(v, 'u');
    char c = next(v);
    if (c < '0' || c > '9')
        return fail(v), name;
    size_t length = (size_t)(c - '0');
    while (length > 0 && look(v) >= '0' && look(v) <= '9') {
        length = length * 10 + (size_t)(next(v) - '0');
        if (length > DEMANGLE_MAX_INPUT)
            return fail(v), name;
    }
    take(v, '_');
    if (v->failed || length > (size_t)(v->end - v->pos))
        return fail(v), name;
    name.ascii = v->pos;
    name.ascii_length = length;
    v->pos += length;
    if (!punycode)
        return name;
    size_t cut = length;
    while (cut > 0 && name.ascii[cut - 1] != '_')
        cut--;
    name.punycode = name.ascii + cut;
    name.punycode_length = length - cut;
    name.ascii_length = cut > 0 ? cut - 1 : 0;
    if (name.punycode_length == 0)
        fail(v);
    return name;
}

/* False: to be shown as it is. */
static bool characters_of(const struct identifier *name, uint32_t *characters, size_t *count)
{
    if (!punycode_decode(name->ascii, name->ascii_length, name->punycode, name->punycode_length,
                         '0', characters, PUNYCODE_CHARACTERS, count))
        return false;
    for (size_t i = 0; i < *count; i++)
        if (characters[i] >= 0xd800 && characters[i] < 0xe000)
            return false;
    return true;
}

static void put_identifier(struct v0 *v, const struct identifier *name)
{
    uint32_t characters[PUNYCODE_CHARACTERS];
    size_t count;
    if (v->skipping || v->failed)
        return;
    if (name->punycode_length == 0) {
        put_part(v, name->ascii, name->ascii_length);
    } else if (characters_of(name, characters, &count)) {
        for (size_t i = 0; i < count; i++)
            rust_character(v->text, characters[i]);
    } else {
        put(v, "punycode{");
        if (name->ascii_length > 0) {
            put_part(v, name->ascii, name->ascii_length);
            put(v, "-");
        }
        put_part(v, name->punycode, name->punycode_length);
        put(v, "}");
    }
}

/* B: what stands further in front, once more. */
static void back_reference(struct v0 *v, void (*print)(struct v0 *, bool), bool in_value)
{
    const char *here = v->pos - 1;
    uint64_t place = base62(v);
    if (v->failed || place >= (uint64_t)(here - v->start)) {
        fail(v);
        return;
    }
    if (v->skipping)
        return;
    const char *behind = v->pos;
    v->pos = v->start + place;
    print(v, in_value);
    v->pos = behind;
}

static void lifetime_number(struct v0 *v, uint64_t index)
{
    put(v, "'");
    if (index == 0) {
        put(v, "_");
        return;
    }
    if (index > v->bound) {
        fail(v);
        return;
    }
    uint64_t place = v->bound - index;
    char letter = (char)('a' + (place < 26 ? place : 0));
    if (place < 26) {
        put_part(v, &letter, 1);
    } else {
        put(v, "_");
        put_number(v, place);
    }
}

/* Whether items of a list follow; a separator before all but the first. */
static bool more(struct v0 *v, size_t *count, const char *separator)
{
    if (v->failed || v->text->full || take(v, 'E'))
        return false;
    if ((*count)++ > 0)
        put(v, separator);
    return true;
}

/* [G COUNT]: for<'a, 'b>. The count of lifetimes, to be taken off again. */
static uint64_t binder(struct v0 *v)
{
    uint64_t count = tagged_base62(v, 'G');
    if (count > DEMANGLE_MAX_INPUT) {
        fail(v);
        return 0;
    }
    if (count == 0)
        return 0;
    put(v, "for<");
    for (uint64_t i = 0; i < count && !v->failed && !v->text->full; i++) {
        if (i > 0)
            put(v, ", ");
        v->bound++;
        lifetime_number(v, 1);
        count = v->text->full ? i + 1 : count;
    }
    put(v, "> ");
    return count;
}

static void generic_argument(struct v0 *v)
{
    if (take(v, 'L'))
        lifetime_number(v, base62(v));
    else if (take(v, 'K'))
        constant(v, false);
    else
        type(v);
}

static void generic_arguments(struct v0 *v)
{
    size_t count = 0;
    while (more(v, &count, ", "))
        generic_argument(v);
}

static void nested_path(struct v0 *v, bool in_value)
{
    char space = next(v);
    bool special = space >= 'A' && space <= 'Z';
    if (!special && !(space >= 'a' && space <= 'z')) {
        fail(v);
        return;
    }
    path(v, in_value);
    uint64_t disambiguator = tagged_base62(v, 's');
    struct identifier name = identifier(v);
    bool empty = name.ascii_length == 0 && name.punycode_length == 0;
    if (!special) {
        if (!empty)
            put(v, "::");
        put_identifier(v, &name);
        return;
    }
    put(v, "::{");
    if (space == 'C')
        put(v, "closure");
    else if (space == 'S')
        put(v, "shim");
    else
        put_part(v, &space, 1);
    if (!empty)
        put(v, ":");
    put_identifier(v, &name);
    put(v, "#");
    put_number(v, disambiguator);
    put(v, "}");
}

static void crate(struct v0 *v)
{
    uint64_t disambiguator = tagged_base62(v, 's');
    struct identifier name = identifier(v);
    put_identifier(v, &name);
    if (v->options->hashes && disambiguator) {
        char hash[24];
        snprintf(hash, sizeof hash, "[%llx]", (unsigned long long)disambiguator);
        put(v, hash);
    }
}

/* M, X, Y: <type>, <type as trait>. Where an impl stands is not shown. */
static void in_angles(struct v0 *v, char tag)
{
    if (tag != 'Y') {
        tagged_base62(v, 's');
        v->skipping++;
        path(v, false);
        v->skipping--;
    }
    put(v, "<");
    type(v);
    if (tag != 'M') {
        put(v, " as ");
        path(v, false);
    }
    put(v, ">");
}

static void path(struct v0 *v, bool in_value)
{
    if (!enter(v))
        return;
    char tag = next(v);
    switch (tag) {
    case 'C': crate(v); break;
    case 'N': nested_path(v, in_value); break;
    case 'M':
    case 'X':
    case 'Y': in_angles(v, tag); break;
    case 'I': {
        path(v, in_value);
        bool hidden = v->options->style == DEMANGLE_SIMPLIFIED;
        v->skipping += hidden;
        put(v, in_value ? "::<" : "<");
        generic_arguments(v);
        put(v, ">");
        v->skipping -= hidden;
        break;
    }
    case 'B': back_reference(v, path, in_value); break;
    default: fail(v);
    }
    v->depth--;
}

static const char *basic_type(char letter)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

static void function_abi(struct v0 *v)
{
    put(v, "extern \"");
    if (take(v, 'C')) {
        put(v, "C");
    } else {
        struct identifier name = identifier(v);
        if (name.punycode_length > 0)
            fail(v);
        for (size_t i = 0; i < name.ascii_length && !v->failed; i++)
            put_part(v, name.ascii[i] == '_' ? "-" : name.ascii + i, 1);
    }
    put(v, "\" ");
}

static void function(struct v0 *v)
{
    uint64_t lifetimes = binder(v);
    if (take(v, 'U'))
        put(v, "unsafe ");
    if (take(v, 'K'))
        function_abi(v);
    put(v, "fn(");
    size_t count = 0;
    while (more(v, &count, ", "))
        type(v);
    put(v, ")");
    if (!take(v, 'u')) {
        put(v, " -> ");
        type(v);
    }
    v->bound -= lifetimes;
}

/* A trait's path with its < left open, for `Trait<A, Item = B>`. *in_value tells that it is. */
static void open_path(struct v0 *v, bool *open)
{
    if (!enter(v))
        return;
    if (take(v, 'B')) {
        const char *here = v->pos - 1;
        uint64_t place = base62(v);
        if (v->failed || place >= (uint64_t)(here - v->start)) {
            fail(v);
        } else if (!v->skipping) {
            const char *behind = v->pos;
            v->pos = v->start + place;
            open_path(v, open);
            v->pos = behind;
        }
    } else if (take(v, 'I')) {
        path(v, false);
        put(v, "<");
        generic_arguments(v);
        *open = true;
    } else {
        path(v, false);
    }
    v->depth--;
}

static void dyn_trait(struct v0 *v)
{
    bool open = false;
    open_path(v, &open);
    while (take(v, 'p')) {
        put(v, open ? ", " : "<");
        open = true;
        struct identifier name = identifier(v);
        put_identifier(v, &name);
        put(v, " = ");
        if (take(v, 'K'))
            constant(v, false);
        else
            type(v);
    }
    if (open)
        put(v, ">");
}

static void dyn(struct v0 *v)
{
    put(v, "dyn ");
    uint64_t lifetimes = binder(v);
    size_t count = 0;
    while (more(v, &count, " + "))
        dyn_trait(v);
    v->bound -= lifetimes;
    if (v->text->full)
        return;
    if (!take(v, 'L')) {
        fail(v);
        return;
    }
    uint64_t lifetime = base62(v);
    if (lifetime) {
        put(v, " + ");
        lifetime_number(v, lifetime);
    }
}

/* R LOW HIGH, O PATTERN+ E, N: what restricts a type's values. */
static void pattern(struct v0 *v)
{
    if (!enter(v))
        return;
    size_t count = 0;
    switch (next(v)) {
    case 'R':
        constant(v, false);
        put(v, "..=");
        constant(v, false);
        break;
    case 'O':
        while (more(v, &count, " | "))
            pattern(v);
        break;
    case 'N': put(v, "!null"); break;
    default: fail(v);
    }
    v->depth--;
}

static void back_type(struct v0 *v, bool in_value)
{
    (void)in_value;
    type(v);
}

static void reference(struct v0 *v, bool mutable)
{
    put(v, "&");
    if (take(v, 'L')) {
        uint64_t lifetime = base62(v);
        if (lifetime) {
            lifetime_number(v, lifetime);
            put(v, " ");
        }
    }
    if (mutable)
        put(v, "mut ");
    type(v);
}

static void type(struct v0 *v)
{
    if (!enter(v))
        return;
    size_t count = 0;
    char tag = next(v);
    const char *basic = basic_type(tag);
    if (basic)
        put(v, basic);
    else
        switch (tag) {
        case 'R':
        case 'Q': reference(v, tag == 'Q'); break;
        case 'P':
        case 'O':
            put(v, tag == 'P' ? "*const " : "*mut ");
            type(v);
            break;
        case 'A':
        case 'S':
            put(v, "[");
            type(v);
            if (tag == 'A') {
                put(v, "; ");
                constant(v, true);
            }
            put(v, "]");
            break;
        case 'T':
            put(v, "(");
            while (more(v, &count, ", "))
                type(v);
            put(v, count == 1 ? ",)" : ")");
            break;
        case 'F': function(v); break;
        case 'D': dyn(v); break;
        case 'W':
            type(v);
            put(v, " is ");
            pattern(v);
            break;
        case 'B': back_reference(v, back_type, false); break;
        default:
            if (!v->failed) {
                v->pos--;
                path(v, false);
            }
        }
    v->depth--;
}

/* Hexadecimal digits up to '_'. */
static void nibbles(struct v0 *v, const char **digits, size_t *length)
{
    *digits = v->pos;
    while ((look(v) >= '0' && look(v) <= '9') || (look(v) >= 'a' && look(v) <= 'f'))
        v->pos++;
    *length = (size_t)(v->pos - *digits);
    if (!take(v, '_'))
        fail(v);
}

static bool number_of(const char *digits, size_t length, uint64_t *value)
{
    *value = 0;
    while (length > 0 && *digits == '0') {
        digits++;
        length--;
    }
    for (size_t i = 0; i < length; i++)
        *value =
            *value << 4 | (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    return length <= 16;
}

static void put_integer(struct v0 *v, char tag)
{
    const char *digits;
    size_t length;
    uint64_t value;
    nibbles(v, &digits, &length);
    if (v->failed)
        return;
    if (number_of(digits, length, &value)) {
        put_number(v, value);
    } else {
        put(v, "0x");
        put_part(v, digits, length);
    }
    if (v->options->hashes)
        put(v, basic_type(tag));
}

/* One character as Rust would write it between `quote`s. */
static void put_quoted(struct v0 *v, uint64_t code, char quote)
{
    char escape[16];
    const char *simple = code == '\t'   ? "\\t"
                         : code == '\r' ? "\\r"
                         : code == '\n' ? "\\n"
                         : code == '\\' ? "\\\\"
                         : code == 0    ? "\\0"
                                        : NULL;
    if (simple) {
        put(v, simple);
    } else if (code == (unsigned char)quote) {
        put(v, "\\");
        put_part(v, &quote, 1);
    } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
        snprintf(escape, sizeof escape, "\\u{%x}", (unsigned)code);
        put(v, escape);
    } else if (!v->skipping && !v->failed && !rust_character(v->text, (unsigned long)code)) {
        fail(v);
    }
}

static void character(struct v0 *v)
{
    const char *digits;
    size_t length;
    uint64_t code;
    nibbles(v, &digits, &length);
    if (v->failed || !number_of(digits, length, &code) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        fail(v);
        return;
    }
    put(v, "'");
    put_quoted(v, code, '\'');
    put(v, "'");
}

/* The next character of UTF-8 that is written as pairs of digits. */
static bool decode(const char **digits, const char *end, uint64_t *code)
{
    uint64_t byte;
    if (end - *digits < 2)
        return false;
    number_of(*digits, 2, &byte);
    *digits += 2;
    unsigned tail = byte < 0x80 ? 0 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 4;
    if (tail == 4 || byte > 0xf4 || end - *digits < 2 * (ptrdiff_t)tail)
        return false;
    *code = tail ? byte & (0x3fu >> tail) : byte;
    for (unsigned i = 0; i < tail; i++) {
        number_of(*digits, 2, &byte);
        *digits += 2;
        if ((byte & 0xc0) != 0x80)
            return false;
        *code = *code << 6 | (byte & 0x3f);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    return *code >= least[tail];
}

static void string(struct v0 *v)
{
    const char *digits;
    size_t length;
    nibbles(v, &digits, &length);
    if (v->failed || length % 2 != 0) {
        fail(v);
        return;
    }
    put(v, "\"");
    for (const char *end = digits + length; digits < end && !v->failed;) {
        uint64_t code;
        if (decode(&digits, end, &code))
            put_quoted(v, code, '"');
        else
            fail(v);
    }
    put(v, "\"");
}

/* V: a value of a struct or enum. */
static void structure(struct v0 *v)
{
    size_t count = 0;
    path(v, true);
    if (v->text->full)
        return;
    switch (next(v)) {
    case 'U': break;
    case 'T':
        put(v, "(");
        while (more(v, &count, ", "))
            constant(v, true);
        put(v, ")");
        break;
    case 'S':
        put(v, " { ");
        while (more(v, &count, ", ")) {
            tagged_base62(v, 's');
            struct identifier name = identifier(v);
            put_identifier(v, &name);
            put(v, ": ");
            constant(v, true);
        }
        put(v, " }");
        break;
    default: fail(v);
    }
}

/* Constants that are expressions stand in braces, unless they are inside of one already. */
static void expression(struct v0 *v, char tag, bool in_value)
{
    size_t count = 0;
    if (!in_value)
        put(v, "{");
    switch (tag) {
    case 'e':
        put(v, "*");
        string(v);
        break;
    case 'R':
    case 'Q':
        put(v, tag == 'R' ? "&" : "&mut ");
        constant(v, true);
        break;
    case 'A':
    case 'T':
        put(v, tag == 'A' ? "[" : "(");
        while (more(v, &count, ", "))
            constant(v, true);
        put(v, tag == 'A' ? "]" : count == 1 ? ",)" : ")");
        break;
    default: structure(v);
    }
    if (!in_value)
        put(v, "}");
}

static void constant(struct v0 *v, bool in_value)
{
    if (!enter(v))
        return;
    char tag = next(v);
    switch (tag) {
    case 'p': put(v, "_"); break;
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
        if (take(v, 'n'))
            put(v, "-");
        put_integer(v, tag);
        break;
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j': put_integer(v, tag); break;
    case 'b': {
        char bit = next(v);
        if ((bit != '0' && bit != '1') || !take(v, '_'))
            fail(v);
        put(v, bit == '1' ? "true" : "false");
        break;
    }
    case 'c': character(v); break;
    case 'B': back_reference(v, constant, in_value); break;
    case 'R':
        if (take(v, 'e')) {
            string(v);
            break;
        }
        expression(v, tag, in_value);
        break;
    case 'e':
    case 'Q':
    case 'A':
    case 'T':
    case 'V': expression(v, tag, in_value); break;
    default: fail(v);
    }
    v->depth--;
}

bool rust_v0(const char *name, size_t length, const struct demangle_options *options,
             struct text *text, size_t *used)
{
    struct v0 v = {
        .start = name, .pos = name, .end = name + length, .text = text, .options = options};
    path(&v, true);
    if (text->full) { /* shown as cut */
        *used = length;
        return !v.failed;
    }
    if (!v.failed && look(&v) >= 'A' && look(&v) <= 'Z') { /* the crate that instantiated it */
        v.skipping++;
        path(&v, false);
    }
    *used = (size_t)(v.pos - name);
    return !v.failed;
}
