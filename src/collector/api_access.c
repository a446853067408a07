/* /api/v1/session, projects, tokens and audit: who may what. */
#include "collector/access_store.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "collector/db.h"
#include "collector/http.h"
#include "collector/http_parse.h"
#include "collector/http_peer.h"
#include "collector/http_session.h"
#include "collector/metrics.h"
#include "collector/rate_limits.h"
#include "collector/token_request.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOGINS_A_MINUTE = 10,
    SMALL_BODY = 16384,
    LIST_DEFAULT = 50,
    LIST_MAX = 500,
    SLUG_MAX = 40,
    NAME_MAX_BYTES = 200,
};

static json_t *scopes_json(unsigned scopes)
{
    json_t *list = json_array();
    for (unsigned i = 0; access_scope_name(i); i++) {
        if (scopes & 1u << i)
            json_array_append_new(list, json_string(access_scope_name(i)));
    }
    return list;
}

static json_t *time_json(const struct db_rows *rows, int column)
{
    return db_is_null(rows, column) ? json_null() : json_integer(db_get_int(rows, column));
}

/* ---- a transaction of a handler ---- */

/* Replies when it fails. */
static bool begin(struct http_request *r, struct db_conn **conn)
{
    struct fw_failure why = {0};
    *conn = NULL;
    fw_error error = db_take(r->collector->db, DB_WRITE, conn, &why);
    if (!error)
        error = db_begin(*conn, &why);
    if (!error)
        return true;
    db_give(r->collector->db, *conn);
    http_reply_failure(r, &why);
    return false;
}

/* Commits unless `error`; replies when anything failed. Gives the connection back. */
static bool finish(struct http_request *r, struct db_conn *conn, fw_error error,
                   struct fw_failure *why)
{
    if (!error)
        error = db_commit(conn, why);
    db_give(r->collector->db, conn);
    if (error)
        http_reply_failure(r, why);
    return !error;
}

/* ---- sessions ---- */

static void set_cookie(struct http_request *r, const char *value, int64_t seconds)
{
    char text[256];
    snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
             http_session_cookie(r), value, (long long)seconds, http_has_tls(r) ? "; Secure" : "");
    http_set_header(r, "Set-Cookie", text);
}

static void reply_session(struct http_request *r, const struct access *who, const char *csrf,
                          int64_t expires_ms)
{
    http_reply_json(r, 200,
                    json_pack("{s:s, s:o, s:s, s:I}", "label", who->label, "scopes",
                              scopes_json(who->scopes), "csrf", csrf, "expires_ms",
                              (json_int_t)expires_ms));
}

/* Few attempts, since each may be a guess. */
static bool may_sign_in(struct http_request *r)
{
    char name[64], address[HTTP_ADDRESS_SIZE];
    http_peer_name(http_address(r), address);
    snprintf(name, sizeof name, "login %s", address);
    unsigned wait = rate_limits_take(r->collector->limits, name, LOGINS_A_MINUTE, LOGINS_A_MINUTE,
                                     1, clock_us());
    if (!http_same_origin(r)) {
        http_reply_error(r, 403, "sessions are made from the server's own page");
    } else if (wait) {
        char text[16];
        snprintf(text, sizeof text, "%u", wait);
        http_set_header(r, "Retry-After", text);
        metrics_add(r->collector->metrics, METRIC_RATE_LIMITED, 1);
        http_reply_error(r, 429, "too many attempts to sign in; try again in %u s", wait);
    } else {
        return true;
    }
    return false;
}

static void make_session(struct http_request *r, const struct access_entry *token)
{
    struct fw_failure why = {0};
    struct db_conn *conn;
    char secret[ACCESS_SECRET_SIZE], csrf[ACCESS_CSRF_SIZE];
    int64_t id = 0, expires = (int64_t)collector_now_ms() + ACCESS_SESSION_MS;
    if (token->expires_ms && token->expires_ms < expires)
        expires = token->expires_ms;
    struct access_new session = {.kind = ACCESS_SESSION,
                                 .label = token->access.label,
                                 .scopes = token->access.scopes,
                                 .project = token->access.project,
                                 .parent = token->access.id,
                                 .expires_ms = expires};
    if (!begin(r, &conn))
        return;
    fw_error error = access_make(conn, &session, secret, csrf, &id, &why);
    if (!error)
        audit(conn, &token->access, "session.create", "", "");
    if (!finish(r, conn, error, &why))
        return;
    set_cookie(r, secret, (expires - (int64_t)collector_now_ms()) / 1000);
    reply_session(r, &token->access, csrf, expires);
}

