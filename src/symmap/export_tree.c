#include "symmap/export_tree.h"

/* Of the calls of one parent the last few are looked at when a call comes back. One that is not
 * found again is written twice, which says the same. */
enum { SIBLINGS_TRIED = 24 };

struct stretch { /* of an inlined call; gathered in address order, sorted by call at the end */
    uint32_t call;
    struct export_range range;
};

struct walk {
    struct export_files *files;
    bool (*each)(void *context, const struct export_function *function);
    void *context;
    struct export_function function;
    bool open, failed;

    struct export_row *rows;
    size_t row_capacity;
    struct export_call *calls;
    size_t call_capacity;
    uint32_t *last_stretch; /* by call */
    size_t last_capacity;
    struct stretch *stretches;
    size_t stretch_count, stretch_capacity;
    struct export_range *ranges;
    size_t range_capacity;
};

/* ---- files ---- */

static size_t hash(const struct export_file *file)
{
    uint64_t h = (uint64_t)(uintptr_t)file->directory * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)(uintptr_t)file->name) * 0xbf58476d1ce4e5b9u;
    return (size_t)(h ^ h >> 29);
}

static bool grow(struct export_files *files)
{
    size_t count = files->slot_count ? files->slot_count * 2 : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < files->count; i++) {
        size_t at = hash(&files->items[i]) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(files->slots);
    files->slots = slots;
    files->slot_count = count;
    return true;
}

/* Equal strings of a map are one string, so pointers decide. */
static bool number_file(struct export_files *files, const struct symmap_frame *frame,
                        uint32_t *number)
{
    *number = 0;
    if (!frame->file)
        return true;
    if (files->count * 2 >= files->slot_count && !grow(files))
        return false;
    struct export_file file = {frame->directory, frame->file};
    size_t at = hash(&file) & (files->slot_count - 1);
    for (; files->slots[at]; at = (at + 1) & (files->slot_count - 1)) {
        const struct export_file *known = &files->items[files->slots[at] - 1];
        if (known->directory == file.directory && known->name == file.name) {
            *number = files->slots[at];
            return true;
        }
    }
    if (!array_room(&files->items, &files->capacity, files->count, sizeof *files->items))
        return false;
    files->items[files->count++] = file;
    *number = files->slots[at] = (uint32_t)files->count;
    return true;
}

void export_files_free(struct export_files *files)
{
    free(files->items);
    free(files->slots);
    *files = (struct export_files){0};
}

/* ---- inlined calls ---- */

static bool same_call(const struct export_call *call, const char *name, uint32_t file,
                      uint32_t line)
{
    return call->name == name && call->call_file == file && call->call_line == line;
}

static uint32_t find_call(const struct walk *w, uint32_t parent, const char *name, uint32_t file,
                          uint32_t line)
{
    uint32_t at = parent == EXPORT_NONE ? w->function.first_call : w->calls[parent].first_child;
    for (unsigned tried = 0; at != EXPORT_NONE && tried < SIBLINGS_TRIED; tried++) {
        if (same_call(&w->calls[at], name, file, line))
            return at;
        at = w->calls[at].next;
    }
    return EXPORT_NONE;
}

/* Children are chained with the newest first: that one is asked for most. */
static bool add_call(struct walk *w, uint32_t parent, const char *name, uint32_t file,
                     uint32_t line, uint32_t *call)
{
    size_t count = w->function.call_count;
    if (!array_room(&w->calls, &w->call_capacity, count, sizeof *w->calls) ||
        !array_room(&w->last_stretch, &w->last_capacity, count, sizeof *w->last_stretch))
        return false;
    uint32_t *head =
        parent == EXPORT_NONE ? &w->function.first_call : &w->calls[parent].first_child;
    w->calls[count] = (struct export_call){
        .name = name,
        .parent = parent,
        .depth = parent == EXPORT_NONE ? 0 : w->calls[parent].depth + 1,
        .call_file = file,
        .call_line = line,
        .first_child = EXPORT_NONE,
        .next = *head,
    };
    *head = *call = (uint32_t)count;
    w->last_stretch[count] = EXPORT_NONE;
    w->function.call_count++;
    return true;
}

static bool add_stretch(struct walk *w, uint32_t call, uint64_t lo, uint64_t hi)
{
    uint32_t last = w->last_stretch[call];
    if (last != EXPORT_NONE && w->stretches[last].range.hi == lo) {
        w->stretches[last].range.hi = hi;
        return true;
    }
    if (w->stretch_count >= EXPORT_NONE ||
        !array_room(&w->stretches, &w->stretch_capacity, w->stretch_count, sizeof *w->stretches))
        return false;
    w->last_stretch[call] = (uint32_t)w->stretch_count;
    w->stretches[w->stretch_count++] = (struct stretch){call, {lo, hi}};
    w->calls[call].range_count++;
    return true;
}

