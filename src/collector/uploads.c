/*
 * The requests of tus 1.0, https://tus.io/protocols/resumable-upload. Creation with the SHA-256 of
 * contents that are here, or on their way, answers 200 with what became of them: nothing, or only
 * the rest, is sent.
 *
 * What is sent becomes the project's whose token sends it. A token of all projects sends what is
 * shared with all, or names the project in Upload-Metadata. Of other projects' files nobody learns
 * anything: contents that only another project sent are not here.
 *
 * An upload that is not done yet is nobody's business but its owner's, the token that created it:
 * until its digest was looked at, its contents are what a client says. Others who know the digest
 * send their own, and learn of an upload of the same project when it is done.
 */
#include "collector/uploads.h"

#include "base/failure.h"
#include "base/hex.h"
#include "collector/api_scope.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/server.h"
#include "collector/upload_metadata.h"
#include "collector/uploads_inner.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    OPEN_OF_TOKEN = 64, /* uploads that are being sent; about, when several are created at once */
    OPEN_OF_ALL = 1024,
    OPEN_WAIT = 60, /* seconds after which to ask again */
};

/* ---- shared ---- */

bool upload_work_folder(const struct collector *c, char *path, size_t size, struct fw_failure *why)
{
    int n = snprintf(path, size, "%s/tmp", c->options->data);
    if (n > 0 && (size_t)n < size && (mkdir(path, 0700) == 0 || errno == EEXIST))
        return true;
    failure_say(why, FW_ERR_SYSTEM, errno, "%s cannot be made", path);
    return false;
}

bool upload_has_room(struct collector *c, uint64_t bytes)
{
    uint64_t most = UINT64_MAX - c->options->disk_reserve;
    return server_disk_free(c) >= c->options->disk_reserve + (bytes < most ? bytes : most);
}

void upload_random_digits(char *text, size_t digits)
{
    uint8_t bytes[UPLOAD_ID_DIGITS / 2];
    if (RAND_bytes(bytes, (int)(digits / 2)) != 1)
        abort(); /* OpenSSL has no random numbers: no id may be guessed */
    hex_text(text, bytes, digits / 2);
}

static bool is_id(const char *text)
{
    return text && strlen(text) == UPLOAD_ID_DIGITS &&
           strspn(text, "0123456789abcdef") == UPLOAD_ID_DIGITS;
}

void upload_no_room(struct http_request *r)
{
    http_reply_error(r, 507, "the server's disk is nearly full: make room there, or send later");
}

bool upload_speaks_tus(struct http_request *r)
{
    const char *version = http_header(r, "Tus-Resumable");
    http_set_header(r, "Tus-Resumable", "1.0.0");
    if (!version || strcmp(version, "1.0.0") == 0)
        return true;
    http_set_header(r, "Tus-Version", "1.0.0");
    http_reply_error(r, 412, "tus 1.0.0 is spoken here");
    return false;
}

bool upload_header_number(const struct http_request *r, const char *name, uint64_t *value)
{
    const char *text = http_header(r, name);
    char *end;
    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *value <= INT64_MAX;
}

/* ---- rows ---- */

static const char *copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text ? text : "") + 1;
    char *copy = arena_take(arena, size);
    return copy ? memcpy(copy, text ? text : "", size) : "";
}

static const char select_upload[] =
    "SELECT u.id, u.name, u.size, u.received, u.state, u.message, u.result, j.done, j.total, "
    "j.state, u.owner, u.project FROM upload u LEFT JOIN job j ON j.kind = 'convert' AND j.subject "
    "= u.id AND "
    "j.state < 2 WHERE u.id = $1";
static const char select_same[] =
    "SELECT u.id, u.name, u.size, u.received, u.state, u.message, u.result, j.done, j.total, "
    "j.state, u.owner, u.project FROM upload u LEFT JOIN job j ON j.kind = 'convert' AND j.subject "
    "= u.id AND "
    "j.state < 2 WHERE u.sha256 = $1 AND u.size = $2 AND u.project = $4 AND (u.state = 2 OR "
    "(u.state < 2 AND u.owner = $3)) "
    "ORDER BY u.state DESC, u.received DESC LIMIT 1";

