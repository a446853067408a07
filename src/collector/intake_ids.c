/* Numbers of the rows that reports refer to: intake_ids.h. Here are images, names that reports
 * brought, versions and terms; stacks are in intake_ids_stacks.c. */
#include "base/array.h"
#include "base/failure.h"
#include "base/little_endian.h"
#include "collector/brought_names.h"
#include "collector/intake_ids_inner.h"
#include "collector/versions.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b)
{
    struct span x = ((const struct ids_want *)a)->key, y = ((const struct ids_want *)b)->key;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

fw_error intake_ids_want(struct ids_filling *f, struct ids_want w, int64_t number, struct span a,
                         struct span b)
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

fw_error intake_ids_number(struct ids_filling *f, int64_t *number, const char *sql,
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
static fw_error insert_or_select(struct ids_filling *f, const struct sql *insert,
                                 const struct sql *select, int64_t *id, bool *made)
{
    fw_error e = intake_ids_number(f, id, insert->text, insert->values, insert->count);
    *made = *id != 0;
    if (!e && *id == 0)
        e = intake_ids_number(f, id, select->text, select->values, select->count);
    if (!e && *id == 0)
        e = failure_say(f->why, FW_ERR_TIMEOUT, 0, "a row went away while it was looked for");
    return e;
}

/* `of` LIMIT_COUNT: what stands for all beyond a limit, which is made whatever the limit says.
 * `*id` 0: the project has not had it, and has brought its share. `known` finds what it has had:
 * whether another project has it must not show. */
static fw_error limited_row(struct ids_filling *f, int64_t project, enum limit_of of,
                            const struct sql *insert, const struct sql *select,
                            const struct sql *known, int64_t *id)
{
    bool room = true, made = false;
    fw_error e = FW_OK;
    if (of != LIMIT_COUNT)
        e = limits_room(&f->ids->limits, f->conn, project, of, &room, f->why);
    if (!e && !room)
        return intake_ids_number(f, id, known->text, known->values, known->count);
    e = e ? e : insert_or_select(f, insert, select, id, &made);
    if (!e && made && of != LIMIT_COUNT)
        limits_made(&f->ids->limits, project, of);
    return e;
}

/* What a project's reports say of an image is the project's own: the row in `image` has nothing but
 * what all must agree on. `*made`: it was not there. */
#define HAS_MAP                                                                                    \
    " (SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM symbol_file"                           \
    " WHERE debug_id = $3 AND state = 1 AND project IN (0, $1))"
static fw_error project_image(struct ids_filling *f, int64_t project,
                              const struct digest_image *image, int64_t row, bool *made)
{
    int64_t mine;
    struct db_value debug_id = db_bytes(image->debug_id.data, image->debug_id.size);
    fw_error e = intake_ids_number(
        f, &mine,
        "INSERT INTO project_image (project, image, debug_id, name, path, has_map, own)"
        " VALUES ($1, $2, $3, $4, $5," HAS_MAP "," HAS_MAP ")"
        " ON CONFLICT (image, project) DO NOTHING RETURNING id",
        DB_VALUES(db_int(project), db_int(row), debug_id, db_text(image->name),
                  db_text(image->path)));
    *made = mine != 0;
    return e;
}

static fw_error image_row(struct ids_filling *f, const struct ids_want *w,
                          const struct digest_image *image, enum limit_of of, int64_t *id)
{
    int64_t project = w->report->project;
    struct db_value key = db_bytes(image->id_key.data, image->id_key.size);
    struct db_value arch = db_text(image->arch);
    bool room = true, made = false;
    const struct sql mine = {"SELECT i.id FROM image i JOIN project_image p ON p.image = i.id"
                             " WHERE i.id_key = $1 AND i.arch = $2 AND p.project = $3",
                             DB_VALUES(key, arch, db_int(project))};
    const struct sql insert = {"INSERT INTO image (id_key, arch) VALUES ($1, $2)"
                               " ON CONFLICT (id_key, arch) DO NOTHING RETURNING id",
                               DB_VALUES(key, arch)};
    const struct sql select = {"SELECT id FROM image WHERE id_key = $1 AND arch = $2",
                               DB_VALUES(key, arch)};
    fw_error e = intake_ids_number(f, id, mine.text, mine.values, mine.count);
    if (!e && !*id && of != LIMIT_COUNT)
        e = limits_room(&f->ids->limits, f->conn, project, of, &room, f->why);
    if (e || *id || !room)
        return e;
    e = insert_or_select(f, &insert, &select, id, &made);
    e = e ? e : project_image(f, project, image, *id, &made);
    if (!e && made && of != LIMIT_COUNT)
        limits_made(&f->ids->limits, project, of);
    return e;
}

fw_error intake_ids_other_image(struct ids_filling *f, const struct ids_want *w, int64_t *id)
{
    const struct digest_image image = {.id_key = text_span("name:" LIMITS_OTHER),
                                       .debug_id = text_span(""),
                                       .arch = "",
                                       .name = LIMITS_OTHER,
                                       .path = NULL};
    return image_row(f, w, &image, LIMIT_COUNT, id);
}

static fw_error make_image(struct ids_filling *f, const struct ids_want *w, int64_t *id)
{
    fw_error e = image_row(f, w, w->item, LIMIT_IMAGE, id);
    return e || *id ? e : intake_ids_other_image(f, w, id);
}

static fw_error make_version(struct ids_filling *f, const struct ids_want *w, int64_t *id)
{
    const struct digest *d = &w->report->digest;
    const char *version = d->version, *build = d->build;
    fw_error e = FW_OK;
    *id = 0;
    for (int i = 0; i < 2 && !e && !*id; i++) {
        struct db_value project = db_int(w->report->project);
        struct version_order o;
        version_order(version, build, (int64_t)w->report->received_ms, &o);
        const struct sql insert = {
            "INSERT INTO version (project, version, build, first_ms, date_ms, numbered, line,"
            " sort_key, prerelease) VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8)"
            " ON CONFLICT (project, version, build) DO NOTHING RETURNING id",
            DB_VALUES(project, db_text(version), db_text(build),
                      db_int((int64_t)w->report->received_ms), db_int(o.numbered), db_text(o.line),
                      db_bytes(o.key, o.size), db_int(o.prerelease))};
        const struct sql select = {
            "SELECT id FROM version WHERE project = $1 AND version = $2 AND build = $3",
            DB_VALUES(project, db_text(version), db_text(build))};
        e = limited_row(f, w->report->project, i == 0 ? LIMIT_VERSION : LIMIT_COUNT, &insert,
                        &select, &select, id);
        version = LIMITS_OTHER;
        build = "";
    }
    return e;
}

static fw_error make_term(struct ids_filling *f, const struct ids_want *w, int64_t *id)
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
        const struct sql known = {
            "SELECT id FROM term WHERE kind = $1 AND text = $2 AND (EXISTS (SELECT 1 FROM term_day "
            "d"
            " WHERE d.project = $3 AND d.term = term.id) OR EXISTS (SELECT 1 FROM call c"
            " WHERE c.project = $3 AND c.api = term.id))",
            DB_VALUES(db_int(w->kind), db_text(text), db_int(w->report->project))};
        e = limited_row(f, w->report->project, i == 0 ? (enum limit_of)w->kind : LIMIT_COUNT,
                        &insert, &select, &known, id);
        text = LIMITS_OTHER;
    }
    return e;
}

