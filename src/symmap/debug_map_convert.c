/*
 * Conversion through the debug map of a Mach-O image that has no dSYM: its debug information was
 * left in the object files. Each of them is read, its functions are moved to where the linker put
 * them, and what was not linked is dropped.
 *
 * A function is known by its name: the debug map gives its address in the image, the symbol table
 * of the object file that in the object file (<mach-o/stab.h> N_OSO, N_FUN). Object files are taken
 * by several threads; results stand in the order of the map.
 */
#include "symmap/convert_internal.h"

#include "base/array.h"
#include "object/debug_map.h"
#include "symmap/code_move.h"
#include "symmap/workers.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SHIFT = 34, PARTS_MAX = 1 << 26 };

struct part {
    struct object *object; /* NULL: not to be had, or not wanted */
    struct debug_map_function *functions;
    size_t function_count;
};

struct place { /* a function of the object file */
    const char *name;
    uint64_t vaddr;
};

struct helper { /* one for each thread */
    struct arena scratch;
    struct place *places;
    size_t place_count, place_capacity;
    struct code_move *moves;
    size_t move_capacity;
    struct dwarf_problems problems;
    struct convert_producer producer;
    uint64_t bytes;
    size_t units;
    fw_error error;
};

struct parts_job {
    const struct convert_options *options;
    struct convert_report *report;
    struct part *parts;
    size_t count, capacity, opened;
    struct part_code *code; /* by part */
    struct helper *helpers;
    fw_error error;
};

static bool wanted(const struct debug_map_object *entry, const struct convert_options *options)
{
    if (!options->only)
        return true;
    for (size_t i = 0; i < entry->function_count; i++) {
        const struct debug_map_function *f = &entry->functions[i];
        size_t low = 0, high = options->only_count;
        while (low < high) { /* the first address not below the function */
            size_t middle = low + (high - low) / 2;
            if (options->only[middle] < f->vaddr)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < options->only_count && (f->size == 0 || options->only[low] - f->vaddr < f->size))
            return true;
    }
    return false;
}

static bool add_part(void *context, const struct debug_map_object *entry)
{
    struct parts_job *job = context;
    struct part part = {0};
    if (job->count == PARTS_MAX)
        return false;
    job->error = FW_ERR_MEMORY;
    if (!array_room(&job->parts, &job->capacity, job->count, sizeof part))
        return false;
    if (entry->function_count && wanted(entry, job->options)) {
        const struct convert_options *o = job->options;
        part.function_count = entry->function_count;
        part.functions = malloc(part.function_count * sizeof *part.functions);
        if (!part.functions)
            return false;
        memcpy(part.functions, entry->functions, part.function_count * sizeof *part.functions);
        part.object = o->open_part(o->part_context, entry);
        job->report->parts++;
        job->report->parts_missing += !part.object;
        job->opened += part.object != NULL;
    }
    job->parts[job->count++] = part;
    job->error = FW_OK;
    return true;
}

static bool take_place(void *context, const struct object_symbol *symbol)
{
    struct helper *h = context;
    if (symbol->type != STT_FUNC && symbol->type != STT_NOTYPE)
        return true;
    if (!array_room(&h->places, &h->place_capacity, h->place_count, sizeof *h->places)) {
        h->error = FW_ERR_MEMORY;
        return false;
    }
    h->places[h->place_count++] = (struct place){symbol->name, symbol->vaddr};
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int by_lo(const void *a, const void *b)
{
    const struct code_move *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Where the functions of the part went, ascending. One that was linked twice is there once. */
static size_t find_moves(const struct part *part, struct helper *h)
{
    h->place_count = 0;
    object_symbols(part->object, false, take_place, h);
    if (h->error == FW_OK &&
        !array_reserve(&h->moves, &h->move_capacity, part->function_count, sizeof *h->moves))
        h->error = FW_ERR_MEMORY;
    if (h->error != FW_OK)
        return 0;
    if (h->place_count)
        qsort(h->places, h->place_count, sizeof *h->places, by_name);
    size_t count = 0;
    for (size_t i = 0; i < part->function_count; i++) {
        const struct debug_map_function *f = &part->functions[i];
        size_t low = 0, high = h->place_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (strcmp(h->places[middle].name, f->name) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == h->place_count || strcmp(h->places[low].name, f->name) != 0)
            continue;
        uint64_t lo = h->places[low].vaddr, hi = f->size ? lo + f->size : UINT64_MAX;
        if (hi > lo)
            h->moves[count++] = (struct code_move){lo, hi, f->vaddr};
    }
    if (count)
        qsort(h->moves, count, sizeof *h->moves, by_lo);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && h->moves[kept - 1].lo == h->moves[i].lo)
            continue;
        if (kept && h->moves[kept - 1].hi > h->moves[i].lo)
            h->moves[kept - 1].hi = h->moves[i].lo;
        h->moves[kept++] = h->moves[i];
    }
    return kept;
}

/* Places in the debug information of different files must not look the same. */
static void number_places(struct code_unit *code, size_t part)
{
    uint64_t add = (uint64_t)part << PART_SHIFT;
    for (size_t i = 0; i < code->function_count; i++)
        code->functions[i].die += add;
    for (size_t i = 0; i < code->subject_count; i++)
        if (code->subjects[i].identity)
            code->subjects[i].identity += add;
}

