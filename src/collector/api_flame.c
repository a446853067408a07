/*
 * The flame graph of a group, or of all groups: what the threads did while they hung, weighted by
 * time.
 *
 * Weights are kept by the stack that reports are grouped by, so a group's are those of its key
 * stacks: of the FLAME_KEYS by which its FLAME_REPORTS newest reports hung longest, and of theirs
 * the FLAME_STACKS heaviest. What that leaves out is in "coverage".
 *
 * Weights are not kept by version, day, system or device. With such filters a key stack has the
 * time that the chosen reports hung by it; how that divides into the stacks that were seen
 * meanwhile is as in all reports of the key stack.
 */
#include "base/array.h"
#include "collector/api_flame_cache.h"
#include "collector/api_frames.h"
#include "collector/flame_tree.h"

#include <stdlib.h>
#include <string.h>

enum { FLAME_REPORTS = 100000, FLAME_KEYS = 5000, FLAME_STACKS = 5000, FLAME_NAMES = 4096 };
/* Of a project: the newest stand for all. The answer says which share of the time they are. */
enum { ALL_REPORTS = 10000, ALL_STACKS = 1000, ALL_KEYS = 2000 };

struct weighed { /* a stack of the group; its code is at `start` of the codes */
    size_t start, size;
    int64_t weight;
};

struct flame {
    struct api_view *v;
    struct api_frames *frames;
    struct flame_tree *tree;
    struct weighed *stacks;
    size_t stack_count;
    struct report_bytes codes;
    int64_t of;    /* stacks in all, up to where counting ends */
    int64_t whole; /* their weight */
    /* Labels of places: place->label is where in `labels` its names begin. */
    uint32_t *labels;
    size_t label_count, label_capacity;
};

/* --- what to merge --- */

/* clang-format off */
#define HEAVIEST                                                                                   \
    " SELECT s.frames, sums.weight, (SELECT COUNT(*) FROM sums),"                                  \
    " (SELECT " API_SUM("weight") " FROM sums)"                                                    \
    " FROM (SELECT stack, weight FROM sums ORDER BY weight DESC, stack LIMIT $4) sums"             \
    " JOIN stack s ON s.id = sums.stack ORDER BY sums.weight DESC, s.id"
#define ALL_OF_GROUP                                                                               \
    "WITH keys AS MATERIALIZED (SELECT n.stack AS id FROM (SELECT r.stack, r.duration_ns"          \
    " FROM report r WHERE r.group_id = $1 ORDER BY r.received_ms DESC LIMIT $2) n"                 \
    " WHERE n.stack IS NOT NULL GROUP BY n.stack"                                                  \
    " ORDER BY SUM(n.duration_ns) DESC, n.stack DESC LIMIT $3),"                                   \
    " sums AS MATERIALIZED (SELECT f.stack AS stack, " API_SUM("f.weight_ns") " AS weight"         \
    " FROM keys JOIN flame f ON f.key_stack = keys.id GROUP BY f.stack)" HEAVIEST
/* $1 project, $2 since when, $3 version, $4 stacks, $5 os, $6 device, $7 group, $8 reports, $9 keys.
 * `total`: of a key stack, by whatever reports. */
#define CHOSEN(of)                                                                                 \
    "WITH keys AS MATERIALIZED (SELECT n.stack AS id, " API_SUM("n.duration_ns") " AS blocked"     \
    " FROM (SELECT r.stack, r.duration_ns FROM report r WHERE " of                                 \
    " AND r.received_ms >= $2 - 86400000 AND r.day >= $2 / 86400000"                               \
    " AND ($5 = 0 OR r.os = $5) AND ($6 = 0 OR r.device = $6) AND " API_OF_VERSION("r")            \
    " ORDER BY r.received_ms DESC LIMIT $8) n WHERE n.stack IS NOT NULL GROUP BY n.stack"          \
    " ORDER BY SUM(n.duration_ns) DESC, n.stack DESC LIMIT $9),"                                   \
    " parts AS MATERIALIZED (SELECT keys.id AS id, keys.blocked AS blocked,"                       \
    " " API_SUM("f.weight_ns") " AS total"                                                         \
    " FROM keys JOIN flame f ON f.key_stack = keys.id GROUP BY keys.id, keys.blocked),"            \
    " sums AS MATERIALIZED (SELECT f.stack AS stack, CAST(SUM(CAST(f.weight_ns AS DOUBLE PRECISION)"\
    " * parts.blocked / parts.total) AS BIGINT) AS weight FROM parts"                              \
    " JOIN flame f ON f.key_stack = parts.id WHERE parts.total > 0 GROUP BY f.stack)" HEAVIEST