void intake_ids_sort(struct ids_filling *f)
{
    if (f->count) /* no list at all may not be sorted */
        qsort(f->wants, f->count, sizeof *f->wants, by_key);
}

/* Answers the wants, and empties the list. */
static fw_error answer(struct ids_filling *f, struct id_map *map,
                       fw_error (*make)(struct ids_filling *, const struct ids_want *, int64_t *),
                       void (*take)(const struct ids_want *, int64_t))
{
    intake_ids_sort(f);
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

static void take_image(const struct ids_want *w, int64_t id)
{
    ((struct digest_image *)w->item)->row = id;
}

static void take_number(const struct ids_want *w, int64_t id)
{
    *(int64_t *)w->item = id;
}

static fw_error fill_images(struct ids_filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        for (size_t j = 0; j < reports[i]->digest.image_count && !e; j++) {
            struct digest_image *image = &reports[i]->digest.images[j];
            e = intake_ids_want(f, (struct ids_want){.report = reports[i], .item = image},
                                reports[i]->project, image->id_key, text_span(image->arch));
        }
    return e ? e : answer(f, &f->ids->images, make_image, take_image);
}

static fw_error make_name(struct ids_filling *f, const struct ids_want *w,
                          const struct stack_frame *frame, uint32_t number)
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
static fw_error make_names(struct ids_filling *f, const struct ids_want *w, int64_t *id)
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

static void take_nothing(const struct ids_want *w, int64_t id)
{
    (void)w;
    (void)id;
}

static fw_error fill_names(struct ids_filling *f, struct intake_report **reports, size_t count)
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
            e = intake_ids_want(f, (struct ids_want){.report = reports[i], .item = named},
                                reports[i]->project, (struct span){place, sizeof place},
                                (struct span){0});
        }
    return e ? e : answer(f, &f->ids->names, make_names, take_nothing);
}

