/* Numbers of the rows that reports refer to: intake_ids.h. */
#include "collector/intake_ids.h"
#include "base/array.h"
#include "base/failure.h"
#include "base/little_endian.h"
#include "collector/brought_names.h"

#include <stdlib.h>

enum { DAY_MS = 86400 * 1000 };

struct want { /* a row that is asked for */
    struct span key;
    struct intake_report *report;
    void *item; /* what gets the number */
    int kind;   /* of terms */
    const char *text;
};

struct filling {
    struct intake_ids *ids;
    struct db_conn *conn;
    struct arena *arena;
    struct fw_failure *why;
    struct want *wants;
    size_t count, capacity;
};

static int by_key(const void *a, const void *b)
{
    struct span x = ((const struct want *)a)->key, y = ((const struct want *)b)->key;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Adds a want whose key is a number and two texts or bytes. */
static fw_error want(struct filling *f, struct want w, int64_t number, struct span a, struct span b)
{
    uint8_t *key = arena_take(f->arena, 12 + a.size + b.size);
    if (!key || !array_room(&f->wants, &f->capacity, f->count, sizeof *f->wants))
        return failure_say(f->why, FW_ERR_MEMORY, 0, "out of memory");
    put_u64(key, (uint64_t)number);
    put_u32(key + 8, (uint32_t)a.size);
    memcpy(key + 12, a.data, a.size);
    if (b.size)
        memcpy(key + 12 + a.size, b.data, b.size);
    w.key = (struct span){key, 12 + a.size + b.size};
    f->wants[f->count++] = w;
    return FW_OK;
}

static struct span text_span(const char *text)
{
    return (struct span){(const uint8_t *)text, strlen(text)};
}

/* The number in the first row of an INSERT ... RETURNING or SELECT; 0: there was none. */
static fw_error one_number(struct filling *f, int64_t *number, const char *sql,
                           const struct db_value *values, size_t count)
{
    struct db_rows *rows;
    *number = 0;
    fw_error e = db_query(f->conn, &rows, f->why, sql, values, count);
    if (e)
        return e;
    if (db_next(rows))
        *number = db_get_int(rows, 0);
    return db_end(rows, f->why);
}

struct sql { /* a statement and its values */
    const char *text;
    const struct db_value *values;
    size_t count;
};

/* The row that is made, or that was there. */
static fw_error insert_or_select(struct filling *f, const struct sql *insert,
                                 const struct sql *select, int64_t *id, bool *made)
{
    fw_error e = one_number(f, id, insert->text, insert->values, insert->count);
    *made = *id != 0;
    if (!e && *id == 0)
        e = one_number(f, id, select->text, select->values, select->count);
    if (!e && *id == 0)
        e = failure_say(f->why, FW_ERR_TIMEOUT, 0, "a row went away while it was looked for");
    return e;
}

/* `of` LIMIT_COUNT: what stands for all beyond a limit, which is made whatever the limit says.
 * `*id` 0: it is not there, and the project has brought its share. */
static fw_error limited_row(struct filling *f, int64_t project, enum limit_of of,
                            const struct sql *insert, const struct sql *select, int64_t *id)
{
    bool room = true, made = false;
    fw_error e = FW_OK;
    if (of != LIMIT_COUNT)
        e = limits_room(&f->ids->limits, f->conn, project, of, &room, f->why);
    if (!e && !room)
        return one_number(f, id, select->text, select->values, select->count);
    e = e ? e : insert_or_select(f, insert, select, id, &made);
    if (!e && made && of != LIMIT_COUNT)
        limits_made(&f->ids->limits, project, of);
    return e;
}

/* ---- images, versions, terms ---- */

static fw_error image_row(struct filling *f, const struct want *w, const struct digest_image *image,
                          enum limit_of of, int64_t *id)
{
    struct db_value key = db_bytes(image->id_key.data, image->id_key.size);
    const struct sql insert = {
        "INSERT INTO image (id_key, arch, debug_id, name, path, has_map, own)"
        " VALUES ($1, $2, $3, $4, $5,"
        " (SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM symbol_file"
        " WHERE debug_id = $3 AND state = 1),"
        " (SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM symbol_file"
        " WHERE debug_id = $3 AND kind < 4))"
        " ON CONFLICT (id_key, arch) DO NOTHING RETURNING id",
        DB_VALUES(key, db_text(image->arch), db_bytes(image->debug_id.data, image->debug_id.size),
                  db_text(image->name), db_text(image->path))};
    const struct sql select = {"SELECT id FROM image WHERE id_key = $1 AND arch = $2",
                               DB_VALUES(key, db_text(image->arch))};
    return limited_row(f, w->report->project, of, &insert, &select, id);
}

static fw_error other_image(struct filling *f, const struct want *w, int64_t *id)
{
    const struct digest_image image = {.id_key = text_span("name:" LIMITS_OTHER),
                                       .debug_id = text_span(""),
                                       .arch = "",
                                       .name = LIMITS_OTHER,
                                       .path = NULL};
    return image_row(f, w, &image, LIMIT_COUNT, id);
}

static fw_error make_image(struct filling *f, const struct want *w, int64_t *id)
{
    fw_error e = image_row(f, w, w->item, LIMIT_IMAGE, id);
    return e || *id ? e : other_image(f, w, id);
}

static fw_error make_version(struct filling *f, const struct want *w, int64_t *id)
{
    const struct digest *d = &w->report->digest;
    const char *version = d->version, *build = d->build;
    fw_error e = FW_OK;
    *id = 0;
    for (int i = 0; i < 2 && !e && !*id; i++) {
        struct db_value project = db_int(w->report->project);
        const struct sql insert = {
            "INSERT INTO version (project, version, build, first_ms) VALUES ($1, $2, $3, $4)"
            " ON CONFLICT (project, version, build) DO NOTHING RETURNING id",
            DB_VALUES(project, db_text(version), db_text(build),
                      db_int((int64_t)w->report->received_ms))};
        const struct sql select = {
            "SELECT id FROM version WHERE project = $1 AND version = $2 AND build = $3",
            DB_VALUES(project, db_text(version), db_text(build))};
        e = limited_row(f, w->report->project, i == 0 ? LIMIT_VERSION : LIMIT_COUNT, &insert,
                        &select, id);
        version = LIMITS_OTHER;
        build = "";
    }
    return e;
}

static fw_error make_term(struct filling *f, const struct want *w, int64_t *id)
{
    const char *text = w->text;
    fw_error e = FW_OK;
    *id = 0;
    for (int i = 0; i < 2 && !e && !*id; i++) {
        const struct sql insert = {"INSERT INTO term (kind, text) VALUES ($1, $2)"
                                   " ON CONFLICT (kind, text) DO NOTHING RETURNING id",
                                   DB_VALUES(db_int(w->kind), db_text(text))};
        const struct sql select = {"SELECT id FROM term WHERE kind = $1 AND text = $2",
                                   DB_VALUES(db_int(w->kind), db_text(text))};
        e = limited_row(f, w->report->project, i == 0 ? (enum limit_of)w->kind : LIMIT_COUNT,
                        &insert, &select, id);
        text = LIMITS_OTHER;
    }
    return e;
}

static void sort_wants(struct filling *f)
{
    if (f->count) /* no list at all may not be sorted */
        qsort(f->wants, f->count, sizeof *f->wants, by_key);
}

/* Answers the wants, and empties the list. */
static fw_error answer(struct filling *f, struct id_map *map,
                       fw_error (*make)(struct filling *, const struct want *, int64_t *),
                       void (*take)(const struct want *, int64_t))
{
    sort_wants(f);
    for (size_t i = 0; i < f->count; i++) {
        struct id_entry *entry = id_map_find(map, f->wants[i].key);
        if (!entry) {
            int64_t id;
            fw_error e = make(f, &f->wants[i], &id);
            if (e)
                return e;
            entry = id_map_put(map, f->wants[i].key);
            if (!entry)
                return failure_say(f->why, FW_ERR_MEMORY, 0, "out of memory");
            entry->id = id;
        }
        take(&f->wants[i], entry->id);
    }
    f->count = 0;
    return FW_OK;
}

static void take_image(const struct want *w, int64_t id)
{
    ((struct digest_image *)w->item)->row = id;
}

static void take_number(const struct want *w, int64_t id)
{
    *(int64_t *)w->item = id;
}

static fw_error fill_images(struct filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        for (size_t j = 0; j < reports[i]->digest.image_count && !e; j++) {
            struct digest_image *image = &reports[i]->digest.images[j];
            e = want(f, (struct want){.report = reports[i], .item = image}, 0, image->id_key,
                     text_span(image->arch));
        }
    return e ? e : answer(f, &f->ids->images, make_image, take_image);
}

static fw_error make_name(struct filling *f, const struct want *w, const struct stack_frame *frame,
                          uint32_t number)
{
    const struct digest_named *named = w->item;
    int64_t project = w->report->project;
    bool room = false, made = false;
    fw_error e = limits_room(&f->ids->limits, f->conn, project, LIMIT_NAME, &room, f->why);
    if (!e && room)
        e = brought_names_add(f->conn, project, frame, number, &named->names[number],
                              (int64_t)w->report->received_ms, &made, f->why);
    if (!e && made)
        limits_made(&f->ids->limits, project, LIMIT_NAME);
    return e;
}

/* Names are written once for what a worker remembers of a day; another's stay. */
static fw_error make_names(struct filling *f, const struct want *w, int64_t *id)
{
    const struct digest_named *named = w->item;
    struct stack_frame frame = intake_row_frame(&w->report->digest, &named->frame);
    bool known = false;
    fw_error e = brought_names_seen(f->conn, w->report->project, &frame,
                                    (int64_t)w->report->received_ms, &known, f->why);
    for (uint32_t i = 0; i < named->count && !e && !known; i++)
        e = make_name(f, w, &frame, i);
    *id = 1;
    return e;
}

static void take_nothing(const struct want *w, int64_t id)
{
    (void)w;
    (void)id;
}

static fw_error fill_names(struct filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        for (size_t j = 0; j < reports[i]->digest.named_count && !e; j++) {
            struct digest_named *named = &reports[i]->digest.named[j];
            struct stack_frame frame = intake_row_frame(&reports[i]->digest, &named->frame);
            uint8_t place[21]; /* and the day, so that it is seen anew each day */
            put_u64(place, (uint64_t)frame.image);
            put_u64(place + 8, frame.offset);
            place[16] = (uint8_t)stack_flags(&frame);
            put_u32(place + 17, (uint32_t)(reports[i]->received_ms / DAY_MS));
            e = want(f, (struct want){.report = reports[i], .item = named}, reports[i]->project,
                     (struct span){place, sizeof place}, (struct span){0});
        }
    return e ? e : answer(f, &f->ids->names, make_names, take_nothing);
}

static fw_error fill_versions(struct filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        e = want(f, (struct want){.report = reports[i], .item = &reports[i]->version},
                 reports[i]->project, text_span(reports[i]->digest.version),
                 text_span(reports[i]->digest.build));
    return e ? e : answer(f, &f->ids->versions, make_version, take_number);
}

static fw_error want_term(struct filling *f, struct intake_report *r, enum term_kind kind,
                          const char *text, int64_t *number)
{
    struct want w = {.report = r, .item = number, .kind = (int)kind, .text = text};
    return text && *text ? want(f, w, (int64_t)kind, text_span(text), (struct span){0}) : FW_OK;
}

static fw_error fill_terms(struct filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++) {
        struct intake_report *r = reports[i];
        r->os = r->device = 0;
        r->apis = arena_take_many(f->arena, r->digest.call_count, sizeof *r->apis);
        if (!r->apis)
            return failure_say(f->why, FW_ERR_MEMORY, 0, "out of memory");
        e = want_term(f, r, TERM_OS, r->digest.os, &r->os);
        e = e ? e : want_term(f, r, TERM_DEVICE, r->digest.device, &r->device);
        for (size_t j = 0; j < r->digest.call_count && !e; j++)
            e = want_term(f, r, TERM_API, r->digest.calls[j].api, &r->apis[j]);
    }
    return e ? e : answer(f, &f->ids->terms, make_term, take_number);
}

