#include "symmap/names.h"

#include "base/arena.h"

#include <stdlib.h>

enum { FUNCTIONS_AT_ONCE = 2048, PATHS = 64, POINTERS = 1 << 15 };

/* What one thread keeps: names that are the same string mostly have the same address. */
struct helper {
    struct intern_memory files, subjects;
    struct arena *arena; /* paths put together; lives as long as the names */
    struct {
        const char *comp_dir, *directory;
        uint32_t id;
    } path[PATHS];
    struct {
        const char *text;
        uint32_t id;
    } pointer[POINTERS];
    uint32_t unknown; /* contexts without a subject */
    uint64_t bits;    /* of all starts and lengths seen */
    bool out_of_memory;
};

struct work {
    const struct symmap_source *source;
    struct workers *workers;
    const struct merge *merge;
    struct names *names;
    struct helper *helpers;
    struct intern_keys files, subjects;
    uint32_t *function_id; /* subject ids of merge->functions */
    uint32_t *source_id;   /* string ids of source names, INTERN_NONE */
    bool *fileless;        /* by function: some of its rows have no file */
    uint32_t unknown_id;   /* subject id of contexts that have none */
    uint32_t identity_id[3];
};

const struct code_row *names_row_at(const struct code_unit *unit,
                                    const struct code_function *function, uint64_t offset)
{
    const struct code_row *rows = unit->rows + function->first_row;
    size_t low = 0, high = function->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &rows[low - 1] : NULL;
}

static bool is_winner(const struct work *w, size_t u, size_t i)
{
    uint32_t number = w->merge->numbers[w->merge->first_of_unit[u] + i];
    return number != MERGE_NONE && w->merge->functions[number].unit == u &&
           w->merge->functions[number].index == i;
}

static void mark_file(uint32_t *files, uint32_t file)
{
    if (file != CODE_NONE)
        files[file] = 1;
}

/* Counts uses of the unit's subjects, and marks its files, in the arrays of the results. */
static void mark_unit(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    const struct code_unit *unit = &w->source->units[u];
    uint32_t *subjects = w->names->subject_number + w->names->first_subject[u];
    uint32_t *files = w->names->file_number + w->names->first_file[u];
    uint64_t bits = 0, base = w->source->identity.base;
    uint32_t unknown = 0;
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct code_function *f = &unit->functions[i];
        if (!(f->flags & CODE_FUNCTION_LINES_ONLY) && !is_winner(w, u, i))
            continue;
        bits |= (f->lo - base) | (f->hi - base);
        const struct code_context *contexts = unit->contexts + f->first_context;
        for (size_t c = 0; c < f->context_count; c++) {
            if (contexts[c].subject == CODE_NONE)
                unknown++;
            else
                subjects[contexts[c].subject]++;
            mark_file(files, contexts[c].call_file);
        }
        const struct code_row *rows = unit->rows + f->first_row;
        uint32_t last = CODE_NONE;
        bool fileless = f->row_count == 0;
        for (size_t r = 0; r < f->row_count; r++) {
            bits |= rows[r].offset;
            if (rows[r].file != last)
                mark_file(files, last = rows[r].file);
            fileless |= last == CODE_NONE;
        }
        if (fileless && is_winner(w, u, i))
            w->fileless[w->merge->numbers[w->merge->first_of_unit[u] + i]] = true;
        if (f->subject != CODE_NONE)
            mark_file(files, unit->subjects[f->subject].decl_file);
    }
    for (size_t s = 0; s < unit->subject_count; s++)
        if (subjects[s])
            mark_file(files, unit->subjects[s].decl_file);
    w->helpers[worker].bits |= bits;
    w->helpers[worker].unknown += unknown;
}

static uint32_t add_string(struct work *w, struct helper *helper, const char *text)
{
    if (!text)
        text = "";
    size_t i = (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 40) % POINTERS;
    if (helper->pointer[i].text != text) {
        helper->pointer[i].id = intern_strings_add(&w->names->strings, &helper->files, text);
        helper->pointer[i].text = text;
    }
    return helper->pointer[i].id;
}

