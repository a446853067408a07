/*
 * See walk.h. Where the time of a conversion goes: tens of millions of DIEs, of which one in six is
 * of interest. The others are got over by a compiled length, whole subtrees by DW_AT_sibling.
 *
 * Invariants: `at` is a section offset and never counts as readable before it was compared with the
 * end of the unit; a sibling is followed only forward and inside the unit, so every step makes
 * progress. `depth` counts entered DIEs; their contexts stand in a stack of fixed size, and what is
 * nested deeper is got over without one.
 *
 * Where code can be. A concrete function stands in a unit, a namespace, a function or a block.
 * Types hold declarations in C and C++ (the definition stands outside, with DW_AT_specification),
 * but Rust, Swift, D and Ada put code there: their types are entered. A function that is nested in
 * another is read after it, so that the inlined calls and call sites of one function follow each
 * other.
 */
#include "dwarf/walk.h"
#include "dwarf/die_walk.h"

enum {
    DEPTH_LIMIT = 1024,
    RANGES_FOR_ALL = 4096,
    LATER_LIMIT = 64 /* functions nested in functions nested in functions */
};

struct context { /* what the children of a DIE belong to */
    uint32_t function, inlined;
    bool local; /* inside of a function, with code or without */
    bool open;  /* inside of a function with code, however far out: its inlined calls are not to be
                   parted by those of another */
};

struct later { /* a nested function that is read when its parent is done */
    uint64_t offset;
    uint32_t nesting;
};

struct walk {
    const struct view *view;
    struct dwarf_unit *result;
    struct arena *arena;
    struct subjects *subjects;
    struct dwarf_problems *problems;
    struct range_list list;
    struct range_reader ranges;
    size_t function_capacity, inline_capacity, call_capacity;
    struct later *later;
    size_t later_count, later_capacity;
    bool calls;       /* wanted */
    bool enter_types; /* the language puts code into types */
    bool no_memory;
    struct context context;
    uint32_t nesting; /* of the function that is read */
    uint32_t depth;
    struct context stack[DEPTH_LIMIT];
};

