#include "report/jdoc.h"

#include "base/array.h"
#include "report/text.h"

enum { MAX_NODES = 1 << 26 }; /* what goes beyond is cut off as if the text ended */

struct scanner {
    struct jdoc *doc;
    const uint8_t *data;
    size_t size, pos;
    uint32_t *open; /* containers not closed yet */
    size_t depth, depth_capacity;
    bool no_memory;
};

static void skip_space(struct scanner *s)
{
    while (s->pos < s->size && (s->data[s->pos] == ' ' || s->data[s->pos] == '\t' ||
                                s->data[s->pos] == '\n' || s->data[s->pos] == '\r'))
        s->pos++;
}

static struct jnode *add(struct scanner *s, enum jtype type, size_t begin)
{
    struct jdoc *doc = s->doc;
    if (doc->count >= MAX_NODES)
        return NULL;
    if (!array_room(&doc->nodes, &doc->capacity, doc->count, sizeof *doc->nodes)) {
        s->no_memory = true;
        return NULL;
    }
    struct jnode *node = &doc->nodes[doc->count++];
    *node = (struct jnode){begin, s->pos, (uint32_t)doc->count, (uint8_t)type, false};
    return node;
}

/* At a quote. The closing quote is the first that no backslash stands before. */
static bool scan_string(struct scanner *s, bool key)
{
    size_t begin = s->pos++;
    for (;;) {
        const uint8_t *quote =
            s->pos < s->size ? memchr(s->data + s->pos, '"', s->size - s->pos) : NULL;
        if (!quote)
            return false;
        size_t at = (size_t)(quote - s->data), slashes = 0;
        while (at - slashes > s->pos && s->data[at - slashes - 1] == '\\')
            slashes++;
        s->pos = at + 1;
        if (slashes % 2 == 0)
            break;
    }
    struct jnode *node = add(s, JSTRING, begin);
    if (node)
        node->key = key;
    return node != NULL;
}

static bool is_number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool scan_plain(struct scanner *s)
{
    static const struct {
        const char *word;
        enum jtype type;
    } words[] = {{"null", JNULL}, {"true", JTRUE}, {"false", JFALSE}};
    size_t begin = s->pos, left = s->size - s->pos;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (left >= length && memcmp(s->data + begin, words[i].word, length) == 0) {
            s->pos += length;
            return add(s, words[i].type, begin) != NULL;
        }
    }
    while (s->pos < s->size && is_number_byte(s->data[s->pos]))
        s->pos++;
    return s->pos > begin && add(s, JNUMBER, begin) != NULL;
}

static bool open_container(struct scanner *s, enum jtype type)
{
    if (s->depth >= JDOC_MAX_DEPTH)
        return false;
    if (!array_room(&s->open, &s->depth_capacity, s->depth, sizeof *s->open)) {
        s->no_memory = true;
        return false;
    }
    if (!add(s, type, s->pos++))
        return false;
    s->open[s->depth++] = (uint32_t)(s->doc->count - 1);
    return true;
}

static void close_container(struct scanner *s)
{
    struct jnode *node = &s->doc->nodes[s->open[--s->depth]];
    node->end = s->pos;
    node->next = (uint32_t)s->doc->count;
}

static bool scan_value(struct scanner *s)
{
    switch (s->data[s->pos]) {
    case '"': return scan_string(s, false);
    case '{': return open_container(s, JOBJECT);
    case '[': return open_container(s, JARRAY);
    default: return scan_plain(s);
    }
}

/* A key, its colon, and up to the first byte of its value. */
static bool scan_key(struct scanner *s)
{
    if (s->data[s->pos] != '"' || !scan_string(s, true))
        return false;
    skip_space(s);
    if (s->pos < s->size && s->data[s->pos] == ':') {
        s->pos++;
        skip_space(s);
        if (s->pos < s->size)
            return true;
    }
    s->doc->count--; /* a key without a value is none */
    return false;
}

/* One step inside the innermost open container: closes it, or scans its next child. */
static bool scan_inside(struct scanner *s)
{
    uint32_t parent = s->open[s->depth - 1];
    bool object = s->doc->nodes[parent].type == JOBJECT;
    bool empty = s->doc->count == parent + 1;
    skip_space(s);
    if (s->pos >= s->size)
        return false;
    if (s->data[s->pos] == (object ? '}' : ']')) {
        s->pos++;
        close_container(s);
        return true;
    }
    if (!empty) {
        if (s->data[s->pos] != ',')
            return false;
        s->pos++;
        skip_space(s);
        if (s->pos >= s->size)
            return false;
    }
    if (!object)
        return scan_value(s);
    size_t before = s->doc->count;
    if (!scan_key(s))
        return false;
    if (scan_value(s))
        return true;
    s->doc->count = before;
    return false;
}

