/*
 * The insides of <framewalk/upload.h>, and what `framewalk push` shares with it.
 *
 *     settings    what the caller wants, checked and copied
 *     folder      the lock that makes one process at a time the sender; which reports are there
 *     backoff     when the next try is due, as a line of text in the lock's file
 *     body        reports to the bytes of a request
 *     answer      the collector's lines to one verdict for each report
 *     send        a list of reports in batches, each file removed as its verdict says
 *     curl, session  one request over libcurl, or over NSURLSession
 *     retry_after    what that header says
 *
 * The protocol is docs/upload.md. Everything that comes from the collector, from the folder and
 * from the state file is hostile.
 */
#ifndef WATCH_UPLOAD_INTERNAL_H
#define WATCH_UPLOAD_INTERNAL_H

#include "base/failure.h"
#include "framewalk/upload.h"
#include "report/fwr.h"

#include <stdatomic.h>

enum {
    UPLOAD_ID_SIZE = 2 * FWR_ID_BYTES + 1, /* 32 digits and the terminating zero */
    UPLOAD_BATCH_MAX = 100,                /* reports in one request */
    UPLOAD_REPORT_MAX = 20 << 20,          /* bytes: larger files are left alone */
    UPLOAD_ANSWER_MAX = 256 << 10,         /* bytes of an answer; longer ones are none */
    UPLOAD_LIST_MAX = 10000,               /* reports looked at in one pass */
    UPLOAD_WAIT_MAX = 7 * 86400,           /* seconds: what Retry-After may ask for */
    UPLOAD_MESSAGE = 128,
};

/* --- settings --- */

struct upload_settings {
    struct fw_upload_options options; /* defaults filled in; strings are ours */
    char *target;                     /* URL of the request */
    char *authorization;              /* header line with the key; NULL: no key. Never shown */
    uint32_t audience;                /* checksum of URL and key: a wait holds for these alone */
    bool loopback;                    /* the host is the machine itself */
};

fw_error upload_settings_make(const struct fw_upload_options *options, bool with_folder,
                              struct upload_settings *settings, struct fw_failure *why);
void upload_settings_free(struct upload_settings *settings);

/* --- backoff --- */

struct upload_backoff {
    uint64_t set_ms;   /* wall clock when the wait began */
    uint64_t wait_ms;  /* how long it is; 0: none */
    uint32_t failures; /* in a row */
    uint32_t audience;
};
enum { UPLOAD_BACKOFF_TEXT = 96 };
/* Always writes UPLOAD_BACKOFF_TEXT bytes, so that a shorter state leaves nothing of a longer one.
 */
void upload_backoff_print(const struct upload_backoff *backoff, char text[UPLOAD_BACKOFF_TEXT]);
/* What cannot be read, or waits longer than anything may, is no wait. */
void upload_backoff_parse(const char *text, size_t size, struct upload_backoff *backoff);
/* Milliseconds left at `now_ms`, never more than the wait is long. A clock that was set back begins
 * the wait anew (*changed: to be kept), so it cannot block for ever. */
uint64_t upload_backoff_left(struct upload_backoff *backoff, uint64_t now_ms, bool *changed);
/* The wait after one more failure; `retry_after_s` 0: not said. `random` is any number. */
void upload_backoff_fail(struct upload_backoff *backoff, const struct upload_settings *settings,
                         uint32_t retry_after_s, uint64_t now_ms, uint64_t random);

/* --- folder --- */

struct upload_item {
    char id[UPLOAD_ID_SIZE]; /* as the report says; as the file is called until it has been read */
    char *path;              /* relative to the folder; NULL: ID.fwr */
    uint64_t size;           /* bytes that are sent: up to the last whole record */
    uint64_t modified_ns;
    const uint8_t *bytes; /* malloc'ed; NULL when it has not been read */
};
struct upload_list {
    int folder; /* descriptor, AT_FDCWD for files that people name */
    bool keep;  /* remove nothing */
    struct upload_item *items;
    size_t count;
};

struct upload_folder {
    int folder, state;
};
/* FW_ERR_TIMEOUT: another one has the lock. With `read_only` there is neither lock nor state. */
fw_error upload_folder_open(const char *path, bool read_only, struct upload_folder *folder,
                            struct fw_failure *why);