/* Room for one more item in an array of the arena; what it grew out of is left there. */
static bool grow(struct walk *w, void *items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *moved = larger < DWARF_NONE ? arena_take_many(w->arena, larger, size) : NULL, *old;
    if (!moved) {
        w->no_memory = true;
        return false;
    }
    memcpy(&old, items, sizeof old);
    if (count)
        memcpy(moved, old, count * size);
    memcpy(items, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

static uint32_t small_value(const struct die *die, enum die_slot slot)
{
    return die_has(die, slot) && die->value[slot] <= UINT32_MAX ? (uint32_t)die->value[slot] : 0;
}

static uint32_t origin_of(struct walk *w, const struct die *die)
{
    if (!die_has(die, SLOT_ORIGIN))
        return DWARF_NONE;
    return subject_of_reference(w->subjects, die->form[SLOT_ORIGIN], die->value[SLOT_ORIGIN],
                                die->offset);
}

/* ---- one DIE of interest: what its children belong to ---- */

static struct context add_function(struct walk *w, const struct die *die)
{
    const struct context none = {DWARF_NONE, DWARF_NONE, true, false};
    struct dwarf_unit *u = w->result;
    size_t first = w->list.count;
    range_read_die(&w->ranges, w->view, die);
    if (w->list.count == first || w->ranges.no_memory)
        return none;
    if (!grow(w, &u->functions, &w->function_capacity, u->function_count, sizeof *u->functions))
        return none;
    struct dwarf_function *f = &u->functions[u->function_count];
    *f = (struct dwarf_function){
        .first_range = (uint32_t)first,
        .range_count = (uint32_t)(w->list.count - first),
        .entry = w->list.items[first].lo,
        .first_inline = (uint32_t)u->inline_count,
        .first_call = (uint32_t)u->call_count,
        .die = die->offset,
        .artificial = die_has(die, SLOT_ARTIFICIAL) && die->value[SLOT_ARTIFICIAL],
        .trampoline = die_has(die, SLOT_TRAMPOLINE),
        .all_tail_calls = die_has(die, SLOT_ALL_CALLS) && die->value[SLOT_ALL_CALLS]};
    uint64_t entry;
    if (die_has(die, SLOT_ENTRY_PC)) { /* an address, or an offset from the lowest one */
        uint16_t form = die->form[SLOT_ENTRY_PC];
        if (!form_is_address(form))
            f->entry += die->value[SLOT_ENTRY_PC];
        else if (form_address(w->view, form, die->value[SLOT_ENTRY_PC], &entry))
            f->entry = entry;
    }
    f->subject = subject_of_die(w->subjects, die->offset);
    return (struct context){(uint32_t)u->function_count++, DWARF_NONE, true, true};
}

static struct context add_inline(struct walk *w, const struct die *die)
{
    struct dwarf_unit *u = w->result;
    if (!grow(w, &u->inlines, &w->inline_capacity, u->inline_count, sizeof *u->inlines))
        return w->context;
    size_t first = w->list.count;
    range_read_die(&w->ranges, w->view, die);
    u->inlines[u->inline_count] =
        (struct dwarf_inline){.subject = origin_of(w, die),
                              .parent = w->context.inlined,
                              .first_range = (uint32_t)first,
                              .range_count = (uint32_t)(w->list.count - first),
                              .call_file = small_value(die, SLOT_CALL_FILE),
                              .call_line = small_value(die, SLOT_CALL_LINE),
                              .call_column = small_value(die, SLOT_CALL_COLUMN)};
    u->functions[w->context.function].inline_count++;
    return (struct context){w->context.function, (uint32_t)u->inline_count++, true, true};
}

static void add_call(struct walk *w, const struct die *die)
{
    struct dwarf_unit *u = w->result;
    bool tail = die_has(die, SLOT_TAIL_CALL) && die->value[SLOT_TAIL_CALL];
    enum die_slot slot = (tail && die_has(die, SLOT_CALL_PC)) || !die_has(die, SLOT_RETURN_PC)
                             ? SLOT_CALL_PC
                             : SLOT_RETURN_PC;
    uint64_t pc;
    if (!die_has(die, slot) || !form_address(w->view, die->form[slot], die->value[slot], &pc))
        return;
    if (!grow(w, &u->calls, &w->call_capacity, u->call_count, sizeof *u->calls))
        return;
    if (tail && slot == SLOT_RETURN_PC) /* GCC: the end of the jump; what is meant lies before it */
        pc--;
    u->calls[u->call_count++] = (struct dwarf_call){pc, origin_of(w, die), tail};
    u->functions[w->context.function].call_count++;
}

/* ---- getting over DIEs ---- */

static void tell_form(struct walk *w, uint64_t at, enum form_result result)
{
    dwarf_problem_note(w->problems, DWARF_PROBLEM_FORM, FW_ERR_CORRUPT, at, w->view->file,
                       result == FORM_UNKNOWN ? "a form that is not known"
                                              : "an attribute is cut off");
}

/* Behind the attributes; 0 when they cannot be read, which is told. */
static inline uint64_t skip_attributes(struct walk *w, const struct abbrev *abbrev, uint64_t at)
{
    enum form_result why;
    uint64_t end = die_skip(w->view, abbrev, at, &why);
    if (!end)
        tell_form(w, at, why);
    return end;
}

/* Behind the children of a DIE, by counting; 0 when the unit ends first. */
static uint64_t skip_children(struct walk *w, uint64_t at)
{
    uint64_t depth = 1;
    while (depth) {
        uint64_t offset = at;
        const struct abbrev *abbrev = die_code(w->view, &at);
        if (!abbrev || abbrev->kind == DIE_BAD) {
            dwarf_problem_note(w->problems, abbrev ? DWARF_PROBLEM_ABBREV : DWARF_PROBLEM_UNIT,
                               FW_ERR_CORRUPT, offset, w->view->file,
                               abbrev ? "no such abbreviation" : "the unit ends too early");
            return 0;
        }
        if (abbrev->kind == DIE_END) {
            depth--;
            continue;
        }
        at = skip_attributes(w, abbrev, at);
        if (!at)
            return 0;
        if (abbrev->children) {
            uint64_t to = die_sibling(w->view, abbrev, at);
            if (to)
                at = to;
            else
                depth++;
        }
    }
    return at;
}

static uint64_t skip_subtree(struct walk *w, const struct abbrev *abbrev, uint64_t end)
{
    if (!abbrev->children)
        return end;
    uint64_t to = die_sibling(w->view, abbrev, end);
    return to ? to : skip_children(w, end);
}

/* ---- the walk ---- */

static bool read_attributes(struct walk *w, const struct abbrev *abbrev, uint64_t offset,
                            uint64_t at, struct die *die)
{
    die->offset = offset;
    if (die_read_fixed(w->view, abbrev, at, die))
        return true;
    enum form_result result = die_read(w->view, abbrev, at, die);
    if (result == FORM_OK)
        return true;
    tell_form(w, offset, result);
    return false;
}

static void postpone(struct walk *w, uint64_t offset)
{
    if (w->nesting == LATER_LIMIT) {
        dwarf_problem_note(w->problems, DWARF_PROBLEM_NESTING, FW_ERR_CORRUPT, offset,
                           w->view->file, "functions nested too deep");
        return;
    }
    if (grow(w, &w->later, &w->later_capacity, w->later_count, sizeof *w->later))
        w->later[w->later_count++] = (struct later){offset, w->nesting + 1};
}

/* Enters the children of a DIE: where to go on. */
static uint64_t enter(struct walk *w, const struct abbrev *abbrev, uint64_t end,
                      struct context context)
{
    if (!abbrev->children)
        return end;
    if (w->depth == DEPTH_LIMIT) {
        dwarf_problem_note(w->problems, DWARF_PROBLEM_NESTING, FW_ERR_CORRUPT, end, w->view->file,
                           "entries nested too deep");
        return skip_subtree(w, abbrev, end);
    }
    w->stack[w->depth++] = w->context;
    w->context = context;
    return end;
}

/* A DIE of interest, its attributes at `at`: where to go on; 0: the unit is at an end. */
static uint64_t visit(struct walk *w, const struct abbrev *abbrev, uint64_t offset, uint64_t at)
{
    struct die die;
    bool in_function = w->context.function != DWARF_NONE;
    if (abbrev->kind == DIE_FUNCTION && w->context.open) {
        postpone(w, offset);
        at = skip_attributes(w, abbrev, at);
        return at ? skip_subtree(w, abbrev, at) : 0;
    }
    if (abbrev->kind != DIE_FUNCTION && !in_function) { /* of dead code */
        at = skip_attributes(w, abbrev, at);
        return at ? enter(w, abbrev, at, w->context) : 0;
    }
    if (!read_attributes(w, abbrev, offset, at, &die))
        return 0;
    struct context context = w->context;
    switch (abbrev->kind) {
    case DIE_FUNCTION: context = add_function(w, &die); break;
    case DIE_INLINE: context = add_inline(w, &die); break;
    default:
        if (w->calls)
            add_call(w, &die);
        return skip_subtree(w, abbrev, die.end);
    }
    return enter(w, abbrev, die.end, context);
}

/* From the DIE at `at` to its end, children included. */
static void walk_tree(struct walk *w, uint64_t at)
{
    const struct view *view = w->view;
    w->depth = 0;
    w->context = (struct context){DWARF_NONE, DWARF_NONE, false, false};
    do {
        uint64_t offset = at, to;
        const struct abbrev *abbrev = die_code(view, &at);
        if (!abbrev) {
            dwarf_problem_note(w->problems, DWARF_PROBLEM_UNIT, FW_ERR_TRUNCATED, offset,
                               view->file, "the unit ends inside of %u entries", w->depth);
            return;
        }
        switch (abbrev->kind) {
        case DIE_END:
            if (w->depth)
                w->context = w->stack[--w->depth];
            break;
        case DIE_LEAF: at = skip_attributes(w, abbrev, at); break;
        case DIE_TYPE:
        case DIE_JUMP:
            at = skip_attributes(w, abbrev, at);
            to = at && (abbrev->kind == DIE_JUMP || !(w->enter_types || w->context.local))
                     ? die_sibling(view, abbrev, at)
                     : 0;
            if (to)
                at = to;
            else if (at)
                at = enter(w, abbrev, at, w->context);
            break;
        case DIE_ABSTRACT:
            at = skip_attributes(w, abbrev, at);
            if (at)
                at = enter(w, abbrev, at,
                           (struct context){DWARF_NONE, DWARF_NONE, true, w->context.open});
            break;
        case DIE_ENTER:
            at = skip_attributes(w, abbrev, at);
            if (at)
                at = enter(w, abbrev, at, w->context);
            break;
        case DIE_BAD:
            dwarf_problem_note(w->problems, DWARF_PROBLEM_ABBREV, FW_ERR_CORRUPT, offset,
                               view->file, "no such abbreviation");
            return;
        default: at = visit(w, abbrev, offset, at);
        }
        if (!at || w->no_memory || w->ranges.no_memory || w->subjects->no_memory)
            return;
    } while (w->depth);
}

static bool code_in_types(uint32_t language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C17:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20:
    case DW_LANG_C_plus_plus_23:
    case DW_LANG_ObjC:
    case DW_LANG_ObjC_plus_plus: return false;
    default: return true;
    }
}

bool walk_unit(const struct view *view, const struct dwarf_options *options, struct arena *arena,
               struct subjects *subjects, struct dwarf_unit *result,
               struct dwarf_problems *problems)
{
    struct walk *w = arena_take(arena, sizeof *w);
    if (!w)
        return false;
    memset(w, 0, offsetof(struct walk, stack));
    w->view = view;
    w->result = result;
    w->arena = arena;
    w->subjects = subjects;
    w->problems = problems;
    w->list.arena = arena;
    w->ranges = (struct range_reader){.options = options,
                                      .problems = problems,
                                      .budget = RANGES_FOR_ALL + (view->end - view->start) * 16,
                                      .list = &w->list};
    w->calls = options->calls;
    w->enter_types = code_in_types(view->root->language);
    walk_tree(w, view->unit->first_die);
    for (size_t i = 0; i < w->later_count && !w->no_memory; i++) {
        w->nesting = w->later[i].nesting;
        walk_tree(w, w->later[i].offset);
    }
    result->ranges = w->list.items;
    result->range_count = w->list.count;
    return !w->no_memory && !w->ranges.no_memory && !subjects->no_memory;
}