static void post_session(struct http_request *r)
{
    struct access_entry token;
    struct fw_failure why = {0};
    if (!may_sign_in(r))
        return;
    json_t *body = http_json(r);
    if (!body)
        return;
    const char *secret = json_string_value(json_object_get(body, "token"));
    fw_error error =
        secret ? access_find(r->collector->access, secret, &token, &why) : FW_ERR_NOT_FOUND;
    json_decref(body);
    if (error && error != FW_ERR_NOT_FOUND) {
        http_reply_failure(r, &why);
    } else if (error || token.access.kind != ACCESS_TOKEN) {
        metrics_add(r->collector->metrics, METRIC_LOGINS_REFUSED, 1);
        http_reply_error(r, 401, "this is no token, or it has expired or was revoked");
    } else {
        make_session(r, &token);
    }
}

static void get_session(struct http_request *r)
{
    if (r->access.kind != ACCESS_SESSION) {
        http_reply_error(r, 401, "there is no session");
        return;
    }
    reply_session(r, &r->access, http_csrf(r), http_session_expires(r));
}

/* Ends keys, tokens or sessions: at once on this server. */
static fw_error revoke(struct db_conn *conn, int64_t id, uint64_t *rows, struct fw_failure *why)
{
    return db_change(conn, why, rows,
                     "UPDATE access_key SET revoked_ms = $1 WHERE id = $2 AND revoked_ms IS NULL",
                     DB_VALUES(db_int((int64_t)collector_now_ms()), db_int(id)));
}

static void delete_session(struct http_request *r)
{
    struct fw_failure why = {0};
    struct db_conn *conn;
    uint64_t rows;
    if (r->access.kind == ACCESS_SESSION) {
        if (!begin(r, &conn))
            return;
        if (!finish(r, conn, revoke(conn, r->access.id, &rows, &why), &why))
            return;
        access_forget(r->collector->access);
    }
    set_cookie(r, "", 0);
    http_reply_bytes(r, 204, "text/plain", NULL, 0);
}

/* ---- lists ---- */

/* Adds a row to `items`; its id is the cursor. */
typedef json_t *(*row_json)(const struct db_rows *rows);

static void reply_list(struct http_request *r, const char *sql, const struct db_value *values,
                       size_t count, int64_t limit, row_json row)
{
    struct fw_failure why = {0};
    struct db_conn *conn = NULL;
    struct db_rows *rows = NULL;
    json_t *items = json_array();
    int64_t last = 0;
    bool more = false;
    fw_error error = db_take(r->collector->db, DB_READ, &conn, &why);
    if (!error)
        error = db_query(conn, &rows, &why, sql, values, count);
    while (!error && db_next(rows)) {
        more = json_array_size(items) == (size_t)limit; /* one more than asked for was */
        if (more)
            break;
        last = db_get_int(rows, 0);
        json_array_append_new(items, row(rows));
    }
    if (!error)
        error = db_end(rows, &why);
    db_give(r->collector->db, conn);
    if (error) {
        json_decref(items);
        http_reply_failure(r, &why);
        return;
    }
    char cursor[24];
    snprintf(cursor, sizeof cursor, "%lld", (long long)last);
    http_reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", more ? cursor : NULL));
}

static bool page_of_list(struct http_request *r, int64_t *limit, int64_t *after)
{
    return http_query_number(r, "limit", 1, LIST_MAX, LIST_DEFAULT, limit) &&
           http_query_number(r, "after", 1, INT64_MAX, INT64_MAX, after);
}

/* ---- projects ---- */

static json_t *project_json(const struct db_rows *rows)
{
    return json_pack("{s:s, s:s, s:I}", "slug", db_get_text(rows, 1), "name", db_get_text(rows, 2),
                     "created_ms", (json_int_t)db_get_int(rows, 3));
}

static void get_projects(struct http_request *r)
{
    int64_t limit, after;
    if (page_of_list(r, &limit, &after))
        reply_list(r,
                   "SELECT id, slug, name, created_ms FROM project"
                   " WHERE id < $1 AND ($2 = 0 OR id = $2) ORDER BY id DESC LIMIT $3",
                   DB_VALUES(db_int(after), db_int(r->access.project), db_int(limit + 1)), limit,
                   project_json);
}

static bool is_slug(const char *text)
{
    size_t size = strlen(text);
    return size >= 1 && size <= SLUG_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size && text[0] != '-';
}