static fw_error fill_versions(struct ids_filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++)
        e = intake_ids_want(f,
                            (struct ids_want){.report = reports[i], .item = &reports[i]->version},
                            reports[i]->project, text_span(reports[i]->digest.version),
                            text_span(reports[i]->digest.build));
    return e ? e : answer(f, &f->ids->versions, make_version, take_number);
}

static fw_error want_term(struct ids_filling *f, struct intake_report *r, enum term_kind kind,
                          const char *text, int64_t *number)
{
    struct ids_want w = {.report = r, .item = number, .kind = (int)kind, .text = text};
    return text && *text ? intake_ids_want(f, w, (int64_t)kind, text_span(text), (struct span){0})
                         : FW_OK;
}

static fw_error fill_terms(struct ids_filling *f, struct intake_report **reports, size_t count)
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

/* A version that reports still come of stays: once a day is enough. */
static fw_error note_versions(struct ids_filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    int64_t before = 0;
    for (size_t i = 0; i < count && !e; i++) {
        if (reports[i]->version == before)
            continue;
        before = reports[i]->version;
        e = db_run(f->conn, f->why,
                   "UPDATE version SET last_ms = $2 WHERE id = $1 AND last_ms < $2 - 86400000",
                   DB_VALUES(db_int(before), db_int((int64_t)reports[i]->received_ms)));
    }
    return e;
}

/* --- places that call --- */

static struct stack_frame frame_of_call(const struct intake_report *r, size_t call)
{
    const struct digest_stack *stack = &r->digest.stacks[r->digest.calls[call].stack];
    struct stack_frame none = {.image = 0};
    return stack->count ? intake_row_frame(&r->digest, &stack->frames[0]) : none;
}

/* The job looks at a place that is new, or was never seen in this version. */
static fw_error note_site(struct ids_filling *f, const struct ids_want *w, int64_t id)
{
    uint64_t rows = 0;
    fw_error e =
        db_change(f->conn, f->why, &rows,
                  "UPDATE call_site SET todo = todo | 2 WHERE id = $3 AND NOT EXISTS"
                  " (SELECT 1 FROM call_day WHERE project = $1 AND version = $2 AND site = $3)",
                  DB_VALUES(db_int(w->report->project), db_int(w->report->version), db_int(id)));
    f->ids->calls_todo |= rows > 0;
    return e;
}

