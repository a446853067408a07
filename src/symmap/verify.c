#include "symmap/verify.h"

#include "base/array.h"
#include "dwarf/load.h"
#include "symmap/verify_internal.h"
#include "symmap/workers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verify_kind_text(enum verify_kind kind)
{
    static const char *const texts[] = {
        [VERIFY_FUNCTION] = "other function",
        [VERIFY_INLINED] = "other inlined calls",
        [VERIFY_CALL_SITE] = "other call site",
        [VERIFY_FILE] = "other file",
        [VERIFY_LINE] = "other line",
        [VERIFY_MISSING] = "missing in the map",
        [VERIFY_INVENTED] = "not in the debug file",
        [VERIFY_BROKEN] = "damaged map",
    };
    return kind < VERIFY_KINDS ? texts[kind] : "";
}

uint64_t verify_differences(const struct verify_report *report)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < VERIFY_KINDS; kind++)
        sum += report->count[kind];
    return sum;
}

/* Examples are ascending; text that is cut does not change which ones are kept. */
static void keep_example(struct verify_report *report, enum verify_kind kind, uint64_t address,
                         const char *text)
{
    size_t have = report->count[kind] < VERIFY_EXAMPLES ? report->count[kind] : VERIFY_EXAMPLES;
    size_t at = have;
    while (at && (report->example[kind][at - 1].address > address ||
                  (report->example[kind][at - 1].address == address &&
                   strcmp(report->example[kind][at - 1].text, text) > 0)))
        at--;
    if (at == VERIFY_EXAMPLES)
        return;
    size_t after = have == VERIFY_EXAMPLES ? have - 1 : have;
    memmove(&report->example[kind][at + 1], &report->example[kind][at],
            (after - at) * sizeof report->example[kind][0]);
    report->example[kind][at].address = address;
    snprintf(report->example[kind][at].text, sizeof report->example[kind][at].text, "%s", text);
}

void verify_tell(struct verify_report *report, enum verify_kind kind, uint64_t address,
                 const char *format, ...)
{
    char text[sizeof report->example[0][0].text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_example(report, kind, address, text);
    report->count[kind]++;
}

static void add_report(struct verify_report *all, const struct verify_report *one)
{
    all->functions += one->functions;
    all->lookups += one->lookups;
    all->shared += one->shared;
    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        uint64_t count = one->count[kind];
        for (size_t i = 0; i < VERIFY_EXAMPLES && i < count; i++) {
            keep_example(all, (enum verify_kind)kind, one->example[kind][i].address,
                         one->example[kind][i].text);
            all->count[kind]++;
        }
        all->count[kind] += count > VERIFY_EXAMPLES ? count - VERIFY_EXAMPLES : 0;
    }
}

/* ---- rows ---- */

static bool add_row(void *context, const struct symmap_row *row)
{
    struct verify *v = context;
    if (!row->frame_count)
        return true;
    if (!array_room(&v->rows, &v->row_capacity, v->row_count, sizeof *v->rows)) {
        v->no_memory = true;
        return false;
    }
    struct verify_row *added = &v->rows[v->row_count++];
    added->lo = v->base + row->lo;
    added->hi = v->base + row->hi;
    added->no_function = row->frame_count == 1 &&
                         (!row->frames[0].name || row->frames[0].flags & SYMMAP_FRAME_FROM_SYMBOL);
    atomic_init(&added->state, VERIFY_UNSEEN);
    return true;
}

