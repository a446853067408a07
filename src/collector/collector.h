/*
 * The collector: takes reports and debug files in, symbolicates, groups and ranks, and answers the
 * page and the tools. docs/collector.md tells how the parts work together:
 *
 *     POST reports -> inbox (acknowledged when committed) -> intake workers: images, stacks, names,
 *     group -> report rows and sums -> packs (bodies, in the blob store) -> API, page
 *
 * Invariant: what was acknowledged is in the database. Everything else that the process holds in
 * memory is a cache of it, so any number of processes may serve one database and one blob store,
 * and any of them may be killed at any instruction.
 *
 * Threads: those of the HTTP server run handlers; one commits what comes in (intake.c);
 * workers process and run jobs. A struct of this folder that several threads share says so.
 */
#ifndef COLLECTOR_COLLECTOR_H
#define COLLECTOR_COLLECTOR_H

#include "collector/clock.h"
#include "framewalk/error.h"

#include <stdbool.h>

struct access_store;
struct blobs;
struct clock_keeper;
struct db;
struct health;
struct heavy;
struct http_server;
struct intake;
struct jobs;
struct metrics;
struct rate_limits;
struct symbols;

enum { COLLECTOR_PROXIES_MAX = 16 };

struct collector_options { /* as the command line gave them; docs and defaults: serve_options.c */
    const char *data;      /* folder of everything, made when it is not there */
    const char *database;  /* "sqlite:PATH" or "postgresql://..."; NULL: DATA/db/main.sqlite */
    const char *store;     /* "file:PATH" or "s3://BUCKET/PREFIX?..."; NULL: DATA/store */
    const char *listen;    /* address, "127.0.0.1" */
    unsigned port;         /* 0: any free one */
    const char *base_url;  /* as browsers reach it; NULL: made from listen and port */
    const char *tls_certificate, *tls_key; /* PEM files; NULL: plain HTTP */
    unsigned workers; /* that process reports and run jobs; 0: one per processor */
    /* Limits of the child that converts: bytes of memory, processor seconds, bytes written. */
    uint64_t convert_memory, convert_seconds, convert_output;
    uint64_t upload_bytes;   /* of one debug file or archive */
    uint64_t unpacked_bytes; /* of all that one archive holds */
    uint64_t disk_reserve;   /* free bytes below which nothing more is taken: 507 */
    const char *proxies[COLLECTOR_PROXIES_MAX]; /* whose X-Forwarded-For is believed */
    unsigned proxy_count;
    unsigned connections_an_address; /* at once; 0: as http_inner.h has it */
    unsigned requests_a_minute;      /* of one key or address, bursts aside; 0: no limit */
    bool open_symbols;               /* symbol paths need no token */
    const char *archive;             /* of --backup and --restore */
};

struct collector { /* everything that lives as long as the process; each member locks for itself */
    const struct collector_options *options;
    struct db *db;
    struct blobs *blobs;
    struct clock_keeper *clock;
    struct symbols *symbols;
    struct health *health;
    struct heavy *heavy;
    struct intake *intake;
    struct jobs *jobs;
    struct metrics *metrics;
    struct rate_limits *limits;
    struct access_store *access;
    struct http_server *http;
};

#endif
