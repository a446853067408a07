/*
 * Looking up who asks, and making and ending keys, tokens and sessions (access.h).
 *
 * What a secret may do is remembered for ACCESS_REMEMBER_MS; ending one on this server forgets all
 * at once, other servers follow within that time. When a key was last used is written by a thread
 * of its own, at most once in ACCESS_USED_MS a key. Thread-safe.
 */
#ifndef COLLECTOR_ACCESS_STORE_H
#define COLLECTOR_ACCESS_STORE_H

#include "collector/access.h"
#include "framewalk/error.h"

#include <stddef.h>

enum {
    ACCESS_REMEMBER_MS = 1000,
    ACCESS_USED_MS = 60000,
    ACCESS_SECRET_SIZE = 4 + 64 + 1, /* "fwt_" and 32 bytes as digits, terminated */
    ACCESS_CSRF_SIZE = 64 + 1,
    ACCESS_SESSION_MS = 12 * 3600 * 1000,
    ACCESS_HASH_SIZE = 32,
    ACCESS_ALL = 63, /* every scope */
};

struct access_entry {
    struct access access;
    char csrf[ACCESS_CSRF_SIZE]; /* of sessions; else "" */
    int64_t expires_ms;          /* 0: never */
};

struct access_store;
struct collector;
struct db_conn;

/* Makes the first project ("default"). *store is freed by access_close. FW_ERR_MEMORY,
 * FW_ERR_SYSTEM, and what the database says (db.h). */
fw_error access_open(struct collector *c, struct access_store **store, struct fw_failure *why);
void access_close(struct access_store *store); /* NULL is fine */

/* Whether the answer is remembered: then it is in `entry`, kind ACCESS_NOBODY for an unknown
 * secret. */
bool access_remembered(struct access_store *store, const char *secret, struct access_entry *entry);
/* FW_ERR_NOT_FOUND: no such secret, expired or revoked. */
fw_error access_find(struct access_store *store, const char *secret, struct access_entry *entry,
                     struct fw_failure *why);

struct access_new {
    enum access_kind kind;
    const char *label;
    unsigned scopes;
    int64_t project;    /* 0: all */
    int64_t parent;     /* of sessions */
    int64_t expires_ms; /* 0: never */
};
/* In the caller's transaction. The secret is nowhere but in `secret`; csrf: of sessions, NULL for
 * others. */
fw_error access_make(struct db_conn *conn, const struct access_new *what,
                     char secret[ACCESS_SECRET_SIZE], char csrf[ACCESS_CSRF_SIZE], int64_t *id,
                     struct fw_failure *why);
/* An admin's token where there is none yet; otherwise `first` is "". It is made last, when nothing
 * can keep the server from printing it any more. */
fw_error access_make_first(struct collector *c, char first[ACCESS_SECRET_SIZE],
                           struct fw_failure *why);
/* An admin's token, for `--new-token`. */
fw_error access_make_admin(struct collector *c, char secret[ACCESS_SECRET_SIZE],
                           struct fw_failure *why);
/* Forgets what is remembered of all: after the commit that ended one. */
void access_forget(struct access_store *store);

void access_hash(const char *secret, uint8_t hash[ACCESS_HASH_SIZE]);
/* In time that depends on the lengths alone. False for empty texts. */
bool access_same_text(const char *a, const char *b);
/* Of "read" and so on; 0: not a scope. */
unsigned access_scope_of(const char *name);
const char *access_scope_name(unsigned index); /* NULL past the last; scope 1 << index */

#endif
