/*
 * Text for people: a header, then each group of threads with its stack, innermost frame first.
 *
 * Functions stand in one column and images in the next. A stack that did not reach its root ends
 * with a line that says why.
 */
#include "cli/dump_text.h"

#include "cli/fold.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_COLUMNS = 56, /* longer names push their image to the right, alone */
    IDS_SHOWN = 3,     /* of a folded group */
    REPEATS_SHOWN = 4, /* longer runs of one frame, as recursion makes them, are folded */
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

/* Room for "function+0x12" without the offset's own style. */
static size_t label_columns(const struct frame_text *text, char offset[24])
{
    offset[0] = '\0';
    if (text->subject == FRAME_FUNCTION || text->subject == FRAME_IMAGE)
        snprintf(offset, 24, "+0x%" PRIx64, text->offset);
    size_t columns = 0;
    for (const char *at = text->name; *at != '\0'; at++)
        columns += ((unsigned char)*at & 0xc0) != 0x80;
    return columns + strlen(offset);
}

static void print_image(const struct frame_text *text, bool full_path, struct style *style)
{
    const struct fw_symbol *symbol = &text->symbol;
    if (text->subject == FRAME_FUNCTION && symbol->image != NULL) {
        char image[4096];
        style_clean(full_path ? symbol->image : dump_image_name(symbol->image), image,
                    sizeof(image));
        style_print(style, STYLE_DIM, "  (%s)", image);
    }
    if (text->subject == FRAME_FUNCTION && symbol->file != NULL) {
        char file[4096];
        style_clean(symbol->file, file, sizeof(file));
        style_print(style, STYLE_PLAIN, symbol->line > 0 ? " at %s:%" PRIu32 : " at %s", file,
                    symbol->line);
    }
}

static void print_frame(const struct fw_frame *frame, const struct frame_text *text,
                        uint64_t number, int digits, size_t width, bool verbose,
                        struct style *style)
{
    char offset[24];
    size_t columns = label_columns(text, offset);
    int length = snprintf(NULL, 0, "%" PRIu64, number);

    style_print(style, STYLE_DIM, "  #%" PRIu64 "%*s", number, digits - length + 2, "");
    if (verbose)
        style_print(style, STYLE_DIM, "0x%016" PRIx64 "  ", frame->address);
    if (text->subject == FRAME_NOWHERE) {
        style_print(style, STYLE_PLAIN, "0x%" PRIx64, frame->address);
        style_print(style, STYLE_DIM, " (no image)");
    } else {
        style_print(style, STYLE_PLAIN, "%s", text->name);
        if (offset[0] != '\0')
            style_print(style, STYLE_DIM, "%s", offset);
    }
    bool image = text->subject == FRAME_FUNCTION && text->symbol.image != NULL;
    if ((image || verbose) && columns < width)
        style_print(style, STYLE_PLAIN, "%*s", (int)(width - columns), "");
    print_image(text, verbose, style);
    if (verbose)
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

/* How many frames from `at` on are the same call, not looking past the gap. */
static uint32_t repeats(const struct dump_stack *stack, uint32_t at)
{
    uint32_t end = at < stack->head ? stack->head : stack->count, next = at + 1;
    while (next < end && stack->frames[next].address == stack->frames[at].address &&
           stack->frames[next].flags == stack->frames[at].flags)
        next++;
    return next - at;
}

static bool print_stack(struct frame_names *names, const struct dump_stack *stack,
                        struct style *style)
{
    struct frame_text *texts = calloc(stack->count > 0 ? stack->count : 1, sizeof(*texts));
    if (texts == NULL)
        return false;
    bool verbose = names->options->verbose, ok = true;
    size_t width = 0;
    for (uint32_t i = 0; i < stack->count && ok; i++) {
        char offset[24];
        ok = frame_describe(names, &stack->frames[i], &texts[i]);
        size_t columns = ok ? label_columns(&texts[i], offset) : 0;
        if (columns > width && columns <= NAME_COLUMNS)
            width = columns;
    }
    uint64_t last = stack->count + stack->omitted;
    int digits = snprintf(NULL, 0, "%" PRIu64, last > 0 ? last - 1 : 0);
    for (uint32_t i = 0; i < stack->count && ok; i++) {
        char count[32];
        if (i == stack->head && stack->omitted > 0)
            style_line(style, STYLE_WARNING, "  ... %s frames omitted ...",
                       grouped(stack->omitted, count));
        print_frame(&stack->frames[i], &texts[i], i < stack->head ? i : i + stack->omitted, digits,
                    width, verbose, style);
        uint32_t same = verbose || names->options->no_fold ? 1 : repeats(stack, i);
        if (same > REPEATS_SHOWN) {
            style_line(style, STYLE_DIM, "  ... the same %s more times ...",
                       grouped(same - 1, count));
            i += same - 1;
        }
    }
    free(texts);
    print_end(names->dump, stack, style);
    return ok;
}

/* The images of all frames, each once. */
struct image_list {
    const char **paths;
    size_t count;
};

static bool print_image_once(struct image_list *list, const struct fw_symbol *symbol,
                             struct style *style)
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
    return true;
}

static bool print_thread_images(struct frame_names *names, const struct dump_thread *thread,
                                struct image_list *list, struct style *style)
{
    for (size_t s = 0; s < thread->stack_count; s++) {
        for (uint32_t i = 0; i < thread->stacks[s].count; i++) {
            struct frame_text text;
            if (!frame_describe(names, &thread->stacks[s].frames[i], &text))
                return false;
            if (text.symbol.image != NULL && !print_image_once(list, &text.symbol, style))
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
