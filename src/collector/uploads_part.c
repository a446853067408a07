/*
 * A part of an upload: PATCH of tus 1.0.
 *
 * Two requests may send the same part at once: each has a blob of its own, and the first that
 * commits wins, for it alone finds `received` where it began.
 */
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/metrics.h"
#include "collector/uploads_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    KEEP_LEAST = 256 << 10, /* bytes of a part that broke off: fewer are not worth a blob */
    RANDOM_DIGITS = 8,
};

struct part { /* what one PATCH brings */
    struct collector *c;
    char id[UPLOAD_ID_DIGITS + 1];
    char random[RANDOM_DIGITS + 1];
    char path[512];
    int fd;
    uint64_t offset, size, left; /* `left`: that the upload still lacks */
};

static void part_free(struct part *p)
{
    if (p->fd >= 0)
        close(p->fd);
    unlink(p->path);
    free(p);
}

/* NULL, and replied, when it may not begin. */
static struct part *part_begin(struct http_request *r)
{
    struct upload u;
    struct fw_failure why = {0};
    uint64_t offset;
    char folder[400];
    const char *type = http_header(r, "Content-Type");
    if (!upload_speaks_tus(r))
        return NULL;
    if (!type || strcmp(type, "application/offset+octet-stream") != 0) {
        http_reply_error(r, 415, "Content-Type must be application/offset+octet-stream");
        return NULL;
    }
    if (!upload_header_number(r, "Upload-Offset", &offset)) {
        http_reply_error(r, 400, "Upload-Offset must say where the part begins");
        return NULL;
    }
    if (!upload_of_path(r, &u))
        return NULL;
    if (u.state != UPLOAD_SENDING || offset != u.received) {
        upload_set_place(r, &u);
        http_reply_error(r, 409, "%" PRIu64 " bytes are here: go on from there", u.received);
        return NULL;
    }
    if (!upload_has_room(r->collector, UPLOAD_PART_BYTES)) {
        upload_no_room(r);
        return NULL;
    }
    struct part *p = calloc(1, sizeof *p);
    if (!p || !upload_work_folder(r->collector, folder, sizeof folder, &why)) {
        free(p);
        http_reply_error(r, 503, "the server has no memory or no folder for the part");
        return NULL;
    }
    *p = (struct part){.c = r->collector, .offset = offset, .left = u.size - u.received};
    snprintf(p->id, sizeof p->id, "%s", u.id);
    upload_random_digits(p->random, RANDOM_DIGITS);
    snprintf(p->path, sizeof p->path, "%s/part-%s-%s", folder, p->id, p->random);
    p->fd = open(p->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (p->fd >= 0)
        return p;
    free(p);
    http_reply_error(r, 503, "the server cannot make a file for the part");
    return NULL;
}

bool upload_part_piece(struct http_request *r, void **state, const uint8_t *data, size_t size)
{
    struct part *p = *state;
    if (!p && !(p = *state = part_begin(r)))
        return false;
    if (size > p->left - p->size) {
        http_reply_error(r, 413, "more bytes than Upload-Length said");
        return false;
    }
    while (size) {
        ssize_t n = write(p->fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            upload_no_room(r);
            return false;
        }
        data += n;
        size -= (size_t)n;
        p->size += (uint64_t)n;
    }
    return true;
}

static fw_error part_rows(struct part *p, struct db_conn *conn, const char *key, bool *won,
                          struct fw_failure *why)
{
    uint64_t changed = 0;
    int64_t now = (int64_t)collector_now_ms(), state = p->size == p->left;
    fw_error error = db_begin(conn, why);
    if (error == FW_OK)
        error = db_change(conn, why, &changed,
                          "UPDATE upload SET received = received + $2, state = $5, changed_ms = $4 "
                          "WHERE id = $1 AND received = $3 AND state = 0",
                          DB_VALUES(db_text(p->id), db_int((int64_t)p->size),
                                    db_int((int64_t)p->offset), db_int(now), db_int(state)));
    *won = changed == 1;
    if (error != FW_OK || !*won)
        return error;
    error = db_run(conn, why,
                   "INSERT INTO upload_part (upload, start, size, blob) VALUES ($1, $2, $3, $4)",
                   DB_VALUES(db_text(p->id), db_int((int64_t)p->offset), db_int((int64_t)p->size),
                             db_text(key)));
    if (error == FW_OK && state)
        error = jobs_add(conn, "convert", p->id, "", why);
    return error == FW_OK ? db_commit(conn, why) : error;
}

/* Makes the part durable. *won is false when another request was faster. */
static fw_error part_commit(struct part *p, bool *won, struct fw_failure *why)
{
    char key[128];
    struct db_conn *conn;
    *won = false;
    snprintf(key, sizeof key, "uploads/%s/%" PRIu64 "-%s", p->id, p->offset, p->random);
    fw_error error = blobs_put_file(p->c->blobs, key, p->path, why);
    if (error != FW_OK)
        return error;
    error = db_take(p->c->db, DB_WRITE, &conn, why);
    if (error == FW_OK) {
        error = part_rows(p, conn, key, won, why);
        db_give(p->c->db, conn);
    }
    /* After a commit that failed the row may be there after all: then the job "uploads" decides. */
    if (error == FW_OK && !*won)
        blobs_remove(p->c->blobs, key, NULL);
    if (error == FW_OK && *won)
        metrics_add(p->c->metrics, METRIC_UPLOAD_BYTES, p->size);
    if (error == FW_OK && *won && p->size == p->left)
        jobs_wake(p->c->jobs);
    return error;
}

void upload_part_end(struct http_request *r)
{
    struct part *p = http_stream_state(r);
    struct fw_failure why = {0};
    bool won = true;
    if (!p && !(p = part_begin(r)))
        return;
    fw_error error = p->size ? part_commit(p, &won, &why) : FW_OK;
    if (error != FW_OK) {
        http_reply_failure(r, &why);
    } else if (!won) {
        http_reply_error(r, 409, "another request sent this part: ask where to go on");
    } else {
        http_set_header(r, "Tus-Resumable", "1.0.0");
        upload_set_number(r, "Upload-Offset", p->offset + p->size);
        http_reply_text(r, 204, "text/plain", "");
    }
    part_free(p);
}

/* The connection broke, or the part was refused: what came whole is kept. */
void upload_part_drop(void *state)
{
    struct part *p = state;
    struct fw_failure why;
    bool won;
    if (p && p->size >= KEEP_LEAST)
        part_commit(p, &won, &why);
    if (p)
        part_free(p);
}
