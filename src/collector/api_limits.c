/* How much of what it may bring a project has brought (intake_limits.h), before it is all of it. */
#include "collector/api_json.h"
#include "collector/intake_limits.h"

static void get_limits(struct http_request *r)
{
    struct api_view v;
    if (!api_begin(&v, r, 0, NULL))
        return;
    int64_t made[LIMIT_COUNT] = {0};
    struct db_rows *rows = api_query(&v, "SELECT kind, made FROM made WHERE project = $1",
                                     DB_VALUES(db_int(v.project)));
    while (api_next(&v, rows)) {
        int64_t kind = db_get_int(rows, 0);
        if (kind > 0 && kind < LIMIT_COUNT)
            made[kind] = db_get_int(rows, 1);
    }
    api_done(&v, rows);
    api_open(&v.out, NULL, '{');
    api_open(&v.out, "items", '[');
    for (int of = 1; of < LIMIT_COUNT; of++) {
        int64_t most;
        const char *name = limits_name((enum limit_of)of, &most);
        api_open(&v.out, NULL, '{');
        api_text(&v.out, "kind", name);
        api_int(&v.out, "made", made[of]);
        api_int(&v.out, "most", most);
        api_bool(&v.out, "near", limits_is_near(made[of], most));
        api_shut(&v.out, '}');
    }
    api_shut(&v.out, ']');
    api_shut(&v.out, '}');
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/limits",
     .needs = ACCESS_READ,
     .handle = get_limits},
};
const struct http_routes routes_limits = {routes, sizeof routes / sizeof *routes};
