/*
 * POST groups/{id}: ignore, open, resolve in a version, note, merge, split. All of one request
 * commits or none of it, with its line in the audit log; the answer is the group as it is then.
 * When very many reports have to move, that is not their end: a job goes on after FINISH_MS.
 */
#include "collector/api_groups.h"
#include "collector/clock.h"
#include "collector/groups.h"
#include "collector/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOTE_MAX = 4000, STACKS_MAX = 1000, BODY_MAX = 65536, FINISH_MS = 2000 };

struct action {
    struct api_view *v;
    const json_t *body;
    int64_t group;
    int64_t shown;    /* the group to answer with */
    bool settles;     /* stacks move between these two */
    char detail[520]; /* for the audit log and the group's history */
};

static struct db_conn *conn_of(struct action *a)
{
    return a->v->conn;
}

static fw_error set_open(struct action *a)
{
    struct api_view *v = a->v;
    int64_t status = api_number(v, "SELECT status FROM hang_group WHERE id = $1 AND project = $2",
                                DB_VALUES(db_int(a->group), db_int(v->project)));
    if (v->error)
        return v->error;
    if (status == GROUP_MERGED)
        return groups_undo(conn_of(a), v->project, a->group, &v->why);
    return groups_set_status(conn_of(a), v->project, a->group, GROUP_OPEN, &v->why);
}

static fw_error set_ignored(struct action *a)
{
    return groups_set_status(conn_of(a), a->v->project, a->group, GROUP_IGNORED, &a->v->why);
}

/* {"version": V}: fixed in V; {"after": V}: in what comes after V; neither: after the newest. */
static fw_error set_resolved(struct action *a)
{
    struct api_view *v = a->v;
    struct group_fixed fixed;
    const json_t *in = json_object_get(a->body, "version"),
                 *after = json_object_get(a->body, "after");
    in = json_is_null(in) ? NULL : in;
    after = json_is_null(after) ? NULL : after;
    const struct group_fix fix = {json_string_value(in ? in : after), after != NULL};
    if ((in && after) || ((in || after) && !fix.version)) {
        api_fail(v, FW_ERR_ARGUMENT, "\"version\" or \"after\" takes the text of a version");
        return FW_ERR_ARGUMENT;
    }
    fw_error e = groups_resolve(conn_of(a), v->project, a->group, &fix, &fixed, &v->why);
    if (!e)
        snprintf(a->detail, sizeof a->detail, *fixed.build ? "%s %.250s (%.200s)" : "%s %.250s",
                 fixed.after ? "after" : "in", fixed.version, fixed.build);
    return e;
}

static fw_error set_note(struct action *a)
{
    const json_t *note = json_object_get(a->body, "note");
    if (!json_is_string(note) || json_string_length(note) > NOTE_MAX) {
        api_fail(a->v, FW_ERR_ARGUMENT, "\"note\" takes a text of 4000 bytes at most");
        return FW_ERR_ARGUMENT;
    }
    return groups_set_note(conn_of(a), a->v->project, a->group, json_string_value(note),
                           &a->v->why);
}

static fw_error merge(struct action *a)
{
    struct api_view *v = a->v;
    const json_t *into = json_object_get(a->body, "into");
    if (!json_is_integer(into)) {
        api_fail(v, FW_ERR_ARGUMENT, "\"into\" takes the id of a group");
        return FW_ERR_ARGUMENT;
    }
    a->shown = json_integer_value(into);
    snprintf(a->detail, sizeof a->detail, "into %" PRId64, a->shown);
    a->settles = true;
    return groups_merge(conn_of(a), v->project, a->group, a->shown, &v->why);
}

/* False: the list holds something else than ids. */
static bool take_stacks(const json_t *list, int64_t *stacks, size_t *count)
{
    *count = json_array_size(list);
    if (!json_is_array(list) || *count > STACKS_MAX)
        return false;
    for (size_t i = 0; i < *count; i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id))
            return false;
        stacks[i] = json_integer_value(id);
    }
    return true;
}

static fw_error split_off(struct action *a, const int64_t *stacks, size_t count)
{
    struct api_view *v = a->v;
    struct stack_grouper *grouper;
    int64_t made = 0;
    fw_error e = stack_grouper_new(v->r->collector, &grouper);
    if (e) {
        api_fail(v, e, "out of memory");
        return e;
    }
    e = groups_split(grouper, conn_of(a), v->project, a->group, stacks, count, &made, &v->why);
    stack_grouper_free(grouper);
    a->settles = true;
    snprintf(a->detail, sizeof a->detail, "%zu stacks into %" PRId64, count, made);
    a->shown = made;
    return e;
}

