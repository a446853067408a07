/* All handlers: a line here for each file of them. */
#include "collector/routes.h"

extern const struct http_routes routes_access; /* api_access.c */
extern const struct http_routes routes_server; /* api_server.c */
extern const struct http_routes routes_intake; /* intake_http.c */
extern const struct http_routes routes_import; /* import.c */
extern const struct http_routes routes_page;   /* page.c */
extern const struct http_routes routes_symbol_paths;
extern const struct http_routes routes_symbolicate; /* api_symbolicate.c */

static const struct http_routes *const tables[] = {
    &routes_access, &routes_server, &routes_symbol_paths, &routes_symbolicate,
    &routes_intake, &routes_import, &routes_page, /* last: it takes what nobody else wanted */
};

size_t routes_all(struct http_routes *all, size_t capacity)
{
    size_t count = sizeof tables / sizeof *tables;
    for (size_t i = 0; i < count && i < capacity; i++)
        all[i] = *tables[i];
    return count < capacity ? count : capacity;
}
