/*
 * Of which project a request is that may be of any. Who is limited to one project learns nothing of
 * others, not even whether they are there.
 */
#ifndef COLLECTOR_API_SCOPE_H
#define COLLECTOR_API_SCOPE_H

#include "collector/http.h"

/* The project that is called so. False, and replied, when there is none that the token reaches. No
 * connection is held. */
bool api_scope_project(struct http_request *r, const char *slug, int64_t *project);
/* Whose debug files a request may use (symbols_of): those of the query's "project", else all that
 * its token reaches. False: replied. */
bool api_scope_symbols(struct http_request *r, int64_t *project);

#endif
