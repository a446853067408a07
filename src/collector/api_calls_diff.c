/*
 * GET calls/diff: what one version calls that another does not, and whether a gate lets it pass.
 *
 * Invariant: "passes" is true only when the answer is known. Reports that had come in are waited
 * for, a version of which no call was recorded does not pass, nor does one with callers that
 * nobody can tell apart.
 */
#include "collector/calls_groups.h"
#include "collector/calls_table.h"
#include "collector/intake.h"
#include "collector/version_store.h"

enum { WAIT_SECONDS = 30 };

struct diff {
    const struct calls_table *table;
    struct calls_groups groups;
    const char *from; /* NULL: no version came before */
    const char *to;
    bool named, prerelease; /* of `from` */
    int64_t waiting;        /* reports that came before the question and are not processed */
    int64_t failed;         /* reports that could not be processed: nobody knows their version */
};

enum { DIFF_NEW, DIFF_GONE, DIFF_CHANGED, DIFF_NOT_ALLOWED, DIFF_UNNAMED, DIFFS };

static bool belongs(const struct calls_row *row, int list)
{
    switch (list) {
    case DIFF_NEW: return !row->before && row->after;
    case DIFF_GONE: return row->before && !row->after;
    case DIFF_CHANGED: return row->before && row->after && row->before != row->after;
    case DIFF_UNNAMED: return row->before && row->after && row->new_place && !row->rule;
    default: return !row->before && row->after && !row->rule;
    }
}

/* How many there are; the first CALLS_ROWS are listed. */
static size_t write_list(struct report_bytes *out, const struct diff *d, const char *key, int list)
{
    size_t count = 0;
    api_open(out, key, '[');
    for (size_t i = 0; i < d->table->count && d->from; i++) {
        const struct calls_row *row = &d->table->rows[i];
        if (!belongs(row, list) || count++ >= CALLS_ROWS)
            continue;
        calls_row_open(out, row);
        api_int(out, "before", row->before);
        api_int(out, "after", row->after);
        api_shut(out, '}');
    }
    api_shut(out, ']');
    return count;
}

static void write_diff(struct report_bytes *out, const struct diff *d)
{
    static const char *const keys[DIFFS] = {"new", "gone", "changed", "not_allowed", "unnamed"};
    size_t counts[DIFFS];
    int64_t before = 0, after = 0;
    bool truncated = d->table->truncated && d->from;
    for (size_t i = 0; i < d->table->count; i++) {
        before += d->table->rows[i].before;
        after += d->table->rows[i].after;
    }
    api_open(out, NULL, '{');
    api_text(out, "from", d->from);
    api_bool(out, "from_named", d->named);
    api_bool(out, "from_prerelease", d->prerelease);
    api_int(out, "from_calls", before);
    api_text(out, "to", d->to);
    api_int(out, "to_calls", after);
    for (int list = 0; list < DIFFS; list++) {
        counts[list] = write_list(out, d, keys[list], list);
        truncated |= counts[list] > CALLS_ROWS;
    }
    api_open(out, "totals", '{');
    for (int list = 0; list < DIFFS; list++)
        api_int(out, keys[list], (int64_t)counts[list]);
    api_shut(out, '}');
    calls_groups_write(out, &d->groups, d->table);
    api_bool(out, "truncated", truncated);
    api_int(out, "waiting_reports", d->waiting);
    api_int(out, "failed_reports", d->failed);
    api_bool(out, "passes",
             after && !truncated && !d->waiting && !d->failed && !counts[DIFF_NOT_ALLOWED] &&
                 !counts[DIFF_UNNAMED]);
    api_shut(out, '}');
}

/* Reports that came before the question may be of the versions that it names. */
static bool wait_for_reports(struct api_view *v, int64_t *waiting)
{
    int64_t seconds;
    bool good = http_query_number(v->r, "wait", 0, WAIT_SECONDS, WAIT_SECONDS, &seconds);
    api_pause(v);
    if (!good)
        return false;
    v->error = intake_await(v->r->collector->intake, v->project, (unsigned)seconds * 1000, waiting,
                            &v->why);
    api_resume(v);
    return true;
}

/* False, and replied, when some build is of both: it would be compared with itself. */
static bool are_apart(struct api_view *v, const char *from, const char *to)
{
    int64_t both = api_number(v,
                              "SELECT COUNT(*) FROM version WHERE project = $1"
                              " AND (version = $2 OR version || ' (' || build || ')' = $2)"
                              " AND (version = $3 OR version || ' (' || build || ')' = $3)",
                              DB_VALUES(db_int(v->project), db_text(from), db_text(to)));
    if (!both || v->error)
        return true;
    api_refuse(v, 400, "\"from\" and \"to\" name the same version: nothing would be compared");
    return false;
}

static void answer(struct api_view *v, struct diff *d)
{
    struct calls_table t;
    calls_table_read_two(v, d->from, d->to, &t);
    if (!calls_groups_begin(v, &d->groups)) {
        calls_table_free(&t);
        return;
    }
    d->table = &t;
    if (!v->error)
        write_diff(&v->out, d);
    calls_table_free(&t);
    api_end(v);
}

static void get_diff(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, 0, "from", "to", "wait", NULL))
        return;
    struct diff d = {.from = http_query(r, "from"), .to = http_query(r, "to")};
    struct version_before before = {.label = ""};
    if (!d.to || !*d.to) {
        api_refuse(&v, 400,
                   "\"to\" names the version that is looked at; \"from\" the one it is "
                   "compared with, the version before when it is not there");
        return;
    }
    if (!wait_for_reports(&v, &d.waiting))
        return;
    d.named = d.from && *d.from;
    if (!v.error && !api_version_known(&v, d.to))
        return;
    if (d.named && !v.error && (!api_version_known(&v, d.from) || !are_apart(&v, d.from, d.to)))
        return;
    if (!d.named && !v.error) {
        v.error = version_store_before(v.conn, v.project, d.to, &before, &v.why);
        d.from = *before.label ? before.label : NULL;
        d.prerelease = before.prerelease;
    }
    d.failed = api_number(&v, "SELECT COUNT(*) FROM inbox WHERE state = 1 AND project = $1",
                          DB_VALUES(db_int(v.project)));
    if (v.error)
        api_end(&v);
    else
        answer(&v, &d);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/calls/diff",
     .needs = ACCESS_READ,
     .handle = get_diff},
};
const struct http_routes routes_calls_diff = {routes, sizeof routes / sizeof *routes};