static bool is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' ||
           (path[0] && path[1] == ':' && (path[2] == '/' || path[2] == '\\'));
}

/* The directory of a file as one string. */
static uint32_t add_directory(struct work *w, struct helper *helper, const struct code_file *file)
{
    const char *comp_dir = file->comp_dir ? file->comp_dir : "";
    const char *directory = file->directory ? file->directory : "";
    if (file->name && is_absolute(file->name))
        return add_string(w, helper, "");
    if (!*comp_dir || is_absolute(directory))
        return add_string(w, helper, directory);
    if (!*directory)
        return add_string(w, helper, comp_dir);
    size_t i = (size_t)((uintptr_t)directory * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PATHS;
    if (helper->path[i].comp_dir == comp_dir && helper->path[i].directory == directory)
        return helper->path[i].id;
    size_t head = strlen(comp_dir), tail = strlen(directory);
    char *joined = arena_take(helper->arena, head + tail + 2);
    if (!joined) {
        helper->out_of_memory = true;
        return add_string(w, helper, "");
    }
    memcpy(joined, comp_dir, head);
    if (comp_dir[head - 1] != '/')
        joined[head++] = '/';
    memcpy(joined + head, directory, tail + 1);
    helper->path[i].comp_dir = comp_dir;
    helper->path[i].directory = directory;
    return helper->path[i].id = intern_strings_add(&w->names->strings, &helper->files, joined);
}

/* Replaces marks by ids, plus 1. */
static void add_files(struct work *w, struct helper *helper, size_t u)
{
    const struct code_unit *unit = &w->source->units[u];
    size_t first = w->names->first_file[u];
    uint32_t *files = w->names->file_number + first;
    for (size_t i = 0; i < unit->file_count; i++) {
        if (!files[i])
            continue;
        uint64_t directory = add_directory(w, helper, &unit->files[i]);
        uint32_t name = add_string(w, helper, unit->files[i].name);
        files[i] = intern_keys_add(&w->files, &helper->files, directory << 32 | name, 0, 1,
                                   (uint32_t)(first + i)) +
                   1;
    }
}

static uint32_t file_of(const uint32_t *files, uint32_t file)
{
    return file == CODE_NONE ? 0 : files[file];
}

static void add_unit(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    struct helper *helper = &w->helpers[worker];
    const struct code_unit *unit = &w->source->units[u];
    size_t first = w->names->first_subject[u];
    uint32_t *subjects = w->names->subject_number + first;
    const uint32_t *files = w->names->file_number + w->names->first_file[u];
    add_files(w, helper, u);
    for (size_t i = 0; i < unit->subject_count; i++) {
        const struct code_subject *subject = &unit->subjects[i];
        if (!subjects[i])
            continue;
        uint64_t name = add_string(w, helper, subject->name);
        subjects[i] = intern_keys_add(&w->subjects, &helper->subjects,
                                      name << 32 | file_of(files, subject->decl_file),
                                      subject->decl_line, subjects[i], (uint32_t)(first + i));
    }
}

/* Where the function begins, for one whose declaration is not known. */
static void place_of_first_row(const struct work *w, const struct merge_function *f,
                               struct names_function *place)
{
    for (uint32_t p = 0; p < f->piece_count; p++) {
        const struct merge_piece *piece = &w->merge->pieces[f->first_piece + p];
        if (piece->unit == MERGE_NONE)
            continue;
        const struct code_unit *unit = &w->source->units[piece->unit];
        const struct code_function *source = &unit->functions[piece->index];
        const struct code_row *row =
            names_row_at(unit, source, piece->lo + w->source->identity.base - source->lo);
        if (!row || row->file == CODE_NONE)
            continue;
        place->file = w->names->file_number[w->names->first_file[piece->unit] + row->file];
        place->line = row->line;
        return;
    }
}

/* Whether some of a piece has no file. Of the function's own rows mark_unit has found out. */
static bool lacks_file(const struct work *w, uint32_t number, const struct merge_piece *piece)
{
    const struct merge_function *f = &w->merge->functions[number];
    if (piece->unit == MERGE_NONE)
        return true;
    if (piece->unit == f->unit && piece->index == f->index)
        return w->fileless[number];
    const struct code_unit *unit = &w->source->units[piece->unit];
    const struct code_function *source = &unit->functions[piece->index];
    uint64_t base = w->source->identity.base;
    const struct code_row *row = names_row_at(unit, source, piece->lo + base - source->lo);
    const struct code_row *end = unit->rows + source->first_row + source->row_count;
    for (; row && row < end && source->lo + row->offset < base + piece->hi; row++)
        if (row->file == CODE_NONE)
            return true;
    return !row;
}

/* The file that the symbol table gives the function, when some of it has no other. */
static const char *symbol_file(const struct work *w, uint32_t number)
{
    const struct merge_function *f = &w->merge->functions[number];
    const struct symmap_symbol *symbol =
        f->symbol == MERGE_NONE ? NULL : &w->source->symbols[f->symbol];
    const char *file = symbol && symbol->name ? symbol->file : NULL;
    for (uint32_t p = 0; file && p < f->piece_count; p++)
        if (lacks_file(w, number, &w->merge->pieces[f->first_piece + p]))
            return file;
    return NULL;
}

static void add_symbol_file(struct work *w, struct helper *helper, uint32_t number)
{
    struct names_function *place = &w->names->functions[number];
    const char *file = symbol_file(w, number);
    if (!file)
        return;
    uint64_t directory = add_string(w, helper, "");
    place->symbol_file =
        intern_keys_add(&w->files, &helper->files, directory << 32 | add_string(w, helper, file), 0,
                        1, (uint32_t)w->names->first_file[w->source->unit_count] + number) +
        1;
    if (!place->file)
        place->file = place->symbol_file;
}

static void add_function(struct work *w, struct helper *helper, uint32_t number)
{
    const struct merge_function *f = &w->merge->functions[number];
    struct names_function *place = &w->names->functions[number];
    const struct code_subject *subject = NULL;
    *place = (struct names_function){0};
    if (f->unit != MERGE_NONE) {
        const struct code_unit *unit = &w->source->units[f->unit];
        uint32_t i = unit->functions[f->index].subject;
        if (i != CODE_NONE) {
            subject = &unit->subjects[i];
            place->file =
                file_of(w->names->file_number + w->names->first_file[f->unit], subject->decl_file);
            place->line = subject->decl_line;
        }
    }
    if (!place->file || !place->line)
        place_of_first_row(w, f, place);
    add_symbol_file(w, helper, number);
    const char *name = subject ? subject->name : NULL;
    w->source_id[number] = INTERN_NONE;
    if (f->symbol != MERGE_NONE && w->source->symbols[f->symbol].name) {
        const char *symbol = w->source->symbols[f->symbol].name;
        if (name && !subject->linkage && *name && strcmp(name, symbol) != 0)
            w->source_id[number] = add_string(w, helper, name);
        name = symbol;
    }
    uint32_t base = (uint32_t)w->names->first_subject[w->source->unit_count];
    place->name_id = add_string(w, helper, name);
    w->function_id[number] = intern_keys_add(&w->subjects, &helper->subjects,
                                             (uint64_t)place->name_id << 32 | place->file,
                                             place->line, 1, base + number);
    helper->bits |= f->lo | (uint64_t)f->hi;
}

static void add_functions(void *context, size_t item, unsigned worker)
{
    struct work *w = context;
    size_t end = (item + 1) * FUNCTIONS_AT_ONCE;
    for (size_t i = item * FUNCTIONS_AT_ONCE; i < end && i < w->merge->function_count; i++)
        add_function(w, &w->helpers[worker], (uint32_t)i);
}

static void add_aliases(void *context, size_t item, unsigned worker)
{
    struct work *w = context;
    size_t end = (item + 1) * FUNCTIONS_AT_ONCE;
    for (size_t i = item * FUNCTIONS_AT_ONCE; i < end && i < w->merge->alias_count; i++)
        w->names->alias_id[i] = add_string(w, &w->helpers[worker], w->merge->aliases[i].name);
}

static void add_others(struct work *w)
{
    const struct symmap_identity *identity = &w->source->identity;
    struct helper *helper = &w->helpers[0];
    uint32_t unknown = 0;
    for (unsigned i = 0; i < w->names->arena_count; i++)
        unknown += w->helpers[i].unknown;
    if (unknown)
        w->unknown_id = intern_keys_add(&w->subjects, &helper->subjects,
                                        (uint64_t)add_string(w, helper, NULL) << 32, 0, unknown,
                                        (uint32_t)w->names->first_subject[w->source->unit_count] +
                                            w->merge->function_count);
    w->identity_id[0] = add_string(w, helper, identity->object);
    w->identity_id[1] = add_string(w, helper, identity->producer);
    w->identity_id[2] = add_string(w, helper, identity->converter);
}

/* Used items of a set in their final order: value is the id. */
static struct sort_item *order_keys(struct work *w, struct intern_keys *set, bool by_use,
                                    uint32_t *count)
{
    uint32_t ids = atomic_load(&set->slots.count), n = 0;
    struct sort_item *order = malloc((ids + 1) * sizeof *order);
    bool *unused = calloc(ids + 1, 1);
    if (order && unused) {
        for (unsigned i = 0; i < workers_count(w->workers); i++) {
            struct intern_memory *memory =
                set == &w->files ? &w->helpers[i].files : &w->helpers[i].subjects;
            if (memory->spare_key != INTERN_NONE)
                unused[memory->spare_key] = true;
        }
        for (uint32_t id = 0; id < ids; id++) {
            uint64_t first = atomic_load_explicit(&set->items[id].first, memory_order_relaxed);
            uint64_t uses = atomic_load_explicit(&set->items[id].uses, memory_order_relaxed);
            if (!unused[id])
                order[n++] =
                    (struct sort_item){by_use ? (UINT32_MAX - uses) << 32 | first : first, id};
        }
    }
    free(unused);
    *count = n;
    if (order && unused && sort_items(w->workers, order, n))
        return order;
    free(order);
    return NULL;
}

/* Gives the string its place in the file, when it has none. */
static uint32_t place_string(struct names *names, uint32_t id)
{
    struct intern_string *item = &names->strings.items[id];
    if (!item->offset && item->length) {
        item->offset = (uint32_t)names->string_size;
        names->string_size += (uint64_t)item->length + 1;
        names->string_order[names->string_count++] = id;
        if (names->string_size > UINT32_MAX)
            names->string_size = UINT32_MAX; /* stays there, which is too large */
    }
    return item->offset;
}

static bool number_subjects(struct work *w)
{
    struct names *names = w->names;
    struct sort_item *order = order_keys(w, &w->subjects, true, &names->subject_count);
    names->subjects = malloc(((size_t)names->subject_count + 1) * sizeof *names->subjects);
    for (uint32_t i = 0; order && names->subjects && i < names->subject_count; i++) {
        if (i + 16 < names->subject_count)
            __builtin_prefetch(&w->subjects.items[order[i + 16].value]);
        if (i + 8 < names->subject_count)
            __builtin_prefetch(
                &names->strings.items[w->subjects.items[order[i + 8].value].a >> 32]);
        struct intern_key *key = &w->subjects.items[order[i].value];
        uint32_t file = (uint32_t)key->a;
        key->number = i;
        names->subjects[i] =
            (struct format_subject){place_string(names, (uint32_t)(key->a >> 32)),
                                    file ? w->files.items[file - 1].number + 1 : 0, key->b};
    }
    free(order);
    return order && names->subjects;
}

static bool number_files(struct work *w)
{
    struct names *names = w->names;
    struct sort_item *order = order_keys(w, &w->files, false, &names->file_count);
    names->files = malloc(((size_t)names->file_count + 1) * sizeof *names->files);
    for (uint32_t i = 0; order && names->files && i < names->file_count; i++) {
        struct intern_key *key = &w->files.items[order[i].value];
        key->number = i;
        names->files[i] = (struct format_file){place_string(names, (uint32_t)(key->a >> 32)),
                                               place_string(names, (uint32_t)key->a)};
    }
    free(order);
    return order && names->files;
}

static bool number_aliases(struct work *w)
{
    struct names *names = w->names;
    size_t count = w->merge->alias_count;
    struct sort_item *pairs = malloc((count + 1) * sizeof *pairs);
    names->aliases = malloc((count + 1) * sizeof *names->aliases);
    if (!pairs || !names->aliases) {
        free(pairs);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct sort_item){(uint64_t)w->merge->aliases[i].function << 32 |
                                          place_string(names, w->names->alias_id[i]),
                                      0};
    bool ok = sort_items(w->workers, pairs, count);
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t function = (uint32_t)(pairs[i].key >> 32), name = (uint32_t)pairs[i].key;
        uint32_t own = names->subjects[names->functions[function].subject].name;
        if (name != own && (i == 0 || pairs[i].key != pairs[i - 1].key))
            names->aliases[names->alias_count++] = (struct format_pair){function, name};
    }
    free(pairs);
    return ok;
}

