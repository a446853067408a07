/*
 * The tables of the Firefox Profiler's format: a column is an array, and all columns of a table are
 * as long. Rows of locations and nodes stand in the order of their numbers, so a caller's stack is
 * always before its callees', as prefixOffset wants.
 */
#include "report/to_firefox.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- columns ---- */

void firefox_column(struct report_bytes *out, const char *name)
{
    if (out->size && out->data[out->size - 1] != '{')
        out_text(out, ",\n");
    out_format(out, "\"%s\":[", name);
}

static void separate(struct report_bytes *out, size_t i)
{
    if (i)
        out_text(out, ",");
}

static void out_number_or(struct report_bytes *out, bool known, uint64_t number, const char *other)
{
    if (known)
        out_format(out, "%" PRIu64, number);
    else
        out_text(out, other);
}

/* A column of `count` values that are all the same. */
static void same_column(struct report_bytes *out, const char *name, size_t count, const char *value)
{
    firefox_column(out, name);
    for (size_t i = 0; i < count; i++) {
        separate(out, i);
        out_text(out, value);
    }
    out_text(out, "]");
}

/* ---- tables in memory ---- */

static bool same_native(const void *context, uint32_t index, const void *key)
{
    const struct firefox *w = context;
    const struct native *a = &w->natives[index], *b = key;
    return a->image == b->image && a->start == b->start && a->name == b->name;
}

static uint32_t native_of(struct firefox *w, const struct profile_location *l)
{
    const struct profile *p = w->p;
    if (!l->has_start || l->image == REPORT_NONE)
        return PROFILE_NONE;
    const struct profile_line *outer = &p->lines[l->first_line + l->line_count - 1];
    struct native native = {l->image, p->functions[outer->function].name, l->start, l->size};
    w->natives[w->native_count] = native;
    const uint64_t words[] = {native.image, native.name, native.start};
    uint32_t row = profile_intern(&w->by_native, profile_hash(2166136261U, words, sizeof words),
                                  same_native, w, &native, (uint32_t)w->native_count);
    if (row == PROFILE_NONE)
        w->p->error = FW_ERR_MEMORY;
    w->native_count += row == w->native_count;
    return row;
}

static void make_rows(struct firefox *w)
{
    const struct profile *p = w->p;
    w->symbolicated = true;
    for (uint32_t i = 0; i < p->location_count && !p->error; i++) {
        const struct profile_location *l = &p->locations[i];
        uint32_t native = native_of(w, l);
        w->first_row[i] = (uint32_t)w->row_count;
        for (uint32_t k = l->line_count; k-- > 0;)
            w->rows[w->row_count++] = (struct frame_row){i, k, native};
        if (l->image == REPORT_NONE)
            continue;
        w->lib[l->image] = 0;
        if (p->functions[p->lines[l->first_line].function].nameless)
            w->symbolicated = false;
    }
    for (size_t i = 0; i < p->report->image_count; i++)
        if (w->lib[i] != PROFILE_NONE)
            w->lib[i] = (uint32_t)w->lib_count++;
    for (size_t i = 0; i < p->node_count; i++) {
        w->stack_count += p->locations[p->nodes[i].location].line_count;
        w->last_stack[i] = (uint32_t)w->stack_count - 1;
    }
}

fw_error firefox_make(struct firefox *w)
{
    struct profile *p = w->p;
    uint64_t stacks = 0;
    for (size_t i = 0; i < p->node_count; i++)
        stacks += p->locations[p->nodes[i].location].line_count;
    if (stacks >= PROFILE_NONE)
        return FW_ERR_FULL;
    w->first_row = calloc(p->location_count + 1, sizeof *w->first_row);
    w->last_stack = calloc(p->node_count + 1, sizeof *w->last_stack);
    w->rows = calloc(p->line_count + 1, sizeof *w->rows);
    w->natives = calloc(p->location_count + 1, sizeof *w->natives);
    w->lib = malloc((p->report->image_count + 1) * sizeof *w->lib);
    if (!w->first_row || !w->last_stack || !w->rows || !w->natives || !w->lib)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < p->report->image_count; i++) {
        w->lib[i] = PROFILE_NONE;
        profile_text(p, p->report->images[i].name);
    }
    w->text_hang = profile_text(p, "Hang");
    w->source = malloc((p->text_count + 1) * sizeof *w->source);
    if (!w->source || p->error)
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < p->text_count; i++)
        w->source[i] = PROFILE_NONE;
    for (size_t i = 0; i < p->function_count; i++) {
        uint32_t file = p->functions[i].file;
        if (file && w->source[file] == PROFILE_NONE)
            w->source[file] = (uint32_t)w->source_count++;
    }
    make_rows(w);
    return p->error;
}

