/*
 * Who asks, and what they may: ingest keys, tokens and sessions of the page.
 *
 * A secret is 32 random bytes, shown once, stored as SHA-256. Ingest keys ("fwk_...") are of one
 * project and may only send reports. Tokens ("fwt_...") have scopes, an expiry, and optionally one
 * project. A session is made of a token by POST /api/v1/session: a cookie (HttpOnly,
 * SameSite=Strict) that has the token's rights; requests that change something must bring its CSRF
 * token as well.
 */
#ifndef COLLECTOR_ACCESS_H
#define COLLECTOR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

enum access_scope {
    ACCESS_REPORTS_WRITE = 1, /* "reports:write": send reports */
    ACCESS_SYMBOLS_WRITE = 2, /* "symbols:write": send debug files */
    ACCESS_READ = 4,          /* "read": everything the page shows */
    ACCESS_SYMBOLS_READ = 8,  /* "symbols:read": debug files, debuginfod, /symbolicate/v5 */
    ACCESS_TRIAGE = 16,       /* "triage": status of groups, allow list, rules */
    ACCESS_ADMIN = 32,        /* "admin": tokens, projects, retention, deletion */
};

enum access_kind { ACCESS_NOBODY, ACCESS_KEY, ACCESS_TOKEN, ACCESS_SESSION };

struct access {
    enum access_kind kind;
    unsigned scopes; /* of enum access_scope */
    int64_t id;      /* row of access_key; 0: nobody */
    int64_t project; /* the only one; 0: all */
    char label[64];  /* for the audit log */
};

/* Whether `access` reaches `project`. */
static inline bool access_reaches(const struct access *access, int64_t project)
{
    return access->kind != ACCESS_NOBODY && (!access->project || access->project == project);
}

struct db_conn;
/* One line of the audit log, in the caller's transaction, whose commit tells when it failed. */
void audit(struct db_conn *conn, const struct access *who, const char *action, const char *subject,
           const char *detail);

#endif
