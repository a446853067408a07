#include "collector/calls_table.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

struct cell { /* calls of one place in one version */
    const char *api, *function, *image, *file;
    uint32_t line, version;
    int64_t count, stacks, first_ms, last_ms;
    bool chosen; /* the filter lets it through */
};

struct cells {
    struct cell *items;
    size_t count, capacity;
};

struct names { /* of APIs; few */
    const char **texts;
    int64_t *ids;
    size_t count, capacity, id_capacity;
};

/* --- patterns --- */

bool calls_fits(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL; /* the last *, and where its text may end */
    while (*text) {
        size_t step = utf8_length(text);
        step = step ? step : 1;
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?') {
            pattern++;
            text += step;
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* --- reading --- */

static const char *keep(struct api_view *v, struct calls_table *t, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? arena_take(&t->arena, size) : NULL;
    if (text && !copy)
        api_no_memory(v);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void read_versions(struct api_view *v, struct calls_table *t)
{
    size_t capacity = 0;
    struct db_rows *rows = api_query(v,
                                     "SELECT id, version, build, first_ms FROM version"
                                     " WHERE project = $1 ORDER BY first_ms, id LIMIT $2",
                                     DB_VALUES(db_int(v->project), db_int(CALLS_VERSIONS)));
    while (api_next(v, rows)) {
        if (!array_room(&t->versions, &capacity, t->version_count, sizeof *t->versions)) {
            api_no_memory(v);
            break;
        }
        t->versions[t->version_count++] =
            (struct calls_version){.id = db_get_int(rows, 0),
                                   .first_ms = db_get_int(rows, 3),
                                   .version = keep(v, t, db_get_text(rows, 1)),
                                   .build = keep(v, t, db_get_text(rows, 2))};
    }
    api_done(v, rows);
}

static bool is_version(const struct calls_version *version, const char *text)
{
    size_t size = strlen(version->version);
    if (!*text || strcmp(version->version, text) == 0)
        return true;
    if (!*version->build || strncmp(text, version->version, size) != 0 ||
        strncmp(text + size, " (", 2) != 0)
        return false;
    text += size + 2;
    size = strlen(version->build);
    return strncmp(text, version->build, size) == 0 && strcmp(text + size, ")") == 0;
}

static uint32_t version_of(const struct calls_table *t, int64_t id)
{
    for (uint32_t i = 0; i < t->version_count; i++)
        if (t->versions[i].id == id)
            return i;
    return UINT32_MAX;
}

struct raw { /* a row of the query; names come when it has ended */
    int64_t api, version, count, stacks, first_ms, last_ms;
    struct stack_frame frame;
};

struct raws {
    struct raw *items;
    size_t count, capacity;
};

static void read_raws(struct api_view *v, struct calls_table *t, struct raws *raws)
{
    struct db_rows *rows = api_query(
        v,
        "SELECT api, version, caller_image, caller_offset, caller_kind, " API_SUM(
            "count") ","
                     " COUNT(*), MIN(first_ms), MAX(last_ms) FROM call WHERE project = $1"
                     " GROUP BY api, caller_image, caller_offset, caller_kind, version LIMIT $2",
        DB_VALUES(db_int(v->project), db_int(CALLS_CELLS + 1)));
    while (api_next(v, rows)) {
        if (raws->count == CALLS_CELLS) {
            t->truncated = true;
            break;
        }
        if (!array_room(&raws->items, &raws->capacity, raws->count, sizeof *raws->items)) {
            api_no_memory(v);
            break;
        }
        raws->items[raws->count++] =
            (struct raw){.api = db_get_int(rows, 0),
                         .version = db_get_int(rows, 1),
                         .frame = stack_frame_of(db_get_int(rows, 2), (uint64_t)db_get_int(rows, 3),
                                                 (uint64_t)db_get_int(rows, 4)),
                         .count = db_get_int(rows, 5),
                         .stacks = db_get_int(rows, 6),
                         .first_ms = db_get_int(rows, 7),
                         .last_ms = db_get_int(rows, 8)};
    }
    api_done(v, rows);
}

static const char *api_name(struct api_view *v, struct calls_table *t, struct names *names,
                            int64_t id)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->ids[i] == id)
            return names->texts[i];
    const char *text = "";
    struct db_rows *rows =
        api_query(v, "SELECT text FROM term WHERE id = $1", DB_VALUES(db_int(id)));
    if (api_next(v, rows))
        text = keep(v, t, db_get_text(rows, 0));
    api_done(v, rows);
    if (!array_room(&names->texts, &names->capacity, names->count, sizeof *names->texts) ||
        !array_room(&names->ids, &names->id_capacity, names->count, sizeof *names->ids)) {
        api_no_memory(v);
        return "";
    }
    names->ids[names->count] = id;
    names->texts[names->count++] = text;
    return text;
}

static void name_caller(struct calls_table *t, const struct stack_frame *frame, struct cell *cell)
{
    struct api_place *place = api_frames_place(t->frames, frame);
    if (!place)
        return;
    cell->image = place->image && *place->image->name ? place->image->name : NULL;
    if (place->found.count <= place->found.tail_calls)
        return;
    const struct report_name *name = &place->found.names[place->found.tail_calls];
    cell->function = name->function;
    cell->file = name->file;
    cell->line = name->line;
}

static void name_cells(struct api_view *v, struct calls_table *t, const struct raws *raws,
                       struct cells *cells)
{
    struct names apis = {.count = 0};
    for (size_t i = 0; i < raws->count && !v->error; i++) {
        const struct raw *raw = &raws->items[i];
        struct cell cell = {.version = version_of(t, raw->version),
                            .count = raw->count,
                            .stacks = raw->stacks,
                            .first_ms = raw->first_ms,
                            .last_ms = raw->last_ms};
        if (cell.version == UINT32_MAX)
            continue;
        cell.api = api_name(v, t, &apis, raw->api);
        cell.chosen = raw->last_ms >= v->filter.first_day * 86400000 &&
                      is_version(&t->versions[cell.version], v->filter.version);
        name_caller(t, &raw->frame, &cell);
        if (!array_room(&cells->items, &cells->capacity, cells->count, sizeof cell))
            api_no_memory(v);
        else
            cells->items[cells->count++] = cell;
    }
    free(apis.texts);
    free(apis.ids);
}

/* --- cells to rows --- */

static int compare_text(const char *a, const char *b)
{
    if (a == b || !a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int compare_callers(const struct cell *a, const struct cell *b)
{
    int order = compare_text(a->api, b->api);
    order = order ? order : compare_text(a->image, b->image);
    return order ? order : compare_text(a->function, b->function);
}

static int by_caller(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    int order = compare_callers(x, y);
    return order ? order : (x->version > y->version) - (x->version < y->version);
}

static int by_calls(const void *a, const void *b)
{
    const struct calls_row *x = a, *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

static int by_api(const void *a, const void *b)
{
    const struct calls_row *x = a, *y = b;
    int order = compare_text(x->api, y->api);
    order = order ? order : by_calls(a, b);
    order = order ? order : compare_text(x->image, y->image);
    return order ? order : compare_text(x->function, y->function);
}

static void add_count(struct calls_count *by, struct calls_row *row, const struct cell *cell)
{
    if (!row->by_count || by[row->by_count - 1].version != cell->version)
        by[row->by_count++] = (struct calls_count){.version = cell->version};
    by[row->by_count - 1].count += cell->count;
}

/* One row of `count` cells with the same caller. False: the filter leaves nothing of it. */
static bool make_row(struct api_view *v, struct calls_table *t, const struct cell *cells,
                     size_t count, struct calls_row *row)
{
    int64_t first_ms = INT64_MAX;
    struct calls_count *by = arena_take_many(&t->arena, count, sizeof *by);
    *row = (struct calls_row){.api = cells->api,
                              .function = cells->function,
                              .image = cells->image,
                              .file = cells->file,
                              .line = cells->line,
                              .first_version = UINT32_MAX,
                              .first_ms = INT64_MAX,
                              .by = by};
    if (!by) {
        api_no_memory(v);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (cells[i].first_ms < first_ms) {
            first_ms = cells[i].first_ms;
            row->first_version = cells[i].version;
        }
        if (!cells[i].chosen)
            continue;
        add_count(by, row, &cells[i]);
        row->count += cells[i].count;
        row->stacks += cells[i].stacks;
        row->first_ms = cells[i].first_ms < row->first_ms ? cells[i].first_ms : row->first_ms;
        row->last_ms = cells[i].last_ms > row->last_ms ? cells[i].last_ms : row->last_ms;
    }
    return row->by_count > 0;
}

static void make_rows(struct api_view *v, struct calls_table *t, struct cells *cells)
{
    size_t capacity = 0;
    if (cells->count)
        qsort(cells->items, cells->count, sizeof *cells->items, by_caller);
    for (size_t i = 0, next; i < cells->count && !v->error; i = next) {
        struct calls_row row;
        for (next = i + 1;
             next < cells->count && compare_callers(&cells->items[i], &cells->items[next]) == 0;)
            next++;
        if (!make_row(v, t, &cells->items[i], next - i, &row))
            continue;
        if (!array_room(&t->rows, &capacity, t->row_count, sizeof row))
            api_no_memory(v);
        else
            t->rows[t->row_count++] = row;
    }
    if (t->row_count > CALLS_ROWS) {
        qsort(t->rows, t->row_count, sizeof *t->rows, by_calls);
        t->row_count = CALLS_ROWS;
        t->truncated = true;
    }
    if (t->row_count)
        qsort(t->rows, t->row_count, sizeof *t->rows, by_api);
}

/* --- the allow list --- */

static void allow_rows(struct calls_table *t, int64_t id, const char *api, const char *caller)
{
    for (size_t i = 0; i < t->row_count; i++) {
        struct calls_row *row = &t->rows[i];
        if (row->rule || !calls_fits(api, row->api))
            continue;
        struct report_bytes text = {0}; /* IMAGE!FUNCTION */
        out_text(&text, row->image ? row->image : "");
        out_text(&text, "!");
        out_text(&text, row->function ? row->function : "");
        if (!text.failed && calls_fits(caller, text.data))
            row->rule = id;
        report_bytes_free(&text);
    }
}

static void read_allowed(struct api_view *v, struct calls_table *t)
{
    struct db_rows *rows = api_query(
        v, "SELECT id, api, caller FROM call_allow WHERE project = $1 ORDER BY id LIMIT 1000",
        DB_VALUES(db_int(v->project)));
    while (api_next(v, rows))
        allow_rows(t, db_get_int(rows, 0), db_get_text(rows, 1), db_get_text(rows, 2));
    api_done(v, rows);
}

/* --- all of it --- */

void calls_table_read(struct api_view *v, struct calls_table *t)
{
    struct raws raws = {.count = 0};
    struct cells cells = {.count = 0};
    *t = (struct calls_table){.frames = api_frames_new(v)};
    read_versions(v, t);
    read_raws(v, t, &raws);
    name_cells(v, t, &raws, &cells);
    if (!v->error && cells.count)
        make_rows(v, t, &cells);
    read_allowed(v, t);
    free(raws.items);
    free(cells.items);
}

void calls_table_free(struct calls_table *t)
{
    free(t->versions);
    free(t->rows);
    arena_free(&t->arena);
    api_frames_free(t->frames);
}

int64_t calls_in(const struct calls_table *t, const struct calls_row *row, const char *version)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < row->by_count; i++)
        if (is_version(&t->versions[row->by[i].version], version))
            count += row->by[i].count;
    return count;
}

void calls_row_open(struct report_bytes *out, const struct calls_table *t,
                    const struct calls_row *row)
{
    api_open(out, NULL, '{');
    api_text(out, "api", row->api);
    api_open(out, "caller", '{');
    api_text(out, "function", row->function);
    api_text(out, "image", row->image);
    api_text(out, "file", row->file);
    api_int(out, "line", row->line);
    api_shut(out, '}');
    api_int(out, "count", row->count);
    api_int(out, "stacks", row->stacks);
    if (row->first_version < t->version_count)
        api_version(out, "first_version", t->versions[row->first_version].version,
                    t->versions[row->first_version].build);
    else
        api_null(out, "first_version");
    api_int(out, "first_ms", row->first_ms);
    api_int(out, "last_ms", row->last_ms);
    api_open(out, "versions", '{');
    for (uint32_t i = 0; i < row->by_count; i++) {
        const struct calls_version *version = &t->versions[row->by[i].version];
        api_version_key(out, version->version, version->build);
        api_int(out, NULL, row->by[i].count);
    }
    api_shut(out, '}');
    api_bool(out, "allowed", row->rule != 0);
    if (row->rule)
        api_int(out, "rule", row->rule);
    else
        api_null(out, "rule");
}