/* ---- shared tables ---- */

static void out_frame_table(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    out_text(out, "\"frameTable\":{");
    firefox_column(out, "address");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        bool known = l->image != REPORT_NONE && l->has_offset && l->offset <= (uint64_t)1 << 53;
        separate(out, i);
        out_number_or(out, known, l->offset - (l->kind == REPORT_RETURN && l->offset), "-1");
    }
    out_text(out, "]");
    firefox_column(out, "inlineDepth");
    for (size_t i = 0; i < w->row_count; i++) {
        separate(out, i);
        out_format(out, "%zu", i - w->first_row[w->rows[i].location]);
    }
    out_text(out, "]");
    same_column(out, "category", w->row_count, "1");
    same_column(out, "subcategory", w->row_count, "0");
    firefox_column(out, "func");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        separate(out, i);
        out_format(out, "%" PRIu32, p->lines[l->first_line + w->rows[i].line].function);
    }
    out_text(out, "]");
    firefox_column(out, "nativeSymbol");
    for (size_t i = 0; i < w->row_count; i++) {
        separate(out, i);
        out_number_or(out, w->rows[i].native != PROFILE_NONE, w->rows[i].native, "null");
    }
    out_text(out, "]");
    same_column(out, "innerWindowID", w->row_count, "0");
    firefox_column(out, "line");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        uint32_t line = p->lines[l->first_line + w->rows[i].line].line;
        separate(out, i);
        out_number_or(out, line != 0, line, "null");
    }
    out_text(out, "]");
    firefox_column(out, "column");
    for (size_t i = 0; i < w->row_count; i++) {
        const struct profile_location *l = &p->locations[w->rows[i].location];
        uint32_t number = p->lines[l->first_line + w->rows[i].line].column;
        separate(out, i);
        out_number_or(out, number != 0, number, "null");
    }
    out_text(out, "]");
    same_column(out, "originalLocation", w->row_count, "null");
    out_format(out, ",\n\"length\":%zu}", w->row_count);
}

static void out_stack_table(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    out_text(out, ",\n\"stackTable\":{");
    firefox_column(out, "frame");
    size_t row = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        const struct profile_location *l = &p->locations[p->nodes[i].location];
        for (uint32_t k = 0; k < l->line_count; k++, row++) {
            separate(out, row);
            out_format(out, "%" PRIu32, w->first_row[p->nodes[i].location] + k);
        }
    }
    out_text(out, "]");
    firefox_column(
        out, "prefixOffset"); /* how many rows before this one its caller stands; 0: no caller */
    row = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        const struct profile_location *l = &p->locations[p->nodes[i].location];
        uint32_t parent = p->nodes[i].parent;
        for (uint32_t k = 0; k < l->line_count; k++, row++) {
            size_t offset = k ? 1 : parent == PROFILE_NONE ? 0 : row - w->last_stack[parent];
            separate(out, row);
            out_format(out, "%zu", offset);
        }
    }
    out_format(out, "],\n\"length\":%zu}", row);
}

/* The viewer calls what has no name by its address; the library stands before it anyway. */
static uint32_t name_of(struct profile *p, const struct profile_function *f)
{
    const char *plus = f->nameless ? strrchr(p->texts[f->name], '+') : NULL;
    return plus ? profile_text(p, plus + 1) : f->name;
}