/* Ids become numbers in the arrays by unit. */
static void renumber_unit(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    struct names *names = w->names;
    (void)worker;
    const struct code_unit *unit = &w->source->units[u];
    uint32_t *subjects = names->subject_number + names->first_subject[u];
    uint32_t *files = names->file_number + names->first_file[u];
    for (size_t i = 0; i < unit->subject_count; i++)
        subjects[i] = w->subjects.items[subjects[i]].number; /* of unused ones: any */
    for (size_t i = 0; i < unit->file_count; i++)
        if (files[i])
            files[i] = w->files.items[files[i] - 1].number + 1;
}

static void renumber_functions(struct work *w)
{
    struct names *names = w->names;
    for (uint32_t i = 0; i < w->merge->function_count; i++) {
        struct names_function *f = &names->functions[i];
        f->subject = w->subjects.items[w->function_id[i]].number;
        f->file = names->subjects[f->subject].file;
        if (f->symbol_file)
            f->symbol_file = w->files.items[f->symbol_file - 1].number + 1;
        f->source_name = w->source_id[i] == INTERN_NONE ? 0 : place_string(names, w->source_id[i]);
    }
}

static bool count_items(struct work *w)
{
    struct names *names = w->names;
    size_t units = w->source->unit_count, subjects = 0, files = 0;
    size_t functions = (size_t)w->merge->function_count + 1;
    names->first_subject = malloc((units + 1) * sizeof *names->first_subject);
    names->first_file = malloc((units + 1) * sizeof *names->first_file);
    names->functions = malloc(functions * sizeof *names->functions);
    w->function_id = malloc(functions * sizeof *w->function_id);
    w->source_id = malloc(functions * sizeof *w->source_id);
    w->fileless = calloc(functions, sizeof *w->fileless);
    w->names->alias_id = malloc((w->merge->alias_count + 1) * sizeof *w->names->alias_id);
    names->arena_count = workers_count(w->workers);
    w->helpers = calloc(names->arena_count, sizeof *w->helpers);
    names->arenas = calloc(names->arena_count, sizeof *names->arenas);
    if (!names->arenas || !names->first_subject || !names->first_file || !names->functions ||
        !w->function_id || !w->source_id || !w->fileless || !w->names->alias_id || !w->helpers)
        return false;
    for (size_t u = 0; u < units; u++) {
        names->first_subject[u] = subjects;
        names->first_file[u] = files;
        subjects += w->source->units[u].subject_count;
        files += w->source->units[u].file_count;
    }
    names->first_subject[units] = subjects;
    names->first_file[units] = files;
    names->subject_number = calloc(subjects + 1, sizeof *names->subject_number);
    names->file_number = calloc(files + 1, sizeof *names->file_number);
    for (unsigned i = 0; i < names->arena_count; i++) {
        w->helpers[i].files = w->helpers[i].subjects = INTERN_MEMORY;
        intern_recent_begin(&w->helpers[i].files);
        intern_recent_begin(&w->helpers[i].subjects);
        w->helpers[i].arena = &names->arenas[i];
    }
    return names->subject_number && names->file_number && subjects + functions < UINT32_MAX &&
           files + functions < UINT32_MAX;
}

