/* One unit of the debug file against the map. */
#include "symmap/verify_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_file { /* the last path of the map that proved to be this file */
    const char *directory, *name;
};

struct check {
    struct verify *verify;
    struct verify_worker *worker;
    uint32_t number; /* of the unit */
    struct dwarf_unit unit;
    struct dwarf_lines lines;
    uint64_t *reach;
    struct known_file *known;
    const char **named; /* by subject: the last name of the map that proved equal */
    struct symmap_frame frames[VERIFY_DEPTH_MAX + 1];
    size_t frame_count;
};

/* ---- comparing ---- */

static bool is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' ||
           (path[0] && path[1] == ':' && (path[2] == '/' || path[2] == '\\'));
}

bool verify_path_is(const char *text, const char *const *parts, size_t count)
{
    bool slash = true; /* none is wanted before the first */
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(parts[i]);
        if (!size)
            continue;
        if (!slash && *text++ != '/')
            return false;
        if (strncmp(text, parts[i], size) != 0)
            return false;
        text += size;
        slash = parts[i][size - 1] == '/';
    }
    return !*text;
}

static bool same_path(const struct dwarf_file_name *file, const struct symmap_frame *frame)
{
    char path[8192];
    const char *parts[3] = {file->comp_dir, file->directory, file->name};
    size_t size = strlen(frame->directory);
    const char *between = size && frame->directory[size - 1] != '/' ? "/" : "";
    int length = snprintf(path, sizeof path, "%s%s%s", frame->directory, between, frame->file);
    if (length < 0 || (size_t)length >= sizeof path)
        return strcmp(frame->file, file->name) == 0; /* too long to tell more */
    size_t first = is_absolute(parts[2]) ? 2 : is_absolute(parts[1]) ? 1 : 0;
    return verify_path_is(path, parts + first, 3 - first);
}

/* `number` in the unit's own table; CODE_NONE or one that it does not have: no file. */
static bool same_file(struct check *c, uint32_t number, const struct symmap_frame *frame)
{
    const struct dwarf_file_name *file =
        number < c->lines.file_count && c->lines.files[number].name[0] ? &c->lines.files[number]
                                                                       : NULL;
    if (!file || !frame->file)
        return !file && !frame->file;
    struct known_file *known = &c->known[number];
    if (known->directory == frame->directory && known->name == frame->file)
        return true;
    if (!same_path(file, frame))
        return false;
    *known = (struct known_file){frame->directory, frame->file};
    return true;
}

static const char *subject_name(const struct check *c, uint32_t subject)
{
    const char *name = subject < c->unit.subject_count ? c->unit.subjects[subject].name : NULL;
    return name && name[0] ? name : NULL;
}

static bool same_name(struct check *c, uint32_t subject, const char *name)
{
    const char *own = subject_name(c, subject);
    if (!own || !name)
        return !own && !name;
    if (c->named[subject] == name)
        return true;
    if (strcmp(own, name) != 0)
        return false;
    c->named[subject] = name;
    return true;
}

/* A part that was split off has a symbol of its own: "name.cold". */
/* The debug file may name the constructor or destructor that all variants have in common, C4 or D4,
 * where the symbol says which variant it is. */
static bool is_part_of(const struct symmap_frame *frame, const char *own)
{
    const char *name = frame->name;
    if (!(frame->flags & SYMMAP_FRAME_PART))
        return false;
    for (; *own && (*name == *own || (*own == '4' && *name >= '0' && *name <= '3')); own++)
        name++;
    return !*own && *name == '.';
}

/* The map may call a function by the symbol that begins there; the debug file's name is then an
 * alias or the source name. */
static bool same_function(struct check *c, const struct dwarf_function *function,
                          const struct symmap_frame *frame)
{
    const char *own = subject_name(c, function->subject);
    if (same_name(c, function->subject, frame->name))
        return true;
    if (!frame->name || !verify_symbol(c->verify, c->verify->base + frame->start, frame->name))
        return false;
    if (!own || is_part_of(frame, own) ||
        (frame->source_name && strcmp(own, frame->source_name) == 0))
        return true;
    for (size_t i = 0; i < symmap_alias_count(c->verify->map, frame->function); i++) {
        const char *alias = symmap_alias(c->verify->map, frame->function, i);
        if (alias && strcmp(alias, own) == 0)
            return true;
    }
    return false;
}

