/*
 * Keys of versions: versions.h. A key is
 *
 *     1  date                                            without numbers
 *     2  line 0  numbers 0  stage  words 0  build  date  with numbers
 *
 * A number is the count of its digits + 1 and the digits, so that any length fits; a word is 2, its
 * bytes in lower case and 0; a number among words follows a 1 (numbers sort before words).
 */
#include "collector/versions.h"

#include <ctype.h>
#include <string.h>

enum { TEXT_MAX = 255 };
enum { KIND_DATED = 1, KIND_NUMBERED };
enum { STAGE_BEFORE = 1, STAGE_RELEASE, STAGE_AFTER };
enum { BUILD_NONE = 1, BUILD_DATED, BUILD_NUMBERED };
enum { TOKEN_END, TOKEN_NUMBER, TOKEN_WORD };

struct span_text {
    const char *at;
    size_t size;
};

static void put(struct version_order *o, unsigned byte)
{
    if (o->size < VERSION_KEY_SIZE)
        o->key[o->size++] = (uint8_t)byte;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || ((unsigned char)c & 0x80);
}

static size_t digits_of(struct span_text t)
{
    size_t count = 0;
    while (count < t.size && is_digit(t.at[count]))
        count++;
    return count;
}

static struct span_text behind(struct span_text t, size_t size)
{
    return (struct span_text){t.at + size, t.size - size};
}

static void put_number(struct version_order *o, struct span_text t, size_t digits)
{
    while (digits && *t.at == '0') {
        t = behind(t, 1);
        digits--;
    }
    put(o, (unsigned)digits + 1);
    for (size_t i = 0; i < digits; i++)
        put(o, (unsigned char)t.at[i]);
}

/* Numbers and words of the rest, whatever stands between them. */
static void put_words(struct version_order *o, struct span_text t)
{
    while (t.size) {
        size_t size = digits_of(t);
        if (size) {
            put(o, TOKEN_NUMBER);
            put_number(o, t, size);
        } else {
            while (size < t.size && is_letter(t.at[size]))
                size++;
            if (size) {
                put(o, TOKEN_WORD);
                for (size_t i = 0; i < size; i++)
                    put(o, (unsigned)tolower((unsigned char)t.at[i]));
                put(o, 0);
            }
        }
        t = behind(t, size ? size : 1);
    }
    put(o, TOKEN_END);
}

static void put_date(struct version_order *o, int64_t ms)
{
    uint64_t value = (uint64_t)ms ^ UINT64_C(1) << 63; /* negative ones first */
    for (int shift = 56; shift >= 0; shift -= 8)
        put(o, (unsigned)(value >> shift & 255));
}

/* --- words that mean something --- */

