#include "symmap/call_sites.h"

#include "base/array.h"

#include <stdlib.h>

/* Besides function numbers. */
#define INDIRECT  ((uint32_t)SYMMAP_CALL_INDIRECT)
#define UNKNOWN   ((uint32_t)SYMMAP_CALL_ELSEWHERE)
#define NOT_ASKED (UINT32_MAX - 2)

struct list { /* tail calls of one function */
    uint32_t function;
    size_t begin, size; /* in the bytes of the worker */
};

struct helper { /* what one worker collects */
    struct sort_item *calls;
    size_t call_count, call_capacity;
    uint8_t *bytes;
    size_t size, capacity;
    struct list *lists;
    size_t list_count, list_capacity;
    uint32_t *targets; /* by subject of the unit in hand */
    size_t target_capacity;
    struct sort_item *dies; /* of the unit in hand */
    size_t die_capacity;
    struct intern_memory memory;
    bool out_of_memory;
};

struct work {
    const struct symmap_source *source;
    struct workers *workers;
    const struct merge *merge;
    const struct names *names;
    struct call_sites *result;
    struct helper *helpers;
    struct intern_keys identities; /* `first`: smallest function number, `uses`: 1, more when
                                      there are several functions of this identity */
    uint32_t *by_name;             /* string id -> function number, UNKNOWN: none, or several */
    uint8_t *has_tail_calls;       /* by function number */
};

static uint32_t number_of(const struct work *w, size_t u, size_t i)
{
    return w->merge->numbers[w->merge->first_of_unit[u] + i];
}

static bool is_winner(const struct work *w, size_t u, size_t i)
{
    uint32_t number = number_of(w, u, i);
    return number != MERGE_NONE && w->merge->functions[number].unit == u &&
           w->merge->functions[number].index == i;
}

static const struct code_subject *subject_of(const struct code_unit *unit, uint32_t subject)
{
    return subject == CODE_NONE ? NULL : &unit->subjects[subject];
}

/* ---- parts and their functions ---- */

static int by_key(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* For each part of the unit the piece of the same DIE that holds the entry. */
static void link_parts(struct work *w, struct helper *helper, size_t u)
{
    const struct code_unit *unit = &w->source->units[u];
    size_t count = 0;
    bool parts = false;
    for (size_t i = 0; i < unit->function_count; i++)
        parts |= unit->functions[i].flags & CODE_FUNCTION_PART;
    if (!parts)
        return;
    if (!array_reserve(&helper->dies, &helper->die_capacity, unit->function_count,
                       sizeof *helper->dies)) {
        helper->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < unit->function_count; i++)
        if (!(unit->functions[i].flags & (CODE_FUNCTION_PART | CODE_FUNCTION_LINES_ONLY)))
            helper->dies[count++] = (struct sort_item){unit->functions[i].die, number_of(w, u, i)};
    if (!count)
        return;
    qsort(helper->dies, count, sizeof *helper->dies, by_key);
    for (size_t i = 0; i < unit->function_count; i++) {
        if (!(unit->functions[i].flags & CODE_FUNCTION_PART) || !is_winner(w, u, i))
            continue;
        const struct sort_item *whole = bsearch(&(struct sort_item){unit->functions[i].die, 0},
                                                helper->dies, count, sizeof *helper->dies, by_key);
        if (whole)
            w->result->functions[number_of(w, u, i)].whole = (uint32_t)whole->value;
    }
}

/* ---- who is called ---- */

static void add_identities(struct work *w, struct helper *helper, size_t u)
{
    const struct code_unit *unit = &w->source->units[u];
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct code_function *f = &unit->functions[i];
        const struct code_subject *subject = subject_of(unit, f->subject);
        uint32_t number = number_of(w, u, i);
        if (!subject || !subject->identity || f->flags & CODE_FUNCTION_PART || number == MERGE_NONE)
            continue;
        intern_keys_add(&w->identities, &helper->memory, subject->identity, 0, 1, number);
    }
}

static void prepare_unit(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    const struct code_unit *unit = &w->source->units[u];
    link_parts(w, &w->helpers[worker], u);
    add_identities(w, &w->helpers[worker], u);
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct code_function *f = &unit->functions[i];
        if (!f->call_count || !is_winner(w, u, i))
            continue;
        for (uint32_t c = 0; c < f->call_count; c++)
            if (unit->calls[f->first_call + c].tail) {
                w->has_tail_calls[number_of(w, u, i)] = 1;
                break;
            }
    }
}

/* Several functions of one identity (clones of one another) are several answers: none. One that
 * stands for several of the same code is one. */
static void find_clones(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    const struct code_unit *unit = &w->source->units[u];
    (void)worker;
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct code_function *f = &unit->functions[i];
        const struct code_subject *subject = subject_of(unit, f->subject);
        uint32_t number = number_of(w, u, i);
        if (!subject || !subject->identity || f->flags & CODE_FUNCTION_PART || number == MERGE_NONE)
            continue;
        uint32_t id = intern_keys_find(&w->identities, subject->identity, 0);
        struct intern_key *key = &w->identities.items[id];
        if (atomic_load_explicit(&key->first, memory_order_relaxed) != number)
            atomic_store_explicit(&key->uses, UNKNOWN, memory_order_relaxed);
    }
}

