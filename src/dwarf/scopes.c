/*
 * Scopes of C++ functions that have only a short name (static ones, those in unnamed namespaces):
 * `ns::Class::name`, from what the declaration stands in.
 *
 * DIEs do not say what encloses them. So the units that hold the declarations are scanned once
 * more, only when there are any such names, only down to the last of them, and past every subtree
 * that DW_AT_sibling shows to hold none.
 */
#include "dwarf/die_walk.h"
#include "dwarf/names.h"

#include <stdlib.h>

enum {
    SCOPE_LIMIT = 256,
    LONGEST_NAME = 64 * 1024,
    FAR_BYTES = 16 << 20 /* of other units that are scanned for one, and 16 times its own size */
};

struct wanted {
    const struct unit *unit;
    uint64_t offset;
    uint32_t subject;
};

struct scan {
    struct subjects *subjects;
    struct view view;
    const char *scopes[SCOPE_LIMIT]; /* NULL: a DIE that adds nothing to names */
    unsigned depth;
};

static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    if (x->unit != y->unit) /* order among units does not matter */
        return (uintptr_t)x->unit < (uintptr_t)y->unit ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->subject < y->subject ? -1 : x->subject > y->subject;
}

/* Puts the scopes that are entered in front of a subject's name. False: memory ran out. */
static bool qualify(struct scan *scan, struct dwarf_subject *subject)
{
    size_t size = strlen(subject->name) + 1;
    bool any = false;
    for (unsigned i = 0; i < scan->depth; i++) {
        any |= scan->scopes[i] != NULL;
        size += scan->scopes[i] ? strlen(scan->scopes[i]) + 2 : 0;
    }
    if (!any || size > LONGEST_NAME)
        return true;
    char *name = arena_take(scan->subjects->arena, size), *to = name;
    if (!name)
        return false;
    for (unsigned i = 0; i < scan->depth; i++) {
        size_t length = scan->scopes[i] ? strlen(scan->scopes[i]) : 0;
        if (!scan->scopes[i])
            continue;
        memcpy(to, scan->scopes[i], length);
        memcpy(to + length, "::", 2);
        to += length + 2;
    }
    memcpy(to, subject->name, strlen(subject->name) + 1);
    subject->name = name;
    subject->qualified = true;
    return true;
}

static const char *unnamed(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_namespace: return "(anonymous namespace)";
    case DW_TAG_class_type: return "(anonymous class)";
    case DW_TAG_structure_type: return "(anonymous struct)";
    case DW_TAG_union_type: return "(anonymous union)";
    default: return NULL;
    }
}

/* The name of a DIE, or of the one that it completes. */
static const char *own_name(const struct view *view, const struct die *die)
{
    struct die other = *die;
    struct die_place place;
    const char *name;
    for (int step = 0; step < 4; step++) {
        if (die_has(&other, SLOT_NAME))
            return form_string(view, &other, SLOT_NAME, &name) && *name ? name : NULL;
        enum die_slot slot = die_has(&other, SLOT_ORIGIN) ? SLOT_ORIGIN : SLOT_SPECIFICATION;
        if (!die_has(&other, slot) ||
            !form_reference(view, other.form[slot], other.value[slot], &place) ||
            place.unit != view->unit || !die_at(view, place.offset, &other))
            return NULL;
    }
    return NULL;
}

/* What the DIE at `offset` adds to the names of what stands in it; NULL: nothing. */
static const char *scope_name(const struct view *view, const struct abbrev *abbrev, uint64_t offset)
{
    switch (abbrev->tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram: break;
    default: return NULL;
    }
    struct die die;
    if (!die_at(view, offset, &die))
        return NULL;
    const char *name = own_name(view, &die);
    return name ? name : unnamed(abbrev->tag);
}

/* The wanted DIEs of one unit, ascending. False: memory ran out. */
static bool scan_unit(struct scan *scan, const struct wanted *wanted, size_t count)
{
    const struct view *view = &scan->view;
    uint64_t at = view->unit->first_die;
    scan->depth = 0;
    do {
        uint64_t offset = at, to;
        enum form_result why;
        const struct abbrev *abbrev = die_code(view, &at);
        if (!abbrev || abbrev->kind == DIE_BAD)
            return true;
        if (abbrev->kind == DIE_END) {
            if (scan->depth)
                scan->depth--;
            continue;
        }
        for (; count && wanted->offset <= offset; wanted++, count--)
            if (wanted->offset == offset && !qualify(scan, &scan->subjects->items[wanted->subject]))
                return false;
        at = die_skip(view, abbrev, at, &why);
        if (!count || !at)
            return true;
        if (!abbrev->children)
            continue;
        to = die_sibling(view, abbrev, at);
        if (to && to <= wanted->offset) {
            at = to;
        } else {
            if (scan->depth == SCOPE_LIMIT)
                return true;
            scan->scopes[scan->depth++] = scope_name(view, abbrev, offset);
        }
    } while (scan->depth);
    return true;
}

static bool scan_all(struct subjects *s, struct wanted *wanted, size_t count)
{
    struct scan *scan = arena_take(s->arena, sizeof *scan);
    if (!scan)
        return false;
    scan->subjects = s;
    uint64_t budget = FAR_BYTES + (s->view->end - s->view->start) * 16;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && wanted[end].unit == wanted[i].unit; end++)
            ;
        if (wanted[i].unit == s->view->unit)
            scan->view = *s->view;
        else if (!view_open(&scan->view, wanted[i].unit, NULL))
            return false;
        uint64_t bytes = wanted[end - 1].offset - scan->view.start;
        if (bytes > budget && wanted[i].unit != s->view->unit)
            continue;
        budget -= bytes < budget ? bytes : budget;
        if (!scan_unit(scan, wanted + i, end - i))
            return false;
    }
    return true;
}

bool subjects_qualify(struct subjects *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->places[i].wants_scope;
    if (!count)
        return true;
    struct wanted *wanted = arena_take_many(s->arena, count, sizeof *wanted);
    if (!wanted)
        return false;
    count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->places[i].wants_scope)
            wanted[count++] = (struct wanted){s->places[i].unit, s->places[i].offset, (uint32_t)i};
    qsort(wanted, count, sizeof *wanted, by_place);
    return scan_all(s, wanted, count);
}