/* clang-format on */
#define CHOSEN_OF_GROUP   CHOSEN("r.group_id = $7")
#define CHOSEN_OF_PROJECT CHOSEN("r.project = $1 AND $7 = 0 AND " API_COUNTED)

/* Whether the query says which reports; days alone count when they are given, as in lists. */
static bool is_chosen(const struct api_view *v)
{
    const struct api_filter *f = &v->filter;
    return http_query(v->r, "days") || *f->version || f->os || f->device;
}

static struct db_rows *query_stacks(struct api_view *v, int64_t group)
{
    const struct api_filter *f = &v->filter;
    if (group && !is_chosen(v))
        return api_query(v, ALL_OF_GROUP,
                         DB_VALUES(db_int(group), db_int(FLAME_REPORTS), db_int(FLAME_KEYS),
                                   db_int(FLAME_STACKS)));
    int64_t since = !group || http_query(v->r, "days") ? f->first_day * 86400000 : 0;
    return api_query(v, group ? CHOSEN_OF_GROUP : CHOSEN_OF_PROJECT,
                     DB_VALUES(db_int(v->project), db_int(since), db_text(f->version),
                               db_int(group ? FLAME_STACKS : ALL_STACKS), db_int(f->os),
                               db_int(f->device), db_int(group),
                               db_int(group ? FLAME_REPORTS : ALL_REPORTS),
                               db_int(group ? FLAME_KEYS : ALL_KEYS)));
}

static void read_stacks(struct flame *f, int64_t group)
{
    struct api_view *v = f->v;
    f->stacks = calloc(FLAME_STACKS, sizeof *f->stacks);
    if (!f->stacks) {
        api_no_memory(f->v);
        return;
    }
    struct db_rows *rows = query_stacks(v, group);
    while (f->stack_count < FLAME_STACKS && api_next(v, rows)) {
        struct span code = db_get_bytes(rows, 0);
        f->stacks[f->stack_count++] = (struct weighed){
            .start = f->codes.size, .size = code.size, .weight = db_get_int(rows, 1)};
        out_bytes(&f->codes, code.data, code.size);
        f->of = db_get_int(rows, 2);
        f->whole = db_get_int(rows, 3);
    }
    api_done(v, rows);
    if (f->codes.failed)
        api_no_memory(f->v);
}

/* --- labels --- */

static uint32_t label_of(struct flame *f, const struct api_place *place, uint32_t index)
{
    const struct report_name *name = place->found.count ? &place->found.names[index] : NULL;
    const struct api_image *image = place->image;
    char unnamed[32];
    struct flame_label label = {
        .name = name ? name->function : NULL,
        .image = image && *image->name ? image->name : NULL,
        .file = name ? name->file : NULL,
        .line = name ? name->line : 0,
        .app = image ? image->own : name && name->function,
        .inlined = name && (name->flags & REPORT_INLINED),
        .tail_call = name && (name->flags & REPORT_TAIL_CALL),
    };
    if (!label.name) {
        api_frame_offset(unnamed, place->frame.offset);
        label.name = api_frames_keep(f->frames, unnamed);
    }
    return flame_label(f->tree, &label);
}

/* The labels of a place, innermost first, made at its first use. */
static const uint32_t *labels_of(struct flame *f, struct api_place *place, uint32_t count)
{
    if (place->label)
        return &f->labels[place->label];
    if (!f->label_count)
        f->label_count = 1; /* 0 says that a place has none yet */
    if (!array_reserve(&f->labels, &f->label_capacity, f->label_count + count, sizeof *f->labels)) {
        api_no_memory(f->v);
        return NULL;
    }
    place->label = (uint32_t)f->label_count;
    for (uint32_t i = 0; i < count; i++)
        if (!(f->labels[f->label_count++] = label_of(f, place, i)))
            api_no_memory(f->v);
    return &f->labels[place->label];
}

/* Frames are innermost first, the tree wants the outermost first. */
static void merge_stack(struct flame *f, const struct weighed *stack)
{
    struct api_place *places[API_STACK_MAX];
    uint32_t path[FLAME_NAMES];
    size_t size = 0;
    size_t count = api_frames_read(
        f->frames, (struct span){(uint8_t *)f->codes.data + stack->start, stack->size}, places);
    while (count && !f->v->error) {
        struct api_place *place = places[--count];
        uint32_t names = place->found.count ? place->found.count : 1;
        const uint32_t *labels = labels_of(f, place, names);
        for (uint32_t i = names; labels && i && size < FLAME_NAMES; i--)
            path[size++] = labels[i - 1];
    }
    if (!f->v->error && !flame_add(f->tree, path, size, (uint64_t)stack->weight))
        api_no_memory(f->v);
}

