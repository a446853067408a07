/* Which handlers there are. */
#ifndef COLLECTOR_ROUTES_H
#define COLLECTOR_ROUTES_H

#include "collector/http.h"

enum { ROUTES_MAX = 32 }; /* tables */
size_t routes_all(struct http_routes *all, size_t capacity);

#endif
