/*
 * http_driver FOLDER [RESERVE]: the HTTP server with handlers that do what http.h allows, and what
 * it does not, for http_test.py. Ends when its standard input does.
 */
#include "collector/access_store.h"
#include "collector/blobs.h"
#include "collector/collector.h"
#include "collector/db.h"
#include "collector/http.h"
#include "collector/metrics.h"
#include "collector/rate_limits.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 1 << 20, LARGE = 64 << 20 };

static char file_path[4096];
static atomic_uint states_made, states_dropped, states_handled;

static void echo(struct http_request *r)
{
    void *copy = malloc(r->body.size + 1);
    memcpy(copy, r->body.data ? r->body.data : (const uint8_t *)"", r->body.size);
    http_reply_bytes(r, 200, "application/octet-stream", copy, r->body.size);
}

static void *reply_late(void *context)
{
    struct http_request *r = context;
    const char *ms = http_query(r, "ms");
    usleep((useconds_t)(ms ? atoi(ms) : 0) * 1000);
    http_reply_text(r, 200, "text/plain", "late\n");
    return NULL;
}

static void later(struct http_request *r)
{
    pthread_t thread;
    http_wait(r);
    if (pthread_create(&thread, NULL, reply_late, r) == 0)
        pthread_detach(thread);
    else
        http_reply_error(r, 503, "no thread");
}

/* Waits, and then replies itself: allowed. */
static void changed_mind(struct http_request *r)
{
    http_wait(r);
    http_reply_text(r, 200, "text/plain", "myself\n");
}

static void silent(struct http_request *r)
{
    (void)r;
}

struct stream {
    uint64_t bytes, sum;
};

static bool piece(struct http_request *r, void **state, const uint8_t *data, size_t size)
{
    struct stream *s = *state;
    if (!s) {
        *state = s = calloc(1, sizeof *s);
        atomic_fetch_add(&states_made, 1);
    }
    for (size_t i = 0; i < size; i++)
        s->sum = s->sum * 31 + data[i];
    s->bytes += size;
    const char *most = http_query(r, "most");
    if (!most || s->bytes <= strtoull(most, NULL, 10))
        return true;
    http_reply_error(r, 409, "enough");
    return false;
}

static void drop(void *state)
{
    atomic_fetch_add(&states_dropped, 1);
    free(state);
}

/* Held up until /release is asked for. */
static atomic_bool released;

static void slow_drop(void *state)
{
    while (!atomic_load(&released))
        usleep(1000);
    drop(state);
}

static void release(struct http_request *r)
{
    atomic_store(&released, true);
    http_reply_text(r, 200, "text/plain", "");
}

/* As many as the server lets in at once, until somebody POSTs /views-end. */
static atomic_bool views_end;
static atomic_uint views_running;

static void long_view(struct http_request *r)
{
    atomic_fetch_add(&views_running, 1);
    while (!atomic_load(&views_end))
        usleep(1000);
    http_reply_text(r, 200, "text/plain", "");
}

static void count_views(struct http_request *r)
{
    http_reply_json(r, 200, json_pack("{s:i}", "running", (int)atomic_load(&views_running)));
}

static void end_views(struct http_request *r)
{
    atomic_store(&views_end, true);
    http_reply_text(r, 200, "text/plain", "");
}

static void streamed(struct http_request *r)
{
    struct stream *s = http_stream_state(r);
    atomic_fetch_add(&states_handled, s != NULL);
    http_reply_json(r, 200,
                    json_pack("{s:I, s:I}", "bytes", (json_int_t)(s ? s->bytes : 0), "sum",
                              (json_int_t)(s ? s->sum & 0xffffffff : 0)));
    free(s);
}

static void counts(struct http_request *r)
{
    http_reply_json(r, 200,
                    json_pack("{s:i, s:i, s:i}", "made", (int)atomic_load(&states_made), "dropped",
                              (int)atomic_load(&states_dropped), "handled",
                              (int)atomic_load(&states_handled)));
}

static void file(struct http_request *r)
{
    http_reply_file(r, "application/octet-stream", open(file_path, O_RDONLY | O_CLOEXEC));
}

static void large(struct http_request *r)
{
    json_t *list = json_array();
    for (int i = 0; i < 10000; i++)
        json_array_append_new(list, json_integer(i));
    http_reply_json(r, 200, json_pack("{s:o}", "items", list));
}

