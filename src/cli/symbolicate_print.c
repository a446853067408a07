/* What an answer looks like: in Framewalk's own manner, as addr2line, as atos, or as JSON. */
#include "cli/symbolicate.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    if (back && (!slash || back > slash) && path[0] != '/')
        slash = back;
    return slash ? slash + 1 : path;
}

static const char *shown_name(const struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    return p->options->demangle ? f->function : f->mangled;
}

/* The frames to show: all of them, or without inlined ones the outermost function. That one's line
 * is where the innermost inlined call sits in it. */
static const struct fw_symbol_frame *frames_of(const struct symbolicate_printer *p,
                                               const struct fw_resolved *symbol, size_t *count)
{
    *count = symbol->frame_count;
    if (p->options->inlines || *count == 0)
        return symbol->frames;
    size_t skip = *count - 1;
    *count = 1;
    return symbol->frames + skip;
}

/* addr2line prints the innermost place of an address when it does not expand inlined calls. */
static void print_addr2line(struct symbolicate_printer *p, uint64_t given,
                            const struct fw_resolved *symbol)
{
    const struct symbolicate_options *o = p->options;
    FILE *to = p->style.to;
    if (o->addresses)
        fprintf(to, "0x%0*" PRIx64 "%s", p->is_64 ? 16 : 8, given, o->pretty ? ": " : "\n");
    size_t count = o->inlines ? symbol->frame_count : symbol->frame_count > 0;
    static const struct fw_symbol_frame unknown = {0};
    for (size_t i = 0; i < count || i == 0; i++) {
        const struct fw_symbol_frame *f = count ? &symbol->frames[i] : &unknown;
        if (i > 0 && o->pretty)
            fputs(" (inlined by) ", to);
        if (o->functions) {
            const char *name = shown_name(p, f);
            fprintf(to, "%s%s", name ? name : "??", o->pretty ? " at " : "\n");
        }
        const char *file = f->file ? f->file : "??";
        fputs(o->basenames ? last_part(file) : file, to);
        if (f->line)
            fprintf(to, ":%" PRIu32 "\n", f->line);
        else
            fputs(f->file ? ":?\n" : ":0\n", to);
    }
}

static void print_atos_frame(struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    FILE *to = p->style.to;
    const char *name = shown_name(p, f);
    fprintf(to, "%s (in %s)", name ? name : "???", p->image);
    if (f->file && f->line)
        fprintf(to, " (%s:%" PRIu32 ")", p->options->full_paths ? f->file : last_part(f->file),
                f->line);
    else
        fprintf(to, " + %" PRIu64, f->offset);
}

static void print_atos(struct symbolicate_printer *p, uint64_t given,
                       const struct fw_resolved *symbol)
{
    const struct symbolicate_options *o = p->options;
    FILE *to = p->style.to;
    size_t count = o->inlines ? symbol->frame_count : symbol->frame_count > 0;
    if (count == 0)
        fprintf(to, "0x%" PRIx64 "%s", given, p->image[0] ? " (in " : "");
    if (count == 0 && p->image[0])
        fprintf(to, "%s)", p->image);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            fputs(o->delimiter ? o->delimiter : "\n", to);
        print_atos_frame(p, &symbol->frames[i]);
    }
    fputs(o->inlines ? "\n\n" : "\n", to);
}

static void print_own(struct symbolicate_printer *p, uint64_t given,
                      const struct fw_resolved *symbol)
{
    struct style *style = &p->style;
    style_print(style, STYLE_DIM, "0x%0*" PRIx64, p->is_64 ? 16 : 8, given);
    size_t count;
    const struct fw_symbol_frame *frames = frames_of(p, symbol, &count);
    if (count == 0) {
        style_line(style, STYLE_WARNING, "  ?? (%s)", fw_reason_text(symbol->reason));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct fw_symbol_frame *f = &frames[i];
        char name[8192];
        const char *text = shown_name(p, f);
        style_clean(text ? text : "??", name, sizeof name);
        style_print(style, STYLE_PLAIN, "%s%s",
                    i ? "\n    inlined by        " + (p->is_64 ? 0 : 8) : "  ", name);
        if (i + 1 == count)
            style_print(style, STYLE_DIM, "+0x%" PRIx64, f->offset);
        if (f->file) {
            char file[8192];
            style_clean(p->options->basenames ? last_part(f->file) : f->file, file, sizeof file);
            style_print(style, STYLE_DIM, "  %s:%" PRIu32, file, f->line);
            if (f->column)
                style_print(style, STYLE_DIM, ":%" PRIu32, f->column);
        }
    }
    style_line(style, STYLE_PLAIN, "%s", "");
}

static json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char clean[16384]; /* not UTF-8 */
    style_clean(text, clean, sizeof clean);
    return json_string(clean);
}

static json_t *json_frame(const struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    json_t *frame = json_object();
    if (f->function)
        json_object_set_new(frame, "function", json_text(f->function));
    if (f->mangled && (!f->function || strcmp(f->function, f->mangled) != 0))
        json_object_set_new(frame, "mangled", json_text(f->mangled));
    if (f->file)
        json_object_set_new(frame, "file", json_text(f->file));
    if (f->line)
        json_object_set_new(frame, "line", json_integer(f->line));
    if (f->column && p->options->columns)
        json_object_set_new(frame, "column", json_integer(f->column));
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {{FW_SYMBOL_INLINED, "inlined"},
                 {FW_SYMBOL_TAIL_CALL, "tail_call"},
                 {FW_SYMBOL_FROM_TABLE, "from_symbols"},
                 {FW_SYMBOL_ARTIFICIAL, "artificial"},
                 {FW_SYMBOL_PLT, "plt"},
                 {FW_SYMBOL_PART, "part"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (f->flags & flags[i].flag)
            json_object_set_new(frame, flags[i].name, json_true());
    json_object_set_new(frame, "offset", json_integer((json_int_t)f->offset));
    return frame;
}

static void print_json(struct symbolicate_printer *p, uint64_t given,
                       const struct fw_resolved *symbol)
{
    json_t *line = json_object(), *list = json_array();
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, given);
    json_object_set_new(line, "address", json_string(text));
    for (size_t i = 0; i < symbol->frame_count; i++)
        json_array_append_new(list, json_frame(p, &symbol->frames[i]));
    json_object_set_new(line, "frames", list);
    if (symbol->frame_count == 0)
        json_object_set_new(line, "reason", json_string(fw_reason_text(symbol->reason)));
    json_dumpf(line, p->style.to, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', p->style.to);
    json_decref(line);
}

void symbolicate_print(struct symbolicate_printer *printer, uint64_t given,
                       const struct fw_resolved *symbol)
{
    switch (printer->options->manner) {
    case MANNER_ADDR2LINE: print_addr2line(printer, given, symbol); break;
    case MANNER_ATOS: print_atos(printer, given, symbol); break;
    case MANNER_JSON: print_json(printer, given, symbol); break;
    case MANNER_OWN: print_own(printer, given, symbol); break;
    }
}
