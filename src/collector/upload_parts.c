#include "collector/upload_parts.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/files.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 1 << 18 };

struct piece {
    uint64_t start, size;
    char blob[160];
};

static fw_error list_pieces(struct collector *c, const char *id, struct piece **pieces,
                            size_t *count, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows = NULL;
    size_t capacity = 0;
    bool room = true;
    fw_error error = db_take(c->db, DB_READ, &conn, why);
    if (error != FW_OK)
        return error;
    error = db_query(conn, &rows, why,
                     "SELECT start, size, blob FROM upload_part WHERE upload = $1 ORDER BY start",
                     DB_VALUES(db_text(id)));
    while (error == FW_OK && room && db_next(rows)) {
        room = array_room(pieces, &capacity, *count, sizeof **pieces);
        if (!room)
            break;
        struct piece *p = &(*pieces)[(*count)++];
        *p = (struct piece){.start = (uint64_t)db_get_int(rows, 0),
                            .size = (uint64_t)db_get_int(rows, 1)};
        snprintf(p->blob, sizeof p->blob, "%s", db_get_text(rows, 2));
    }
    if (error == FW_OK)
        error = db_end(rows, why);
    db_give(c->db, conn);
    return room ? error : failure_memory(why);
}

static fw_error copy_piece(struct collector *c, const struct piece *piece, int to, uint8_t *buffer,
                           EVP_MD_CTX *hash, struct fw_failure *why)
{
    int from;
    uint64_t left = piece->size;
    fw_error error = blobs_file(c->blobs, piece->blob, &from, why);
    if (error != FW_OK)
        return error;
    while (error == FW_OK && left) {
        ssize_t n = read(from, buffer, left < CHUNK ? (size_t)left : CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error = failure_say(why, FW_ERR_CORRUPT, errno,
                                "a part of the upload is shorter than it was");
            break;
        }
        const struct span bytes = {buffer, (size_t)n};
        EVP_DigestUpdate(hash, buffer, (size_t)n);
        error = files_write(to, bytes, piece->blob, why);
        left -= (uint64_t)n;
    }
    close(from);
    return error;
}

fw_error upload_put_together(struct collector *c, const struct job *job, const char *id,
                             uint64_t size, int to, uint8_t sha256[32], struct fw_failure *why)
{
    struct piece *pieces = NULL;
    size_t count = 0;
    uint64_t at = 0;
    uint8_t *buffer = malloc(CHUNK), digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    fw_error error = list_pieces(c, id, &pieces, &count, why);
    if (error == FW_OK && (!buffer || !hash || !EVP_DigestInit(hash, EVP_sha256())))
        error = failure_memory(why);
    for (size_t i = 0; error == FW_OK && i < count; i++) {
        if (pieces[i].start != at)
            break;
        error = copy_piece(c, &pieces[i], to, buffer, hash, why);
        at += pieces[i].size;
        jobs_progress(c, job, 0, size);
    }
    if (error == FW_OK && at != size)
        error = failure_say(why, FW_ERR_CORRUPT, 0, "parts of the upload are missing");
    if (error == FW_OK && !EVP_DigestFinal(hash, digest, NULL))
        error = failure_memory(why);
    if (error == FW_OK)
        memcpy(sha256, digest, 32);
    EVP_MD_CTX_free(hash);
    free(buffer);
    free(pieces);
    return error;
}
