/*
 * Text for people: a header, then each group of threads with its stack, innermost frame first.
 *
 * Functions stand in one column, images in the next, source lines in the last. Numbers count what
 * is on the stack: an inlined function has the number of the frame that it is part of, a function
 * that left by a tail call has none. A stack that did not reach its root ends with a line that says
 * why.
 */
#include "cli/dump_text.h"

#include "cli/fold.h"
#include "cli/frame_lines.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_COLUMNS = 56,  /* longer names push their image to the right, alone */
    IMAGE_COLUMNS = 32, /* the same for images and lines */
    IDS_SHOWN = 3,      /* of a folded group */
    REPEATS_SHOWN = 4,  /* longer runs of one frame, as recursion makes them, are folded */
};

/* 99744 as "99,744". */
static const char *grouped(uint64_t number, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

static void print_header(const struct dump *dump, const struct dump_options *options,
                         struct style *style)
{
    char program[512], command[1024], when[64], count[32], file[1024];
    const char *executable = dump->info.executable != NULL ? dump->info.executable : "?";
    struct tm local;

    style_clean(dump_image_name(executable), program, sizeof(program));
    style_print(style, STYLE_STRONG, "%s", program);
    if (dump->info.pid > 0)
        style_print(style, STYLE_PLAIN, ", process %" PRId32, dump->info.pid);
    style_print(style, STYLE_PLAIN, ", %s, %s thread%s", dump->info.arch ? dump->info.arch : "?",
                grouped(dump->thread_count, count), dump->thread_count == 1 ? "" : "s");
    if (dump->core != NULL) {
        style_clean(dump->core, file, sizeof(file));
        style_print(style, STYLE_PLAIN, ", from core file %s\n", file);
    } else {
        localtime_r(&dump->when.tv_sec, &local);
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &local);
        style_print(style, STYLE_PLAIN, ", %s\n", when);
    }
    if (dump->sampled) {
        style_print(style, STYLE_PLAIN, "Sampled for %.1f s: %s times, %.4g a second",
                    dump->seconds, grouped(dump->rounds, count),
                    dump->seconds > 0 ? (double)dump->rounds / dump->seconds : 0);
        style_print(style, STYLE_PLAIN,
                    dump->interrupted ? "; ended early (%.6g s asked for)\n" : "\n", dump->asked);
    }
    style_clean(dump->info.command != NULL ? dump->info.command : "", command, sizeof(command));
    if (command[0] != '\0')
        style_line(style, STYLE_DIM, "%s", command);
    if (options->verbose && options->consistent)
        style_line(style, STYLE_DIM, "All threads were stopped at one moment.");
}

static void print_ids(const struct fold_group *group, bool all, const char *name,
                      struct style *style)
{
    size_t shown = all || group->count <= IDS_SHOWN + 1 ? group->count : IDS_SHOWN;
    style_print(style, STYLE_STRONG, group->count == 1 ? "Thread " : "Threads ");
    for (size_t i = 0; i < shown; i++) {
        bool last = i + 1 == group->count;
        const char *before = i == 0 ? "" : last ? " and " : ", ";
        style_print(style, STYLE_STRONG, "%s%" PRId32, before, group->threads[i]->id);
        if (name[0] == '\0' && group->threads[i]->name[0] != '\0') {
            char own[4 * FW_THREAD_NAME_SIZE];
            style_clean(group->threads[i]->name, own, sizeof(own));
            style_print(style, STYLE_STRONG, " \"%s\"", own);
        }
    }
    char more[32];
    if (shown < group->count)
        style_print(style, STYLE_STRONG, " and %s more", grouped(group->count - shown, more));
    if (name[0] != '\0')
        style_print(style, STYLE_STRONG, " \"%s\"", name);
}

static void print_state(const struct dump_thread *thread, struct style *style)
{
    const char *word = dump_state_word(thread->state);
    enum style_kind kind = thread->state == 'R'   ? STYLE_ACTIVE
                           : thread->state == 'D' ? STYLE_WARNING
                                                  : STYLE_PLAIN;
    if (word[0] != '\0')
        style_print(style, kind, " %c (%s)", thread->state, word);
    if (thread->wait_channel[0] != '\0') {
        char channel[4 * 64];
        style_clean(thread->wait_channel, channel, sizeof(channel));
        style_print(style, STYLE_PLAIN, " waiting in %s", channel);
    }
}