/* Of what the map says (c->frames) about one place. VERIFY_KINDS: it is the same. */
static enum verify_kind compare(struct check *c, const struct dwarf_function *function,
                                const struct verify_answer *answer)
{
    const struct symmap_frame *frames = c->frames;
    if (!c->frame_count)
        return VERIFY_MISSING;
    if (function && !same_function(c, function, &frames[c->frame_count - 1]))
        return VERIFY_FUNCTION;
    if (c->frame_count != answer->depth + 1)
        return VERIFY_INLINED;
    for (size_t i = 0; i < answer->depth; i++) {
        const struct dwarf_inline *call = &c->unit.inlines[answer->inlines[i]];
        const struct symmap_frame *frame = &frames[answer->depth - 1 - i];
        if (!same_name(c, call->subject, frame->name))
            return VERIFY_INLINED;
        if (!same_file(c, call->call_file, frame + 1) || call->call_line != frame[1].line)
            return VERIFY_CALL_SITE;
    }
    if (!answer->depth && !answer->file)
        return verify_symbol_file(c->verify, &frames[0]) ? VERIFY_KINDS : VERIFY_FILE;
    if (!same_file(c, answer->file ? answer->file_number : (uint32_t)CODE_NONE, &frames[0]))
        return VERIFY_FILE;
    return answer->line == frames[0].line ? VERIFY_KINDS : VERIFY_LINE;
}

/* ---- rows ---- */

static bool look_up(struct check *c, uint64_t address)
{
    c->worker->report.lookups++;
    fw_error error = symmap_lookup(c->verify->map, address - c->verify->base, c->frames,
                                   VERIFY_DEPTH_MAX + 1, &c->frame_count);
    if (error != FW_OK || c->frame_count > VERIFY_DEPTH_MAX + 1)
        c->frame_count = 0;
    return error == FW_OK || error == FW_ERR_NOT_FOUND;
}

/* Lowest unit first, so that the report does not depend on threads. */
static void note(struct check *c, struct verify_row *row, enum verify_kind kind)
{
    uint64_t found = (uint64_t)(c->number + 1) << 8 | (uint64_t)kind;
    uint64_t now = atomic_load(&row->state);
    if (kind == VERIFY_KINDS)
        found = VERIFY_RIGHT;
    while (found < now && !atomic_compare_exchange_weak(&row->state, &now, found))
        continue;
}

static void note_missing(struct check *c, const struct dwarf_function *function, uint64_t lo)
{
    const char *name = function ? subject_name(c, function->subject) : NULL;
    verify_tell(&c->worker->report, VERIFY_MISSING, lo,
                "%s of unit 0x%llx is in the debug file, not in the map",
                name       ? name
                : function ? "code without name"
                           : "lines",
                (unsigned long long)dwarf_unit_header(c->verify->dwarf, c->number)->offset);
}

/* Goes along the answers and the rows between lo and hi. */
static void compare_rows(struct check *c, struct verify_walk *walk)
{
    struct verify *v = c->verify;
    struct verify_answer answer = {0};
    size_t at = verify_row_after(v, walk->lo);
    uint64_t place = walk->lo;
    enum verify_kind worst = VERIFY_KINDS; /* of the row at hand */
    bool more = verify_walk_next(walk, &answer);
    while (more && at < v->row_count) {
        struct verify_row *row = &v->rows[at];
        if (row->lo >= walk->hi)
            break;
        if (!walk->function && !row->no_function) {
            at++;
            continue;
        }
        if (row->lo > place) {
            if (walk->function)
                note_missing(c, walk->function, place);
            place = row->lo;
        }
        while (more && answer.hi <= place)
            more = verify_walk_next(walk, &answer);
        if (!more)
            break;
        uint64_t end = row->hi < answer.hi ? row->hi : answer.hi;
        enum verify_kind kind = VERIFY_BROKEN;
        if (look_up(c, place))
            kind = compare(c, walk->function, &answer);
        if (kind == VERIFY_KINDS && end == row->hi && end - place > 1)
            kind = look_up(c, end - 1) ? compare(c, walk->function, &answer) : VERIFY_BROKEN;
        if (kind != VERIFY_KINDS && worst == VERIFY_KINDS)
            worst = kind;
        place = end;
        bool inside = row->lo >= walk->lo && row->hi <= walk->hi;
        if (end == row->hi) {
            if (inside)
                note(c, row, worst);
            worst = VERIFY_KINDS;
            at++;
        }
    }
    if (place < walk->hi && (at == v->row_count || v->rows[at].lo >= walk->hi) && walk->function)
        note_missing(c, walk->function, place);
}

static void walk_piece(struct check *c, const struct dwarf_function *function, uint64_t lo,
                       uint64_t hi)
{
    struct verify_walk walk = {.unit = &c->unit,
                               .lines = &c->lines,
                               .function = function,
                               .lo = lo,
                               .hi = hi,
                               .arena = &c->worker->arena};
    if (!verify_walk_begin(&walk, c->reach))
        c->worker->no_memory = true;
    else
        compare_rows(c, &walk);
}

/* ---- functions ---- */

/* Whether the map knows the function, or another one has its code by right: one of the same range,
 * one inside of it, or one that begins earlier and ends earlier. */
