/*
 * What the answer for one address looks like: in Framewalk's own manner, as addr2line (binutils
 * 2.40), or as atos.
 *
 * Own manner: one line for each function, innermost first, each with the address, so that a line
 * that grep finds says all:
 *
 *     0x0000000000001180  [inlined] S::get(int)  /src/t.cc:2
 *     0x0000000000001180  S::far(int)+0x10  /src/t.cc:3
 */
#include "cli/symbolicate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *symbolicate_last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    if (back && (!slash || back > slash) && path[0] != '/')
        slash = back;
    return slash ? slash + 1 : path;
}

void symbolicate_put(FILE *to, const char *text)
{
    size_t size = 0;
    while ((unsigned char)text[size] >= ' ' && (unsigned char)text[size] < 0x7f)
        size++;
    if (!text[size]) {
        fwrite(text, 1, size, to);
        return;
    }
    size += strlen(text + size);
    char *clean = malloc(4 * size + 2);
    if (clean) {
        style_clean(text, clean, 4 * size + 2);
        fputs(clean, to);
    } else {
        fputc('?', to);
    }
    free(clean);
}

static const char *shown_name(const struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    return p->options->demangle ? f->function : f->mangled;
}

/* ---- addr2line ---- */

/* A file without a line is "file:?", nothing at all "??:0", a function without a file "??:?".
 * Stubs of the PLT read as in disassemblies: addr2line does not know them. */
static void print_addr2line(struct symbolicate_printer *p,
                            const struct symbolicate_question *question,
                            const struct fw_resolved *symbol)
{
    const struct symbolicate_options *o = p->options;
    FILE *to = p->style.to;
    uint64_t value = p->is_64 ? question->value : (uint32_t)question->value;
    if (o->addresses)
        fprintf(to, "0x%0*" PRIx64 "%s", p->is_64 ? 16 : 8, value, o->pretty ? ": " : "\n");
    size_t count = symbol->frame_count;
    if (count > 0 && !symbol->frames[0].function && !symbol->frames[0].file)
        count = 0; /* bounds alone */
    if (count == 0) {
        fputs(!o->functions ? "" : o->pretty ? "?? " : "??\n", to);
        fputs("??:0\n", to);
        return;
    }
    for (size_t i = 0; i < count && (i == 0 || o->inlines); i++) {
        const struct fw_symbol_frame *f = &symbol->frames[i];
        if (i > 0 && o->pretty)
            fputs(" (inlined by) ", to);
        if (o->functions) {
            const char *name = shown_name(p, f);
            fprintf(to, "%s%s%s", name ? name : "??", f->flags & FW_SYMBOL_PLT ? "@plt" : "",
                    o->pretty ? " at " : "\n");
        }
        const char *file = f->file ? f->file : "??", *slash = strrchr(file, '/');
        fputs(o->basenames && slash ? slash + 1 : file, to);
        if (f->line)
            fprintf(to, ":%" PRIu32 "\n", f->line);
        else
            fputs(":?\n", to);
    }
}

/* ---- atos ---- */

static void print_atos_frame(struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    FILE *to = p->style.to;
    const char *name = shown_name(p, f);
    symbolicate_put(to, name ? name : "???");
    fprintf(to, " (in %s)", p->image);
    if (f->file && f->line) {
        fputs(" (", to);
        symbolicate_put(to, p->options->full_paths ? f->file : symbolicate_last_part(f->file));
        fprintf(to, ":%" PRIu32 ")", f->line);
    } else {
        fprintf(to, " + %" PRIu64, f->offset);
    }
}

/* Without -i the function that is really there, with the place in it. What has no name is repeated
 * as it was given; inside of the image, with the image. With -i an empty line ends each answer. */
static void print_atos(struct symbolicate_printer *p, const struct symbolicate_question *question,
                       const struct fw_resolved *symbol)
{
    const struct symbolicate_options *o = p->options;
    FILE *to = p->style.to;
    size_t count = symbol->frame_count;
    if (count > 0 && !symbol->frames[count - 1].function)
        count = 0;
    if (count == 0) {
        symbolicate_put(to, question->word);
        if (symbol->reason != FW_REASON_OUTSIDE)
            fprintf(to, " (in %s)", p->image);
    }
    for (size_t i = count && !o->inlines ? count - 1 : 0; i < count; i++) {
        if (i > 0 && o->inlines)
            fputs(o->delimiter ? o->delimiter : "\n", to);
        print_atos_frame(p, &symbol->frames[i]);
    }
    fputs(o->inlines ? "\n\n" : "\n", to);
}

/* ---- own ---- */

static void print_question(struct symbolicate_printer *p,
                           const struct symbolicate_question *question)
{
    if (question->kind == WORD_ADDRESS) {
        style_print(&p->style, STYLE_DIM, "0x%0*" PRIx64 "  ", p->is_64 ? 16 : 8, question->value);
        return;
    }
    symbolicate_put(p->style.to, question->word);
    fputs("  ", p->style.to);
}

static void print_place(struct symbolicate_printer *p, const struct fw_symbol_frame *f)
{
    if (!f->file)
        return;
    FILE *to = p->style.to;
    style_print(&p->style, STYLE_PLAIN, "  ");
    symbolicate_put(to, p->options->basenames ? symbolicate_last_part(f->file) : f->file);
    if (f->line)
        fprintf(to, ":%" PRIu32, f->line);
    if (f->line && f->column && p->options->columns)
        fprintf(to, ":%" PRIu32, f->column);
}

static void print_own(struct symbolicate_printer *p, const struct symbolicate_question *question,
                      const struct fw_resolved *symbol)
{
    struct style *style = &p->style;
    size_t count = symbol->frame_count;
    if (count == 0) {
        print_question(p, question);
        style_line(style, STYLE_WARNING, "??  (%s)",
                   question->kind == WORD_OTHER ? "not an address"
                                                : fw_reason_text(symbol->reason));
    }
    for (size_t i = p->options->inlines || !count ? 0 : count - 1; i < count; i++) {
        const struct fw_symbol_frame *f = &symbol->frames[i];
        const char *name = shown_name(p, f);
        bool inlined = f->flags & FW_SYMBOL_INLINED;
        print_question(p, question);
        if (inlined)
            style_print(style, STYLE_DIM, "[inlined] ");
        symbolicate_put(style->to, name ? name : "??");
        if (f->flags & FW_SYMBOL_PLT)
            fputs("@plt", style->to);
        if (!inlined)
            style_print(style, STYLE_DIM, "+0x%" PRIx64, f->offset);
        print_place(p, f);
        if (!name && !f->file)
            style_print(style, STYLE_WARNING, "  (a function without a name)");
        fputc('\n', style->to);
    }
}

void symbolicate_print(struct symbolicate_printer *printer,
                       const struct symbolicate_question *question,
                       const struct fw_resolved *symbol)
{
    if (printer->options->form == FORM_JSON) {
        symbolicate_print_json(printer->style.to, printer->options, question, symbol);
        return;
    }
    switch (printer->options->manner) {
    case MANNER_ADDR2LINE: print_addr2line(printer, question, symbol); break;
    case MANNER_ATOS: print_atos(printer, question, symbol); break;
    case MANNER_OWN: print_own(printer, question, symbol); break;
    }
}
