/*
 * server.h: the parts in the order in which they need each other. SIGTERM and SIGINT are taken from
 * a signalfd: no handler runs, and all threads have them blocked, since they are started later.
 */
#include "collector/server.h"

#include "base/failure.h"
#include "collector/access_store.h"
#include "collector/blobs.h"
#include "collector/clock_keeper.h"
#include "collector/data_folder.h"
#include "collector/db.h"
#include "collector/files.h"
#include "collector/health.h"
#include "collector/heavy.h"
#include "collector/http.h"
#include "collector/intake.h"
#include "collector/job_kinds.h"
#include "collector/jobs.h"
#include "collector/log.h"
#include "collector/metrics.h"
#include "collector/rate_limits.h"
#include "collector/routes.h"
#include "collector/symbols.h"
#include "collector/version_store.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { END_SECONDS = 10, CACHE_BYTES_SHIFT = 33, MAPS_BYTES = 256 << 20 };

static char first_token[ACCESS_SECRET_SIZE];

/* ---- the parts ---- */

static fw_error make_folder(const char *path, struct fw_failure *why)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return FW_OK;
    return failure_say(why, FW_ERR_SYSTEM, errno, "%s: cannot make the folder", path);
}

static fw_error start_folder(struct collector *c, struct fw_failure *why)
{
    char path[4096];
    fw_error error = data_folder_open(c->options->data, why);
    snprintf(path, sizeof path, "%s/db", c->options->data);
    return error ? error : make_folder(path, why);
}

static fw_error start_database(struct collector *c, struct fw_failure *why)
{
    char url[4096];
    snprintf(url, sizeof url, "sqlite:%s/db/main.sqlite", c->options->data);
    fw_error error = db_open(c->options->database ? c->options->database : url, &c->db, why);
    return error ? error : version_store_start(c, why);
}

static fw_error start_clock(struct collector *c, struct fw_failure *why)
{
    return clock_keeper_start(c, &c->clock, why);
}

static fw_error start_blobs(struct collector *c, struct fw_failure *why)
{
    char url[4096], cache[4096];
    snprintf(url, sizeof url, "file:%s/store", c->options->data);
    snprintf(cache, sizeof cache, "%s/cache", c->options->data);
    fw_error error = blobs_open(c->options->store ? c->options->store : url, cache,
                                (uint64_t)1 << CACHE_BYTES_SHIFT, &c->blobs, why);
    const char *store = c->options->store;
    if (!error && (!store || strncmp(store, "s3:", 3) != 0)) /* there the job does it */
        blobs_tidy(c->blobs);
    return error;
}

static fw_error start_symbols(struct collector *c, struct fw_failure *why)
{
    return symbols_open(c, MAPS_BYTES, &c->symbols, why);
}

static fw_error start_figures(struct collector *c, struct fw_failure *why)
{
    c->metrics = metrics_create();
    c->limits = rate_limits_create();
    c->heavy = heavy_create();
    return c->metrics && c->limits && c->heavy ? FW_OK : failure_memory(why);
}

static fw_error start_health(struct collector *c, struct fw_failure *why)
{
    return health_start(c, why);
}

static fw_error start_access(struct collector *c, struct fw_failure *why)
{
    return access_open(c, &c->access, why);
}

static unsigned workers(const struct collector *c)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return c->options->workers ? c->options->workers : processors > 0 ? (unsigned)processors : 1;
}

static fw_error start_jobs(struct collector *c, struct fw_failure *why)
{
    static struct job_kind kinds[JOB_KINDS_MAX];
    return jobs_start(c, kinds, job_kinds_all(kinds, JOB_KINDS_MAX), workers(c), &c->jobs, why);
}

static fw_error start_intake(struct collector *c, struct fw_failure *why)
{
    return intake_start(c, workers(c), &c->intake, why);
}

static fw_error start_http(struct collector *c, struct fw_failure *why)
{
    static struct http_routes tables[ROUTES_MAX];
    return http_start(c, tables, routes_all(tables, ROUTES_MAX), &c->http, why);
}

static fw_error start_first_token(struct collector *c, struct fw_failure *why)
{
    return access_make_first(c, first_token, why);
}

static void stop_database(struct collector *c)
{
    db_close(c->db);
}

static void stop_clock(struct collector *c)
{
    clock_keeper_stop(c->clock);
}

static void stop_blobs(struct collector *c)
{
    blobs_close(c->blobs);
}

static void stop_symbols(struct collector *c)
{
    symbols_close(c->symbols);
}

static void stop_figures(struct collector *c)
{
    metrics_free(c->metrics);
    rate_limits_free(c->limits);
    heavy_free(c->heavy);
}

static void stop_health(struct collector *c)
{
    health_stop(c->health);
}

static void stop_access(struct collector *c)
{
    access_close(c->access);
}

static void stop_jobs(struct collector *c)
{
    jobs_stop(c->jobs);
}

static void stop_intake(struct collector *c)
{
    intake_stop(c->intake);
}

static void stop_http(struct collector *c)
{
    http_stop(c->http, END_SECONDS);
}

