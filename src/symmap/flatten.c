/*
 * One unit of DWARF to flat code; the rules stand at code_flatten.
 *
 * Function by function, in file order: its ranges become pieces, flatten_nest says which inlined
 * call holds where, and each piece is merged with the line rows into its own rows. All of it is
 * gathered in scratch memory, then sorted, counted and copied once into a result of exactly that
 * size. Nothing is allocated or searched for a row: lines are searched once a piece.
 */
#include "symmap/flatten_internal.h"

#include <stdlib.h>

enum { MAX_CUTS = 16 };                        /* pieces of 4 GB that a longer one is cut into */
static const uint64_t piece_size = 1ULL << 32; /* what offsets of 32 bits can say */

/* ---- files and subjects: numbered as they are first used ---- */

static bool prepare_maps(struct flatten *f)
{
    size_t files = f->lines->file_count, subjects = f->unit->subject_count;
    f->file_map = arena_take_many(f->scratch, files, sizeof *f->file_map);
    f->subject_map = arena_take_many(f->scratch, subjects, sizeof *f->subject_map);
    f->out.files = arena_take_many(f->scratch, files, sizeof *f->out.files);
    f->out.subjects = arena_take_many(f->scratch, subjects, sizeof *f->out.subjects);
    if (!f->file_map || !f->subject_map || !f->out.files || !f->out.subjects)
        return false;
    for (size_t i = 0; i < files; i++)
        f->file_map[i] = f->lines->files[i].name[0] ? FLATTEN_UNSEEN : CODE_NONE;
    for (size_t i = 0; i < subjects; i++)
        f->subject_map[i] = FLATTEN_UNSEEN;
    return true;
}

static uint32_t use_file(struct flatten *f, uint32_t file)
{
    if (file >= f->lines->file_count)
        return CODE_NONE;
    if (f->file_map[file] == FLATTEN_UNSEEN) {
        const struct dwarf_file_name *name = &f->lines->files[file];
        f->file_map[file] = (uint32_t)f->out.file_count;
        f->out.files[f->out.file_count++] =
            (struct code_file){name->comp_dir, name->directory, name->name};
    }
    return f->file_map[file];
}

static uint32_t use_subject(struct flatten *f, uint32_t subject)
{
    if (subject >= f->unit->subject_count)
        return CODE_NONE;
    if (f->subject_map[subject] == FLATTEN_UNSEEN) {
        const struct dwarf_subject *s = &f->unit->subjects[subject];
        f->subject_map[subject] = (uint32_t)f->out.subject_count;
        f->out.subjects[f->out.subject_count++] = (struct code_subject){
            .name = s->name,
            .identity = s->die,
            .decl_file = s->decl_file ? use_file(f, s->decl_file) : CODE_NONE,
            .decl_line = s->decl_line,
            .linkage = s->linkage,
        };
        if (s->qualified && s->name)
            f->name_bytes += strlen(s->name) + 1;
    }
    return f->subject_map[subject];
}

/* ---- pieces ---- */

static int range_by_lo(const void *left, const void *right)
{
    const struct object_range *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static bool add_piece(struct flatten *f, uint64_t lo, uint64_t hi)
{
    if (f->piece_count && f->pieces[f->piece_count - 1].hi >= lo) {
        struct object_range *last = &f->pieces[f->piece_count - 1];
        last->hi = last->hi > hi ? last->hi : hi;
        return true;
    }
    if (!flatten_room(f->scratch, &f->pieces, &f->piece_room, f->piece_count + 1,
                      sizeof *f->pieces))
        return false;
    f->pieces[f->piece_count++] = (struct object_range){lo, hi};
    return true;
}

/* The ranges of a function, ascending and apart. */
static bool find_pieces(struct flatten *f, const struct dwarf_function *function)
{
    f->piece_count = 0;
    if (!function->range_count)
        return true;
    const struct object_range *ranges = &f->unit->ranges[function->first_range];
    bool sorted = true;
    for (uint32_t i = 1; i < function->range_count && sorted; i++)
        sorted = ranges[i - 1].lo <= ranges[i].lo;
    if (!sorted) {
        struct object_range *own = arena_take_many(f->scratch, function->range_count, sizeof *own);
        if (!own)
            return false;
        memcpy(own, ranges, function->range_count * sizeof *own);
        qsort(own, function->range_count, sizeof *own, range_by_lo);
        ranges = own;
    }
    for (uint32_t i = 0; i < function->range_count; i++)
        if (ranges[i].lo < ranges[i].hi && !add_piece(f, ranges[i].lo, ranges[i].hi))
            return false;
    return true;
}

/* ---- rows ---- */

/* Walks the line rows along a piece. */
struct line_cursor {
    const struct flatten *f;
    size_t span;  /* the first that ends beyond the place */
    uint32_t row; /* of that span, once it is reached */
    uint64_t hi;  /* what was found holds until here */
    uint32_t file, line;
    uint16_t column;
};

/* The last row in [lo, end) at or before `address`; row `lo` is. */
static uint32_t row_at(const struct dwarf_row *rows, uint32_t lo, uint32_t end, uint64_t address)
{
    while (end - lo > 1) {
        uint32_t middle = lo + (end - lo) / 2;
        if (rows[middle].address <= address)
            lo = middle;
        else
            end = middle;
    }
    return lo;
}

static struct line_cursor cursor_at(const struct flatten *f, uint64_t address)
{
    size_t lo = 0, hi = f->spans.count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (f->spans.items[middle].hi > address)
            hi = middle;
        else
            lo = middle + 1;
    }
    struct line_cursor cursor = {.f = f, .span = lo};
    if (lo < f->spans.count) {
        const struct line_span *span = &f->spans.items[lo];
        cursor.row = row_at(f->lines->rows, span->first, span->end, address);
    }
    return cursor;
}

