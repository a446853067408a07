/* Which project a request's reports go to: intake_project.c. */
#ifndef COLLECTOR_INTAKE_PROJECT_H
#define COLLECTOR_INTAKE_PROJECT_H

#include "collector/http.h"

/* The project that `slug` names (NULL: the one that the key or token is of), when the request
 * reaches it. False: 400, 403, 404 or 503 was replied. */
bool intake_project(struct http_request *r, const char *slug, int64_t *project);

#endif