/* Also of one that is not the asker's business: he learns nothing of it. */
static fw_error no_such_upload(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_NOT_FOUND, 0,
                       "no such upload: it was removed, or took too long");
}

/* FW_ERR_NOT_FOUND when there is none. */
static fw_error find_upload(struct http_request *r, const char *sql, const struct db_value *values,
                            size_t count, struct upload *upload, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows = NULL;
    fw_error error = db_take(r->collector->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    bool found = false;
    error = db_query(conn, &rows, why, sql, values, count);
    if (error == FW_OK && db_next(rows)) {
        found = true;
        *upload = (struct upload){.name = copy_text(&r->arena, db_get_text(rows, 1)),
                                  .size = (uint64_t)db_get_int(rows, 2),
                                  .received = (uint64_t)db_get_int(rows, 3),
                                  .state = (enum upload_state)db_get_int(rows, 4),
                                  .message = copy_text(&r->arena, db_get_text(rows, 5)),
                                  .result = copy_text(&r->arena, db_get_text(rows, 6)),
                                  .done = (uint64_t)db_get_int(rows, 7),
                                  .total = (uint64_t)db_get_int(rows, 8),
                                  .running = db_get_int(rows, 9) == 1,
                                  .owner = db_get_int(rows, 10),
                                  .project = db_get_int(rows, 11)};
        snprintf(upload->id, sizeof upload->id, "%s", db_get_text(rows, 0));
    }
    if (error == FW_OK)
        error = db_end(rows, why);
    db_give(r->collector->db, conn);
    return error == FW_OK && !found ? no_such_upload(why) : error;
}

/* Of the token that created it, and of administrators. */
static bool is_owner(const struct http_request *r, const struct upload *u)
{
    return u->owner == r->access.id || (r->access.scopes & ACCESS_ADMIN && !r->access.project);
}

bool upload_of_path(struct http_request *r, struct upload *upload)
{
    const char *id = http_part(r, "id");
    struct fw_failure why = {0};
    if (!is_id(id))
        no_such_upload(&why);
    else if (find_upload(r, select_upload, DB_VALUES(db_text(id)), upload, &why) == FW_OK) {
        bool reached = !upload->project || access_reaches(&r->access, upload->project);
        if ((upload->state == UPLOAD_CONVERTED && reached) || is_owner(r, upload))
            return true;
        no_such_upload(&why);
    }
    http_reply_failure(r, &why);
    return false;
}

static json_t *upload_json(const struct upload *u)
{
    static const char *const states[] = {"sending", "queued", "done", "failed"};
    const char *state = u->state == UPLOAD_QUEUED && u->running ? "converting" : states[u->state];
    json_t *files = json_loads(u->result, 0, NULL);
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:o}", "id", u->id, "name",
                     u->name, "size", (json_int_t)u->size, "received", (json_int_t)u->received,
                     "state", state, "message", u->message, "done", (json_int_t)u->done, "total",
                     (json_int_t)u->total, "part_bytes", UPLOAD_PART_BYTES, "files",
                     files ? files : json_array());
}

void upload_set_number(struct http_request *r, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    http_set_header(r, name, text);
}

void upload_set_place(struct http_request *r, const struct upload *u)
{
    char place[64 + UPLOAD_ID_DIGITS];
    snprintf(place, sizeof place, "/api/v1/uploads/%s", u->id);
    http_set_header(r, "Location", place);
    upload_set_number(r, "Upload-Offset", u->received);
    upload_set_number(r, "Upload-Length", u->size);
    http_set_header(r, "Cache-Control", "no-store");
}

/* ---- creation ---- */

static fw_error count_open(struct db_conn *conn, int64_t owner, int64_t *mine, int64_t *all,
                           struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error error = db_query(conn, &rows, why,
                              "SELECT (SELECT COUNT(*) FROM upload WHERE state = 0 AND owner = $1),"
                              " (SELECT COUNT(*) FROM upload WHERE state = 0)",
                              DB_VALUES(db_int(owner)));
    if (error != FW_OK)
        return error;
    if (db_next(rows)) {
        *mine = db_get_int(rows, 0);
        *all = db_get_int(rows, 1);
    }
    return db_end(rows, why);
}

