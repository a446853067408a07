/* Addresses as JSON, one object a line: docs/symbolicate-json.md. */
#include "cli/symbolicate.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are not UTF-8 become \xNN. */
static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    size_t size = 4 * strlen(text) + 2;
    char *clean = malloc(size);
    if (clean) {
        style_clean(text, clean, size);
        value = json_string(clean);
    }
    free(clean);
    return value;
}

static json_t *address_text(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

static json_t *frame_of(const struct symbolicate_options *o, const struct fw_symbol_frame *f)
{
    json_t *frame = json_object();
    const char *shown = o->demangle ? f->function : f->mangled;
    if (shown)
        json_object_set_new(frame, "function", text_of(shown));
    if (f->mangled && shown && strcmp(shown, f->mangled) != 0)
        json_object_set_new(frame, "mangled", text_of(f->mangled));
    if (f->file)
        json_object_set_new(frame, "file",
                            text_of(o->basenames ? symbolicate_last_part(f->file) : f->file));
    if (f->line)
        json_object_set_new(frame, "line", json_integer(f->line));
    if (f->column && o->columns)
        json_object_set_new(frame, "column", json_integer(f->column));
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {{FW_SYMBOL_INLINED, "inlined"},
                 {FW_SYMBOL_FROM_TABLE, "from_symbols"},
                 {FW_SYMBOL_ARTIFICIAL, "artificial"},
                 {FW_SYMBOL_PLT, "plt"},
                 {FW_SYMBOL_PART, "part"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (f->flags & flags[i].flag)
            json_object_set_new(frame, flags[i].name, json_true());
    json_object_set_new(frame, "start", address_text(f->start));
    json_object_set_new(frame, "offset", json_integer((json_int_t)f->offset));
    return frame;
}

void symbolicate_print_json(FILE *to, const struct symbolicate_options *options,
                            const struct symbolicate_question *question,
                            const struct fw_resolved *symbol)
{
    json_t *line = json_object(), *frames = json_array();
    if (question->kind == WORD_ADDRESS)
        json_object_set_new(line, "address", address_text(question->value));
    else
        json_object_set_new(line, "word", text_of(question->word));
    size_t count = symbol->frame_count;
    for (size_t i = options->inlines || !count ? 0 : count - 1; i < count; i++)
        json_array_append_new(frames, frame_of(options, &symbol->frames[i]));
    json_object_set_new(line, "frames", frames);
    if (count == 0)
        json_object_set_new(line, "reason",
                            json_string(question->kind == WORD_OTHER
                                            ? "not an address"
                                            : fw_reason_text(symbol->reason)));
    json_dumpf(line, to, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', to);
    json_decref(line);
}