static void out_func_table(struct firefox *w)
{
    struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t count = p->function_count;
    out_text(out, ",\n\"funcTable\":{");
    firefox_column(out, "name");
    for (size_t i = 0; i < count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, name_of(p, &p->functions[i]));
    }
    out_text(out, "]");
    same_column(out, "isJS", count, "false");
    same_column(out, "relevantForJS", count, "false");
    firefox_column(out, "resource");
    for (size_t i = 0; i < count; i++) {
        uint32_t image = p->functions[i].image;
        separate(out, i);
        out_number_or(out, image != REPORT_NONE, image == REPORT_NONE ? 0 : w->lib[image], "-1");
    }
    out_text(out, "]");
    firefox_column(out, "source");
    for (size_t i = 0; i < count; i++) {
        uint32_t file = p->functions[i].file;
        separate(out, i);
        out_number_or(out, file != 0, w->source[file], "null");
    }
    out_text(out, "]");
    same_column(out, "lineNumber", count, "null");
    same_column(out, "columnNumber", count, "null");
    same_column(out, "originalLocation", count, "null");
    out_format(out, ",\n\"length\":%zu}", count);
}

static void out_resources(struct firefox *w)
{
    struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t row = 0;
    out_text(out, ",\n\"resourceTable\":{");
    firefox_column(out, "lib");
    for (size_t i = 0; i < w->lib_count; i++) {
        separate(out, i);
        out_format(out, "%zu", i);
    }
    out_text(out, "]");
    firefox_column(out, "name");
    for (size_t i = 0; i < p->report->image_count; i++) {
        if (w->lib[i] == PROFILE_NONE)
            continue;
        separate(out, row++);
        out_format(out, "%" PRIu32, profile_text(p, p->report->images[i].name));
    }
    out_text(out, "]");
    same_column(out, "host", row, "null");
    same_column(out, "type", row, "1");
    out_format(out, ",\n\"length\":%zu}", row);
}

static void out_natives(struct firefox *w)
{
    struct report_bytes *out = w->out;
    out_text(out, ",\n\"nativeSymbols\":{");
    firefox_column(out, "libIndex");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, w->lib[w->natives[i].image]);
    }
    out_text(out, "]");
    firefox_column(out, "address");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu64, w->natives[i].start);
    }
    out_text(out, "]");
    firefox_column(out, "name");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_format(out, "%" PRIu32, w->natives[i].name);
    }
    out_text(out, "]");
    firefox_column(out, "functionSize");
    for (size_t i = 0; i < w->native_count; i++) {
        separate(out, i);
        out_number_or(out, w->natives[i].size != 0, w->natives[i].size, "null");
    }
    out_format(out, "],\n\"length\":%zu}", w->native_count);
}

/* Sources are numbered in the order in which functions first name them. */
static void out_sources(struct firefox *w)
{
    const struct profile *p = w->p;
    struct report_bytes *out = w->out;
    size_t row = 0;
    out_text(out, ",\n\"sources\":{");
    firefox_column(out, "filename");
    for (size_t i = 0; i < p->function_count; i++) {
        uint32_t file = p->functions[i].file;
        if (!file || w->source[file] != row)
            continue;
        separate(out, row++);
        out_format(out, "%" PRIu32, file);
    }
    out_text(out, "]");
    same_column(out, "id", row, "null");
    same_column(out, "startLine", row, "1");
    same_column(out, "startColumn", row, "1");
    same_column(out, "sourceMapURL", row, "null");
    same_column(out, "content", row, "null");
    out_format(out, ",\n\"length\":%zu}", row);
    out_text(out, ",\n\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],"
                  "\"length\":0}");
}

void firefox_tables(struct firefox *w)
{
    out_text(w->out, ",\n\"shared\":{");
    out_frame_table(w);
    out_stack_table(w);
    out_func_table(w);
    out_resources(w);
    out_natives(w);
    out_sources(w);
    firefox_column(w->out, "stringArray");
    for (size_t i = 0; i < w->p->text_count; i++) {
        out_text(w->out, i ? ",\n" : "\n");
        out_json(w->out, w->p->texts[i]);
    }
    out_text(w->out, "]}");
}

void firefox_free(struct firefox *w)
{
    free(w->first_row);
    free(w->last_stack);
    free(w->lib);
    free(w->source);
    free(w->rows);
    free(w->natives);
    free(w->by_native.slots);
}