static bool make_sets(struct work *w)
{
    const struct names *names = w->names;
    size_t units = w->source->unit_count, subjects = 0, files = 0;
    for (size_t i = 0; i < names->first_subject[units]; i++)
        subjects += names->subject_number[i] != 0;
    for (size_t i = 0; i < names->first_file[units]; i++)
        files += names->file_number[i] != 0;
    size_t functions = w->merge->function_count, symbol_files = 0;
    for (uint32_t i = 0; i < functions; i++)
        symbol_files += symbol_file(w, i) != NULL;
    return intern_strings_init(&w->names->strings, subjects + 2 * files + 2 * functions +
                                                       symbol_files + w->merge->alias_count + 5) &&
           intern_keys_init(&w->files, files + symbol_files) &&
           intern_keys_init(&w->subjects, subjects + functions + 1);
}

static void end_counting(struct work *w)
{
    for (unsigned i = 0; w->helpers && i < workers_count(w->workers); i++) {
        intern_recent_end(&w->files, &w->helpers[i].files);
        intern_recent_end(&w->subjects, &w->helpers[i].subjects);
    }
}

static void find_unit_shift(struct work *w)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < workers_count(w->workers); i++)
        bits |= w->helpers[i].bits;
    while (w->names->unit_shift < 3 && bits && !(bits >> w->names->unit_shift & 1))
        w->names->unit_shift++;
}