static bool add_chain(struct walk *w, const struct symmap_row *row)
{
    uint32_t parent = EXPORT_NONE;
    for (size_t i = row->frame_count - 1; i-- > 0;) {
        const struct symmap_frame *frame = &row->frames[i], *caller = frame + 1;
        uint32_t file;
        if (!number_file(w->files, caller, &file))
            return false;
        uint32_t call = find_call(w, parent, frame->name, file, caller->line);
        if (call == EXPORT_NONE && !add_call(w, parent, frame->name, file, caller->line, &call))
            return false;
        if (!add_stretch(w, call, row->lo, row->hi))
            return false;
        parent = call;
    }
    return true;
}

/* ---- functions ---- */

static bool place_ranges(struct walk *w)
{
    if (!array_reserve(&w->ranges, &w->range_capacity, w->stretch_count, sizeof *w->ranges))
        return false;
    uint32_t next = 0;
    for (size_t i = 0; i < w->function.call_count; i++) {
        w->calls[i].first_range = next;
        next += w->calls[i].range_count;
        w->calls[i].range_count = 0;
    }
    for (size_t i = 0; i < w->stretch_count; i++) {
        struct export_call *call = &w->calls[w->stretches[i].call];
        w->ranges[call->first_range + call->range_count++] = w->stretches[i].range;
    }
    return true;
}

/* Chains from newest first to oldest first, which is by address. */
static uint32_t reversed(struct export_call *calls, uint32_t at)
{
    uint32_t before = EXPORT_NONE;
    while (at != EXPORT_NONE) {
        uint32_t next = calls[at].next;
        calls[at].next = before;
        before = at;
        at = next;
    }
    return before;
}

static bool finish(struct walk *w)
{
    if (!w->open)
        return true;
    w->open = false;
    struct export_function *f = &w->function;
    if (!place_ranges(w))
        return false;
    f->first_call = reversed(w->calls, f->first_call);
    for (size_t i = 0; i < f->call_count; i++)
        w->calls[i].first_child = reversed(w->calls, w->calls[i].first_child);
    f->rows = w->rows;
    f->calls = w->calls;
    f->ranges = w->ranges;
    return w->each(w->context, f);
}

static void begin(struct walk *w, const struct symmap_row *row)
{
    const struct symmap_frame *frame = &row->frames[row->frame_count - 1];
    w->function = (struct export_function){.lo = row->lo,
                                           .hi = row->lo,
                                           .number = frame->function,
                                           .flags = frame->flags,
                                           .name = frame->name,
                                           .whole = row->lo == frame->start,
                                           .first_call = EXPORT_NONE};
    w->stretch_count = 0;
    w->open = true;
}

static bool add_row(struct walk *w, const struct symmap_row *row)
{
    struct export_function *f = &w->function;
    uint32_t file, line = row->frames[0].line;
    if (!number_file(w->files, &row->frames[0], &file) || !add_chain(w, row))
        return false;
    f->hi = row->hi;
    f->has_lines |= file != 0;
    const struct export_row *last = f->row_count ? &w->rows[f->row_count - 1] : NULL;
    if (last && last->file == file && last->line == line)
        return true;
    if (!array_room(&w->rows, &w->row_capacity, f->row_count, sizeof *w->rows))
        return false;
    w->rows[f->row_count++] = (struct export_row){row->lo, file, line};
    return true;
}

static bool see(void *context, const struct symmap_row *row)
{
    struct walk *w = context;
    if (!row->frame_count) {
        w->failed = !finish(w);
        return !w->failed;
    }
    uint32_t number = row->frames[row->frame_count - 1].function;
    if (w->open && (w->function.number != number || w->function.hi != row->lo))
        w->failed = !finish(w);
    if (!w->failed && !w->open)
        begin(w, row);
    w->failed = w->failed || !add_row(w, row);
    return !w->failed;
}

fw_error export_each(const struct symmap *map, struct export_files *files,
                     bool (*each)(void *context, const struct export_function *function),
                     void *context)
{
    struct walk w = {.files = files, .each = each, .context = context};
    fw_error error = symmap_each_row(map, see, &w);
    if (error == FW_OK && (w.failed || !finish(&w)))
        error = FW_ERR_MEMORY;
    free(w.rows);
    free(w.calls);
    free(w.last_stretch);
    free(w.stretches);
    free(w.ranges);
    return error;
}
