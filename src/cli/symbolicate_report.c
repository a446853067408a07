/*
 * A whole report with names.
 *
 * All frames of the report are one question to the library: each image is converted at most once,
 * and where two frames are caller and callee, the tail calls between them are found. The answers
 * are handed to the writer frame by frame. A tail-call frame comes with its callee there, and with
 * its caller in reports.
 */
#include "base/array.h"
#include "cli/cli.h"
#include "cli/symbolicate.h"
#include "cli/symbolicate_images.h"
#include "report/v5.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct image_state {
    struct image_file file;
    bool used;      /* by a frame */
    char *failed;   /* why the file could not be read after all; NULL: it could */
    size_t unnamed; /* frames that stay without a name */
};

struct job {
    const struct symbolicate_options *options;
    struct report *report;
    struct image_state *images;
    struct fw_stack_address *stack; /* all frames; between stacks one without a source */
    size_t stack_count;
    size_t *place_of;           /* of each frame in `stack` */
    struct fw_symbols *symbols; /* of `stack` */
    struct report_name *names;  /* of the frame being written */
    size_t names_capacity;
    size_t ambiguous; /* calls between which tail calls cannot be told */
    bool no_memory;
};

/* ---- asking ---- */

static struct fw_stack_address question_of(const struct job *job, uint32_t frame)
{
    struct fw_stack_address entry = {0};
    uint64_t offset;
    uint8_t space;
    if (!report_frame_place(job->report, frame, &offset, &space))
        return entry;
    const struct report_frame *f = &job->report->frames[frame];
    entry.source = job->images[f->image].file.source;
    entry.address.value = offset;
    entry.address.space = space == REPORT_LINKED ? FW_ADDRESS_LINK : FW_ADDRESS_IMAGE;
    if (f->kind == REPORT_RETURN)
        entry.address.space |= FW_ADDRESS_RETURN;
    return entry;
}

static bool is_placed(const struct report *r, uint32_t frame)
{
    uint64_t offset;
    uint8_t space;
    return report_frame_place(r, frame, &offset, &space);
}

static bool list_frames(struct job *job)
{
    const struct report *r = job->report;
    free(job->stack);
    free(job->place_of);
    job->stack = calloc(2 * r->frame_count + 1, sizeof *job->stack);
    job->place_of = calloc(r->frame_count + 1, sizeof *job->place_of);
    job->stack_count = 0;
    for (uint32_t i = 0; job->stack && job->place_of && i < r->frame_count; i++) {
        job->place_of[i] = job->stack_count;
        job->stack[job->stack_count++] = question_of(job, i);
        if (report_ends_stack(r, i))
            job->stack_count++;
    }
    return job->stack && job->place_of;
}

/* Asks each image for itself, and drops those whose files turn out to be broken. */
static bool drop_broken(struct job *job)
{
    const struct report *r = job->report;
    struct fw_address *addresses = calloc(r->frame_count + 1, sizeof *addresses);
    bool dropped = false;
    for (size_t i = 0; addresses && i < r->image_count; i++) {
        struct image_state *image = &job->images[i];
        size_t count = 0;
        for (uint32_t k = 0; image->file.source && k < r->frame_count; k++)
            if (r->frames[k].image == i && is_placed(r, k))
                addresses[count++] = question_of(job, k).address;
        struct fw_symbols *symbols;
        struct fw_failure why = {0};
        if (!image->file.source ||
            fw_symbolicate(image->file.source, addresses, count, &symbols, &why) == FW_OK) {
            if (image->file.source)
                fw_symbols_free(symbols);
            continue;
        }
        image->failed = strdup(why.message);
        fw_source_close(image->file.source);
        image->file.source = NULL;
        dropped = true;
    }
    free(addresses);
    return dropped;
}

static fw_error look_up(struct job *job, struct fw_failure *why)
{
    if (!list_frames(job))
        return FW_ERR_MEMORY;
    fw_error error = fw_symbolicate_stack(job->stack, job->stack_count, &job->symbols, why);
    if (error == FW_OK || error == FW_ERR_MEMORY || !drop_broken(job))
        return error;
    return list_frames(job) ? fw_symbolicate_stack(job->stack, job->stack_count, &job->symbols, why)
                            : FW_ERR_MEMORY;
}