static void name_is(uint32_t *seen, uint32_t id, uint32_t function)
{
    if (seen[id] == NOT_ASKED)
        seen[id] = function;
    else if (seen[id] != function)
        seen[id] = UNKNOWN;
}

static bool index_names(struct work *w)
{
    size_t count = atomic_load(&w->names->strings.slots.count);
    w->by_name = malloc((count + 1) * sizeof *w->by_name);
    if (!w->by_name)
        return false;
    for (size_t i = 0; i < count; i++)
        w->by_name[i] = NOT_ASKED;
    for (uint32_t f = 0; f < w->merge->function_count; f++)
        if (w->result->functions[f].whole == CALLS_NONE)
            name_is(w->by_name, w->names->functions[f].name_id, f);
    for (size_t i = 0; i < w->merge->alias_count; i++)
        name_is(w->by_name, w->names->alias_id[i], w->merge->aliases[i].function);
    return true;
}

static uint32_t find_target(const struct work *w, const struct code_subject *subject)
{
    if (subject->identity) {
        uint32_t id = intern_keys_find(&w->identities, subject->identity, 0);
        if (id != INTERN_NONE) {
            const struct intern_key *key = &w->identities.items[id];
            return atomic_load_explicit(&key->uses, memory_order_relaxed) == UNKNOWN
                       ? UNKNOWN
                       : atomic_load_explicit(&key->first, memory_order_relaxed);
        }
    }
    if (!subject->name) /* the plain name of a C function is its symbol's name, too */
        return UNKNOWN;
    uint32_t id = intern_strings_find(&w->names->strings, subject->name);
    return id == INTERN_NONE || w->by_name[id] == NOT_ASKED ? UNKNOWN : w->by_name[id];
}

static uint32_t target_of(const struct work *w, struct helper *helper, const struct code_unit *unit,
                          uint32_t subject)
{
    if (subject == CODE_NONE)
        return INDIRECT;
    if (helper->targets[subject] == NOT_ASKED)
        helper->targets[subject] = find_target(w, &unit->subjects[subject]);
    return helper->targets[subject];
}

/* ---- calls ---- */

static bool add_tail_calls(struct work *w, struct helper *helper, size_t u, size_t i)
{
    const struct code_unit *unit = &w->source->units[u];
    const struct code_function *f = &unit->functions[i];
    uint64_t base = w->source->identity.base;
    uint32_t last = (uint32_t)(f->lo - base), number = number_of(w, u, i), count = 0;
    if (!array_reserve(&helper->bytes, &helper->capacity,
                       helper->size + 5 + (size_t)f->call_count * 10, 1) ||
        !array_room(&helper->lists, &helper->list_capacity, helper->list_count,
                    sizeof *helper->lists))
        return false;
    for (uint32_t c = 0; c < f->call_count; c++)
        count += unit->calls[f->first_call + c].tail;
    uint8_t *begin = helper->bytes + helper->size, *p = put_uleb(begin, count);
    for (uint32_t c = 0; c < f->call_count; c++) {
        const struct code_call *call = &unit->calls[f->first_call + c];
        if (!call->tail)
            continue;
        uint32_t target = target_of(w, helper, unit, call->subject);
        p = put_uleb(p, zigzag((uint32_t)(call->pc - base) - last));
        p = put_uleb(p, target == INDIRECT  ? TAIL_CALL_INDIRECT
                        : target == UNKNOWN ? TAIL_CALL_ELSEWHERE
                                            : (uint64_t)target + TAIL_CALL_FUNCTION);
        last = (uint32_t)(call->pc - base);
    }
    helper->lists[helper->list_count++] = (struct list){number, helper->size, (size_t)(p - begin)};
    helper->size += (size_t)(p - begin);
    return true;
}

static bool add_calls(struct work *w, struct helper *helper, size_t u, size_t i)
{
    const struct code_unit *unit = &w->source->units[u];
    const struct code_function *f = &unit->functions[i];
    uint64_t base = w->source->identity.base;
    for (uint32_t c = 0; c < f->call_count; c++) {
        const struct code_call *call = &unit->calls[f->first_call + c];
        if (call->tail || call->pc < base || call->pc - base > UINT32_MAX)
            continue;
        uint32_t target = target_of(w, helper, unit, call->subject);
        if (target == INDIRECT ||
            (target == UNKNOWN ? !w->source->partial : !w->has_tail_calls[target]))
            continue;
        if (!array_room(&helper->calls, &helper->call_capacity, helper->call_count,
                        sizeof *helper->calls))
            return false;
        helper->calls[helper->call_count++] = (struct sort_item){call->pc - base, target};
    }
    return true;
}

