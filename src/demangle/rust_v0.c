/*
 * Names of Rust, version 0 (RFC 2603). Back references repeat a part of the name, so a short one
 * can describe a text of gigabytes: depth and steps are counted, and a full text ends it.
 *
 * Shown as rustc-demangle does with {:#}; with options->hashes as with {}.
 */
#include "demangle/rust_v0.h"
#include "demangle/punycode.h"

enum { PUNYCODE_CHARACTERS = 128 };

struct identifier rust_v0_identifier(struct v0 *v)
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

void rust_v0_put_identifier(struct v0 *v, const struct identifier *name)
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
void rust_v0_back_reference(struct v0 *v, void (*print)(struct v0 *, bool), bool in_value)
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
bool rust_v0_more(struct v0 *v, size_t *count, const char *separator)
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
        rust_v0_constant(v, false);
    else
        rust_v0_type(v);
}

static void generic_arguments(struct v0 *v)
{
    size_t count = 0;
    while (rust_v0_more(v, &count, ", "))
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
    rust_v0_path(v, in_value);
    uint64_t disambiguator = tagged_base62(v, 's');
    struct identifier name = rust_v0_identifier(v);
    bool empty = name.ascii_length == 0 && name.punycode_length == 0;
    if (!special) {
        if (!empty)
            put(v, "::");
        rust_v0_put_identifier(v, &name);
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
    rust_v0_put_identifier(v, &name);
    put(v, "#");
    put_number(v, disambiguator);
    put(v, "}");
}

static void crate(struct v0 *v)
{
    uint64_t disambiguator = tagged_base62(v, 's');
    struct identifier name = rust_v0_identifier(v);
    rust_v0_put_identifier(v, &name);
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
        rust_v0_path(v, false);
        v->skipping--;
    }
    put(v, "<");
    rust_v0_type(v);
    if (tag != 'M') {
        put(v, " as ");
        rust_v0_path(v, false);
    }
    put(v, ">");
}

void rust_v0_path(struct v0 *v, bool in_value)
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
        rust_v0_path(v, in_value);
        bool hidden = v->options->style == DEMANGLE_SIMPLIFIED;
        v->skipping += hidden;
        put(v, in_value ? "::<" : "<");
        generic_arguments(v);
        put(v, ">");
        v->skipping -= hidden;
        break;
    }
    case 'B': rust_v0_back_reference(v, rust_v0_path, in_value); break;
    default: fail(v);
    }
    v->depth--;
}

const char *rust_v0_basic_type(char letter)
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
        struct identifier name = rust_v0_identifier(v);
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
    while (rust_v0_more(v, &count, ", "))
        rust_v0_type(v);
    put(v, ")");
    if (!take(v, 'u')) {
        put(v, " -> ");
        rust_v0_type(v);
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
        rust_v0_path(v, false);
        put(v, "<");
        generic_arguments(v);
        *open = true;
    } else {
        rust_v0_path(v, false);
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
        struct identifier name = rust_v0_identifier(v);
        rust_v0_put_identifier(v, &name);
        put(v, " = ");
        if (take(v, 'K'))
            rust_v0_constant(v, false);
        else
            rust_v0_type(v);
    }
    if (open)
        put(v, ">");
}

static void dyn(struct v0 *v)
{
    put(v, "dyn ");
    uint64_t lifetimes = binder(v);
    size_t count = 0;
    while (rust_v0_more(v, &count, " + "))
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
        rust_v0_constant(v, false);
        put(v, "..=");
        rust_v0_constant(v, false);
        break;
    case 'O':
        while (rust_v0_more(v, &count, " | "))
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
    rust_v0_type(v);
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
    rust_v0_type(v);
}

void rust_v0_type(struct v0 *v)
{
    if (!enter(v))
        return;
    size_t count = 0;
    char tag = next(v);
    const char *basic = rust_v0_basic_type(tag);
    if (basic)
        put(v, basic);
    else
        switch (tag) {
        case 'R':
        case 'Q': reference(v, tag == 'Q'); break;
        case 'P':
        case 'O':
            put(v, tag == 'P' ? "*const " : "*mut ");
            rust_v0_type(v);
            break;
        case 'A':
        case 'S':
            put(v, "[");
            rust_v0_type(v);
            if (tag == 'A') {
                put(v, "; ");
                rust_v0_constant(v, true);
            }
            put(v, "]");
            break;
        case 'T':
            put(v, "(");
            while (rust_v0_more(v, &count, ", "))
                rust_v0_type(v);
            put(v, count == 1 ? ",)" : ")");
            break;
        case 'F': function(v); break;
        case 'D': dyn(v); break;
        case 'W':
            rust_v0_type(v);
            put(v, " is ");
            pattern(v);
            break;
        case 'B': rust_v0_back_reference(v, back_type, false); break;
        default:
            if (!v->failed) {
                v->pos--;
                rust_v0_path(v, false);
            }
        }
    v->depth--;
}

bool rust_v0(const char *name, size_t length, const struct demangle_options *options,
             struct text *text, size_t *used)
{
    struct v0 v = {
        .start = name, .pos = name, .end = name + length, .text = text, .options = options};
    rust_v0_path(&v, true);
    if (text->full) { /* shown as cut */
        *used = length;
        return !v.failed;
    }
    if (!v.failed && look(&v) >= 'A' && look(&v) <= 'Z') { /* the crate that instantiated it */
        v.skipping++;
        rust_v0_path(&v, false);
    }
    *used = (size_t)(v.pos - name);
    return !v.failed;
}