/* ---- answering ---- */

static const struct fw_resolved *answer_of(const struct job *job, uint32_t frame)
{
    return &job->symbols->items[job->place_of[frame]];
}

static bool wants_short_files(const struct job *job)
{
    bool text = job->options->form == FORM_TEXT || job->options->form == FORM_CRASH;
    return job->options->basenames ||
           (report_is_apple(job->report) && text && !job->options->full_paths);
}

static bool add_name(struct job *job, const struct fw_symbol_frame *f, size_t *count)
{
    if (!array_room(&job->names, &job->names_capacity, *count, sizeof *job->names)) {
        job->no_memory = true;
        return false;
    }
    bool tail = f->flags & FW_SYMBOL_TAIL_CALL;
    const char *file = f->file;
    if (file && wants_short_files(job))
        file = symbolicate_last_part(file);
    job->names[(*count)++] = (struct report_name){
        .function = job->options->demangle ? f->function : f->mangled,
        .file = file,
        .line = f->line,
        .column = job->options->columns ? f->column : 0,
        .has_offset = !tail,
        .offset = f->offset,
        .size = f->size,
        .flags = tail                           ? REPORT_TAIL_CALL
                 : f->flags & FW_SYMBOL_INLINED ? REPORT_INLINED
                                                : 0,
    };
    return true;
}

static bool is_worth(const struct job *job, uint32_t frame)
{
    const struct fw_resolved *answer = answer_of(job, frame);
    size_t own = answer->frame_count;
    while (own > 0 && answer->frames[own - 1].flags & FW_SYMBOL_TAIL_CALL)
        own--;
    const struct fw_symbol_frame *outer = own ? &answer->frames[own - 1] : NULL;
    return outer && report_wants_name(job->report, frame, outer->function, outer->file);
}

static size_t resolve(void *context, const struct report *r, uint32_t number,
                      const struct report_name **names)
{
    struct job *job = context;
    const struct fw_resolved *answer = answer_of(job, number);
    bool inlines = job->options->inlines;
    size_t count = 0;
    if (!is_worth(job, number))
        return 0;
    if (number > 0 && inlines && !report_ends_stack(r, number - 1)) {
        const struct fw_resolved *callee = answer_of(job, number - 1);
        for (size_t i = 0; i < callee->frame_count; i++)
            if (callee->frames[i].flags & FW_SYMBOL_TAIL_CALL)
                if (!add_name(job, &callee->frames[i], &count))
                    return 0;
    }
    for (size_t i = 0; i < answer->frame_count; i++) {
        uint32_t flags = answer->frames[i].flags;
        if (!(flags & FW_SYMBOL_TAIL_CALL) && (inlines || !(flags & FW_SYMBOL_INLINED)))
            if (!add_name(job, &answer->frames[i], &count))
                return 0;
    }
    *names = job->names;
    return count;
}

static enum v5_found was_found(void *context, const struct report *r, uint32_t image)
{
    const struct job *job = context;
    (void)r;
    if (!job->images[image].used)
        return V5_NOT_ASKED;
    return job->images[image].file.source ? V5_FOUND : V5_NOT_FOUND;
}

/* The same report with names; of a request the answer to it; of what is no text, text for people.
 */
static fw_error write_same(struct job *job, struct report_bytes *out)
{
    if (job->report->kind == REPORT_V5)
        return v5_write_answer(job->report, resolve, was_found, job, out);
    if (job->report->kind == REPORT_FRAMEWALK)
        return report_to_text(job->report, resolve, job, out);
    return report_write(job->report, resolve, job, out);
}

static fw_error write_form(struct job *job, struct report_bytes *out)
{
    switch (job->options->form) {
    case FORM_JSON: return report_to_json(job->report, resolve, job, out);
    case FORM_CRASH: return report_to_crash(job->report, resolve, job, out);
    case FORM_COLLAPSED: return report_to_collapsed(job->report, resolve, job, out);
    case FORM_SPEEDSCOPE: return report_to_speedscope(job->report, resolve, job, out);
    case FORM_PPROF: return report_to_pprof(job->report, resolve, job, out);
    case FORM_FIREFOX: return report_to_firefox(job->report, resolve, job, out);
    case FORM_PEOPLE: return report_to_text(job->report, resolve, job, out);
    case FORM_TEXT:
    case FORMS: break;
    }
    return write_same(job, out);
}

