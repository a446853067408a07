/*
 * What a request leaves behind: its figures, and a line for those that somebody should look at
 * (5xx, and 4xx but 404, 409, 416). Paths of the log are without query and token.
 */
#include "collector/clock.h"
#include "collector/http_inner.h"
#include "collector/log.h"
#include "collector/metrics.h"
#include "collector/rate_limits.h"

#include <stdio.h>
#include <string.h>

enum { LINES_A_MINUTE = 120 }; /* of 4xx, of one address */

static enum metric_route kind_of(const struct http_private *p)
{
    const char *path = p->request.path;
    if (strncmp(path, "/api/v1/reports", 15) == 0)
        return METRIC_ROUTE_REPORTS;
    if (strncmp(path, "/api/v1/uploads", 15) == 0)
        return METRIC_ROUTE_UPLOADS;
    if (strncmp(path, "/api/", 5) == 0)
        return METRIC_ROUTE_API;
    if (p->route && p->route->needs == ACCESS_SYMBOLS_READ)
        return METRIC_ROUTE_SYMBOLS;
    return METRIC_ROUTE_PAGE;
}

static bool of_interest(unsigned status)
{
    return status >= 500 || (status >= 400 && status != 404 && status != 409 && status != 416);
}

/* Who sends nothing but nonsense does not fill the disk with it. */
static bool may_log(const struct http_private *p)
{
    char name[64], address[HTTP_ADDRESS_SIZE];
    http_peer_name(p->address, address);
    snprintf(name, sizeof name, "log %s", address);
    return p->status >= 500 || !rate_limits_take(p->server->collector->limits, name, LINES_A_MINUTE,
                                                 LINES_A_MINUTE, 1, clock_us());
}

void http_log_request(const struct http_private *p)
{
    if (!p->head_done)
        return;
    uint64_t took = clock_us() - p->began_us;
    metrics_request(p->server->collector->metrics, kind_of(p), (int)p->status, took);
    if (of_interest(p->status) && may_log(p))
        log_line("%s %s %.200s: %u after %llu ms, %llu bytes received, by %s", p->address,
                 p->request.method, p->request.path, p->status, (unsigned long long)(took / 1000),
                 (unsigned long long)p->received,
                 p->request.access.kind == ACCESS_NOBODY ? "nobody" : p->request.access.label);
}