/* Without stacks: what was merged into the group parts from it again. */
static fw_error split(struct action *a)
{
    struct api_view *v = a->v;
    const json_t *list = json_object_get(a->body, "stacks");
    int64_t stacks[STACKS_MAX];
    size_t count;
    if (!list || json_is_null(list)) {
        snprintf(a->detail, sizeof a->detail, "by the rules");
        return groups_undo(conn_of(a), v->project, a->group, &v->why);
    }
    if (!take_stacks(list, stacks, &count)) {
        api_fail(v, FW_ERR_ARGUMENT, "\"stacks\" takes up to 1000 ids of stacks, or null");
        return FW_ERR_ARGUMENT;
    }
    return split_off(a, stacks, count);
}

static const struct action_kind {
    const char *name;
    fw_error (*run)(struct action *a);
} kinds[] = {
    {"ignore", set_ignored}, {"open", set_open}, {"resolve", set_resolved},
    {"merge", merge},        {"split", split},   {"note", set_note},
};

static const struct action_kind *find_kind(const json_t *body)
{
    const char *name = json_string_value(json_object_get(body, "action"));
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static bool in_time(void *until)
{
    return clock_ms() < *(const int64_t *)until;
}

/* Stacks and reports follow what was decided; nobody else waits for it (groups.h). What fails here
 * the job does. */
static void finish(struct action *a)
{
    struct collector *c = a->v->r->collector;
    struct fw_failure why;
    int64_t until = clock_ms() + FINISH_MS;
    db_give(c->db, a->v->conn);
    a->v->conn = NULL;
    if (groups_move_rest(c, in_time, &until, &why) == FW_OK &&
        groups_settle_one(c, a->group, &why) == FW_OK)
        groups_settle_one(c, a->shown, &why);
    a->v->error = db_take(c->db, DB_READ, &a->v->conn, &a->v->why);
}

/* A merge or split is told on both sides. */
static fw_error write_events(struct action *a, const char *action)
{
    struct api_view *v = a->v;
    const char *who = v->r->access.label;
    int64_t now = (int64_t)collector_now_ms();
    char from[64];
    fw_error e =
        group_event_add(v->conn, v->project, a->group, now, who, action, a->detail, &v->why);
    if (e || a->shown == a->group)
        return e;
    snprintf(from, sizeof from, "from %" PRId64, a->group);
    return group_event_add(v->conn, v->project, a->shown, now, who, action, from, &v->why);
}

/* The view reads from then on what the transaction writes. */
static void run(struct action *a, const struct action_kind *kind)
{
    struct api_view *v = a->v;
    char action[24], subject[24];
    snprintf(action, sizeof action, "group.%s", kind->name);
    snprintf(subject, sizeof subject, "%" PRId64, a->group);
    db_give(v->r->collector->db, v->conn);
    v->conn = NULL;
    v->error = db_take(v->r->collector->db, DB_WRITE, &v->conn, &v->why);
    v->error = v->error ? v->error : db_begin(v->conn, &v->why);
    v->error = v->error ? v->error : stack_group_changed(v->conn, &v->why);
    fw_error e = v->error ? v->error : kind->run(a);
    v->error = v->error ? v->error : e;
    if (!v->error)
        audit(v->conn, &v->r->access, action, subject, a->detail);
    if (!v->error)
        v->error = write_events(a, kind->name);
    if (!v->error)
        v->error = db_commit(v->conn, &v->why);
    if (!v->error && a->settles)
        finish(a);
    if (!v->error)
        jobs_wake(v->r->collector->jobs);
}

static void act(struct api_view *v, const json_t *body)
{
    struct action a = {.v = v, .body = body};
    const struct action_kind *kind = find_kind(body);
    if (!api_id(v, "id", "group", &a.group))
        return;
    if (!kind) {
        api_refuse(v, 400, "\"action\" is ignore, open, resolve, merge, split or note");
        return;
    }
    a.shown = a.group;
    run(&a, kind);
    api_open(&v->out, NULL, '{');
    if (!v->error)
        api_group_members(v, a.shown);
    api_shut(&v->out, '}');
    api_end(v);
}

static void post_group(struct http_request *r)
{
    struct api_view v;
    json_t *body = http_json(r);
    if (!body)
        return;
    if (api_begin(&v, r, API_FILTERS, NULL))
        act(&v, body);
    json_decref(body);
}

static const struct http_route routes[] = {
    {.method = "POST",
     .pattern = "/api/v1/projects/{project}/groups/{id}",
     .needs = ACCESS_TRIAGE,
     .body_limit = BODY_MAX,
     .handle = post_group},
};
const struct http_routes routes_group_actions = {routes, sizeof routes / sizeof *routes};