static void print_title(const struct dump *dump, const struct dump_options *options,
                        const struct fold_group *group, struct style *style)
{
    const struct dump_thread *first = group->threads[0];
    char name[4 * FW_THREAD_NAME_SIZE];
    uint64_t pause = 0;

    fold_name(group, name, sizeof(name));
    print_ids(group, options->verbose, name, style);
    if (first->is_main)
        style_print(style, STYLE_PLAIN, " (main)");
    if (first->signal != 0) {
        const char *abbreviation = sigabbrev_np(first->signal);
        const char *description = sigdescr_np(first->signal);
        if (abbreviation != NULL)
            style_print(style, STYLE_WARNING, " killed by SIG%s (%s)", abbreviation, description);
        else
            style_print(style, STYLE_WARNING, " killed by signal %" PRId32, first->signal);
    }
    if (!dump->sampled)
        print_state(first, style);
    for (size_t i = 0; i < group->count; i++)
        pause = group->threads[i]->pause_ns > pause ? group->threads[i]->pause_ns : pause;
    if (options->verbose && pause > 0)
        style_print(style, STYLE_DIM, ", paused for %s%.1f us", group->count > 1 ? "at most " : "",
                    (double)pause / 1000);
}

/* How wide the columns of a stack are. */
struct columns {
    int digits; /* of the numbers */
    size_t name, image;
};

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* What is behind the name: "+0x12" or " [inlined]". */
static const char *name_tail(const struct frame_text *text, char tail[24])
{
    bool has_offset = text->subject == FRAME_FUNCTION || text->subject == FRAME_IMAGE;
    if (text->role != FRAME_REAL || !has_offset)
        return frame_role_mark(text->role);
    snprintf(tail, 24, "+0x%" PRIx64, text->offset);
    return tail;
}

static size_t name_columns(const struct frame_text *text)
{
    char tail[24];
    return characters(text->name) + strlen(name_tail(text, tail));
}

/* "(libc.so.6)"; "" when the name says it already. */
static size_t image_words(const struct frame_text *text, bool full_path, char words[4096])
{
    words[0] = '\0';
    const char *image = text->image.image;
    if (text->subject != FRAME_FUNCTION || image == NULL)
        return 0;
    size_t columns = style_clean(full_path ? image : dump_image_name(image), words + 1, 4096 - 2);
    words[0] = '(';
    strcat(words, ")");
    return columns + 2;
}

/* Widths of all that is not so long that it stands alone. */
static struct columns measure(const struct dump_stack *stack, const struct frame_list *list,
                              bool verbose)
{
    struct columns columns = {0};
    uint64_t last = stack->count + stack->omitted;
    columns.digits = snprintf(NULL, 0, "%" PRIu64, last > 0 ? last - 1 : 0);
    for (size_t i = 0; i < list->count; i++) {
        char image[4096];
        size_t name_width = name_columns(&list->items[i]);
        size_t image_width = image_words(&list->items[i], verbose, image);
        if (name_width > columns.name && name_width <= NAME_COLUMNS)
            columns.name = name_width;
        if (image_width > columns.image && image_width <= IMAGE_COLUMNS)
            columns.image = image_width;
    }
    return columns;
}

static void pad(size_t from, size_t to, struct style *style)
{
    style_print(style, STYLE_PLAIN, "%*s", from < to ? (int)(to - from) : 0, "");
}

static void print_number(const struct frame_text *text, uint64_t number, int digits,
                         struct style *style)
{
    if (!frame_role_is_certain(text->role)) /* on no stack */
        style_print(style, STYLE_PLAIN, "   %*s  ", digits, "");
    else
        style_print(style, STYLE_DIM, "  #%-*" PRIu64 "  ", digits, number);
}

static void print_name(const struct fw_frame *frame, const struct frame_text *text,
                       struct style *style)
{
    char tail[24];
    if (text->subject == FRAME_NOWHERE) {
        style_print(style, STYLE_PLAIN, "0x%" PRIx64, frame->address);
        style_print(style, STYLE_DIM, " (no image)");
        return;
    }
    style_print(style, STYLE_PLAIN, "%s", text->name);
    if (name_tail(text, tail)[0] != '\0')
        style_print(style, STYLE_DIM, "%s", name_tail(text, tail));
}