static void read_units(struct parts_job *job, size_t number, const struct dwarf *dwarf,
                       size_t move_count, struct helper *h)
{
    struct part *part = &job->parts[number];
    struct part_code *code = &job->code[number];
    struct dwarf_options read = {.calls = job->options->calls, .keep_zero = true};
    const struct flatten_options flatten = {.columns = job->options->columns};
    size_t count = dwarf_unit_count(dwarf);
    code->units = calloc(count + 1, sizeof *code->units);
    if (!code->units)
        h->error = FW_ERR_MEMORY;
    else if (object_code_ranges(part->object, &read.code, &read.code_count) == FW_ERR_MEMORY)
        h->error = FW_ERR_MEMORY;
    for (size_t i = 0; h->error == FW_OK && i < count; i++) {
        struct convert_producer producer = {0};
        arena_reset(&h->scratch);
        h->error = convert_unit(dwarf, i, &read, &flatten, &h->scratch, &code->units[i], &producer,
                                &h->problems);
        code->count = i + 1;
        convert_producer_take(&h->producer, number, producer.name);
        number_places(&code->units[i], number);
        if (h->error == FW_OK)
            h->error = code_move(&code->units[i], h->moves, move_count);
    }
    h->units += count;
}

static void read_part(void *context, size_t number, unsigned worker)
{
    struct parts_job *job = context;
    struct helper *h = &job->helpers[worker];
    struct part *part = &job->parts[number];
    const struct convert_options *o = job->options;
    if (!part->object || h->error != FW_OK)
        return;
    struct dwarf *dwarf = NULL;
    struct fw_failure why = {0};
    size_t moves = find_moves(part, h);
    fw_error error = h->error == FW_OK ? dwarf_open(part->object, NULL, &dwarf, &why) : h->error;
    if (error == FW_OK) {
        h->bytes += dwarf_size(dwarf);
        read_units(job, number, dwarf, moves, h);
        dwarf_close(dwarf);
    } else if (error == FW_ERR_MEMORY) {
        h->error = error;
    } else if (error != FW_ERR_NOT_FOUND) { /* one without DWARF is fine: assembly */
        convert_add_problem(&h->problems, DWARF_PROBLEM_UNIT, 1, &why);
    }
    if (worker == 0 && o->progress)
        o->progress(o->context, "Reading object files", number, job->count);
}

static int by_pointer(const void *a, const void *b)
{
    const struct object *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* An object is for one thread at a time: a map that names one twice is read by one thread. */
static fw_error choose_threads(const struct parts_job *job, unsigned *threads)
{
    const struct object **objects = malloc((job->opened + 1) * sizeof *objects);
    if (!objects)
        return FW_ERR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++)
        if (job->parts[i].object)
            objects[count++] = job->parts[i].object;
    qsort(objects, count, sizeof *objects, by_pointer);
    *threads = convert_threads(job->options->threads, count);
    for (size_t i = 1; i < count; i++)
        if (objects[i] == objects[i - 1])
            *threads = 1;
    free(objects);
    return FW_OK;
}

static fw_error read_parts(struct parts_job *job, struct convert_producer *producer)
{
    unsigned threads;
    fw_error error = choose_threads(job, &threads);
    struct workers *workers = error == FW_OK ? workers_start(threads) : NULL;
    job->helpers = workers ? calloc(workers_count(workers), sizeof *job->helpers) : NULL;
    if (!job->helpers)
        error = FW_ERR_MEMORY;
    if (job->helpers)
        workers_run(workers, job->count, read_part, job);
    for (unsigned i = 0; job->helpers && i < workers_count(workers); i++) {
        struct helper *h = &job->helpers[i];
        error = error == FW_OK ? h->error : error;
        job->report->dwarf_bytes += h->bytes;
        job->report->units += h->units;
        convert_add_problems(&job->report->dwarf, &h->problems);
        convert_producer_take(producer, h->producer.unit, h->producer.name);
        arena_free(&h->scratch);
        free(h->places);
        free(h->moves);
    }
    free(job->helpers);
    workers_stop(workers);
    return error;
}

fw_error convert_parts(struct object *image, const struct convert_options *options,
                       struct parts_code *code, struct convert_report *report)
{
    *code = (struct parts_code){0};
    struct parts_job job = {.options = options, .report = report};
    fw_error error = object_debug_map(image, add_part, &job, NULL);
    if (error == FW_OK)
        error = job.error;
    if (error == FW_OK && job.opened == 0)
        error = FW_ERR_NOT_FOUND;
    if (error == FW_OK) {
        job.code = code->parts = calloc(job.count, sizeof *code->parts);
        code->part_count = code->parts ? job.count : 0;
        error = code->parts ? read_parts(&job, &code->producer) : FW_ERR_MEMORY;
    }
    for (size_t i = 0; i < job.count; i++)
        free(job.parts[i].functions);
    free(job.parts);
    if (error != FW_OK)
        convert_parts_free(code);
    return error;
}

void convert_parts_free(struct parts_code *code)
{
    for (size_t p = 0; p < code->part_count; p++) {
        for (size_t i = 0; i < code->parts[p].count; i++)
            code_unit_free(&code->parts[p].units[i]);
        free(code->parts[p].units);
    }
    free(code->parts);
    *code = (struct parts_code){0};
}