/* ---- stacks ---- */

static fw_error read_stack(struct filling *f, const struct want *w, const uint8_t hash[16],
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

static fw_error insert_stack(struct filling *f, const struct want *w, const uint8_t hash[16],
                             const struct stack_frame *frames, size_t count, struct id_entry *entry)
{
    uint8_t code[DIGEST_FRAMES * STACK_CODE_FRAME_MAX];
    size_t size = stack_encode(frames, count, code);
    fw_error e =
        one_number(f, &entry->id,
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
static fw_error other_stack(struct filling *f, const struct want *w, struct id_entry *entry)
{
    struct stack_frame frame = {.offset = 0};
    *entry = (struct id_entry){.id = 0};
    fw_error e = read_stack(f, w, other_hash, entry);
    if (e || entry->id)
        return e;
    e = other_image(f, w, &frame.image);
    return e ? e : insert_stack(f, w, other_hash, &frame, 1, entry);
}

/* Whether this stack may be made and, when a report is grouped by it, may have a group. */
static fw_error has_room(struct filling *f, const struct want *w, bool is_key,
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
static fw_error make_stack(struct filling *f, const struct want *w, bool is_key,
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
static fw_error note_seen(struct filling *f, const struct want *w, struct id_entry *entry)
{
    if (w->report->received_ms < entry->day_ms + DAY_MS)
        return FW_OK;
    entry->day_ms = w->report->received_ms;
    return db_run(f->conn, f->why, "UPDATE stack SET last_ms = GREATEST(last_ms, $2) WHERE id = $1",
                  DB_VALUES(db_int(entry->id), db_int((int64_t)entry->day_ms)));
}

static fw_error note_images(struct filling *f, const struct digest *d,
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
static fw_error group_stack_of(struct filling *f, const struct want *w, bool is_other,
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

static fw_error answer_stack(struct filling *f, const struct want *w)
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

static fw_error fill_stacks(struct filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++) {
        reports[i]->group = 0;
        for (size_t j = 0; j < reports[i]->digest.stack_count && !e; j++) {
            struct digest_stack *stack = &reports[i]->digest.stacks[j];
            e = want(f, (struct want){.report = reports[i], .item = stack}, reports[i]->project,
                     (struct span){stack->hash, sizeof stack->hash}, (struct span){0});
        }
    }
    sort_wants(f);
    for (size_t i = 0; i < f->count && !e; i++)
        e = answer_stack(f, &f->wants[i]);
    return e;
}

fw_error intake_ids_fill(struct intake_ids *ids, struct db_conn *conn,
                         struct intake_report **reports, size_t count, struct arena *arena,
                         struct fw_failure *why)
{
    struct filling f = {.ids = ids, .conn = conn, .arena = arena, .why = why};
    bool changed;
    limits_begin(&ids->limits);
    fw_error e = stack_grouper_begin(ids->grouper, conn, &changed, why);
    if (!e && changed)
        id_map_clear(&ids->stacks);
    e = e ? e : fill_images(&f, reports, count);
    e = e ? e : fill_names(&f, reports, count);
    e = e ? e : fill_versions(&f, reports, count);
    e = e ? e : fill_terms(&f, reports, count);
    e = e ? e : fill_stacks(&f, reports, count);
    free(f.wants);
    return e;
}

bool intake_ids_has_group(struct intake_ids *ids, int64_t project, const struct digest_stack *stack)
{
    uint8_t key[12 + sizeof stack->hash];
    put_u64(key, (uint64_t)project);
    put_u32(key + 8, sizeof stack->hash);
    memcpy(key + 12, stack->hash, sizeof stack->hash);
    const struct id_entry *entry = id_map_find(&ids->stacks, (struct span){key, sizeof key});
    return entry && entry->group;
}

void intake_ids_forget(struct intake_ids *ids)
{
    id_map_clear(&ids->images);
    id_map_clear(&ids->names);
    id_map_clear(&ids->versions);
    id_map_clear(&ids->terms);
    id_map_clear(&ids->stacks);
}

void intake_ids_free(struct intake_ids *ids)
{
    id_map_free(&ids->images);
    id_map_free(&ids->names);
    id_map_free(&ids->versions);
    id_map_free(&ids->terms);
    id_map_free(&ids->stacks);
    limits_free(&ids->limits);
}