/* --- the answer --- */

static void write_answer(struct flame *f, int64_t blocked)
{
    struct report_bytes *out = &f->v->out;
    bool truncated = false;
    int64_t weight = 0;
    for (size_t i = 0; i < f->stack_count && !f->v->error; i++) {
        merge_stack(f, &f->stacks[i]);
        weight += f->stacks[i].weight;
    }
    if (f->v->error)
        return;
    blocked = blocked > f->whole ? blocked : f->whole;
    api_open(out, NULL, '{');
    api_text(out, "unit", "nanoseconds");
    out_text(out, ",\"root\":");
    if (!flame_write(f->tree, out, &truncated))
        api_no_memory(f->v);
    truncated |= f->of > (int64_t)f->stack_count;
    api_bool(out, "truncated", truncated);
    api_open(out, "coverage", '{');
    api_int(out, "stacks", (int64_t)f->stack_count);
    api_int(out, "of", f->of);
    api_real(out, "blocked_share", blocked > weight ? (double)weight / (double)blocked : 1.0);
    api_shut(out, '}');
    api_shut(out, '}');
}

static void make_flame(struct api_view *v, int64_t group, int64_t blocked)
{
    struct flame f = {.v = v, .frames = api_frames_new(v), .tree = flame_tree_new()};
    if (!f.tree)
        api_no_memory(f.v);
    if (!v->error)
        read_stacks(&f, group);
    if (!v->error)
        write_answer(&f, blocked);
    api_frames_free(f.frames);
    flame_tree_free(f.tree);
    report_bytes_free(&f.codes);
    free(f.stacks);
    free(f.labels);
}

/* -1: there is no such group. */
static int64_t blocked_of(struct api_view *v, int64_t group)
{
    int64_t blocked = -1;
    struct db_rows *rows =
        api_query(v, "SELECT blocked_ns FROM hang_group WHERE id = $1 AND project = $2",
                  DB_VALUES(db_int(group), db_int(v->project)));
    if (api_next(v, rows))
        blocked = db_get_int(rows, 0);
    api_done(v, rows);
    return blocked;
}

/* All blocked time of what the filters choose, by days. With a system and a device at once no sum
 * knows: 0. */
static int64_t blocked_in_all(struct api_view *v)
{
    const struct api_filter *f = &v->filter;
    if (f->os && f->device)
        return 0;
    int64_t blocked = 0;
    struct db_rows *rows = api_query(
        v,
        f->os || f->device
            ? "SELECT " API_SUM(
                  "d.blocked_ns") " FROM term_day d WHERE d.project = $1"
                                  " AND d.day >= $2 AND d.term = $4 AND " API_OF_VERSION("d")
            : "SELECT " API_SUM("d.blocked_ns") " FROM project_day d WHERE d.project = $1"
                                                " AND d.day >= $2 AND $4 = 0 AND " API_OF_VERSION(
                                                    "d"),
        DB_VALUES(db_int(v->project), db_int(f->first_day), db_text(f->version),
                  db_int(f->os ? f->os : f->device)));
    if (api_next(v, rows))
        blocked = db_get_int(rows, 0);
    api_done(v, rows);
    return blocked;
}

static void get_flame(struct http_request *r)
{
    struct api_view v;
    int64_t group;
    if (!api_begin(&v, r, API_FILTERS, NULL) || !api_id(&v, "id", "group", &group))
        return;
    int64_t blocked = blocked_of(&v, group);
    if (blocked < 0 && !v.error) {
        api_refuse(&v, 404, "no group %lld", (long long)group);
        return;
    }
    if (is_chosen(&v)) {
        make_flame(&v, group, 0);
        api_end(&v);
        return;
    }
    int64_t generation = api_number(
        &v, "SELECT CAST(value AS BIGINT) FROM setting WHERE name = 'generation'", DB_NONE);
    const struct flame_key key = {r->collector, group, generation, blocked};
    if (!flame_cache_get(&key, &v.out) && !v.error) {
        make_flame(&v, group, blocked);
        if (!v.error && !v.out.failed)
            flame_cache_put(&key, &v.out);
    }
    api_end(&v);
}

static void get_project_flame(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, API_FILTERS, NULL))
        return;
    make_flame(&v, 0, blocked_in_all(&v));
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/flame",
     .needs = ACCESS_READ,
     .handle = get_project_flame},
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/groups/{id}/flame",
     .needs = ACCESS_READ,
     .handle = get_flame},
};
const struct http_routes routes_flame = {routes, sizeof routes / sizeof *routes};
