/*
 * Names into JSON: members of a frame's object are replaced where they stand and appended where
 * they do not, in the spacing of the object itself. Where the format gives an inlined function an
 * entry of its own (.ips), the frame's entry is repeated; elsewhere inlined functions are a list.
 */
#include "report/lines.h"
#include "report/write.h"

enum { MAX_SETS = 8 };

struct member { /* to be in the object afterwards */
    const char *key;
    size_t text, size; /* rendered value in `values`; size 0: not to be there */
};

struct members {
    struct report_bytes values;
    struct member sets[MAX_SETS];
    size_t count;
};

static void set_begin(struct members *m, const char *key)
{
    m->sets[m->count] = (struct member){.key = key, .text = m->values.size};
}

static void set_end(struct members *m)
{
    m->sets[m->count].size = m->values.size - m->sets[m->count].text;
    m->count++;
}

static void set_text(struct members *m, const char *key, const char *text)
{
    set_begin(m, key);
    if (text)
        out_json(&m->values, text);
    set_end(m);
}

static void set_number(struct members *m, const char *key, uint64_t value, bool known)
{
    set_begin(m, key);
    if (known)
        out_format(&m->values, "%llu", (unsigned long long)value);
    set_end(m);
}

static void set_true(struct members *m, const char *key, bool value)
{
    set_begin(m, key);
    if (value)
        out_text(&m->values, "true");
    set_end(m);
}

struct spacing { /* of an object: bytes of the input */
    struct report_span colon, comma;
};

static struct spacing find_spacing(const struct jdoc *doc, uint32_t object)
{
    struct spacing s = {{0, 0}, {0, 0}};
    uint32_t first = jdoc_first(doc, object);
    if (first == JNONE)
        return s;
    uint32_t second = jdoc_after(doc, object, first);
    s.colon = (struct report_span){doc->nodes[first].end, doc->nodes[first + 1].begin};
    if (second != JNONE)
        s.comma = (struct report_span){doc->nodes[first + 1].end, doc->nodes[second].begin};
    return s;
}

static void out_member(struct report_bytes *out, const struct report *r, struct spacing s,
                       const struct members *m, size_t i)
{
    if (s.comma.end)
        out_input(out, r, s.comma.begin, s.comma.end);
    else
        out_text(out, ", ");
    out_json(out, m->sets[i].key);
    if (s.colon.end)
        out_input(out, r, s.colon.begin, s.colon.end);
    else
        out_text(out, ":");
    out_bytes(out, m->values.data + m->sets[i].text, m->sets[i].size);
}

static size_t find_set(const struct jdoc *doc, uint32_t key, const struct members *m)
{
    size_t i = 0;
    while (i < m->count && !jdoc_key_is(doc, key, m->sets[i].key))
        i++;
    return i;
}

/* The object once more, with the members set. */
static void out_object(struct report_bytes *out, const struct report *r, uint32_t object,
                       const struct members *m)
{
    const struct jdoc *doc = &r->build->body;
    const struct jnode *nodes = doc->nodes;
    bool found[MAX_SETS] = {false}, any = false;
    size_t last = nodes[object].begin + 1; /* behind the last member of the input */
    for (uint32_t k = jdoc_first(doc, object); k != JNONE; k = jdoc_after(doc, object, k)) {
        size_t set = find_set(doc, k, m);
        bool drop = set < m->count && m->sets[set].size == 0;
        size_t from = last;
        last = nodes[k + 1].end;
        if (drop)
            continue;
        if (any)
            out_input(out, r, from, nodes[k].begin);
        else /* the first that stays takes the place of the first */
            out_input(out, r, nodes[object].begin, nodes[jdoc_first(doc, object)].begin);
        any = true;
        if (set < m->count) {
            found[set] = true;
            out_input(out, r, nodes[k].begin, nodes[k + 1].begin);
            out_bytes(out, m->values.data + m->sets[set].text, m->sets[set].size);
        } else {
            out_input(out, r, nodes[k].begin, nodes[k + 1].end);
        }
    }
    struct spacing spacing = find_spacing(doc, object);
    for (size_t i = 0; i < m->count; i++)
        if (!found[i] && m->sets[i].size)
            out_member(out, r, spacing, m, i);
    out_input(out, r, last, nodes[object].end);
}