static int write_report(struct job *job, FILE *to)
{
    struct report_bytes out = {0};
    fw_error error = write_form(job, &out);
    int code = CLI_OK;
    if (error == FW_ERR_UNSUPPORTED) {
        cli_error("%s cannot be written as %s: %s", report_kind_text(job->report->kind),
                  symbolicate_form_name(job->options->form),
                  job->options->form == FORM_CRASH
                      ? "it has trees of stacks, or no threads, and that form threads alone"
                      : "there is no stack in it");
        code = CLI_FAILED;
    } else if (error == FW_ERR_FULL) {
        cli_error("the stacks nest so deep that the result would be too large; --to json has no "
                  "such limit");
        code = CLI_FAILED;
    } else if (error != FW_OK || job->no_memory) {
        cli_error("%s", fw_error_text(error != FW_OK ? error : FW_ERR_MEMORY));
        code = CLI_FAILED;
    } else if (out.size > 0) {
        fwrite(out.data, 1, out.size, to);
    }
    report_bytes_free(&out);
    return code;
}

/* ---- what is missing ---- */

static void count_unnamed(struct job *job)
{
    const struct report *r = job->report;
    for (uint32_t i = 0; i < r->frame_count; i++) {
        const struct report_frame *frame = &r->frames[i];
        const struct fw_resolved *answer = answer_of(job, i);
        if (frame->image != REPORT_NONE && frame->name_count == 0 && !is_worth(job, i))
            job->images[frame->image].unnamed++;
        for (size_t k = 0; k < answer->frame_count; k++)
            job->ambiguous += (answer->frames[k].flags & FW_SYMBOL_AMBIGUOUS_TAIL) != 0;
    }
}

static void tell_image(const struct report_image *image, const struct image_state *state)
{
    char id[IMAGE_ID_TEXT];
    image_id_text(image, id);
    fputs("framewalk: ", stderr);
    symbolicate_put(stderr, image->name[0] ? image->name : "an image without a name");
    fprintf(stderr, "%s%s%s: %zu frame%s without a name: ", id[0] ? " (" : "", id, id[0] ? ")" : "",
            state->unnamed, state->unnamed == 1 ? "" : "s");
    struct fw_source_info info = {.size = sizeof info};
    if (state->file.source && fw_source_info(state->file.source, &info) == FW_OK) {
        symbolicate_put(stderr, info.debug_path ? info.debug_path : info.path);
        fputs(info.kind == FW_SOURCE_SYMBOLS ? " has no symbol there, no debug file was found"
                                             : " knows nothing there",
              stderr);
        symbolicate_put(stderr, info.searched[0] ? ": " : "");
        symbolicate_put(stderr, info.searched);
    } else if (state->failed) {
        symbolicate_put(stderr, state->failed);
    } else if (!state->used) {
        fputs("the report does not say where it was loaded", stderr);
    } else {
        fputs("no file was found", stderr);
        const char *looked = state->file.looked ? state->file.looked : "";
        symbolicate_put(stderr, looked[0] ? ": " : "");
        symbolicate_put(stderr, looked);
    }
    fputc('\n', stderr);
}

static void tell_used(const struct report_image *image, const struct image_state *state)
{
    struct fw_source_info info = {.size = sizeof info};
    if (!state->file.source || fw_source_info(state->file.source, &info) != FW_OK)
        return;
    const char *looked = state->file.looked ? state->file.looked : "";
    fputs("framewalk: ", stderr);
    symbolicate_put(stderr, image->name);
    fputs(image->id_size ? ": " : ": by name, the report has no id: ", stderr);
    symbolicate_put(stderr, info.debug_path ? info.debug_path : info.path);
    fputs(looked[0] ? "; also looked at " : "", stderr);
    symbolicate_put(stderr, looked);
    fputc('\n', stderr);
}