static void read_unit(void *context, size_t u, unsigned worker)
{
    struct work *w = context;
    struct helper *helper = &w->helpers[worker];
    const struct code_unit *unit = &w->source->units[u];
    if (!unit->call_count)
        return;
    if (!array_reserve(&helper->targets, &helper->target_capacity, unit->subject_count + 1,
                       sizeof *helper->targets)) {
        helper->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < unit->subject_count; i++)
        helper->targets[i] = NOT_ASKED;
    for (size_t i = 0; i < unit->function_count; i++) {
        if (!unit->functions[i].call_count || !is_winner(w, u, i))
            continue;
        if (!add_calls(w, helper, u, i) ||
            (w->has_tail_calls[number_of(w, u, i)] && !add_tail_calls(w, helper, u, i)))
            helper->out_of_memory = true;
    }
}

/* Calls of all workers by return address; two that contradict each other say nothing. */
static bool sort_calls(struct work *w)
{
    struct call_sites *r = w->result;
    size_t count = 0;
    for (unsigned i = 0; i < workers_count(w->workers); i++)
        count += w->helpers[i].call_count;
    struct sort_item *all = malloc((count + 1) * sizeof *all);
    r->calls = malloc((count + 1) * sizeof *r->calls);
    count = 0;
    for (unsigned i = 0; all && i < workers_count(w->workers); i++) {
        const struct helper *helper = &w->helpers[i];
        if (helper->call_count)
            memcpy(all + count, helper->calls, helper->call_count * sizeof *all);
        count += helper->call_count;
    }
    bool ok = all && r->calls && sort_items(w->workers, all, count);
    for (size_t i = 0, end; ok && i < count; i = end) {
        for (end = i + 1; end < count && all[end].key == all[i].key; end++)
            continue;
        if (all[i].value == all[end - 1].value)
            r->calls[r->call_count++] =
                (struct format_pair){(uint32_t)all[i].key, (uint32_t)all[i].value};
    }
    free(all);
    return ok;
}

/* Lists of all workers in the order of their functions. */
static fw_error join_lists(struct work *w)
{
    struct call_sites *r = w->result;
    size_t count = 0, size = 0;
    for (unsigned i = 0; i < workers_count(w->workers); i++) {
        count += w->helpers[i].list_count;
        size += w->helpers[i].size;
    }
    if (size > UINT32_MAX)
        return FW_ERR_UNSUPPORTED;
    struct sort_item *order = malloc((count + 1) * sizeof *order);
    r->lists = malloc(size + 1);
    count = 0;
    for (unsigned i = 0; order && i < workers_count(w->workers); i++)
        for (size_t k = 0; k < w->helpers[i].list_count; k++)
            order[count++] =
                (struct sort_item){w->helpers[i].lists[k].function, (uint64_t)i << 32 | k};
    if (!order || !r->lists || !sort_items(w->workers, order, count)) {
        free(order);
        return FW_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const struct helper *helper = &w->helpers[order[i].value >> 32];
        const struct list *list = &helper->lists[(uint32_t)order[i].value];
        r->functions[list->function].tail_calls = (uint32_t)r->list_size;
        memcpy(r->lists + r->list_size, helper->bytes + list->begin, list->size);
        r->list_size += list->size;
    }
    free(order);
    return FW_OK;
}

static fw_error run(struct work *w)
{
    size_t functions = (size_t)w->merge->function_count + 1, all = 0;
    w->result->functions = malloc(functions * sizeof *w->result->functions);
    w->has_tail_calls = calloc(functions, 1);
    w->helpers = calloc(workers_count(w->workers), sizeof *w->helpers);
    for (size_t u = 0; u < w->source->unit_count; u++)
        all += w->source->units[u].function_count;
    if (!w->result->functions || !w->has_tail_calls || !w->helpers ||
        !intern_keys_init(&w->identities, all))
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < functions; i++)
        w->result->functions[i] = (struct call_function){CALLS_NONE, CALLS_NONE};
    for (unsigned i = 0; i < workers_count(w->workers); i++)
        w->helpers[i].memory = INTERN_MEMORY;
    workers_run(w->workers, w->source->unit_count, prepare_unit, w);
    workers_run(w->workers, w->source->unit_count, find_clones, w);
    if (!index_names(w))
        return FW_ERR_MEMORY;
    workers_run(w->workers, w->source->unit_count, read_unit, w);
    for (unsigned i = 0; i < workers_count(w->workers); i++)
        if (w->helpers[i].out_of_memory)
            return FW_ERR_MEMORY;
    return sort_calls(w) ? join_lists(w) : FW_ERR_MEMORY;
}

fw_error call_sites_run(const struct symmap_source *source, struct workers *workers,
                        const struct merge *merge, const struct names *names,
                        struct call_sites *calls)
{
    *calls = (struct call_sites){0};
    struct work w = {
        .source = source, .workers = workers, .merge = merge, .names = names, .result = calls};
    fw_error error = run(&w);
    for (unsigned i = 0; w.helpers && i < workers_count(workers); i++) {
        free(w.helpers[i].calls);
        free(w.helpers[i].bytes);
        free(w.helpers[i].lists);
        free(w.helpers[i].targets);
        free(w.helpers[i].dies);
    }
    free(w.helpers);
    free(w.by_name);
    free(w.has_tail_calls);
    intern_keys_free(&w.identities);
    return error;
}

void call_sites_free(struct call_sites *calls)
{
    free(calls->functions);
    free(calls->calls);
    free(calls->lists);
}
