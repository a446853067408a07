/* Stacks that reports refer to, and the groups of those that reports are grouped by: intake_ids.h.
 * Beyond a limit one stack stands for all others of the project. */
#include "base/failure.h"
#include "collector/intake_ids_inner.h"

static fw_error read_stack(struct ids_filling *f, const struct ids_want *w, const uint8_t hash[16],
                           struct id_entry *entry)
{
    struct db_rows *rows;
    fw_error e = db_query(f->conn, &rows, f->why,
                          "SELECT id, group_id, last_ms FROM stack"
                          " WHERE project = $1 AND hash = $2",
                          DB_VALUES(db_int(w->report->project), db_bytes(hash, 16)));
    if (e)
        return e;
    if (db_next(rows)) {
        entry->id = db_get_int(rows, 0);
        entry->group = db_get_int(rows, 1);
        entry->day_ms = (uint64_t)db_get_int(rows, 2);
    }
    return db_end(rows, f->why);
}

static fw_error insert_stack(struct ids_filling *f, const struct ids_want *w,
                             const uint8_t hash[16], const struct stack_frame *frames, size_t count,
                             struct id_entry *entry)
{
    uint8_t code[DIGEST_FRAMES * STACK_CODE_FRAME_MAX];
    size_t size = stack_encode(frames, count, code);
    fw_error e = intake_ids_number(
        f, &entry->id,
        "INSERT INTO stack (project, hash, frames, last_ms) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (project, hash) DO NOTHING RETURNING id",
        DB_VALUES(db_int(w->report->project), db_bytes(hash, 16), db_bytes(code, size),
                  db_int((int64_t)w->report->received_ms)));
    entry->day_ms = w->report->received_ms;
    if (!e && entry->id)
        limits_made(&f->ids->limits, w->report->project, LIMIT_STACK);
    else if (!e)
        e = read_stack(f, w, hash, entry);
    if (!e && entry->id == 0)
        e = failure_say(f->why, FW_ERR_TIMEOUT, 0, "a stack went away while it was looked for");
    return e;
}

static const uint8_t other_hash[16]; /* no stack of a report hashes to this */

/* One frame, in the image that stands for the others. */
static fw_error other_stack(struct ids_filling *f, const struct ids_want *w, struct id_entry *entry)
{
    struct stack_frame frame = {.offset = 0};
    *entry = (struct id_entry){.id = 0};
    fw_error e = read_stack(f, w, other_hash, entry);
    if (e || entry->id)
        return e;
    e = intake_ids_other_image(f, w, &frame.image);
    return e ? e : insert_stack(f, w, other_hash, &frame, 1, entry);
}

/* Whether this stack may be made and, when a report is grouped by it, may have a group. */
static fw_error has_room(struct ids_filling *f, const struct ids_want *w, bool is_key,
                         struct id_entry *entry, bool *room)
{
    struct intake_limits *limits = &f->ids->limits;
    int64_t project = w->report->project;
    bool groups = true;
    fw_error e = limits_room(limits, f->conn, project, LIMIT_STACK, room, f->why);
    if (!e && is_key)
        e = limits_room(limits, f->conn, project, LIMIT_GROUP, &groups, f->why);
    if (e || (*room && groups))
        return e;
    e = read_stack(f, w, ((struct digest_stack *)w->item)->hash, entry);
    *room = entry->id ? groups || entry->group : *room && groups;
    return e;
}

/* `is_key`: a report is grouped by it. */
static fw_error make_stack(struct ids_filling *f, const struct ids_want *w, bool is_key,
                           struct id_entry *entry, bool *is_other)
{
    const struct digest_stack *stack = w->item;
    bool room = true;
    fw_error e = has_room(f, w, is_key, entry, &room);
    *is_other = !room;
    if (e || (room && entry->id))
        return e;
    if (!room)
        return other_stack(f, w, entry);
    struct stack_frame frames[DIGEST_FRAMES];
    for (size_t i = 0; i < stack->count; i++)
        frames[i] = intake_row_frame(&w->report->digest, &stack->frames[i]);
    return insert_stack(f, w, stack->hash, frames, stack->count, entry);
}