static void print_line(const struct frame_text *text, bool full_path, struct style *style)
{
    char file[4096];
    style_clean(full_path ? text->file : dump_image_name(text->file), file, sizeof(file));
    style_print(style, STYLE_PLAIN, text->line > 0 ? "  %s:%" PRIu32 : "  %s", file, text->line);
}

static void print_frame(const struct fw_frame *frame, const struct frame_text *text,
                        uint64_t number, const struct columns *columns, bool verbose,
                        struct style *style)
{
    char image[4096];
    size_t image_width = image_words(text, verbose, image);

    print_number(text, number, columns->digits, style);
    if (verbose && text->role == FRAME_REAL)
        style_print(style, STYLE_DIM, "0x%016" PRIx64 "  ", frame->address);
    else if (verbose)
        style_print(style, STYLE_PLAIN, "%20s", "");
    print_name(frame, text, style);
    if (image_width > 0 || verbose)
        pad(name_columns(text), columns->name, style);
    if (image_width > 0)
        style_print(style, STYLE_DIM, "  %s", image);
    if (text->file != NULL) {
        if (name_columns(text) <= columns->name)
            pad(image_width, columns->image, style);
        print_line(text, verbose, style);
    }
    if (verbose && text->role == FRAME_REAL)
        style_print(style, STYLE_DIM, "  [%s%s]", fw_method_text((fw_method)frame->method),
                    frame->kind == FW_FRAME_EXACT ? ", exact" : "");
    fputc('\n', style->to);
}

static void print_end(const struct dump *dump, const struct dump_stack *stack, struct style *style)
{
    char phrase[128];
    dump_end_phrase(stack, phrase, sizeof(phrase));
    if (stack->end == FW_END_UNAVAILABLE)
        style_line(style, STYLE_WARNING, "  -- no stack: %s", phrase);
    else if (stack->end == FW_END_LIMIT && dump_stack_is_whole(dump, stack))
        style_print(style, STYLE_DIM, "  -- cut at the depth of %" PRIu32 " asked for\n",
                    dump->depth_limit);
    else if (stack->end != FW_END_ROOT)
        style_line(style, STYLE_WARNING, "  -- stack ends here: %s", phrase);
}

/* The texts of the frame that begin at `at` end here. */
static size_t end_of_frame(const struct frame_list *list, size_t at)
{
    uint32_t frame = list->items[at].frame;
    while (at < list->count && list->items[at].frame == frame)
        at++;
    return at;
}

/* Do two frames of the same address also look the same? The texts of the second begin at `at`. */
static bool looks_same(const struct frame_list *list, size_t before, size_t at)
{
    size_t end = end_of_frame(list, at);
    return end - at == at - before &&
           list->items[at - 1].ambiguous == list->items[end - 1].ambiguous;
}

/* How many frames, from the one whose texts begin at `at` on, are the same call, not looking past
 * the gap. */
static uint32_t repeats(const struct dump_stack *stack, const struct frame_list *list, size_t at)
{
    uint32_t first = list->items[at].frame, next = first + 1;
    uint32_t end = first < stack->head ? stack->head : stack->count;
    while (next < end && stack->frames[next].address == stack->frames[first].address &&
           stack->frames[next].flags == stack->frames[first].flags) {
        size_t after = end_of_frame(list, at);
        if (!looks_same(list, at, after))
            break;
        at = after;
        next++;
    }
    return next - first;
}

/* Prints the texts of one frame, from `at` on; returns where those of the next begin. */
static size_t print_texts(const struct dump_stack *stack, const struct frame_list *list, size_t at,
                          const struct columns *columns, bool verbose, struct style *style)
{
    size_t end = end_of_frame(list, at);
    uint32_t frame = list->items[at].frame;
    if (list->items[end - 1].ambiguous)
        style_line(style, STYLE_DIM, "  ... tail calls in between: several ways are possible ...");
    for (; at < end; at++)
        print_frame(&stack->frames[frame], &list->items[at],
                    frame < stack->head ? frame : frame + stack->omitted, columns, verbose, style);
    return end;
}

