/* metrics.h. */
#include "collector/metrics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 12, STATUS_CLASSES = 5 };

/* Upper bounds in microseconds; what is above the last is in +Inf alone. */
static const uint64_t bounds[BUCKETS] = {500,   1000,   2500,   5000,    10000,   25000,
                                         50000, 100000, 250000, 1000000, 5000000, 30000000};

struct route_figures {
    atomic_uint_fast64_t statuses[STATUS_CLASSES], buckets[BUCKETS + 1], microseconds;
};

struct metrics { /* shared by all threads */
    atomic_uint_fast64_t counters[METRIC_COUNT];
    struct route_figures routes[METRIC_ROUTE_COUNT];
};

static const struct {
    const char *name, *help;
} texts[METRIC_COUNT] = {
    [METRIC_REPORTS_ACCEPTED] = {"reports_accepted", "Reports stored durably."},
    [METRIC_REPORTS_DUPLICATE] = {"reports_duplicate", "Reports that were there already."},
    [METRIC_REPORTS_REFUSED] = {"reports_refused", "Reports that are none, or not wanted."},
    [METRIC_REPORTS_PROCESSED] = {"reports_processed", "Reports read, grouped and stored."},
    [METRIC_REPORTS_FAILED] = {"reports_failed", "Reports that could not be processed."},
    [METRIC_FRAMES_NAMED] = {"frames_named", "Frames looked up in symbol maps."},
    [METRIC_JOBS_DONE] = {"jobs_done", "Jobs that ended well."},
    [METRIC_JOBS_FAILED] = {"jobs_failed", "Jobs that failed for good."},
    [METRIC_UPLOAD_BYTES] = {"upload_bytes", "Bytes of debug files received."},
    [METRIC_RATE_LIMITED] = {"requests_rate_limited", "Requests answered with 429."},
    [METRIC_LOGINS_REFUSED] = {"logins_refused", "Requests with a wrong key, token or session."},
};
static const char *const routes[METRIC_ROUTE_COUNT] = {
    [METRIC_ROUTE_REPORTS] = "reports", [METRIC_ROUTE_UPLOADS] = "uploads",
    [METRIC_ROUTE_SYMBOLS] = "symbols", [METRIC_ROUTE_API] = "api",
    [METRIC_ROUTE_PAGE] = "page",
};

struct metrics *metrics_create(void)
{
    return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
    free(metrics);
}

static void add(atomic_uint_fast64_t *figure, uint64_t n)
{
    atomic_fetch_add_explicit(figure, n, memory_order_relaxed);
}

static uint64_t get(const atomic_uint_fast64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

void metrics_add(struct metrics *metrics, enum metric metric, uint64_t n)
{
    if (metrics)
        add(&metrics->counters[metric], n);
}

void metrics_request(struct metrics *metrics, enum metric_route route, int status,
                     uint64_t microseconds)
{
    struct route_figures *figures = &metrics->routes[route];
    int hundreds = status / 100;
    if (hundreds >= 1 && hundreds <= STATUS_CLASSES)
        add(&figures->statuses[hundreds - 1], 1);
    size_t bucket = 0;
    while (bucket < BUCKETS && microseconds > bounds[bucket])
        bucket++;
    add(&figures->buckets[bucket], 1);
    add(&figures->microseconds, microseconds);
}

static void write_routes(const struct metrics *metrics, FILE *to)
{
    fputs("# HELP framewalk_requests_total Requests by kind of path and class of status.\n"
          "# TYPE framewalk_requests_total counter\n",
          to);
    for (size_t r = 0; r < METRIC_ROUTE_COUNT; r++)
        for (size_t s = 0; s < STATUS_CLASSES; s++)
            fprintf(to, "framewalk_requests_total{route=\"%s\",status=\"%zuxx\"} %llu\n", routes[r],
                    s + 1, (unsigned long long)get(&metrics->routes[r].statuses[s]));
    fputs("# HELP framewalk_request_seconds From the request's head to its reply.\n"
          "# TYPE framewalk_request_seconds histogram\n",
          to);
    for (size_t r = 0; r < METRIC_ROUTE_COUNT; r++) {
        const struct route_figures *figures = &metrics->routes[r];
        uint64_t sum = 0;
        for (size_t b = 0; b < BUCKETS; b++) {
            sum += get(&figures->buckets[b]);
            fprintf(to, "framewalk_request_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n",
                    routes[r], (double)bounds[b] / 1e6, (unsigned long long)sum);
        }
        sum += get(&figures->buckets[BUCKETS]);
        fprintf(to,
                "framewalk_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                "framewalk_request_seconds_sum{route=\"%s\"} %g\n"
                "framewalk_request_seconds_count{route=\"%s\"} %llu\n",
                routes[r], (unsigned long long)sum, routes[r],
                (double)get(&figures->microseconds) / 1e6, routes[r], (unsigned long long)sum);
    }
}

void metrics_write(const struct metrics *metrics, FILE *to)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        fprintf(to,
                "# HELP framewalk_%s_total %s\n# TYPE framewalk_%s_total counter\n"
                "framewalk_%s_total %llu\n",
                texts[i].name, texts[i].help, texts[i].name, texts[i].name,
                (unsigned long long)get(&metrics->counters[i]));
    write_routes(metrics, to);
}