/* A part's stop is called when its start was, whatever came of it. */
static const struct part {
    const char *name;
    fw_error (*start)(struct collector *c, struct fw_failure *why);
    void (*stop)(struct collector *c);
} parts[] = {
    {"data folder", start_folder, NULL},
    {"figures", start_figures, stop_figures},
    {"database", start_database, stop_database},
    {"clock", start_clock, stop_clock},
    {"store", start_blobs, stop_blobs},
    {"health", start_health, stop_health},
    {"symbols", start_symbols, stop_symbols},
    {"access", start_access, stop_access},
    {"intake", start_intake, stop_intake},
    {"jobs", start_jobs, stop_jobs},
    {"http", start_http, stop_http},
    {"first token", start_first_token, NULL},
};
enum { PARTS = sizeof parts / sizeof *parts };

static void stop(struct collector *c, size_t started)
{
    while (started-- > 0) {
        if (parts[started].stop)
            parts[started].stop(c);
    }
}

/* `part` may be NULL; a message may begin with it. */
static void complain(const char *part, const struct fw_failure *why)
{
    const char *system = why->os_error ? strerror(why->os_error) : "";
    bool named = !part || strncmp(why->message, part, strlen(part)) == 0;
    fprintf(stderr, "framewalk serve: %s%s%s%s%s\n", named ? "" : part, named ? "" : ": ",
            why->message, *system ? ": " : "", system);
}

static fw_error start(struct collector *c, size_t *started)
{
    struct fw_failure why = {0};
    fw_error error = FW_OK;
    for (*started = 0; *started < PARTS && !error; (*started)++)
        error = parts[*started].start(c, &why);
    if (error)
        complain(parts[*started - 1].name, &why);
    return error;
}

/* ---- life ---- */

static void say_where(const struct collector *c)
{
    const struct collector_options *o = c->options;
    const char *scheme = o->tls_certificate ? "https" : "http";
    bool v6 = strchr(o->listen, ':') != NULL;
    if (o->base_url)
        printf("Listening on %s port %u: %s\n", o->listen, http_port(c->http), o->base_url);
    else
        printf("Listening on %s://%s%s%s:%u/\n", scheme, v6 ? "[" : "", o->listen, v6 ? "]" : "",
               http_port(c->http));
    printf("Data in %s\n", o->data);
    if (first_token[0])
        printf("First token (shown once): %s\n"
               "  Sign in to the page with it. framewalk serve --new-token makes another.\n",
               first_token);
    if (!o->tls_certificate && !o->base_url && strncmp(o->listen, "127.", 4) != 0 &&
        strcmp(o->listen, "::1") != 0 && strcmp(o->listen, "localhost") != 0)
        puts("Without TLS: who is on the way reads tokens and reports (--tls-cert, --tls-key)");
    puts("Ready");
    fflush(stdout);
    explicit_bzero(first_token, sizeof first_token);
}

static int ending_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a failed write */
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* They would hold tokens, reports and the keys of the store. An administrator who wants them raises
 * the limit of the running process (prlimit). */
static void no_core_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
}

/* Bodies and what is read of them come and go in large pieces. Left to itself the heap moves its
 * limit up to 32 MB, takes such pieces out of each thread's part of it, and keeps them. */
static void give_large_pieces_back(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
#endif
}

int server_run(const struct collector_options *options)
{
    struct collector c = {.options = options};
    size_t started = 0;
    int signals = ending_signals();
    if (signals < 0) {
        perror("framewalk serve: signals");
        return 1;
    }
    umask(077);
    no_core_files();
    give_large_pieces_back();
    fw_error error = start(&c, &started);
    if (!error) {
        say_where(&c);
        struct signalfd_siginfo info;
        while (read(signals, &info, sizeof info) < 0 && errno == EINTR)
            continue;
        puts("Ending: requests under way are finished first");
        fflush(stdout);
    }
    stop(&c, started);
    close(signals);
    return error ? 1 : 0;
}

int server_new_token(const struct collector_options *options)
{
    struct collector c = {.options = options};
    char secret[ACCESS_SECRET_SIZE];
    struct fw_failure why = {0};
    umask(077);
    fw_error error = start_folder(&c, &why);
    if (!error)
        error = start_database(&c, &why);
    if (!error)
        error = access_make_admin(&c, secret, &why);
    if (error)
        complain(NULL, &why);
    else
        puts(secret);
    db_close(c.db);
    return error ? 1 : 0;
}

uint64_t server_disk_free(struct collector *c)
{
    static _Atomic uint64_t looked_ms, free_bytes;
    uint64_t now = collector_now_ms();
    uint64_t last = atomic_load(&looked_ms);
    if (now - last < 1000)
        return atomic_load(&free_bytes);
    struct statvfs fs;
    uint64_t data = UINT64_MAX, store = blobs_free(c->blobs);
    if (statvfs(c->options->data, &fs) == 0)
        data = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t least = store < data ? store : data;
    atomic_store(&free_bytes, least);
    atomic_store(&looked_ms, now);
    return least;
}