fw_error jdoc_scan(struct jdoc *doc, struct span text, size_t begin)
{
    *doc = (struct jdoc){.text = text};
    struct scanner s = {.doc = doc, .data = text.data, .size = text.size, .pos = begin};
    if (begin == 0 && text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        s.pos = 3;
    skip_space(&s);
    bool ok = s.pos < s.size && scan_value(&s);
    while (ok && s.depth > 0)
        ok = scan_inside(&s);
    doc->complete = ok;
    while (s.depth > 0)
        close_container(&s);
    free(s.open);
    doc->end = s.pos;
    if (s.no_memory) {
        jdoc_free(doc);
        return FW_ERR_MEMORY;
    }
    return doc->count ? FW_OK : FW_ERR_FORMAT;
}

void jdoc_free(struct jdoc *doc)
{
    free(doc->nodes);
    doc->nodes = NULL;
    doc->count = doc->capacity = 0;
}

bool jdoc_is(const struct jdoc *doc, uint32_t node, enum jtype type)
{
    return node < doc->count && doc->nodes[node].type == type;
}

uint32_t jdoc_first(const struct jdoc *doc, uint32_t container)
{
    if (!jdoc_is(doc, container, JARRAY) && !jdoc_is(doc, container, JOBJECT))
        return JNONE;
    return doc->nodes[container].next > container + 1 ? container + 1 : JNONE;
}

uint32_t jdoc_after(const struct jdoc *doc, uint32_t container, uint32_t child)
{
    uint32_t value = doc->nodes[child].key ? child + 1 : child;
    uint32_t next = doc->nodes[value].next;
    return next < doc->nodes[container].next ? next : JNONE;
}

bool jdoc_key_is(const struct jdoc *doc, uint32_t key, const char *name)
{
    const struct jnode *node = &doc->nodes[key];
    size_t length = strlen(name);
    return node->key && node->end - node->begin == length + 2 &&
           memcmp(doc->text.data + node->begin + 1, name, length) == 0;
}

uint32_t jdoc_get(const struct jdoc *doc, uint32_t object, const char *key)
{
    if (!jdoc_is(doc, object, JOBJECT))
        return JNONE;
    for (uint32_t i = jdoc_first(doc, object); i != JNONE; i = jdoc_after(doc, object, i))
        if (jdoc_key_is(doc, i, key))
            return i + 1;
    return JNONE;
}

uint32_t jdoc_at(const struct jdoc *doc, uint32_t array, size_t i)
{
    if (!jdoc_is(doc, array, JARRAY))
        return JNONE;
    uint32_t child = jdoc_first(doc, array);
    while (child != JNONE && i-- > 0)
        child = jdoc_after(doc, array, child);
    return child;
}

bool jdoc_u64(const struct jdoc *doc, uint32_t node, uint64_t *value)
{
    if (!jdoc_is(doc, node, JNUMBER) && !jdoc_is(doc, node, JSTRING))
        return false;
    struct cursor c = cursor_over(doc->text, doc->nodes[node].begin, doc->nodes[node].end);
    if (jdoc_is(doc, node, JSTRING)) {
        c.pos++;
        c.end--;
    }
    bool negative = cursor_take(&c, '-');
    uint64_t number;
    if (!cursor_number(&c, &number) || c.pos != c.end)
        return false;
    *value = negative ? ~number + 1 : number;
    return true;
}

static unsigned hex4(const uint8_t *p, const uint8_t *end)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        if (p + i >= end)
            return 0x110000;
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return 0x110000;
        value = value * 16 + (unsigned)digit;
    }
    return value;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code == 0)
        code = '?';
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* At the `u` of an escape; halves of pairs that stand alone become U+FFFD. */
static char *unescape_code(const uint8_t **from, const uint8_t *end, char *to)
{
    unsigned code = hex4(*from + 1, end);
    if (code > 0xffff) {
        *to++ = 'u';
        (*from)++;
        return to;
    }
    *from += 5;
    if (code >= 0xd800 && code < 0xdc00 && end - *from >= 6 && (*from)[0] == '\\' &&
        (*from)[1] == 'u') {
        unsigned low = hex4(*from + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            *from += 6;
            return put_utf8(to, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
        }
    }
    return put_utf8(to, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

const char *jdoc_text(const struct jdoc *doc, uint32_t node, struct arena *arena)
{
    bool string = jdoc_is(doc, node, JSTRING);
    if (!string && !jdoc_is(doc, node, JNUMBER))
        return NULL;
    const uint8_t *from = doc->text.data + doc->nodes[node].begin + string;
    const uint8_t *end = doc->text.data + doc->nodes[node].end - string;
    char *text = arena_take(arena, (size_t)(end - from) + 1), *to = text;
    if (!text)
        return NULL;
    while (from < end) {
        if (*from != '\\' || from + 1 == end) {
            *to++ = *from ? (char)*from : '?';
            from++;
            continue;
        }
        from++;
        switch (*from) {
        case 'n': *to++ = '\n', from++; break;
        case 't': *to++ = '\t', from++; break;
        case 'r': *to++ = '\r', from++; break;
        case 'b': *to++ = '\b', from++; break;
        case 'f': *to++ = '\f', from++; break;
        case 'u': to = unescape_code(&from, end, to); break;
        default: *to++ = *from ? (char)*from : '?', from++; break;
        }
    }
    *to = 0;
    return text;
}
