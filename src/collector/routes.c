/* All handlers: a line here for each file of them. */
#include "collector/routes.h"

/* clang-format off */
extern const struct http_routes routes_access; /* api_access.c */
extern const struct http_routes routes_calls;
extern const struct http_routes routes_calls_allow;
extern const struct http_routes routes_calls_diff;
extern const struct http_routes routes_damaged;
extern const struct http_routes routes_download;
extern const struct http_routes routes_failed; /* api_failed.c */
extern const struct http_routes routes_flame;
extern const struct http_routes routes_group_actions; /* api_group_actions.c */
extern const struct http_routes routes_group_stacks; /* api_group_stacks.c */
extern const struct http_routes routes_groups_read;
extern const struct http_routes routes_import; /* import.c */
extern const struct http_routes routes_intake; /* intake_http.c */
extern const struct http_routes routes_limits; /* api_limits.c */
extern const struct http_routes routes_openapi;
extern const struct http_routes routes_overview;
extern const struct http_routes routes_report;
extern const struct http_routes routes_reports_read;
extern const struct http_routes routes_rules; /* api_rules.c */
extern const struct http_routes routes_server; /* api_server.c */
extern const struct http_routes routes_settings; /* api_settings.c */
extern const struct http_routes routes_source; /* api_source.c */
extern const struct http_routes routes_symbol_paths;
extern const struct http_routes routes_symbolicate; /* api_symbolicate.c */
extern const struct http_routes routes_symbols; /* api_symbols.c */
extern const struct http_routes routes_uploads;
extern const struct http_routes routes_versions; /* api_versions.c */
extern const struct http_routes routes_page; /* page.c */

static const struct http_routes *const tables[] = {
    &routes_access,
    &routes_calls,
    &routes_calls_allow,
    &routes_calls_diff,
    &routes_damaged,
    &routes_download,
    &routes_failed,
    &routes_flame,
    &routes_group_actions,
    &routes_group_stacks,
    &routes_groups_read,
    &routes_import,
    &routes_intake,
    &routes_limits,
    &routes_openapi,
    &routes_overview,
    &routes_report,
    &routes_reports_read,
    &routes_rules,
    &routes_server,
    &routes_settings,
    &routes_source,
    &routes_symbol_paths,
    &routes_symbolicate,
    &routes_symbols,
    &routes_uploads,
    &routes_versions,
    &routes_page, /* last: it takes what nobody else wanted */
};
/* clang-format on */

size_t routes_all(struct http_routes *all, size_t capacity)
{
    size_t count = sizeof tables / sizeof *tables;
    for (size_t i = 0; i < count && i < capacity; i++)
        all[i] = *tables[i];
    return count < capacity ? count : capacity;
}
