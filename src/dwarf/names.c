/* See names.h. */
#include "dwarf/names.h"

enum { CHAIN_LIMIT = 16, NEAR_FIRST_BITS = 10, FAR_FIRST_BITS = 6 };

static uint32_t hash_near(uint32_t key, uint32_t bits)
{
    return key * 0x9e3779b1u >> (32 - bits);
}

static uint32_t hash_far(const struct unit *unit, uint64_t offset, uint32_t bits)
{
    uint64_t key = offset ^ (uint64_t)(uintptr_t)unit * 31;
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - bits));
}

static void *zeroed(struct arena *arena, size_t count, size_t size)
{
    void *taken = arena_take_many(arena, count, size);
    if (taken)
        memset(taken, 0, count * size);
    return taken;
}

bool subjects_begin(struct subjects *s, const struct view *view, struct arena *arena,
                    struct dwarf_problems *problems)
{
    *s = (struct subjects){.arena = arena,
                           .problems = problems,
                           .view = view,
                           .near_bits = NEAR_FIRST_BITS,
                           .far_bits = FAR_FIRST_BITS};
    s->near = zeroed(arena, (size_t)1 << s->near_bits, sizeof *s->near);
    s->far = zeroed(arena, (size_t)1 << s->far_bits, sizeof *s->far);
    return s->near && s->far;
}

static bool grow_near(struct subjects *s)
{
    uint32_t bits = s->near_bits + 1;
    if (bits > 31)
        return false;
    struct subject_slot *larger = zeroed(s->arena, (size_t)1 << bits, sizeof *larger);
    if (!larger)
        return false;
    uint32_t mask = ((uint32_t)1 << bits) - 1;
    for (size_t i = 0; i < (size_t)1 << s->near_bits; i++) {
        if (!s->near[i].key)
            continue;
        uint32_t at = hash_near(s->near[i].key, bits);
        while (larger[at].key)
            at = (at + 1) & mask;
        larger[at] = s->near[i];
    }
    s->near = larger;
    s->near_bits = bits;
    return true;
}

static bool grow_far(struct subjects *s)
{
    uint32_t bits = s->far_bits + 1;
    if (bits > 31)
        return false;
    struct subject_far_slot *larger = zeroed(s->arena, (size_t)1 << bits, sizeof *larger);
    if (!larger)
        return false;
    uint32_t mask = ((uint32_t)1 << bits) - 1;
    for (size_t i = 0; i < (size_t)1 << s->far_bits; i++) {
        if (!s->far[i].unit)
            continue;
        uint32_t at = hash_far(s->far[i].unit, s->far[i].offset, bits);
        while (larger[at].unit)
            at = (at + 1) & mask;
        larger[at] = s->far[i];
    }
    s->far = larger;
    s->far_bits = bits;
    return true;
}

static void *doubled(struct arena *arena, const void *items, size_t count, size_t capacity,
                     size_t size)
{
    void *moved = arena_take_many(arena, capacity, size);
    if (moved && count)
        memcpy(moved, items, count * size);
    return moved;
}

static bool room(struct subjects *s)
{
    if (s->count < s->capacity)
        return true;
    size_t larger = s->capacity ? s->capacity * 2 : 256;
    if (larger >= DWARF_NONE)
        return false;
    struct dwarf_subject *items = doubled(s->arena, s->items, s->count, larger, sizeof *items);
    struct subject_place *places = doubled(s->arena, s->places, s->count, larger, sizeof *places);
    if (!items || !places)
        return false;
    s->items = items;
    s->places = places;
    s->capacity = larger;
    return true;
}

static bool is_c_plus_plus(uint32_t language)
{
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20:
    case DW_LANG_C_plus_plus_23: return true;
    default: return false;
    }
}

static uint64_t identity(const struct die_place *place)
{
    return (place->offset & ~((uint64_t)3 << 62)) | place->unit->file->mark |
           (place->unit->header.in_types ? (uint64_t)1 << 63 : 0);
}

/* What one DIE of the chain adds. */
static void take_names(struct subjects *s, const struct view *view, const struct die *die,
                       struct dwarf_subject *subject)
{
    const char *name;
    if (die_has(die, SLOT_LINKAGE) && !subject->linkage) {
        if (form_string(view, die, SLOT_LINKAGE, &name)) {
            subject->name = name;
            subject->linkage = true;
        } else {
            dwarf_problem_note(s->problems, DWARF_PROBLEM_STRING, FW_ERR_CORRUPT, die->offset,
                               view->file, "a linkage name lies outside of the strings");
        }
    }
    if (die_has(die, SLOT_NAME) && !subject->name) {
        if (form_string(view, die, SLOT_NAME, &name))
            subject->name = *name ? name : NULL;
        else
            dwarf_problem_note(s->problems, DWARF_PROBLEM_STRING, FW_ERR_CORRUPT, die->offset,
                               view->file, "a name lies outside of the strings");
    }
    if (die_has(die, SLOT_DECL_LINE) && !subject->decl_line) {
        uint64_t line = die->value[SLOT_DECL_LINE];
        subject->decl_line = line > UINT32_MAX ? 0 : (uint32_t)line;
        if (view->unit == s->view->unit && die_has(die, SLOT_DECL_FILE) &&
            die->value[SLOT_DECL_FILE] <= UINT32_MAX)
            subject->decl_file = (uint32_t)die->value[SLOT_DECL_FILE];
    }
}

