/*
 * The conversion: units are read, flattened and kept by several threads, each taking the next unit
 * that nobody has taken; then one map is built of all of them. Results stand at the number of their
 * unit, so that what comes out does not depend on which thread was faster.
 */
#include "symmap/convert_internal.h"

#include "base/failure.h"
#include "dwarf/load.h"
#include "object/debug_sections.h"
#include "symmap/few.h"
#include "symmap/symbol_list.h"
#include "symmap/text_hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 64, UNITS_A_REPORT = 16 };

struct job {
    const struct dwarf *dwarf;
    struct dwarf_options read;
    struct flatten_options flatten;
    const struct convert_options *options;
    const size_t *chosen; /* unit numbers to read; NULL: all */
    size_t count;         /* units to read */
    uint64_t bytes;       /* of all of them */
    struct code_unit *units;
    _Atomic size_t next;
    _Atomic uint64_t bytes_done;
    _Atomic int error; /* the first fw_error of any worker */
    struct convert_producer producer;
    /* The calling thread reads all symbol tables before it joins in: units are read without the
     * object, which is for one thread at a time. Symbols of a few addresses are read afterwards,
     * when it is known which functions are around them. */
    struct object *object, *debug;
    struct symbol_list *symbols;
};

struct worker {
    struct job *job;
    pthread_t thread;
    bool started, reports; /* the calling thread's one shows progress */
    struct dwarf_problems problems;
    struct convert_producer producer;
};

void convert_add_problem(struct dwarf_problems *all, enum dwarf_problem kind, uint64_t count,
                         const struct fw_failure *first)
{
    if (count && (all->count[kind] == 0 || first->place < all->first[kind].place))
        all->first[kind] = *first;
    all->count[kind] += count;
}

void convert_add_problems(struct dwarf_problems *all, const struct dwarf_problems *more)
{
    for (int kind = 0; kind < DWARF_PROBLEM_COUNT; kind++)
        convert_add_problem(all, (enum dwarf_problem)kind, more->count[kind], &more->first[kind]);
}

void convert_producer_take(struct convert_producer *producer, size_t number, const char *name)
{
    if (name && name[0] && (!producer->name || number < producer->unit))
        *producer = (struct convert_producer){name, number};
}

fw_error convert_unit(const struct dwarf *dwarf, size_t number, const struct dwarf_options *read,
                      const struct flatten_options *flatten, struct arena *scratch,
                      struct code_unit *code, struct convert_producer *producer,
                      struct dwarf_problems *problems)
{
    struct dwarf_unit unit;
    fw_error error = dwarf_unit_read(dwarf, number, read, scratch, &unit, problems);
    if (error != FW_OK)
        return error;
    convert_producer_take(producer, number, unit.producer);
    struct dwarf_lines lines = {0};
    if (unit.has_lines) {
        struct fw_failure why = {0};
        error = dwarf_lines_read(&unit.line, scratch, &lines, &why);
        if (error == FW_ERR_MEMORY)
            return error;
        if (why.code != FW_OK)
            convert_add_problem(problems, DWARF_PROBLEM_LINE, 1, &why);
    }
    if (unit.function_count == 0 && lines.row_count == 0)
        return FW_OK;
    return code_flatten(&unit, &lines, flatten, scratch, code);
}

static void fail(struct job *job, fw_error error)
{
    int none = FW_OK;
    if (error != FW_OK)
        atomic_compare_exchange_strong(&job->error, &none, (int)error);
}

static void *work(void *context)
{
    struct worker *w = context;
    struct job *job = w->job;
    const struct convert_options *options = job->options;
    struct arena scratch = {0};
    if (w->reports && !options->only)
        fail(job, symbol_list_build(job->object, job->debug, job->symbols));
    for (;;) {
        size_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->count || atomic_load(&job->error) != FW_OK)
            break;
        size_t number = job->chosen ? job->chosen[i] : i;
        arena_reset(&scratch);
        fw_error error = convert_unit(job->dwarf, number, &job->read, &job->flatten, &scratch,
                                      &job->units[i], &w->producer, &w->problems);
        if (error != FW_OK) {
            fail(job, error);
            break;
        }
        dwarf_unit_done(job->dwarf, number);
        uint64_t done =
            atomic_fetch_add(&job->bytes_done, dwarf_unit_header(job->dwarf, number)->size);
        if (w->reports && options->progress && i % UNITS_A_REPORT == 0)
            options->progress(options->context, "Reading", done, job->bytes);
    }
    arena_free(&scratch);
    return NULL;
}

unsigned convert_threads(unsigned wanted, size_t units)
{
    long processors = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = processors > 0 ? (unsigned)processors : 1;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    return threads > units && units > 0 ? (unsigned)units : threads;
}

/* All units, in `threads` threads of which the caller's is one. A thread that cannot be started
 * leaves more work to the others. */