void upload_folder_close(struct upload_folder *folder);
void upload_folder_read(const struct upload_folder *folder, struct upload_backoff *backoff);
void upload_folder_write(const struct upload_folder *folder, const struct upload_backoff *backoff);
/* Finished reports, the oldest first. */
fw_error upload_folder_list(int folder, struct upload_list *list, struct fw_failure *why);
/* How many there are; 0 when the folder cannot be read. */
uint64_t upload_folder_count(const char *path);
void upload_list_free(struct upload_list *list);

/* Reads an item's file. FW_ERR_NOT_FOUND: gone. FW_ERR_FORMAT: no report in it. */
fw_error upload_item_read(const struct upload_list *list, struct upload_item *item);
void upload_item_drop(struct upload_item *item);
/* Removes its file, unless the list keeps. */
bool upload_item_remove(const struct upload_list *list, const struct upload_item *item);

/* --- body --- */

struct upload_body {
    uint8_t *bytes;
    size_t size;
    bool packed; /* gzip */
};
fw_error upload_body_make(struct upload_item *const *items, size_t count, bool pack,
                          struct upload_body *body);

/* --- answer --- */

enum upload_verdict {
    UPLOAD_UNSAID = 0, /* nothing, or what we do not know: stays */
    UPLOAD_ACCEPTED,
    UPLOAD_DUPLICATE,
    UPLOAD_REFUSED,
    UPLOAD_RETRY,
};
struct upload_answer {
    enum upload_verdict verdict;
    char reason[UPLOAD_MESSAGE]; /* printable ASCII */
};
/* One answer for each id. Lines about other ids are passed over; two that differ are UPLOAD_RETRY.
 */
void upload_answer_parse(const char *text, size_t size, const char (*ids)[UPLOAD_ID_SIZE],
                         size_t count, struct upload_answer *answers);

/* --- send --- */

enum upload_end {
    UPLOAD_DONE = 0,    /* every report of the list has its verdict */
    UPLOAD_LATER_ASKED, /* the policy, or the caller's wish to stop */
    UPLOAD_FAILED,      /* not reached, or no answer that can be used */
    UPLOAD_KEY,         /* 401, 403 */
};
struct upload_outcome {
    enum upload_end end;
    uint32_t retry_after; /* seconds; 0: not said */
    uint64_t sent, duplicates, refused, requests, failures;
    uint64_t left;                /* reports still there */
    uint64_t unreadable;          /* of these, files that could not be read, or are too large */
    uint64_t postponed;           /* the collector asks for them later, or did not speak of them */
    uint64_t unremoved;           /* have their verdict, but their files are still there */
    char message[UPLOAD_MESSAGE]; /* of the last failure; empty: none */
};

struct upload_job {
    const struct upload_settings *settings;
    struct upload_client *client; /* NULL with the caller's own transport */
    const atomic_int *stop;       /* not 0: no further request; NULL: never */
    bool ask_policy;
    /* Told of each verdict, and of reports not sent (`answer` NULL, `why` says); NULL: nobody. */
    void (*told)(void *context, const struct upload_item *item, const struct upload_answer *answer,
                 const char *why);
    void *told_context;
};
void upload_send(const struct upload_job *job, struct upload_list *list,
                 struct upload_outcome *outcome);

/* A whole pass over a folder: lock, list, send, and the next try's time written down. Before that
 * is due (`forced`: whatever it is) nothing is sent, and *wait_ms says how long. FW_ERR_TIMEOUT:
 * another process is at it. */
fw_error upload_pass(const struct upload_job *job, const char *folder, bool forced,
                     struct upload_outcome *outcome, uint64_t *wait_ms, struct fw_failure *why);
/* Forced, and waits ten seconds for another process to finish. */
fw_error upload_pass_now(const struct upload_job *job, const char *folder,
                         struct upload_outcome *outcome, struct fw_failure *why);

/* --- retry_after --- */

/* Seconds that the header's value asks for, a number or an HTTP date (RFC 9110, 10.2.3), at most
 * UPLOAD_WAIT_MAX; 0: it says nothing. */
uint32_t upload_retry_after(const char *value, int64_t now_s);

/* --- the client: upload_curl.c, or upload_session_darwin.m --- */

struct upload_client; /* connections are kept between requests; used by one thread at a time */
struct upload_client *upload_client_open(const struct upload_settings *settings,
                                         struct fw_failure *why);
/* As the transport of <framewalk/upload.h>. */
void upload_client_send(struct upload_client *client, const struct fw_upload_request *request,
                        struct fw_upload_response *response);
/* Ends the request under way; from any thread. */
void upload_client_abort(struct upload_client *client);
void upload_client_close(struct upload_client *client);

#endif