/* Kept as long as it is seen: once a day is enough. */
static fw_error note_seen(struct ids_filling *f, const struct ids_want *w, struct id_entry *entry)
{
    if (w->report->received_ms < entry->day_ms + DAY_MS)
        return FW_OK;
    entry->day_ms = w->report->received_ms;
    return db_run(f->conn, f->why, "UPDATE stack SET last_ms = GREATEST(last_ms, $2) WHERE id = $1",
                  DB_VALUES(db_int(entry->id), db_int((int64_t)entry->day_ms)));
}

static fw_error note_images(struct ids_filling *f, const struct digest *d,
                            const struct digest_stack *stack, int64_t row)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < stack->count && !e; i++) {
        int64_t image = stack->frames[i].image;
        size_t before = 0;
        while (before < i && stack->frames[before].image != image)
            before++;
        if (image && before == i)
            e = db_run(f->conn, f->why,
                       "INSERT INTO stack_image (image, stack) VALUES ($1, $2)"
                       " ON CONFLICT (image, stack) DO NOTHING",
                       DB_VALUES(db_int(d->images[image - 1].row), db_int(row)));
    }
    return e;
}

/* The first report that is grouped by this stack. */
static fw_error group_stack_of(struct ids_filling *f, const struct ids_want *w, bool is_other,
                               struct id_entry *entry)
{
    const struct digest *d = &w->report->digest;
    bool made = false;
    int64_t main_image = d->main_image && !is_other ? d->images[d->main_image - 1].row : 0;
    fw_error e = db_run(f->conn, f->why,
                        "UPDATE stack SET main_image = $2 WHERE id = $1 AND group_id IS NULL",
                        DB_VALUES(db_int(entry->id), main_image ? db_int(main_image) : db_null()));
    e = e || is_other ? e : note_images(f, d, w->item, entry->id);
    e = e ? e
          : stack_group(f->ids->grouper, f->conn, w->report->project, entry->id, d->started_ms,
                        &entry->group, &made, f->why);
    if (!e && made)
        limits_made(&f->ids->limits, w->report->project, LIMIT_GROUP);
    return e;
}

static fw_error answer_stack(struct ids_filling *f, const struct ids_want *w)
{
    struct id_entry found = {0}, *entry = id_map_find(&f->ids->stacks, w->key);
    struct digest_stack *stack = w->item;
    const struct digest *d = &w->report->digest;
    bool is_key = d->key != SIZE_MAX && stack == &d->stacks[d->key], is_other = false;
    fw_error e = FW_OK;
    if (entry)
        found = *entry;
    if (!entry || (is_key && !found.group))
        e = make_stack(f, w, is_key, &found, &is_other);
    e = e ? e : note_seen(f, w, &found);
    if (!e && is_key && found.group == 0)
        e = group_stack_of(f, w, is_other, &found);
    if (e)
        return e;
    if (is_key)
        w->report->group = found.group;
    stack->row = found.id;
    if (is_other) /* whether there is room is asked again */
        return FW_OK;
    if (!entry && !(entry = id_map_put(&f->ids->stacks, w->key)))
        return failure_say(f->why, FW_ERR_MEMORY, 0, "out of memory");
    entry->id = found.id;
    entry->group = found.group;
    entry->day_ms = found.day_ms;
    return FW_OK;
}

fw_error intake_ids_fill_stacks(struct ids_filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++) {
        reports[i]->group = 0;
        for (size_t j = 0; j < reports[i]->digest.stack_count && !e; j++) {
            struct digest_stack *stack = &reports[i]->digest.stacks[j];
            e = intake_ids_want(f, (struct ids_want){.report = reports[i], .item = stack},
                                reports[i]->project, (struct span){stack->hash, sizeof stack->hash},
                                (struct span){0});
        }
    }
    intake_ids_sort(f);
    for (size_t i = 0; i < f->count && !e; i++)
        e = answer_stack(f, &f->wants[i]);
    return e;
}
