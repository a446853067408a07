/*
 * Counters and histograms of /metrics (Prometheus text format 0.0.4). Adding takes no lock.
 *
 * A new counter: a line in `enum metric` and one in metrics.c; then
 *
 *     metrics_add(c->metrics, METRIC_REPORTS_ACCEPTED, 1);
 */
#ifndef COLLECTOR_METRICS_H
#define COLLECTOR_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum metric {
    METRIC_REPORTS_ACCEPTED,
    METRIC_REPORTS_DUPLICATE,
    METRIC_REPORTS_REFUSED,
    METRIC_REPORTS_PROCESSED,
    METRIC_REPORTS_FAILED,
    METRIC_FRAMES_NAMED,
    METRIC_JOBS_DONE,
    METRIC_JOBS_FAILED,
    METRIC_UPLOAD_BYTES,
    METRIC_RATE_LIMITED,
    METRIC_LOGINS_REFUSED,
    METRIC_COUNT
};

/* What a request is counted under; by path, so that strangers cannot make new ones. */
enum metric_route {
    METRIC_ROUTE_REPORTS,
    METRIC_ROUTE_UPLOADS,
    METRIC_ROUTE_SYMBOLS,
    METRIC_ROUTE_API,
    METRIC_ROUTE_PAGE,
    METRIC_ROUTE_COUNT
};

struct collector;
struct metrics;

struct metrics *metrics_create(void); /* NULL: no memory */
void metrics_free(struct metrics *metrics);
/* NULL: nobody counts. */
void metrics_add(struct metrics *metrics, enum metric metric, uint64_t n);
/* A request that was answered, and how long that took. */
void metrics_request(struct metrics *metrics, enum metric_route route, int status,
                     uint64_t microseconds);
/* All of them, as Prometheus reads them. */
void metrics_write(const struct metrics *metrics, FILE *to);

#endif
