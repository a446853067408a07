/*
 * Constants in Rust's names, version 0: integers, characters, strings, references, arrays, tuples
 * and structs (RFC 2603 with the later encodings of rustc's reference).
 */
#include "demangle/rust_v0.h"

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
        put(v, rust_v0_basic_type(tag));
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
    rust_v0_path(v, true);
    if (v->text->full)
        return;
    switch (next(v)) {
    case 'U': break;
    case 'T':
        put(v, "(");
        while (rust_v0_more(v, &count, ", "))
            rust_v0_constant(v, true);
        put(v, ")");
        break;
    case 'S':
        put(v, " { ");
        while (rust_v0_more(v, &count, ", ")) {
            tagged_base62(v, 's');
            struct identifier name = rust_v0_identifier(v);
            rust_v0_put_identifier(v, &name);
            put(v, ": ");
            rust_v0_constant(v, true);
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
        rust_v0_constant(v, true);
        break;
    case 'A':
    case 'T':
        put(v, tag == 'A' ? "[" : "(");
        while (rust_v0_more(v, &count, ", "))
            rust_v0_constant(v, true);
        put(v, tag == 'A' ? "]" : count == 1 ? ",)" : ")");
        break;
    default: structure(v);
    }
    if (!in_value)
        put(v, "}");
}

void rust_v0_constant(struct v0 *v, bool in_value)
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
    case 'B': rust_v0_back_reference(v, rust_v0_constant, in_value); break;
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