static void check_owner(struct check *c, const struct dwarf_function *function, uint64_t lo,
                        uint64_t hi)
{
    if (!look_up(c, lo) || !c->frame_count)
        return; /* compare_rows says so */
    const struct symmap_frame *frame = &c->frames[c->frame_count - 1];
    uint64_t start = c->verify->base + frame->start, end = start + frame->size;
    const char *name = subject_name(c, function->subject);
    if (same_function(c, function, frame)) {
        c->worker->report.functions++;
        return;
    }
    bool alias = false;
    for (size_t i = 0; name && i < symmap_alias_count(c->verify->map, frame->function); i++) {
        const char *text = symmap_alias(c->verify->map, frame->function, i);
        alias |= text && strcmp(text, name) == 0;
    }
    bool inner = start >= lo && end <= hi && (start != lo || end != hi);
    bool earlier = start < lo && end < hi;
    if (alias || inner || earlier || (!name && start == lo && end == hi)) {
        c->worker->report.shared++;
        return;
    }
    verify_tell(&c->worker->report, VERIFY_FUNCTION, lo,
                "%s of the debug file is not known in the map, which has %s there",
                name ? name : "a function without name", frame->name ? frame->name : "no name");
}

static int range_order(const void *left, const void *right)
{
    const struct object_range *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* Ranges that touch are one stretch of code. */
static void check_function(struct check *c, const struct dwarf_function *function)
{
    struct object_range *ranges =
        arena_take_many(&c->worker->arena, (size_t)function->range_count + 1, sizeof *ranges);
    if (!ranges) {
        c->worker->no_memory = true;
        return;
    }
    if (!function->range_count)
        return;
    memcpy(ranges, c->unit.ranges + function->first_range, function->range_count * sizeof *ranges);
    qsort(ranges, function->range_count, sizeof *ranges, range_order);
    for (uint32_t i = 0; i < function->range_count;) {
        uint64_t lo = ranges[i].lo, hi = ranges[i].hi;
        for (i++; i < function->range_count && ranges[i].lo <= hi; i++)
            hi = ranges[i].hi > hi ? ranges[i].hi : hi;
        if (lo >= hi || lo < c->verify->base)
            continue;
        check_owner(c, function, lo, hi);
        walk_piece(c, function, lo, hi);
    }
}

/* Lines that belong to no function: rows of symbols have them. Sequences that touch are one. */
static void check_lines(struct check *c)
{
    const struct dwarf_sequence *all = c->lines.sequences;
    size_t count = c->lines.sequence_count;
    for (size_t i = 0; !c->worker->no_memory && i < count;) {
        uint64_t lo = all[i].lo, hi = all[i].hi;
        for (i++; i < count && all[i].lo <= hi; i++)
            hi = all[i].hi > hi ? all[i].hi : hi;
        if (lo >= c->verify->base)
            walk_piece(c, NULL, lo, hi);
    }
}

/* ---- the unit ---- */

static bool read_unit(struct check *c)
{
    struct arena *arena = &c->worker->arena;
    struct fw_failure why = {0}; /* what cannot be read was told when the map was made */
    if (dwarf_unit_read(c->verify->dwarf, c->number, &c->verify->read, arena, &c->unit, NULL) !=
        FW_OK)
        return false;
    if (c->unit.has_lines &&
        dwarf_lines_read(&c->unit.line, arena, &c->lines, &why) == FW_ERR_MEMORY)
        return false;
    size_t sequences = c->lines.sequence_count;
    c->reach = arena_take_many(arena, sequences, sizeof *c->reach);
    c->known = arena_take_many(arena, c->lines.file_count, sizeof *c->known);
    c->named = arena_take_many(arena, c->unit.subject_count, sizeof *c->named);
    if (!c->reach || !c->known || !c->named)
        return false;
    memset(c->known, 0, c->lines.file_count * sizeof *c->known);
    memset(c->named, 0, c->unit.subject_count * sizeof *c->named);
    for (size_t i = 0; i < sequences; i++) {
        uint64_t hi = c->lines.sequences[i].hi;
        c->reach[i] = i && c->reach[i - 1] > hi ? c->reach[i - 1] : hi;
    }
    return true;
}

void verify_unit(struct verify *verify, size_t unit, struct verify_worker *worker)
{
    struct check *c = calloc(1, sizeof *c);
    arena_reset(&worker->arena);
    if (!c) {
        worker->no_memory = true;
        return;
    }
    c->verify = verify;
    c->worker = worker;
    c->number = (uint32_t)unit;
    if (!read_unit(c))
        worker->no_memory = true;
    for (size_t i = 0; !worker->no_memory && i < c->unit.function_count; i++)
        check_function(c, &c->unit.functions[i]);
    check_lines(c);
    dwarf_unit_done(verify->dwarf, unit);
    free(c);
}