static void cursor_none(struct line_cursor *cursor, uint64_t until)
{
    cursor->file = CODE_NONE;
    cursor->line = cursor->column = 0;
    cursor->hi = until;
}

/* What holds at `address`, which never goes back. */
static void cursor_move(struct line_cursor *cursor, struct flatten *f, uint64_t address)
{
    const struct line_spans *spans = &f->spans;
    while (cursor->span < spans->count && spans->items[cursor->span].hi <= address) {
        if (++cursor->span < spans->count)
            cursor->row = spans->items[cursor->span].first;
    }
    if (cursor->span == spans->count) {
        cursor_none(cursor, UINT64_MAX);
        return;
    }
    const struct line_span *span = &spans->items[cursor->span];
    if (address < span->lo) {
        cursor_none(cursor, span->lo);
        return;
    }
    const struct dwarf_row *rows = f->lines->rows;
    while (cursor->row + 1 < span->end && rows[cursor->row + 1].address <= address)
        cursor->row++;
    const struct dwarf_row *row = &rows[cursor->row];
    uint64_t until = cursor->row + 1 < span->end ? row[1].address : span->hi;
    uint32_t file = use_file(f, row->file);
    cursor_none(cursor, until);
    if (file != CODE_NONE) {
        cursor->file = file;
        cursor->line = row->line;
        cursor->column = f->keep_columns ? row->column : 0;
    }
}

/* Adds a row to `function`, unless it says what the one before it says. */
static bool add_row(struct flatten *f, struct code_function *function, uint64_t address,
                    uint32_t context, const struct line_cursor *line)
{
    struct code_unit *out = &f->out;
    if (function->row_count) {
        const struct code_row *last = &out->rows[out->row_count - 1];
        if (last->context == context && last->file == line->file && last->line == line->line &&
            (!f->keep_columns || out->columns[out->row_count - 1] == line->column))
            return true;
    }
    if (out->row_count >= UINT32_MAX ||
        !flatten_room(f->scratch, &out->rows, &f->row_room, out->row_count + 1,
                      sizeof *out->rows) ||
        (f->keep_columns && !flatten_room(f->scratch, &out->columns, &f->column_room,
                                          out->row_count + 1, sizeof *out->columns)))
        return false;
    if (f->keep_columns)
        out->columns[out->row_count] = line->column;
    out->rows[out->row_count++] =
        (struct code_row){(uint32_t)(address - function->lo), context, line->file, line->line};
    function->row_count++;
    return true;
}

/* ---- contexts ---- */

/* The number of an inlined call within the piece; its parents get theirs first. */
static bool use_context(struct flatten *f, const struct dwarf_function *function,
                        struct code_function *piece, uint32_t call, uint32_t *context)
{
    size_t depth = 0;
    for (; call != DWARF_NONE && !f->context_of[call]; call = nest_parent(f->unit, function, call))
        f->chain[depth++] = call;
    *context = call == DWARF_NONE ? 0 : f->context_of[call];
    while (depth) {
        call = f->chain[--depth];
        const struct dwarf_inline *in = &f->unit->inlines[function->first_inline + call];
        if (f->out.context_count >= UINT32_MAX ||
            !flatten_room(f->scratch, &f->out.contexts, &f->context_room, f->out.context_count + 1,
                          sizeof *f->out.contexts))
            return false;
        f->out.contexts[f->out.context_count++] = (struct code_context){
            .subject = use_subject(f, in->subject),
            .parent = *context,
            .call_file = use_file(f, in->call_file),
            .call_line = in->call_line,
            .call_column = f->keep_columns ? in->call_column : 0,
        };
        *context = f->context_of[call] = ++piece->context_count;
    }
    return true;
}