/* Neither debug information nor a map: more could be known if there were files. */
static bool lacks_files(const struct image_state *state)
{
    struct fw_source_info info = {.size = sizeof info};
    return !state->file.source || fw_source_info(state->file.source, &info) != FW_OK ||
           info.kind == FW_SOURCE_SYMBOLS || info.kind == FW_SOURCE_NOTHING;
}

/* One line for each image of the program; those of the system only when asked for. */
static int tell_missing(const struct job *job)
{
    const struct report *r = job->report;
    bool own = false;
    size_t system = 0;
    for (size_t i = 0; i < r->image_count; i++) {
        const struct image_state *state = &job->images[i];
        bool foreign = image_is_system(r, &r->images[i]);
        if (job->options->verbose)
            tell_used(&r->images[i], state);
        own |= symbolicate_tell_incomplete(state->file.source) && !foreign;
        if (state->unnamed == 0)
            continue;
        if (foreign && !state->failed && !job->options->verbose) {
            system++;
            continue;
        }
        tell_image(&r->images[i], state);
        own |= !foreign && lacks_files(state);
    }
    if (system)
        cli_error("%zu %simage%s without symbols (--verbose lists %s)", system, own ? "other " : "",
                  system == 1 ? "" : "s", system == 1 ? "it" : "them");
    if (own && job->options->folder_count == 0)
        cli_error("--debug PATH names a dSYM, a debug file or a folder of them");
    if (job->ambiguous)
        cli_error("%zu frame%s reached by tail calls of which several ways are possible: none is "
                  "shown",
                  job->ambiguous, job->ambiguous == 1 ? " was" : "s were");
    if (!r->complete)
        cli_error("the report is not whole: %s", r->note ? r->note : "it breaks off");
    return own || !r->complete ? CLI_INCOMPLETE : CLI_OK;
}

/* ---- the whole ---- */

static bool find_images(struct job *job, struct fw_symbolicator *symbolicator)
{
    const struct report *r = job->report;
    job->images = calloc(r->image_count + 1, sizeof *job->images);
    for (uint32_t i = 0; job->images && i < r->frame_count; i++)
        if (is_placed(r, i))
            job->images[r->frames[i].image].used = true;
    for (size_t i = 0; job->images && i < r->image_count; i++)
        if (job->images[i].used)
            job->images[i].file = image_file_find(job->options, symbolicator, r, &r->images[i]);
    return job->images != NULL;
}

static int symbolicate(struct job *job, struct fw_symbolicator *symbolicator, FILE *to)
{
    struct fw_failure why = {0};
    fw_error error = find_images(job, symbolicator) ? look_up(job, &why) : FW_ERR_MEMORY;
    if (error != FW_OK) {
        cli_error("%s", why.message[0] ? why.message : fw_error_text(error));
        return symbolicate_exit_for(error);
    }
    int code = write_report(job, to);
    if (code != CLI_OK)
        return code;
    count_unnamed(job);
    return tell_missing(job);
}

static void finish(struct job *job)
{
    fw_symbols_free(job->symbols);
    for (size_t i = 0; job->images && i < job->report->image_count; i++) {
        fw_source_close(job->images[i].file.source);
        free(job->images[i].file.looked);
        free(job->images[i].failed);
    }
    free(job->images);
    free(job->stack);
    free(job->place_of);
    free(job->names);
    report_free(job->report);
}

fw_error symbolicate_report(const struct symbolicate_options *options,
                            struct fw_symbolicator *symbolicator, struct span text, FILE *to,
                            int *code)
{
    struct job job = {.options = options};
    struct fw_failure why = {0};
    fw_error error = report_read(text, &job.report, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message[0] ? why.message : fw_error_text(error));
        *code = symbolicate_exit_for(error);
        return FW_OK;
    }
    bool known = job.report->kind != REPORT_OTHER;
    if (job.report->kind == REPORT_V5 && v5_check(job.report, &why) != FW_OK) {
        cli_error("%s", why.message);
        *code = CLI_FORMAT;
    } else if (known)
        *code = symbolicate(&job, symbolicator, to);
    finish(&job);
    return known ? FW_OK : FW_ERR_FORMAT;
}