static void print_frames(const struct dump_stack *stack, const struct frame_list *list,
                         const struct dump_options *options, struct style *style)
{
    struct columns columns = measure(stack, list, options->verbose);
    for (size_t at = 0; at < list->count;) {
        char count[32];
        if (list->items[at].frame == stack->head && stack->omitted > 0)
            style_line(style, STYLE_WARNING, "  ... %s frames omitted ...",
                       grouped(stack->omitted, count));
        uint32_t same = options->verbose || options->no_fold ? 1 : repeats(stack, list, at);
        at = print_texts(stack, list, at, &columns, options->verbose, style);
        if (same <= REPEATS_SHOWN)
            continue;
        style_line(style, STYLE_DIM, "  ... the same %s more times ...", grouped(same - 1, count));
        while (--same > 0)
            at = end_of_frame(list, at);
    }
}

static bool print_stack(struct frame_names *names, const struct dump_stack *stack,
                        struct style *style)
{
    struct frame_list list = {0};
    bool ok = true;
    for (uint32_t i = 0; i < stack->count && ok; i++)
        ok = frame_describe(names, stack, i, &list);
    if (ok)
        print_frames(stack, &list, names->options, style);
    frame_list_free(&list);
    print_end(names->dump, stack, style);
    return ok;
}

/* The images of all frames, each once. */
struct image_list {
    const char **paths;
    size_t count;
};

static bool print_image_once(struct image_list *list, const struct frame_names *names,
                             const struct fw_symbol *symbol, struct style *style)
{
    char path[4096];
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->paths[i], symbol->image) == 0)
            return true;
    }
    const char **paths = realloc(list->paths, (list->count + 1) * sizeof(*paths));
    if (paths == NULL)
        return false;
    list->paths = paths;
    list->paths[list->count++] = symbol->image;
    style_clean(symbol->image, path, sizeof(path));
    style_print(style, STYLE_PLAIN, "%s  %s", list->count == 1 ? "\nImages\n" : "", path);
    style_print(style, STYLE_DIM, "  build id ");
    for (size_t i = 0; i < symbol->build_id_size; i++)
        style_print(style, STYLE_PLAIN, "%02x", symbol->build_id[i]);
    style_print(style, STYLE_PLAIN, "%s\n", symbol->build_id_size == 0 ? "none" : "");
    const char *story = frame_lines_story(names->dump->lines, symbol->image);
    if (story != NULL) {
        style_clean(story, path, sizeof(path));
        style_line(style, STYLE_DIM, "    %s", path);
    }
    return true;
}

static bool print_thread_images(struct frame_names *names, const struct dump_thread *thread,
                                struct image_list *list, struct style *style)
{
    for (size_t s = 0; s < thread->stack_count; s++) {
        for (uint32_t i = 0; i < thread->stacks[s].count; i++) {
            struct fw_symbol symbol;
            if (fw_process_symbol(names->dump->process, &thread->stacks[s].frames[i], &symbol) !=
                FW_OK)
                return false;
            if (symbol.image != NULL && !print_image_once(list, names, &symbol, style))
                return false;
        }
    }
    return true;
}

/* -v: which files the names came from, so that debug files can be matched. */
static bool print_images(struct frame_names *names, struct style *style)
{
    struct image_list list = {0};
    bool ok = true;
    for (size_t i = 0; i < names->dump->thread_count && ok; i++)
        ok = print_thread_images(names, &names->dump->threads[i], &list, style);
    free(list.paths);
    return ok;
}

bool dump_write_text(const struct dump *dump, const struct dump_options *options, FILE *to,
                     bool color)
{
    struct style style = {.to = to, .color = color};
    struct frame_names names;
    struct fold fold;

    if (!fold_threads(dump, options->no_fold, &fold))
        return false;
    frame_names_init(&names, dump, options);
    print_header(dump, options, &style);
    bool ok = true;
    for (size_t i = 0; i < fold.group_count && ok; i++) {
        fputc('\n', to);
        print_title(dump, options, &fold.groups[i], &style);
        if (dump->sampled) {
            ok = dump_tree_group(&names, &fold.groups[i], &style);
        } else {
            fputc('\n', to);
            ok = print_stack(&names, &fold.groups[i].threads[0]->stacks[0], &style);
        }
    }
    if (ok && options->verbose)
        ok = print_images(&names, &style);
    if (dump->missing_count > 0)
        fputc('\n', to);
    for (size_t i = 0; i < dump->missing_count; i++)
        style_line(&style, STYLE_WARNING, "Incomplete: %s", dump->missing[i]);
    frame_names_free(&names);
    fold_free(&fold);
    return ok;
}