static bool next_of(struct subjects *s, const struct view *view, const struct die *die,
                    struct die_place *next)
{
    enum die_slot slot = die_has(die, SLOT_ORIGIN) ? SLOT_ORIGIN : SLOT_SPECIFICATION;
    if (!die_has(die, slot))
        return false;
    if (form_reference(view, die->form[slot], die->value[slot], next))
        return true;
    dwarf_problem_note(s->problems, DWARF_PROBLEM_REFERENCE, FW_ERR_CORRUPT, die->offset,
                       view->file, "a reference to 0x%llx leads nowhere",
                       (unsigned long long)die->value[slot]);
    return false;
}

/* Appends the subject of the DIE at `place`. */
static uint32_t make(struct subjects *s, struct die_place place)
{
    struct dwarf_subject subject = {0};
    struct view other = *s->view;
    const struct view *view = s->view;
    struct die_place end = place;
    bool linked = false;
    for (int step = 0; !linked; step++) {
        if (place.unit != view->unit) {
            if (place.unit == s->view->unit) {
                view = s->view;
            } else {
                if (!view_open(&other, place.unit, NULL)) {
                    s->no_memory = true;
                    return DWARF_NONE;
                }
                view = &other;
            }
        }
        struct die die;
        if (step == CHAIN_LIMIT || !die_at(view, place.offset, &die)) {
            dwarf_problem_note(s->problems, DWARF_PROBLEM_REFERENCE, FW_ERR_CORRUPT, place.offset,
                               view->file,
                               step == CHAIN_LIMIT ? "references go in a circle"
                                                   : "no entry where one is referred to");
            break;
        }
        end = place;
        take_names(s, view, &die, &subject);
        linked = !next_of(s, view, &die, &place);
    }
    if (!room(s)) {
        s->no_memory = true;
        return DWARF_NONE;
    }
    subject.die = identity(&end);
    s->items[s->count] = subject;
    /* Units that dwz made do not say a language: then it is that of who refers to them. */
    uint32_t language = view->root->language ? view->root->language : s->view->root->language;
    s->places[s->count] = (struct subject_place){
        end.unit, end.offset, subject.name && !subject.linkage && is_c_plus_plus(language)};
    return (uint32_t)s->count++;
}

static uint32_t find_near(struct subjects *s, uint32_t key)
{
    uint32_t mask = ((uint32_t)1 << s->near_bits) - 1, at = hash_near(key, s->near_bits);
    while (s->near[at].key && s->near[at].key != key)
        at = (at + 1) & mask;
    if (s->near[at].key)
        return s->near[at].subject;
    uint32_t subject = make(s, (struct die_place){s->view->unit, s->view->start + key});
    if (s->no_memory)
        return DWARF_NONE;
    s->near[at] = (struct subject_slot){key, subject};
    if (++s->near_count > mask / 2 && !grow_near(s))
        s->no_memory = true;
    return subject;
}

static uint32_t find_far(struct subjects *s, struct die_place place)
{
    uint32_t mask = ((uint32_t)1 << s->far_bits) - 1;
    uint32_t at = hash_far(place.unit, place.offset, s->far_bits);
    while (s->far[at].unit && (s->far[at].unit != place.unit || s->far[at].offset != place.offset))
        at = (at + 1) & mask;
    if (s->far[at].unit)
        return s->far[at].subject;
    uint32_t subject = make(s, place);
    if (s->no_memory)
        return DWARF_NONE;
    s->far[at] = (struct subject_far_slot){place.unit, place.offset, subject};
    if (++s->far_count > mask / 2 && !grow_far(s))
        s->no_memory = true;
    return subject;
}

uint32_t subject_of_die(struct subjects *s, uint64_t offset)
{
    uint64_t key = offset - s->view->start;
    if (key && key <= UINT32_MAX)
        return find_near(s, (uint32_t)key);
    return find_far(s, (struct die_place){s->view->unit, offset});
}

uint32_t subject_of_reference(struct subjects *s, uint16_t form, uint64_t value, uint64_t die)
{
    if (form == DW_FORM_ref4 && value && value < s->view->end - s->view->start)
        return find_near(s, (uint32_t)value);
    struct die_place place;
    if (!form_reference(s->view, form, value, &place)) {
        dwarf_problem_note(s->problems, DWARF_PROBLEM_REFERENCE, FW_ERR_CORRUPT, die, s->view->file,
                           "a reference to 0x%llx leads nowhere", (unsigned long long)value);
        return DWARF_NONE;
    }
    return place.unit == s->view->unit ? subject_of_die(s, place.offset) : find_far(s, place);
}
