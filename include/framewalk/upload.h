/*
 * Upload: sends the reports of a folder (reports.h) to a collector, in the background. In
 * libframewalk-upload, a library of its own that uses zlib and libcurl, on Apple's systems (product
 * FramewalkUpload) NSURLSession; a program with its own way to the network gives `transport`, and
 * neither is used. docs/upload.md is the protocol.
 *
 *     struct fw_upload_options options = {.size = sizeof options, .folder =
 * "/var/lib/shop/reports", .url = "https://reports.example.com", .key = "..."};
 *     fw_upload_start(&options, &upload, &why);
 *
 * At least once: a report's file is removed when the collector has acknowledged it by id, or
 * refused it for good; a report that is sent twice is the same one for the collector. Reports that
 * are still being written are left alone. Failures are tried again with growing, jittered waits,
 * which outlive the process (the folder remembers when), and never before Retry-After says.
 *
 * Any number of processes may upload from the same folder: one does at a time.
 *
 * Functions are thread-safe, allocate, and must not be called in signal handlers.
 */
#ifndef FRAMEWALK_UPLOAD_H
#define FRAMEWALK_UPLOAD_H

#include "error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fw_upload;

struct fw_upload_request { /* valid during the call */
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated */
    const void *body;
    size_t body_size;
};

struct fw_upload_response {
    uint32_t status;      /* HTTP status; 0: not reached */
    uint32_t retry_after; /* seconds, 0: not said */
    char *body;           /* malloc'ed by the transport; freed here; may be NULL */
    size_t body_size;
    char message[128]; /* when status is 0: why */
    bool later; /* with status 0: there is no network that may be used. No failure: asked again
                   after `poll_seconds` */
};

/* What network and power there is, and whether to send now. */
typedef enum fw_upload_decision {
    FW_UPLOAD_NOW = 0,
    FW_UPLOAD_LATER, /* asked again after `poll_seconds` */
} fw_upload_decision;

/* What may be used beyond networks and power of which there is enough. Apple's systems tell which
 * these are; elsewhere, and with a `transport`, it means nothing. */
enum fw_upload_allow {
    FW_UPLOAD_ON_CELLULAR = 1,    /* cellular networks; they are expensive, too */
    FW_UPLOAD_ON_EXPENSIVE = 2,   /* what the system calls so: cellular networks, personal hotspots
                                     (iOS 13, macOS 10.15 and later tell) */
    FW_UPLOAD_ON_CONSTRAINED = 4, /* networks in Low Data Mode (the same) */
    FW_UPLOAD_ON_LOW_POWER = 8,   /* in Low Power Mode (macOS 12 and later tell) */
    FW_UPLOAD_ON_ALL = 15,
};

struct fw_upload_options {
    size_t size;          /* sizeof(struct fw_upload_options) */
    const char *folder;   /* of reports */
    const char *url;      /* of the collector: https://host[:port][/path]; http:// is refused unless
                             plain_http, or the host is the machine itself */
    const char *key;      /* ingest key; NULL: none */
    const char *key_file; /* file with the key, instead; read at each start; must not be readable by
                             others */
    const char *ca_file;  /* certificates to trust instead of the system's; NULL. Not with
                             NSURLSession: FW_ERR_UNSUPPORTED */
    uint32_t batch;       /* reports in one request at the most; 0 = 10 */
    uint32_t batch_bytes; /* 0 = 1 MB before compression */
    uint32_t first_wait_s, longest_wait_s; /* back-off; 0 = 60, 21,600 */
    uint32_t poll_seconds;                 /* looks for new reports; 0 = 60 */
    bool plain_http;                       /* allow http:// to other machines */
    bool uncompressed;
    uint8_t allow;       /* of enum fw_upload_allow; 0: wait for Wi-Fi or a cable, and power */
    uint8_t reserved[5]; /* zero */
    fw_upload_decision (*policy)(void *context);
    /* Sends one request; blocks until there is an answer. NULL: libcurl, or NSURLSession. */
    void (*transport)(void *context, const struct fw_upload_request *request,
                      struct fw_upload_response *response);
    void *context; /* handed to both */
};

struct fw_upload_totals {
    size_t size; /* set it before the call */
    uint64_t sent, duplicates, refused, requests, failures;
    uint64_t waiting;  /* reports in the folder now */
    char message[128]; /* why the last request failed; empty: it did not */
};

/* Starts the background thread. */
FW_API fw_error fw_upload_start(const struct fw_upload_options *options, struct fw_upload **upload,
                                struct fw_failure *why);
/* Sends what is there now, without policy, `allow` and back-off, and returns when it is done or
 * failed: `framewalk push`, and programs about to exit. `totals` and `why` may be NULL.
 * FW_ERR_TIMEOUT: another process has been sending from the folder for ten seconds.
 * FW_ERR_PERMISSION: the key is not accepted, or its file, or the folder. FW_ERR_SYSTEM: not sent;
 * the reports stay. */
FW_API fw_error fw_upload_now(const struct fw_upload_options *options,
                              struct fw_upload_totals *totals, struct fw_failure *why);
FW_API fw_error fw_upload_totals(struct fw_upload *upload, struct fw_upload_totals *totals);
/* Waits for the request that is under way, at most `timeout_ms`, then gives it up (our own
 * transports: half a second more at the most). A `transport` that has not come back by then is left
 * behind: what it and `context` use must stay until it does. NULL is fine. */
FW_API void fw_upload_stop(struct fw_upload *upload, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