static bool same_word(struct span_text t, const char *word)
{
    size_t size = strlen(word);
    if (t.size != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (tolower((unsigned char)t.at[i]) != word[i])
            return false;
    return true;
}

static bool is_one_of(struct span_text t, const char *const *words)
{
    for (; *words; words++)
        if (same_word(t, *words))
            return true;
    return false;
}

/* The word at the beginning, and whether a list has one anywhere. */
static size_t word_size(struct span_text t)
{
    size_t size = 0;
    while (size < t.size && is_letter(t.at[size]))
        size++;
    return size;
}

static const char *const before_words[] = {
    "alpha", "beta",       "rc",      "pre",      "preview",   "prerelease",   "dev",
    "debug", "snapshot",   "nightly", "canary",   "candidate", "unstable",     "testing",
    "eap",   "testflight", "adhoc",   "internal", "insider",   "experimental", NULL};
static const char *const short_words[] = {"a", "b", "c", "m", NULL}; /* right behind a number */
static const char *const number_words[] = {"v", "version", "ver", "release", "r", "rel", NULL};

static bool has_before_word(struct span_text t)
{
    while (t.size) {
        size_t size = word_size(t);
        if (size && is_one_of((struct span_text){t.at, size}, before_words))
            return true;
        t = behind(t, size ? size : 1);
    }
    return false;
}

/* 7 to 40 digits of a commit: both letters and digits, nothing in between. */
static bool is_hash(struct span_text t)
{
    bool letter = false, digit = false;
    if (t.size && (*t.at == 'g' || *t.at == 'G') && t.size > 7)
        t = behind(t, 1);
    if (t.size < 7 || t.size > 40)
        return false;
    for (size_t i = 0; i < t.size; i++) {
        if (is_digit(t.at[i]))
            digit = true;
        else if (t.at[i] >= 'a' && t.at[i] <= 'f')
            letter = true;
        else
            return false;
    }
    return letter && digit;
}

/* --- the parts of a version --- */

static struct span_text trimmed(const char *text)
{
    struct span_text t = {text, strnlen(text, TEXT_MAX)};
    while (t.size && isspace((unsigned char)*t.at))
        t = behind(t, 1);
    while (t.size && isspace((unsigned char)t.at[t.size - 1]))
        t.size--;
    return t;
}

/* What stands before the first number: the line, but for words that mean something. False: that is
 * no version with numbers. */
static bool read_line(struct version_order *o, struct span_text t, struct span_text *word)
{
    size_t used = 0;
    while (t.size) {
        size_t size = word_size(t);
        struct span_text one = {t.at, size};
        bool last = size == t.size || !word_size(behind(t, size));
        if (size && is_one_of(one, before_words))
            *word = one;
        else if (size && !(last && is_one_of(one, number_words))) {
            if (used + size + 2 > VERSION_LINE_SIZE)
                return false;
            if (used)
                o->line[used++] = '-';
            for (size_t i = 0; i < size; i++)
                o->line[used++] = (char)tolower((unsigned char)one.at[i]);
        }
        t = behind(t, size ? size : 1);
    }
    o->line[used] = 0;
    return true;
}

/* "-5-gabc1234" of git describe: five commits later, and no release. */
static bool is_described(struct span_text t, struct span_text *commits)
{
    if (!t.size || *t.at != '-')
        return false;
    t = behind(t, 1);
    size_t digits = digits_of(t), hex = 0;
    if (!digits || t.size < digits + 2 || t.at[digits] != '-' || t.at[digits + 1] != 'g')
        return false;
    *commits = (struct span_text){t.at, digits};
    t = behind(t, digits + 2);
    while (hex < t.size && isxdigit((unsigned char)t.at[hex]))
        hex++;
    return hex >= 4;
}

struct numbers { /* what was read of a version's numbers */
    size_t count;
    bool dots;     /* nothing but dots between them */
    bool calendar; /* the first has the digits of a year, or more */
};

/* Whether the text goes on with one more number. "-" parts those of a date and a packager's
 * revision ("2.1-7"); behind three numbers it begins a pre-release (section 9). */
static bool goes_on(const struct numbers *n, struct span_text t)
{
    struct span_text commits;
    if (t.size < 2 || !is_digit(t.at[1]))
        return false;
    if (*t.at == '.' || *t.at == '_')
        return true;
    return *t.at == '-' && !is_described(t, &commits) && (n->count != 3 || !n->dots || n->calendar);
}

static struct span_text put_numbers(struct version_order *o, struct span_text t, struct numbers *n)
{
    size_t zeros = 0; /* put when another number follows: 2.1.0 is 2.1 */
    *n = (struct numbers){.dots = true};
    for (;;) {
        size_t digits = digits_of(t), significant = 0;
        for (size_t i = 0; i < digits; i++)
            significant += t.at[i] != '0';
        n->calendar |= !n->count && digits >= 4;
        n->count++;
        for (; significant && zeros; zeros--)
            put(o, 1);
        if (significant)
            put_number(o, t, digits);
        else
            zeros++;
        t = behind(t, digits);
        if (!goes_on(n, t))
            break;
        n->dots &= *t.at == '.';
        t = behind(t, 1);
    }
    put(o, 0);
    return t;
}

static void put_before(struct version_order *o, struct span_text word, struct span_text rest)
{
    o->prerelease = true;
    put(o, STAGE_BEFORE);
    if (word.size) {
        put(o, TOKEN_WORD);
        for (size_t i = 0; i < word.size; i++)
            put(o, (unsigned)tolower((unsigned char)word.at[i]));
        put(o, 0);
    }
    put_words(o, rest);
}

/* What follows the numbers; `word` stood before them ("beta 3.1"). */
static void put_stage(struct version_order *o, struct span_text word, struct span_text rest,
                      const struct numbers *n)
{
    struct span_text commits, first = {rest.at, word_size(rest)};
    bool strict = n->count == 3 && n->dots && rest.size > 1 && *rest.at == '-';
    bool brief = first.size && first.size < rest.size && is_digit(rest.at[first.size]) &&
                 is_one_of(first, short_words); /* 3.1b2 */
    if (is_described(rest, &commits)) {
        o->prerelease = true;
        put(o, STAGE_AFTER);
        put_words(o, commits);
    } else if (word.size || strict || brief || has_before_word(rest)) {
        put_before(o, word, rest);
    } else {
        put(o, rest.size ? STAGE_AFTER : STAGE_RELEASE);
        put_words(o, rest);
    }
}

static void put_build(struct version_order *o, struct span_text build)
{
    bool numbered = digits_of(build) > 0 && !is_hash(build);
    put(o, !build.size ? BUILD_NONE : numbered ? BUILD_NUMBERED : BUILD_DATED);
    if (numbered)
        put_words(o, build);
    o->prerelease |= has_before_word(build);
}

static bool put_numbered(struct version_order *o, struct span_text version, struct span_text build)
{
    struct span_text word = {NULL, 0}, metadata = {NULL, 0};
    const char *plus = memchr(version.at, '+', version.size);
    if (plus) { /* section 10; a build, when nobody names another */
        metadata = behind(version, (size_t)(plus - version.at) + 1);
        version.size = (size_t)(plus - version.at);
    }
    size_t head = 0, run = 0;
    while (head < version.size && !is_digit(version.at[head]))
        head++;
    while (run < version.size && isalnum((unsigned char)version.at[run]))
        run++;
    if (head == version.size || is_hash((struct span_text){version.at, run}) ||
        !read_line(o, (struct span_text){version.at, head}, &word))
        return false;
    struct numbers n;
    put(o, KIND_NUMBERED);
    for (const char *at = o->line; *at; at++)
        put(o, (unsigned char)*at);
    put(o, 0);
    struct span_text rest = put_numbers(o, behind(version, head), &n);
    put_stage(o, word, rest, &n);
    o->text_size = o->size;
    put_build(o, build.size ? build : metadata);
    return true;
}

void version_order(const char *version, const char *build, int64_t date_ms,
                   struct version_order *order)
{
    struct span_text v = trimmed(version ? version : ""), b = trimmed(build ? build : "");
    order->size = 0;
    order->prerelease = false;
    order->line[0] = 0;
    order->numbered = put_numbered(order, v, b);
    if (!order->numbered) {
        order->size = 0;
        order->line[0] = 0;
        order->prerelease = has_before_word(v) || has_before_word(b);
        put(order, KIND_DATED);
        order->text_size = order->size;
    }
    order->build_size = order->size;
    put_date(order, date_ms);
}

/* --- comparing --- */

static int compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

int version_beside(const char *version, const char *build, int64_t date_ms, const char *named,
                   const char *named_build, int64_t named_ms)
{
    struct version_order a, b;
    if (strcmp(version, named) == 0 && (!*named_build || strcmp(build, named_build) == 0))
        return 0;
    version_order(version, build, date_ms, &a);
    version_order(named, named_build, named_ms, &b);
    if (a.numbered != b.numbered || strcmp(a.line, b.line) != 0)
        return -1;
    int order = *named_build ? compare(a.key, a.build_size, b.key, b.build_size)
                             : compare(a.key, a.text_size, b.key, b.text_size);
    bool dated = !a.numbered || (*named_build && a.key[a.build_size - 1] == BUILD_DATED);
    if (!order && dated)
        return compare(a.key, a.size, b.key, b.size) > 0 ? 1 : -1;
    return order > 0 ? 1 : order < 0 ? -1 : 0;
}

bool version_split(const char *label, char version[256], char build[256])
{
    size_t size = strnlen(label, 512);
    const char *open = NULL;
    *build = 0;
    if (size && label[size - 1] == ')')
        for (const char *at = label; (at = strstr(at, " (")) != NULL; at++)
            open = at;
    size_t head = open && open > label ? (size_t)(open - label) : size;
    size_t tail = head < size ? size - head - 3 : 0;
    if (!head || head > TEXT_MAX || tail > TEXT_MAX)
        return false;
    memcpy(version, label, head);
    version[head] = 0;
    if (tail)
        memcpy(build, label + head + 2, tail);
    build[tail] = 0;
    return true;
}