static fw_error read_units(struct job *job, unsigned threads, struct dwarf_problems *problems)
{
    struct worker *workers = calloc(threads, sizeof *workers);
    if (!workers)
        return FW_ERR_MEMORY;
    for (unsigned i = 0; i < threads; i++) {
        workers[i].job = job;
        workers[i].reports = i == 0;
        if (i > 0)
            workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    work(&workers[0]);
    for (unsigned i = 0; i < threads; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        convert_add_problems(problems, &workers[i].problems);
        convert_producer_take(&job->producer, workers[i].producer.unit, workers[i].producer.name);
    }
    free(workers);
    return (fw_error)atomic_load(&job->error);
}

/* The units that may cover one of the addresses: those that say so, and those that say nothing. */
static fw_error choose_units(struct job *job, size_t **chosen)
{
    size_t total = dwarf_unit_count(job->dwarf), count = 0;
    size_t *list = malloc((total + 1) * sizeof *list);
    if (!list)
        return FW_ERR_MEMORY;
    struct arena scratch = {0};
    fw_error error = FW_OK;
    for (size_t i = 0; i < total && error == FW_OK; i++) {
        struct object_range *ranges;
        size_t range_count;
        arena_reset(&scratch);
        error = dwarf_unit_ranges(job->dwarf, i, &job->read, &scratch, &ranges, &range_count);
        if (error == FW_OK &&
            (range_count == 0 ||
             few_cover(ranges, range_count, job->options->only, job->options->only_count)))
            list[count++] = i;
    }
    arena_free(&scratch);
    if (error != FW_OK) {
        free(list);
        return error;
    }
    *chosen = list;
    job->chosen = list;
    job->count = count;
    return FW_OK;
}

static fw_error read_dwarf(struct object *object, struct object *debug, const struct dwarf *dwarf,
                           const struct convert_options *options, struct job *job,
                           struct symbol_list *symbols, struct convert_report *report)
{
    struct object *code = debug ? debug : object;
    *job = (struct job){
        .object = object,
        .debug = debug,
        .symbols = symbols,
        .dwarf = dwarf,
        .options = options,
        .count = dwarf_unit_count(dwarf),
        .read = {.calls = options->calls, .keep_zero = object_type(code) == OBJECT_RELOCATABLE},
        .flatten = {.columns = options->columns}};
    fw_error error = object_code_ranges(code, &job->read.code, &job->read.code_count);
    if (error == FW_ERR_MEMORY)
        return error;
    size_t *chosen = NULL;
    if (options->only)
        error = choose_units(job, &chosen);
    else
        error = FW_OK;
    job->units = calloc(job->count + 1, sizeof *job->units);
    if (error == FW_OK && !job->units)
        error = FW_ERR_MEMORY;
    for (size_t i = 0; error == FW_OK && i < job->count; i++)
        job->bytes += dwarf_unit_header(dwarf, chosen ? chosen[i] : i)->size;
    if (error == FW_OK)
        error = read_units(job, convert_threads(options->threads, job->count), &report->dwarf);
    free(chosen);
    job->chosen = NULL;
    return error;
}

/* What dwz moved into another file is referred to from everywhere: it is missing once. */
static void note_supplementary(struct object *source, const struct dwarf_companions *companions,
                               struct dwarf_problems *problems)
{
    const char *link;
    struct span id;
    if ((companions && companions->supplementary) || !object_debugaltlink(source, &link, &id))
        return;
    struct fw_failure missing;
    failure_say(&missing, FW_ERR_NOT_FOUND, 0, "%s: its supplementary file %s was not found",
                object_label(source), link);
    convert_add_problem(problems, DWARF_PROBLEM_SUPPLEMENTARY, 1, &missing);
}

bool convert_is_complete(const struct convert_report *report)
{
    return report->dwarf.count[DWARF_PROBLEM_SPLIT] == 0 &&
           report->dwarf.count[DWARF_PROBLEM_SUPPLEMENTARY] == 0 && report->parts_missing == 0;
}

static void fill_identity(struct symmap_identity *identity, struct object *object,
                          const struct convert_producer *producer)
{
    struct span id = object_build_id(object);
    if (id.size > sizeof identity->id)
        id.size = sizeof identity->id;
    if (id.size) {
        memcpy(identity->id, id.data, id.size);
        identity->id_kind = object_is_macho(object) ? SYMMAP_ID_UUID : SYMMAP_ID_BUILD_ID;
    }
    identity->id_size = (uint32_t)id.size;
    if (!id.size && text_hash(object, identity->id)) {
        identity->id_kind = SYMMAP_ID_TEXT_HASH;
        identity->id_size = TEXT_HASH_SIZE;
    }
    identity->base = object_base(object);
    snprintf(identity->arch, sizeof identity->arch, "%s", object_arch_name(object));
    const char *label = object_label(object), *slash = strrchr(label, '/');
    identity->object = slash ? slash + 1 : label;
    identity->producer = producer->name ? producer->name : "";
    identity->converter = "framewalk " FW_VERSION;
}

/* By functions: of a moved unit only a part was linked. */
static void count_rows(const struct code_unit *units, size_t count, struct convert_report *report)
{
    for (size_t i = 0; units && i < count; i++) { /* NULL: memory ran out */
        report->functions += units[i].function_count;
        for (size_t k = 0; k < units[i].function_count; k++) {
            const struct code_function *f = &units[i].functions[k];
            report->rows += f->row_count;
            report->inlined_calls += f->context_count;
            report->calls += f->call_count;
        }
    }
}

/* Compressed sections of all files, each on as many threads as there are. */
static void inflate(struct object *source, const struct dwarf_companions *companions,
                    unsigned threads)
{
    dwarf_sections_load(source, false, threads);
    if (companions && companions->supplementary)
        dwarf_sections_load(companions->supplementary, false, threads);
    if (companions && companions->package)
        dwarf_sections_load(companions->package, true, threads);
}

/* All that is known of an image, before it becomes a map. */
struct input {
    struct job job;          /* of one debug file */
    struct parts_code parts; /* of many object files */
    struct code_unit *list;  /* all units of all parts: copies, which own nothing; or NULL */
    const struct code_unit *units;
    size_t unit_count;
    const struct convert_producer *producer;
};

static fw_error list_parts(struct input *input)
{
    const struct parts_code *parts = &input->parts;
    for (size_t i = 0; i < parts->part_count; i++)
        input->unit_count += parts->parts[i].count;
    input->list = malloc((input->unit_count + 1) * sizeof *input->list);
    if (!input->list)
        return FW_ERR_MEMORY;
    struct code_unit *to = input->list;
    for (size_t i = 0; i < parts->part_count; i++)
        for (size_t k = 0; k < parts->parts[i].count; k++)
            *to++ = parts->parts[i].units[k];
    input->units = input->list;
    input->producer = &parts->producer;
    return FW_OK;
}

/* Without DWARF of its own: the object files that it was linked of, or nothing but symbols. */
static fw_error read_parts(struct object *object, const struct convert_options *options,
                           struct input *input, struct convert_report *report)
{
    fw_error error = FW_ERR_NOT_FOUND;
    if (options->open_part)
        error = convert_parts(object, options, &input->parts, report);
    if (error == FW_ERR_NOT_FOUND)
        return FW_OK;
    return error == FW_OK ? list_parts(input) : error;
}

static void input_free(struct input *input)
{
    for (size_t i = 0; input->job.units && i < input->job.count; i++)
        code_unit_free(&input->job.units[i]);
    free(input->job.units);
    free(input->list);
    convert_parts_free(&input->parts);
}

fw_error symmap_convert(struct object *object, struct object *debug,
                        const struct dwarf_companions *companions,
                        const struct convert_options *options, uint8_t **bytes, size_t *size,
                        struct convert_report *report, struct fw_failure *why)
{
    struct convert_report unwanted;
    report = report ? report : &unwanted;
    *report = (struct convert_report){0};
    struct object *source = debug ? debug : object;
    struct dwarf *dwarf = NULL;
    struct input input = {.producer = &input.job.producer};
    struct symbol_list symbols = {0};
    inflate(source, companions, convert_threads(options->threads, 0));
    fw_error error = dwarf_open(source, companions, &dwarf, why);
    if (error != FW_OK && error != FW_ERR_NOT_FOUND)
        return error;
    if (dwarf) {
        report->dwarf_bytes = dwarf_size(dwarf);
        note_supplementary(source, companions, &report->dwarf);
        error = read_dwarf(object, debug, dwarf, options, &input.job, &symbols, report);
        input.units = input.job.units;
        report->units = input.unit_count = input.job.count;
    } else {
        error = read_parts(object, options, &input, report);
        if (error == FW_OK && !options->only)
            error = symbol_list_build(object, debug, &symbols);
    }
    if (error == FW_OK && options->only)
        error = few_symbols(object, debug, input.units, input.unit_count, options, &symbols);
    if (error == FW_OK && options->only)
        error = symbol_list_finish(object, debug, &symbols);
    if (error == FW_OK) {
        count_rows(input.units, input.unit_count, report);
        if (options->progress)
            options->progress(options->context, "Writing", 0, 0);
        struct symmap_source map = {.units = input.units,
                                    .unit_count = input.unit_count,
                                    .symbols = symbols.items,
                                    .symbol_count = symbols.count,
                                    .columns = options->columns,
                                    .partial = options->only != NULL};
        fill_identity(&map.identity, object, input.producer);
        map.identity.incomplete = !convert_is_complete(report);
        report->symbols = symbols.count;
        error = symmap_build(&map, convert_threads(options->threads, 0), bytes, size, &report->map,
                             why);
    } else if (why) {
        *why = (struct fw_failure){.code = error};
        snprintf(why->message, sizeof why->message, "%s: %s", object_label(source),
                 fw_error_text(error));
    }
    input_free(&input);
    symbol_list_free(&symbols);
    dwarf_close(dwarf);
    return error;
}