/* What concerns the whole server is not for tokens of one project. */
static bool of_server(struct http_request *r)
{
    if (!r->access.project)
        return true;
    http_reply_error(r, 403, "this needs a token that is not limited to one project");
    return false;
}

static void make_project(struct http_request *r, const char *slug, const char *name)
{
    struct fw_failure why = {0};
    struct db_conn *conn;
    uint64_t rows = 0;
    int64_t now = (int64_t)collector_now_ms();
    if (!begin(r, &conn))
        return;
    fw_error error = db_change(conn, &why, &rows,
                               "INSERT INTO project (slug, name, created_ms) VALUES ($1, $2, $3)"
                               " ON CONFLICT (slug) DO NOTHING",
                               DB_VALUES(db_text(slug), db_text(name), db_int(now)));
    if (!error && rows)
        audit(conn, &r->access, "project.create", slug, name);
    if (!finish(r, conn, error, &why))
        return;
    if (rows)
        http_reply_json(r, 201,
                        json_pack("{s:s, s:s, s:I}", "slug", slug, "name", name, "created_ms",
                                  (json_int_t)now));
    else
        http_reply_error(r, 409, "there is a project %s already", slug);
}

static void post_projects(struct http_request *r)
{
    json_t *body = of_server(r) ? http_json(r) : NULL;
    if (!body)
        return;
    char wrong[TOKEN_WRONG_SIZE];
    const char *slug = token_request_text(body, "slug", SLUG_MAX, wrong);
    const char *name = slug ? token_request_text(body, "name", NAME_MAX_BYTES, wrong) : NULL;
    if (!name)
        http_reply_error(r, 400, "%s", wrong);
    else if (!is_slug(slug))
        http_reply_error(r, 400, "\"slug\" must be of a-z, 0-9 and -, and not begin with -");
    else
        make_project(r, slug, name);
    json_decref(body);
}

/* ---- tokens ---- */

static json_t *token_json(const struct db_rows *rows)
{
    const char *slug = db_get_text(rows, 4);
    return json_pack("{s:I, s:s, s:s, s:o, s:s?, s:I, s:o, s:o}", "id",
                     (json_int_t)db_get_int(rows, 0), "kind",
                     db_get_int(rows, 1) == ACCESS_KEY ? "key" : "token", "label",
                     db_get_text(rows, 2), "scopes", scopes_json((unsigned)db_get_int(rows, 3)),
                     "project", slug, "created_ms", (json_int_t)db_get_int(rows, 5), "expires_ms",
                     time_json(rows, 6), "used_ms", time_json(rows, 7));
}

static void get_tokens(struct http_request *r)
{
    int64_t limit, after;
    if (page_of_list(r, &limit, &after))
        reply_list(r,
                   "SELECT k.id, k.kind, k.label, k.scopes, p.slug, k.created_ms, k.expires_ms,"
                   " k.used_ms FROM access_key k LEFT JOIN project p ON p.id = k.project"
                   " WHERE k.id < $1 AND k.kind IN (1, 2) AND k.revoked_ms IS NULL"
                   " AND ($2 = 0 OR k.project = $2) ORDER BY k.id DESC LIMIT $3",
                   DB_VALUES(db_int(after), db_int(r->access.project), db_int(limit + 1)), limit,
                   token_json);
}

/* FW_ERR_NOT_FOUND: no such project; for who is limited to one, FW_OK, and 0 is another than his.
 */
static fw_error project_of(struct http_request *r, struct db_conn *conn, const char *slug,
                           int64_t *project, struct fw_failure *why)
{
    struct db_rows *rows = NULL;
    fw_error error = db_query(conn, &rows, why, "SELECT id FROM project WHERE slug = $1",
                              DB_VALUES(db_text(slug)));
    if (error)
        return error;
    *project = db_next(rows) ? db_get_int(rows, 0) : 0;
    error = db_end(rows, why);
    if (!error && !*project && !r->access.project) {
        snprintf(why->message, sizeof why->message, "there is no project %.60s", slug);
        why->code = error = FW_ERR_NOT_FOUND;
    }
    return error;
}

