#include "symmap/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static unsigned pick(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (unsigned)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below : 0;
}

static char *text(const char *format, unsigned number)
{
    char *made = malloc(64); /* not shared: equal strings must be found by their contents */
    snprintf(made, 64, format, number);
    return made;
}

static void *many(size_t count, size_t size)
{
    return calloc(count + 1, size);
}

static void make_subjects(struct code_unit *unit)
{
    static char *const dirs[] = {"/src", "lib", "", "/usr/include"};
    unit->file_count = 1 + pick(5);
    unit->files = many(unit->file_count, sizeof *unit->files);
    for (size_t i = 0; i < unit->file_count; i++)
        unit->files[i] = (struct code_file){pick(4) ? "/build" : NULL, dirs[pick(4)],
                                            text(pick(9) ? "file%u.h" : "/root/file%u.c", pick(6))};
    unit->subject_count = 1 + pick(8);
    unit->subjects = many(unit->subject_count, sizeof *unit->subjects);
    for (size_t i = 0; i < unit->subject_count; i++)
        unit->subjects[i] = (struct code_subject){
            .name = pick(10) ? text("_Zfunction%u", pick(20)) : NULL,
            .identity = pick(3) ? 1 + pick(30) : 0,
            .decl_file = pick(5) ? pick((unsigned)unit->file_count) : (uint32_t)CODE_NONE,
            .decl_line = pick(4) ? pick(2000) : 0,
            .linkage = pick(2)};
}

static void make_function(struct code_unit *unit, const struct model_shape *shape,
                          struct code_function *f)
{
    unsigned steps = shape->span / shape->step;
    uint64_t lo = MODEL_BASE + (uint64_t)pick(steps) * shape->step;
    uint64_t hi = lo + (1 + pick(shape->longest / shape->step)) * shape->step;
    *f = (struct code_function){.lo = lo,
                                .hi = hi,
                                .entry = lo,
                                .die = unit->function_count,
                                .subject = pick((unsigned)unit->subject_count),
                                .first_context = (uint32_t)unit->context_count,
                                .context_count = pick(shape->depth + 1),
                                .first_row = (uint32_t)unit->row_count,
                                .first_call = (uint32_t)unit->call_count,
                                .flags = (uint8_t)pick(8)};
    if (pick(8) == 0) {
        f->flags = CODE_FUNCTION_LINES_ONLY;
        f->subject = CODE_NONE;
        f->context_count = 0;
    }
    for (uint32_t i = 0; i < f->context_count; i++)
        unit->contexts[unit->context_count++] = (struct code_context){
            .subject = pick(20) ? pick((unsigned)unit->subject_count) : (uint32_t)CODE_NONE,
            .parent = pick(3) ? i : pick(i + 1),
            .call_file = pick(4) ? pick((unsigned)unit->file_count) : (uint32_t)CODE_NONE,
            .call_line = pick(6) ? pick(3000) : 0,
            .call_column = pick(200)};
    for (uint64_t offset = 0; offset < hi - lo; offset += (1 + pick(8)) * shape->step) {
        bool none = pick(12) == 0;
        unit->rows[unit->row_count++] = (struct code_row){
            .offset = (uint32_t)offset,
            .context = pick(f->context_count + 1),
            .file = none ? (uint32_t)CODE_NONE : pick((unsigned)unit->file_count),
            .line = none || pick(10) == 0 ? 0
                    : pick(9)             ? pick(2500)
                                          : pick(0x7fffffff),
        };
        if (unit->columns)
            unit->columns[unit->row_count - 1] = (uint16_t)pick(100);
        f->row_count++;
    }
    for (unsigned n = shape->calls ? pick(6) : 0; n; n--)
        unit->calls[unit->call_count++] = (struct code_call){
            .pc = lo + pick((unsigned)(hi - lo)),
            .subject = pick(6) ? pick((unsigned)unit->subject_count) : (uint32_t)CODE_NONE,
            .tail = pick(2)};
    f->call_count = (uint32_t)unit->call_count - f->first_call;
}

static int by_range(const void *a, const void *b)
{
    const struct code_function *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return (x->die > y->die) - (x->die < y->die);
}

static void make_unit(struct code_unit *unit, const struct model_shape *shape)
{
    size_t most = shape->functions + 1;
    make_subjects(unit);
    unit->functions = many(most, sizeof *unit->functions);
    unit->contexts = many(most * (shape->depth + 1), sizeof *unit->contexts);
    unit->rows = many(most * (shape->longest / shape->step + 1), sizeof *unit->rows);
    if (shape->columns)
        unit->columns = many(most * (shape->longest / shape->step + 1), sizeof *unit->columns);
    unit->calls = many(most * 6, sizeof *unit->calls);
    for (unsigned n = pick(shape->functions + 1); n; n--) {
        struct code_function *f = &unit->functions[unit->function_count];
        make_function(unit, shape, f);
        if (unit->function_count && pick(10) == 0) { /* the same range again */
            f->lo = f[-1].lo;
            f->hi = f[-1].hi;
            f->row_count = f->hi - f->lo < shape->longest && f->row_count ? 1 : f->row_count;
            while (f->row_count &&
                   unit->rows[f->first_row + f->row_count - 1].offset >= f->hi - f->lo)
                f->row_count--;
        }
        unit->function_count++;
    }
    qsort(unit->functions, unit->function_count, sizeof *unit->functions, by_range);
}

