/*
 * Collapsed stacks, as flame graph tools read them: one line a stack, outermost frame first,
 *
 *     PROGRAM;THREAD;FRAME;FRAME;... COUNT
 *
 * An inlined function is a frame that ends in "_[i]", as flame graph tools know it, a function that
 * left by a tail call one that ends in "_[t]". Equal lines are one line with their counts summed,
 * sorted by text. ";" and line breaks inside
 * names become ":" and spaces, since the format has no escapes. What a stack lacks stands in
 * brackets where it is missing.
 */
#include "base/utf8.h"
#include "cli/frame_text.h"
#include "demangle/demangle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
    char *text;
    uint64_t count;
};

static void put_part(FILE *to, const char *part)
{
    char clean[DEMANGLE_TEXT_SIZE];
    utf8_repair(part, clean, sizeof(clean));
    for (char *at = clean; *at != '\0'; at++) {
        if (*at == ';')
            *at = ':';
        else if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    }
    fputs(clean, to);
}

static const char *suffix(enum frame_role role)
{
    switch (role) {
    case FRAME_INLINED: return "_[i]";
    case FRAME_TAIL_CALL:
    case FRAME_TAIL_INLINED: return "_[t]";
    case FRAME_REAL: break;
    }
    return "";
}

/* `list` is empty, and is so afterwards. */
static bool put_frame(struct frame_names *names, const struct dump_stack *stack, uint32_t at,
                      struct frame_list *list, FILE *to)
{
    bool ok = frame_describe(names, stack, at, list);
    for (size_t i = list->count; i-- > 0 && ok;) {
        const struct frame_text *text = &list->items[i];
        fputc(';', to);
        if (text->subject == FRAME_NOWHERE) {
            fprintf(to, "0x%" PRIx64, stack->frames[at].address);
            continue;
        }
        put_part(to, text->name);
        fputs(suffix(text->role), to);
        if (text->subject == FRAME_IMAGE)
            fprintf(to, "+0x%" PRIx64, text->offset);
    }
    list->count = 0;
    return ok;
}

static char *make_line(struct frame_names *names, const struct dump_thread *thread,
                       const struct dump_stack *stack)
{
    const struct dump *dump = names->dump;
    char *text = NULL, phrase[128];
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    put_part(to, dump_image_name(dump->info.executable != NULL ? dump->info.executable : "?"));
    fputc(';', to);
    put_part(to, thread->name[0] != '\0' ? thread->name : "?");

    dump_end_phrase(stack, phrase, sizeof(phrase));
    if (stack->end == FW_END_UNAVAILABLE)
        fprintf(to, ";[no stack: %s]", phrase);
    else if (stack->end != FW_END_ROOT)
        fprintf(to, ";[stack ends here: %s]", phrase);
    bool ok = true;
    struct frame_list list = {0};
    for (uint32_t i = stack->count; i-- > 0 && ok;) {
        if (i + 1 == stack->head && stack->omitted > 0)
            fprintf(to, ";[%" PRIu64 " frames omitted]", stack->omitted);
        ok = put_frame(names, stack, i, &list, to);
    }
    frame_list_free(&list);
    ok = !ferror(to) && ok;
    if (fclose(to) != 0 || !ok) {
        free(text);
        return NULL;
    }
    return text;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

static void put_lines(struct line *lines, size_t count, FILE *to)
{
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && strcmp(lines[i].text, lines[i + 1].text) == 0)
            lines[i + 1].count += lines[i].count;
        else
            fprintf(to, "%s %" PRIu64 "\n", lines[i].text, lines[i].count);
    }
}

bool dump_write_collapsed(const struct dump *dump, const struct dump_options *options, FILE *to)
{
    struct frame_names names;
    size_t room = 1, count = 0;
    for (size_t i = 0; i < dump->thread_count; i++)
        room += dump->threads[i].stack_count;
    struct line *lines = calloc(room, sizeof(*lines));
    bool ok = lines != NULL;

    frame_names_init(&names, dump, options);
    for (size_t t = 0; t < dump->thread_count && ok; t++) {
        const struct dump_thread *thread = &dump->threads[t];
        for (size_t s = 0; s < thread->stack_count && ok; s++) {
            lines[count].text = make_line(&names, thread, &thread->stacks[s]);
            lines[count].count = thread->stacks[s].samples;
            ok = lines[count].text != NULL;
            count += ok;
        }
    }
    if (ok)
        put_lines(lines, count, to);
    for (size_t i = 0; i < count; i++)
        free(lines[i].text);
    free(lines);
    frame_names_free(&names);
    return ok;
}