static void make_token(struct http_request *r, struct access_new *what, const char *slug)
{
    struct fw_failure why = {0};
    struct db_conn *conn;
    char secret[ACCESS_SECRET_SIZE], subject[24];
    int64_t id = 0;
    if (!begin(r, &conn))
        return;
    fw_error error = slug ? project_of(r, conn, slug, &what->project, &why) : FW_OK;
    if (!error && r->access.project && what->project != r->access.project) {
        db_give(r->collector->db, conn);
        http_reply_error(r, 403, "this token is limited to one project, and gives none for others");
        return;
    }
    if (!error)
        error = access_make(conn, what, secret, NULL, &id, &why);
    snprintf(subject, sizeof subject, "%lld", (long long)id);
    if (!error)
        audit(conn, &r->access, "token.create", subject, what->label);
    if (!finish(r, conn, error, &why))
        return;
    http_reply_json(r, 201,
                    json_pack("{s:I, s:s, s:s, s:s, s:o, s:s?, s:o}", "id", (json_int_t)id,
                              "secret", secret, "kind", what->kind == ACCESS_KEY ? "key" : "token",
                              "label", what->label, "scopes", scopes_json(what->scopes), "project",
                              slug, "expires_ms",
                              what->expires_ms ? json_integer(what->expires_ms) : json_null()));
    OPENSSL_cleanse(secret, sizeof secret);
}

static void post_tokens(struct http_request *r)
{
    struct token_request request;
    char wrong[TOKEN_WRONG_SIZE];
    json_t *body = http_json(r);
    if (!body)
        return;
    int status =
        token_request_read(body, r->access.scopes, (int64_t)collector_now_ms(), &request, wrong);
    if (status)
        http_reply_error(r, status, "%s", wrong);
    else
        make_token(r, &request.what, request.slug);
    json_decref(body);
}

static void delete_token(struct http_request *r)
{
    struct fw_failure why = {0};
    struct db_conn *conn;
    uint64_t id, rows = 0;
    const char *text = http_part(r, "id");
    if (!http_number(text, &id) || id > INT64_MAX) {
        http_reply_error(r, 404, "there is no such token");
        return;
    }
    if (!begin(r, &conn))
        return;
    fw_error error =
        db_change(conn, &why, &rows,
                  "UPDATE access_key SET revoked_ms = $1 WHERE id = $2 AND revoked_ms IS NULL"
                  " AND kind IN (1, 2) AND ($3 = 0 OR project = $3)",
                  DB_VALUES(db_int((int64_t)collector_now_ms()), db_int((int64_t)id),
                            db_int(r->access.project)));
    if (!error && rows)
        audit(conn, &r->access, "token.revoke", text, "");
    if (!finish(r, conn, error, &why))
        return;
    access_forget(r->collector->access);
    if (rows)
        http_reply_bytes(r, 204, "text/plain", NULL, 0);
    else
        http_reply_error(r, 404, "there is no such token");
}

/* ---- audit ---- */

static json_t *audit_json(const struct db_rows *rows)
{
    return json_pack("{s:I, s:s, s:s, s:s, s:s}", "at_ms", (json_int_t)db_get_int(rows, 1), "label",
                     db_get_text(rows, 2), "action", db_get_text(rows, 3), "subject",
                     db_get_text(rows, 4), "detail", db_get_text(rows, 5));
}

static void get_audit(struct http_request *r)
{
    int64_t limit, after;
    if (of_server(r) && page_of_list(r, &limit, &after))
        reply_list(r,
                   "SELECT id, at_ms, label, action, subject, detail FROM audit WHERE id < $1"
                   " ORDER BY id DESC LIMIT $2",
                   DB_VALUES(db_int(after), db_int(limit + 1)), limit, audit_json);
}

static const struct http_route routes[] = {
    {.method = "POST",
     .pattern = "/api/v1/session",
     .body_limit = SMALL_BODY,
     .handle = post_session},
    {.method = "GET", .pattern = "/api/v1/session", .handle = get_session},
    {.method = "DELETE", .pattern = "/api/v1/session", .handle = delete_session},
    {.method = "GET", .pattern = "/api/v1/projects", .needs = ACCESS_READ, .handle = get_projects},
    {.method = "POST",
     .pattern = "/api/v1/projects",
     .needs = ACCESS_ADMIN,
     .body_limit = SMALL_BODY,
     .handle = post_projects},
    {.method = "GET", .pattern = "/api/v1/tokens", .needs = ACCESS_ADMIN, .handle = get_tokens},
    {.method = "POST",
     .pattern = "/api/v1/tokens",
     .needs = ACCESS_ADMIN,
     .body_limit = SMALL_BODY,
     .handle = post_tokens},
    {.method = "DELETE",
     .pattern = "/api/v1/tokens/{id}",
     .needs = ACCESS_ADMIN,
     .handle = delete_token},
    {.method = "GET", .pattern = "/api/v1/audit", .needs = ACCESS_ADMIN, .handle = get_audit},
};
const struct http_routes routes_access = {routes, sizeof routes / sizeof *routes};