struct model *model_make(uint64_t seed, const struct model_shape *shape)
{
    struct model *m = calloc(1, sizeof *m);
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    m->source.unit_count = 1 + pick(shape->units);
    m->source.units = m->units = many(m->source.unit_count, sizeof *m->units);
    for (size_t i = 0; i < m->source.unit_count; i++)
        make_unit(&m->units[i], shape);
    m->source.symbol_count = pick(shape->symbols + 1);
    m->source.symbols = m->symbols = many(m->source.symbol_count, sizeof *m->symbols);
    for (size_t i = 0; i < m->source.symbol_count; i++) {
        uint64_t lo = MODEL_BASE + (uint64_t)pick(shape->span / shape->step) * shape->step;
        const struct code_unit *unit = &m->units[pick((unsigned)m->source.unit_count)];
        if (unit->function_count && pick(2))
            lo = unit->functions[pick((unsigned)unit->function_count)].lo;
        m->symbols[i] = (struct symmap_symbol){
            lo, lo + pick(shape->longest / shape->step) * shape->step,
            pick(8) ? text(pick(2) ? "_Zfunction%u" : "symbol%u", pick(20)) : NULL,
            pick(9) ? 0 : (uint32_t)SYMMAP_FRAME_PLT,
            pick(3) ? NULL : text(pick(2) ? "file%u.h" : "only%u.c", pick(6))};
    }
    m->source.columns = shape->columns;
    m->source.identity = (struct symmap_identity){.id = {1, 2, 3},
                                                  .id_size = 3,
                                                  .id_kind = SYMMAP_ID_BUILD_ID,
                                                  .arch = "x86_64",
                                                  .base = MODEL_BASE,
                                                  .object = "model",
                                                  .producer = "test",
                                                  .converter = "framewalk"};
    return m;
}

void model_free(struct model *m)
{
    for (size_t u = 0; u < m->source.unit_count; u++) {
        struct code_unit *unit = &m->units[u];
        for (size_t i = 0; i < unit->file_count; i++)
            free((void *)(uintptr_t)unit->files[i].name);
        for (size_t i = 0; i < unit->subject_count; i++)
            free((void *)(uintptr_t)unit->subjects[i].name);
        free(unit->functions);
        free(unit->contexts);
        free(unit->rows);
        free(unit->columns);
        free(unit->calls);
        free(unit->subjects);
        free(unit->files);
    }
    for (size_t i = 0; i < m->source.symbol_count; i++) {
        free((void *)(uintptr_t)m->symbols[i].name);
        free((void *)(uintptr_t)m->symbols[i].file);
    }
    free(m->units);
    free(m->symbols);
    free(m);
}

/* ---- the answer, slowly ---- */

struct range { /* a function or symbol with what is left of its range */
    uint64_t lo, hi, from;
    const struct code_unit *unit;
    const struct code_function *function;
    const struct symmap_symbol *symbol;
};

static bool goes_before(const struct range *a, const struct range *b)
{
    return a->lo != b->lo ? a->lo < b->lo : a->hi > b->hi;
}

static void insert(struct range *list, size_t *count, struct range r)
{
    size_t i = (*count)++;
    for (; i && goes_before(&r, &list[i - 1]); i--)
        list[i] = list[i - 1];
    list[i] = r;
}

static bool has_lines(const struct range *r)
{
    for (uint32_t i = 0; i < r->function->row_count; i++)
        if (r->unit->rows[r->function->first_row + i].file != CODE_NONE)
            return true;
    return false;
}

/* Of the functions of one kind. */
static size_t collect(const struct model *m, bool lines_only, struct range *list)
{
    size_t count = 0;
    for (size_t u = 0; u < m->source.unit_count; u++)
        for (size_t i = 0; i < m->units[u].function_count; i++) {
            const struct code_function *f = &m->units[u].functions[i];
            struct range r = {f->lo, f->hi, f->lo, &m->units[u], f, NULL};
            size_t same = 0;
            if (!(f->flags & CODE_FUNCTION_LINES_ONLY) != !lines_only)
                continue;
            while (same < count && (list[same].lo != r.lo || list[same].hi != r.hi))
                same++;
            if (same == count)
                insert(list, &count, r);
            else if (has_lines(&r) && !has_lines(&list[same]))
                list[same] = r;
        }
    return count;
}

/* The longest, and of equally long ones the last. */
static const struct symmap_symbol *symbol_at(const struct model *m, uint64_t lo, bool named)
{
    const struct symmap_symbol *best = NULL;
    for (size_t i = 0; i < m->source.symbol_count; i++) {
        const struct symmap_symbol *s = &m->symbols[i];
        if (s->lo == lo && (s->name || !named) && (!best || s->hi >= best->hi))
            best = s;
    }
    return best;
}