/* ---- functions ---- */

static struct code_function *add_function(struct flatten *f, uint64_t lo, uint64_t hi)
{
    if (!flatten_room(f->scratch, &f->out.functions, &f->function_room, f->out.function_count + 1,
                      sizeof *f->out.functions))
        return NULL;
    struct code_function *added = &f->out.functions[f->out.function_count++];
    *added = (struct code_function){
        .lo = lo,
        .hi = hi,
        .entry = lo,
        .subject = CODE_NONE,
        .first_context = (uint32_t)f->out.context_count,
        .first_row = (uint32_t)f->out.row_count,
        .first_call = (uint32_t)f->out.call_count,
    };
    return added;
}

/* Merges steps and lines in [piece->lo, piece->hi). steps[*step] holds at its start. */
static bool merge_rows(struct flatten *f, const struct dwarf_function *function,
                       struct code_function *piece, size_t *step)
{
    const struct nest *nest = &f->nest;
    struct line_cursor line = cursor_at(f, piece->lo);
    uint32_t context = 0;
    bool known = false;
    if (f->out.row_count >= f->row_limit) {
        cursor_none(&line, piece->hi);
        return add_row(f, piece, piece->lo, 0, &line);
    }
    for (uint64_t at = piece->lo; at < piece->hi;) {
        while (*step + 1 < nest->step_count && nest->steps[*step + 1].lo <= at) {
            ++*step;
            known = false;
        }
        if (!known && !use_context(f, function, piece, nest->steps[*step].call, &context))
            return false;
        known = true;
        if (line.hi <= at)
            cursor_move(&line, f, at);
        if (!add_row(f, piece, at, context, &line))
            return false;
        uint64_t next = line.hi < piece->hi ? line.hi : piece->hi;
        if (*step + 1 < nest->step_count && nest->steps[*step + 1].lo < next)
            next = nest->steps[*step + 1].lo;
        at = next;
    }
    return true;
}

/* Numbers of contexts are counted anew in each piece. */
static void forget_contexts(struct flatten *f, uint32_t count, size_t first_step, size_t last_step,
                            const struct dwarf_function *function)
{
    for (size_t i = first_step; i <= last_step && i < f->nest.step_count; i++)
        for (uint32_t call = f->nest.steps[i].call; call != DWARF_NONE && f->context_of[call];
             call = nest_parent(f->unit, function, call)) {
            f->context_of[call] = 0;
            if (!--count)
                return;
        }
}

static bool flatten_piece(struct flatten *f, const struct dwarf_function *function, uint64_t lo,
                          uint64_t hi, size_t *step)
{
    struct code_function *piece = add_function(f, lo, hi);
    if (!piece)
        return false;
    piece->die = function->die;
    piece->subject = use_subject(f, function->subject);
    piece->entry = function->entry;
    piece->flags = CODE_FUNCTION_PART;
    if (function->artificial || function->trampoline)
        piece->flags |= CODE_FUNCTION_ARTIFICIAL;
    if (function->all_tail_calls)
        piece->flags |= CODE_FUNCTION_ALL_TAIL_CALLS;
    while (*step + 1 < f->nest.step_count && f->nest.steps[*step + 1].lo <= lo)
        ++*step;
    size_t first_step = *step;
    if (!merge_rows(f, function, piece, step))
        return false;
    if (piece->context_count)
        forget_contexts(f, piece->context_count, first_step, *step, function);
    return true;
}

/* The piece that holds the entry, or the first when none does: it has the calls. */
static bool mark_entry(struct flatten *f, const struct dwarf_function *function, size_t first)
{
    size_t main = first;
    for (size_t i = first; i < f->out.function_count; i++)
        if (f->out.functions[i].lo <= function->entry && function->entry < f->out.functions[i].hi)
            main = i;
    struct code_function *piece = &f->out.functions[main];
    if (function->entry < piece->lo || function->entry >= piece->hi)
        for (size_t i = first; i < f->out.function_count; i++)
            f->out.functions[i].entry = piece->lo;
    piece->flags &= (uint8_t)~CODE_FUNCTION_PART;
    piece->first_call = (uint32_t)f->out.call_count;
    if (!flatten_room(f->scratch, &f->out.calls, &f->call_room,
                      f->out.call_count + function->call_count, sizeof *f->out.calls))
        return false;
    for (uint32_t i = 0; i < function->call_count; i++) {
        const struct dwarf_call *call = &f->unit->calls[function->first_call + i];
        f->out.calls[f->out.call_count++] =
            (struct code_call){call->pc, use_subject(f, call->subject), call->tail};
    }
    piece->call_count = function->call_count;
    return true;
}