/* False, and replied, when too many are being sent. */
static bool may_open(struct http_request *r)
{
    struct db_conn *conn;
    struct fw_failure why = {0};
    int64_t mine = 0, all = 0;
    fw_error error = db_take(r->collector->db, DB_READ, &conn, &why);
    if (error == FW_OK) {
        error = count_open(conn, r->access.id, &mine, &all, &why);
        db_give(r->collector->db, conn);
    }
    if (error != FW_OK) {
        http_reply_failure(r, &why);
        return false;
    }
    if (mine < OPEN_OF_TOKEN && all < OPEN_OF_ALL)
        return true;
    upload_set_number(r, "Retry-After", OPEN_WAIT);
    if (mine >= OPEN_OF_TOKEN)
        http_reply_error(r, 429,
                         "%d uploads of this token are not whole: finish them, or remove them "
                         "(DELETE); those that nobody continues go after three days",
                         OPEN_OF_TOKEN);
    else
        http_reply_error(r, 507, "%d uploads are not whole, more are not taken: try again later",
                         OPEN_OF_ALL);
    return false;
}

static fw_error insert_upload(struct http_request *r, const struct upload *u, const uint8_t *sha256,
                              struct fw_failure *why)
{
    struct db_conn *conn;
    int64_t now = (int64_t)collector_now_ms();
    fw_error error = db_take(r->collector->db, DB_WRITE, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_begin(conn, why);
    if (error == FW_OK)
        error =
            db_run(conn, why,
                   "INSERT INTO upload (id, name, size, sha256, received, state, message, "
                   "created_ms, changed_ms, created_by, owner, project) VALUES ($1, $2, $3, $4, "
                   "0, 0, '', $5, $5, $6, $7, $8)",
                   DB_VALUES(db_text(u->id), db_text(u->name), db_int((int64_t)u->size),
                             sha256 ? db_bytes(sha256, 32) : db_null(), db_int(now),
                             db_text(r->access.label), db_int(r->access.id), db_int(u->project)));
    if (error == FW_OK)
        error = db_commit(conn, why);
    db_give(r->collector->db, conn);
    return error;
}

/* What the headers say; false, and replied, when it is wrong or too much. */
static bool read_creation(struct http_request *r, struct upload *u, uint8_t sha256[32], bool *given)
{
    uint64_t most = r->collector->options->upload_bytes;
    if (!upload_header_number(r, "Upload-Length", &u->size) || !u->size)
        http_reply_error(r, 400, "Upload-Length must say how many bytes will come");
    else if (u->size > most)
        http_reply_error(r, 413, "more than %" PRIu64 " MB, the limit for one upload here",
                         most >> 20);
    else if (!upload_metadata_sha256(http_header(r, "Upload-Metadata"), sha256, given))
        http_reply_error(r, 400,
                         "sha256 in Upload-Metadata must be 64 lower-case hexadecimal digits, in "
                         "base64");
    else
        return true;
    return false;
}

/* Whose the files will be; false, and replied, when the project is none that the token reaches. */
static bool read_project(struct http_request *r, struct upload *u)
{
    char slug[UPLOAD_PROJECT_SIZE];
    u->project = r->access.project;
    return !upload_metadata_project(http_header(r, "Upload-Metadata"), slug) ||
           api_scope_project(r, slug, &u->project);
}

static void reply_upload(struct http_request *r, int status, const struct upload *u)
{
    upload_set_place(r, u);
    http_reply_json(r, status, upload_json(u));
}

static void create_new(struct http_request *r, struct upload *u, const uint8_t *sha256)
{
    struct fw_failure why = {0};
    char name[UPLOAD_NAME_SIZE];
    if (!upload_has_room(r->collector, u->size)) {
        upload_no_room(r);
        return;
    }
    if (!may_open(r))
        return;
    upload_metadata_name(http_header(r, "Upload-Metadata"), name);
    u->name = name;
    u->result = u->message = "";
    upload_random_digits(u->id, UPLOAD_ID_DIGITS);
    if (insert_upload(r, u, sha256, &why) == FW_OK)
        reply_upload(r, 201, u);
    else
        http_reply_failure(r, &why);
}

static void create(struct http_request *r)
{
    struct upload u = {0}, same;
    struct fw_failure why = {0};
    uint8_t sha256[32];
    bool given;
    if (!upload_speaks_tus(r) || !read_creation(r, &u, sha256, &given) || !read_project(r, &u))
        return;
    fw_error error = given ? find_upload(r, select_same,
                                         DB_VALUES(db_bytes(sha256, 32), db_int((int64_t)u.size),
                                                   db_int(r->access.id), db_int(u.project)),
                                         &same, &why)
                           : FW_ERR_NOT_FOUND;
    if (error == FW_OK)
        reply_upload(r, 200, &same);
    else if (error == FW_ERR_NOT_FOUND)
        create_new(r, &u, given ? sha256 : NULL);
    else
        http_reply_failure(r, &why);
}

static void options(struct http_request *r)
{
    http_set_header(r, "Tus-Resumable", "1.0.0");
    http_set_header(r, "Tus-Version", "1.0.0");
    http_set_header(r, "Tus-Extension", "creation,termination");
    upload_set_number(r, "Tus-Max-Size", r->collector->options->upload_bytes);
    http_reply_text(r, 204, "text/plain", "");
}

static void show(struct http_request *r)
{
    struct upload u;
    if (!upload_speaks_tus(r) || !upload_of_path(r, &u))
        return;
    reply_upload(r, 200, &u);
}

/* ---- termination ---- */

static fw_error remove_rows(struct db_conn *conn, const char *id, bool *gone,
                            struct fw_failure *why)
{
    uint64_t changed = 0;
    fw_error error = db_begin(conn, why);
    if (error == FW_OK)
        error = db_change(conn, why, &changed, "DELETE FROM upload WHERE id = $1 AND state <> 1",
                          DB_VALUES(db_text(id)));
    if (error == FW_OK && changed)
        error =
            db_run(conn, why, "DELETE FROM upload_part WHERE upload = $1", DB_VALUES(db_text(id)));
    *gone = changed == 1;
    return error == FW_OK ? db_commit(conn, why) : error;
}

static bool remove_blob(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    (void)size, (void)changed_ms;
    blobs_remove(context, key, NULL); /* what stays, the job "uploads" finds */
    return true;
}

static void terminate(struct http_request *r)
{
    struct upload u;
    struct fw_failure why = {0};
    struct db_conn *conn;
    bool gone = false;
    char prefix[64];
    if (!upload_speaks_tus(r) || !upload_of_path(r, &u))
        return;
    if (!is_owner(r, &u)) {
        http_reply_error(r, 403, "another token has sent it: an administrator may remove it");
        return;
    }
    fw_error error = db_take(r->collector->db, DB_WRITE, &conn, &why);
    if (error == FW_OK) {
        error = remove_rows(conn, u.id, &gone, &why);
        db_give(r->collector->db, conn);
    }
    if (error != FW_OK) {
        http_reply_failure(r, &why);
    } else if (!gone) {
        http_reply_error(r, 409, "it is being converted: its files can be removed afterwards");
    } else {
        snprintf(prefix, sizeof prefix, "uploads/%s/", u.id);
        blobs_list(r->collector->blobs, prefix, remove_blob, r->collector->blobs, NULL);
        http_reply_text(r, 204, "text/plain", "");
    }
}

static const struct http_route routes[] = {
    {.method = "OPTIONS", .pattern = "/api/v1/uploads", .handle = options},
    {.method = "POST",
     .pattern = "/api/v1/uploads",
     .needs = ACCESS_SYMBOLS_WRITE,
     .handle = create},
    {.method = "GET",
     .pattern = "/api/v1/uploads/{id}",
     .needs = ACCESS_SYMBOLS_WRITE,
     .handle = show},
    {.method = "PATCH",
     .pattern = "/api/v1/uploads/{id}",
     .needs = ACCESS_SYMBOLS_WRITE,
     .flags = HTTP_STREAM,
     .body_limit = UPLOAD_PART_BYTES,
     .handle = upload_part_end,
     .piece = upload_part_piece,
     .drop = upload_part_drop},
    {.method = "DELETE",
     .pattern = "/api/v1/uploads/{id}",
     .needs = ACCESS_SYMBOLS_WRITE,
     .handle = terminate},
};
const struct http_routes routes_uploads = {routes, sizeof routes / sizeof *routes};