static fw_error run(struct work *w)
{
    struct names *names = w->names;
    size_t units = w->source->unit_count;
    if (!count_items(w))
        return FW_ERR_MEMORY;
    workers_run(w->workers, units, mark_unit, w);
    if (!make_sets(w))
        return FW_ERR_MEMORY;
    workers_run(w->workers, units, add_unit, w);
    workers_run(w->workers, (w->merge->function_count + FUNCTIONS_AT_ONCE - 1) / FUNCTIONS_AT_ONCE,
                add_functions, w);
    workers_run(w->workers, (w->merge->alias_count + FUNCTIONS_AT_ONCE - 1) / FUNCTIONS_AT_ONCE,
                add_aliases, w);
    add_others(w);
    for (unsigned i = 0; i < workers_count(w->workers); i++)
        if (w->helpers[i].out_of_memory)
            return FW_ERR_MEMORY;
    end_counting(w);
    find_unit_shift(w);
    names->string_order =
        malloc((atomic_load(&names->strings.slots.count) + 1) * sizeof *names->string_order);
    names->string_size = 1; /* the empty one */
    if (!names->string_order || !number_files(w) || !number_subjects(w))
        return FW_ERR_MEMORY;
    if (w->subjects.items)
        names->unknown_subject = w->subjects.items[w->unknown_id].number;
    workers_run(w->workers, units, renumber_unit, w);
    renumber_functions(w);
    if (!number_aliases(w))
        return FW_ERR_MEMORY;
    names->object = place_string(names, w->identity_id[0]);
    names->producer = place_string(names, w->identity_id[1]);
    names->converter = place_string(names, w->identity_id[2]);
    return names->string_size >= UINT32_MAX ? FW_ERR_UNSUPPORTED : FW_OK;
}

fw_error names_run(const struct symmap_source *source, struct workers *workers,
                   const struct merge *merge, struct names *names)
{
    *names = (struct names){0};
    struct work w = {.source = source, .workers = workers, .merge = merge, .names = names};
    fw_error error = run(&w);
    end_counting(&w); /* when it failed before */
    intern_keys_free(&w.files);
    intern_keys_free(&w.subjects);
    free(w.function_id);
    free(w.source_id);
    free(w.fileless);
    free(w.helpers);
    return error;
}

void names_free(struct names *names)
{
    for (unsigned i = 0; names->arenas && i < names->arena_count; i++)
        arena_free(&names->arenas[i]);
    free(names->arenas);
    free(names->subject_number);
    free(names->file_number);
    free(names->first_subject);
    free(names->first_file);
    free(names->functions);
    free(names->subjects);
    free(names->files);
    free(names->aliases);
    free(names->alias_id);
    intern_strings_free(&names->strings);
    free(names->string_order);
}