static size_t collect_symbols(const struct model *m, struct range *list)
{
    size_t count = 0;
    for (size_t i = 0; i < m->source.symbol_count; i++) {
        uint64_t lo = m->symbols[i].lo;
        const struct symmap_symbol *longest = symbol_at(m, lo, false);
        const struct symmap_symbol *name = symbol_at(m, lo, true);
        bool done = false;
        for (size_t k = 0; k < count; k++)
            done |= list[k].lo == lo;
        if (!done && longest->hi > lo)
            insert(list, &count,
                   (struct range){lo, longest->hi, lo, NULL, NULL, name ? name : longest});
    }
    return count;
}

static const struct range *owner(struct range *list, size_t count, uint64_t pc)
{
    const struct range *best = NULL;
    for (size_t i = 0; i < count; i++) {
        struct range *x = &list[i];
        for (size_t k = 0; k < i; k++)
            if (list[k].from <= x->lo && x->lo < list[k].hi && list[k].hi < x->hi &&
                list[k].hi > x->from)
                x->from = list[k].hi;
        if (x->from <= pc && pc < x->hi && (!best || x->hi - x->from <= best->hi - best->from))
            best = x;
    }
    return best;
}

static const struct code_row *row_at(const struct range *r, uint64_t pc)
{
    const struct code_row *found = NULL;
    for (uint32_t i = 0; r && i < r->function->row_count; i++) {
        const struct code_row *row = &r->unit->rows[r->function->first_row + i];
        if (row->offset <= pc - r->lo)
            found = row;
    }
    return found;
}

static void set_file(struct symmap_frame *frame, const struct code_unit *unit, uint32_t file)
{
    static char joined[32][64];
    static unsigned turn;
    if (!unit || file == CODE_NONE)
        return;
    const struct code_file *f = &unit->files[file];
    frame->file = f->name;
    frame->directory = f->directory;
    if (*f->name == '/') {
        frame->directory = "";
    } else if (f->comp_dir && *f->directory != '/') {
        char *to = joined[turn++ % 32];
        snprintf(to, 64, "%s%s%s", f->comp_dir, *f->directory ? "/" : "", f->directory);
        frame->directory = to;
    }
}

size_t model_frames(const struct model *m, uint64_t offset, struct symmap_frame *frames)
{
    static struct range functions[1024], lines[1024], symbols[1024];
    uint64_t pc = MODEL_BASE + offset;
    const struct range *r = owner(functions, collect(m, false, functions), pc);
    const struct range *line = owner(lines, collect(m, true, lines), pc);
    if (!r)
        r = owner(symbols, collect_symbols(m, symbols), pc);
    if (!r)
        r = line;
    if (!r)
        return 0;
    const struct range *from = r->function ? r : line;
    const struct code_row *row = row_at(from, pc);
    bool lines_only = r->function && r->function->flags & CODE_FUNCTION_LINES_ONLY;
    const struct symmap_symbol *named = lines_only ? NULL : symbol_at(m, r->lo, true);
    if (named && r->function && r->function->flags & CODE_FUNCTION_PART && named->hi < r->hi)
        named = NULL; /* a symbol of a piece of the part */
    uint32_t file = row ? row->file : (uint32_t)CODE_NONE, at = row && from == r ? row->context : 0;
    uint32_t number = row ? row->line : 0,
             column = row && m->source.columns ? from->unit->columns[row - from->unit->rows] : 0;
    size_t count = 0;
    for (;; count++) {
        struct symmap_frame *frame = &frames[count];
        *frame = (struct symmap_frame){
            .start = r->lo - MODEL_BASE, .size = r->hi - r->lo, .line = number, .column = column};
        set_file(frame, from ? from->unit : NULL, file);
        if (!at)
            break;
        const struct code_context *c = &r->unit->contexts[r->function->first_context + at - 1];
        frame->name = c->subject == CODE_NONE ? NULL : r->unit->subjects[c->subject].name;
        frame->flags = SYMMAP_FRAME_INLINED;
        file = c->call_file;
        number = c->call_line;
        column = m->source.columns ? c->call_column : 0;
        at = c->parent;
    }
    struct symmap_frame *outer = &frames[count];
    if (count == 0 && !outer->file && named && named->file) {
        outer->file = named->file;
        outer->directory = "";
    }
    const struct code_subject *subject = r->function && r->function->subject != CODE_NONE
                                             ? &r->unit->subjects[r->function->subject]
                                             : NULL;
    outer->name = named ? named->name : subject ? subject->name : NULL;
    if (named && subject && subject->name && !subject->linkage &&
        strcmp(named->name, subject->name) != 0)
        outer->source_name = subject->name;
    if (r->function) {
        outer->flags |= r->function->flags & CODE_FUNCTION_PART ? SYMMAP_FRAME_PART : 0;
        outer->flags |= r->function->flags & CODE_FUNCTION_ARTIFICIAL ? SYMMAP_FRAME_ARTIFICIAL : 0;
    } else {
        outer->flags |= named ? SYMMAP_FRAME_FROM_SYMBOL : SYMMAP_FRAME_SYNTHESIZED;
        outer->flags |= r->symbol->flags & SYMMAP_FRAME_PLT;
    }
    return count + 1;
}