static void fail(struct http_request *r)
{
    int64_t code;
    struct fw_failure why = {.message = "internal detail"};
    if (!http_query_number(r, "code", 1, FW_ERR_SYSTEM, 1, &code))
        return;
    why.code = (fw_error)code;
    http_reply_failure(r, &why);
}

static void parts(struct http_request *r)
{
    json_t *query = json_array();
    const char *name, *value;
    for (size_t i = 0; http_query_each(r, i, &name, &value); i++)
        json_array_append_new(query, json_pack("[s, s]", name, value));
    http_reply_json(r, 200,
                    json_pack("{s:s?, s:s?, s:s, s:o}", "id", http_part(r, "id"), "rest",
                              http_part(r, "rest"), "path", r->path, "query", query));
}

static const struct http_route routes[] = {
    {.method = "POST", .pattern = "/echo", .flags = HTTP_GZIP, .body_limit = SMALL, .handle = echo},
    {.method = "POST", .pattern = "/plain", .body_limit = 1000, .handle = echo},
    {.method = "GET", .pattern = "/later", .handle = later},
    {.method = "GET", .pattern = "/changed", .handle = changed_mind},
    {.method = "GET", .pattern = "/silent", .handle = silent},
    {.method = "PATCH",
     .pattern = "/stream",
     .flags = HTTP_STREAM,
     .body_limit = LARGE,
     .handle = streamed,
     .piece = piece,
     .drop = drop},
    {.method = "PATCH",
     .pattern = "/held",
     .flags = HTTP_STREAM,
     .body_limit = LARGE,
     .handle = streamed,
     .piece = piece,
     .drop = slow_drop},
    {.method = "GET", .pattern = "/release", .handle = release},
    {.method = "GET", .pattern = "/long-view", .handle = long_view},
    {.method = "POST", .pattern = "/views-count", .handle = count_views},
    {.method = "POST", .pattern = "/views-end", .handle = end_views},
    {.method = "GET", .pattern = "/counts", .handle = counts},
    {.method = "GET", .pattern = "/file", .handle = file},
    {.method = "GET", .pattern = "/large", .handle = large},
    {.method = "GET", .pattern = "/fail", .handle = fail},
    {.method = "GET", .pattern = "/parts/{id}/x/{rest...}", .handle = parts},
    {.method = "GET", .pattern = "/parts/{id}", .handle = parts},
    {.method = "DELETE", .pattern = "/parts/{id}", .handle = parts},
    {.method = "GET",
     .pattern = "/buildid/{id}/{rest...}",
     .needs = ACCESS_SYMBOLS_READ,
     .flags = HTTP_CROSS,
     .handle = parts},
    {.method = "POST",
     .pattern = "/keep",
     .needs = ACCESS_REPORTS_WRITE,
     .body_limit = SMALL,
     .handle = echo},
};
extern const struct http_routes routes_access;

static void fail_start(const char *what, const struct fw_failure *why)
{
    fprintf(stderr, "%s: %s\n", what, why->message);
    exit(1);
}

int main(int argc, char **argv)
{
    struct collector_options options = {.listen = "127.0.0.1", .data = argc > 1 ? argv[1] : "."};
    struct collector c = {.options = &options};
    struct fw_failure why = {0};
    char url[4200], first[ACCESS_SECRET_SIZE];
    if (argc > 2)
        options.disk_reserve = strtoull(argv[2], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    snprintf(file_path, sizeof file_path, "%s/file", options.data);
    snprintf(url, sizeof url, "sqlite:%s/main.sqlite", options.data);
    c.metrics = metrics_create();
    c.limits = rate_limits_create();
    if (db_open(url, &c.db, &why))
        fail_start("database", &why);
    snprintf(url, sizeof url, "file:%s/store", options.data);
    if (blobs_open(url, NULL, 0, &c.blobs, &why))
        fail_start("store", &why);
    if (access_open(&c, &c.access, &why))
        fail_start("access", &why);
    const struct http_routes tables[] = {{routes, sizeof routes / sizeof *routes}, routes_access};
    if (http_start(&c, tables, 2, &c.http, &why))
        fail_start("http", &why);
    if (access_make_first(&c, first, &why))
        fail_start("first token", &why);
    printf("Listening on http://127.0.0.1:%u/\nFirst token (shown once): %s\nReady\n",
           http_port(c.http), first);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    http_stop(c.http, 20);
    access_close(c.access);
    blobs_close(c.blobs);
    db_close(c.db);
    metrics_free(c.metrics);
    rate_limits_free(c.limits);
    return 0;
}