static fw_error site_row(struct ids_filling *f, const struct ids_want *w, int64_t api,
                         const struct stack_frame *frame, enum limit_of of, int64_t *id)
{
    struct db_value project = db_int(w->report->project), offset = db_int((int64_t)frame->offset),
                    kind = db_int(stack_flags(frame));
    const struct sql insert = {
        "INSERT INTO call_site (project, api, image, site_offset, kind) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (project, api, image, site_offset, kind) DO NOTHING RETURNING id",
        DB_VALUES(project, db_int(api), db_int(frame->image), offset, kind)};
    const struct sql select = {
        "SELECT id FROM call_site WHERE project = $1 AND api = $2 AND image = $3"
        " AND site_offset = $4 AND kind = $5",
        DB_VALUES(project, db_int(api), db_int(frame->image), offset, kind)};
    return limited_row(f, w->report->project, of, &insert, &select, &select, id);
}

static fw_error make_site(struct ids_filling *f, const struct ids_want *w, int64_t *id)
{
    size_t call = (size_t)((int64_t *)w->item - w->report->sites);
    struct stack_frame frame = frame_of_call(w->report, call);
    fw_error e = site_row(f, w, w->report->apis[call], &frame, LIMIT_SITE, id);
    if (!e && !*id) { /* beyond the limit */
        frame = (struct stack_frame){.offset = 0};
        e = intake_ids_other_image(f, w, &frame.image);
        e = e ? e : site_row(f, w, w->report->apis[call], &frame, LIMIT_COUNT, id);
    }
    return e ? e : note_site(f, w, *id);
}

static fw_error fill_sites(struct ids_filling *f, struct intake_report **reports, size_t count)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < count && !e; i++) {
        struct intake_report *r = reports[i];
        r->sites = arena_take_many(f->arena, r->digest.call_count, sizeof *r->sites);
        if (!r->sites)
            return failure_say(f->why, FW_ERR_MEMORY, 0, "out of memory");
        for (size_t j = 0; j < r->digest.call_count && !e; j++) {
            struct stack_frame frame = frame_of_call(r, j);
            uint8_t place[33];
            put_u64(place, (uint64_t)r->apis[j]);
            put_u64(place + 8, (uint64_t)frame.image);
            put_u64(place + 16, frame.offset);
            put_u64(place + 24, (uint64_t)r->version);
            place[32] = (uint8_t)stack_flags(&frame);
            e = intake_ids_want(f, (struct ids_want){.report = r, .item = &r->sites[j]}, r->project,
                                (struct span){place, sizeof place}, (struct span){0});
        }
    }
    return e ? e : answer(f, &f->ids->sites, make_site, take_number);
}

fw_error intake_ids_fill(struct intake_ids *ids, struct db_conn *conn,
                         struct intake_report **reports, size_t count, struct arena *arena,
                         struct fw_failure *why)
{
    struct ids_filling f = {.ids = ids, .conn = conn, .arena = arena, .why = why};
    bool changed;
    limits_begin(&ids->limits);
    ids->calls_todo = false;
    fw_error e = stack_grouper_begin(ids->grouper, conn, &changed, why);
    if (!e && changed) {
        id_map_clear(&ids->stacks); /* retention removes them, versions and places */
        id_map_clear(&ids->versions);
        id_map_clear(&ids->sites);
    }
    e = e ? e : fill_images(&f, reports, count);
    e = e ? e : fill_names(&f, reports, count);
    e = e ? e : fill_versions(&f, reports, count);
    e = e ? e : note_versions(&f, reports, count);
    e = e ? e : fill_terms(&f, reports, count);
    e = e ? e : intake_ids_fill_stacks(&f, reports, count);
    f.count = 0;
    e = e ? e : fill_sites(&f, reports, count);
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
    id_map_clear(&ids->sites);
}

void intake_ids_free(struct intake_ids *ids)
{
    id_map_free(&ids->images);
    id_map_free(&ids->names);
    id_map_free(&ids->versions);
    id_map_free(&ids->terms);
    id_map_free(&ids->stacks);
    id_map_free(&ids->sites);
    limits_free(&ids->limits);
}