size_t verify_row_after(const struct verify *v, uint64_t address)
{
    size_t low = 0, high = v->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->rows[middle].hi <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- symbols ---- */

static int symbol_order(const void *left, const void *right)
{
    const struct symmap_symbol *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static size_t first_symbol(const struct verify *v, uint64_t address)
{
    size_t low = 0, high = v->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->symbols[middle].lo < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct symmap_symbol *verify_symbol(const struct verify *v, uint64_t address,
                                          const char *name)
{
    for (size_t i = first_symbol(v, address); i < v->symbol_count && v->symbols[i].lo == address;
         i++)
        if (!name || (v->symbols[i].name && strcmp(v->symbols[i].name, name) == 0))
            return &v->symbols[i];
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

bool verify_symbol_file(const struct verify *v, const struct symmap_frame *frame)
{
    const char *parts[2] = {frame->directory, frame->file};
    uint64_t start = v->base + frame->start;
    bool known = false;
    if (frame->line)
        return false;
    for (size_t i = first_symbol(v, start); i < v->symbol_count && v->symbols[i].lo == start; i++) {
        const struct symmap_symbol *symbol = &v->symbols[i];
        if (!same_text(symbol->name, frame->name))
            continue;
        known = true;
        if (frame->file ? symbol->file && verify_path_is(symbol->file, parts, 2) : !symbol->file)
            return true;
    }
    return !known && !frame->file;
}

static bool is_name_of(const struct verify *v, const struct symmap_frame *frame, const char *name)
{
    if (frame->name && strcmp(frame->name, name) == 0)
        return true;
    for (size_t i = 0; i < symmap_alias_count(v->map, frame->function); i++) {
        const char *alias = symmap_alias(v->map, frame->function, i);
        if (alias && strcmp(alias, name) == 0)
            return true;
    }
    return false;
}

/* Every symbol is known where it begins, unless a function of the debug file lies over it, and
 * something is up to its end. */
static void check_symbol(const struct verify *v, const struct symmap_symbol *symbol,
                         struct verify_report *report)
{
    struct symmap_frame frames[VERIFY_DEPTH_MAX + 1];
    size_t count;
    if (!symbol->name || symbol->lo < v->base || symbol->lo - v->base >= UINT32_MAX ||
        symbol->lo >= symbol->hi)
        return;
    report->symbols++;
    report->lookups++;
    fw_error error =
        symmap_lookup(v->map, symbol->lo - v->base, frames, VERIFY_DEPTH_MAX + 1, &count);
    if (error != FW_OK || !count || count > VERIFY_DEPTH_MAX + 1) {
        verify_tell(report, error == FW_ERR_CORRUPT ? VERIFY_BROKEN : VERIFY_MISSING, symbol->lo,
                    "symbol %s is not in the map", symbol->name);
        return;
    }
    const struct symmap_frame *frame = &frames[count - 1];
    bool begins = v->base + frame->start == symbol->lo;
    if (begins && !is_name_of(v, frame, symbol->name))
        verify_tell(report, VERIFY_FUNCTION, symbol->lo,
                    "symbol %s is neither name nor alias in the map, which has %s", symbol->name,
                    frame->name ? frame->name : "no name");
    uint64_t last = symbol->hi - 1;
    if (last == symbol->lo || last - v->base >= UINT32_MAX)
        return;
    report->lookups++;
    error = symmap_lookup(v->map, last - v->base, frames, VERIFY_DEPTH_MAX + 1, &count);
    if (error != FW_OK || !count)
        verify_tell(report, error == FW_ERR_CORRUPT ? VERIFY_BROKEN : VERIFY_MISSING, last,
                    "symbol %s ends too early in the map", symbol->name);
}

/* ---- what is left ---- */

static void describe(const struct verify *v, const struct verify_row *row, enum verify_kind kind,
                     struct verify_report *report)
{
    struct symmap_frame frames[VERIFY_DEPTH_MAX + 1];
    size_t count = 0;
    char text[sizeof report->example[0][0].text];
    int used = snprintf(text, sizeof text, "to 0x%llx the map has", (unsigned long long)row->hi);
    symmap_lookup(v->map, row->lo - v->base, frames, VERIFY_DEPTH_MAX + 1, &count);
    for (size_t i = 0; i < count && i < 3 && used > 0 && (size_t)used < sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %.100s (%.60s:%u)",
                         i ? ", in" : "", frames[i].name ? frames[i].name : "no name",
                         frames[i].file ? frames[i].file : "no file", frames[i].line);
    verify_tell(report, kind, row->lo, "%s", text);
}

/* A row that no function of the debug file spoke about: the symbol table must know it. */
static void check_unseen(const struct verify *v, const struct verify_row *row,
                         struct verify_report *report)
{
    struct symmap_frame frames[VERIFY_DEPTH_MAX + 1];
    size_t count = 0;
    fw_error error = symmap_lookup(v->map, row->lo - v->base, frames, VERIFY_DEPTH_MAX + 1, &count);
    report->lookups++;
    if (error != FW_OK || !count) {
        describe(v, row, VERIFY_BROKEN, report);
        return;
    }
    const struct symmap_frame *frame = &frames[0];
    bool from_symbol = frame->flags & (SYMMAP_FRAME_FROM_SYMBOL | SYMMAP_FRAME_SYNTHESIZED);
    if (count == 1 && from_symbol && verify_symbol(v, v->base + frame->start, frame->name) &&
        verify_symbol_file(v, frame))
        report->from_symbols++;
    else
        describe(v, row, VERIFY_INVENTED, report);
}

static void conclude(struct verify *v, struct verify_report *report)
{
    report->rows = v->row_count;
    for (size_t i = 0; i < v->row_count; i++) {
        uint64_t state = atomic_load(&v->rows[i].state);
        if (state == VERIFY_UNSEEN)
            check_unseen(v, &v->rows[i], report);
        else if (state != VERIFY_RIGHT)
            describe(v, &v->rows[i], (enum verify_kind)(state & 0xff), report);
    }
    for (size_t i = 0; i < v->symbol_count; i++)
        check_symbol(v, &v->symbols[i], report);
}

/* ---- units ---- */

struct job {
    struct verify *verify;
    struct verify_worker *workers;
    const struct convert_options *options;
    _Atomic size_t done;
    size_t count;
};

enum { UNITS_A_REPORT = 16 };

static void run_unit(void *context, size_t unit, unsigned worker)
{
    struct job *job = context;
    if (job->workers[worker].no_memory)
        return;
    verify_unit(job->verify, unit, &job->workers[worker]);
    size_t done = atomic_fetch_add(&job->done, 1);
    if (worker == 0 && job->options->progress && done % UNITS_A_REPORT == 0)
        job->options->progress(job->options->context, "Verifying", done, job->count);
}

static bool run_units(struct verify *v, const struct convert_options *options,
                      struct verify_report *report)
{
    struct workers *workers = workers_start(options->threads);
    unsigned count = workers ? workers_count(workers) : 0;
    struct job job = {.verify = v,
                      .workers = count ? calloc(count, sizeof *job.workers) : NULL,
                      .options = options,
                      .count = v->dwarf ? dwarf_unit_count(v->dwarf) : 0};
    bool good = job.workers != NULL;
    if (good)
        workers_run(workers, job.count, run_unit, &job);
    for (unsigned i = 0; good && i < count; i++)
        add_report(report, &job.workers[i].report);
    for (unsigned i = 0; job.workers && i < count; i++) {
        good = good && !job.workers[i].no_memory;
        arena_free(&job.workers[i].arena);
    }
    free(job.workers);
    if (workers)
        workers_stop(workers);
    return good;
}

static fw_error prepare(struct verify *v, struct object *source, const struct dwarf *dwarf)
{
    v->dwarf = dwarf;
    v->read.keep_zero = object_type(source) == OBJECT_RELOCATABLE;
    if (object_code_ranges(source, &v->read.code, &v->read.code_count) == FW_ERR_MEMORY)
        return FW_ERR_MEMORY;
    fw_error error = symmap_each_row(v->map, add_row, v);
    return v->no_memory ? FW_ERR_MEMORY : error;
}

static void load(struct object *source, const struct dwarf_companions *companions, unsigned threads)
{
    dwarf_sections_load(source, false, threads);
    if (companions && companions->supplementary)
        dwarf_sections_load(companions->supplementary, false, threads);
    if (companions && companions->package)
        dwarf_sections_load(companions->package, true, threads);
}

fw_error symmap_verify(const struct symmap *map, struct object *object, struct object *debug,
                       const struct dwarf_companions *companions,
                       const struct convert_options *options, struct verify_report *report,
                       struct fw_failure *why)
{
    struct object *source = debug ? debug : object;
    struct dwarf *dwarf = NULL;
    struct symbol_list symbols = {0};
    struct verify v = {.map = map, .base = symmap_identity(map)->base};
    *report = (struct verify_report){0};
    load(source, companions, options->threads ? options->threads : 2);
    fw_error error = dwarf_open(source, companions, &dwarf, why);
    if (error != FW_OK && error != FW_ERR_NOT_FOUND)
        return error;
    error = symbol_list_build(object, debug, &symbols);
    if (error == FW_OK) {
        if (symbols.count)
            qsort(symbols.items, symbols.count, sizeof *symbols.items, symbol_order);
        v.symbols = symbols.items;
        v.symbol_count = symbols.count;
        error = prepare(&v, source, dwarf);
    }
    if (error == FW_OK && !run_units(&v, options, report))
        error = FW_ERR_MEMORY;
    if (error == FW_OK)
        conclude(&v, report);
    if (error != FW_OK && why) {
        *why = (struct fw_failure){.code = error};
        snprintf(why->message, sizeof why->message, "%s",
                 error == FW_ERR_CORRUPT ? "the rows of the map cannot be read"
                                         : fw_error_text(error));
    }
    free(v.rows);
    symbol_list_free(&symbols);
    dwarf_close(dwarf);
    return error;
}