static bool flatten_function(struct flatten *f, const struct dwarf_function *function)
{
    size_t first = f->out.function_count, step = 0, calls = function->inline_count;
    if (!find_pieces(f, function))
        return false;
    if (!f->piece_count)
        return true;
    if (!flatten_nest(&f->nest, f->unit, function, f->pieces, f->piece_count) ||
        !flatten_room(f->scratch, &f->chain, &f->chain_room, calls, sizeof *f->chain) ||
        !flatten_room(f->scratch, &f->context_of, &f->context_of_room, calls,
                      sizeof *f->context_of))
        return false;
    if (calls)
        memset(f->context_of, 0, calls * sizeof *f->context_of);
    for (size_t i = 0; i < f->piece_count; i++) {
        uint64_t lo = f->pieces[i].lo;
        for (int cuts = 0; cuts < MAX_CUTS && lo < f->pieces[i].hi; cuts++) {
            uint64_t left = f->pieces[i].hi - lo;
            uint64_t hi = lo + (left < piece_size ? left : piece_size);
            if (!flatten_piece(f, function, lo, hi, &step))
                return false;
            lo = hi;
        }
    }
    return mark_entry(f, function, first);
}

static int function_order(const void *left, const void *right)
{
    const struct code_function *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi)
        return a->hi < b->hi ? -1 : 1;
    if (a->die != b->die)
        return a->die < b->die ? -1 : 1;
    return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static void sort_functions(struct flatten *f)
{
    struct code_function *all = f->out.functions;
    for (size_t i = 1; i < f->out.function_count; i++)
        if (function_order(&all[i - 1], &all[i]) > 0) {
            qsort(all, f->out.function_count, sizeof *all, function_order);
            return;
        }
}

/* ---- lines of no function ---- */

static bool lines_only(struct flatten *f, uint64_t lo, uint64_t hi)
{
    for (int cuts = 0; cuts < MAX_CUTS && lo < hi; cuts++) {
        uint64_t end = lo + (hi - lo < piece_size ? hi - lo : piece_size);
        struct code_function *function = add_function(f, lo, end);
        if (!function)
            return false;
        function->flags = CODE_FUNCTION_LINES_ONLY;
        struct line_cursor line = cursor_at(f, lo);
        for (uint64_t at = lo; at < end; at = line.hi) {
            cursor_move(&line, f, at);
            if (!add_row(f, function, at, 0, &line))
                return false;
        }
        lo = end;
    }
    return true;
}

/* Functions are sorted; what they leave of the spans becomes functions as well. */
static bool add_lines_only(struct flatten *f)
{
    size_t count = f->out.function_count, next = 0;
    uint64_t covered = 0; /* by the functions before `next` */
    for (size_t i = 0; i < f->spans.count; i++) {
        uint64_t lo = f->spans.items[i].lo, hi = f->spans.items[i].hi;
        while (lo < hi) {
            for (; next < count && f->out.functions[next].lo <= lo; next++)
                if (f->out.functions[next].hi > covered)
                    covered = f->out.functions[next].hi;
            if (covered > lo) {
                lo = covered;
                continue;
            }
            uint64_t end =
                next < count && f->out.functions[next].lo < hi ? f->out.functions[next].lo : hi;
            if (!lines_only(f, lo, end))
                return false;
            lo = end;
        }
    }
    return true;
}

/* ---- the unit ---- */

static bool flatten_all(struct flatten *f)
{
    const struct dwarf_unit *unit = f->unit;
    f->row_limit = 16 * (f->lines->row_count + unit->range_count) + (1 << 20);
    if (!prepare_maps(f) || !flatten_line_spans(f->lines, f->scratch, &f->spans) ||
        /* Rows come last and most often: mostly this is room for all of them. */
        !flatten_room(f->scratch, &f->out.rows, &f->row_room,
                      f->lines->row_count + unit->range_count, sizeof *f->out.rows))
        return false;
    for (size_t i = 0; i < unit->function_count; i++)
        if (!flatten_function(f, &unit->functions[i]))
            return false;
    sort_functions(f);
    if (!add_lines_only(f))
        return false;
    sort_functions(f);
    return true;
}

fw_error code_flatten(const struct dwarf_unit *unit, const struct dwarf_lines *lines,
                      const struct flatten_options *options, struct arena *scratch,
                      struct code_unit *code)
{
    struct flatten f = {
        .unit = unit,
        .lines = lines,
        .keep_columns = options->columns,
        .scratch = scratch,
        .nest.arena = scratch,
    };
    *code = (struct code_unit){0};
    if (!flatten_all(&f) || flatten_copy_out(&f, code) != FW_OK) {
        code_unit_free(code);
        return FW_ERR_MEMORY;
    }
    return FW_OK;
}

void code_unit_free(struct code_unit *code)
{
    arena_free(&code->arena);
    *code = (struct code_unit){0};
}