static void set_ips(struct members *m, const struct frame_names *f, size_t i)
{
    const struct report_name *name = &f->names[i], *outer = outer_name(f);
    bool tail = name->flags & REPORT_TAIL_CALL;
    m->count = 0;
    m->values.size = 0;
    set_text(m, "symbol", name->function);
    set_number(m, "symbolLocation", outer->offset, outer->has_offset && !tail);
    set_text(m, "sourceFile", name->file);
    set_number(m, "sourceLine", name->line, name->line != 0);
    set_true(m, "inline", i + 1 < f->count && !tail);
    set_true(m, "tailCall", i + 1 < f->count && tail);
}

/* What stands before an array's element belongs to its line: repeated between copies. */
static size_t space_before(const struct report *r, size_t pos)
{
    size_t begin = pos;
    while (begin > 0 && strchr(" \t\r\n", r->text.data[begin - 1]) && r->text.data[begin - 1])
        begin--;
    return begin;
}

void write_ips_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    if (f->frame->node >= r->build->body.count)
        return;
    struct members m = {0};
    struct report_bytes *out = edit_begin(w);
    for (size_t i = 0; i < f->count; i++) {
        if (i > 0) {
            out_text(out, ",");
            out_input(out, r, space_before(r, f->frame->span.begin), f->frame->span.begin);
        }
        set_ips(&m, f, i);
        out_object(out, r, f->frame->node, &m);
    }
    w->failed |= m.values.failed;
    edit_end(w, f->frame->span.begin, f->frame->span.end);
    report_bytes_free(&m.values);
}

/* Names that a list of inlined functions is made of, in the words of each format. */
struct words {
    const char *function, *location, *file, *line;
    bool location_is_start; /* an address instead of an offset */
    bool always_list;       /* nothing inlined is an empty list */
};

static const struct words *find_words(enum report_kind kind)
{
    static const struct words metrickit = {.function = "symbol",
                                           .location = "symbolLocation",
                                           .file = "sourceFile",
                                           .line = "sourceLine"};
    static const struct words kscrash = {.function = "symbol_name",
                                         .location = "symbol_addr",
                                         .file = "source_file",
                                         .line = "source_line",
                                         .location_is_start = true};
    static const struct words dump = {.function = "function",
                                      .location = "offset",
                                      .file = "file",
                                      .line = "line",
                                      .always_list = true};
    return kind == REPORT_KSCRASH ? &kscrash : kind == REPORT_DUMP ? &dump : &metrickit;
}

/* All but the last of the names, as a JSON array. */
static void out_inlines(struct report_bytes *out, const struct words *words,
                        const struct frame_names *f)
{
    out_text(out, "[");
    for (size_t i = 0; i + 1 < f->count; i++) {
        const struct report_name *name = &f->names[i];
        out_format(out, "%s{\"%s\":", i ? "," : "", words->function);
        out_json(out, name->function);
        if (name->file) {
            out_format(out, ",\"%s\":", words->file);
            out_json(out, name->file);
        }
        if (name->line)
            out_format(out, ",\"%s\":%u", words->line, name->line);
        if (name->flags & REPORT_TAIL_CALL)
            out_text(out, ",\"tail_call\":true");
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void set_members(struct members *m, const struct words *words, const struct frame_names *f)
{
    const struct report_name *outer = outer_name(f);
    bool located = outer->has_offset;
    uint64_t location = outer->offset;
    if (words->location_is_start) {
        located &= f->frame->has_address && f->frame->address >= outer->offset;
        location = f->frame->address - outer->offset;
    }
    set_text(m, words->function, outer->function);
    set_number(m, words->location, location, located);
    set_text(m, words->file, outer->file);
    set_number(m, words->line, outer->line, outer->line != 0);
    set_begin(m, "inlines");
    if (f->count > 1 || words->always_list)
        out_inlines(&m->values, words, f);
    set_end(m);
}

/* Other objects may stand inside a frame's, so that it cannot be written anew: what is not known
 * any more becomes null, and the rest is put behind the last member. */
void write_member_frame(struct writer *w, const struct frame_names *f)
{
    const struct report *r = w->report;
    const struct jdoc *doc = &r->build->body;
    uint32_t object = f->frame->node;
    if (!jdoc_is(doc, object, JOBJECT))
        return;
    struct members m = {0};
    set_members(&m, find_words(r->kind), f);
    bool found[MAX_SETS] = {false};
    size_t last = doc->nodes[object].begin + 1;
    for (uint32_t k = jdoc_first(doc, object); k != JNONE; k = jdoc_after(doc, object, k)) {
        size_t set = find_set(doc, k, &m);
        last = doc->nodes[k + 1].end;
        if (set == m.count || found[set])
            continue;
        found[set] = true;
        struct report_bytes *out = edit_begin(w);
        if (m.sets[set].size)
            out_bytes(out, m.values.data + m.sets[set].text, m.sets[set].size);
        else
            out_text(out, "null");
        edit_end(w, doc->nodes[k + 1].begin, doc->nodes[k + 1].end);
    }
    struct report_bytes *out = edit_begin(w);
    struct spacing spacing = find_spacing(doc, object);
    for (size_t i = 0; i < m.count; i++)
        if (!found[i] && m.sets[i].size)
            out_member(out, r, spacing, &m, i);
    if (w->pool.size > w->open)
        edit_end(w, last, last);
    w->failed |= m.values.failed;
    report_bytes_free(&m.values);
}

static void out_as_object(struct report_bytes *out, const struct frame_names *f)
{
    const struct report_name *outer = outer_name(f);
    out_text(out, "{\"symbol\":");
    out_json(out, outer->function);
    if (outer->has_offset)
        out_format(out, ",\"symbolLocation\":%llu", (unsigned long long)outer->offset);
    if (outer->file) {
        out_text(out, ",\"sourceFile\":");
        out_json(out, outer->file);
    }
    if (outer->line)
        out_format(out, ",\"sourceLine\":%u", outer->line);
    if (f->count > 1) {
        out_text(out, ",\"inlines\":");
        out_inlines(out, find_words(REPORT_METRICKIT), f);
    }
    out_text(out, "}");
}

/* A pair gets a third element; one that has one already keeps two. */
void write_stackshot_frame(struct writer *w, const struct frame_names *f)
{
    const struct jdoc *doc = &w->report->build->body;
    uint32_t array = f->frame->node, offset = jdoc_at(doc, array, 1);
    uint32_t old = jdoc_at(doc, array, 2);
    if (offset == JNONE)
        return;
    struct report_bytes *out = edit_begin(w);
    if (old != JNONE) {
        out_as_object(out, f);
        edit_end(w, doc->nodes[old].begin, doc->nodes[old].end);
        return;
    }
    uint32_t image = jdoc_at(doc, array, 0);
    out_input(out, w->report, doc->nodes[image].end, doc->nodes[offset].begin);
    out_as_object(out, f);
    edit_end(w, doc->nodes[offset].end, doc->nodes[offset].end);
}

void write_meter_frame(struct writer *w, const struct frame_names *f)
{
    if (f->frame->item.end == 0)
        return;
    bool again = f->frame->node == LINES_MARKED;
    struct report_bytes *out = edit_begin(w);
    if (!again)
        out_text(out, ",\"frame\":");
    out_as_object(out, f);
    edit_end(w, f->frame->item.begin, again ? f->frame->item.end : f->frame->item.begin);
}
